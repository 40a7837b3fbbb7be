//! Which samples go together, and in which order.

use crate::preparation::PreparedDataset;
use crate::rng::stream;
use std::ops::Range;

/// How much one batch may hold. A single graph that exceeds a limit forms a batch of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchLimit {
    /// Most graphs.
    pub graphs: usize,
    /// Most nodes.
    pub nodes: usize,
    /// Most directed edges.
    pub edges: usize,
}

impl BatchLimit {
    /// A number of graphs, whatever their sizes.
    pub fn graphs(graphs: usize) -> Self {
        Self { graphs, nodes: usize::MAX, edges: usize::MAX }
    }

    /// A budget of nodes and edges, whatever the number of graphs.
    pub fn budget(nodes: usize, edges: usize) -> Self {
        Self { graphs: usize::MAX, nodes, edges }
    }

    /// Cuts a row of graphs, given as their numbers of nodes and edges, into batches: as long as possible from the first
    /// graph on, in order, none of them empty.
    pub fn cut(self, sizes: impl Iterator<Item = (usize, usize)>) -> Vec<Range<usize>> {
        let mut batches = Vec::new();
        let (mut start, mut end) = (0, 0);
        let (mut nodes, mut edges) = (0usize, 0usize);
        for (more_nodes, more_edges) in sizes {
            let full = end - start >= self.graphs.max(1)
                || nodes.saturating_add(more_nodes) > self.nodes
                || edges.saturating_add(more_edges) > self.edges;
            if full && end > start {
                batches.push(start..end);
                start = end;
                (nodes, edges) = (0, 0);
            }
            end += 1;
            nodes += more_nodes;
            edges += more_edges;
        }
        if end > start {
            batches.push(start..end);
        }
        batches
    }
}

/// In which order samples are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As listed.
    Given,
    /// Shuffled, differently in every epoch.
    Shuffled {
        /// Seed of the run.
        seed: u64,
        /// Number of the epoch.
        epoch: u64,
    },
}

/// Cuts the samples of one epoch into batches: every listed sample exactly once, none of the batches empty.
pub fn plan_batches(
    dataset: &PreparedDataset,
    samples: &[usize],
    limit: BatchLimit,
    order: Order,
) -> Vec<Vec<usize>> {
    let mut visited = samples.to_vec();
    if let Order::Shuffled { seed, epoch } = order {
        stream(seed, "shuffle", &[epoch]).shuffle(&mut visited);
    }
    let size = |at: &usize| {
        let graph = dataset.samples.get(*at).map(|sample| &sample.prepared.graph);
        graph.map_or((0, 0), |graph| (graph.num_nodes(), graph.num_edges()))
    };
    let batches = limit.cut(visited.iter().map(size));
    batches.into_iter().map(|range| visited[range].to_vec()).collect()
}
