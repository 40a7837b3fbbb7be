//! A run: a directory, what is trained in it, and everything that may happen to it on the way.
//!
//! ```text
//! RunSpec ─ Run::create ─┐
//! path ──── Run::open ───┴→ Run ─ train(resources, observer, interrupt) ─→ RunOutcome
//!                            └─── summary, unfinished seeds, data, paths of the models
//! ```
//!
//! A run finds or is given its data, prepares it, trains its seeds one after the other, and can be ended at any moment
//! and opened again. It has a start time, and the command or call that asked for it.

mod assist;
mod card;
mod clock;
mod directory;
mod ensemble;
mod file;
mod preparation;

pub(in crate::train) use assist::is_everywhere;
pub use assist::{assist, dismiss};
pub(crate) use card::DataCard;
pub use clock::fresh_run_path;
pub use directory::SeedDir;
pub(crate) use directory::read_json;
pub(in crate::train) use directory::write_json;
pub use ensemble::EnsembleResult;
pub use file::{RunFile, RunSpec, takes_parts_alone};

use super::event::{Observer, TrainEvent};
use super::in_parts::Outline;
use super::state::Best;
use super::summary::Summary;
use super::trainer::{Outcome, alone_if_need_be, train_in_parts, train_own, train_seed_from};
use super::{DataSource, Loaded, RunEnvironment, Start, TrainError, TrainingData};
use crate::bundle::Origin;
use crate::config::changed_keys;
use burn::tensor::Device;
use directory::RunDir;
use graphminnet_data::LimitChange;
use graphminnet_data::cache::Cache;
use graphminnet_data::exchange::{Alone, Exchange};
use graphminnet_data::fs::IoError;
use preparation::Prepared;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a run works with. Its threads are those of the pool that it is called in.
#[derive(Debug, Clone)]
pub struct Resources {
    /// Where to compute: a device without differentiation.
    pub device: Device,
    /// Prepared data of earlier runs.
    pub cache: Option<Cache>,
    /// Limits within which data is read, where they differ from those of its source.
    pub limits: Vec<LimitChange>,
    /// A folder with the eigenpairs of the only graph, where they are not to be computed. A run has its own
    /// (`train.eigenpairs`).
    pub eigenpairs: Option<PathBuf>,
    /// Whether eigenpairs and random walks stay in the cache, where a batch reads those of its graphs: less memory, the same
    /// numbers. It needs a cache, which ranks must share.
    pub prepared_on_disk: bool,
    /// Processes that share the work. Only rank 0 has the run; the others assist it.
    pub exchange: Arc<dyn Exchange>,
}

impl Resources {
    /// A device, no cache, and nobody to share the work with.
    pub fn on(device: Device) -> Self {
        Self {
            device,
            cache: None,
            limits: Vec::new(),
            eigenpairs: None,
            prepared_on_disk: false,
            exchange: Arc::new(Alone),
        }
    }
}

/// How the training of a run ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RunOutcome {
    /// All seeds that were asked for are done.
    Finished(Summary),
    /// Interrupted; the state is saved, and the run can be opened again.
    Interrupted,
    /// The observer gave up on it; the best epoch so far.
    Stopped(Option<Best>),
}

/// A run that this process, and no other, may work on.
#[derive(Debug)]
pub struct Run {
    directory: RunDir,
    file: RunFile,
    loaded: Option<Loaded>,
    data: Option<Prepared>,
}

impl Run {
    /// Starts a run in a directory that is new, empty, or left by a process that ended before the run was one.
    ///
    /// # Errors
    ///
    /// [`TrainError::RunExists`] or [`TrainError::Occupied`] if something is there, [`TrainError::Config`] if the run
    /// makes no sense, [`TrainError::Io`].
    pub fn create(path: &Path, spec: &RunSpec) -> Result<Self, TrainError> {
        let start = spec.from.as_ref().map(Start::read).transpose()?;
        let file = RunFile::new(spec, start.as_ref())?;
        let environment = RunEnvironment::current(spec.command.iter().cloned());
        let directory = RunDir::create(path, &file, start.as_ref(), &environment)?;
        Ok(Self { directory, file, loaded: None, data: None })
    }

    /// Opens a run to resume it.
    ///
    /// # Errors
    ///
    /// [`TrainError::NoRun`] if there is none, [`TrainError::Locked`] if another process works on it,
    /// [`TrainError::Damaged`].
    pub fn open(path: &Path) -> Result<Self, TrainError> {
        let (directory, file) = RunDir::open(path)?;
        Ok(Self { directory, file, loaded: None, data: None })
    }

    /// Opens a run if there is one, else starts it. Seeds that the run does not have yet are added to it.
    ///
    /// # Errors
    ///
    /// [`TrainError::Changed`] if the run that is there has another model or protocol; otherwise as [`Run::create`]
    /// and [`Run::open`].
    pub fn open_or_create(path: &Path, spec: &RunSpec) -> Result<Self, TrainError> {
        let mut run = match Self::open(path) {
            Ok(run) => run,
            Err(TrainError::NoRun { .. }) => return Self::create(path, spec),
            Err(error) => return Err(error),
        };
        let start = spec.from.as_ref().map(Start::read).transpose()?;
        let file = RunFile::new(spec, start.as_ref())?;
        let (asked, there) = (file.identity(), run.file.identity());
        if asked != there {
            let was = (&run.file.model, &run.file.train);
            let [before, now] = changed_keys(was, (&file.model, &file.train)).map(|keys| keys.join(", "));
            return Err(TrainError::Changed { what: "the configuration", before, now });
        }
        let origin = |file: &RunFile| file.from.as_ref().map_or_else(|| "none".to_owned(), Origin::identity);
        let (asked, there) = (origin(&file), origin(&run.file));
        if asked != there {
            return Err(TrainError::Changed { what: "the model to begin with", before: there, now: asked });
        }
        run.add_seeds(&spec.seeds)?;
        Ok(run)
    }

    /// Gives the run its data, so that it need not read it from its source.
    #[must_use]
    pub fn with_data(mut self, loaded: Loaded) -> Self {
        self.loaded = Some(loaded);
        self
    }

    /// Gives the run its data as it was prepared for another run of the same needs.
    #[must_use]
    pub fn with_prepared(mut self, data: TrainingData) -> Self {
        self.data = Some(Prepared::Whole(data));
        self
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// What is run.
    pub fn file(&self) -> &RunFile {
        &self.file
    }

    /// The prepared data, once it is; none of a graph in parts, which is nowhere as a whole.
    pub fn data(&self) -> Option<&TrainingData> {
        match &self.data {
            Some(Prepared::Whole(data)) => Some(data),
            Some(Prepared::InParts(_)) | None => None,
        }
    }

    /// The folder of a seed.
    pub fn seed(&self, seed: u64) -> SeedDir {
        SeedDir::of(self.path(), seed)
    }

    /// The seeds that have no result yet.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if a result cannot be read.
    pub fn unfinished(&self) -> Result<Vec<u64>, TrainError> {
        self.file.unfinished(self.path())
    }

    /// Whether nothing is left to do: all seeds have results, and so have several seeds together.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if a result cannot be read.
    pub fn is_done(&self) -> Result<bool, TrainError> {
        self.file.is_done(self.path())
    }

    /// The results of the seeds that are done; `None` while there is none.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if a result cannot be read.
    pub fn summary(&self) -> Result<Option<Summary>, TrainError> {
        self.file.summary(self.path())
    }

    /// Reads the data unless it was given, and computes what the model needs of it; `None` if interrupted, and as [`Run::data`].
    ///
    /// [`Run::train`] does this by itself.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if the data is not there, cannot be used, or is not what the run was started with.
    pub fn prepare(
        &mut self,
        resources: &Resources,
        observer: &mut dyn Observer,
        interrupt: &AtomicBool,
    ) -> Result<Option<&TrainingData>, TrainError> {
        self.prepare_data(resources, observer, interrupt)?;
        Ok(self.data())
    }

    fn prepare_data(
        &mut self,
        resources: &Resources,
        observer: &mut dyn Observer,
        interrupt: &AtomicBool,
    ) -> Result<(), TrainError> {
        if self.data.is_none() {
            let loaded = match self.loaded.take() {
                Some(loaded) => loaded,
                None => {
                    let loaded = self.file.load(resources)?;
                    observer.loaded(&loaded);
                    loaded
                }
            };
            assist::ask_to_prepare(&self.file, resources)?;
            // Data in memory may be asked for again; a file is read again.
            let given = matches!(self.file.data, DataSource::Given { .. }).then(|| loaded.clone());
            self.data = Prepared::of(loaded, &self.file, resources, observer, interrupt)?;
            self.loaded = given.filter(|_| self.data.is_none());
        }
        match &self.data {
            None => Ok(()),
            Some(Prepared::InParts(data)) => match &data.outline {
                None => Ok(()),
                Some(Outline { data, card, .. }) => self.directory.record_data(data, card),
            },
            Some(Prepared::Whole(data)) => {
                let (found, needed) = (&data.dataset.options, self.file.model.prepare_options());
                if *found != needed {
                    let (found, needed) = (format!("{found:?}"), format!("{needed:?}"));
                    return Err(TrainError::PreparedOtherwise { found, needed });
                }
                self.directory.record_data(data, &DataCard::of(data))
            }
        }
    }

    /// Trains all unfinished seeds, resuming those that were begun.
    ///
    /// # Errors
    ///
    /// [`TrainError`]; whatever was saved before stays usable.
    pub fn train(
        &mut self,
        resources: &Resources,
        observer: &mut dyn Observer,
        interrupt: &AtomicBool,
    ) -> Result<RunOutcome, TrainError> {
        let seeds = self.file.seeds.clone();
        self.train_seeds(&seeds, resources, observer, interrupt)
    }

    /// The same for some seeds, whose summary is given back; those that the run does not have yet are added to it.
    ///
    /// # Errors
    ///
    /// [`TrainError`]; whatever was saved before stays usable.
    pub fn train_seeds(
        &mut self,
        seeds: &[u64],
        resources: &Resources,
        observer: &mut dyn Observer,
        interrupt: &AtomicBool,
    ) -> Result<RunOutcome, TrainError> {
        self.add_seeds(seeds)?;
        let unfinished = self.unfinished()?;
        // A process may have been killed between its last seed and what all seeds are together.
        let open = match unfinished.is_empty() {
            true => !self.is_done()?,
            false => seeds.iter().any(|seed| unfinished.contains(seed)),
        };
        if open {
            self.prepare_data(resources, observer, interrupt)?;
            if self.data.is_none() {
                return Ok(RunOutcome::Interrupted);
            }
        }
        if let (false, Some(given)) = (open, &self.loaded) {
            // Nothing is left to train, but results of other data are not those that were asked for.
            self.directory.check_data(&given.fingerprint())?;
        }
        let start = match &self.file.from {
            Some(origin) if open => Some(self.directory.start(origin, &resources.device)?),
            _ => None,
        };
        let mut results = Vec::with_capacity(seeds.len());
        for &seed in seeds {
            let result = match (self.seed(seed).result()?, &self.data) {
                (Some(result), _) => {
                    observer.event(&TrainEvent::SeedFinished(result.clone()));
                    result
                }
                (None, None) => return Ok(RunOutcome::Interrupted),
                (None, Some(data)) => {
                    let directory = SeedDir::new(self.seed(seed).path().to_owned())?;
                    let settings = self.file.settings(seed, resources, interrupt);
                    alone_if_need_be(&*resources.exchange, start.is_some(), &self.file.train)?;
                    assist::ask_to_train(&self.file, seed, resources)?;
                    let (hosts, start, to) = (&resources.exchange, start.as_ref(), Some(&directory));
                    let trained = match (data, self.file.train.parts) {
                        (Prepared::Whole(data), None) => {
                            train_seed_from(&settings, start, data, to, observer)
                        }
                        (Prepared::Whole(data), Some(_)) => {
                            train_in_parts(&settings, hosts, data, to, observer)
                        }
                        (Prepared::InParts(data), _) => train_own(&settings, hosts, data, to, observer),
                    };
                    match trained? {
                        Outcome::Finished(result) => result,
                        // Only who has no directory assists.
                        Outcome::Interrupted(_) | Outcome::Assisted => return Ok(RunOutcome::Interrupted),
                        Outcome::Stopped(best) => return Ok(RunOutcome::Stopped(best)),
                    }
                }
            };
            results.push(result);
        }
        if open && self.unfinished()?.is_empty() {
            self.write_ensemble(resources)?;
        }
        if (open || !self.directory.has_summary())
            && let Some(summary) = self.summary()?
        {
            self.directory.write_summary(&summary)?;
        }
        let ensemble = EnsembleResult::read(self.path(), seeds)?;
        Ok(RunOutcome::Finished(Summary { ensemble, ..Summary::new(self.file.train.metric, results) }))
    }

    /// Adds seeds to the run that it does not have yet.
    fn add_seeds(&mut self, seeds: &[u64]) -> Result<(), TrainError> {
        let mut file = self.file.clone();
        for seed in seeds {
            if !file.seeds.contains(seed) {
                file.seeds.push(*seed);
            }
        }
        if file.seeds != self.file.seeds {
            // What was measured over fewer seeds goes first: a process that is killed later would find it and keep it.
            self.directory.forget_results()?;
            self.directory.write_run(&file)?;
            self.file = file;
        }
        Ok(())
    }
}

/// The runs that lie directly in a folder, by name.
///
/// # Errors
///
/// [`TrainError::Io`] if the folder cannot be read.
pub fn runs_in(folder: &Path) -> Result<Vec<PathBuf>, TrainError> {
    let mut runs = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(IoError::at("read the folder", folder))? {
        let path = entry.map_err(IoError::at("read the folder", folder))?.path();
        if path.join(directory::RUN).is_file() {
            runs.push(path);
        }
    }
    runs.sort();
    Ok(runs)
}
