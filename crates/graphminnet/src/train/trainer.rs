//! The loop: shuffle, step, evaluate, select, save.
//!
//! The order of batches is a pure function of (seed, epoch) and the random numbers of a pass one of (seed, epoch,
//! batch), so the loop has no generator to save. Saving happens between steps and changes nothing: how often it
//! happens has no influence on any number.

mod finish;
mod in_parts;
mod judge;
mod start;
mod step;
mod together;

use super::average::Average;
use super::checkpoint::Checkpoint;
use super::evaluate::{AHEAD, batch_limit};
use super::event::{Observer, TrainEvent};
use super::in_parts::Outline;
use super::pieces::Pieces;
use super::record::Recorder;
use super::seen::Seen;
use super::state::{Best, Plateau, TrainState};
use super::summary::SeedResult;
use super::transfer::{Start, Taken};
pub(super) use in_parts::{check_parts, train_own};
pub use in_parts::{train_in_parts, train_parts};

use super::{Architecture, Position, SeedDir, TargetScaler, TrainError, TrainingData};
use crate::config::{ConfigError, ModelConfig, Schedule, TrainConfig};
use crate::optim::{AdamW, learning_rate};
use crate::weights;
use burn::tensor::Device;
use graphminnet_data::batch::{BatchLimit, Batches, LoaderError, Order, plan_batches};
use graphminnet_data::exchange::{Alone, Exchange};
use graphminnet_data::{EdgeDirection, Level};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use step::{Accumulated, BatchReport};

/// What is trained and how.
#[derive(Debug, Clone)]
pub struct Settings<'a, C = ModelConfig> {
    /// Name of the recipe, or of the data.
    pub name: &'a str,
    /// The model: GraphMinNet's configuration, or that of another [`Architecture`].
    pub model: &'a C,
    /// The protocol.
    pub train: &'a TrainConfig,
    /// Whether the data's edges were read as given or both ways; `None` is the format's own rule. Written into the
    /// models, so that new data is read in the same way.
    pub edges: Option<EdgeDirection>,
    /// The seed of everything random.
    pub seed: u64,
    /// The device, without differentiation.
    pub device: Device,
    /// Set by anyone who wants the run to save and stop.
    pub interrupt: &'a AtomicBool,
    /// Those who share the work. All of them train with the same settings on the same data, and come to the bits of one
    /// process alone; rank 0 has the directory and the observer, the others none.
    pub exchange: &'a dyn Exchange,
}

impl<'a, C> Settings<'a, C> {
    /// Seed 0, alone, on the processor, edges as the format has them; `Settings { seed, ..Settings::new(…) }` for others.
    pub fn new(name: &'a str, model: &'a C, train: &'a TrainConfig, interrupt: &'a AtomicBool) -> Self {
        let (edges, seed, device, exchange) = (None, 0, Device::flex(), &Alone);
        Self { name, model, train, edges, seed, device, interrupt, exchange }
    }
}

/// How training ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The schedule is done.
    Finished(SeedResult),
    /// Interrupted; the state is saved.
    Interrupted(Position),
    /// The observer gave up on it after this many epochs; the best epoch so far.
    Stopped(Option<Best>),
    /// The schedule is done, and rank 0 has the result.
    Assisted,
}

/// Trains one seed, or resumes it where its directory says.
///
/// Without a directory nothing is written.
///
/// # Errors
///
/// [`TrainError`]; whatever was saved before stays usable.
pub fn train_seed<C: Architecture>(
    settings: &Settings<'_, C>,
    data: &TrainingData,
    directory: Option<&SeedDir>,
    observer: &mut dyn Observer,
) -> Result<Outcome, TrainError> {
    train_seed_from(settings, None, data, directory, observer)
}

/// The same, beginning with the weights of a trained model.
///
/// # Errors
///
/// As [`train_seed`], and [`TrainError::Transfer`] if the model cannot be begun with.
pub(super) fn train_seed_from<C: Architecture>(
    settings: &Settings<'_, C>,
    start: Option<&Start>,
    data: &TrainingData,
    directory: Option<&SeedDir>,
    observer: &mut dyn Observer,
) -> Result<Outcome, TrainError> {
    if let Some(result) = directory.map(SeedDir::result).transpose()?.flatten() {
        observer.event(&TrainEvent::SeedFinished(result.clone()));
        return Ok(Outcome::Finished(result));
    }
    Training::start(settings, start, data, directory, observer)?.run()
}

struct Training<'a, C: Architecture> {
    settings: &'a Settings<'a, C>,
    /// The model that training began with, and what was taken over from it.
    start: Option<&'a Start>,
    taken: Option<Taken>,
    data: &'a TrainingData,
    /// An outline of the whole graph where `data` is a part of it, on a rank that has one.
    outline: Option<&'a Outline>,
    directory: Option<&'a SeedDir>,
    observer: &'a mut dyn Observer,
    recorder: Option<Recorder>,
    scaler: Option<TargetScaler>,
    /// How much the target columns count, 1 in the mean; empty where all count alike.
    task_weights: Vec<f64>,
    model: C::Model,
    optimizer: AdamW,
    /// The averaged weights, where they are averaged.
    average: Option<Average>,
    /// The training graphs in pieces, where they are cut.
    pieces: Option<Pieces>,
    /// What the model answered in this epoch, where its metric is kept.
    seen: Option<Seen>,
    /// The description of a batch that broke training, on a rank without a directory.
    unwritten: Option<BatchReport>,
    /// The selected weights, as a safetensors file.
    best_weights: Option<Vec<u8>>,
    state: TrainState,
    last_save: Instant,
    steps_since_save: u64,
    /// When the time of the current epoch was last added up.
    clock: Instant,
}

impl<'a, C: Architecture> Training<'a, C> {
    fn run(mut self) -> Result<Outcome, TrainError> {
        while self.state.position.epoch < self.settings.train.epochs && !self.is_exhausted() {
            if !self.train_epoch()? || !self.finish_epoch()? {
                self.save()?;
                return Ok(Outcome::Interrupted(self.state.position));
            }
            if self.settings.exchange.any(self.observer.should_stop()) {
                return Ok(Outcome::Stopped(self.state.best));
            }
            self.save_if_due()?;
        }
        self.finish()
    }

    /// Whether early stopping ends the run here.
    fn is_exhausted(&self) -> bool {
        match (self.settings.train.patience, &self.state.best) {
            (Some(patience), Some(best)) => {
                self.state.position.epoch > self.state.reached.unwrap_or(best.epoch) + patience
            }
            _ => false,
        }
    }

    /// What batches are made of: the data, or its graphs in pieces.
    fn trained_on(&self) -> &TrainingData {
        self.pieces.as_ref().map_or(self.data, |pieces| &pieces.data)
    }

    /// The learning rate of a step of the current epoch.
    fn learning_rate(&self, step: usize, steps: usize) -> f64 {
        let reductions = self.state.plateau.map_or(0, |plateau| plateau.reductions);
        learning_rate(self.settings.train, self.state.position.epoch, step, steps, reductions)
    }

    /// Reduces the learning rate after an epoch if the schedule waits for plateaus and this is one. The warm-up is none.
    fn note_plateau(&mut self) {
        let train = self.settings.train;
        let done = self.state.position.epoch;
        let Plateau { reductions, since } = self.state.plateau.unwrap_or_default();
        let waited = self.state.epochs_without_improvement().min(done - since.max(train.warmup).min(done));
        if train.schedule == Schedule::Plateau && waited >= train.plateau_patience {
            self.state.plateau = Some(Plateau { reductions: reductions + 1, since: done });
        }
    }

    /// Whether the metric of what the model answers in training is kept: where a row is a graph, which is little to
    /// keep.
    fn keeps_seen(&self) -> bool {
        self.data.dataset.schema.level == Level::Graph
    }

    /// The rest of the current epoch's steps; false if interrupted.
    fn train_epoch(&mut self) -> Result<bool, TrainError> {
        let (train, seed) = (self.settings.train, self.settings.seed);
        let Position { epoch, step: done } = self.state.position;
        let order = Order::Shuffled { seed, epoch: epoch as u64 };
        let plan = plan(self.pieces.as_ref(), self.data, train, order);
        if let (Some(pieces), 0) = (&mut self.pieces, done) {
            pieces.carry(self.settings.model, &self.model, self.data, &self.settings.device)?;
        }
        if done == 0 {
            self.seen = self.keeps_seen().then(Seen::default);
        }
        let total = plan.len();
        let steps = total.div_ceil(train.accumulate);
        let exchange = self.settings.exchange;
        let in_parts = self.data.connection().is_some();
        // This rank's batches of a step; all of them if it is alone, or has a part of each.
        let own = |step: usize| {
            let first = step * train.accumulate;
            let count = train.accumulate.min(total.saturating_sub(first));
            let share = if in_parts { 0..count } else { exchange.share(count) };
            first + share.start..first + share.end
        };
        let rest = (done..steps).flat_map(own).map(|number| plan[number].clone()).collect();
        let dataset = self.trained_on().with_negatives(train.negatives, seed, epoch)?;
        let mut batches = Batches::start(dataset, rest, AHEAD)?;
        self.clock = Instant::now();
        for step in done..steps {
            let mut next = |number: usize| {
                Ok(batches.next().ok_or(LoaderError::Stopped { missing: total - number })??)
            };
            let sum = match (in_parts, exchange.is_alone()) {
                (true, _) => self.accumulate_in_parts(next(step)?, step)?,
                (false, true) => self.accumulate_alone(own(step), &mut next)?,
                (false, false) => self.accumulate_together(own(step), &mut next)?,
            };
            let Accumulated { loss, labels, graphs, stop, .. } = sum;
            self.step(sum, self.learning_rate(step, steps))?;
            self.state.position.step = step + 1;
            self.state.global_step += 1;
            self.steps_since_save += 1;
            let loss = (labels > 0).then(|| loss / labels as f64);
            self.observer.event(&TrainEvent::Step { epoch, step: step + 1, steps, loss, graphs });
            if stop || (exchange.is_alone() && !in_parts && self.settings.interrupt.load(Ordering::Relaxed)) {
                return Ok(false);
            }
            self.save_if_due()?;
        }
        if self.state.sums.labels == 0 {
            return Err(TrainError::NoLabels { epoch, batches: total });
        }
        Ok(true)
    }

    /// Adds the time since the last call to the current epoch's.
    fn add_time(&mut self) {
        self.state.sums.seconds += self.clock.elapsed().as_secs_f64();
        self.clock = Instant::now();
    }

    fn save_if_due(&mut self) -> Result<(), TrainError> {
        let train = self.settings.train;
        let by_time = self.last_save.elapsed().as_secs_f64() >= train.checkpoint_seconds;
        let by_steps = train.checkpoint_steps.is_some_and(|steps| self.steps_since_save >= steps);
        if by_time || by_steps { self.save() } else { Ok(()) }
    }

    fn save(&mut self) -> Result<(), TrainError> {
        let (Some(directory), Some(recorder)) = (self.directory, &mut self.recorder) else { return Ok(()) };
        let (metrics, events) = recorder.sync().map_err(TrainError::Save)?;
        self.state.metrics_length = metrics;
        self.state.events_length = events;
        self.add_time();
        let average = match &self.average {
            None => None,
            Some(average) => Some(weights::to_bytes(&average.apply(self.model.clone())?)?),
        };
        let checkpoint = Checkpoint {
            model: weights::to_bytes(&self.model)?,
            optimizer: self.optimizer.to_bytes()?,
            best: self.best_weights.clone(),
            average,
            seen: self.seen.as_ref().map(Seen::to_bytes).transpose()?,
            carried: self.pieces.as_ref().map(Pieces::to_bytes).transpose()?.flatten(),
            state: self.state.clone(),
        };
        let path = directory.checkpoints().save(&checkpoint).map_err(TrainError::Save)?;
        self.last_save = Instant::now();
        self.steps_since_save = 0;
        self.observer.event(&TrainEvent::StateSaved { path });
        Ok(())
    }
}

/// The batches of an epoch; one of a graph in pieces is one piece.
fn plan(pieces: Option<&Pieces>, data: &TrainingData, train: &TrainConfig, order: Order) -> Vec<Vec<usize>> {
    match pieces {
        Some(Pieces { data, .. }) => {
            plan_batches(&data.dataset, &data.splits.train, BatchLimit::graphs(1), order)
        }
        None => plan_batches(&data.dataset, &data.splits.train, batch_limit(train), order),
    }
}

/// Fails if several processes are asked for something that only one can do yet.
pub(super) fn alone_if_need_be(
    exchange: &dyn Exchange,
    transfer: bool,
    train: &TrainConfig,
) -> Result<(), TrainError> {
    let (key, value) = match () {
        () if exchange.is_alone() && train.parts.is_none() => return Ok(()),
        () if transfer => ("from", "a model".to_owned()),
        () if train.schedule == Schedule::Plateau => ("train.schedule", train.schedule.to_string()),
        () => match train.pieces {
            Some(pieces) => ("train.pieces", pieces.to_string()),
            None => return Ok(()),
        },
    };
    let expected = "one process; several cannot do this together yet".to_owned();
    Err(TrainError::Config(ConfigError::Invalid { key: key.to_owned(), value, expected }))
}
