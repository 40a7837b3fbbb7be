//! Many graphs as one: nodes and edges concatenated, with offsets that say where each graph begins.

use super::{Features, Graph, GraphError, Topology};

/// A ragged batch of graphs, in the spirit of a tuple of flat arrays.
///
/// | field | length | meaning |
/// |---|---|---|
/// | `node_offsets` | graphs + 1 | graph `g` owns nodes `node_offsets[g]..node_offsets[g + 1]` |
/// | `edge_offsets` | graphs + 1 | the same for edges *in the order given* |
/// | `topology` | | edges with batch-wide node numbers, sorted by target |
/// | `node_features` | nodes | rows of all graphs, one after the other |
/// | `edge_features` | edges | rows in the order of `topology` (sorted by target) |
///
/// Offsets are explicit, so empty graphs anywhere in a batch are kept. `unbatch` gives back equal graphs.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphBatch {
    node_offsets: Vec<u32>,
    edge_offsets: Vec<u32>,
    topology: Topology,
    node_features: Features,
    edge_features: Features,
}

impl GraphBatch {
    /// Concatenates graphs, which must have the same feature columns.
    ///
    /// # Errors
    ///
    /// [`GraphError::ColumnMismatch`] if the columns differ, [`GraphError::TooLarge`] if the total overflows 32 bits.
    pub fn new(graphs: &[&Graph]) -> Result<Self, GraphError> {
        let node_offsets = offsets(graphs, "nodes", Graph::num_nodes)?;
        let edge_offsets = offsets(graphs, "edges", Graph::num_edges)?;
        let mut edges = Vec::with_capacity(last(&edge_offsets));
        for (graph, &first_node) in graphs.iter().zip(&node_offsets) {
            edges.extend(graph.edges().iter().map(|ends| ends.map(|node| node + first_node)));
        }
        let topology = Topology::new(last(&node_offsets), &edges);
        let node_features = concatenate(graphs, "node", Graph::node_features)?;
        let edge_features = concatenate(graphs, "edge", Graph::edge_features)?
            .select_rows(topology.given_order.iter().map(|&edge| edge as usize));
        Ok(Self { node_offsets, edge_offsets, topology, node_features, edge_features })
    }

    /// Number of graphs.
    pub fn num_graphs(&self) -> usize {
        self.node_offsets.len() - 1
    }

    /// Number of nodes of all graphs.
    pub fn num_nodes(&self) -> usize {
        self.topology.num_nodes
    }

    /// Number of directed edges of all graphs.
    pub fn num_edges(&self) -> usize {
        self.topology.num_edges()
    }

    /// Where the nodes of each graph begin; length graphs + 1.
    pub fn node_offsets(&self) -> &[u32] {
        &self.node_offsets
    }

    /// Where the edges of each graph begin, in the order given; length graphs + 1.
    pub fn edge_offsets(&self) -> &[u32] {
        &self.edge_offsets
    }

    /// The edges, sorted by target.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Features of all nodes.
    pub fn node_features(&self) -> &Features {
        &self.node_features
    }

    /// Features of all edges, in the order of the topology.
    pub fn edge_features(&self) -> &Features {
        &self.edge_features
    }

    /// The graph that each node belongs to, ascending.
    pub fn graph_of_node(&self) -> Vec<u32> {
        self.node_offsets
            .windows(2)
            .enumerate()
            .flat_map(|(graph, range)| std::iter::repeat_n(graph as u32, (range[1] - range[0]) as usize))
            .collect()
    }

    /// Takes the batch apart again; equal to the graphs it was made of.
    ///
    /// # Errors
    ///
    /// None for a batch made by [`GraphBatch::new`]; the type is that of [`Graph::new`].
    pub fn unbatch(&self) -> Result<Vec<Graph>, GraphError> {
        // Position in target order of every edge in the order given.
        let mut sorted_position = vec![0usize; self.num_edges()];
        for (position, &given) in self.topology.given_order.iter().enumerate() {
            sorted_position[given as usize] = position;
        }
        (0..self.num_graphs())
            .map(|graph| {
                let nodes = self.node_offsets[graph] as usize..self.node_offsets[graph + 1] as usize;
                let given = self.edge_offsets[graph] as usize..self.edge_offsets[graph + 1] as usize;
                let positions = &sorted_position[given];
                let first_node = nodes.start as u32;
                let edges = positions
                    .iter()
                    .map(|&at| [self.topology.source[at] - first_node, self.topology.target[at] - first_node])
                    .collect();
                Graph::new(
                    nodes.len(),
                    edges,
                    self.node_features.select_rows(nodes),
                    self.edge_features.select_rows(positions.iter().copied()),
                )
            })
            .collect()
    }
}

fn last(offsets: &[u32]) -> usize {
    offsets.last().map_or(0, |&end| end as usize)
}

fn offsets(
    graphs: &[&Graph],
    what: &'static str,
    count: impl Fn(&Graph) -> usize,
) -> Result<Vec<u32>, GraphError> {
    let mut total = 0usize;
    let mut offsets = vec![0u32];
    for graph in graphs {
        total = total.saturating_add(count(graph));
        if total > Graph::MAX_COUNT {
            return Err(GraphError::TooLarge { what, count: total, limit: Graph::MAX_COUNT });
        }
        offsets.push(total as u32);
    }
    Ok(offsets)
}

fn concatenate(
    graphs: &[&Graph],
    what: &'static str,
    features: impl Fn(&Graph) -> &Features,
) -> Result<Features, GraphError> {
    let Some(first) = graphs.first().map(|graph| features(graph)) else { return Ok(Features::none(0)) };
    let (mut rows, mut categories, mut numbers) = (0, Vec::new(), Vec::new());
    for (position, graph) in graphs.iter().enumerate() {
        let table = features(graph);
        let columns = [
            (table.category_columns(), first.category_columns()),
            (table.number_columns(), first.number_columns()),
        ];
        if let Some((found, expected)) = columns.into_iter().find(|(found, expected)| found != expected) {
            return Err(GraphError::ColumnMismatch { graph: position, what, found, expected });
        }
        rows += table.rows();
        categories.extend_from_slice(table.category_values());
        numbers.extend_from_slice(table.number_values());
    }
    Features::mixed(rows, first.category_columns(), categories, first.number_columns(), numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_graph() -> impl Strategy<Value = Graph> {
        (0usize..7).prop_flat_map(|num_nodes| {
            let edge = (0..num_nodes.max(1) as u32, 0..num_nodes.max(1) as u32);
            let edges = prop::collection::vec(edge, 0..if num_nodes == 0 { 1 } else { 12 });
            (Just(num_nodes), edges, prop::collection::vec(-9f32..9.0, num_nodes * 2)).prop_map(
                |(num_nodes, edges, numbers)| {
                    let edges: Vec<[u32; 2]> = edges.into_iter().map(|(a, b)| [a, b]).collect();
                    let kinds = (0..edges.len() as u32).collect();
                    let edge_features = Features::categories(edges.len(), 1, kinds).unwrap();
                    let node_features = Features::numbers(num_nodes, 2, numbers).unwrap();
                    Graph::new(num_nodes, edges, node_features, edge_features).unwrap()
                },
            )
        })
    }

    proptest! {
        #[test]
        fn unbatching_gives_back_the_graphs(graphs in prop::collection::vec(any_graph(), 0..8)) {
            let batch = GraphBatch::new(&graphs.iter().collect::<Vec<_>>()).unwrap();
            prop_assert_eq!(batch.unbatch().unwrap(), graphs);
        }

        #[test]
        fn edges_are_sorted_by_target_and_indexed_by_source(graphs in prop::collection::vec(any_graph(), 1..6)) {
            let batch = GraphBatch::new(&graphs.iter().collect::<Vec<_>>()).unwrap();
            let topology = batch.topology();
            prop_assert!(topology.target.is_sorted());
            for node in 0..topology.num_nodes {
                for edge in topology.incoming[node]..topology.incoming[node + 1] {
                    prop_assert_eq!(topology.target[edge as usize] as usize, node);
                }
                for slot in topology.outgoing[node]..topology.outgoing[node + 1] {
                    let edge = topology.outgoing_edges[slot as usize];
                    prop_assert_eq!(topology.source[edge as usize] as usize, node);
                }
            }
            prop_assert_eq!(topology.outgoing_edges.len(), batch.num_edges());
        }
    }

    #[test]
    fn graphs_with_other_columns_are_refused_by_position() {
        let plain = Graph::from_edges(1, vec![]).unwrap();
        let wide = Graph::from_edges(1, vec![])
            .unwrap()
            .with_node_features(Features::numbers(1, 3, vec![0.0; 3]).unwrap())
            .unwrap();
        let error = GraphBatch::new(&[&plain, &wide]).unwrap_err();
        assert_eq!(error, GraphError::ColumnMismatch { graph: 1, what: "node", found: 3, expected: 0 });
    }
}
