//! The sequences that the nodes of a batch are put into: ascending degree, equal degrees at random.

use super::{EvaluationOrder, GraphMambaConfig};
use graphminnet::nn::Pass;
use graphminnet::ops::RowIndex;
use graphminnet_data::{Batch, rng};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// Seed of the orders outside of training.
const EVALUATION_SEED: u64 = 0;

/// What Graph-Mamba reads of a batch.
#[derive(Debug)]
pub(crate) struct MambaInput {
    /// Number of edges that leave each node.
    degrees: Vec<u32>,
    /// Where the nodes of each graph begin.
    offsets: Vec<u32>,
    /// What names the random numbers of each graph: its position in the data, else in the batch.
    names: Vec<u64>,
}

/// One draw: nodes in sequences, and where the sequences begin.
#[derive(Debug, Clone)]
pub(crate) struct Sequences {
    /// The node at every place.
    pub(super) nodes: Arc<RowIndex>,
    /// Where sequences begin.
    pub(super) offsets: Arc<Vec<u32>>,
    /// For 1, 2 and 3 places back, the place; the number of nodes where the sequence has not begun.
    pub(super) earlier: [Arc<RowIndex>; 3],
}

impl MambaInput {
    pub(crate) fn new(batch: &Batch) -> Self {
        let topology = batch.layout.topology();
        let degrees = topology.outgoing.windows(2).map(|range| range[1] - range[0]).collect();
        let graphs = batch.layout.num_graphs();
        let names = match batch.samples.len() == graphs {
            true => batch.samples.iter().map(|&sample| sample as u64).collect(),
            false => (0..graphs as u64).collect(),
        };
        Self { degrees, offsets: batch.layout.node_offsets().to_vec(), names }
    }

    /// The draws of a layer: one in training, several outside.
    pub(super) fn draws(&self, own: &GraphMambaConfig, layer: usize, pass: Pass) -> Vec<Sequences> {
        let (seed, count) = match (pass, own.evaluation_order) {
            (Pass::Train { seed }, _) => (seed, 1),
            (_, EvaluationOrder::Seeded) => (EVALUATION_SEED, own.evaluation_draws),
            (_, EvaluationOrder::Random) => (RandomState::new().hash_one(0), own.evaluation_draws),
        };
        let draw = |draw: u64| {
            let (mut noise, mut buckets) = (Vec::new(), Vec::new());
            for (range, &name) in self.offsets.windows(2).zip(&self.names) {
                let mut random = rng::stream(seed, "node order", &[layer as u64, draw, name]);
                for _ in range[0]..range[1] {
                    noise.push(random.uniform());
                    buckets.push(random.below(own.buckets));
                }
            }
            self.sequences(&noise, &buckets, own.buckets)
        };
        (0..count as u64).map(draw).collect()
    }

    /// Sequences by bucket and graph, each in the order of degree plus noise.
    pub(super) fn sequences(&self, noise: &[f64], bucket: &[usize], buckets: usize) -> Sequences {
        let key = |node: u32| f64::from(self.degrees[node as usize]) + noise[node as usize];
        let (mut nodes, mut offsets) = (Vec::with_capacity(self.degrees.len()), vec![0]);
        for chosen in 0..buckets {
            for range in self.offsets.windows(2) {
                let mut part: Vec<u32> =
                    (range[0]..range[1]).filter(|&node| bucket[node as usize] == chosen).collect();
                part.sort_by(|a, b| key(*a).total_cmp(&key(*b)).then(a.cmp(b)));
                if !part.is_empty() {
                    nodes.extend(part);
                    offsets.push(nodes.len() as u32);
                }
            }
        }
        let count = nodes.len() as u32;
        let earlier = [1, 2, 3].map(|steps| {
            let places = offsets.windows(2).flat_map(|range| {
                (range[0]..range[1]).map(move |at| if at - range[0] >= steps { at - steps } else { count })
            });
            RowIndex::new(count as usize + 1, places.collect())
        });
        Sequences { nodes: RowIndex::new(count as usize, nodes), offsets: Arc::new(offsets), earlier }
    }
}
