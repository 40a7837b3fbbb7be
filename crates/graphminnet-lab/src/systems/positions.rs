//! Where a node is in its graph, as numbers behind its features.

use super::san::{SpectrumConfig, SpectrumEncoder, SpectrumInput};
use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use graphminnet::config::ConfigError;
use graphminnet::model::InputError;
use graphminnet::nn::{Init, LapPe, Pass, RandomWalkPe};
use graphminnet::ops::Structure;
use graphminnet_data::Batch;
use graphminnet_data::spectral::PrepareOptions;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which encoding of positions stands behind the features of a node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Positions {
    /// None.
    #[default]
    None,
    /// A small network on the lowest eigenpairs of the Laplacian, summed.
    Laplacian {
        /// Numbers per node.
        width: usize,
        /// Eigenpairs.
        pairs: usize,
    },
    /// A linear map of normalised return probabilities of random walks.
    Walks {
        /// Numbers per node.
        width: usize,
        /// Longest walk.
        steps: usize,
    },
    /// SAN's transformer over eigenpairs of the normalised Laplacian.
    Spectrum(SpectrumConfig),
}

impl Positions {
    /// Numbers per node.
    pub fn width(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Laplacian { width, .. } | Self::Walks { width, .. } => *width,
            Self::Spectrum(own) => own.width,
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Spectrum(own) => own.check(),
            _ => Ok(()),
        }
    }

    /// What the library prepares for it.
    pub(super) fn prepare_options(&self) -> PrepareOptions {
        match self {
            Self::Laplacian { pairs, .. } => PrepareOptions { eigenpairs: *pairs, ..Default::default() },
            Self::Walks { steps, .. } => PrepareOptions { random_walk_steps: *steps, ..Default::default() },
            Self::None | Self::Spectrum(_) => PrepareOptions::default(),
        }
    }
}

/// An encoder of positions with its parameters.
#[derive(Module, Debug)]
pub(crate) enum PositionEncoder {
    /// From eigenpairs of the Laplacian.
    Laplacian(LapPe),
    /// From random walks.
    Walks(RandomWalkPe),
    /// From eigenpairs of the normalised Laplacian.
    Spectrum(SpectrumEncoder),
}

/// What an encoder of positions reads.
#[derive(Debug)]
pub(crate) enum PositionInput {
    Laplacian { eigenvectors: Tensor<2>, eigenvalues: Tensor<2>, exist: Tensor<2> },
    Walks(Tensor<2>),
    Spectrum(SpectrumInput),
}

impl PositionEncoder {
    pub(super) fn new(kind: &Positions, init: &mut Init) -> Option<Self> {
        match kind {
            Positions::None => None,
            Positions::Laplacian { width, .. } => Some(Self::Laplacian(LapPe::new(*width, init))),
            Positions::Walks { width, steps } => Some(Self::Walks(RandomWalkPe::new(*steps, *width, init))),
            Positions::Spectrum(own) => Some(Self::Spectrum(SpectrumEncoder::new(own, init))),
        }
    }

    /// `[nodes, width]`.
    pub(super) fn forward(&self, input: &PositionInput, structure: &Arc<Structure>, pass: Pass) -> Tensor<2> {
        match (self, input) {
            (Self::Laplacian(encoder), PositionInput::Laplacian { eigenvectors, eigenvalues, exist }) => {
                let signs = pass.signs(eigenvectors.dims()[1]);
                let (vectors, values) = (eigenvectors.clone(), eigenvalues.clone());
                encoder.forward(vectors, values, exist.clone(), signs, structure)
            }
            (Self::Walks(encoder), PositionInput::Walks(walks)) => encoder.forward(walks.clone(), pass),
            (Self::Spectrum(encoder), PositionInput::Spectrum(input)) => {
                encoder.forward(input, structure, pass)
            }
            _ => unreachable!("a system's input is made for its own encoders"),
        }
    }
}

impl PositionInput {
    pub(super) fn new(kind: &Positions, batch: &Batch, device: &Device) -> Result<Option<Self>, InputError> {
        let (nodes, graphs) = (batch.layout.num_nodes(), batch.layout.num_graphs());
        let table = |what, values: &[f32], rows: usize, columns: usize| {
            if values.len() != rows * columns {
                let reason = "the graphs must be prepared for this system".to_owned();
                let (found, expected) = (values.len(), rows * columns);
                return Err(InputError::Length { what, found, expected, reason });
            }
            Ok(Tensor::from_data(TensorData::new(values.to_vec(), [rows, columns]), device))
        };
        Ok(Some(match kind {
            Positions::None => return Ok(None),
            Positions::Laplacian { pairs, .. } => {
                let exist: Vec<f32> = batch
                    .num_eigenpairs
                    .iter()
                    .flat_map(|&count| (0..*pairs).map(move |at| if at < count { 1.0 } else { 0.0 }))
                    .collect();
                Self::Laplacian {
                    eigenvectors: table("eigenvectors", &batch.eigenvectors, nodes, *pairs)?,
                    eigenvalues: table("eigenvalues", &batch.eigenvalues, graphs, *pairs)?,
                    exist: table("num_eigenpairs", &exist, graphs, *pairs)?,
                }
            }
            Positions::Walks { steps, .. } => {
                Self::Walks(table("return probabilities", &batch.random_walk, nodes, *steps)?)
            }
            Positions::Spectrum(own) => Self::Spectrum(SpectrumInput::new(own, batch, device)?),
        }))
    }
}
