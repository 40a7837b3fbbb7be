//! The loop: shuffle, step, evaluate, select, save.
//!
//! The order of batches is a pure function of (seed, epoch) and the random numbers of a pass one of (seed, epoch,
//! batch), so the loop has no generator to save. Saving happens between steps and changes nothing: how often it
//! happens has no influence on any number.

mod finish;
mod step;
mod together;

use super::average::Average;
use super::checkpoint::Checkpoint;
use super::doubts::doubts;
use super::evaluate::{AHEAD, batch_limit, evaluate};
use super::event::{EpochReport, Observer, TrainEvent};
use super::log::GrowingFile;
use super::metrics::METRICS;
use super::norms;
use super::pieces::Pieces;
use super::record::Recorder;
use super::scaler::fit_scaler;
use super::state::{Best, EpochSums, Plateau, TrainState};
use super::summary::SeedResult;
use super::transfer::{Start, Taken, TransferError};
use super::{Architecture, Evaluation, Position, SeedDir, TargetScaler, TrainError, TrainingData};
use crate::config::{ConfigError, ModelConfig, NormEstimates, Schedule, TrainConfig};
use crate::model::Model;
use crate::optim::{AdamW, AdamWSettings, learning_rate};
use crate::task::loss;
use crate::weights;
use burn::module::Module;
use burn::tensor::Device;
use graphminnet_data::batch::{BatchLimit, Batches, LoaderError, Order, plan_batches};
use graphminnet_data::exchange::Exchange;
use graphminnet_data::{EdgeDirection, Split};
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
    directory: Option<&'a SeedDir>,
    observer: &'a mut dyn Observer,
    recorder: Option<Recorder>,
    scaler: Option<TargetScaler>,
    model: C::Model,
    optimizer: AdamW,
    /// The averaged weights, where they are averaged.
    average: Option<Average>,
    /// The training graphs in pieces, where they are cut.
    pieces: Option<Pieces>,
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
    fn start(
        settings: &'a Settings<'a, C>,
        start: Option<&'a Start>,
        data: &'a TrainingData,
        directory: Option<&'a SeedDir>,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, TrainError> {
        let (config, train, seed) = (settings.model, settings.train, settings.seed);
        train.check()?;
        if data.splits.train.is_empty() {
            return Err(TrainError::NoTrainingData);
        }
        if train.schedule == Schedule::Plateau && data.splits.valid.is_empty() {
            return Err(TrainError::Config(ConfigError::Invalid {
                key: "train.schedule".to_owned(),
                value: train.schedule.to_string(),
                expected: "a validation part, whose metric it follows; take cosine or constant".to_owned(),
            }));
        }
        alone_if_need_be(settings.exchange, start.is_some(), train)?;
        let device = settings.device.clone().autodiff();
        let mut model = config.build(seed, &device)?;
        loss::check_shape(train.loss, model.out_dim(), data.target_columns())?;
        let level = data.dataset.schema.level;
        if model.level() != level {
            return Err(TrainError::Level { model: model.level(), data: level });
        }
        data.check_negatives(train.negatives)?;
        for doubt in doubts(data, train)?.into_iter().chain(together::idle_ranks(settings.exchange, train)) {
            observer.event(&TrainEvent::Doubt(doubt));
        }
        let optimizer_settings = AdamWSettings::with_decay(train.weight_decay);
        let mut optimizer = AdamW::new(optimizer_settings);
        let identity = config.identity(train)?;
        // What a run began with is as much a part of it as its configuration.
        let of_start = start.map(Start::identity).unwrap_or_default();
        let config_hash = identity.hash().to_owned() + &of_start;
        let mut state = TrainState::new(seed, config_hash, data.fingerprint.clone());
        let scaler = fit_scaler(train.target_scaling, data);
        let mut best_weights = None;
        let saved = match directory.map(SeedDir::checkpoints) {
            None => None,
            Some(checkpoints) => checkpoints.load().map_err(|problems| TrainError::NoUsableState {
                path: checkpoints.folder().to_owned(),
                problems,
            })?,
        };
        let mut pieces = train.pieces.map(|pieces| Pieces::cut(data, pieces)).transpose()?;
        let saved = together::state_of_rank_0(settings.exchange, saved, &state)?;
        let (mut resumed_at, mut saved_average) = (None, None);
        if saved.is_none() {
            let graph = |&at: &usize| data.dataset.samples.get(at).map(|sample| &*sample.prepared.graph);
            model.fit(&data.splits.train.iter().filter_map(graph).collect::<Vec<_>>());
        }
        let taken = match (start, config.model_file()) {
            (None, _) => None,
            (Some(_), None) => return Err(TransferError::NoModelFile.into()),
            (Some(start), Some(config)) => {
                Some(start.take_over(&model, config, &data.source_schema, scaler.as_ref())?)
            }
        };
        if let (Some(taken), None) = (&taken, &saved) {
            model = weights::replace(model, taken.tensors.iter().cloned())?;
            observer.event(&TrainEvent::TakenOver(taken.report.clone()));
        }
        if let Some((checkpoint, problems)) = saved {
            for problem in problems {
                observer.event(&TrainEvent::StateDamaged(problem));
            }
            let stored = checkpoint.state.config_hash.strip_suffix(&of_start);
            if !stored.is_some_and(|stored| identity.matches(stored)) {
                unchanged("the configuration", &checkpoint.state.config_hash, &state.config_hash)?;
            }
            unchanged("the data", &checkpoint.state.data_fingerprint, &state.data_fingerprint)?;
            unchanged("the seed", &checkpoint.state.seed.to_string(), &seed.to_string())?;
            model = weights::from_bytes(model, &checkpoint.model)?;
            saved_average = checkpoint.average;
            if let (Some(pieces), Some(bytes)) = (&mut pieces, &checkpoint.carried) {
                pieces.restore(bytes, &settings.device)?;
            }
            optimizer = AdamW::from_bytes(optimizer_settings, &checkpoint.optimizer)?;
            best_weights = checkpoint.best;
            state = checkpoint.state;
            resumed_at = Some(state.position);
        }
        let average = match (train.average_decay, saved_average) {
            (0.0, _) => None,
            (decay, None) => Some(Average::start(decay, &model)),
            (decay, Some(bytes)) => Some(Average::start(decay, &weights::from_bytes(model.clone(), &bytes)?)),
        };
        let recorder = match directory {
            None => None,
            Some(directory) => Some(Recorder::open(
                GrowingFile::open(&directory.file(METRICS), state.metrics_length)?,
                GrowingFile::open(&directory.file("events.out.tfevents.0.graphminnet"), state.events_length)?,
                state.events_length == 0,
                state.first_epoch,
            )?),
        };
        let first_epoch = Order::Shuffled { seed, epoch: state.position.epoch as u64 };
        let batches = plan(pieces.as_ref(), data, train, first_epoch).len();
        observer.event(&TrainEvent::SeedStarted {
            seed,
            parameters: weights::count_parameters(&model),
            epochs: train.epochs,
            steps_per_epoch: batches.div_ceil(train.accumulate),
            resumed_at,
        });
        Ok(Self {
            settings,
            start,
            taken,
            data,
            directory,
            observer,
            recorder,
            scaler,
            model,
            optimizer,
            average,
            pieces,
            unwritten: None,
            best_weights,
            state,
            last_save: Instant::now(),
            steps_since_save: 0,
            clock: Instant::now(),
        })
    }

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

    /// The rest of the current epoch's steps; false if interrupted.
    fn train_epoch(&mut self) -> Result<bool, TrainError> {
        let (train, seed) = (self.settings.train, self.settings.seed);
        let Position { epoch, step: done } = self.state.position;
        let order = Order::Shuffled { seed, epoch: epoch as u64 };
        let plan = plan(self.pieces.as_ref(), self.data, train, order);
        if let (Some(pieces), 0) = (&mut self.pieces, done) {
            pieces.carry(self.settings.model, &self.model, self.data, &self.settings.device)?;
        }
        let total = plan.len();
        let steps = total.div_ceil(train.accumulate);
        let exchange = self.settings.exchange;
        // This rank's batches of a step; all of them if it is alone.
        let own = |step: usize| {
            let first = step * train.accumulate;
            let share = exchange.share(train.accumulate.min(total.saturating_sub(first)));
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
            let sum = match exchange.is_alone() {
                true => self.accumulate_alone(own(step), &mut next)?,
                false => self.accumulate_together(own(step), &mut next)?,
            };
            let Accumulated { loss, labels, graphs, stop, .. } = sum;
            self.step(sum, self.learning_rate(step, steps))?;
            self.state.position.step = step + 1;
            self.state.global_step += 1;
            self.steps_since_save += 1;
            let loss = (labels > 0).then(|| loss / labels as f64);
            self.observer.event(&TrainEvent::Step { epoch, step: step + 1, steps, loss, graphs });
            if stop || (exchange.is_alone() && self.settings.interrupt.load(Ordering::Relaxed)) {
                return Ok(false);
            }
            self.save_if_due()?;
        }
        if self.state.sums.labels == 0 {
            return Err(TrainError::NoLabels { epoch, batches: total });
        }
        Ok(true)
    }

    /// Evaluates the weights, selects, records; false if interrupted.
    fn finish_epoch(&mut self) -> Result<bool, TrainError> {
        let train = self.settings.train;
        let epoch = self.state.position.epoch;
        self.add_time();
        let training_seconds = self.state.sums.seconds;
        self.observer.event(&TrainEvent::Evaluating { epoch });
        let model = self.settled()?;
        // What is measured is measured by every rank, but a signal may reach only some in time.
        let stop = self.settings.exchange.any(model.is_none());
        let Some(model) = model.filter(|_| !stop) else { return Ok(false) };
        let Some([valid, test]) = self.evaluate(&model, [Split::Valid, Split::Test])? else {
            return Ok(false);
        };
        for (split, samples, evaluation) in
            [("valid", &self.data.splits.valid, &valid), ("test", &self.data.splits.test, &test)]
        {
            if let (false, Err(reason)) = (samples.is_empty(), &evaluation.score) {
                self.state.undefined_evaluations += 1;
                let reason = reason.to_string();
                self.observer.event(&TrainEvent::Undefined { epoch, split, reason });
            }
        }
        let improved = match &self.state.best {
            // Without a validation part the last epoch is as good as any.
            _ if self.data.splits.valid.is_empty() => true,
            None => valid.value().is_some(),
            Some(best) => best.gives_way_to(train.metric, valid.value(), valid.loss),
        };
        let worst_id = |evaluation: &Evaluation| {
            evaluation.worst.and_then(|(_, at)| Some(self.data.dataset.samples.get(at)?.id.clone()))
        };
        let (valid_id, test_id) = (worst_id(&valid), worst_id(&test));
        if improved {
            let tied = self.state.best.as_ref().filter(|best| best.valid == valid.value());
            self.state.reached = tied.map(|best| self.state.reached.unwrap_or(best.epoch));
            self.state.best = Some(Best {
                epoch,
                valid: valid.value(),
                valid_loss: valid.loss,
                test: test.value(),
                worst_valid: valid.worst.map(|(error, _)| error),
                worst_valid_id: valid_id.clone(),
            });
            let weights = weights::to_bytes(&model)?;
            self.write_best(&weights)?;
            self.best_weights = Some(weights);
        }
        self.add_time();
        let sums = std::mem::take(&mut self.state.sums);
        let report = EpochReport {
            epoch,
            epochs: train.epochs,
            learning_rate: self
                .learning_rate(self.state.position.step.saturating_sub(1), self.state.position.step),
            train_loss: sums.loss / sums.labels.max(1) as f64,
            valid: valid.value(),
            test: test.value(),
            worst_valid: valid.worst.map(|(error, _)| error),
            improved,
            skipped_batches: sums.skipped_batches,
            seconds: sums.seconds,
            graphs_per_second: sums.graphs as f64 / training_seconds.max(1e-9),
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.train(&report, &sums, self.state.position.step)?;
            recorder.evaluation(&report, Split::Valid, train.metric, &valid, valid_id.as_deref())?;
            recorder.evaluation(&report, Split::Test, train.metric, &test, test_id.as_deref())?;
        }
        self.state.seconds += sums.seconds;
        self.state.sums = EpochSums::default();
        self.state.position = Position { epoch: epoch + 1, step: 0 };
        self.note_plateau();
        self.observer.event(&TrainEvent::Epoch(report));
        Ok(true)
    }

    /// The model as it is evaluated and stored: a copy with the averaged weights, where they are averaged, and with the
    /// estimates of its norms that the protocol asks for; `None` if interrupted.
    fn settled(&self) -> Result<Option<C::Model>, TrainError> {
        let Settings { train, seed, device, interrupt, .. } = self.settings;
        let model = match &self.average {
            None => self.model.valid(),
            Some(average) => average.apply(self.model.clone())?.valid(),
        };
        let done = match train.norm_estimates {
            NormEstimates::Running => true,
            NormEstimates::Recomputed => {
                norms::recompute(&model, self.data, train, *seed, device, interrupt)?
            }
        };
        Ok(done.then_some(model))
    }

    fn evaluate<const PARTS: usize>(
        &self,
        model: &C::Model,
        parts: [Split; PARTS],
    ) -> Result<Option<[Evaluation; PARTS]>, TrainError> {
        evaluate(model, self.data, parts, self.settings, self.scaler.as_ref())
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
        () if exchange.is_alone() => return Ok(()),
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

fn unchanged(what: &'static str, before: &str, now: &str) -> Result<(), TrainError> {
    if before == now {
        return Ok(());
    }
    Err(TrainError::Changed { what, before: before.to_owned(), now: now.to_owned() })
}
