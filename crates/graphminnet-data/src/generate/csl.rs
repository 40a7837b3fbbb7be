//! Circular skip links: regular graphs that no 1-WL method distinguishes (Murphy et al. 2019).

use super::{PartSizes, assemble, number_columns, schema};
use crate::dataset::{Dataset, Level, Sample, Task};
use crate::graph::{Features, Graph, GraphError};
use crate::rng::stream;
use std::sync::Arc;

/// Cycles with an additional edge from every node to the one `skip` places further; the class is the skip.
///
/// Every node has one constant feature. The default is the published setting: 41 nodes, ten skips, 15 renumbered
/// copies of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CircularSkipLinks {
    /// Nodes of every graph.
    pub nodes: usize,
    /// One class for each of these.
    pub skips: Vec<usize>,
    /// Randomly renumbered copies of each graph.
    pub copies: usize,
}

impl Default for CircularSkipLinks {
    fn default() -> Self {
        Self { nodes: 41, skips: vec![2, 3, 4, 5, 6, 9, 11, 12, 13, 16], copies: 15 }
    }
}

impl CircularSkipLinks {
    /// Makes the data set, which has no official split (five-fold cross-validation is usual).
    ///
    /// # Errors
    ///
    /// None in practice; the type is that of [`Graph::new`].
    pub fn generate(&self, seed: u64) -> Result<Dataset, GraphError> {
        let task = Task::MultiClass { classes: self.skips.len() };
        let mut schema = schema(Level::Graph, task, "skip", number_columns(["constant".to_owned()]));
        schema.class_names = self.skips.iter().map(usize::to_string).collect();
        let sizes = PartSizes { train: self.skips.len() * self.copies, valid: 0, test: 0 };
        let mut dataset = assemble("CSL", schema, sizes, |_, at| {
            let (class, copy) = (at / self.copies, at % self.copies);
            let skip = self.skips[class];
            let mut random = stream(seed, "circular skip links", &[skip as u64, copy as u64]);
            let place = random.permutation(self.nodes);
            let to = |node: usize| place[node % self.nodes] as u32;
            let edges: Vec<[u32; 2]> = (0..self.nodes)
                .flat_map(|node| [[to(node), to(node + 1)], [to(node), to(node + skip)]])
                .flat_map(|[a, b]| [[a, b], [b, a]])
                .collect();
            let features = Features::numbers(self.nodes, 1, vec![1.0; self.nodes])?;
            let no_edge_features = Features::none(edges.len());
            let graph = Graph::new(self.nodes, edges, features, no_edge_features)?;
            let id = format!("csl-{skip}-{copy}");
            Ok(Sample { id, graph: Arc::new(graph), targets: vec![class as f32] })
        })?;
        dataset.official_split = None;
        Ok(dataset)
    }
}
