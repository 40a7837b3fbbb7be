//! PATTERN: find the nodes of a planted pattern in a block-model graph (Dwivedi et al. 2023).

use super::block_model::{Adjacency, COMMUNITY_SIZES, random_communities};
use super::{PartSizes, assemble, number_columns, one_hot, sample_id, schema};
use crate::dataset::{Dataset, Level, Sample, Split, Task};
use crate::graph::{Features, Graph, GraphError};
use crate::rng::stream;
use std::sync::Arc;

/// Values of the node signal.
const SIGNALS: usize = 3;
const COMMUNITIES: usize = 5;
const INSIDE: f64 = 0.5;
const ACROSS: f64 = 0.35;
/// Probability of an edge within the pattern, and between the pattern and the rest.
const PATTERN: f64 = 0.5;

/// The PATTERN generator. The default has the published sizes.
///
/// The published graphs were made without a seed, so only their distribution can be reproduced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Different patterns; the graphs of each part take them in turn.
    pub patterns: usize,
    /// Graphs in each part.
    pub sizes: PartSizes,
}

impl Default for Pattern {
    fn default() -> Self {
        Self { patterns: 100, sizes: PartSizes { train: 10_000, valid: 2_000, test: 2_000 } }
    }
}

/// A pattern, the same in all graphs that contain it.
struct Planted {
    adjacency: Adjacency,
    signal: Vec<usize>,
}

impl Pattern {
    /// The published setting with another number of graphs.
    pub fn with_graphs(total: usize) -> Self {
        let default = Self::default();
        Self { sizes: default.sizes.scaled_to(total), ..default }
    }

    /// Makes the data set.
    ///
    /// # Errors
    ///
    /// None in practice; the type is that of [`Graph::new`].
    pub fn generate(&self, seed: u64) -> Result<Dataset, GraphError> {
        let columns = number_columns((0..SIGNALS).map(|value| format!("signal_{value}")));
        let schema = schema(Level::Node, Task::Binary, "in_pattern", columns);
        let planted: Vec<Planted> = (0..self.patterns.max(1)).map(|at| planted(seed, at)).collect();
        assemble("PATTERN", schema, self.sizes, |split, at| {
            sample(seed, split, at, &planted[at % planted.len()])
        })
    }
}

fn planted(seed: u64, at: usize) -> Planted {
    let mut random = stream(seed, "pattern", &[at as u64]);
    let nodes = random.in_range(COMMUNITY_SIZES);
    let mut adjacency = Adjacency::empty(nodes);
    adjacency.connect_randomly(0..nodes, &mut random, |_, _| PATTERN);
    let signal = (0..nodes).map(|_| random.below(SIGNALS)).collect();
    Planted { adjacency, signal }
}

fn sample(seed: u64, split: Split, at: usize, planted: &Planted) -> Result<Sample, GraphError> {
    let mut random = stream(seed, "pattern graph", &[split as u64, at as u64]);
    let community = random_communities(COMMUNITIES, &mut random);
    let (base, extra) = (community.len(), planted.adjacency.nodes());
    let nodes = base + extra;
    let mut adjacency = Adjacency::empty(nodes);
    adjacency.connect_randomly(0..base, &mut random, |a, b| {
        if community[a] == community[b] { INSIDE } else { ACROSS }
    });
    let mut signal: Vec<usize> = (0..base).map(|_| random.below(SIGNALS)).collect();
    signal.extend(&planted.signal);
    for a in 0..extra {
        for b in 0..a {
            if planted.adjacency.has(a, b) {
                adjacency.connect(base + a, base + b);
            }
        }
        for b in 0..base {
            if random.chance(PATTERN) {
                adjacency.connect(base + a, b);
            }
        }
    }
    let place = random.permutation(nodes);
    let (mut shown, mut targets) = (vec![0; nodes], vec![0f32; nodes]);
    for (node, &to) in place.iter().enumerate() {
        shown[to] = signal[node];
        targets[to] = if node >= base { 1.0 } else { 0.0 };
    }
    let edges = adjacency.edges(&place);
    let no_edge_features = Features::none(edges.len());
    let graph = Graph::new(nodes, edges, one_hot(SIGNALS, &shown)?, no_edge_features)?;
    Ok(Sample { id: sample_id("pattern", split, at), graph: Arc::new(graph), targets })
}
