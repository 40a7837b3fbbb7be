//! The preparation of a run's data, watched by its observer and ended by its interrupt.

use super::{Resources, RunFile, takes_parts_alone};
use crate::config::no_parts;
use crate::train::data::{Kept, not_on_disk};
use crate::train::in_parts::DataInParts;
use crate::train::loaded::OwnParts;
use crate::train::trainer::check_parts;
use crate::train::{Architecture, Loaded, Observer, TrainError, TrainingData};
use graphminnet_data::Report;
use graphminnet_data::preparation::{Progress, Transform};
use graphminnet_data::spectral::{Eigensolver, PrepareOptions, SpectralError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

impl Loaded {
    /// Computes what a model needs of every graph; `None` if interrupted.
    ///
    /// # Errors
    ///
    /// [`TrainError::Spectral`] if a graph cannot be prepared.
    pub fn prepare(
        &self,
        model: &impl Architecture,
        resources: &Resources,
        observer: &mut dyn Observer,
        interrupt: &AtomicBool,
    ) -> Result<Option<TrainingData>, TrainError> {
        if let Some(own) = &self.in_parts {
            let parts = own.graph.partition().parts();
            return Err(no_parts("train.parts", "none", &format!("{parts}, as the data was read")).into());
        }
        let watched = Watched { observer: Mutex::new(&mut *observer), interrupt };
        let (splits, exchange) = (self.splits.clone(), &*resources.exchange);
        let options = model.prepare_options();
        let kept = resources.kept();
        let among = TrainingData::prepare_among(&self.dataset, splits, &options, kept, &watched, exchange);
        unless_interrupted(among.map(|(mut data, report)| {
            observer.prepared(&report);
            data.differences = self.report.differences.clone();
            if self.report.rows.iter().any(Option::is_none) {
                data.rows = self.report.rows.clone();
            }
            data
        }))
    }

    /// The same for a single graph in parts, of which every host keeps its own alone.
    fn prepare_in_parts(
        self,
        run: &RunFile,
        resources: &Resources,
        observer: &mut dyn Observer,
        interrupt: &AtomicBool,
    ) -> Result<Option<DataInParts>, TrainError> {
        let (train, hosts) = (&run.train, &resources.exchange);
        let parts = train.parts.unwrap_or(1);
        check_parts(&run.model, train, &resources.device, &**hosts, parts)?;
        let (options, given) = (run.model.prepare_options(), resources.eigenpairs.as_deref());
        let in_parts = given.is_none() && options.eigenpairs > 0;
        // What is computed in parts is left out of what is computed for the whole.
        let eigenpairs = if in_parts { 0 } else { options.eigenpairs };
        let of_whole = PrepareOptions { eigenpairs, ..options.clone() };
        let fingerprint = match &self.in_parts {
            None => None,
            Some(_) => {
                takes_parts_alone(&run.model, train)?;
                Some(self.fingerprint())
            }
        };
        let Self { dataset, splits, report: Report { differences, .. }, in_parts: own, .. } = self;
        let prepared = {
            let watched = Watched { observer: Mutex::new(&mut *observer), interrupt };
            let kept = resources.kept();
            TrainingData::prepare_among(&dataset, splits, &of_whole, kept, &watched, &**hosts)
        };
        let Some((mut whole, mut report)) = unless_interrupted(prepared)? else { return Ok(None) };
        whole.differences = differences;
        Arc::make_mut(&mut whole.dataset).options = options.clone();
        drop(dataset);
        let (data, mut graphs) = match own.zip(fingerprint) {
            None => DataInParts::cut(&whole, train, &**hosts)?,
            Some((OwnParts { graph, .. }, fingerprint)) => {
                whole.fingerprint = fingerprint;
                (DataInParts::of(&whole, &graph, train, &**hosts)?, graph)
            }
        };
        let nodes = whole.dataset.samples.iter().map(|sample| sample.prepared.graph.num_nodes()).sum();
        drop(whole);
        if in_parts {
            let watched = Watched { observer: Mutex::new(&mut *observer), interrupt };
            let found = graphs.find_eigenpairs(hosts, &options, resources.cache.as_ref(), &watched);
            let Some(found) = unless_interrupted(found.map_err(TrainError::from))? else { return Ok(None) };
            report.parts.push(found);
            report.eigensolver = Some(Eigensolver::of(nodes, options.eigenpairs));
        }
        observer.prepared(&report);
        Ok(Some(data.with_graphs(graphs.into_own())))
    }
}

impl Resources {
    /// Where prepared numbers are found and kept.
    fn kept(&self) -> Kept<'_> {
        Kept {
            cache: self.cache.as_ref(),
            eigenpairs: self.eigenpairs.as_deref(),
            on_disk: self.prepared_on_disk,
        }
    }
}

fn unless_interrupted<T>(done: Result<T, TrainError>) -> Result<Option<T>, TrainError> {
    match done {
        Err(TrainError::Spectral(SpectralError::Interrupted)) => Ok(None),
        done => done.map(Some),
    }
}

/// What a run trains on, as this process has it.
#[derive(Debug)]
pub(super) enum Prepared {
    /// All of it.
    Whole(TrainingData),
    /// Some parts of the only graph.
    InParts(Box<DataInParts>),
}

impl Prepared {
    /// Computes what a run needs of its data; `None` if interrupted.
    pub(super) fn of(
        loaded: Loaded,
        run: &RunFile,
        resources: &Resources,
        observer: &mut dyn Observer,
        interrupt: &AtomicBool,
    ) -> Result<Option<Self>, TrainError> {
        let resources = run.resources(resources);
        if resources.prepared_on_disk && (run.train.parts.is_some() || run.train.pieces.is_some()) {
            return Err(not_on_disk(
                "needs whole graphs; leave it out, or else train.parts and train.pieces",
            ));
        }
        Ok(match run.train.parts {
            None => loaded.prepare(&run.model, &resources, observer, interrupt)?.map(Self::Whole),
            Some(_) => loaded
                .prepare_in_parts(run, &resources, observer, interrupt)?
                .map(|data| Self::InParts(Box::new(data))),
        })
    }
}

/// Tells an observer how far a preparation has come, and the preparation whether it is still wanted.
struct Watched<'a> {
    observer: Mutex<&'a mut dyn Observer>,
    interrupt: &'a AtomicBool,
}

impl Progress for Watched<'_> {
    fn update(&self, transform: Transform, done: usize, total: usize) {
        self.observer.lock().unwrap_or_else(PoisonError::into_inner).preparing(transform, done, total);
    }

    fn should_stop(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }
}
