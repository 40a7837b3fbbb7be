//! Why a model file cannot be used, and why a graph cannot be predicted.

use crate::config::ConfigError;
use crate::device::DeviceError;
use crate::model::InputError;
use crate::weights::WeightsError;
use graphminnet_data::fs::IoError;
use graphminnet_data::spectral::{SpectralError, Stopped};
use graphminnet_data::{GraphError, Level};
use std::path::PathBuf;
use thiserror::Error;

/// Why a model file could not be read, or files do not go together.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BundleError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// There is no model where one was looked for.
    #[error(
        "{}: no model here; expected a `.gmn` file, a folder with `best.gmn`, or a run with `seed-N/best.gmn` (a run has one after its first epoch)",
        path.display()
    )]
    NotFound {
        /// The folder.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{}: not a GraphMinNet model: it begins with {found}, a model begins with \"GMNMODEL\"", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its first bytes, escaped.
        found: String,
    },
    /// The file was written by a newer program.
    #[error(
        "{}: the model has format version {found}, this program reads versions 1 to {newest}; use a newer graphminnet",
        path.display()
    )]
    FutureVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that is understood.
        newest: u32,
    },
    /// The file ends too early.
    #[error(
        "{}: the model is truncated: {found} of {expected} bytes are there; copy or download it again",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes found.
        found: u64,
        /// Bytes expected.
        expected: u64,
    },
    /// Bytes were changed.
    #[error("{}: the model is damaged: {what}; copy or download it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What does not agree.
        what: String,
    },
    /// The file is larger than a model may be.
    #[error("{}: the model claims {bytes} bytes, more than the {limit} that are accepted", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Bytes claimed.
        bytes: u64,
        /// Bytes accepted.
        limit: u64,
    },
    /// The description is intact but makes no sense.
    #[error("{}: the model's description cannot be used: {reason}", path.display())]
    Description {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The model's configuration is not valid.
    #[error("{}: the model's configuration cannot be used", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: ConfigError,
    },
    /// The weights do not belong to the model.
    #[error("{}: the model's weights cannot be used", path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: WeightsError,
    },
    /// The device is not there.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Members of an ensemble answer different questions.
    #[error("{} and {} do not form an ensemble: their {what} differ", first.display(), other.display())]
    Ensemble {
        /// The first member.
        first: PathBuf,
        /// The member that does not fit.
        other: PathBuf,
        /// What differs.
        what: &'static str,
    },
    /// A file with several models, where one was asked for.
    #[error(
        "{}: the file holds {models} models; here one is needed, such as `seed-N/best.gmn` of the run that it is from",
        path.display()
    )]
    Several {
        /// The file.
        path: PathBuf,
        /// Models in it.
        models: usize,
    },
    /// An ensemble without members.
    #[error("an ensemble needs at least one model")]
    NoMembers,
}

/// Why a graph has no prediction.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum PredictError {
    /// Its eigenpairs could not be computed.
    #[error(transparent)]
    Spectral(#[from] SpectralError),
    /// It does not fit the model.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The model cannot be used in this way.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no graph: its row could not be read.
    #[error("{reason}")]
    Unusable {
        /// What is wrong with the row.
        reason: String,
    },
    /// Nothing was asked about such a graph.
    #[error("graph {graph} was not asked about; there are {graphs}, counted from 0")]
    NoSuchGraph {
        /// Its position.
        graph: usize,
        /// How many there are.
        graphs: usize,
    },
    /// The model's answer is no number.
    #[error(
        "the prediction is not a finite number: the features are far outside of what the model was trained on"
    )]
    NonFinite,
    /// An evaluation without anything to compare with.
    #[error("no graph has a label: the data needs a column (or field) `{targets}` with values in it")]
    NoLabels {
        /// Names of the targets.
        targets: String,
    },
    /// A pair names a missing node, or graphs do not go together.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The model was asked about pairs of nodes.
    #[error("the model answers per {level}, not for pairs of nodes")]
    NotOfPairs {
        /// What it answers for.
        level: Level,
    },
    /// The model was asked about links.
    #[error("the model does not predict links: it has no binary target, or several targets")]
    NotLinks,
    /// The likeliest of all pairs were asked for.
    #[error("{nodes} nodes have too many pairs to look at all of them; ask about some of them")]
    TooManyPairs {
        /// Nodes of the graph.
        nodes: usize,
    },
    /// It was told to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// One of several graphs is at fault.
    #[error("graph {graph}: {source}")]
    InGraph {
        /// Its position.
        graph: usize,
        /// What is wrong with it.
        source: Box<PredictError>,
    },
}

impl PredictError {
    /// Names the graph that is at fault.
    pub(crate) fn in_graph(graph: usize) -> impl FnOnce(Self) -> Self {
        move |source| Self::InGraph { graph, source: Box::new(source) }
    }
}
