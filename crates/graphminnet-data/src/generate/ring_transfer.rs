//! Ring transfer: carry a class across a ring (after Di Giovanni et al. 2023).

use super::{PartSizes, assemble, number_columns, sample_id, schema};
use crate::dataset::{Dataset, Level, Sample, Split, Task};
use crate::graph::{Features, Graph, GraphError};
use crate::rng::stream;
use std::sync::Arc;

/// Rings in which one node is marked and the class to predict is shown at the node opposite to it.
///
/// Node columns: `is_target`, then `class_0 …` as a one-hot code. With `distractors`, every other node shows a random
/// class, so that neither the neighbourhood of the marked node nor a pooled bag of all nodes gives the answer: what
/// counts is *which* node is opposite. Without them the other nodes show none, as in the literature, where the
/// prediction is read at the marked node only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingTransfer {
    /// Graphs in each part.
    pub sizes: PartSizes,
    /// Smallest number of nodes; rings have an even number, so that every node has an opposite.
    pub smallest: usize,
    /// Largest number of nodes.
    pub largest: usize,
    /// Number of classes.
    pub classes: usize,
    /// Whether the other nodes show random classes.
    pub distractors: bool,
    /// [`Level::Graph`]: the class is the target of the graph. [`Level::Node`]: it is the target of the marked node,
    /// and missing at all others. [`Level::Edge`]: the same for the edges that end at the marked node.
    pub level: Level,
}

impl Default for RingTransfer {
    fn default() -> Self {
        Self {
            sizes: PartSizes { train: 2_000, valid: 500, test: 500 },
            smallest: 16,
            largest: 24,
            classes: 4,
            distractors: true,
            level: Level::Graph,
        }
    }
}

impl RingTransfer {
    /// Makes the data set.
    ///
    /// # Errors
    ///
    /// None in practice; the type is that of [`Graph::new`].
    pub fn generate(&self, seed: u64) -> Result<Dataset, GraphError> {
        let names = std::iter::once("is_target".to_owned());
        let columns = number_columns(names.chain((0..self.classes).map(|class| format!("class_{class}"))));
        let task = Task::MultiClass { classes: self.classes };
        let schema = schema(self.level, task, "class", columns);
        assemble("ring transfer", schema, self.sizes, |split, at| self.sample(seed, split, at))
    }

    fn sample(&self, seed: u64, split: Split, at: usize) -> Result<Sample, GraphError> {
        let mut random = stream(seed, "ring transfer", &[split as u64, at as u64]);
        let halves = self.smallest.div_ceil(2).max(2)..=(self.largest / 2).max(2);
        let nodes = 2 * random.in_range(halves);
        let class = random.below(self.classes);
        let target = random.below(nodes);
        let opposite = (target + nodes / 2) % nodes;
        let columns = 1 + self.classes;
        let mut values = vec![0f32; nodes * columns];
        for (node, row) in values.chunks_exact_mut(columns).enumerate() {
            let shown = if node == opposite { class } else { random.below(self.classes) };
            if node == target {
                row[0] = 1.0;
            } else if node == opposite || self.distractors {
                row[1 + shown] = 1.0;
            }
        }
        let edges: Vec<[u32; 2]> = (0..nodes)
            .flat_map(|node| {
                let (a, b) = (node as u32, ((node + 1) % nodes) as u32);
                [[a, b], [b, a]]
            })
            .collect();
        let no_edge_features = Features::none(edges.len());
        let graph = Graph::new(nodes, edges, Features::numbers(nodes, columns, values)?, no_edge_features)?;
        let at_target = |node: usize| if node == target { class as f32 } else { f32::NAN };
        let targets = match self.level {
            Level::Graph => vec![class as f32],
            Level::Node => (0..nodes).map(at_target).collect(),
            Level::Edge => graph.edges().iter().map(|[_, end]| at_target(*end as usize)).collect(),
            // The pair of the two is asked about.
            Level::Pair => vec![class as f32],
        };
        let pairs =
            if self.level == Level::Pair { vec![[target as u32, opposite as u32]] } else { Vec::new() };
        let graph = graph.with_pairs(pairs)?;
        Ok(Sample { id: sample_id("ring", split, at), graph: Arc::new(graph), targets })
    }
}
