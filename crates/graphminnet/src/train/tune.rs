//! Random search with median stopping.
//!
//! Candidate `n` is a pure function of the search's seed and `n`. A candidate whose best validation metric so far is
//! worse than the median of what the earlier candidates had reached by the same epoch is stopped (Golovin et al.
//! 2017). Every candidate that has come to an end is one line of `journal.jsonl`; the one that was running when the
//! process ended resumes from its saved state. A candidate is a run like any other.

mod journal;

pub use journal::{Journal, SearchFile, Trial, TrialEnd};

use super::event::{Observer, TrainEvent};
use super::metrics::{EpochRecord, METRICS};
use super::{Resources, Run, RunOutcome, RunSpec, SeedDir, TrainError, TrainingData};
use crate::config::{ConfigError, MetricKind, Override};
use crate::task::metric::{is_better, larger_is_better};
use graphminnet_data::{fs, rng};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use toml::Value;

/// Where a field is searched.
#[derive(Debug, Clone, PartialEq)]
enum Range {
    Integers(i64, i64),
    Numbers(f64, f64),
    Logarithmic(f64, f64),
    Choices(Vec<Value>),
}

/// What is searched and when a candidate is given up.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    seed: u64,
    fields: Vec<(String, String, Range, String)>,
    /// Candidates that are never stopped, at the beginning.
    pub grace_trials: usize,
    /// Epochs before a candidate may be stopped.
    pub grace_epochs: usize,
}

impl Search {
    /// A search over nothing yet.
    pub fn new(seed: u64) -> Self {
        Self { seed, fields: Vec::new(), grace_trials: 3, grace_epochs: 2 }
    }

    /// Adds a field: `section.key=a..b`, `section.key=log:a..b` or `section.key=[a,b,c]`.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the field does not exist or the range has another form.
    pub fn add(&mut self, text: &str) -> Result<(), ConfigError> {
        let wrong = |expected: &str| ConfigError::BadValue {
            key: text.escape_debug().to_string(),
            message: format!("expected {expected}"),
        };
        let (path, range) = text.split_once('=').ok_or_else(|| wrong("field=range"))?;
        // Checks that the field exists.
        let field = Override::parse(&format!("{path}=0"))?.path();
        let (section, key) = field.split_once('.').ok_or_else(|| wrong("section.key=range"))?;
        let parsed = read_range(range.trim()).ok_or_else(|| {
            wrong("a..b with a < b, log:a..b with 0 < a < b, or a list such as [gatedgcn,gine]")
        })?;
        if self.fields.iter().any(|(known, name, ..)| known == section && name == key) {
            return Err(wrong("every field once"));
        }
        self.fields.push((section.to_owned(), key.to_owned(), parsed, text.to_owned()));
        Ok(())
    }

    /// The fields of a candidate.
    pub fn candidate(&self, number: usize) -> Vec<Override> {
        let choose = |at: usize, range: &Range| {
            let mut random = rng::stream(self.seed, "tune", &[number as u64, at as u64]);
            match range {
                Range::Integers(low, high) => {
                    Value::Integer(low + random.below((high - low + 1) as usize) as i64)
                }
                Range::Numbers(low, high) => {
                    Value::Float(round(low + (high - low) * random.uniform(), *low..*high))
                }
                Range::Logarithmic(low, high) => {
                    let (from, to) = (low.ln(), high.ln());
                    Value::Float(round((from + (to - from) * random.uniform()).exp(), *low..*high))
                }
                Range::Choices(choices) => choices[random.below(choices.len())].clone(),
            }
        };
        let fields = self.fields.iter().enumerate();
        fields.map(|(at, (section, key, range, _))| Override::new(section, key, choose(at, range))).collect()
    }

    /// What makes this search this search.
    pub fn describe(&self) -> serde_json::Value {
        serde_json::json!({
            "seed": self.seed,
            "fields": self.fields.iter().map(|(.., text)| text).collect::<Vec<_>>(),
            "grace_trials": self.grace_trials,
            "grace_epochs": self.grace_epochs,
        })
    }

    /// Trains the next candidate of a journal with the search's seed, or resumes it; `None` if interrupted.
    ///
    /// Every candidate is a [`Run`], so it can be looked at and used like any other.
    ///
    /// # Errors
    ///
    /// [`TrainError`].
    pub fn run(
        &self,
        journal: &Journal,
        candidate: &RunSpec,
        data: &TrainingData,
        resources: &Resources,
        interrupt: &AtomicBool,
    ) -> Result<Option<Trial>, TrainError> {
        let number = journal.trials().len();
        let spec = RunSpec { seeds: vec![self.seed], ..candidate.clone() };
        let path = journal.path().join(format!("candidate-{number:04}"));
        let mut run = open_candidate(&path, &spec, self.seed)?.with_prepared(data.clone());
        let metric = spec.recipe.train.metric;
        let mut judge = Judge {
            metric,
            history: read_history(&run.seed(self.seed), metric)?,
            earlier: journal.trials().iter().map(|trial| trial.history.as_slice()).collect(),
            active: number >= self.grace_trials,
            grace_epochs: self.grace_epochs,
        };
        let (end, best) = match run.train(resources, &mut judge, interrupt)? {
            RunOutcome::Finished(summary) => {
                (TrialEnd::Finished, summary.seeds.into_iter().next().map(|result| result.best))
            }
            RunOutcome::Stopped(best) => (TrialEnd::Stopped, best),
            RunOutcome::Interrupted => return Ok(None),
        };
        let valid = best.and_then(|best| best.valid);
        let fields = self.candidate(number).iter().map(Override::to_string).collect();
        Ok(Some(Trial::trained(number, fields, end, valid, judge.history)))
    }
}

/// The run of a candidate. In earlier versions a candidate lay in its folder without a run around it; one that was
/// under way becomes the seed of its run. A process that ends in between leaves it aside for the next one.
fn open_candidate(path: &Path, spec: &RunSpec, seed: u64) -> Result<Run, TrainError> {
    let aside = path.with_extension("aside");
    if path.join(METRICS).is_file() {
        fs::rename(path, &aside)?;
    }
    let run = Run::open_or_create(path, spec)?;
    if aside.is_dir() {
        fs::rename(&aside, run.seed(seed).path())?;
    }
    Ok(run)
}

fn read_range(text: &str) -> Option<Range> {
    if let Some(list) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        let choices: Vec<Value> =
            list.split(',').map(|choice| crate::config::read_value(choice.trim())).collect();
        return (!list.trim().is_empty()).then_some(Range::Choices(choices));
    }
    let (logarithmic, text) = text.strip_prefix("log:").map_or((false, text), |text| (true, text));
    let (low, high) = text.split_once("..")?;
    if let (false, Ok(low), Ok(high)) = (logarithmic, low.parse::<i64>(), high.parse::<i64>()) {
        // Their number is drawn from, so it must be one.
        let count = high.checked_sub(low).and_then(|count| count.checked_add(1));
        return count.filter(|count| *count > 1).map(|_| Range::Integers(low, high));
    }
    let (low, high) = (low.parse::<f64>().ok()?, high.parse::<f64>().ok()?);
    let valid = low.is_finite() && high.is_finite() && low < high && (!logarithmic || low > 0.0);
    valid.then_some(if logarithmic { Range::Logarithmic(low, high) } else { Range::Numbers(low, high) })
}

/// Four significant digits: enough for a search, and readable.
fn round(value: f64, range: std::ops::Range<f64>) -> f64 {
    format!("{value:.3e}").parse().ok().filter(|rounded| range.contains(rounded)).unwrap_or(value)
}

/// Watches a candidate and gives up on it if it is worse than the median.
struct Judge<'a> {
    metric: MetricKind,
    /// The best validation metric after every epoch.
    history: Vec<f64>,
    earlier: Vec<&'a [f64]>,
    active: bool,
    grace_epochs: usize,
}

impl Observer for Judge<'_> {
    fn event(&mut self, event: &TrainEvent) {
        if let TrainEvent::Epoch(report) = event {
            self.history.truncate(report.epoch);
            let best = better(self.metric, self.history.last().copied(), report.valid);
            self.history.push(best);
        }
    }

    fn should_stop(&self) -> bool {
        let Some((epoch, &best)) = self.history.iter().enumerate().next_back() else { return false };
        if !self.active || epoch + 1 < self.grace_epochs {
            return false;
        }
        let mut reached: Vec<f64> =
            self.earlier.iter().filter_map(|history| history.get(epoch).copied()).collect();
        if reached.is_empty() {
            return false;
        }
        reached.sort_unstable_by(f64::total_cmp);
        let median = reached[reached.len() / 2];
        is_better(self.metric, median, best)
    }
}

/// The better of what there was and what there is; the worst possible value if there is neither.
fn better(metric: MetricKind, before: Option<f64>, now: Option<f64>) -> f64 {
    let worst = if larger_is_better(metric) { f64::MIN } else { f64::MAX };
    let (before, now) = (before.unwrap_or(worst), now.unwrap_or(worst));
    if is_better(metric, now, before) { now } else { before }
}

/// The history of a resumed candidate: from its metrics file, up to what its saved state knows.
fn read_history(directory: &SeedDir, metric: MetricKind) -> Result<Vec<f64>, TrainError> {
    let saved = directory.checkpoints().load().ok().flatten();
    let Some((checkpoint, _)) = saved else { return Ok(Vec::new()) };
    let path = directory.file(METRICS);
    let bytes = fs::read(&path)?;
    let known = bytes.get(..checkpoint.state.metrics_length as usize).unwrap_or(&bytes);
    let mut history: Vec<f64> = Vec::new();
    for record in EpochRecord::parse(known, &path)? {
        if let EpochRecord::Valid(valid) = record {
            history.push(better(metric, history.last().copied(), valid.score.value));
        }
    }
    Ok(history)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_lie_in_their_ranges_and_depend_on_nothing_but_their_number() {
        let mut search = Search::new(1);
        for text in [
            "model.layers=2..4",
            "train.learning_rate=log:1e-4..1e-2",
            "model.drop_res=0.0..0.5",
            "model.local=[gatedgcn,gine]",
        ] {
            search.add(text).unwrap();
        }
        let mut layers = std::collections::BTreeSet::new();
        for number in 0..200 {
            assert_eq!(search.candidate(number), search.candidate(number));
            let shown: Vec<String> = search.candidate(number).iter().map(Override::to_string).collect();
            layers.insert(shown[0].clone());
            let rate: f64 = shown[1].split_once('=').unwrap().1.trim().parse().unwrap();
            assert!((1e-4..=1e-2).contains(&rate), "{rate}");
            assert!(shown[3].contains("gated") || shown[3].contains("gine"));
        }
        assert_eq!(layers.len(), 3);
        for wrong in [
            "layers=2..4",
            "model.layers",
            "model.layers=4..2",
            "train.learning_rate=log:0..1",
            "model.local=[]",
        ] {
            assert!(search.add(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_candidate_below_the_median_is_given_up_after_the_grace_epochs() {
        let (good, bad) = ([0.5, 0.3, 0.2], [0.9, 0.8, 0.8]);
        let mut judge = Judge {
            metric: MetricKind::MeanAbsoluteError,
            history: vec![0.6],
            earlier: vec![&good, &good, &bad],
            active: true,
            grace_epochs: 2,
        };
        assert!(!judge.should_stop());
        judge.history.push(0.6);
        assert!(judge.should_stop());
        judge.history[1] = 0.25;
        assert!(!judge.should_stop());
    }
}
