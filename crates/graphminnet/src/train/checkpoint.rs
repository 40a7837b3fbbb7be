//! Saved states: complete, verified, and two of them.
//!
//! A state is a folder `step-XXXXXXXX` (steps taken plus epochs evaluated) with the weights, the optimizer's moments,
//! the selected weights, the position (`train.json`) and `MANIFEST.json`, which lists every file with its length and
//! SHA-256. It is written under a scratch name, every file is flushed, the folder is flushed and renamed, its parent
//! is flushed, everything is read back and verified, and only then `CURRENT` is pointed at it and older states than
//! the previous one are removed.
//!
//! So a process killed at any moment leaves at least one complete state (once the first was written), and a state with
//! a single changed bit is noticed and passed over for the one before it, which is reported.

use super::state::{STATE_VERSION, TrainState};
use graphminnet_data::fs::{self, IoError, sha256};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

const CURRENT: &str = "CURRENT";
const MANIFEST: &str = "MANIFEST.json";
const MODEL: &str = "model.safetensors";
const OPTIMIZER: &str = "optim.safetensors";
const BEST: &str = "best.safetensors";
const AVERAGE: &str = "average.safetensors";
const CARRIED: &str = "carried.safetensors";
const SEEN: &str = "seen.safetensors";
const STATE: &str = "train.json";
/// Complete states that are kept.
const KEPT: usize = 2;

/// A state that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointProblem {
    /// The folder or file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for CheckpointProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path.display(), self.reason)
    }
}

/// Everything of a run at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// Weights and running statistics, as safetensors.
    pub model: Vec<u8>,
    /// The optimizer's moments, as safetensors.
    pub optimizer: Vec<u8>,
    /// The selected weights, as safetensors.
    pub best: Option<Vec<u8>>,
    /// The averaged weights, as safetensors, where they are averaged.
    pub average: Option<Vec<u8>>,
    /// What is carried between pieces of a graph, as safetensors, where there are some.
    pub carried: Option<Vec<u8>>,
    /// What the model answered in the current epoch so far, as safetensors, where its metric is kept.
    pub seen: Option<Vec<u8>>,
    /// The rest.
    pub state: TrainState,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    version: u32,
    name: String,
    files: BTreeMap<String, FileEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileEntry {
    bytes: u64,
    sha256: String,
}

/// The folder with the saved states of one seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoints {
    folder: PathBuf,
}

impl Checkpoints {
    /// Saved states in a folder, which is created when the first is written.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a state; returns its folder.
    ///
    /// # Errors
    ///
    /// [`IoError`]; the states written before are then untouched.
    pub fn save(&self, checkpoint: &Checkpoint) -> Result<PathBuf, IoError> {
        fs::create_dir(&self.folder)?;
        let name = format!("step-{:08}", checkpoint.state.progress());
        let target = self.folder.join(&name);
        // A state of this name that is not the current one was left by a process that was killed before it could point
        // at it. It knows the log as that process wrote it, not as it is now, so it is replaced.
        let is_current = self.current().as_deref() == Some(name.as_str());
        if !is_current || self.read(&target).is_err() {
            let scratch = fs::scratch_name(&target);
            let written = write_files(&scratch, &name, checkpoint).and_then(|()| {
                remove_dir(&target)?;
                fs::rename(&scratch, &target)
            });
            if let Err(error) = written {
                // The first error is the one worth reporting.
                let _ = remove_dir(&scratch);
                return Err(error);
            }
            self.read(&target).map_err(|problem| IoError {
                action: "verify",
                path: problem.path,
                source: std::io::Error::other(problem.reason),
            })?;
        }
        fs::write_atomically(&self.folder.join(CURRENT), format!("{name}\n").as_bytes())?;
        self.collect_garbage(&name);
        Ok(target)
    }

    /// The name that `CURRENT` holds.
    fn current(&self) -> Option<String> {
        std::fs::read_to_string(self.folder.join(CURRENT)).ok().map(|name| name.trim().to_owned())
    }

    /// The newest state that is intact, and the problems of those passed over; `None` if nothing was ever saved.
    ///
    /// # Errors
    ///
    /// The problems, if states are there but none is intact.
    pub fn load(&self) -> Result<Option<(Checkpoint, Vec<CheckpointProblem>)>, Vec<CheckpointProblem>> {
        let mut names = self.names();
        let current = self.current();
        let mut problems = Vec::new();
        if names.is_empty() && current.is_none() {
            return Ok(None);
        }
        match current.as_deref() {
            Some(current) if names.iter().any(|name| name == current) => {
                names.retain(|name| name != current);
                names.insert(0, current.to_owned());
            }
            // The first state, saved by a process that ended before it could point at it.
            None if names.len() == 1 => {}
            other => problems.push(CheckpointProblem {
                path: self.folder.join(CURRENT),
                reason: match other {
                    None => "is missing".to_owned(),
                    Some(name) => format!("points at `{}`, which is not there", name.escape_debug()),
                },
            }),
        }
        for name in names {
            match self.read(&self.folder.join(name)) {
                Ok(checkpoint) => return Ok(Some((checkpoint, problems))),
                Err(problem) => problems.push(problem),
            }
        }
        Err(problems)
    }

    /// Names of complete states, the newest first.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| is_state_name(name))
            .collect();
        names.sort_unstable_by(|a, b| step_of(b).cmp(&step_of(a)));
        names
    }

    /// Reads and verifies one state.
    fn read(&self, folder: &Path) -> Result<Checkpoint, CheckpointProblem> {
        Checkpoint::read(folder, &fs::read)
    }

    /// Removes all but the newest states and what killed processes left behind. A leftover that cannot be removed
    /// does no harm and is tried again next time.
    fn collect_garbage(&self, current: &str) {
        let mut others = self.names();
        others.retain(|name| name != current);
        // What is newer than the state just written belongs to a damaged or abandoned course of events.
        let (newer, older): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|name| step_of(name) > step_of(current));
        let mut kept = KEPT - 1;
        let old = older.into_iter().filter(|name| {
            let keep = kept > 0 && self.read(&self.folder.join(name)).is_ok();
            kept -= usize::from(keep);
            !keep
        });
        let mut garbage: Vec<String> = old.chain(newer).collect();
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let scratch = entries.filter_map(|entry| entry.file_name().into_string().ok());
        garbage.extend(scratch.filter(|name| name.contains(".tmp-")));
        for name in garbage {
            let path = self.folder.join(name);
            let _ = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        }
    }
}

impl Checkpoint {
    /// Verifies one state whose files are read as told.
    fn read(
        folder: &Path,
        read: &dyn Fn(&Path) -> Result<Vec<u8>, IoError>,
    ) -> Result<Self, CheckpointProblem> {
        let problem = |path: &Path, reason: String| CheckpointProblem { path: path.to_owned(), reason };
        let io_problem =
            |error: IoError| CheckpointProblem { path: error.path, reason: error.source.to_string() };
        let manifest_path = folder.join(MANIFEST);
        let bytes = read(&manifest_path).map_err(io_problem)?;
        let manifest: Manifest = serde_json::from_slice(&bytes)
            .map_err(|error| problem(&manifest_path, format!("not a manifest: {error}")))?;
        if manifest.version != STATE_VERSION {
            let reason = format!("version {}, this program reads {STATE_VERSION}", manifest.version);
            return Err(problem(&manifest_path, reason));
        }
        if Some(manifest.name.as_str()) != folder.file_name().and_then(|name| name.to_str()) {
            let reason = format!("belongs to `{}`", manifest.name.escape_debug());
            return Err(problem(&manifest_path, reason));
        }
        let mut contents = BTreeMap::new();
        for (name, entry) in manifest.files {
            if ![MODEL, OPTIMIZER, BEST, AVERAGE, CARRIED, SEEN, STATE].contains(&name.as_str()) {
                return Err(problem(&manifest_path, format!("lists `{}`", name.escape_debug())));
            }
            let path = folder.join(&name);
            let bytes = read(&path).map_err(io_problem)?;
            if bytes.len() as u64 != entry.bytes {
                let reason = format!("has {} bytes instead of {}", bytes.len(), entry.bytes);
                return Err(problem(&path, reason));
            }
            if sha256(&bytes) != entry.sha256 {
                return Err(problem(&path, "its content does not have the recorded hash".into()));
            }
            contents.insert(name, bytes);
        }
        let mut take = |name: &str| {
            contents.remove(name).ok_or_else(|| problem(&manifest_path, format!("lacks `{name}`")))
        };
        let state: TrainState = serde_json::from_slice(&take(STATE)?)
            .map_err(|error| problem(&folder.join(STATE), error.to_string()))?;
        let (best, average, carried) = (take(BEST).ok(), take(AVERAGE).ok(), take(CARRIED).ok());
        let seen = take(SEEN).ok();
        Ok(Self { model: take(MODEL)?, optimizer: take(OPTIMIZER)?, best, average, carried, seen, state })
    }

    /// A state from its files by name, with a manifest that agrees with them whatever they hold: for the fuzzer, which
    /// cannot guess a checksum.
    #[cfg(feature = "benchmarks")]
    pub(crate) fn of_files(files: &BTreeMap<String, Vec<u8>>) -> Result<Self, CheckpointProblem> {
        let name = "step-00000000";
        let listed = files.iter().filter(|(name, _)| name.as_str() != MANIFEST);
        let listed: Vec<_> = listed.map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        let manifest = serde_json::to_vec(&Manifest::new(name, &listed)).unwrap_or_default();
        Self::read(Path::new(name), &|path| {
            let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let found = files.get(file).or((file == MANIFEST).then_some(&manifest));
            found.cloned().ok_or_else(|| IoError::at("read", path)(std::io::ErrorKind::NotFound.into()))
        })
    }
}

impl Manifest {
    fn new(name: &str, files: &[(&str, &[u8])]) -> Self {
        let entry = |bytes: &[u8]| FileEntry { bytes: bytes.len() as u64, sha256: sha256(bytes) };
        let files = files.iter().map(|(name, bytes)| ((*name).to_owned(), entry(bytes))).collect();
        Self { version: STATE_VERSION, name: name.to_owned(), files }
    }
}

/// What orders states: a longer number is a larger one.
fn step_of(name: &str) -> (usize, &str) {
    (name.len(), name)
}

fn is_state_name(name: &str) -> bool {
    name.strip_prefix("step-")
        .is_some_and(|digits| digits.len() >= 8 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn write_files(folder: &Path, name: &str, checkpoint: &Checkpoint) -> Result<(), IoError> {
    fs::create_dir(folder)?;
    let encode = |action: &'static str, result: serde_json::Result<Vec<u8>>| {
        result.map_err(|error| IoError { action, path: folder.to_owned(), source: error.into() })
    };
    let state = encode("describe the state in", serde_json::to_vec_pretty(&checkpoint.state))?;
    let mut files =
        vec![(MODEL, checkpoint.model.as_slice()), (OPTIMIZER, &checkpoint.optimizer), (STATE, &state)];
    let optional = [
        (BEST, &checkpoint.best),
        (AVERAGE, &checkpoint.average),
        (CARRIED, &checkpoint.carried),
        (SEEN, &checkpoint.seen),
    ];
    for (name, bytes) in optional {
        files.extend(bytes.as_deref().map(|bytes| (name, bytes)));
    }
    for (name, bytes) in &files {
        fs::write_new(&folder.join(name), bytes)?;
    }
    let manifest = Manifest::new(name, &files);
    let manifest = encode("list the files of", serde_json::to_vec_pretty(&manifest))?;
    fs::write_new(&folder.join(MANIFEST), &manifest)?;
    fs::sync_dir(folder)
}

fn remove_dir(path: &Path) -> Result<(), IoError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(IoError::at("remove", path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
