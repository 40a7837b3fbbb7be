//! Training: one loop, one protocol, and a run that survives anything.
//!
//! ```text
//! DataSource → Dataset → prepared, split → TrainingData ┐
//! recipe + overrides ───────────────→ model, protocol ──┼─ Run ─→ directory (metrics, states, models, predictions)
//! seeds ────────────────────────────────────────────────┘   └───→ TrainEvents → Observer
//! ```
//!
//! [`Run`] is the way in: it creates or opens the directory of a run, trains its seeds, resumes and summarises. Below
//! it is [`train_seed`], one seed without a run around it.
//!
//! Everything random is a pure function of the seed, the epoch and the position in the epoch, so a run that is killed
//! and resumed from any saved state goes on to the same bits. Nothing here prints: whoever wants to see progress
//! passes an [`Observer`].

mod architecture;
mod checkpoint;
mod data;
mod defaults;
mod error;
mod evaluate;
mod event;
mod files;
mod gradient_pass;
mod log;
mod metrics;
mod predictions;
mod recompute;
mod record;
mod run;
mod run_environment;
mod scaler;
mod source;
mod state;
mod summary;
mod tensorboard;
mod trainer;
pub mod tune;

pub use crate::bundle::TargetScaler;
pub use architecture::Architecture;
pub use burn::tensor::Device;
pub use checkpoint::{Checkpoint, CheckpointProblem, Checkpoints};
pub use data::{TrainingData, data_fingerprint};
pub use defaults::{Inferred, infer_recipe};
pub use error::TrainError;
pub use evaluate::{Evaluation, evaluate};
pub use event::{EpochReport, Observer, TrainEvent};
pub use gradient_pass::GradientPass;
pub use metrics::{EpochRecord, EvaluationRecord, METRICS, ScoreRecord, TrainingRecord};
pub(crate) use run::{DataCard, read_json};
pub use run::{Resources, Run, RunFile, RunOutcome, RunSpec, SeedDir, fresh_run_path, runs_in};
pub use run_environment::RunEnvironment;
pub use source::{DataSource, Generator, Loaded, SplitChoice};
pub use state::{Best, Position, TrainState};
pub use summary::{MeanStd, SeedResult, Summary};
pub use trainer::{Outcome, Settings, train_seed};
