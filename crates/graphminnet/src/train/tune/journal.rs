//! The candidates of a search that have come to an end, one line of a file each.

use crate::config::MetricKind;
use crate::task::metric::larger_is_better;
use crate::train::log::GrowingFile;
use crate::train::run::{read_json, write_json};
use crate::train::{DataSource, TrainError};
use graphminnet_data::fs;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What a search is about, `search.json`: a directory is only resumed by the same search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchFile {
    /// Where the data comes from.
    pub data: DataSource,
    /// Fields that are replaced for all candidates.
    pub set: Vec<String>,
    /// What is searched, see [`Search::describe`](super::Search::describe).
    pub search: Value,
}

impl SearchFile {
    /// Whether one search can resume the other; how much memory reading may take does not matter.
    fn is_same_as(&self, other: &Self) -> bool {
        self.data.is_same_as(&other.data) && self.set == other.set && self.search == other.search
    }

    /// What one says otherwise than the other, with the names of the keys.
    fn differences(&self, other: &Self) -> [String; 2] {
        let mut found = [Vec::new(), Vec::new()];
        let value = |search: &Self| serde_json::to_value(search).unwrap_or_default();
        differing("", &value(self), &value(other), &mut found);
        found.map(|found| found.join(", "))
    }
}

fn differing(name: &str, before: &Value, now: &Value, found: &mut [Vec<String>; 2]) {
    if let (Value::Object(earlier), Value::Object(later)) = (before, now) {
        let keys: BTreeSet<&String> = earlier.keys().chain(later.keys()).collect();
        for key in keys.into_iter().filter(|key| earlier.get(*key) != later.get(*key)) {
            let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
            let of = |object: &serde_json::Map<String, Value>| object.get(key).cloned().unwrap_or_default();
            differing(&name, &of(earlier), &of(later), found);
        }
    } else {
        for (found, value) in found.iter_mut().zip([before, now]) {
            found.push(format!("{name} {value}"));
        }
    }
}

/// How a candidate ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TrialEnd {
    /// Its schedule is done.
    Finished,
    /// Given up by the median rule.
    Stopped,
    /// It could not be trained.
    Failed {
        /// Why.
        reason: String,
    },
}

/// A candidate that has come to an end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Its number, from 0.
    pub number: usize,
    /// Its fields.
    pub fields: Vec<String>,
    /// How it ended.
    pub end: TrialEnd,
    /// Best validation metric.
    pub valid: Option<f64>,
    /// Earlier versions wrote the test metric down. It is read and not used: who looks at it chooses by it.
    #[serde(default, skip_serializing)]
    test: Option<f64>,
    /// Best validation metric after every epoch.
    pub history: Vec<f64>,
}

impl Trial {
    /// A candidate that was trained.
    pub(super) fn trained(
        number: usize,
        fields: Vec<String>,
        end: TrialEnd,
        valid: Option<f64>,
        history: Vec<f64>,
    ) -> Self {
        Self { number, fields, end, valid, test: None, history }
    }

    /// A candidate that could not be trained.
    pub fn failed(number: usize, fields: Vec<String>, reason: String) -> Self {
        Self {
            number,
            fields,
            end: TrialEnd::Failed { reason },
            valid: None,
            test: None,
            history: Vec::new(),
        }
    }
}

/// The candidates that have come to an end, in a file.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: GrowingFile,
    trials: Vec<Trial>,
}

impl Journal {
    /// Opens the journal of a search, or starts it.
    ///
    /// # Errors
    ///
    /// [`TrainError::Changed`] if the directory belongs to another search, [`TrainError`] for what is wrong with it.
    pub fn open(path: &Path, search: &SearchFile) -> Result<Self, TrainError> {
        fs::create_dir(path)?;
        let (about, journal) = (path.join("search.json"), path.join("journal.jsonl"));
        match read_json::<SearchFile>(&about) {
            Ok(recorded) if recorded.is_same_as(search) => {}
            Ok(recorded) => {
                let [before, now] = recorded.differences(search);
                return Err(TrainError::Changed { what: "the search", before, now });
            }
            Err(TrainError::Io(error)) if error.is_not_found() => write_json(&about, search)?,
            Err(error) => return Err(error),
        }
        let text = match fs::read(&journal) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.is_not_found() => String::new(),
            Err(error) => return Err(error.into()),
        };
        let (mut trials, mut length) = (Vec::new(), 0u64);
        // A last line that is not whole was being written when the process ended; its candidate is found finished and
        // written again.
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let damaged = |reason: String| TrainError::Damaged { path: journal.clone(), reason };
            let trial: Trial = serde_json::from_str(line)
                .map_err(|error| damaged(format!("line {}: {error}", trials.len() + 1)))?;
            if trial.number != trials.len() {
                return Err(damaged(format!("candidate {} where {} belongs", trial.number, trials.len())));
            }
            trials.push(trial);
            length += line.len() as u64;
        }
        Ok(Self { path: path.to_owned(), file: GrowingFile::open(&journal, length)?, trials })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The candidates so far.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// Adds a candidate.
    ///
    /// # Errors
    ///
    /// [`TrainError::Io`].
    pub fn add(&mut self, trial: Trial) -> Result<(), TrainError> {
        let line = serde_json::to_string(&trial)
            .map_err(|error| TrainError::Damaged { path: self.path.clone(), reason: error.to_string() })?;
        self.file.append(format!("{line}\n").as_bytes())?;
        self.file.sync()?;
        self.trials.push(trial);
        Ok(())
    }

    /// The candidates, best first.
    pub fn ranked(&self, metric: MetricKind) -> Vec<&Trial> {
        let mut ranked: Vec<&Trial> = self.trials.iter().collect();
        let worst = if larger_is_better(metric) { f64::MIN } else { f64::MAX };
        let key = |trial: &Trial| trial.valid.unwrap_or(worst);
        ranked.sort_by(|a, b| match larger_is_better(metric) {
            true => key(b).total_cmp(&key(a)),
            false => key(a).total_cmp(&key(b)),
        });
        ranked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_forgets_a_line_that_was_cut_and_refuses_another_search() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataSource::Given { edges: None };
        let search = |seed: u64| SearchFile {
            data: data.clone(),
            set: vec!["train.epochs=3".into()],
            search: serde_json::json!({ "seed": seed }),
        };
        let identity = search(0);
        let mut journal = Journal::open(folder.path(), &identity).unwrap();
        journal.add(Trial::failed(0, vec![], "first".into())).unwrap();
        journal.add(Trial::failed(1, vec![], "second".into())).unwrap();
        drop(journal);
        let path = folder.path().join("journal.jsonl");
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
        assert_eq!(Journal::open(folder.path(), &identity).unwrap().trials().len(), 1);
        let other = Journal::open(folder.path(), &search(1));
        let Err(TrainError::Changed { before, now, .. }) = other else { panic!("{other:?}") };
        assert_eq!([before, now], ["search.seed 0", "search.seed 1"]);
        // A line that is whole and makes no sense is not thrown away.
        std::fs::write(
            &path,
            bytes.iter().copied().chain(*b"{\"number\":2,\"new\":1}\n").collect::<Vec<_>>(),
        )
        .unwrap();
        let error = Journal::open(folder.path(), &identity).unwrap_err().to_string();
        assert!(error.contains("line 3") && error.contains("`new`"), "{error}");
    }
}
