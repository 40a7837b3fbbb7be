//! Where trainings of an experiment take place: data, run directories, and what is shortened.

use super::{ReproError, Store, smoke};
use graphminnet::bundle::{Bundle, EXTENSION};
use graphminnet::config::{
    Identity, MetricKind, ModelConfig, Override, RECIPE_NAMES, Recipe, TrainConfig, with_overrides,
};
use graphminnet::model::GraphMinNet;
use graphminnet::task::metric::larger_is_better;
use graphminnet::train::{
    DataSource, Device, EpochRecord, Generator, Loaded, MeanStd, Observer, Resources, Run, RunOutcome,
    RunSpec, SeedResult, Settings, TrainError, data_fingerprint,
};
use graphminnet::weights;
use graphminnet_data::cache::Cache;
use graphminnet_data::registry;
use graphminnet_data::{DataError, LimitChange};
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Who hears how an experiment proceeds.
pub trait Watch {
    /// Something worth a line.
    fn say(&self, text: &str);

    /// Listens to one training.
    fn observer(&self, metric: MetricKind, label: &str) -> Box<dyn Observer>;
}

/// The surroundings of an experiment.
pub struct Lab<'a> {
    /// Where cells and runs are kept.
    pub store: Store,
    /// Where to compute.
    pub device: Device,
    /// Prepared data of earlier runs.
    pub cache: Option<Cache>,
    /// Limits within which data is read.
    pub limits: Vec<LimitChange>,
    /// Set when the user wants to stop.
    pub interrupt: &'a AtomicBool,
    /// Folder with the data sets.
    pub data_dir: Option<PathBuf>,
    /// Tiny data and models, to see that everything works.
    pub smoke: bool,
    /// Seeds of every training.
    pub seeds: Vec<u64>,
    /// Epochs instead of the recipe's.
    pub epochs: Option<usize>,
    /// Training graphs instead of all.
    pub train_graphs: Option<usize>,
    /// The command that asked for the experiment; its trainings record it.
    pub command: Vec<String>,
    /// Who is told.
    pub watch: &'a dyn Watch,
}

/// What became of a training.
#[derive(Debug, Clone, PartialEq)]
pub enum Attempt {
    /// It is done.
    Done(Box<Trained>),
    /// It could not be, for this reason.
    NotRun(String),
}

/// A finished training over some seeds.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// Model and protocol as run; the model of a system of its own is elsewhere.
    pub recipe: Recipe,
    /// One result per seed.
    pub results: Vec<SeedResult>,
    /// What was shortened, in words; `None` if nothing.
    pub shortened: Option<String>,
    /// How the data differs from the published.
    pub differences: Vec<String>,
    /// The run directory.
    pub run: PathBuf,
    /// The data of a run that was given, not trained here.
    pub source: Option<DataSource>,
}

impl Trained {
    /// The test metric at the selected epochs, in the paper's units.
    pub fn test(&self) -> Option<MeanStd> {
        self.over(|result| result.best.test.map(|value| value * self.scale()))
    }

    /// The validation metric at the selected epochs, in the paper's units.
    pub fn valid(&self) -> Option<MeanStd> {
        self.over(|result| result.best.valid.map(|value| value * self.scale()))
    }

    /// Mean and standard deviation over the seeds.
    pub fn over(&self, value: impl Fn(&SeedResult) -> Option<f64>) -> Option<MeanStd> {
        MeanStd::of(&self.results.iter().filter_map(value).collect::<Vec<_>>())
    }

    /// Whether a larger metric is better.
    pub fn larger_is_better(&self) -> bool {
        larger_is_better(self.recipe.train.metric)
    }

    /// 100 where the paper prints per cent.
    pub fn scale(&self) -> f64 {
        if crate::paper::in_per_cent(&self.recipe.name) { 100.0 } else { 1.0 }
    }

    /// The seeds, as in `0, 1, 2`.
    pub fn seeds(&self) -> String {
        self.results.iter().map(|result| result.seed.to_string()).collect::<Vec<_>>().join(", ")
    }

    /// The numbers of every epoch of a seed.
    ///
    /// # Errors
    ///
    /// [`ReproError::Train`].
    pub fn metrics(&self, seed: u64) -> Result<Vec<EpochRecord>, ReproError> {
        Ok(EpochRecord::read(&self.run.join(format!("seed-{seed}")))?)
    }
}

/// The protocol's number of seeds.
const SEEDS: usize = 5;

impl Lab<'_> {
    /// How a model is trained here.
    pub(super) fn settings<'a, C>(
        &'a self,
        name: &'a str,
        model: &'a C,
        train: &'a TrainConfig,
        seed: u64,
    ) -> Settings<'a, C> {
        let device = self.device.clone();
        Settings { seed, device, ..Settings::new(name, model, train, self.interrupt) }
    }

    /// Makes tiny data where it is asked for.
    ///
    /// # Errors
    ///
    /// [`ReproError`] if it cannot be written.
    pub fn set_up(&mut self) -> Result<(), ReproError> {
        if self.smoke {
            let folder = self.store.folder().join("smoke-data");
            smoke::write_datasets(&folder)?;
            self.data_dir = Some(folder);
        }
        Ok(())
    }

    /// The data sets to work on: those asked for, else the default ones of an experiment.
    ///
    /// # Errors
    ///
    /// [`ReproError::Unknown`] for a name that no recipe has.
    pub fn datasets(&self, asked: &[String], default: &[&str]) -> Result<Vec<String>, ReproError> {
        let known = |name: &String| RECIPE_NAMES.contains(&name.as_str());
        if let Some(wrong) = asked.iter().find(|name| !known(name)) {
            return Err(ReproError::Unknown {
                what: "the data set",
                name: wrong.escape_debug().to_string(),
                known: RECIPE_NAMES.join(", "),
            });
        }
        let default: Vec<String> = if self.smoke { smoke::DATASETS.as_slice() } else { default }
            .iter()
            .map(|name| (*name).to_owned())
            .collect();
        Ok(if asked.is_empty() { default } else { asked.to_vec() })
    }

    /// Fails if the user wants to stop.
    ///
    /// # Errors
    ///
    /// [`ReproError::Interrupted`].
    pub fn check_interrupt(&self) -> Result<(), ReproError> {
        if self.interrupt.load(Ordering::Relaxed) { Err(ReproError::Interrupted) } else { Ok(()) }
    }

    /// A recipe with some fields replaced, and with what this lab shortens; in words what that is.
    ///
    /// # Errors
    ///
    /// [`ReproError::Config`].
    pub fn recipe(&self, name: &str, changes: &[Override]) -> Result<(Recipe, Option<String>), ReproError> {
        self.shortened(name, Recipe::table(name)?, changes)
    }

    /// The same for the keys of a recipe.
    pub(super) fn shortened(
        &self,
        name: &str,
        keys: toml::Table,
        changes: &[Override],
    ) -> Result<(Recipe, Option<String>), ReproError> {
        let full = Recipe::from_table(name, &keys)?;
        let mut all = changes.to_vec();
        let epochs = self.epochs.or(self.smoke.then_some(2));
        if let Some(epochs) = epochs {
            all.push(Override::new("train", "epochs", toml::Value::Integer(epochs as i64)));
        }
        let mut recipe = with_overrides(name, keys, &all)?;
        if self.smoke {
            smoke::shrink(&mut recipe);
            recipe.model.check()?;
        }
        let mut short = Vec::new();
        if recipe.train.epochs < full.train.epochs {
            short.push(format!("{} of {} epochs", recipe.train.epochs, full.train.epochs));
        }
        if let Some(graphs) = self.train_graphs {
            short.push(format!("{graphs} training graphs"));
        }
        if self.seeds.len() < SEEDS {
            short.push(format!("{} of {SEEDS} seeds", self.seeds.len()));
        }
        if self.smoke {
            short.push("tiny data and model".to_owned());
        }
        Ok((recipe, (!short.is_empty()).then(|| short.join(", "))))
    }

    /// Where the data of a recipe comes from. PATTERN and CLUSTER are generated where there is no full copy.
    ///
    /// # Errors
    ///
    /// [`ReproError::Data`] if the registry does not know the data set.
    pub fn source(&self, recipe: &Recipe) -> Result<DataSource, ReproError> {
        let info = registry::find(&recipe.dataset)?;
        let folder = registry::data_dir(self.data_dir.as_deref());
        let full = folder.as_ref().is_some_and(|root| root.join(&info.folder).exists());
        let generator = match info.name.as_str() {
            "pattern" => Some(Generator::Pattern),
            "cluster" => Some(Generator::Cluster),
            _ => None,
        };
        match generator {
            Some(generator) if !full => Ok(DataSource::Generated { generator, seed: 0, graphs: None }),
            _ => {
                let folder = folder.map(|path| std::path::absolute(&path).unwrap_or(path));
                Ok(DataSource::Registry { name: recipe.dataset.clone(), folder })
            }
        }
    }

    /// Whether there is data for a recipe, without reading it.
    ///
    /// # Errors
    ///
    /// [`ReproError::Data`] if the registry does not know the data set.
    pub fn has_data(&self, recipe: &Recipe) -> Result<bool, ReproError> {
        match self.source(recipe)? {
            DataSource::Registry { name, folder } => {
                Ok(registry::locate(registry::find(&name)?, folder.as_deref()).is_ok())
            }
            _ => Ok(true),
        }
    }

    /// The data of a recipe with what is to be said of it; a reason if it is not there.
    ///
    /// # Errors
    ///
    /// [`ReproError`] if the data is there and cannot be read.
    pub fn load(&self, recipe: &Recipe) -> Result<Result<Loaded, String>, ReproError> {
        let found = self.load_source(&self.source(recipe)?)?;
        Ok(found.map(|mut loaded| {
            if let Some(graphs) = self.train_graphs {
                loaded.splits.train.truncate(graphs);
            }
            loaded
        }))
    }

    /// The data of a finished run: its own, all of it, where the run was given; a reason if it is not there.
    ///
    /// # Errors
    ///
    /// As [`Lab::load`].
    pub fn load_of(&self, trained: &Trained) -> Result<Result<Loaded, String>, ReproError> {
        match &trained.source {
            None => self.load(&trained.recipe),
            // The files may be elsewhere by now.
            Some(DataSource::Registry { name, folder }) => {
                let folder = self.data_dir.clone().or_else(|| folder.clone());
                self.load_source(&DataSource::Registry { name: name.clone(), folder })
            }
            Some(source) => self.load_source(source),
        }
    }

    fn load_source(&self, source: &DataSource) -> Result<Result<Loaded, String>, ReproError> {
        match source.load_within(&self.limits) {
            Ok(mut loaded) => {
                loaded.report.differences.extend(own_draw(source));
                Ok(Ok(loaded))
            }
            Err(TrainError::Data(DataError::NotHere(_))) => Ok(Err("data missing".to_owned())),
            Err(error) => Err(error.into()),
        }
    }

    /// Trains a changed recipe over the lab's seeds, resumes it, or finds it done.
    ///
    /// # Errors
    ///
    /// [`ReproError`]; a training that diverges is not an error but [`Attempt::NotRun`].
    pub fn train(&self, label: &str, name: &str, changes: &[Override]) -> Result<Attempt, ReproError> {
        self.check_interrupt()?;
        let (recipe, shortened) = match self.recipe(name, changes) {
            Ok(found) => found,
            Err(ReproError::Config(error)) => return Ok(Attempt::NotRun(error.to_string())),
            Err(error) => return Err(error),
        };
        let loaded = match self.load(&recipe)? {
            Ok(loaded) => loaded,
            Err(reason) => return Ok(Attempt::NotRun(reason)),
        };
        let differences = loaded.report.differences.clone();
        let source = self.source(&recipe)?;
        let folder = self.run_folder(
            &format!("{name}-{label}"),
            &recipe,
            data_fingerprint(&loaded.dataset, &loaded.splits),
        );
        let mut run = self.run_in(&folder, &recipe, source)?.with_data(loaded);
        let results = self.finish(&mut run, &format!("{name} {label}"))?;
        Ok(match results {
            Ok(results) => Attempt::Done(Box::new(Trained {
                recipe,
                results,
                shortened,
                differences,
                run: folder,
                source: None,
            })),
            Err(reason) => Attempt::NotRun(reason),
        })
    }

    /// The folder of a training: found by what decides its numbers.
    pub(super) fn run_folder(&self, name: &str, recipe: &Recipe, data: impl Serialize) -> PathBuf {
        // Earlier versions named folders after all keys; what they began resumes where it is.
        let earlier = json!({ "model": recipe.model, "train": recipe.train, "data": &data });
        let earlier = self.store.run_folder(name, &earlier);
        if earlier.is_dir() {
            return earlier;
        }
        let identity = Identity::of(&recipe.model, &recipe.train);
        self.store.run_folder(name, &json!({ "configuration": identity.hash(), "data": data }))
    }

    /// What runs work with.
    pub(super) fn resources(&self) -> Resources {
        let limits = self.limits.clone();
        Resources { cache: self.cache.clone(), limits, ..Resources::on(self.device.clone()) }
    }

    /// The run of a training, opened or started.
    pub(super) fn run_in(
        &self,
        folder: &Path,
        recipe: &Recipe,
        source: DataSource,
    ) -> Result<Run, ReproError> {
        let (recipe, seeds, command) = (recipe.clone(), self.seeds.clone(), self.command.clone());
        Ok(Run::open_or_create(folder, &RunSpec { recipe, source, seeds, from: None, command })?)
    }

    /// Trains the lab's seeds of a run; a reason if training diverges.
    pub(super) fn finish(
        &self,
        run: &mut Run,
        label: &str,
    ) -> Result<Result<Vec<SeedResult>, String>, ReproError> {
        let resources = self.resources();
        let mut observer = self.watch.observer(run.file().train.metric, label);
        match run.train_seeds(&self.seeds, &resources, observer.as_mut(), self.interrupt) {
            Ok(RunOutcome::Finished(summary)) => Ok(Ok(summary.seeds)),
            Ok(_) => Err(ReproError::Interrupted),
            Err(error @ TrainError::NonFinite { .. }) => Ok(Err(format!("training diverged: {error}"))),
            Err(error) => Err(error.into()),
        }
    }
}

/// What is to be said of data that was generated.
pub(super) fn own_draw(source: &DataSource) -> Option<String> {
    let DataSource::Generated { seed, .. } = source else { return None };
    Some(format!("our own draw with the published parameters of the generator (seed {seed})"))
}

/// The selected model of a trained seed, on a device of the caller's choice.
///
/// A folder without a model file may have its weights alone, as earlier versions wrote them.
pub(super) fn selected_model(
    folder: &Path,
    config: &ModelConfig,
    seed: u64,
    device: &Device,
) -> Result<GraphMinNet, ReproError> {
    let weights_alone = folder.join("best.safetensors");
    if weights_alone.is_file() {
        return Ok(weights::load(GraphMinNet::new(config, seed, device)?, &weights_alone)?);
    }
    Ok(Bundle::load_on(&folder.join(format!("best.{EXTENSION}")), device)?.model().clone())
}
