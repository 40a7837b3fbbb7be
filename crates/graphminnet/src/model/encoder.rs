//! From input features to the first hidden features.

use super::{FeatureInput, ModelInput};
use crate::config::{EdgeEncoderKind, ModelConfig, NodeEncoderKind, NodePeKind};
use crate::nn::{
    Around, BatchNorm, Embedding, Init, LapPe, Linear, Pass, RandomWalkPe, Standardize, SumEmbedding,
};
use crate::ops::l2_rows;
use burn::module::Module;
use burn::tensor::{Tensor, activation};

/// `Linear (no bias) → BatchNorm → ReLU → L2 rows`.
#[derive(Module, Debug)]
pub(super) struct PreMessagePassing {
    lin: Linear,
    bn: BatchNorm,
}

/// A linear map of numbers plus a sum of tables.
#[derive(Module, Debug)]
pub(super) struct MixedEncoder {
    numbers: Linear,
    categories: SumEmbedding,
}

impl MixedEncoder {
    fn new(numbers: usize, sizes: &[usize], width: usize, init: &mut Init) -> Self {
        Self {
            numbers: Linear::new(numbers, width, true, init),
            categories: SumEmbedding::new(sizes, width, init),
        }
    }
}

/// One kind of feature encoder, for nodes or edges.
#[derive(Module, Debug)]
pub(super) enum FeatureEncoder {
    /// A linear map of numbers.
    Linear(Linear),
    /// One table.
    Embed(Embedding),
    /// A sum of tables.
    Atoms(SumEmbedding),
    /// The pre-message-passing encoder.
    Premp(PreMessagePassing),
    /// Numbers and categories.
    Mixed(MixedEncoder),
}

impl FeatureEncoder {
    pub(super) fn for_nodes(config: &ModelConfig, init: &mut Init) -> Self {
        let width = config.hidden - config.positional_width();
        match config.node_encoder {
            NodeEncoderKind::Linear | NodeEncoderKind::Degrees => {
                Self::Linear(Linear::new(config.node_in, width, true, init))
            }
            NodeEncoderKind::Embed => Self::Embed(Embedding::new(config.node_vocab[0], width, init)),
            NodeEncoderKind::Atoms => Self::Atoms(SumEmbedding::new(&config.node_vocab, width, init)),
            NodeEncoderKind::Premp => Self::Premp(PreMessagePassing {
                lin: Linear::new(config.node_in, width, false, init),
                bn: BatchNorm::new(width, init),
            }),
            NodeEncoderKind::Mixed => {
                Self::Mixed(MixedEncoder::new(config.node_in, &config.node_vocab, width, init))
            }
        }
    }

    pub(super) fn for_edges(config: &ModelConfig, init: &mut Init) -> Option<Self> {
        config.has_edge_encoder().then(|| Self::of_edges(config, init)).flatten()
    }

    /// Features of edges for the head of a model that answers for them. They are those of the data: what layers make of an
    /// edge depends on its direction.
    pub(super) fn for_head(config: &ModelConfig, init: &mut Init) -> Option<Self> {
        config.head_reads_edges().then(|| Self::of_edges(config, init)).flatten()
    }

    fn of_edges(config: &ModelConfig, init: &mut Init) -> Option<Self> {
        let width = config.hidden;
        match config.edge_encoder {
            EdgeEncoderKind::Linear => Some(Self::Linear(Linear::new(config.edge_in, width, true, init))),
            EdgeEncoderKind::Embed => Some(Self::Embed(Embedding::new(config.edge_vocab[0], width, init))),
            EdgeEncoderKind::Atoms => Some(Self::Atoms(SumEmbedding::new(&config.edge_vocab, width, init))),
            EdgeEncoderKind::Mixed => {
                Some(Self::Mixed(MixedEncoder::new(config.edge_in, &config.edge_vocab, width, init)))
            }
            EdgeEncoderKind::Dummy => Some(Self::Embed(Embedding::new(1, width, init))),
            EdgeEncoderKind::None => None,
        }
    }

    /// `[rows, width]`; numbers are put on a common scale first where there is one.
    pub(super) fn forward<'a>(
        &self,
        features: &FeatureInput,
        scale: Option<&Standardize>,
        pass: impl Into<Around<'a>>,
    ) -> Tensor<2> {
        let scaled = |numbers: &Tensor<2>| match scale {
            Some(scale) => scale.forward(numbers.clone()),
            None => numbers.clone(),
        };
        match (self, features) {
            (Self::Linear(linear), FeatureInput::Numbers(numbers)) => linear.forward(scaled(numbers)),
            (Self::Mixed(encoder), FeatureInput::Mixed(numbers, categories)) => {
                encoder.numbers.forward(scaled(numbers)) + encoder.categories.forward(categories)
            }
            (Self::Embed(table), FeatureInput::Categories(categories)) => table.forward(categories),
            (Self::Atoms(tables), FeatureInput::Categories(categories)) => tables.forward(categories),
            (Self::Premp(encoder), FeatureInput::Numbers(numbers)) => {
                l2_rows(activation::relu(encoder.bn.forward(encoder.lin.forward(numbers.clone()), pass)))
            }
            _ => unreachable!("a model's input is made for its own encoders"),
        }
    }
}

/// The positional part of the node features.
#[derive(Module, Debug)]
pub(super) enum NodePe {
    /// From eigenpairs.
    Lappe(LapPe),
    /// From random walks.
    Rwse(RandomWalkPe),
}

impl NodePe {
    pub(super) fn new(config: &ModelConfig, init: &mut Init) -> Option<Self> {
        match config.node_pe {
            NodePeKind::None => None,
            NodePeKind::Lappe => Some(Self::Lappe(LapPe::new(config.pe_dim, init))),
            NodePeKind::Rwse => Some(Self::Rwse(RandomWalkPe::new(config.rwse_steps, config.pe_dim, init))),
        }
    }

    /// `[nodes, pe_dim]`.
    pub(super) fn forward(&self, input: &ModelInput, config: &ModelConfig, pass: Pass) -> Tensor<2> {
        match (self, &input.random_walk) {
            (Self::Rwse(encoder), Some(probabilities)) => {
                encoder.forward(probabilities.clone(), input.around(pass))
            }
            (Self::Rwse(_), None) => unreachable!("a model's input is made for its own encoders"),
            (Self::Lappe(encoder), _) => {
                let signs =
                    if config.lappe_sign_flip { pass.signs(config.stored_eigenpairs()) } else { None };
                encoder.forward(
                    input.eigenvectors.clone(),
                    input.eigenvalues.clone(),
                    input.exist.clone(),
                    signs,
                    &input.structure,
                )
            }
        }
    }
}
