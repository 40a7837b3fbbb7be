//! What can stop a training run.

use super::checkpoint::CheckpointProblem;
use super::transfer::TransferError;
use crate::bundle::BundleError;
use crate::config::ConfigError;
use crate::model::InputError;
use crate::optim::OptimError;
use crate::task::LossError;
use crate::weights::WeightsError;
use graphminnet_data::DataError;
use graphminnet_data::batch::LoaderError;
use graphminnet_data::fs::IoError;
use graphminnet_data::links::LinkError;
use graphminnet_data::spectral::SpectralError;
use graphminnet_data::split::SplitError;
use graphminnet_data::{GraphError, Level};
use std::path::PathBuf;
use thiserror::Error;

/// Why a training run stopped or could not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data could not be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A benchmark data set is asked for, and this build has none.
    #[error(
        "the data is the benchmark data set `{name}`, and this program was built without the feature `benchmarks`"
    )]
    NoBenchmarks {
        /// The data set.
        name: String,
    },
    /// A data set could not be generated.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The data could not be split.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// The data could not be prepared.
    #[error(transparent)]
    Spectral(#[from] SpectralError),
    /// Links could not be hidden, or pairs without one not be drawn.
    #[error(transparent)]
    Links(#[from] LinkError),
    /// A batch could not be put together.
    #[error(transparent)]
    Loader(#[from] LoaderError),
    /// A batch does not fit the model.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A model file could not be put together.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// Targets do not fit the loss.
    #[error(transparent)]
    Loss(#[from] LossError),
    /// The model answers for something else than the data has targets for.
    #[error("the model answers per {model}, the data has targets per {data}; choose a model of that level")]
    Level {
        /// What a row of the model's outputs belongs to.
        model: Level,
        /// What a row of the data's targets belongs to.
        data: Level,
    },
    /// There is nothing to train on.
    #[error("the training part of the data has no graphs")]
    NoTrainingData,
    /// There is nothing to learn.
    #[error(
        "the data has no targets: name a column with --target, and its level with --level where it is one of nodes, edges or pairs ({columns})"
    )]
    NoTargets {
        /// The columns that there are.
        columns: String,
    },
    /// A numeric column whose squares are beyond single precision.
    #[error(
        "column `{column}` holds {value:e}, and squares of numbers beyond 1e18 do not fit into single precision; give it in other units, or its logarithm"
    )]
    LargeNumbers {
        /// The column.
        column: String,
        /// The largest number.
        value: f32,
    },
    /// All labels say the same.
    #[error(
        "all {labels} labels of the training part are of one class, so there is nothing to tell apart; check the target column and the split"
    )]
    OneClass {
        /// Known labels.
        labels: usize,
    },
    /// Every batch of an epoch was without usable labels.
    #[error("epoch {}: none of the {batches} training batches has a usable label", .epoch + 1)]
    NoLabels {
        /// The epoch, from 0.
        epoch: usize,
        /// Number of batches.
        batches: usize,
    },
    /// The loss or a gradient is not a finite number.
    #[error(
        "epoch {}, batch {}: the {what} is not finite{}{}",
        .epoch + 1,
        .batch + 1,
        .place.as_ref().map(|place| format!(" (first at {place})")).unwrap_or_default(),
        .saved.as_ref().map(|path| format!("; the batch is described in {}", path.display())).unwrap_or_default()
    )]
    NonFinite {
        /// `loss` or `gradient`.
        what: &'static str,
        /// The epoch, from 0.
        epoch: usize,
        /// The batch within the epoch, from 0.
        batch: usize,
        /// The first layer or parameter that is affected.
        place: Option<String>,
        /// Where the batch was saved for inspection.
        saved: Option<PathBuf>,
    },
    /// The run cannot begin with the model that it was given.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// Another rank failed, and told all others.
    #[error("rank {rank}: {message}")]
    OnRank {
        /// The rank.
        rank: usize,
        /// What it said.
        message: String,
    },
    /// Ranks do not work on the same thing.
    #[error(
        "rank {rank} has other {what} than rank 0 ({here}, not {there}); start all ranks alike, with the same files"
    )]
    Unlike {
        /// What differs.
        what: &'static str,
        /// This rank.
        rank: usize,
        /// What it has.
        here: String,
        /// What rank 0 has.
        there: String,
    },
    /// Weights could not be read or written.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The optimizer's state could not be read, or does not fit.
    #[error(transparent)]
    Optim(#[from] OptimError),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A state could not be saved; the ones saved before are untouched.
    #[error("the state of the run could not be saved; the last saved one is intact")]
    Save(#[source] IoError),
    /// A file in the place of a run directory.
    #[error("{} is a file, and a run is a folder; give another name", path.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
    },
    /// A run directory that exists already.
    #[error("{} exists already, and a run is never overwritten; give another name, or resume it", path.display())]
    RunExists {
        /// The directory.
        path: PathBuf,
    },
    /// A directory that holds something else than a run.
    #[error("{} holds `{found}`, which is no part of a run; give an empty or a new directory", path.display())]
    Occupied {
        /// The directory.
        path: PathBuf,
        /// Something that is in it.
        found: String,
    },
    /// A directory in which no run was ever started.
    #[error("{} holds no run: there is no run.toml in it, so nothing was started there yet", path.display())]
    NoRun {
        /// The directory.
        path: PathBuf,
    },
    /// The data is in nobody's file.
    #[error(
        "the graphs of this run were given in memory by the program that started it; give them again to resume"
    )]
    DataNotGiven,
    /// The data was prepared for another model.
    #[error("the data was prepared for another model: {found}, but this one needs {needed}")]
    PreparedOtherwise {
        /// What was computed.
        found: String,
        /// What is needed.
        needed: String,
    },
    /// Another process works on the run.
    #[error("{} is in use by another process", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// A file of the run directory is not what was written.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The run's configuration or data changed since it was started.
    #[error(
        "{what} changed since the run was started (then {before}, now {now}); a run only resumes as it was"
    )]
    Changed {
        /// What changed.
        what: &'static str,
        /// Hash at the start.
        before: String,
        /// Hash now.
        now: String,
    },
    /// No saved state can be used.
    #[error(
        "no saved state in {} can be used:{}",
        path.display(),
        .problems.iter().map(|problem| format!("\n  {problem}")).collect::<String>()
    )]
    NoUsableState {
        /// The folder.
        path: PathBuf,
        /// What is wrong with each.
        problems: Vec<CheckpointProblem>,
    },
}
