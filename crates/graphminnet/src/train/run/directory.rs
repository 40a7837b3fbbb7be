//! The directory of a run: who may write to it, and what is in it.
//!
//! ```text
//! run/
//!   lock                held while a process works on the run
//!   started.json        the command and the machine
//!   from.gmn            the model that the run began with, if any
//!   run.toml            what is run: data, model, protocol, seeds, version; with it the directory is a run
//!   data.json           fingerprint, counts and schema of the data
//!   splits.json         who trains, who chooses, who reports
//!   seed-0/
//!     metrics.jsonl     one object per epoch and part
//!     events.out.tfevents.0.graphminnet
//!     state/            saved states
//!     best.gmn, last.gmn  models, see [`crate::bundle`]; .safetensors for models without such a file
//!     test_predictions.csv
//!     result.json       written last: the seed is done
//!   summary.json        mean and standard deviation over the seeds
//!   report.html         all of it, to be read
//! ```
//!
//! A run that exists is never written over; it can only be resumed. What a process leaves behind that ended before
//! `run.toml` was there is no run: the next one starts in its place.

use super::card::DataCard;
use super::ensemble;
use super::file::RunFile;
use super::{RunEnvironment, TrainError, TrainingData};
use crate::bundle::Origin;
use crate::train::summary::{SeedResult, Summary};
use crate::train::{Checkpoints, Start};
use burn::tensor::Device;
use graphminnet_data::fs::{self, IoError};
use serde::{Serialize, de::DeserializeOwned};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub(super) const RUN: &str = "run.toml";
const FROM: &str = "from.gmn";
const LOCK: &str = "lock";
const STARTED: &str = "started.json";
pub(super) const DATA: &str = "data.json";
const SPLITS: &str = "splits.json";
const SUMMARY: &str = "summary.json";
const RESULT: &str = "result.json";

/// A run directory that this process may write to.
#[derive(Debug)]
pub(super) struct RunDir {
    path: PathBuf,
    /// Locked as long as it is open; the system releases it however the process ends.
    _lock: File,
}

impl RunDir {
    /// Starts a run in a directory that is new, empty or left behind by a process that ended too early.
    pub(super) fn create(
        path: &Path,
        run: &RunFile,
        start: Option<&Start>,
        environment: &RunEnvironment,
    ) -> Result<Self, TrainError> {
        leftovers(path)?;
        fs::create_dir(path)?;
        let directory = Self { path: path.to_owned(), _lock: lock(path)? };
        // Another process may have been faster.
        for leftover in leftovers(path)?.into_iter().filter(|leftover| !leftover.ends_with(LOCK)) {
            std::fs::remove_file(&leftover).map_err(IoError::at("remove", &leftover))?;
        }
        write_json(&path.join(STARTED), environment)?;
        if let Some(start) = start {
            fs::write_atomically(&path.join(FROM), start.bytes())?;
        }
        // Last, because its presence makes the directory a run.
        directory.write_run(run)?;
        Ok(directory)
    }

    /// Opens a run to resume it.
    pub(super) fn open(path: &Path) -> Result<(Self, RunFile), TrainError> {
        // Whatever is no run is not touched, not even by a lock.
        RunFile::read(path)?;
        let directory = Self { path: path.to_owned(), _lock: lock(path)? };
        let run = RunFile::read(path)?;
        Ok((directory, run))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn write_run(&self, run: &RunFile) -> Result<(), TrainError> {
        let path = self.path.join(RUN);
        Ok(fs::write_atomically(&path, run.to_text(&path)?.as_bytes())?)
    }

    /// Writes down what the data is, or fails if it is not what was written down.
    pub(super) fn record_data(&self, data: &TrainingData, card: &DataCard) -> Result<(), TrainError> {
        match self.check_data(&data.fingerprint) {
            Err(TrainError::Io(error)) if error.is_not_found() => {
                fs::write_atomically(&self.path.join(SPLITS), data.split_file().as_bytes())?;
                write_json(&self.path.join(DATA), card)
            }
            checked => checked,
        }
    }

    /// Fails if data with this fingerprint is not what was written down.
    pub(super) fn check_data(&self, fingerprint: &str) -> Result<(), TrainError> {
        let recorded: DataCard = read_json(&self.path.join(DATA))?;
        if recorded.fingerprint == fingerprint {
            return Ok(());
        }
        Err(TrainError::Changed {
            what: "the data",
            before: recorded.fingerprint,
            now: fingerprint.to_owned(),
        })
    }

    /// The model that the run began with.
    pub(super) fn start(&self, origin: &Origin, device: &Device) -> Result<Start, TrainError> {
        Start::reread(&self.path.join(FROM), origin, device)
    }

    pub(super) fn write_summary(&self, summary: &Summary) -> Result<(), TrainError> {
        write_json(&self.path.join(SUMMARY), summary)
    }

    pub(super) fn has_summary(&self) -> bool {
        self.path.join(SUMMARY).is_file()
    }

    /// Removes what was written over all seeds, before there are more of them.
    pub(super) fn forget_results(&self) -> Result<(), TrainError> {
        for name in [SUMMARY, ensemble::RESULT, ensemble::MODELS] {
            let path = self.path.join(name);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(IoError::at("remove", &path)(error).into());
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// What a process left in a directory that ended before it was a run. Fails if there is a run, or anything else.
fn leftovers(path: &Path) -> Result<Vec<PathBuf>, TrainError> {
    if path.is_file() {
        return Err(TrainError::NoFolder { path: path.to_owned() });
    }
    if path.join(RUN).exists() {
        return Err(TrainError::RunExists { path: path.to_owned() });
    }
    let mut leftovers = Vec::new();
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Earlier versions wrote what they knew of the data first; a scratch file may be of any of these.
        let stem = name.split_once(".tmp-").map_or(name.as_str(), |(stem, _)| stem);
        if ![LOCK, STARTED, FROM, DATA, SPLITS, RUN].contains(&stem) {
            return Err(TrainError::Occupied { path: path.to_owned(), found: name });
        }
        leftovers.push(entry.path());
    }
    Ok(leftovers)
}

fn lock(path: &Path) -> Result<File, TrainError> {
    let file = path.join(LOCK);
    let handle = File::create(&file).map_err(IoError::at("create", &file))?;
    match handle.try_lock() {
        Ok(()) => Ok(handle),
        Err(std::fs::TryLockError::WouldBlock) => Err(TrainError::Locked { path: path.to_owned() }),
        Err(std::fs::TryLockError::Error(source)) => Err(IoError::at("lock", &file)(source).into()),
    }
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

    /// The folder of a run's seed, which need not be there yet.
    pub fn of(run: &Path, seed: u64) -> Self {
        Self { path: run.join(format!("seed-{seed}")) }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
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

pub(in crate::train) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), TrainError> {
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
