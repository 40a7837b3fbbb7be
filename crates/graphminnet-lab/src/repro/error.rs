//! What can end an experiment.

use crate::bench::BenchError;
use graphminnet::bundle::BundleError;
use graphminnet::config::ConfigError;
use graphminnet::model::InputError;
use graphminnet::train::TrainError;
use graphminnet::weights::WeightsError;
use graphminnet_data::DataError;
use graphminnet_data::GraphError;
use graphminnet_data::fs::IoError;
use graphminnet_data::spectral::SpectralError;
use graphminnet_data::split::SplitError;
use std::path::PathBuf;
use thiserror::Error;

/// Why an experiment ended.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReproError {
    /// A configuration was refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// Data could not be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Data could not be split.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// A graph is not valid.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A graph could not be prepared.
    #[error(transparent)]
    Spectral(#[from] SpectralError),
    /// A graph does not fit a model.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A workload could not be timed.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// Weights could not be read.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// A model file could not be read.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A stored cell is not what it should be.
    #[error("{}: {reason}; remove the file to compute it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A name is not known.
    #[error("{what} `{name}` is not known; expected one of {known}")]
    Unknown {
        /// What was named.
        what: &'static str,
        /// The name.
        name: String,
        /// All names.
        known: String,
    },
    /// A request cannot be met.
    #[error("{0}")]
    Usage(String),
    /// The user wants to stop; what is done is kept.
    #[error("interrupted; what is done is kept, and the same command resumes there")]
    Interrupted,
}
