//! The beginning of a seed: a fresh model, one that was trained before, or the state in which a run was saved.

use super::{Settings, Training, alone_if_need_be, plan, together};
use crate::config::{ConfigError, Schedule};
use crate::model::Model;
use crate::optim::{AdamW, AdamWSettings};
use crate::task::loss;
use crate::train::average::Average;
use crate::train::doubts::doubts;
use crate::train::event::{Observer, TrainEvent};
use crate::train::log::GrowingFile;
use crate::train::metrics::METRICS;
use crate::train::pieces::Pieces;
use crate::train::record::Recorder;
use crate::train::scaler::fit_scaler;
use crate::train::seen::Seen;
use crate::train::state::TrainState;
use crate::train::transfer::{Start, TransferError};
use crate::train::{Architecture, SeedDir, TrainError, TrainingData};
use crate::weights;
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
        loss::check_shape(train, model.out_dim(), data.target_columns())?;
        train.check_task_weights(&data.dataset.schema.targets)?;
        let level = data.dataset.schema.level;
        if model.level() != level {
            return Err(TrainError::Level { model: model.level(), data: level });
        }
        data.check_negatives(train.negatives)?;
        // A part of a graph does not know what there is in others.
        if data.connection().is_none() {
            for doubt in
                doubts(data, train)?.into_iter().chain(together::idle_ranks(settings.exchange, train))
            {
                observer.event(&TrainEvent::Doubt(doubt));
            }
        }
        let optimizer_settings = AdamWSettings::with_decay(train.weight_decay);
        let mut optimizer = AdamW::new(optimizer_settings);
        let identity = config.identity(train)?;
        // What a run began with is as much a part of it as its configuration.
        let of_start = start.map(Start::identity).unwrap_or_default();
        let config_hash = identity.hash().to_owned() + &of_start;
        let mut state = TrainState::new(seed, config_hash, data.fingerprint.clone());
        let scaler = fit_scaler(train.target_scaling, data, settings.exchange);
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
        let (mut resumed_at, mut saved_average, mut seen) = (None, None, None);
        if saved.is_none() {
            let graph = |&at: &usize| data.dataset.samples.get(at).map(|sample| &*sample.prepared.graph);
            match (data.connection(), graph(&0)) {
                (Some(connection), Some(part)) => {
                    model.fit_part(part, connection.halo().own(), settings.exchange)
                }
                _ => model.fit(&data.splits.train.iter().filter_map(graph).collect::<Vec<_>>()),
            }
        }
        let taken = match (start, config.model_file()) {
            (None, _) => None,
            (Some(_), None) => return Err(TransferError::NoModelFile.into()),
            (Some(start), Some(config)) => Some(start.take_over(
                &model,
                config,
                &data.source_schema,
                &train.spread(),
                scaler.as_ref(),
            )?),
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
            if let Some(bytes) = &checkpoint.seen {
                seen = Seen::from_bytes(bytes, model.out_dim(), data.target_columns())?;
            }
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
            outline: None,
            directory,
            observer,
            recorder,
            scaler,
            task_weights: train.scaled_task_weights(),
            model,
            optimizer,
            average,
            pieces,
            seen,
            unwritten: None,
            best_weights,
            state,
            last_save: Instant::now(),
            steps_since_save: 0,
            clock: Instant::now(),
        })
    }
}

fn unchanged(what: &'static str, before: &str, now: &str) -> Result<(), TrainError> {
    if before == now {
        return Ok(());
    }
    Err(TrainError::Changed { what, before: before.to_owned(), now: now.to_owned() })
}
