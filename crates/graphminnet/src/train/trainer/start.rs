//! The beginning of a seed: a fresh model, one that was trained before, or the state in which a run was saved.

use super::together::Saved;
use super::{Settings, Training, alone_if_need_be, plan, together};
use crate::config::{ConfigError, Identity, Schedule};
use crate::model::Model;
use crate::optim::{AdamW, AdamWSettings};
use crate::task::{loss, metric};
use crate::train::average::Average;
use crate::train::checkpoint::Checkpoint;
use crate::train::doubts::doubts;
use crate::train::event::{Observer, TrainEvent};
use crate::train::log::GrowingFile;
use crate::train::metrics::METRICS;
use crate::train::pieces::Pieces;
use crate::train::record::Recorder;
use crate::train::scaler::fit_scaler;
use crate::train::seen::Seen;
use crate::train::state::TrainState;
use crate::train::transfer::{Start, Taken, TransferError};
use crate::train::{Architecture, SeedDir, TrainError, TrainingData};
use crate::weights;
use graphminnet_data::Split;
use graphminnet_data::batch::Order;
use std::time::Instant;

impl<'a, C: Architecture> Training<'a, C> {
    /// Makes everything ready for the first step, or for the next one of a saved state.
    pub(super) fn start(
        settings: &'a Settings<'a, C>,
        start: Option<&'a Start>,
        data: &'a TrainingData,
        directory: Option<&'a SeedDir>,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, TrainError> {
        let Settings { model: config, train, seed, exchange, .. } = *settings;
        let model = model_for(settings, start, data)?;
        // A part of a graph does not know what there is in others.
        if data.connection().is_none() {
            let of_start = start.and_then(|start| start.knows_the_data(data));
            for doubt in
                doubts(data, train)?.into_iter().chain(of_start).chain(together::idle_ranks(exchange, train))
            {
                observer.event(&TrainEvent::Doubt(doubt));
            }
        }
        let identity = config.identity(train)?;
        // What a run began with is as much a part of it as its configuration.
        let of_start = start.map(Start::identity).unwrap_or_default();
        let config_hash = identity.hash().to_owned() + &of_start;
        let state = TrainState::new(seed, config_hash, data.fingerprint.clone());
        let scaler = fit_scaler(train.target_scaling, data, exchange);
        let saved = directory.map(saved_state).transpose()?.flatten();
        let pieces = train.pieces.map(|pieces| Pieces::cut(data, pieces)).transpose()?;
        let saved = together::state_of_rank_0(exchange, saved, &state)?;
        let mut training = Self {
            settings,
            start,
            taken: None,
            data,
            outline: None,
            directory,
            observer,
            recorder: None,
            scaler,
            task_weights: train.scaled_task_weights(),
            model,
            optimizer: AdamW::new(AdamWSettings::with_decay(train.weight_decay)),
            average: None,
            pieces,
            seen: None,
            unwritten: None,
            best_weights: None,
            state,
            last_save: Instant::now(),
            steps_since_save: 0,
            clock: Instant::now(),
        };
        let (resumed_at, saved_average) = match saved {
            None => {
                training.begin()?;
                (None, None)
            }
            Some((checkpoint, problems)) => {
                for problem in problems {
                    training.observer.event(&TrainEvent::StateDamaged(problem));
                }
                training.taken = training.taken_over()?;
                let average = training.resume(checkpoint, &identity, &of_start)?;
                (Some(training.state.position), average)
            }
        };
        training.average = match (train.average_decay, saved_average) {
            (0.0, _) => None,
            (decay, None) => Some(Average::start(decay, &training.model)),
            (decay, Some(bytes)) => {
                Some(Average::start(decay, &weights::from_bytes(training.model.clone(), &bytes)?))
            }
        };
        training.recorder = directory.map(|directory| recorder(directory, &training.state)).transpose()?;
        let epoch = Order::Shuffled { seed, epoch: training.state.position.epoch as u64 };
        let batches = plan(training.pieces.as_ref(), data, train, epoch).len();
        training.observer.event(&TrainEvent::SeedStarted {
            seed,
            parameters: weights::count_parameters(&training.model),
            epochs: train.epochs,
            steps_per_epoch: batches.div_ceil(train.accumulate),
            resumed_at,
        });
        Ok(training)
    }

    /// A fresh model that knows the scales of the training part, or has the weights of the model that it begins with.
    fn begin(&mut self) -> Result<(), TrainError> {
        let data = self.data;
        let graph = |at: usize| data.dataset.samples.get(at).map(|sample| &*sample.prepared.graph);
        match (data.connection(), graph(0)) {
            (Some(connection), Some(part)) => {
                self.model.fit_part(part, connection.halo().own(), self.settings.exchange);
            }
            _ => self.model.fit(&data.counting_graphs(Split::Train).filter_map(graph).collect::<Vec<_>>()),
        }
        self.taken = self.taken_over()?;
        if let Some(taken) = &self.taken {
            self.model = weights::replace(self.model.clone(), taken.tensors.iter().cloned())?;
            self.observer.event(&TrainEvent::TakenOver(taken.report.clone()));
        }
        Ok(())
    }

    /// What the model that training begins with has for this one.
    fn taken_over(&self) -> Result<Option<Taken>, TrainError> {
        match (self.start, self.settings.model.model_file()) {
            (None, _) => Ok(None),
            (Some(_), None) => Err(TransferError::NoModelFile.into()),
            (Some(start), Some(config)) => Ok(Some(start.take_over(
                &self.model,
                config,
                &self.data.source_schema,
                &self.settings.train.spread(),
                self.scaler.as_ref(),
            )?)),
        }
    }

    /// Goes back to a saved state, if it is one of this very training. Returns the averaged weights.
    fn resume(
        &mut self,
        saved: Checkpoint,
        identity: &Identity,
        of_start: &str,
    ) -> Result<Option<Vec<u8>>, TrainError> {
        let stored = saved.state.config_hash.strip_suffix(of_start);
        if !stored.is_some_and(|stored| identity.matches(stored)) {
            unchanged("the configuration", &saved.state.config_hash, &self.state.config_hash)?;
        }
        unchanged("the data", &saved.state.data_fingerprint, &self.state.data_fingerprint)?;
        unchanged("the seed", &saved.state.seed.to_string(), &self.state.seed.to_string())?;
        self.model = weights::from_bytes(self.model.clone(), &saved.model)?;
        if let Some(bytes) = &saved.seen {
            self.seen = Seen::from_bytes(bytes, self.model.out_dim(), self.data.target_columns())?;
        }
        if let (Some(pieces), Some(bytes)) = (&mut self.pieces, &saved.carried) {
            pieces.restore(bytes, &self.settings.device)?;
        }
        let settings = AdamWSettings::with_decay(self.settings.train.weight_decay);
        self.optimizer = AdamW::from_bytes(settings, &saved.optimizer)?;
        self.best_weights = saved.best;
        self.state = saved.state;
        Ok(saved.average)
    }
}

/// A fresh model, if it, the protocol and the data fit together.
fn model_for<C: Architecture>(
    settings: &Settings<'_, C>,
    start: Option<&Start>,
    data: &TrainingData,
) -> Result<C::Model, TrainError> {
    let train = settings.train;
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
    let model = settings.model.build(settings.seed, &settings.device.clone().autodiff())?;
    loss::check_shape(train, model.out_dim(), data.target_columns())?;
    if train.metric.is_ranking() && !metric::has_ranking(model.out_dim(), data.target_columns()) {
        return Err(TrainError::Config(ConfigError::Invalid {
            key: "train.metric".to_owned(),
            value: train.metric.to_string(),
            expected: "rankings are for yes/no targets or two classes; take accuracy, accuracy_class_mean or f1_macro".to_owned(),
        }));
    }
    train.check_task_weights(&data.dataset.schema.targets)?;
    let level = data.dataset.schema.level;
    if model.level() != level {
        return Err(TrainError::Level { model: model.level(), data: level });
    }
    data.check_negatives(train.negatives)?;
    Ok(model)
}

/// The last saved state that is whole, and what is wrong with later ones.
fn saved_state(directory: &SeedDir) -> Result<Option<Saved>, TrainError> {
    let checkpoints = directory.checkpoints();
    checkpoints
        .load()
        .map_err(|problems| TrainError::NoUsableState { path: checkpoints.folder().to_owned(), problems })
}

/// Where numbers are written, from where the state was saved.
fn recorder(directory: &SeedDir, state: &TrainState) -> Result<Recorder, TrainError> {
    Recorder::open(
        GrowingFile::open(&directory.file(METRICS), state.metrics_length)?,
        GrowingFile::open(&directory.file("events.out.tfevents.0.graphminnet"), state.events_length)?,
        state.events_length == 0,
        state.first_epoch,
    )
}

fn unchanged(what: &'static str, before: &str, now: &str) -> Result<(), TrainError> {
    if before == now {
        return Ok(());
    }
    Err(TrainError::Changed { what, before: before.to_owned(), now: now.to_owned() })
}
