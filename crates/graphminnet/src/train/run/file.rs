//! What a run is: as it is asked for, and as `run.toml` keeps it.

use super::card::DataCard;
use super::clock::timestamp;
use super::directory::{DATA, RUN, SeedDir, read_json};
use super::{DataSource, EnsembleResult, Resources, TrainError, ensemble};
use crate::bundle::Origin;
use crate::config::{ConfigError, Identity, ModelConfig, Recipe, TrainConfig};
use crate::train::{Loaded, Settings, Start, Summary, Transfer};
use graphminnet_data::fs;
use graphminnet_data::spectral::SpectralError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A run as it is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSpec {
    /// The model and its protocol.
    pub recipe: Recipe,
    /// Where the data comes from.
    pub source: DataSource,
    /// The seeds, each once.
    pub seeds: Vec<u64>,
    /// The trained model to begin with, if not with random weights.
    pub from: Option<Transfer>,
    /// Who asks: the words of a command, or of a call. They go into `started.json` and the report.
    pub command: Vec<String>,
}

impl RunSpec {
    /// One training with seed 0.
    pub fn new(recipe: Recipe, source: DataSource) -> Self {
        Self { recipe, source, seeds: vec![0], from: None, command: Vec::new() }
    }
}

/// The content of `run.toml`: all that is needed to do the run again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFile {
    /// Version of the program that started the run.
    pub version: String,
    /// Name of the recipe, or of the data.
    pub name: String,
    /// When it was started.
    pub started: String,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The trained model that the run began with; the directory keeps a copy of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Origin>,
    /// Where the data comes from.
    pub data: DataSource,
    /// The model.
    pub model: ModelConfig,
    /// The protocol.
    pub train: TrainConfig,
}

/// Fails if a model needs something that is computed, or checked, on a whole graph before it is cut.
///
/// # Errors
///
/// [`SpectralError::NotInParts`] with what it is.
pub fn takes_parts_alone(model: &ModelConfig, train: &TrainConfig) -> Result<(), SpectralError> {
    model.prepare_options().check_parts()?;
    match train.eigenpairs {
        Some(_) => Err(SpectralError::NotInParts { what: "eigenpairs of another program" }),
        None => Ok(()),
    }
}

impl RunFile {
    /// A run that starts now, with the model that it begins with.
    pub(super) fn new(spec: &RunSpec, start: Option<&Start>) -> Result<Self, TrainError> {
        let run = Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: spec.recipe.name.clone(),
            started: timestamp(),
            seeds: spec.seeds.clone(),
            from: start.map(|start| start.origin().clone()),
            data: spec.source.clone(),
            model: spec.recipe.model.clone(),
            train: spec.recipe.train.clone(),
        };
        run.check()?;
        Ok(run)
    }

    /// Reads the description of a run, which may be in use.
    ///
    /// # Errors
    ///
    /// [`TrainError::NoRun`] if there is none, [`TrainError::Damaged`] if it makes no sense or has keys that this
    /// version does not know.
    pub fn read(run: &Path) -> Result<Self, TrainError> {
        let file = run.join(RUN);
        let bytes = fs::read(&file).map_err(|error| match error.is_not_found() {
            true => TrainError::NoRun { path: run.to_owned() },
            false => error.into(),
        })?;
        Self::parse(&String::from_utf8_lossy(&bytes), file)
    }

    /// Reads the text of a description.
    pub(super) fn parse(text: &str, file: PathBuf) -> Result<Self, TrainError> {
        let run: Self = toml::from_str(text)
            .map_err(|error| TrainError::Damaged { path: file, reason: error.to_string() })?;
        run.check()?;
        Ok(run)
    }

    /// The text of the description.
    pub(super) fn to_text(&self, file: &Path) -> Result<String, TrainError> {
        toml::to_string(self)
            .map_err(|error| TrainError::Damaged { path: file.to_owned(), reason: error.to_string() })
    }

    fn check(&self) -> Result<(), TrainError> {
        self.model.check()?;
        self.train.check()?;
        let mut distinct = self.seeds.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if self.seeds.is_empty() || distinct.len() != self.seeds.len() {
            return Err(TrainError::Config(ConfigError::Invalid {
                key: "seeds".to_owned(),
                value: format!("{:?}", self.seeds),
                expected: "at least one seed, and each of them once".to_owned(),
            }));
        }
        Ok(())
    }

    /// What decides the numbers, apart from data and seed.
    pub fn identity(&self) -> Identity {
        Identity::of(&self.model, &self.train)
    }

    /// The seeds that have no result yet in the run's directory.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if a result cannot be read.
    pub fn unfinished(&self, run: &Path) -> Result<Vec<u64>, TrainError> {
        let mut unfinished = Vec::new();
        for &seed in &self.seeds {
            if SeedDir::of(run, seed).result()?.is_none() {
                unfinished.push(seed);
            }
        }
        Ok(unfinished)
    }

    /// Whether nothing is left to do in the run's directory: all seeds have results, and so have several seeds together.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if a result cannot be read.
    pub fn is_done(&self, run: &Path) -> Result<bool, TrainError> {
        let is_there = |name: &str| run.join(name).is_file();
        // On a graph in parts they are not measured together.
        let is_measured = self.train.parts.is_some() || is_there(ensemble::RESULT);
        let are_together = self.seeds.len() < 2 || is_measured && is_there(ensemble::MODELS);
        Ok(self.unfinished(run)?.is_empty() && are_together)
    }

    /// The results of the seeds that are done; `None` while there is none.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if a result cannot be read.
    pub fn summary(&self, run: &Path) -> Result<Option<Summary>, TrainError> {
        let mut results = Vec::with_capacity(self.seeds.len());
        for &seed in &self.seeds {
            results.extend(SeedDir::of(run, seed).result()?);
        }
        let ensemble = EnsembleResult::read(run, &self.seeds)?;
        Ok((!results.is_empty()).then(|| Summary { ensemble, ..Summary::new(self.train.metric, results) }))
    }

    /// How the data of a run differs from the published data of that name, as it was noticed when it began.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if the run does not say.
    pub fn data_differences(run: &Path) -> Result<Vec<String>, TrainError> {
        Ok(read_json::<DataCard>(&run.join(DATA))?.differences)
    }

    /// Reads the data of the run: of a graph in parts those of this process alone, where format and model allow it.
    ///
    /// # Errors
    ///
    /// As [`DataSource::load`].
    pub fn load(&self, resources: &Resources) -> Result<Loaded, TrainError> {
        let Resources { limits, exchange, .. } = resources;
        match self.train.parts.filter(|_| takes_parts_alone(&self.model, &self.train).is_ok()) {
            Some(parts) => self.data.load_parts(limits, (parts, &self.train.partition), &**exchange),
            None => self.data.load_within(limits),
        }
    }

    /// What the run works with: what its process has, and what it asks for itself.
    pub(super) fn resources(&self, resources: &Resources) -> Resources {
        Resources { eigenpairs: self.train.eigenpairs.clone(), ..resources.clone() }
    }

    /// What the trainer is told.
    pub(super) fn settings<'a>(
        &'a self,
        seed: u64,
        resources: &'a Resources,
        interrupt: &'a AtomicBool,
    ) -> Settings<'a> {
        Settings {
            name: &self.name,
            model: &self.model,
            train: &self.train,
            edges: self.data.edges(),
            seed,
            device: resources.device.clone(),
            interrupt,
            exchange: &*resources.exchange,
        }
    }
}
