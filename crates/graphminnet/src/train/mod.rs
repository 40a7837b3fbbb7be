//! Training: one loop, one protocol, and a run that survives anything.
//!
//! ```text
//! DataSource → Dataset → prepared, split → TrainingData ┐
//! recipe + overrides ───────────────→ model, protocol ──┼─ Run ─→ directory (metrics, states, models, predictions)
//! seeds ────────────────────────────────────────────────┘   └───→ TrainEvents → Observer
//! ```
//!
//! [`Run`] is the way in: it creates or opens the directory of a run, trains its seeds, resumes and summarises.
//!
//! Everything random is a pure function of the seed, the epoch and the position in the epoch, so a run that is killed
//! and resumed from any saved state continues to the same bits. Nothing here prints: whoever wants to see progress
//! passes an [`Observer`].
//!
//! ```no_run
//! use graphminnet::train::{DataSource, Observer, Resources, Run, RunOutcome, RunSpec, TrainEvent};
//! use graphminnet::{DeviceKind, Recipe};
//! use std::sync::atomic::AtomicBool;
//!
//! struct Print;
//!
//! impl Observer for Print {
//!     fn event(&mut self, event: &TrainEvent) {
//!         println!("{event:?}");
//!     }
//! }
//!
//! let source = DataSource::Registry { name: "zinc".to_owned(), folder: None };
//! let mut run = Run::create("runs/zinc".as_ref(), &RunSpec::new(Recipe::named("zinc")?, source))?;
//! let resources = Resources::on(DeviceKind::Cpu.open()?);
//! match run.train(&resources, &mut Print, &AtomicBool::new(false))? {
//!     RunOutcome::Finished(summary) => println!("{:?}", summary.test),
//!     _ => println!("interrupted: Run::open resumes it"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod architecture;
mod average;
mod checkpoint;
mod cross_validation;
mod data;
mod defaults;
mod doubts;
mod error;
mod evaluate;
mod event;
mod files;
mod gradient_pass;
mod in_parts;
mod loaded;
mod log;
mod metrics;
mod negatives;
mod norms;
mod pieces;
mod predictions;
mod recompute;
mod record;
mod run;
mod run_environment;
mod scaler;
mod seen;
mod source;
mod state;
mod summary;
mod tensorboard;
mod trainer;
mod transfer;
// For the command `tune`.
#[doc(hidden)]
pub mod tune;

pub use architecture::Architecture;
pub use burn::tensor::Device;
pub use checkpoint::CheckpointProblem;
pub use cross_validation::{CrossValidation, RoundResult, Rounds};
pub use data::TrainingData;
pub use defaults::{DataSize, Inferred, Unnamed, fit_recipe, infer_recipe};
pub use error::TrainError;
pub use event::{EpochReport, Observer, TrainEvent};
pub use loaded::{Loaded, OwnParts};
pub use metrics::{EpochRecord, EvaluationRecord, METRICS, ScoreRecord, TrainingRecord};
pub use norms::{Compared, TrainingLoss};
pub(crate) use run::{DataCard, read_json};
pub use run::{EnsembleResult, Resources, Run, RunFile, RunOutcome, RunSpec, SeedDir, runs_in};
pub(crate) use run_environment::RunEnvironment;
pub use source::{DataSource, FoldBy, Generator, SplitChoice};
pub use state::{Best, Position};
pub use summary::{MeanStd, SeedResult, Summary};
// For programs with a graph that no machine holds as a whole, which no run can read from a file.
pub use trainer::{Outcome, Settings, train_parts};
pub use transfer::{Start, TakenOver, Transfer, TransferError};

// For the laboratory and tests, which train without a run around it; a user calls `Run::train`.
#[doc(hidden)]
pub use data::data_fingerprint;
#[doc(hidden)]
pub use gradient_pass::GradientPass;
#[doc(hidden)]
pub use norms::recompute as recompute_norms;
#[doc(hidden)]
pub use trainer::{train_in_parts, train_seed};
// For the command, which names a run after the time and may be one of several processes.
#[doc(hidden)]
pub use run::{assist, dismiss, fresh_run_path, takes_parts_alone};

use crate::bundle::TargetScaler;
#[cfg(feature = "benchmarks")]
pub(crate) use checkpoint::Checkpoint;
use checkpoint::Checkpoints;
use evaluate::Evaluation;
