//! Edges in any order, sorted and indexed as the kernels want them; the benchmarks use it too.

use graphminnet_kernels::edges::{Edges, group_by};

/// Owner of the arrays behind [`Edges`].
pub struct SortedEdges {
    num_nodes: usize,
    source: Vec<u32>,
    target: Vec<u32>,
    incoming: Vec<u32>,
    outgoing: Vec<u32>,
    outgoing_edges: Vec<u32>,
}

impl SortedEdges {
    /// Sorts edges given in any order by target (stable).
    pub fn new(num_nodes: usize, source: &[u32], target: &[u32]) -> Self {
        let (incoming, order) = group_by(num_nodes, target);
        let pick = |values: &[u32]| order.iter().map(|&edge| values[edge as usize]).collect::<Vec<_>>();
        let (source, target) = (pick(source), pick(target));
        let (outgoing, outgoing_edges) = group_by(num_nodes, &source);
        Self { num_nodes, source, target, incoming, outgoing, outgoing_edges }
    }

    /// The edges, borrowed.
    pub fn as_edges(&self) -> Edges<'_> {
        Edges {
            num_nodes: self.num_nodes,
            source: &self.source,
            target: &self.target,
            incoming: &self.incoming,
            outgoing: &self.outgoing,
            outgoing_edges: &self.outgoing_edges,
        }
    }
}
