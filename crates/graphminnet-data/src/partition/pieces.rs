//! A part of a graph as a graph of its own.

use super::Partition;
use crate::graph::{Encodings, Features, Graph, GraphError, Part};
use crate::spectral::PreparedGraph;
use std::ops::Range;
use std::sync::Arc;

/// The part of a graph that owns the nodes with the given numbers: its graph, own nodes before border nodes, and which
/// nodes these are in the whole. This is all that a machine needs to know of a graph that is too large for it.
///
/// `edges` are those that end at the part's own nodes, by the numbers of their ends in the whole graph; `node_features` has a
/// row for each own node, `edge_features` for each edge. Border nodes have no features of their own.
///
/// # Errors
///
/// [`GraphError`] if an edge ends at another part, a table has the wrong length, or the part is too large for 32 bits.
pub fn part_graph(
    own: Range<u64>,
    edges: &[[u64; 2]],
    node_features: &Features,
    edge_features: Features,
) -> Result<(Graph, Part), GraphError> {
    let own_nodes = own.end.saturating_sub(own.start) as usize;
    if let Some(found) = edges.iter().find(|[_, target]| !own.contains(target)) {
        let (found, expected) = (found[1] as usize, own.end as usize);
        return Err(GraphError::Length {
            graph: 0,
            what: "nodes that edges of a part may end at",
            found,
            expected,
        });
    }
    if node_features.rows() != own_nodes {
        let (found, expected) = (node_features.rows(), own_nodes);
        return Err(GraphError::Length { graph: 0, what: "node features of a part", found, expected });
    }
    let mut border: Vec<u64> =
        edges.iter().map(|ends| ends[0]).filter(|source| !own.contains(source)).collect();
    border.sort_unstable();
    border.dedup();
    let place = |number: u64| match own.contains(&number) {
        true => (number - own.start) as u32,
        false => (own_nodes + border.partition_point(|&other| other < number)) as u32,
    };
    let local = edges.iter().map(|ends| ends.map(place)).collect();
    // A part with a border has nodes of its own, of which the first lends its features.
    let rows: Vec<usize> = (0..own_nodes).chain(border.iter().map(|_| 0)).collect();
    let node_features = node_features.select_rows(rows.into_iter());
    let graph = Graph::new(own_nodes + border.len(), local, node_features, edge_features)?;
    Ok((graph, Part { own_nodes, whole_numbers: own.chain(border).collect(), others: None }))
}

impl Partition {
    /// A part of a prepared graph. What was computed for the whole graph stays as it is for the part's own nodes.
    ///
    /// # Errors
    ///
    /// [`GraphError`] if the partition is one of another graph, or the graph has encodings of another program, which cannot
    /// be cut.
    pub fn part(&self, whole: &PreparedGraph, part: usize) -> Result<PreparedGraph, GraphError> {
        let graph = &whole.graph;
        let total = graph.num_nodes();
        if self.nodes() != total {
            return Err(GraphError::Length {
                graph: 0,
                what: "nodes of the partition",
                found: self.nodes(),
                expected: total,
            });
        }
        if whole.encodings != Encodings::default() {
            return Err(GraphError::Encoding {
                graph: 0,
                name: "further encodings".to_owned(),
                reason: "a part of the graph cannot have them".to_owned(),
            });
        }
        let own = self.numbers(part);
        let nodes: Vec<usize> = self.nodes_of(part).collect();
        let numbers = self.number_of_node();
        let number = |node: u32| u64::from(numbers.as_ref().map_or(node, |numbers| numbers[node as usize]));
        let mut kept = Vec::new();
        let mut edges = Vec::new();
        for (at, ends) in graph.edges().iter().enumerate() {
            let ends = ends.map(number);
            if own.contains(&ends[1]) {
                kept.push(at);
                edges.push(ends);
            }
        }
        let node_features = graph.node_features().select_rows(nodes.iter().copied());
        let edge_features = graph.edge_features().select_rows(kept.into_iter());
        let (cut, part) = part_graph(own, &edges, &node_features, edge_features)?;
        let cut = cut.with_graph_features(graph.graph_features().clone())?;
        let rows = |values: &[f32]| -> Vec<f32> {
            let width = values.len() / total.max(1);
            let mut own: Vec<f32> =
                nodes.iter().flat_map(|&node| &values[node * width..(node + 1) * width]).copied().collect();
            own.resize(cut.num_nodes() * width, 0.0);
            own
        };
        Ok(PreparedGraph {
            eigenvectors: rows(&whole.eigenvectors),
            random_walk: rows(&whole.random_walk),
            log_degree: rows(&whole.log_degree),
            graph: Arc::new(cut),
            part: Some(part),
            eigenvalues: whole.eigenvalues.clone(),
            encodings: Encodings::default(),
            ..*whole
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::graph_in_parts;
    use super::*;
    use crate::spectral::{PrepareOptions, prepare_graph};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn parts_have_all_edges_and_rows_between_them((graph, partition) in graph_in_parts()) {
            let (nodes, edges) = (graph.num_nodes(), graph.num_edges());
            let table = |rows: usize| Features::numbers(rows, 1, (0..rows).map(|row| row as f32).collect()).unwrap();
            let graph = graph.with_node_features(table(nodes)).unwrap().with_edge_features(table(edges)).unwrap();
            let options = PrepareOptions { eigenpairs: 2, ..Default::default() };
            let whole = prepare_graph(&Arc::new(graph), &options).unwrap();
            let mut found = vec![None; edges];
            let mut own = Vec::new();
            for number in 0..partition.parts() {
                let cut = partition.part(&whole, number).unwrap();
                let part = cut.part.clone().unwrap();
                let in_whole = |node: u32| partition.node(part.whole_numbers[node as usize]);
                for (edge, ends) in cut.graph.edges().iter().enumerate() {
                    prop_assert!((ends[1] as usize) < part.own_nodes);
                    let at = cut.graph.edge_features().number_row(edge)[0] as usize;
                    prop_assert_eq!(found[at].replace(ends.map(in_whole)), None);
                }
                for node in 0..part.own_nodes {
                    let there = in_whole(node as u32);
                    own.push(there);
                    prop_assert_eq!(cut.graph.node_features().number_row(node), [there as f32]);
                    prop_assert_eq!(&cut.eigenvectors[2 * node..2 * node + 2], &whole.eigenvectors[2 * there..2 * there + 2]);
                }
            }
            let given: Vec<_> = whole.graph.edges().iter().map(|ends| Some(ends.map(|node| node as usize))).collect();
            prop_assert_eq!(found, given);
            own.sort_unstable();
            prop_assert_eq!(own, (0..nodes).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_does_not_belong_to_a_part_is_refused() {
        let none = Features::none;
        assert!(part_graph(2..4, &[[0, 1]], &none(2), none(1)).is_err());
        assert!(part_graph(2..4, &[[0, 3]], &none(3), none(1)).is_err());
        let (graph, part) = part_graph(2..4, &[[9_000_000_000, 3], [2, 3]], &none(2), none(2)).unwrap();
        assert_eq!((graph.edges(), part.whole_numbers), (&[[2, 1], [0, 1]][..], vec![2, 3, 9_000_000_000]));
        let whole = prepare_graph(&Arc::new(graph), &PrepareOptions::default()).unwrap();
        assert!(Partition::in_order(7, 2).part(&whole, 0).is_err());
    }
}
