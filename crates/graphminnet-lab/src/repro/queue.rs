//! The training queue: a list of runs, how far each of them is, and how long all of them will take.
//!
//! ```toml
//! [[run]]
//! name = "molhiv-degrees"                # its folder in the directory of the queue
//! recipe = "molhiv"
//! system = "graphminnet"                 # this one by default
//! set = ["model.degree_scaling=true"]    # as with `train --set`
//! seeds = [0, 1]                         # seed 0 by default
//! ```
//!
//! PATTERN and CLUSTER also take `graphs`, the number of graphs to generate in place of the published data.
//!
//! Nothing but the runs themselves is stored: a queue that is started again finds by them what is left to do.

use super::{ReproError, systems};
use graphminnet::config::{Override, Recipe, with_overrides};
use graphminnet::train::{EpochRecord, RunFile, Summary, TrainError};
use serde::Deserialize;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Recipes whose data can be generated.
pub const GENERATED: [&str; 2] = ["pattern", "cluster"];

/// Epochs whose mean says how long the next one takes.
const RECENT: usize = 5;

/// A list of runs, in the order in which they are started.
#[derive(Debug, Clone, PartialEq)]
pub struct Queue {
    /// The runs.
    pub runs: Vec<QueuedRun>,
}

/// One run of a queue, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct QueuedRun {
    /// Its name, and that of its folder.
    pub name: String,
    /// The recipe with everything replaced that the system and the entry ask for.
    pub recipe: Recipe,
    /// What is replaced.
    pub changes: Vec<Override>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Number of graphs to generate in place of the published data.
    pub graphs: Option<usize>,
}

/// How far a run is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Epochs that are done, over all seeds.
    pub done: usize,
    /// Epochs of all seeds.
    pub epochs: usize,
    /// Seconds that an epoch took of late; `None` before the first.
    pub seconds_per_epoch: Option<f64>,
    /// The results, once every seed has one.
    pub summary: Option<Summary>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "run")]
    runs: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    recipe: String,
    #[serde(default = "graphminnet")]
    system: String,
    #[serde(default)]
    set: Vec<String>,
    #[serde(default = "seed_zero")]
    seeds: Vec<u64>,
    graphs: Option<usize>,
}

fn graphminnet() -> String {
    "graphminnet".to_owned()
}

fn seed_zero() -> Vec<u64> {
    vec![0]
}

impl Queue {
    /// Reads a list and checks every entry of it, so that a mistake in the last one does not wait for days.
    ///
    /// # Errors
    ///
    /// [`ReproError::Usage`] with the entry that cannot be used, and why.
    pub fn parse(text: &str) -> Result<Self, ReproError> {
        let file: File = toml::from_str(text)
            .map_err(|error| ReproError::Usage(format!("not a training queue: {}", error.message())))?;
        let mut names = BTreeSet::new();
        let mut runs = Vec::with_capacity(file.runs.len());
        for entry in file.runs {
            let name = entry.name.clone();
            let wrong = |reason: String| {
                ReproError::Usage(format!("run `{}` of the queue: {reason}", name.escape_debug()))
            };
            if !names.insert(entry.name.clone()) {
                return Err(wrong("another one has the same name".to_owned()));
            }
            runs.push(entry.check().map_err(wrong)?);
        }
        match runs.is_empty() {
            true => Err(ReproError::Usage("the queue lists no [[run]]".to_owned())),
            false => Ok(Self { runs }),
        }
    }
}

impl Entry {
    fn check(self) -> Result<QueuedRun, String> {
        let plain =
            |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
        if self.name.is_empty() || self.name.starts_with('.') || !self.name.chars().all(plain) {
            return Err(
                "a name is made of letters, digits, `-`, `_` and `.`, and does not begin with a dot".into()
            );
        }
        // What else is in the directory of a queue.
        if ["pause", "lock", "graphminnet"].contains(&self.name.as_str()) || self.name.ends_with(".log") {
            return Err("the queue has a file of this name; choose another one".into());
        }
        let distinct: BTreeSet<u64> = self.seeds.iter().copied().collect();
        if self.seeds.is_empty() || distinct.len() != self.seeds.len() {
            return Err("seeds: expected at least one, and each of them once".into());
        }
        if self.graphs.is_some() && !GENERATED.contains(&self.recipe.as_str()) {
            return Err(format!("graphs: only {} can be generated", GENERATED.join(" and ")));
        }
        let text = |error: ReproError| error.to_string();
        let recipe = Recipe::named(&self.recipe).map_err(|error| error.to_string())?;
        let mut changes = systems::changes(&self.system, &recipe).map_err(text)?;
        for set in &self.set {
            changes.push(Override::parse(set).map_err(|error| error.to_string())?);
        }
        let table = Recipe::table(&self.recipe).map_err(|error| error.to_string())?;
        let recipe = with_overrides(&self.recipe, table, &changes).map_err(|error| error.to_string())?;
        Ok(QueuedRun { name: self.name, recipe, changes, seeds: self.seeds, graphs: self.graphs })
    }
}

impl QueuedRun {
    /// The directory of the run in that of the queue.
    pub fn folder(&self, queue: &Path) -> PathBuf {
        queue.join(&self.name)
    }

    /// How far the run is; it may be in use.
    ///
    /// # Errors
    ///
    /// [`ReproError::Train`] if what it wrote cannot be read.
    pub fn progress(&self, queue: &Path) -> Result<Progress, ReproError> {
        let folder = self.folder(queue);
        let epochs = self.recipe.train.epochs * self.seeds.len();
        let file = match RunFile::read(&folder) {
            Ok(file) => file,
            Err(TrainError::NoRun { .. }) => {
                return Ok(Progress { done: 0, epochs, seconds_per_epoch: None, summary: None });
            }
            Err(error) => return Err(error.into()),
        };
        let (mut done, mut seconds) = (0, Vec::new());
        for seed in &self.seeds {
            for record in EpochRecord::read(&folder.join(format!("seed-{seed}")))? {
                if let EpochRecord::Train(record) = record {
                    done += 1;
                    seconds.push(record.seconds);
                }
            }
        }
        let recent = &seconds[seconds.len().saturating_sub(RECENT)..];
        let seconds_per_epoch =
            (!recent.is_empty()).then(|| recent.iter().sum::<f64>() / recent.len() as f64);
        let finished = file.summary(&folder)?;
        let all = |summary: &Summary| {
            self.seeds.iter().all(|seed| summary.seeds.iter().any(|result| result.seed == *seed))
        };
        Ok(Progress { done, epochs, seconds_per_epoch, summary: finished.filter(all) })
    }
}

impl Progress {
    /// Seconds that are left, at the speed of the last epochs; `None` where none was trained yet.
    pub fn seconds_left(&self) -> Option<f64> {
        if self.summary.is_some() {
            return Some(0.0);
        }
        Some(self.seconds_per_epoch? * self.epochs.saturating_sub(self.done) as f64)
    }
}

/// Seconds until the last of these runs is done, `jobs` of them at a time, each started when another ends. Runs of which
/// nothing is known count as nothing: the number of them comes second.
pub fn seconds_left(runs: &[Progress], jobs: usize) -> (f64, usize) {
    let mut free = std::collections::BinaryHeap::from(vec![Reverse(0u64); jobs.max(1)]);
    let mut unknown = 0;
    for run in runs {
        let Some(left) = run.seconds_left() else {
            unknown += 1;
            continue;
        };
        let Reverse(start) = free.pop().unwrap_or(Reverse(0));
        free.push(Reverse(start + left as u64));
    }
    (free.into_iter().map(|Reverse(end)| end).max().unwrap_or(0) as f64, unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_becomes_the_recipe_of_its_system_with_its_changes() {
        let queue = Queue::parse(
            "[[run]]\nname = \"a\"\nrecipe = \"zinc\"\n\
             [[run]]\nname = \"b\"\nrecipe = \"zinc\"\nsystem = \"gatedgcn\"\nset = [\"train.epochs=7\"]\nseeds = [0, 3]\n",
        )
        .unwrap();
        assert_eq!(queue.runs[0].recipe, Recipe::named("zinc").unwrap());
        assert_eq!(queue.runs[0].seeds, [0]);
        let second = &queue.runs[1];
        assert_eq!((second.recipe.train.epochs, second.seeds.as_slice()), (7, [0, 3].as_slice()));
        let words: Vec<String> = second.changes.iter().map(ToString::to_string).collect();
        assert!(words.iter().any(|word| word.starts_with("model.global=")), "{words:?}");
        let fresh = second.progress(Path::new("/nowhere")).unwrap();
        assert_eq!((fresh.done, fresh.epochs, fresh.seconds_left()), (0, 14, None));
    }

    #[test]
    fn a_mistake_is_named_with_its_run() {
        for (text, expected) in [
            ("", "no [[run]]"),
            ("[[run]]\nname = \"a\"\n", "missing field `recipe`"),
            ("[[run]]\nname = \"a\"\nrecipe = \"zinc\"\nseed = 1\n", "unknown field `seed`"),
            ("[[run]]\nname = \"../a\"\nrecipe = \"zinc\"\n", "run `../a` of the queue: a name is made of"),
            ("[[run]]\nname = \"a\"\nrecipe = \"zink\"\n", "there is no recipe `zink`"),
            ("[[run]]\nname = \"a\"\nrecipe = \"zinc\"\nsystem = \"x\"\n", "`x` is not known"),
            ("[[run]]\nname = \"a\"\nrecipe = \"zinc\"\nseeds = [1, 1]\n", "each of them once"),
            ("[[run]]\nname = \"a\"\nrecipe = \"zinc\"\nset = [\"train.epoch=1\"]\n", "train.epochs"),
            ("[[run]]\nname = \"a\"\nrecipe = \"zinc\"\ngraphs = 5\n", "only pattern and cluster"),
        ] {
            let error = Queue::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let twice = "[[run]]\nname = \"a\"\nrecipe = \"zinc\"\n".repeat(2);
        assert!(Queue::parse(&twice).unwrap_err().to_string().contains("the same name"));
    }

    #[test]
    fn the_time_left_is_that_of_the_longest_chain_of_runs() {
        let run = |done, seconds_per_epoch| Progress { done, epochs: 10, seconds_per_epoch, summary: None };
        let runs = [run(0, Some(10.0)), run(5, Some(4.0)), run(0, Some(3.0)), run(0, None)];
        assert_eq!(seconds_left(&runs, 1), (150.0, 1));
        // 100 s beside 20 s and then 30 s.
        assert_eq!(seconds_left(&runs, 2), (100.0, 1));
        assert_eq!(seconds_left(&[], 2), (0.0, 0));
    }
}
