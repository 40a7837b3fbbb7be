//! Graphs: validated once, immutable afterwards.
//!
//! ```
//! use graphminnet_data::{Features, Graph};
//!
//! // A triangle whose nodes carry one category each.
//! let graph = Graph::new(
//!     3,
//!     vec![[0, 1], [1, 0], [1, 2], [2, 1], [2, 0], [0, 2]],
//!     Features::categories(3, 1, vec![6, 6, 8])?,
//!     Features::none(6),
//! )?;
//! assert_eq!(graph.num_nodes(), 3);
//! assert_eq!(graph.num_edges(), 6);
//! # Ok::<(), graphminnet_data::GraphError>(())
//! ```
//!
//! Graph data can only be refused when a [`Graph`] is built. The number of nodes is always given, never
//! guessed from the edges. Empty, single-node, edgeless and disconnected graphs, self-loops and repeated edges are legal.

mod encodings;
mod features;
mod part;

pub use encodings::{Encodings, Pairs};
pub use features::Features;
pub(crate) use features::Mismatch;
pub use part::Part;

use crate::budget::bytes_of;
use std::collections::HashSet;
use thiserror::Error;

/// Why a graph, or a batch of graphs, was refused.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum GraphError {
    /// An edge names a node that does not exist.
    #[error("edge {edge} names {end} node {node}, but the graph has {num_nodes} nodes (0 to {})", .num_nodes.saturating_sub(1))]
    EdgeOutOfRange {
        /// Position of the edge in the list that was given.
        edge: usize,
        /// `source` or `target`.
        end: &'static str,
        /// The node that was named.
        node: u64,
        /// Number of nodes of the graph.
        num_nodes: usize,
    },
    /// A feature table does not have one row per node (or per edge).
    #[error("{what} features have {found} rows, expected one for each of the {expected} {what}s")]
    RowCount {
        /// `node` or `edge`.
        what: &'static str,
        /// Rows found.
        found: usize,
        /// Rows expected.
        expected: usize,
    },
    /// A table's values do not fill its rows.
    #[error("{found} values do not fill {rows} rows of {columns} columns ({} expected)", .rows.saturating_mul(*.columns))]
    ValueCount {
        /// Values found.
        found: usize,
        /// Rows of the table.
        rows: usize,
        /// Columns of the table.
        columns: usize,
    },
    /// A numeric feature is NaN or infinite.
    #[error("{what} feature at row {row}, column {column} is {value}; every feature must be finite")]
    NonFinite {
        /// `node` or `edge`.
        what: &'static str,
        /// Row of the value.
        row: usize,
        /// Column of the value.
        column: usize,
        /// The value.
        value: f32,
    },
    /// The graph, or the batch, is larger than the index type allows.
    #[error("{count} {what} are more than the supported {limit}")]
    TooLarge {
        /// `nodes` or `edges`.
        what: &'static str,
        /// The count that was given.
        count: usize,
        /// The largest supported count.
        limit: usize,
    },
    /// Graphs in a batch do not have the same feature columns.
    #[error(
        "graph {graph} of the batch has {found} {what} columns, the first graph has {expected}; all graphs of a batch need the same columns"
    )]
    ColumnMismatch {
        /// Position of the graph in the batch.
        graph: usize,
        /// Which columns.
        what: &'static str,
        /// Columns found.
        found: usize,
        /// Columns of the first graph.
        expected: usize,
    },
    /// Values that belong to a graph of a batch do not fill its rows.
    #[error(
        "graph {graph} of the batch has {found} {what}, expected {expected}; all graphs of a batch need the same columns"
    )]
    Length {
        /// Position of the graph in the batch.
        graph: usize,
        /// Which values.
        what: &'static str,
        /// Values found.
        found: usize,
        /// Values expected.
        expected: usize,
    },
    /// A pair names a node that does not exist.
    #[error("pair {pair} names node {node}, but the graph has {num_nodes} nodes (counted from 0)")]
    PairOutOfRange {
        /// Position of the pair.
        pair: usize,
        /// The node.
        node: u32,
        /// Number of nodes.
        num_nodes: usize,
    },
    /// A named encoding of a graph in a batch does not fit.
    #[error("graph {graph} of the batch does not fit the others in encoding `{name}`: {reason}")]
    Encoding {
        /// Position of the graph in the batch.
        graph: usize,
        /// Name of the encoding.
        name: String,
        /// What does not fit.
        reason: String,
    },
}

/// A directed multigraph with features of its nodes, of its edges and of itself.
///
/// An undirected graph stores each edge in both directions. Message passing follows the directions as given; only
/// the Laplacian ignores them.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    num_nodes: usize,
    edges: Vec<[u32; 2]>,
    node_features: Features,
    edge_features: Features,
    graph_features: Features,
    pairs: Vec<[u32; 2]>,
}

impl Graph {
    /// Largest number of nodes or edges of one graph or batch: indices are 32-bit.
    pub(crate) const MAX_COUNT: usize = u32::MAX as usize - 1;

    /// Builds a graph from `[source, target]` pairs.
    ///
    /// # Errors
    ///
    /// [`GraphError`] if an edge names a missing node, a feature table has the wrong number of rows, or a numeric
    /// feature is not finite.
    pub fn new(
        num_nodes: usize,
        edges: Vec<[u32; 2]>,
        node_features: Features,
        edge_features: Features,
    ) -> Result<Self, GraphError> {
        for (what, count) in [("nodes", num_nodes), ("edges", edges.len())] {
            if count > Self::MAX_COUNT {
                return Err(GraphError::TooLarge { what, count, limit: Self::MAX_COUNT });
            }
        }
        for (edge, ends) in edges.iter().enumerate() {
            for (end, node) in ["source", "target"].into_iter().zip(ends) {
                if *node as usize >= num_nodes {
                    return Err(GraphError::EdgeOutOfRange { edge, end, node: u64::from(*node), num_nodes });
                }
            }
        }
        node_features.check("node", num_nodes)?;
        edge_features.check("edge", edges.len())?;
        let graph_features = Features::none(1);
        Ok(Self { num_nodes, edges, node_features, edge_features, graph_features, pairs: Vec::new() })
    }

    /// A graph without features.
    ///
    /// # Errors
    ///
    /// [`GraphError`] if an edge names a missing node.
    pub fn from_edges(num_nodes: usize, edges: Vec<[u32; 2]>) -> Result<Self, GraphError> {
        let num_edges = edges.len();
        Self::new(num_nodes, edges, Features::none(num_nodes), Features::none(num_edges))
    }

    /// Bytes that it takes, and that whoever looks at its nodes will take at least.
    pub(crate) fn bytes(&self) -> u64 {
        const PER_NODE: u64 = 16;
        let tables = [&self.node_features, &self.edge_features, &self.graph_features];
        bytes_of::<Self>(1)
            + bytes_of::<[u32; 2]>(self.edges.len() + self.pairs.len())
            + tables.map(Features::bytes).iter().sum::<u64>()
            + PER_NODE * self.num_nodes as u64
    }

    /// Number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.num_nodes
    }

    /// Number of directed edges.
    pub fn num_edges(&self) -> usize {
        self.edges.len()
    }

    /// The directed edges as `[source, target]`, in the order in which they were given.
    pub fn edges(&self) -> &[[u32; 2]] {
        &self.edges
    }

    /// Node features, one row per node.
    pub fn node_features(&self) -> &Features {
        &self.node_features
    }

    /// Edge features, one row per directed edge, in the order of [`Graph::edges`].
    pub fn edge_features(&self) -> &Features {
        &self.edge_features
    }

    /// Features of the graph as a whole, one row; without columns unless they were given.
    pub fn graph_features(&self) -> &Features {
        &self.graph_features
    }

    /// Pairs of nodes that a model is asked about, as `[source, target]`. They are no edges: no message goes along them,
    /// and nothing that is prepared depends on them.
    pub fn pairs(&self) -> &[[u32; 2]] {
        &self.pairs
    }

    /// The same graph with other pairs to be asked about.
    ///
    /// # Errors
    ///
    /// [`GraphError::PairOutOfRange`] if a pair names a missing node.
    pub fn with_pairs(mut self, pairs: Vec<[u32; 2]>) -> Result<Self, GraphError> {
        if pairs.len() > Self::MAX_COUNT {
            return Err(GraphError::TooLarge { what: "pairs", count: pairs.len(), limit: Self::MAX_COUNT });
        }
        let outside = |ends: &[u32; 2]| ends.iter().copied().find(|node| *node as usize >= self.num_nodes);
        let first = pairs.iter().enumerate().find_map(|(pair, ends)| Some((pair, outside(ends)?)));
        if let Some((pair, node)) = first {
            return Err(GraphError::PairOutOfRange { pair, node, num_nodes: self.num_nodes });
        }
        self.pairs = pairs;
        Ok(self)
    }

    /// The same graph with some of its edges, given by position, and their features.
    ///
    /// # Errors
    ///
    /// None if the positions are those of edges.
    pub fn with_edges_at(&self, positions: &[usize]) -> Result<Self, GraphError> {
        let edges = positions.iter().filter_map(|&at| self.edges.get(at).copied()).collect();
        let features = self.edge_features.select_rows(positions.iter().copied());
        let graph = Self::new(self.num_nodes, edges, self.node_features.clone(), features)?;
        graph.with_graph_features(self.graph_features.clone())?.with_pairs(self.pairs.clone())
    }

    /// Whether every edge is there in the other direction too.
    pub fn is_undirected(&self) -> bool {
        let edges: HashSet<[u32; 2]> = self.edges.iter().copied().collect();
        edges.iter().all(|&[source, target]| edges.contains(&[target, source]))
    }

    /// Positions of the edges as they were written: all of them or, where each was followed by its reverse when the graph
    /// was read ([`EdgeDirection::BothWays`](crate::EdgeDirection::BothWays)), the first of the two.
    pub fn written_edges(&self, both_ways: bool) -> Vec<usize> {
        let mut written = Vec::with_capacity(self.edges.len());
        let mut at = 0;
        while let Some([source, target]) = self.edges.get(at) {
            written.push(at);
            at += if both_ways && source != target { 2 } else { 1 };
        }
        written
    }

    /// Whether every edge that is no loop is followed by its reverse, as in a molecule.
    pub fn is_in_pairs(&self) -> bool {
        self.written_edges(true).into_iter().all(|at| match self.edges.get(at..) {
            Some([[source, target], ..]) if source == target => true,
            Some([[source, target], after, ..]) => after == &[*target, *source],
            _ => false,
        })
    }

    /// The same graph with other node features.
    ///
    /// # Errors
    ///
    /// [`GraphError`] if the table does not fit.
    pub fn with_node_features(mut self, node_features: Features) -> Result<Self, GraphError> {
        node_features.check("node", self.num_nodes)?;
        self.node_features = node_features;
        Ok(self)
    }

    /// The same graph with other edge features.
    ///
    /// # Errors
    ///
    /// [`GraphError`] if the table does not fit.
    pub fn with_edge_features(mut self, edge_features: Features) -> Result<Self, GraphError> {
        edge_features.check("edge", self.edges.len())?;
        self.edge_features = edge_features;
        Ok(self)
    }

    /// The same graph with other features of itself.
    ///
    /// # Errors
    ///
    /// [`GraphError`] if the table does not have one row of finite values.
    pub fn with_graph_features(mut self, graph_features: Features) -> Result<Self, GraphError> {
        graph_features.check("graph", 1)?;
        self.graph_features = graph_features;
        Ok(self)
    }

    /// The undirected simple graph underneath: for every node its distinct neighbours, ascending, without itself.
    ///
    /// Returned as offsets (`num_nodes + 1`) into a list of neighbours. This is what the Laplacian and the degrees
    /// are made of.
    pub fn undirected_neighbours(&self) -> (Vec<u32>, Vec<u32>) {
        let mut pairs: Vec<[u32; 2]> =
            self.edges.iter().filter(|[a, b]| a != b).flat_map(|&[a, b]| [[a, b], [b, a]]).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut offsets = vec![0u32; self.num_nodes + 1];
        for [node, _] in &pairs {
            offsets[*node as usize + 1] += 1;
        }
        for node in 0..self.num_nodes {
            offsets[node + 1] += offsets[node];
        }
        (offsets, pairs.into_iter().map(|[_, neighbour]| neighbour).collect())
    }
}

/// Where each of several ranges begins, and where the last one ends.
pub(crate) fn offsets(
    what: &'static str,
    counts: impl Iterator<Item = usize>,
) -> Result<Vec<u32>, GraphError> {
    let mut total = 0usize;
    let mut offsets = vec![0u32];
    for count in counts {
        total = total.saturating_add(count);
        if total > Graph::MAX_COUNT {
            return Err(GraphError::TooLarge { what, count: total, limit: Graph::MAX_COUNT });
        }
        offsets.push(total as u32);
    }
    Ok(offsets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_to_a_missing_node_is_refused_with_its_place() {
        let error = Graph::from_edges(2, vec![[0, 1], [1, 2]]).unwrap_err();
        assert_eq!(error, GraphError::EdgeOutOfRange { edge: 1, end: "target", node: 2, num_nodes: 2 });
        assert!(error.to_string().contains("edge 1 names target node 2"), "{error}");
    }

    #[test]
    fn empty_single_node_loop_and_repeated_edges_are_legal() {
        assert_eq!(Graph::from_edges(0, vec![]).unwrap().num_nodes(), 0);
        assert_eq!(Graph::from_edges(1, vec![[0, 0]]).unwrap().num_edges(), 1);
        assert_eq!(Graph::from_edges(2, vec![[0, 1], [0, 1]]).unwrap().num_edges(), 2);
    }

    #[test]
    fn features_must_have_a_row_for_every_node_and_be_finite() {
        let short = Features::numbers(1, 2, vec![0.0, 1.0]).unwrap();
        assert_eq!(
            Graph::new(2, vec![], short, Features::none(0)).unwrap_err(),
            GraphError::RowCount { what: "node", found: 1, expected: 2 }
        );
        let broken = Features::numbers(2, 2, vec![0.0, 1.0, 2.0, f32::NAN]).unwrap();
        let error = Graph::new(2, vec![], broken, Features::none(0)).unwrap_err();
        assert!(matches!(error, GraphError::NonFinite { what: "node", row: 1, column: 1, .. }), "{error}");
    }

    #[test]
    fn undirected_neighbours_drop_loops_directions_and_repetitions() {
        let graph = Graph::from_edges(4, vec![[0, 1], [1, 0], [0, 1], [2, 2], [2, 0]]).unwrap();
        let (offsets, neighbours) = graph.undirected_neighbours();
        assert_eq!(offsets, vec![0, 2, 3, 4, 4]);
        assert_eq!(neighbours, vec![1, 2, 0, 0]);
    }
}
