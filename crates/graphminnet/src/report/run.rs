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
        of_split.filter_map(|record| Some((record.epoch() as f64 + 1.0, number(record)?))).collect()
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
}

impl Run {
    pub(super) fn read(path: &Path) -> Result<Self, ReportError> {
        let file = RunFile::read(path)?;
        let data: DataCard = read_json(&path.join("data.json"))?;
        let started = match read_json(&path.join("started.json")) {
            Ok(started) => Some(started),
            // Runs of earlier versions do not have it.
            Err(TrainError::Io(error)) if error.is_not_found() => None,
            Err(error) => return Err(error.into()),
        };
        let seeds = file.seeds.iter().map(|&seed| read_seed(path, seed)).collect::<Result<_, _>>()?;
        Ok(Self { path: path.to_owned(), file, data, started, seeds })
    }

    /// The first seed that is done.
    pub(super) fn finished(&self) -> Option<&Seed> {
        self.seeds.iter().find(|seed| seed.result.is_some())
    }

    /// The name for tables: that of the recipe, and of the folder where that says more.
    pub(super) fn label(&self) -> String {
        let folder =
            self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if folder.starts_with(&self.file.name) || folder.is_empty() {
            self.file.name.clone()
        } else {
            format!("{} ({folder})", self.file.name)
        }
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
