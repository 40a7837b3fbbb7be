//! One large random graph of a given mean degree: the paper's scalability experiment.

use super::{PartSizes, assemble, number_columns, sample_id, schema};
use crate::dataset::{Dataset, Level, Sample, Task};
use crate::graph::{Features, Graph, GraphError};
use crate::rng::stream;
use std::sync::Arc;

/// Random graphs with `nodes · mean_degree / 2` undirected edges between uniformly chosen pairs of different nodes
/// (a pair may be chosen twice), random normal features, and `ln(1 + degree)` as the target of every node.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomGraph {
    /// Number of graphs, all in the training part.
    pub graphs: usize,
    /// Nodes of each.
    pub nodes: usize,
    /// Mean number of neighbours.
    pub mean_degree: f64,
    /// Numeric features per node.
    pub features: usize,
}

impl Default for RandomGraph {
    fn default() -> Self {
        Self { graphs: 1, nodes: 100_000, mean_degree: 5.0, features: 16 }
    }
}

impl RandomGraph {
    /// Makes the data set.
    ///
    /// # Errors
    ///
    /// [`GraphError::TooLarge`] if the graph does not fit the index type.
    pub fn generate(&self, seed: u64) -> Result<Dataset, GraphError> {
        let columns = number_columns((0..self.features).map(|at| format!("feature_{at}")));
        let schema = schema(Level::Node, Task::Regression, "log_degree", columns);
        let sizes = PartSizes { train: self.graphs, valid: 0, test: 0 };
        assemble("random graphs", schema, sizes, |split, at| {
            let mut random = stream(seed, "random graph", &[at as u64]);
            let graph = self.graph(&mut random)?;
            let mut degrees = vec![0u32; self.nodes];
            graph.edges().iter().for_each(|&[source, _]| degrees[source as usize] += 1);
            let targets = degrees.into_iter().map(|degree| f64::from(degree).ln_1p() as f32).collect();
            Ok(Sample { id: sample_id("random", split, at), graph: Arc::new(graph), targets })
        })
    }

    fn graph(&self, random: &mut crate::rng::Stream) -> Result<Graph, GraphError> {
        let pairs = (self.nodes as f64 * self.mean_degree.max(0.0) / 2.0) as usize;
        let limit = Graph::MAX_COUNT;
        if self.nodes > limit || pairs > limit / 2 {
            let (what, count) = if self.nodes > limit { ("nodes", self.nodes) } else { ("edges", 2 * pairs) };
            return Err(GraphError::TooLarge { what, count, limit });
        }
        let mut edges = Vec::with_capacity(2 * pairs);
        if self.nodes > 1 {
            for _ in 0..pairs {
                let a = random.below(self.nodes);
                let b = (a + random.in_range(1..=self.nodes - 1)) % self.nodes;
                edges.push([a as u32, b as u32]);
                edges.push([b as u32, a as u32]);
            }
        }
        let values = (0..self.nodes * self.features).map(|_| random.normal() as f32).collect();
        let no_edge_features = Features::none(edges.len());
        Graph::new(self.nodes, edges, Features::numbers(self.nodes, self.features, values)?, no_edge_features)
    }
}
