//! How a model is trained: the protocol's numbers.

use super::choices::{Loss, MetricKind};
use super::{ConfigError, keys};
use serde::{Deserialize, Serialize};

/// The training protocol.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `epochs` | 100 | length of the schedule | ≥ 1 |
/// | `warmup` | 5 | epochs of linear warm-up before the cosine | < epochs |
/// | `batch_size` | 32 | graphs per batch | ≥ 1 |
/// | `learning_rate` | 0.001 | base rate of AdamW | > 0 |
/// | `weight_decay` | 1e-5 | decoupled decay of all parameters | ≥ 0 |
/// | `clip_norm` | 1 | largest global gradient norm | > 0 |
/// | `loss`, `metric` | l1, mae | what is minimised, what is reported | |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainConfig {
    /// Length of the schedule in epochs.
    pub epochs: usize,
    /// Epochs of linear warm-up.
    pub warmup: usize,
    /// Graphs per batch.
    pub batch_size: usize,
    /// Base learning rate.
    pub learning_rate: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// Largest global gradient norm.
    pub clip_norm: f64,
    /// What is minimised.
    pub loss: Loss,
    /// What is reported and selected by.
    pub metric: MetricKind,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            epochs: 100,
            warmup: 5,
            batch_size: 32,
            learning_rate: 1e-3,
            weight_decay: 1e-5,
            clip_norm: 1.0,
            loss: Loss::L1,
            metric: MetricKind::MeanAbsoluteError,
        }
    }
}

impl TrainConfig {
    /// Reads the `[train]` section of a configuration.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for an unknown key, a bad value or a value out of range.
    pub fn from_table(table: &toml::Table) -> Result<Self, ConfigError> {
        let config: Self = keys::read_section("train", table, &Self::default())?;
        config.check()?;
        Ok(config)
    }

    /// Fails if a value is out of range.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Invalid`], naming the key, its value and what is expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        let finite = |value: f64| value.is_finite();
        let rules = [
            (self.epochs >= 1, "epochs", self.epochs.to_string(), "must be at least 1"),
            (self.warmup < self.epochs, "warmup", self.warmup.to_string(), "must be smaller than epochs"),
            (self.batch_size >= 1, "batch_size", self.batch_size.to_string(), "must be at least 1"),
            (
                finite(self.learning_rate) && self.learning_rate > 0.0,
                "learning_rate",
                self.learning_rate.to_string(),
                "must be a positive number",
            ),
            (
                finite(self.weight_decay) && self.weight_decay >= 0.0,
                "weight_decay",
                self.weight_decay.to_string(),
                "must not be negative",
            ),
            (
                finite(self.clip_norm) && self.clip_norm > 0.0,
                "clip_norm",
                self.clip_norm.to_string(),
                "must be a positive number",
            ),
        ];
        match rules.into_iter().find(|(holds, ..)| !holds) {
            None => Ok(()),
            Some((_, key, value, expected)) => {
                Err(ConfigError::Invalid { key: keys::path("train", key), value, expected: expected.into() })
            }
        }
    }
}
