//! What a run says while it is running; who listens decides what to show.

use super::Loaded;
use super::checkpoint::CheckpointProblem;
use super::norms::TrainingLoss;
use super::state::Position;
use super::summary::SeedResult;
use super::transfer::TakenOver;
use graphminnet_data::partition::Cut;
use graphminnet_data::preparation::{PreparationReport, Transform};
use std::path::PathBuf;

/// Numbers of one epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochReport {
    /// The epoch, from 0.
    pub epoch: usize,
    /// Number of epochs of the schedule.
    pub epochs: usize,
    /// Learning rate.
    pub learning_rate: f64,
    /// Mean training loss over the labels seen, while the weights were moving.
    pub train_loss: f64,
    /// Training metric over the graphs seen, while the weights were moving; `None` where it has no value, and for nodes,
    /// edges and pairs, whose answers would take too much memory.
    pub train: Option<f64>,
    /// Validation metric; `None` where it has no value.
    pub valid: Option<f64>,
    /// Test metric; `None` where it has no value.
    pub test: Option<f64>,
    /// Largest error of a single validation label.
    pub worst_valid: Option<f64>,
    /// Whether the epoch is the best so far, by its validation metric and then its validation loss.
    pub improved: bool,
    /// Batches that were skipped for want of labels.
    pub skipped_batches: usize,
    /// Wall-clock seconds, evaluation included.
    pub seconds: f64,
    /// Training graphs per second.
    pub graphs_per_second: f64,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TrainEvent {
    /// A seed starts, or resumes from a saved state.
    SeedStarted {
        /// The seed.
        seed: u64,
        /// Trainable parameters.
        parameters: usize,
        /// Epochs of the schedule.
        epochs: usize,
        /// Optimizer steps per epoch (of the first one, where a node budget makes them vary).
        steps_per_epoch: usize,
        /// Where it resumes, if it does.
        resumed_at: Option<Position>,
    },
    /// The run begins with the weights of a model.
    TakenOver(TakenOver),
    /// Something that makes the result worth little; in words.
    Doubt(String),
    /// The only graph is cut into parts.
    InParts {
        /// Number of parts.
        parts: usize,
        /// Edges of the graph.
        edges: usize,
        /// What is between the parts.
        cut: Cut,
    },
    /// A saved state could not be used; an earlier one is.
    StateDamaged(CheckpointProblem),
    /// An optimizer step is done.
    Step {
        /// The epoch.
        epoch: usize,
        /// Steps done in the epoch.
        step: usize,
        /// Steps of the epoch.
        steps: usize,
        /// Loss of the step's batches.
        loss: Option<f64>,
        /// Graphs of the step's batches.
        graphs: usize,
    },
    /// The weights are being evaluated.
    Evaluating {
        /// The epoch.
        epoch: usize,
    },
    /// An epoch is done and evaluated.
    Epoch(EpochReport),
    /// A metric has no value; the reason in words.
    Undefined {
        /// The epoch.
        epoch: usize,
        /// `valid` or `test`.
        split: &'static str,
        /// Why.
        reason: String,
    },
    /// A state was saved.
    StateSaved {
        /// Where.
        path: PathBuf,
    },
    /// Training stops before the end of the schedule because the validation metric no longer improves.
    EarlyStop {
        /// The last epoch.
        epoch: usize,
        /// The best epoch.
        best: usize,
    },
    /// A model answers otherwise in evaluation than in training.
    Disagreement(TrainingLoss),
    /// A seed is done.
    SeedFinished(SeedResult),
}

/// Listens to a run.
///
/// Whoever wants a run to save its state and stop sets the interrupt flag that the run was given; an observer may
/// share it. It takes effect after the step that is under way.
pub trait Observer: Send {
    /// Is told what happened in training.
    fn event(&mut self, event: &TrainEvent);

    /// Is told what was read from the run's source.
    fn loaded(&mut self, _data: &Loaded) {}

    /// Is told how many graphs have gone through a transform; may come from any thread, and out of order.
    fn preparing(&mut self, _transform: Transform, _done: usize, _total: usize) {}

    /// Is told what the preparation did.
    fn prepared(&mut self, _report: &PreparationReport) {}

    /// Whether to stop after the epoch that was just reported. A search does so with hopeless candidates.
    fn should_stop(&self) -> bool {
        false
    }
}

/// Does not listen.
impl Observer for () {
    fn event(&mut self, _: &TrainEvent) {}
}
