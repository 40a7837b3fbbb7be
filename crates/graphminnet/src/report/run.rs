//! A run as it lies on the disk.

use super::ReportError;
use super::predictions::{self, Row};
use crate::config::{RECIPE_NAMES, Recipe};
use crate::train::{
    DataCard, DataSource, EpochRecord, RunEnvironment, RunFile, SeedResult, TrainError, read_json,
};
use graphminnet_data::{DataError, Schema, Split};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// One seed.
#[derive(Debug, Clone)]
pub(super) struct Seed {
    pub(super) seed: u64,
    pub(super) folder: PathBuf,
    /// `None` while it is running, or was interrupted.
    pub(super) result: Option<SeedResult>,
    /// The numbers of every epoch.
    pub(super) records: Vec<EpochRecord>,
}

/// Loss or metric of a record.
pub(super) type Number = fn(&EpochRecord) -> Option<f64>;

impl Seed {
    /// `(epoch, number)` of one part, epochs counted from 1.
    pub(super) fn curve(&self, split: Split, number: Number) -> Vec<(f64, f64)> {
        let of_split = self.records.iter().filter(|record| record.split() == split);
        of_split.filter_map(|record| Some((record.epoch() as f64, number(record)?))).collect()
    }

    /// The test predictions of a seed that is done.
    pub(super) fn predictions(&self, schema: &Schema) -> Result<Vec<Row>, DataError> {
        predictions::read(&self.folder.join("test_predictions.csv"), schema)
    }
}

/// A run.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) path: PathBuf,
    pub(super) file: RunFile,
    pub(super) data: DataCard,
    pub(super) started: Option<RunEnvironment>,
    pub(super) seeds: Vec<Seed>,
    /// The name for tables; no two runs of a report have the same.
    pub(super) label: String,
}

impl Run {
    /// Reads runs that stand side by side.
    pub(super) fn read_all(paths: &[&Path]) -> Result<Vec<Self>, ReportError> {
        let mut runs = paths.iter().map(|path| Self::read(path)).collect::<Result<Vec<_>, _>>()?;
        let folder = |run: &Self| run.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let path = |run: &Self| Some(run.path.display().to_string());
        for name in [folder as fn(&Self) -> Option<String>, path] {
            let labels: Vec<String> = runs.iter().map(|run| run.label.clone()).collect();
            for run in &mut runs {
                if labels.iter().filter(|label| **label == run.label).count() > 1 {
                    run.label = name(run)
                        .map_or_else(|| run.label.clone(), |name| format!("{} ({name})", run.file.name));
                }
            }
        }
        Ok(runs)
    }

    fn read(path: &Path) -> Result<Self, ReportError> {
        let file = RunFile::read(path)?;
        let data: DataCard = read_json(&path.join("data.json"))?;
        let started = match read_json(&path.join("started.json")) {
            Ok(started) => Some(started),
            // Runs of earlier versions do not have it.
            Err(TrainError::Io(error)) if error.is_not_found() => None,
            Err(error) => return Err(error.into()),
        };
        let seeds = file.seeds.iter().map(|&seed| read_seed(path, seed)).collect::<Result<_, _>>()?;
        let label = label(path, &file);
        Ok(Self { path: path.to_owned(), file, data, started, seeds, label })
    }

    /// The first seed that is done.
    pub(super) fn finished(&self) -> Option<&Seed> {
        self.seeds.iter().find(|seed| seed.result.is_some())
    }

    /// Where the settings differ from the recipe of the same name: `field: here (recipe: there)`. A file of the user's
    /// may be called like a recipe, but is not trained with one.
    pub(super) fn differences(&self) -> Option<Vec<String>> {
        let is_own = matches!(self.file.data, DataSource::File { .. });
        if is_own || !RECIPE_NAMES.contains(&self.file.name.as_str()) {
            return None;
        }
        let recipe = Recipe::named(&self.file.name).ok()?;
        let mut found = Vec::new();
        for (part, ours, theirs) in [
            (
                "model",
                serde_json::to_value(&self.file.model).ok()?,
                serde_json::to_value(&recipe.model).ok()?,
            ),
            (
                "train",
                serde_json::to_value(&self.file.train).ok()?,
                serde_json::to_value(&recipe.train).ok()?,
            ),
        ] {
            let (Value::Object(ours), Value::Object(theirs)) = (ours, theirs) else { continue };
            for (field, value) in &ours {
                if theirs.get(field) != Some(value) {
                    let there = theirs.get(field).map_or_else(|| "nothing".to_owned(), Value::to_string);
                    found.push(format!("{part}.{field} = {value} (recipe: {there})"));
                }
            }
        }
        Some(found)
    }
}

fn read_seed(run: &Path, seed: u64) -> Result<Seed, ReportError> {
    let folder = run.join(format!("seed-{seed}"));
    let result = match read_json(&folder.join("result.json")) {
        Ok(result) => Some(result),
        Err(TrainError::Io(error)) if error.is_not_found() => None,
        Err(error) => return Err(error.into()),
    };
    let records = EpochRecord::read(&folder)?;
    Ok(Seed { seed, folder, result, records })
}

/// The name of the recipe, and of the folder where that says more.
fn label(path: &Path, file: &RunFile) -> String {
    let folder = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if folder.starts_with(&file.name) || folder.is_empty() {
        file.name.clone()
    } else {
        format!("{} ({folder})", file.name)
    }
}
