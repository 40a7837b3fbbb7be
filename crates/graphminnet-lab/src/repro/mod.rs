//! The paper's tables and figures, each computed again and put beside what is printed.
//!
//! Every experiment is one file with one entry point that gives an [`Outcome`]: tables as data and figures as data.
//! What takes long is kept in a [`Store`], cell by cell, so that an interrupted experiment resumes where it
//! was; trainings are run directories and resume within an epoch.
//!
//! | experiment | file | paper |
//! |---|---|---|
//! | parameter counts | [`params`] | table of parameters |
//! | data sets | [`datasets`] | table of data sets |
//! | results | [`table1`] | table of results |
//! | time per epoch | [`runtime`] | figure |
//! | operations, time and memory of large graphs | [`scalability`], [`scalability_systems`] | figure, proposition on complexity |
//! | noise on the features | [`robustness`] | figure |
//! | what the block does in a trained model | [`block`] | – |
//! | choices inside the model | [`ablation`] | tables and figure of the ablations |
//! | gradient against distance | [`long_range`] | proposition on long-range dependency |
//! | graphs that are distinguished | [`expressiveness`] | proposition on expressiveness |
//! | Lipschitz constants, equivariance | [`stability`] | proposition on stability |
//!
//! [`queue`] is the list of trainings that take days.
//!
//! Nothing here prints.

pub mod ablation;
pub mod block;
mod closeness;
pub mod datasets;
mod error;
pub mod expressiveness;
mod families;
mod figure;
mod folds;
mod lab;
pub mod links;
pub mod long_range;
mod node_baselines;
pub mod nodes;
mod own_models;
mod pair_table;
pub mod params;
mod parts;
pub mod queue;
pub mod robustness;
pub mod runtime;
pub mod scalability;
pub mod scalability_systems;
mod sheet;
mod smoke;
pub mod stability;
mod store;
pub mod systems;
pub mod table1;
mod verdict;

pub use error::ReproError;
pub use figure::{Figure, Line};
pub use lab::{Attempt, Lab, Trained, Watch};
pub use sheet::{Sheet, Side};
pub use store::Store;
pub use verdict::Verdict;

/// What an experiment gives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// Tables, each with a name for its files.
    pub sheets: Vec<(String, Sheet)>,
    /// Figures, each with a name for its file.
    pub figures: Vec<(String, Figure)>,
}
