//! Training on a large graph in pieces: the memory of a step is that of one piece.
//!
//! ```text
//! each epoch:   whole graph, unrecorded ─→ the block's sums of every piece and layer (M×D numbers each)
//! each step:    one piece, recorded, against its own sums and those carried of the others
//! evaluation:   whole graph, unrecorded, as without pieces
//! ```
//!
//! Exact: what the block of a piece's nodes sees of the whole graph, with the weights that the epoch began with. Not exact:
//! edges between pieces are left out, norms see the nodes of the piece, the carried sums are one epoch old at most and have
//! no gradient.

use super::{Architecture, TrainError, TrainingData};
use crate::config::ConfigError;
use crate::model::Model;
use crate::weights::{self, NamedTensor};
use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use graphminnet_data::pieces::cut_into_pieces;
use graphminnet_data::preparation::PreparedSample;
use graphminnet_data::split::Splits;
use graphminnet_data::{Batch, Level, NodeParts, Qualifiers, Split};
use std::sync::Arc;

/// The pieces of the training graphs.
pub(super) struct Pieces {
    /// The pieces as data of their own, all of them to train on.
    pub(super) data: TrainingData,
    graphs: Vec<Cut>,
    /// The graph and the number of every piece.
    places: Vec<(usize, usize)>,
}

/// A graph in pieces.
struct Cut {
    /// Its place in the data.
    sample: usize,
    nodes: Vec<Vec<usize>>,
    /// The sums of its pieces, per layer `[pieces, pairs, channels]`; empty until they are carried, and for a single piece.
    sums: Vec<Tensor<3>>,
}

impl Pieces {
    /// Cuts every training graph.
    pub(super) fn cut(data: &TrainingData, pieces: usize) -> Result<Self, TrainError> {
        let level = data.dataset.schema.level;
        if level != Level::Node {
            return Err(TrainError::Config(ConfigError::Invalid {
                key: "train.pieces".to_owned(),
                value: pieces.to_string(),
                expected: format!(
                    "targets of nodes, and these are per {level}: a piece of a graph has no answer for it; leave it out"
                ),
            }));
        }
        let columns = data.target_columns();
        let (mut samples, mut node_parts) = (Vec::new(), Vec::new());
        let (mut graphs, mut places, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for &at in &data.splits.train {
            let Some(sample) = data.dataset.samples.get(at) else { continue };
            let nodes = cut_into_pieces(&sample.prepared.graph, pieces);
            for (number, piece) in nodes.iter().enumerate() {
                places.push((graphs.len(), number));
                weights.extend(data.qualifiers.weights.get(at));
                let targets = piece.iter().flat_map(|&node| {
                    sample.targets.get(node * columns..(node + 1) * columns).unwrap_or_default()
                });
                samples.push(PreparedSample {
                    id: match nodes.len() {
                        1 => sample.id.clone(),
                        all => format!("{}, piece {} of {all}", sample.id, number + 1),
                    },
                    prepared: sample.prepared.piece(piece).map_err(TrainError::Graph)?,
                    targets: targets.copied().collect(),
                });
                let counts = |&node: &usize| data.counts(Split::Train, at, node).then_some(Split::Train);
                node_parts.push(piece.iter().map(counts).collect());
            }
            graphs.push(Cut { sample: at, nodes, sums: Vec::new() });
        }
        let data = TrainingData {
            splits: Splits { train: (0..places.len()).collect(), ..Splits::default() },
            dataset: Arc::new(data.dataset.with_samples(samples)),
            node_parts: Some(NodeParts::new(node_parts)),
            qualifiers: Qualifiers { weights, ..Qualifiers::default() },
            ..data.clone()
        };
        Ok(Self { data, graphs, places })
    }

    /// Computes the sums of all pieces with the weights as they are.
    pub(super) fn carry<C: Architecture>(
        &mut self,
        config: &C,
        model: &C::Model,
        data: &TrainingData,
        device: &Device,
    ) -> Result<(), TrainError> {
        // A copy, so that no estimate of the model moves.
        let model = model.valid();
        for graph in self.graphs.iter_mut().filter(|graph| graph.nodes.len() > 1) {
            let batch = Batch::of_samples(&data.dataset, vec![graph.sample])?;
            let input = model.input(batch, device)?;
            graph.sums = config.piece_sums(&model, input, &graph.nodes)?;
        }
        Ok(())
    }

    /// The sums over all other pieces of the graph of a piece, per layer `[pairs, channels]`, added up in their order;
    /// `None` for one that is a whole graph.
    pub(super) fn beyond(&self, piece: usize) -> Option<Vec<Tensor<2>>> {
        let (graph, number) = *self.places.get(piece)?;
        let graph = self.graphs.get(graph).filter(|graph| graph.nodes.len() > 1)?;
        let others = |sums: &Tensor<3>| {
            let [pieces, pairs, channels] = sums.dims();
            let one = |at: usize| sums.clone().narrow(0, at, 1).reshape([pairs, channels]);
            let others = (0..pieces).filter(|&at| at != number).map(one);
            others.reduce(|sum, next| sum + next)
        };
        graph.sums.iter().map(others).collect()
    }

    /// The carried sums, for a saved state.
    pub(super) fn to_bytes(&self) -> Result<Option<Vec<u8>>, TrainError> {
        let mut tensors = Vec::new();
        for (graph, cut) in self.graphs.iter().enumerate() {
            for (layer, sums) in cut.sums.iter().enumerate() {
                let shape = sums.dims().to_vec();
                let values = crate::ops::values(sums.clone());
                tensors.push(NamedTensor { name: format!("{graph}.{layer}"), shape, values });
            }
        }
        if tensors.is_empty() {
            return Ok(None);
        }
        Ok(Some(weights::tensors_to_bytes(&tensors)?))
    }

    /// Takes up the sums of a saved state.
    pub(super) fn restore(&mut self, bytes: &[u8], device: &Device) -> Result<(), TrainError> {
        let tensors = weights::tensors_of_bytes(bytes)?;
        for (graph, cut) in self.graphs.iter_mut().enumerate() {
            let layers = (0..).map_while(|layer| tensors.get(&format!("{graph}.{layer}")));
            let sums = layers.filter_map(|tensor| {
                let shape: [usize; 3] = tensor.shape.as_slice().try_into().ok()?;
                Some(Tensor::from_data(TensorData::new(tensor.values.clone(), shape), device))
            });
            cut.sums = sums.collect();
        }
        Ok(())
    }
}
