//! What a run comes down to: one result per seed, and mean ± standard deviation over seeds.

use super::norms::TrainingLoss;
use super::run::EnsembleResult;
use super::state::Best;
use crate::bundle::Coverage;
use crate::config::MetricKind;
use serde::{Deserialize, Serialize};

/// The result of one seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedResult {
    /// The seed.
    pub seed: u64,
    /// The selected epoch.
    pub best: Best,
    /// `best validation metric`, or why the last epoch was taken.
    pub selected_by: String,
    /// Epochs that were run.
    pub epochs: usize,
    /// Whether training stopped before the end of the schedule.
    pub stopped_early: bool,
    /// Optimizer steps.
    pub steps: u64,
    /// Trainable parameters.
    pub parameters: usize,
    /// Evaluations of the validation or test part that gave no value.
    pub undefined_evaluations: usize,
    /// The loss on training graphs as seen in training and in evaluation; earlier versions did not compare them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training_loss: Option<TrainingLoss>,
    /// Wall-clock seconds of training and evaluation.
    pub seconds: f64,
    /// SHA-256 of the selected weights' file.
    pub best_weights_sha256: String,
    /// SHA-256 of the last weights' file.
    pub last_weights_sha256: String,
    /// How often calibrated intervals or sets held the truth on the test part; empty without calibration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<Coverage>,
}

/// Mean and population standard deviation (ddof = 0) of some numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeanStd {
    /// The mean.
    pub mean: f64,
    /// The standard deviation, dividing by the number of values (ddof = 0), as the benchmark's literature does.
    pub population_std: f64,
    /// How many numbers.
    pub count: usize,
}

impl MeanStd {
    /// Over some numbers; `None` over none.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        Some(Self { mean, population_std: variance.sqrt(), count: values.len() })
    }

    /// In other units.
    pub fn scaled(self, factor: f64) -> Self {
        Self { mean: self.mean * factor, population_std: self.population_std * factor.abs(), ..self }
    }

    /// `mean ± standard deviation`, or the mean alone of a single number.
    pub fn printed(&self, decimals: usize) -> String {
        let mean = format!("{:.decimals$}", self.mean);
        if self.count == 1 { mean } else { format!("{mean} ± {:.decimals$}", self.population_std) }
    }
}

/// The result of all seeds of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Version of the program.
    pub version: String,
    /// The metric.
    pub metric: MetricKind,
    /// Test metric at the selected epochs.
    pub test: Option<MeanStd>,
    /// Validation metric at the selected epochs.
    pub valid: Option<MeanStd>,
    /// Largest error of a single validation label at the selected epochs, over all seeds.
    pub worst_valid: Option<f64>,
    /// Trainable parameters.
    pub parameters: usize,
    /// Wall-clock seconds of all seeds.
    pub seconds: f64,
    /// Largest resident memory of the last process that worked on the run.
    pub peak_memory_bytes: Option<u64>,
    /// The seeds.
    pub seeds: Vec<SeedResult>,
    /// How good the models of several seeds are together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ensemble: Option<EnsembleResult>,
}

impl Summary {
    /// Puts the results of some seeds together.
    pub fn new(metric: MetricKind, seeds: Vec<SeedResult>) -> Self {
        let over = |value: fn(&Best) -> Option<f64>| {
            MeanStd::of(&seeds.iter().filter_map(|seed| value(&seed.best)).collect::<Vec<_>>())
        };
        let worst = seeds
            .iter()
            .filter_map(|seed| seed.best.worst_valid)
            .fold(None, |max: Option<f64>, error| Some(max.map_or(error, |max| max.max(error))));
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            metric,
            test: over(|best| best.test),
            valid: over(|best| best.valid),
            worst_valid: worst,
            parameters: seeds.first().map_or(0, |seed| seed.parameters),
            seconds: seeds.iter().map(|seed| seed.seconds).sum(),
            peak_memory_bytes: graphminnet_data::fs::peak_memory(),
            seeds,
            ensemble: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_deviation_is_that_of_the_population() {
        let result = MeanStd::of(&[1.0, 3.0]).unwrap();
        assert_eq!((result.mean, result.population_std, result.count), (2.0, 1.0, 2));
        assert_eq!(MeanStd::of(&[]), None);
    }
}
