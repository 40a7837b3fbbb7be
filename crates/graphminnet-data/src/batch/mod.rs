//! Batches: many prepared graphs as one, which is what a model reads.
//!
//! ```
//! use graphminnet_data::batch::{BatchLimit, Batches, Order, plan_batches};
//! use graphminnet_data::generate::CircularSkipLinks;
//! use graphminnet_data::preparation::prepare_dataset;
//! use graphminnet_data::spectral::PrepareOptions;
//! use std::sync::Arc;
//!
//! let rings = CircularSkipLinks { nodes: 11, skips: vec![2, 3], copies: 4 }.generate(0)?;
//! let (prepared, _) = prepare_dataset(&rings, &PrepareOptions::default(), None, &())?;
//! let plan = plan_batches(&prepared, &[0, 1, 2, 3, 4], BatchLimit::graphs(2), Order::Given);
//! for batch in Batches::start(Arc::new(prepared), plan, 2)? {
//!     assert!(batch?.layout.num_graphs() <= 2);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//! PreparedDataset ─ plan_batches ─→ which samples ─ Batches (another thread) ─ Batch::collate ─→ Batch ─ moved ─→ model
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `plan` | which samples go together: a pure function of the seed and the epoch |
//! | `loader` | batches put together ahead of their use |
//! | `layout`, `topology` | where each graph stands, who is connected to whom |
//! | `targets` | what the model learns |
//!
//! Every array is written once, when the batch is put together. A model takes the batch apart and makes tensors of the
//! arrays as they are.

mod layout;
mod loader;
mod plan;
mod targets;
mod topology;

pub use layout::Layout;
pub use loader::{Batches, LoaderError};
pub use plan::{BatchLimit, Order, plan_batches};
pub use targets::{TargetRows, Targets};
pub use topology::Topology;

use crate::graph::{Encodings, Features, Graph, GraphError, Mismatch, Part};
use crate::spectral::PreparedGraph;

/// Everything that a model reads about some graphs.
///
/// `G` graphs, `n` nodes, `e` edges, `K` stored eigenpairs; all arrays are row-major, with the rows of one graph after
/// those of another. What was not prepared is empty.
///
/// # Examples
///
/// ```
/// use graphminnet_data::spectral::{PrepareOptions, prepare_graph};
/// use graphminnet_data::{Batch, Graph};
/// use std::sync::Arc;
///
/// let options = PrepareOptions { eigenpairs: 2, ..Default::default() };
/// let path = prepare_graph(&Arc::new(Graph::from_edges(3, vec![[0, 1], [1, 0], [1, 2], [2, 1]])?), &options)?;
/// let point = prepare_graph(&Arc::new(Graph::from_edges(1, vec![])?), &options)?;
/// let batch = Batch::collate(&[&path, &point, &path])?;
/// assert_eq!(batch.layout.node_offsets(), [0, 3, 4, 7]);
/// assert_eq!(batch.num_eigenpairs, [2, 1, 2]); // a single node has one pair, and one place stays empty
/// assert_eq!(batch.eigenvectors.len(), 7 * 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// Offsets and edges.
    pub layout: Layout,
    /// Features of all nodes, `n` rows.
    pub node_features: Features,
    /// Features of all edges, `e` rows in the order of the layout's topology (sorted by target).
    pub edge_features: Features,
    /// Features of the graphs themselves, `G` rows.
    pub graph_features: Features,
    /// Eigenvalues `[G, K]`, 0 where missing.
    pub eigenvalues: Vec<f32>,
    /// Eigenvectors `[n, K]`, 0 where missing.
    pub eigenvectors: Vec<f32>,
    /// How many leading eigenpairs each graph has, `[G]`.
    pub num_eigenpairs: Vec<usize>,
    /// How many leading eigenpairs a block may use as far as their existence and eigenspaces go, `[G]`. (Whether one is
    /// trivial or has a zero eigenvalue is for the model to see.)
    pub usable_eigenpairs: Vec<usize>,
    /// Return probabilities `[n, steps]`.
    pub random_walk: Vec<f32>,
    /// `ln(1 + degree)`, `[n]`.
    pub log_degree: Vec<f32>,
    /// Whatever else was computed, by name.
    pub encodings: Encodings,
    /// Own and border nodes of each graph, `[G]`; empty where every graph is whole.
    pub parts: Vec<Part>,
    /// What is to be learnt, where it is known.
    pub targets: Option<Targets>,
    /// Positions of the graphs in their data set, `[G]`; empty where they come from none.
    pub samples: Vec<usize>,
}

impl Batch {
    /// Puts prepared graphs side by side. All must have the same columns and the same preparation.
    ///
    /// # Errors
    ///
    /// [`GraphError::ColumnMismatch`], [`GraphError::Length`] or [`GraphError::Encoding`] with the first graph that
    /// differs from the others, [`GraphError::TooLarge`] if the total overflows 32 bits.
    pub fn collate(graphs: &[&PreparedGraph]) -> Result<Self, GraphError> {
        let batch = Self::of_graphs(&graphs.iter().map(|prepared| &*prepared.graph).collect::<Vec<_>>())?;
        let further: Vec<_> =
            graphs.iter().map(|prepared| (&prepared.encodings, prepared.graph.num_nodes())).collect();
        Ok(Self {
            eigenvalues: joined(graphs, "eigenvalues", |prepared| (1, &prepared.eigenvalues))?,
            eigenvectors: per_node(graphs, "eigenvector entries", |prepared| &prepared.eigenvectors)?,
            num_eigenpairs: graphs.iter().map(|prepared| prepared.num_eigenpairs).collect(),
            usable_eigenpairs: graphs.iter().map(|prepared| prepared.usable_eigenpairs).collect(),
            random_walk: per_node(graphs, "return probabilities", |prepared| &prepared.random_walk)?,
            log_degree: per_node(graphs, "degrees", |prepared| &prepared.log_degree)?,
            encodings: Encodings::concatenate(&further)?,
            parts: parts(graphs)?,
            ..batch
        })
    }

    /// Puts graphs side by side that are not prepared.
    ///
    /// # Errors
    ///
    /// [`GraphError::ColumnMismatch`] or [`GraphError::TooLarge`], as [`Batch::collate`].
    pub fn of_graphs(graphs: &[&Graph]) -> Result<Self, GraphError> {
        let layout = Layout::new(graphs)?;
        let tables = |features: fn(&Graph) -> &Features| -> Vec<&Features> {
            graphs.iter().map(|graph| features(graph)).collect()
        };
        let mismatch = |what: &'static str| {
            move |Mismatch { table, found, expected }: Mismatch| GraphError::ColumnMismatch {
                graph: table,
                what,
                found,
                expected,
            }
        };
        let by_target = |graph| layout.edges_of(graph);
        let edges = Features::concatenate_in_order(&tables(Graph::edge_features), by_target);
        Ok(Self {
            node_features: Features::concatenate(&tables(Graph::node_features)).map_err(mismatch("node"))?,
            edge_features: edges.map_err(mismatch("edge"))?,
            graph_features: Features::concatenate(&tables(Graph::graph_features))
                .map_err(mismatch("graph"))?,
            layout,
            eigenvalues: Vec::new(),
            eigenvectors: Vec::new(),
            num_eigenpairs: Vec::new(),
            usable_eigenpairs: Vec::new(),
            random_walk: Vec::new(),
            log_degree: Vec::new(),
            encodings: Encodings::default(),
            parts: Vec::new(),
            targets: None,
            samples: Vec::new(),
        })
    }
}

/// One array of all graphs; `of` gives that of each graph and its number of rows.
fn joined<'a>(
    graphs: &[&'a PreparedGraph],
    what: &'static str,
    of: impl Fn(&'a PreparedGraph) -> (usize, &'a Vec<f32>),
) -> Result<Vec<f32>, GraphError> {
    let arrays = || graphs.iter().map(|prepared| of(prepared));
    let columns = arrays().find(|(rows, _)| *rows > 0).map_or(0, |(rows, values)| values.len() / rows);
    let mut all = Vec::with_capacity(arrays().map(|(_, values)| values.len()).sum());
    for (graph, (rows, values)) in arrays().enumerate() {
        if values.len() != rows.saturating_mul(columns) {
            let (found, expected) = (values.len(), rows.saturating_mul(columns));
            return Err(GraphError::Length { graph, what, found, expected });
        }
        all.extend_from_slice(values);
    }
    Ok(all)
}

fn per_node<'a>(
    graphs: &[&'a PreparedGraph],
    what: &'static str,
    of: fn(&PreparedGraph) -> &Vec<f32>,
) -> Result<Vec<f32>, GraphError> {
    joined(graphs, what, |prepared: &'a PreparedGraph| (prepared.graph.num_nodes(), of(prepared)))
}

/// Own and border nodes of every graph, if any of them is a part.
fn parts(graphs: &[&PreparedGraph]) -> Result<Vec<Part>, GraphError> {
    if graphs.iter().all(|prepared| prepared.part.is_none()) {
        return Ok(Vec::new());
    }
    let part = |(graph, prepared): (usize, &&PreparedGraph)| {
        let expected = prepared.graph.num_nodes();
        let part = prepared.part.clone().unwrap_or_else(|| Part::whole(expected));
        let wrong = |what, found| Err(GraphError::Length { graph, what, found, expected });
        match (part.whole_numbers.len(), part.own_nodes) {
            (found, _) if found != expected => wrong("node numbers in the whole graph", found),
            (_, own) if own > expected => wrong("own nodes", own),
            _ => Ok(part),
        }
    };
    graphs.iter().enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The graphs of a batch, taken apart again.
    fn unbatch(batch: &Batch) -> Vec<Graph> {
        let layout = &batch.layout;
        (0..layout.num_graphs())
            .map(|graph| {
                let nodes = layout.node_offsets()[graph] as usize..layout.node_offsets()[graph + 1] as usize;
                let first_edge = layout.edge_offsets()[graph] as usize;
                let mut position = vec![0; layout.edges_of(graph).len()];
                for (sorted, given) in layout.edges_of(graph).enumerate() {
                    position[given] = first_edge + sorted;
                }
                let ends = |&at: &usize| {
                    [layout.topology().source[at], layout.topology().target[at]]
                        .map(|node| node - nodes.start as u32)
                };
                let edges = position.iter().map(ends).collect();
                let edge_features = batch.edge_features.select_rows(position.iter().copied());
                let node_features = batch.node_features.select_rows(nodes.clone());
                let own = batch.graph_features.select_rows(graph..graph + 1);
                let graph = Graph::new(nodes.len(), edges, node_features, edge_features).unwrap();
                graph.with_graph_features(own).unwrap()
            })
            .collect()
    }

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
            let batch = Batch::of_graphs(&graphs.iter().collect::<Vec<_>>()).unwrap();
            prop_assert_eq!(unbatch(&batch), graphs);
        }

        #[test]
        fn edges_are_sorted_by_target_and_indexed_by_source(graphs in prop::collection::vec(any_graph(), 1..6)) {
            let batch = Batch::of_graphs(&graphs.iter().collect::<Vec<_>>()).unwrap();
            let topology = batch.layout.topology();
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
            prop_assert_eq!(topology.outgoing_edges.len(), batch.layout.num_edges());
        }
    }

    #[test]
    fn graphs_with_other_columns_are_refused_by_position() {
        let plain = Graph::from_edges(1, vec![]).unwrap();
        let wide = Graph::from_edges(1, vec![])
            .unwrap()
            .with_node_features(Features::numbers(1, 3, vec![0.0; 3]).unwrap())
            .unwrap();
        let error = Batch::of_graphs(&[&plain, &wide]).unwrap_err();
        assert_eq!(error, GraphError::ColumnMismatch { graph: 1, what: "node", found: 3, expected: 0 });
    }
}
