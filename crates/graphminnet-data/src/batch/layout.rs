//! Where the graphs of a batch stand: nodes and edges numbered through, with offsets that say where each graph begins.

use super::Topology;
use crate::dataset::Level;
use crate::graph::{Graph, GraphError, offsets};

/// The indices of a batch: which rows belong to which graph, and who is connected to whom.
///
/// | part | length | meaning |
/// |---|---|---|
/// | `node_offsets` | graphs + 1 | graph `g` owns nodes `node_offsets[g]..node_offsets[g + 1]` |
/// | `edge_offsets` | graphs + 1 | the same for edges, in the order given and in that of `topology` alike |
/// | `pair_offsets`, `pair_ends` | graphs + 1, pairs | the pairs that are asked about, in the order given |
/// | `topology` | | edges with batch-wide node numbers, sorted by target |
///
/// Offsets are explicit, so empty graphs anywhere in a batch are kept. Only [`Layout::new`] makes a layout, so
/// its indices are in range.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    node_offsets: Vec<u32>,
    edge_offsets: Vec<u32>,
    pair_offsets: Vec<u32>,
    pair_ends: [Vec<u32>; 2],
    topology: Topology,
}

impl Layout {
    /// Puts graphs side by side.
    ///
    /// # Errors
    ///
    /// [`GraphError::TooLarge`] if the total overflows 32 bits.
    pub fn new(graphs: &[&Graph]) -> Result<Self, GraphError> {
        let node_offsets = offsets("nodes", graphs.iter().map(|graph| graph.num_nodes()))?;
        let pair_end = |end: usize| {
            let placed = graphs.iter().zip(&node_offsets);
            placed
                .flat_map(|(graph, first)| graph.pairs().iter().map(move |pair| first + pair[end]))
                .collect()
        };
        Ok(Self {
            pair_offsets: offsets("pairs", graphs.iter().map(|graph| graph.pairs().len()))?,
            pair_ends: [pair_end(0), pair_end(1)],
            node_offsets,
            edge_offsets: offsets("edges", graphs.iter().map(|graph| graph.num_edges()))?,
            topology: Topology::new(graphs.iter().map(|graph| (graph.num_nodes(), graph.edges()))),
        })
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

    /// Where the edges of each graph begin; length graphs + 1.
    pub fn edge_offsets(&self) -> &[u32] {
        &self.edge_offsets
    }

    /// Where the pairs of each graph begin; length graphs + 1.
    pub fn pair_offsets(&self) -> &[u32] {
        &self.pair_offsets
    }

    /// Rows that a graph of the batch has at a level; see [`Level::rows`].
    pub fn rows_of(&self, graph: usize, level: Level) -> usize {
        let offsets = match level {
            Level::Graph => return 1,
            Level::Node => &self.node_offsets,
            Level::Edge => &self.edge_offsets,
            Level::Pair => &self.pair_offsets,
        };
        (offsets[graph + 1] - offsets[graph]) as usize
    }

    /// The first (0) and the second (1) node of every pair that is asked about, in the order given.
    pub fn pair_ends(&self) -> &[Vec<u32>; 2] {
        &self.pair_ends
    }

    /// The edges, sorted by target.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The graph that each node belongs to, ascending.
    pub fn graph_of_node(&self) -> Vec<u32> {
        let sizes = self.node_offsets.windows(2).map(|range| (range[1] - range[0]) as usize);
        sizes.enumerate().flat_map(|(graph, nodes)| std::iter::repeat_n(graph as u32, nodes)).collect()
    }

    /// For the edges of one graph in the order of the topology, their positions in the graph.
    pub(super) fn edges_of(&self, graph: usize) -> impl ExactSizeIterator<Item = usize> {
        let [start, end] = [graph, graph + 1].map(|at| self.edge_offsets[at] as usize);
        self.topology.given_order[start..end].iter().map(move |&given| given as usize - start)
    }
}
