//! The offsets and indices of a batch that graph operations need.

use super::rows::RowIndex;
use burn::tensor::{Device, Int, Tensor};
use graphminnet_data::{Layout, Topology};
use graphminnet_kernels::edges::Edges;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Which nodes are connected and which belong together: plain indices for kernels, and the same as tensors (made
/// on first use) for generic bodies.
pub struct Structure {
    layout: Arc<Layout>,
    moves: Moves,
}

/// Where rows are moved from and to; each is made on first use.
#[derive(Default)]
struct Moves {
    sources: OnceLock<Arc<RowIndex>>,
    targets: OnceLock<Arc<RowIndex>>,
    sources_and_own: OnceLock<Arc<RowIndex>>,
    targets_and_own: OnceLock<Arc<RowIndex>>,
    pair_sources: OnceLock<Arc<RowIndex>>,
    pair_targets: OnceLock<Arc<RowIndex>>,
    graphs: OnceLock<Arc<RowIndex>>,
    padded: OnceLock<Arc<RowIndex>>,
}

/// The same indices as tensors on the device of the model.
#[derive(Clone)]
pub(super) struct Indices {
    pub(super) source: Tensor<1, Int>,
    pub(super) target: Tensor<1, Int>,
    pub(super) graph_of_node: Tensor<1, Int>,
}

impl Structure {
    /// The structure of a batch; keeps its indices as they are.
    pub fn new(layout: Layout) -> Arc<Self> {
        Arc::new(Self { layout: Arc::new(layout), moves: Moves::default() })
    }

    /// The edges, sorted by target.
    pub fn topology(&self) -> &Topology {
        self.layout.topology()
    }

    /// The edges as the kernels take them.
    pub(super) fn edges(&self) -> Edges<'_> {
        let topology = self.topology();
        Edges {
            num_nodes: topology.num_nodes,
            source: &topology.source,
            target: &topology.target,
            incoming: &topology.incoming,
            outgoing: &topology.outgoing,
            outgoing_edges: &topology.outgoing_edges,
        }
    }

    /// Where the nodes of each graph begin; length graphs + 1.
    pub fn node_offsets(&self) -> &[u32] {
        self.layout.node_offsets()
    }

    /// The graph that each node belongs to.
    pub fn graph_of_node(&self) -> &[u32] {
        self.graphs().places()
    }

    /// Number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.layout.num_nodes()
    }

    /// Number of directed edges.
    pub fn num_edges(&self) -> usize {
        self.layout.num_edges()
    }

    /// Number of graphs.
    pub fn num_graphs(&self) -> usize {
        self.layout.num_graphs()
    }

    /// Number of nodes of the largest graph.
    pub(crate) fn longest(&self) -> usize {
        self.node_offsets().windows(2).map(|range| (range[1] - range[0]) as usize).max().unwrap_or(0)
    }

    /// The node that each edge comes from.
    pub fn sources(&self) -> &Arc<RowIndex> {
        self.moves.sources.get_or_init(|| self.ends(|layout| &layout.topology().source))
    }

    /// The node that each edge goes to.
    pub fn targets(&self) -> &Arc<RowIndex> {
        self.moves.targets.get_or_init(|| self.ends(|layout| &layout.topology().target))
    }

    /// The first node of each pair that is asked about.
    pub fn pair_sources(&self) -> &Arc<RowIndex> {
        self.moves.pair_sources.get_or_init(|| self.ends(|layout| &layout.pair_ends()[0]))
    }

    /// The second node of each pair that is asked about.
    pub fn pair_targets(&self) -> &Arc<RowIndex> {
        self.moves.pair_targets.get_or_init(|| self.ends(|layout| &layout.pair_ends()[1]))
    }

    fn ends(&self, of: fn(&Layout) -> &[u32]) -> Arc<RowIndex> {
        RowIndex::shared(self.num_nodes(), &self.layout, of)
    }

    /// As [`Structure::sources`], with an edge from every node to itself after all others.
    pub(crate) fn sources_and_own(&self) -> &Arc<RowIndex> {
        self.moves.sources_and_own.get_or_init(|| self.and_own(&self.topology().source))
    }

    /// As [`Structure::targets`], with an edge from every node to itself after all others.
    pub(crate) fn targets_and_own(&self) -> &Arc<RowIndex> {
        self.moves.targets_and_own.get_or_init(|| self.and_own(&self.topology().target))
    }

    fn and_own(&self, ends: &[u32]) -> Arc<RowIndex> {
        let own = (0..self.num_nodes()).map(|node| node as u32);
        RowIndex::new(self.num_nodes(), ends.iter().copied().chain(own).collect())
    }

    /// The graph of each node.
    pub(crate) fn graphs(&self) -> &Arc<RowIndex> {
        self.moves.graphs.get_or_init(|| RowIndex::new(self.num_graphs(), self.layout.graph_of_node()))
    }

    /// The row of each node in the padded layout `[graphs · longest]`.
    pub(crate) fn padded(&self) -> &Arc<RowIndex> {
        self.moves.padded.get_or_init(|| {
            let longest = self.longest();
            let ranges = self.node_offsets().windows(2).enumerate();
            let place = ranges.flat_map(|(graph, range)| {
                (0..(range[1] - range[0]) as usize).map(move |row| (graph * longest + row) as u32)
            });
            RowIndex::new(self.num_graphs() * longest, place.collect())
        })
    }

    /// The indices as tensors on `device`.
    pub(super) fn indices(&self, device: &Device) -> Indices {
        Indices {
            source: self.sources().tensor(device),
            target: self.targets().tensor(device),
            graph_of_node: self.graphs().tensor(device),
        }
    }
}

impl fmt::Debug for Structure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Structure")
            .field("graphs", &self.num_graphs())
            .field("nodes", &self.num_nodes())
            .field("edges", &self.num_edges())
            .finish_non_exhaustive()
    }
}
