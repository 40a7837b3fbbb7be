//! The directory of a run: who may write to it, and what is in it.
//!
//! ```text
//! run/
//!   run.toml            what is run: data, model, protocol, seeds, version
//!   data.json           fingerprint, counts and schema of the data
//!   splits.json         who trains, who chooses, who reports
//!   started.json        the command and the machine
//!   lock                held while a process works on the run
//!   seed-0/
//!     metrics.jsonl     one object per epoch and part
//!     events.out.tfevents.0.graphminnet
//!     state/            saved states
//!     best.gmn, last.gmn  models, see [`crate::bundle`]
//!     test_predictions.csv
//!     result.json       written last: the seed is done
//!   summary.json        mean and deviation over the seeds
//!   report.html         all of it, to be read
//! ```
//!
//! A directory that exists is never written over; it can only be resumed.

use super::summary::{SeedResult, Summary};
use super::{Checkpoints, Circumstances, DataSource, TrainError, TrainingData};
use crate::config::{ModelConfig, TrainConfig};
use graphminnet_data::fs::{self, IoError, sha256};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The content of `run.toml`: all that is needed to do the run again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// Version of the program that started the run.
    pub version: String,
    /// Name of the recipe, or of the data.
    pub name: String,
    /// When it was started.
    pub started: String,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Where the data comes from.
    pub data: DataSource,
    /// The model.
    pub model: ModelConfig,
    /// The protocol.
    pub train: TrainConfig,
}

impl RunFile {
    /// Reads the description of a run, which may be in use.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if it is not a run or is damaged.
    pub fn read(run: &Path) -> Result<Self, TrainError> {
        let file = run.join(RUN);
        let text = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
        let run: Self = toml::from_str(&text)
            .map_err(|error| TrainError::Damaged { path: file.clone(), reason: error.to_string() })?;
        run.model.check()?;
        run.train.check()?;
        Ok(run)
    }

    /// Hash of everything that decides the numbers, apart from data and seed.
    pub fn config_hash(&self) -> String {
        config_hash(&self.model, &self.train)
    }
}

/// Hash of a model's and a protocol's configuration; how often states are saved is left out.
pub(super) fn config_hash(model: &ModelConfig, train: &TrainConfig) -> String {
    let defaults = TrainConfig::default();
    let train = TrainConfig {
        checkpoint_seconds: defaults.checkpoint_seconds,
        checkpoint_steps: defaults.checkpoint_steps,
        ..train.clone()
    };
    let text = serde_json::to_string(&(model, &train)).unwrap_or_default();
    // A key that came later counts where it is set, so that older runs keep their hash.
    sha256(text.replace(r#""recompute_layers":null,"#, "").as_bytes())
}

/// A run directory that this process may write to.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    /// Locked as long as it is open; the system releases it however the process ends.
    _lock: File,
}

impl RunDir {
    /// Creates a new run.
    ///
    /// # Errors
    ///
    /// [`TrainError::RunExists`] if the directory exists and is not empty, [`TrainError::Io`].
    pub fn create(path: &Path, run: &RunFile, data: &TrainingData) -> Result<Self, TrainError> {
        let occupied = std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
        if occupied || path.is_file() {
            return Err(TrainError::RunExists { path: path.to_owned() });
        }
        fs::create_dir(path)?;
        let run_dir = Self { path: path.to_owned(), _lock: lock(path)? };
        let text = toml::to_string(run)
            .map_err(|error| TrainError::Damaged { path: path.join(RUN), reason: error.to_string() })?;
        fs::write_atomically(&path.join("splits.json"), data.splits.to_json().as_bytes())?;
        run_dir.write_json("data.json", &describe_data(data))?;
        // Last, because its presence makes the directory a run.
        fs::write_atomically(&path.join(RUN), text.as_bytes())?;
        Ok(run_dir)
    }

    /// Opens a run to go on with it.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if it is not a run, is damaged or in use.
    pub fn open(path: &Path) -> Result<(Self, RunFile), TrainError> {
        let run = RunFile::read(path)?;
        Ok((Self { path: path.to_owned(), _lock: lock(path)? }, run))
    }

    /// Writes down how the run came about.
    ///
    /// # Errors
    ///
    /// [`TrainError::Io`].
    pub fn write_circumstances(&self, circumstances: &Circumstances) -> Result<(), TrainError> {
        self.write_json(STARTED, circumstances)
    }

    /// Fails if the data is not the data that the run was started with.
    ///
    /// # Errors
    ///
    /// [`TrainError::Changed`], or what is wrong with `data.json`.
    pub fn check_data(&self, data: &TrainingData) -> Result<(), TrainError> {
        let recorded: serde_json::Value = self.read_json("data.json")?;
        match recorded["fingerprint"].as_str() {
            Some(before) if before == data.fingerprint => Ok(()),
            before => Err(TrainError::Changed {
                what: "the data",
                before: before.unwrap_or("unknown").to_owned(),
                now: data.fingerprint.clone(),
            }),
        }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of a seed, created if needed.
    ///
    /// # Errors
    ///
    /// [`TrainError::Io`].
    pub fn seed(&self, seed: u64) -> Result<SeedDir, TrainError> {
        SeedDir::new(self.path.join(format!("seed-{seed}")))
    }

    /// Writes `summary.json`.
    ///
    /// # Errors
    ///
    /// [`TrainError::Io`].
    pub fn write_summary(&self, summary: &Summary) -> Result<(), TrainError> {
        self.write_json("summary.json", summary)
    }

    fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), TrainError> {
        write_json(&self.path.join(name), value)
    }

    fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, TrainError> {
        read_json(&self.path.join(name))
    }
}

const RUN: &str = "run.toml";
const STARTED: &str = "started.json";

fn lock(path: &Path) -> Result<File, TrainError> {
    let file = path.join("lock");
    let handle = File::create(&file).map_err(IoError::at("create", &file))?;
    match handle.try_lock() {
        Ok(()) => Ok(handle),
        Err(std::fs::TryLockError::WouldBlock) => Err(TrainError::Locked { path: path.to_owned() }),
        Err(std::fs::TryLockError::Error(source)) => Err(IoError::at("lock", &file)(source).into()),
    }
}

fn describe_data(data: &TrainingData) -> serde_json::Value {
    let samples = &data.dataset.samples;
    serde_json::json!({
        "name": data.dataset.name,
        "fingerprint": data.fingerprint,
        "graphs": samples.len(),
        "nodes": samples.iter().map(|sample| sample.prepared.graph.num_nodes()).sum::<usize>(),
        "edges": samples.iter().map(|sample| sample.prepared.graph.num_edges()).sum::<usize>(),
        "train": data.splits.train.len(),
        "valid": data.splits.valid.len(),
        "test": data.splits.test.len(),
        "schema": data.dataset.schema,
        "deviations": data.deviations,
    })
}

/// The folder of one seed of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedDir {
    path: PathBuf,
}

impl SeedDir {
    /// The folder, created if needed.
    ///
    /// # Errors
    ///
    /// [`TrainError::Io`].
    pub fn new(path: PathBuf) -> Result<Self, TrainError> {
        fs::create_dir(&path)?;
        Ok(Self { path })
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The saved states.
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints::new(self.path.join("state"))
    }

    /// The result, if the seed is done.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if the file cannot be read or is damaged.
    pub fn result(&self) -> Result<Option<SeedResult>, TrainError> {
        match read_json(&self.file(RESULT)) {
            Err(TrainError::Io(error)) if error.is_not_found() => Ok(None),
            result => result.map(Some),
        }
    }

    /// Marks the seed as done.
    ///
    /// # Errors
    ///
    /// [`TrainError::Io`].
    pub fn write_result(&self, result: &SeedResult) -> Result<(), TrainError> {
        write_json(&self.file(RESULT), result)
    }
}

const RESULT: &str = "result.json";

pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), TrainError> {
    let damaged =
        |error: serde_json::Error| TrainError::Damaged { path: path.to_owned(), reason: error.to_string() };
    let mut text = serde_json::to_vec_pretty(value).map_err(damaged)?;
    text.push(b'\n');
    Ok(fs::write_atomically(path, &text)?)
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, TrainError> {
    let damaged =
        |error: serde_json::Error| TrainError::Damaged { path: path.to_owned(), reason: error.to_string() };
    serde_json::from_slice(&fs::read(path)?).map_err(damaged)
}
