//! A part of a graph that is too large to be kept in one place.

use crate::partition::Connection;
use std::sync::Arc;

/// Which nodes of a graph belong to this part of it, and which are only seen from it.
///
/// The part's own nodes come first. After them come its *border* nodes: neighbours that other parts own, whose features
/// have to be fetched from there. Edges of the part end at its own nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// How many leading nodes are the part's own; the rest are border nodes.
    pub own_nodes: usize,
    /// The number of every node, own and border, in the whole graph.
    pub whole_numbers: Vec<u64>,
    /// How the other parts are reached, where they are needed.
    pub others: Option<Arc<Connection>>,
}

impl Part {
    /// A graph that is not cut: every node is its own.
    pub fn whole(num_nodes: usize) -> Self {
        Self { own_nodes: num_nodes, whole_numbers: (0..num_nodes as u64).collect(), others: None }
    }
}
