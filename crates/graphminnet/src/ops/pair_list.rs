//! Pairs of nodes that an operation runs over: edges, chosen pairs, or all of them.

use super::rows::RowIndex;
use graphminnet_kernels::edges::{Edges, group_by};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Ordered pairs `source → target`, sorted by target and indexed both ways.
pub struct PairList {
    num_nodes: usize,
    source: Vec<u32>,
    target: Vec<u32>,
    incoming: Vec<u32>,
    outgoing: Vec<u32>,
    outgoing_pairs: Vec<u32>,
    sources: OnceLock<Arc<RowIndex>>,
    targets: OnceLock<Arc<RowIndex>>,
}

impl PairList {
    /// Pairs `[source, target]` of `num_nodes` nodes in any order, and for every pair of the list its position in `ends`.
    ///
    /// # Panics
    ///
    /// If an end is not below `num_nodes`.
    pub fn new(num_nodes: usize, ends: &[[u32; 2]]) -> (Arc<Self>, Vec<u32>) {
        let (incoming, order) = group_by(num_nodes, &ends.iter().map(|ends| ends[1]).collect::<Vec<_>>());
        let part = |which: usize| -> Vec<u32> { order.iter().map(|&at| ends[at as usize][which]).collect() };
        let (source, target) = (part(0), part(1));
        let (outgoing, outgoing_pairs) = group_by(num_nodes, &source);
        let (sources, targets) = (OnceLock::new(), OnceLock::new());
        let list = Self { num_nodes, source, target, incoming, outgoing, outgoing_pairs, sources, targets };
        (Arc::new(list), order)
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.source.len()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.source.is_empty()
    }

    /// Number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.num_nodes
    }

    /// The source of every pair.
    pub fn source(&self) -> &[u32] {
        &self.source
    }

    /// The target of every pair, ascending.
    pub fn target(&self) -> &[u32] {
        &self.target
    }

    /// The pairs by source.
    pub fn sources(&self) -> &Arc<RowIndex> {
        self.sources.get_or_init(|| RowIndex::new(self.num_nodes, self.source.clone()))
    }

    /// The pairs by target.
    pub fn targets(&self) -> &Arc<RowIndex> {
        self.targets.get_or_init(|| RowIndex::new(self.num_nodes, self.target.clone()))
    }

    /// The pairs as the kernels take them.
    pub(super) fn edges(&self) -> Edges<'_> {
        Edges {
            num_nodes: self.num_nodes,
            source: &self.source,
            target: &self.target,
            incoming: &self.incoming,
            outgoing: &self.outgoing,
            outgoing_edges: &self.outgoing_pairs,
        }
    }
}

impl fmt::Debug for PairList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} pairs of {} nodes", self.len(), self.num_nodes)
    }
}
