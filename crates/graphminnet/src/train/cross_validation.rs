//! Cross-validation: the same training on several splits of the same data, each a run of its own.
//!
//! A single split of a small data set says little: which molecules happen to be in its test part moves a result by more
//! than most settings do.

use super::run::write_json;
use super::source::{DataSource, FoldBy, SplitChoice};
use super::{MeanStd, RunSpec, Summary, TrainError};
use crate::config::MetricKind;
use graphminnet_data::split::GroupBy;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// How many splits, and how they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// So many folds: every graph is in one test part.
    Folds(usize),
    /// So many splits of 80/10/10, each with a seed of its own.
    Replicates(usize),
}

impl Rounds {
    /// The splits by name, for folds that are made in this way.
    pub fn splits(self, by: FoldBy, seed: u64) -> Vec<(String, SplitChoice)> {
        let width = |count: usize| count.to_string().len();
        match self {
            Self::Folds(folds) => (0..folds)
                .map(|fold| {
                    let name = format!("fold-{:0width$}", fold + 1, width = width(folds));
                    (name, SplitChoice::Fold { by, folds, fold, seed })
                })
                .collect(),
            Self::Replicates(count) => (0..count)
                .map(|at| {
                    let seed = seed.wrapping_add(at as u64);
                    let split = match by {
                        FoldBy::Random => SplitChoice::Random { seed },
                        FoldBy::Stratified => SplitChoice::Stratified { seed },
                        FoldBy::Groups(by) => SplitChoice::Groups { by, seed },
                    };
                    (format!("split-{:0width$}", at + 1, width = width(count)), split)
                })
                .collect(),
        }
    }
}

impl RunSpec {
    /// The same run on another split of its data. Data in memory is split before it is given to the run.
    #[must_use]
    pub fn on_split(&self, split: &SplitChoice) -> Self {
        let mut spec = self.clone();
        if let DataSource::File { split: own, .. } = &mut spec.source {
            *own = split.clone();
        }
        spec
    }
}

impl std::str::FromStr for FoldBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "random" => Ok(Self::Random),
            "stratified" => Ok(Self::Stratified),
            "scaffold" => Ok(Self::Groups(GroupBy::Scaffold)),
            "kmeans" => Ok(Self::Groups(GroupBy::Fingerprint)),
            _ => Err("expected random, stratified, scaffold or kmeans".to_owned()),
        }
    }
}

/// The result of one split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundResult {
    /// Its name, which is that of its run's folder.
    pub name: String,
    /// Test metric of every seed.
    pub test: Option<MeanStd>,
    /// Validation metric of every seed.
    pub valid: Option<MeanStd>,
    /// Test metric of the seeds' models together, where there are several.
    pub ensemble: Option<f64>,
    /// Wall-clock seconds of all seeds.
    pub seconds: f64,
}

/// What cross-validation comes down to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossValidation {
    /// The metric.
    pub metric: MetricKind,
    /// Test metric over all trainings: every seed of every split.
    pub test: Option<MeanStd>,
    /// Validation metric over all trainings.
    pub valid: Option<MeanStd>,
    /// Test metric of the models of a split together, over the splits.
    pub ensemble: Option<MeanStd>,
    /// The splits.
    pub rounds: Vec<RoundResult>,
}

impl CrossValidation {
    /// Writes the result beside the runs, as `cross-validation.json`.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if the folder cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), TrainError> {
        write_json(&folder.join("cross-validation.json"), self)
    }

    /// Puts the runs of all splits together.
    pub fn new(metric: MetricKind, runs: &[(String, Summary)]) -> Self {
        let seeds = || runs.iter().flat_map(|(_, summary)| &summary.seeds);
        let over = |values: Vec<f64>| MeanStd::of(&values);
        let rounds = runs.iter().map(|(name, summary)| RoundResult {
            name: name.clone(),
            test: summary.test,
            valid: summary.valid,
            ensemble: summary.ensemble.as_ref().and_then(|ensemble| ensemble.test),
            seconds: summary.seconds,
        });
        let rounds: Vec<RoundResult> = rounds.collect();
        Self {
            metric,
            test: over(seeds().filter_map(|seed| seed.best.test).collect()),
            valid: over(seeds().filter_map(|seed| seed.best.valid).collect()),
            ensemble: over(rounds.iter().filter_map(|round| round.ensemble).collect()),
            rounds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_have_names_in_order_and_splits_that_differ() {
        let names = |rounds: Rounds| {
            rounds.splits(FoldBy::Random, 0).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(names(Rounds::Folds(3)), ["fold-1", "fold-2", "fold-3"]);
        assert_eq!(names(Rounds::Replicates(10))[8..], ["split-09", "split-10"]);
        let scaffolds = FoldBy::Groups(GroupBy::Scaffold);
        assert_eq!(
            Rounds::Replicates(2).splits(scaffolds, 7)[1].1,
            SplitChoice::Groups { by: GroupBy::Scaffold, seed: 8 }
        );
        assert_eq!(
            Rounds::Folds(4).splits(scaffolds, 7)[1].1,
            SplitChoice::Fold { by: scaffolds, folds: 4, fold: 1, seed: 7 }
        );
    }
}
