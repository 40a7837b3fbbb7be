//! How a model is trained: the protocol's numbers.

use super::choices::{Loss, MetricKind, NormEstimates, PartitionBy, Schedule, ScheduleUnit, TargetScaling};
use super::spread::{self, Spread};
use super::{ConfigError, keys, task_weights};
use graphminnet_data::exchange::Team;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::path::PathBuf;

/// The training protocol.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `epochs` | 100 | length of the schedule | ≥ 1 |
/// | `warmup` | 5 | epochs of linear warm-up | < epochs |
/// | `schedule` | cosine | what becomes of the learning rate after the warm-up | cosine, constant, plateau |
/// | `schedule_unit` | epoch | whether the learning rate changes with every epoch or every step | epoch, step |
/// | `plateau_patience` | 10 | epochs without a better validation metric before `plateau` reduces the rate | ≥ 1 |
/// | `plateau_factor` | 0.5 | what `plateau` multiplies the rate by | between 0 and 1 |
/// | `batch_size` | 32 | most graphs per batch | ≥ 1 |
/// | `max_nodes` | unset | most nodes per batch; a larger graph is a batch of its own | ≥ 1 |
/// | `pieces` | unset | pieces that a graph is cut into for training; a batch is one of them | ≥ 1 |
/// | `parts` | unset | parts that a single graph is cut into; ranks hold some of them each, and train on all of it together | 1 to 181 |
/// | `partition` | order | which nodes belong to which part: as they are numbered, with few edges between parts, or as a file says | order, greedy, or the path of a file |
/// | `eigenpairs` | unset | a folder with the eigenpairs of a single graph, which another program computed: `eigenvalues.npy` and `eigenvectors.npy` | a path |
/// | `accumulate` | 1 | batches whose gradients are averaged for one step | ≥ 1 |
/// | `learning_rate` | 0.001 | base rate of AdamW | > 0 |
/// | `weight_decay` | 1e-5 | decoupled decay of all parameters | ≥ 0 |
/// | `clip_norm` | 1 | largest global gradient norm | > 0 |
/// | `recompute_layers` | unset | layers that the backward pass computes again at a time; unset keeps what they computed: more memory, less time, and the same results but for the last digits | ≥ 1 |
/// | `average_decay` | 0 | share of the averaged weights that a step keeps; they are evaluated and kept in place of the weights themselves; 0 does not average | 0 to 1, 1 excluded |
/// | `loss`, `metric` | l1, mae | what is minimised, what is reported and selected by | |
/// | `focal_gamma` | 2 | exponent of the focal losses | ≥ 0 |
/// | `quantiles` | 0.05, 0.5, 0.95 | quantiles that the quantile loss asks for | ascending numbers between 0 and 1, with 0.5 |
/// | `task_weights` | unset | how much each target column counts in the training loss, scaled to a mean of 1 | a list of numbers ≥ 0, one per target column |
/// | `target_scaling` | none | standardise regression targets over the training part | none, standard |
/// | `negatives` | 0 | pairs without a link that an epoch draws for every link that it is asked about (link prediction); 0 takes the pairs of the data as they are | at most 1,000 |
/// | `norm_estimates` | running | what the batch norms of an evaluated or stored model subtract and divide by: estimates that followed training, or such as are measured again with the weights as they are | running, recomputed |
/// | `patience` | unset | epochs without a better validation metric before stopping early | ≥ 1 |
/// | `checkpoint_seconds` | 60 | longest time between two saved states | ≥ 0 |
/// | `checkpoint_steps` | unset | most steps between two saved states | ≥ 1 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default = "TrainConfig::baseline", deny_unknown_fields)]
pub struct TrainConfig {
    /// Length of the schedule in epochs. If this alone is set, the warm-up is scaled in proportion.
    pub epochs: usize,
    /// Epochs of linear warm-up.
    pub warmup: usize,
    /// What becomes of the learning rate after the warm-up: half a cosine down to zero, nothing, or a reduction whenever
    /// the validation metric stops improving.
    pub schedule: Schedule,
    /// Whether the learning rate changes with every epoch or with every step.
    pub schedule_unit: ScheduleUnit,
    /// Epochs without a better validation metric before `plateau` reduces the learning rate, and again as many before it
    /// does so once more.
    pub plateau_patience: usize,
    /// What `plateau` multiplies the learning rate by.
    pub plateau_factor: f64,
    /// Most graphs per batch.
    pub batch_size: usize,
    /// Most nodes per batch.
    pub max_nodes: Option<usize>,
    /// Pieces that a graph is cut into for training: a step needs the memory of one piece. The block sees the whole graph
    /// all the same; edges between pieces are left out.
    pub pieces: Option<usize>,
    /// Parts that a single graph is cut into. Ranks hold some of the parts each and train on the whole graph together; the
    /// result depends on the parts, not on who holds them.
    pub parts: Option<usize>,
    /// Which nodes belong to which part: as they are numbered (order), chosen in one pass so that few edges are between
    /// parts (greedy), or as a file says that has the part of every node on a line of its own, as METIS writes it.
    pub partition: PartitionBy,
    /// A folder with the eigenpairs of a single graph, which another program computed: `eigenvalues.npy`, ascending, and
    /// `eigenvectors.npy`, a row per node.
    pub eigenpairs: Option<PathBuf>,
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
    /// are the same but for the last digits: gradients that all layers share are summed in another order.
    pub recompute_layers: Option<usize>,
    /// Share of the averaged weights that a step keeps, the rest being the step's weights; 0 does not average.
    pub average_decay: f64,
    /// What is minimised.
    pub loss: Loss,
    /// Exponent of the focal losses: the larger, the less a label counts that the model is sure of.
    pub focal_gamma: f64,
    /// Quantiles that the quantile loss asks for, ascending; predictions are the median, 0.5.
    pub quantiles: Vec<f64>,
    /// What is reported and selected by.
    pub metric: MetricKind,
    /// How much each target column counts in the training loss, scaled to a mean of 1; metrics count them alike.
    pub task_weights: Option<Vec<f64>>,
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
            schedule: Schedule::Cosine,
            schedule_unit: ScheduleUnit::Epoch,
            plateau_patience: 10,
            plateau_factor: 0.5,
            batch_size: 32,
            max_nodes: None,
            pieces: None,
            parts: None,
            partition: PartitionBy::Order,
            eigenpairs: None,
            accumulate: 1,
            learning_rate: 1e-3,
            weight_decay: 1e-5,
            clip_norm: 1.0,
            recompute_layers: None,
            average_decay: 0.0,
            loss: Loss::L1,
            focal_gamma: 2.0,
            quantiles: spread::DEFAULT_QUANTILES.to_vec(),
            metric: MetricKind::MeanAbsoluteError,
            task_weights: None,
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
    /// [`ConfigError`] for an unknown key, a bad value, a value out of range or a key without effect.
    pub fn from_table(table: &toml::Table) -> Result<Self, ConfigError> {
        let config: Self = keys::read_section("train", table, &Self::default())?;
        config.check()?;
        match config.keys_without_effect().into_iter().find(|(key, _)| table.contains_key(*key)) {
            None => Ok(config),
            Some((key, reason)) => {
                Err(ConfigError::UnusedKey { key: keys::path("train", key), reason: reason.into() })
            }
        }
    }

    /// The keys of the `[train]` section that have an effect.
    pub fn to_table(&self) -> toml::Table {
        let Ok(toml::Value::Table(mut table)) = toml::Value::try_from(self) else {
            unreachable!("a configuration section always serialises to a table")
        };
        let idle: Vec<&str> = self.keys_without_effect().into_iter().map(|(key, _)| key).collect();
        table.retain(|key, _| !idle.contains(&key));
        table
    }

    /// Keys that change nothing given the other choices, with the reason.
    pub(super) fn keys_without_effect(&self) -> Vec<(&'static str, &'static str)> {
        let mut idle = Vec::new();
        if self.schedule != Schedule::Plateau {
            let reason = "schedule is not plateau";
            idle.extend([("plateau_patience", reason), ("plateau_factor", reason)]);
        }
        if self.parts.is_none() {
            idle.push(("partition", "parts is not set"));
        }
        if !self.loss.is_focal() {
            idle.push(("focal_gamma", "loss is not a focal one"));
        }
        if self.loss != Loss::Quantile {
            idle.push(("quantiles", "loss is not quantile"));
        }
        idle
    }

    /// What a model says that is trained by the loss.
    pub fn spread(&self) -> Spread {
        Spread::of(self.loss, &self.quantiles)
    }

    /// Fails if a value is out of range.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Invalid`], naming the key, its value and what is expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        const ONE: &str = "must be at least 1";
        const POSITIVE: &str = "must be a positive number";
        const NOT_NEGATIVE: &str = "must not be negative";
        let not_negative = |value: f64| value.is_finite() && value >= 0.0;
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let regression = self.loss.is_regression();
        // What is unset breaks no rule.
        let [max_nodes, pieces, parts, recompute_layers, patience] =
            [self.max_nodes, self.pieces, self.parts, self.recompute_layers, self.patience]
                .map(|value| value.unwrap_or(1));
        let task_weights = self.task_weights.as_deref();
        let rules: [(bool, &str, &dyn Display, &str); 25] = [
            (self.epochs >= 1, "epochs", &self.epochs, ONE),
            (self.warmup < self.epochs, "warmup", &self.warmup, "must be smaller than epochs"),
            (self.plateau_patience >= 1, "plateau_patience", &self.plateau_patience, ONE),
            (
                self.plateau_factor > 0.0 && self.plateau_factor < 1.0,
                "plateau_factor",
                &self.plateau_factor,
                "must be more than 0 and less than 1",
            ),
            (self.batch_size >= 1, "batch_size", &self.batch_size, ONE),
            (max_nodes >= 1, "max_nodes", &max_nodes, ONE),
            (pieces >= 1, "pieces", &pieces, ONE),
            ((1..=Team::MOST).contains(&parts), "parts", &parts, "must be at least 1 and at most 181"),
            (
                self.parts.is_none() || self.pieces.is_none(),
                "parts",
                &parts,
                "a graph is trained in pieces or in parts, not both; leave pieces out",
            ),
            (self.accumulate >= 1, "accumulate", &self.accumulate, ONE),
            (positive(self.learning_rate), "learning_rate", &self.learning_rate, POSITIVE),
            (not_negative(self.weight_decay), "weight_decay", &self.weight_decay, NOT_NEGATIVE),
            (positive(self.clip_norm), "clip_norm", &self.clip_norm, POSITIVE),
            (recompute_layers >= 1, "recompute_layers", &recompute_layers, ONE),
            (
                (0.0..1.0).contains(&self.average_decay),
                "average_decay",
                &self.average_decay,
                "must be at least 0 and less than 1",
            ),
            (
                regression == self.metric.is_regression(),
                "metric",
                &self.metric,
                "mae and rmse go with the losses of numbers (l1, mse, huber, mean_variance, quantile), the other metrics with those of classes",
            ),
            (not_negative(self.focal_gamma), "focal_gamma", &self.focal_gamma, NOT_NEGATIVE),
            (
                spread::are_quantiles(&self.quantiles),
                "quantiles",
                &task_weights::in_words(&self.quantiles),
                spread::EXPECTED,
            ),
            (
                task_weights.is_none_or(task_weights::are_weights),
                "task_weights",
                &task_weights::in_words(task_weights.unwrap_or_default()),
                task_weights::EXPECTED,
            ),
            (
                regression || self.target_scaling == TargetScaling::None,
                "target_scaling",
                &self.target_scaling,
                "only regression targets can be scaled",
            ),
            (
                self.loss != Loss::MeanVariance || self.target_scaling == TargetScaling::Standard,
                "target_scaling",
                &self.target_scaling,
                "must be standard with the loss mean_variance, whose deviations have a range in units of that of the targets",
            ),
            (
                self.negatives <= MOST_NEGATIVES && (self.negatives == 0 || !regression),
                "negatives",
                &self.negatives,
                "must be at most 1000, and goes with losses of classes",
            ),
            (patience >= 1, "patience", &patience, ONE),
            (
                not_negative(self.checkpoint_seconds),
                "checkpoint_seconds",
                &self.checkpoint_seconds,
                NOT_NEGATIVE,
            ),
            (self.checkpoint_steps != Some(0), "checkpoint_steps", &0, ONE),
        ];
        match rules.into_iter().find(|(holds, ..)| !holds) {
            None => Ok(()),
            Some((_, key, value, expected)) => Err(ConfigError::Invalid {
                key: keys::path("train", key),
                value: value.to_string(),
                expected: expected.into(),
            }),
        }
    }
}
