//! CLUSTER: find the community of every node; one node of each community is labelled (Dwivedi et al. 2023).

use super::block_model::{Adjacency, random_communities};
use super::{PartSizes, assemble, number_columns, one_hot, sample_id, schema};
use crate::dataset::{Dataset, Level, Sample, Split, Task};
use crate::graph::{Features, Graph, GraphError};
use crate::rng::stream;
use std::sync::Arc;

const COMMUNITIES: usize = 6;
const INSIDE: f64 = 0.55;
const ACROSS: f64 = 0.25;

/// The CLUSTER generator. The default has the published sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Graphs in each part.
    pub sizes: PartSizes,
}

impl Default for Cluster {
    fn default() -> Self {
        Self { sizes: PartSizes { train: 10_000, valid: 1_000, test: 1_000 } }
    }
}

impl Cluster {
    /// The published setting with another number of graphs.
    pub fn with_graphs(total: usize) -> Self {
        Self { sizes: Self::default().sizes.scaled_to(total) }
    }

    /// Makes the data set.
    ///
    /// # Errors
    ///
    /// None in practice; the type is that of [`Graph::new`].
    pub fn generate(&self, seed: u64) -> Result<Dataset, GraphError> {
        let columns = number_columns((0..=COMMUNITIES).map(|value| format!("signal_{value}")));
        let task = Task::MultiClass { classes: COMMUNITIES };
        let schema = schema(Level::Node, task, "community", columns);
        assemble("CLUSTER", schema, self.sizes, |split, at| sample(seed, split, at))
    }
}

fn sample(seed: u64, split: Split, at: usize) -> Result<Sample, GraphError> {
    let mut random = stream(seed, "cluster graph", &[split as u64, at as u64]);
    let community = random_communities(COMMUNITIES, &mut random);
    let nodes = community.len();
    let mut adjacency = Adjacency::empty(nodes);
    adjacency.connect_randomly(0..nodes, &mut random, |a, b| {
        if community[a] == community[b] { INSIDE } else { ACROSS }
    });
    let place = random.permutation(nodes);
    let (mut shown, mut targets) = (vec![0; nodes], vec![0f32; nodes]);
    for (node, &to) in place.iter().enumerate() {
        targets[to] = community[node] as f32;
    }
    let mut first = 0;
    for name in 0..COMMUNITIES {
        let size = community.iter().filter(|&&other| other == name).count();
        shown[place[first + random.below(size)]] = name + 1;
        first += size;
    }
    let edges = adjacency.edges(&place);
    let no_edge_features = Features::none(edges.len());
    let graph = Graph::new(nodes, edges, one_hot(COMMUNITIES + 1, &shown)?, no_edge_features)?;
    Ok(Sample { id: sample_id("cluster", split, at), graph: Arc::new(graph), targets })
}
