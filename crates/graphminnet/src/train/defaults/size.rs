//! How much data there is, as far as defaults depend on it.

use crate::train::Loaded;
use graphminnet_data::{Dataset, Level, Split};

/// How much data there is; a number stands for so many small graphs to train on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataSize {
    /// Graphs to train on.
    pub train_graphs: usize,
    /// Nodes of the largest graph of any part.
    pub largest_graph: usize,
    /// Nodes (edges, pairs) to train on, where these and not graphs are split.
    pub train_nodes: Option<usize>,
    /// Whether every edge is there in both directions.
    pub undirected: bool,
    /// Whether all known targets of the training part are yes.
    pub only_links: bool,
}

impl From<usize> for DataSize {
    fn from(train_graphs: usize) -> Self {
        Self { train_graphs, largest_graph: 0, train_nodes: None, undirected: true, only_links: false }
    }
}

impl From<&Loaded> for DataSize {
    fn from(loaded: &Loaded) -> Self {
        let train_graphs = loaded.splits.train.len();
        let mut links = loaded.splits.train.iter().flat_map(|&at| {
            let sample = loaded.dataset.samples.get(at);
            let parts = loaded.dataset.node_parts.as_ref().map(|parts| parts.graph(at));
            let targets = sample.map_or(&[][..], |sample| &sample.targets).iter().enumerate();
            let known = targets.filter(move |(row, target)| {
                let part = |parts: &[Option<Split>]| parts.get(*row).copied().flatten();
                !target.is_nan() && parts.is_none_or(|parts| part(parts) == Some(Split::Train))
            });
            known.map(|(_, target)| *target == 1.0)
        });
        let only_links = loaded.dataset.schema.level == Level::Pair && links.all(|is_link| is_link);
        Self { train_graphs, only_links, ..Self::from(&loaded.dataset) }
    }
}

impl From<&Dataset> for DataSize {
    fn from(dataset: &Dataset) -> Self {
        let nodes = dataset.samples.iter().map(|sample| sample.graph.num_nodes());
        Self {
            train_graphs: dataset.samples.len(),
            largest_graph: nodes.max().unwrap_or(0),
            train_nodes: dataset.node_parts.as_ref().map(|parts| parts.count(Split::Train)),
            // Nobody asks where graphs or nodes have targets, and large graphs take a while.
            undirected: matches!(dataset.schema.level, Level::Graph | Level::Node)
                || dataset.samples.iter().all(|sample| sample.graph.is_undirected()),
            only_links: false,
        }
    }
}
