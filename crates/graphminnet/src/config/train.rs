//! How a model is trained: the protocol's numbers.

use super::choices::{Loss, MetricKind, NormEstimates, TargetScaling};
use super::{ConfigError, keys};
use serde::{Deserialize, Serialize};

/// The training protocol.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `epochs` | 100 | length of the schedule | ≥ 1 |
/// | `warmup` | 5 | epochs of linear warm-up before the cosine | < epochs |
/// | `batch_size` | 32 | most graphs per batch | ≥ 1 |
/// | `max_nodes` | unset | most nodes per batch; a larger graph is a batch of its own | ≥ 1 |
/// | `accumulate` | 1 | batches whose gradients are averaged for one step | ≥ 1 |
/// | `learning_rate` | 0.001 | base rate of AdamW | > 0 |
/// | `weight_decay` | 1e-5 | decoupled decay of all parameters | ≥ 0 |
/// | `clip_norm` | 1 | largest global gradient norm | > 0 |
/// | `recompute_layers` | unset | layers that the backward pass computes again at a time; unset keeps what they computed: more memory, less time, same results | ≥ 1 |
/// | `average_decay` | 0 | share of the averaged weights that a step keeps; they are evaluated and kept in place of the weights themselves; 0 does not average | 0 to 1, 1 excluded |
/// | `loss`, `metric` | l1, mae | what is minimised, what is reported and selected by | |
/// | `target_scaling` | none | standardise regression targets over the training part | none, standard |
/// | `negatives` | 0 | pairs without a link that an epoch draws for every link that it is asked about (link prediction); 0 takes the pairs of the data as they are | at most 1,000 |
/// | `norm_estimates` | running | what the batch norms of an evaluated or stored model subtract and divide by: estimates that followed training, or such as are measured again with the weights as they are | running, recomputed |
/// | `patience` | unset | epochs without a better validation metric before stopping early | ≥ 1 |
/// | `checkpoint_seconds` | 60 | longest time between two saved states | ≥ 0 |
/// | `checkpoint_steps` | unset | most steps between two saved states | ≥ 1 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default = "TrainConfig::baseline", deny_unknown_fields)]
pub struct TrainConfig {
    /// Length of the schedule in epochs.
    pub epochs: usize,
    /// Epochs of linear warm-up.
    pub warmup: usize,
    /// Most graphs per batch.
    pub batch_size: usize,
    /// Most nodes per batch.
    pub max_nodes: Option<usize>,
    /// Batches whose gradients are averaged for one step.
    pub accumulate: usize,
    /// Base learning rate.
    pub learning_rate: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// Largest global gradient norm.
    pub clip_norm: f64,
    /// Layers that the backward pass computes again at a time, instead of keeping what they computed: the memory of
    /// a large batch or graph shrinks several times, a step takes up to about 1.7 times as long, and the results
    /// are the same.
    pub recompute_layers: Option<usize>,
    /// Share of the averaged weights that a step keeps, the rest being the step's weights; 0 does not average.
    pub average_decay: f64,
    /// What is minimised.
    pub loss: Loss,
    /// What is reported and selected by.
    pub metric: MetricKind,
    /// How regression targets are scaled for the loss.
    pub target_scaling: TargetScaling,
    /// Pairs without a link that every epoch draws for each link of the training part.
    pub negatives: usize,
    /// What the batch norms of an evaluated or stored model subtract and divide by.
    pub norm_estimates: NormEstimates,
    /// Epochs without improvement before stopping early.
    pub patience: Option<usize>,
    /// Longest time between two saved states.
    pub checkpoint_seconds: f64,
    /// Most steps between two saved states.
    pub checkpoint_steps: Option<u64>,
}

/// Most pairs that are drawn for a link.
const MOST_NEGATIVES: usize = 1_000;

impl Default for TrainConfig {
    fn default() -> Self {
        Self::baseline()
    }
}

impl TrainConfig {
    /// What a stored configuration means where it does not name a key.
    ///
    /// Frozen: a key that is added here has the value that means what was done before it existed. Another default for
    /// new configurations belongs into [`TrainConfig::default`].
    pub(crate) fn baseline() -> Self {
        Self {
            epochs: 100,
            warmup: 5,
            batch_size: 32,
            max_nodes: None,
            accumulate: 1,
            learning_rate: 1e-3,
            weight_decay: 1e-5,
            clip_norm: 1.0,
            recompute_layers: None,
            average_decay: 0.0,
            loss: Loss::L1,
            metric: MetricKind::MeanAbsoluteError,
            target_scaling: TargetScaling::None,
            negatives: 0,
            norm_estimates: NormEstimates::Running,
            patience: None,
            checkpoint_seconds: 60.0,
            checkpoint_steps: None,
        }
    }

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
        const ONE: &str = "must be at least 1";
        let not_negative = |value: f64| value.is_finite() && value >= 0.0;
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let regression = self.loss.is_regression();
        let count = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        let as_u64 = |value: Option<usize>| value.map(|value| value as u64);
        let rules = [
            (self.epochs >= 1, "epochs", self.epochs.to_string(), ONE),
            (self.warmup < self.epochs, "warmup", self.warmup.to_string(), "must be smaller than epochs"),
            (self.batch_size >= 1, "batch_size", self.batch_size.to_string(), ONE),
            (self.max_nodes != Some(0), "max_nodes", count(as_u64(self.max_nodes)), ONE),
            (self.accumulate >= 1, "accumulate", self.accumulate.to_string(), ONE),
            (
                positive(self.learning_rate),
                "learning_rate",
                self.learning_rate.to_string(),
                "must be a positive number",
            ),
            (
                not_negative(self.weight_decay),
                "weight_decay",
                self.weight_decay.to_string(),
                "must not be negative",
            ),
            (positive(self.clip_norm), "clip_norm", self.clip_norm.to_string(), "must be a positive number"),
            (self.recompute_layers != Some(0), "recompute_layers", count(as_u64(self.recompute_layers)), ONE),
            (
                (0.0..1.0).contains(&self.average_decay),
                "average_decay",
                self.average_decay.to_string(),
                "must be at least 0 and less than 1",
            ),
            (
                regression == self.metric.is_regression(),
                "metric",
                self.metric.to_string(),
                "mae and rmse go with the losses l1, mse and huber, the other metrics with those of classes",
            ),
            (
                regression || self.target_scaling == TargetScaling::None,
                "target_scaling",
                self.target_scaling.to_string(),
                "only regression targets can be scaled",
            ),
            (
                self.negatives <= MOST_NEGATIVES && (self.negatives == 0 || !regression),
                "negatives",
                self.negatives.to_string(),
                "must be at most 1000, and goes with losses of classes",
            ),
            (self.patience != Some(0), "patience", count(as_u64(self.patience)), ONE),
            (
                not_negative(self.checkpoint_seconds),
                "checkpoint_seconds",
                self.checkpoint_seconds.to_string(),
                "must not be negative",
            ),
            (self.checkpoint_steps != Some(0), "checkpoint_steps", count(self.checkpoint_steps), ONE),
        ];
        match rules.into_iter().find(|(holds, ..)| !holds) {
            None => Ok(()),
            Some((_, key, value, expected)) => {
                Err(ConfigError::Invalid { key: keys::path("train", key), value, expected: expected.into() })
            }
        }
    }
}
