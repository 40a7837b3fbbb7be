//! What a model file says about its weights: everything that is needed to use them, and where they come from.

use super::answers::Form;
use super::scaler::{exact, read_outputs};
use super::{Calibration, Origin, TargetScaler};
use crate::config::{Loss, MetricKind, ModelConfig, Spread, are_quantiles};
use crate::task::loss::{self, Objective};
use graphminnet_data::spectral::PrepareOptions;
use graphminnet_data::{EdgeDirection, Featurizer, Level, ReadOptions, Schema, Task, escape};
use serde::{Deserialize, Serialize};

/// Everything in a model file but the weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Version of the program that wrote the file.
    pub program_version: String,
    /// Name of the recipe, or of the data that a recipe was inferred for.
    pub name: String,
    /// The model.
    pub model: ModelConfig,
    /// What was minimised.
    pub loss: Loss,
    /// The levels of the quantile loss, ascending; none with other losses.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "exact")]
    pub quantiles: Vec<f64>,
    /// What was reported and selected by.
    pub metric: MetricKind,
    /// Columns, vocabularies, targets and classes of the data, as it was read: before any preparation.
    pub schema: Schema,
    /// Whether edges were read as given or both ways; `None` is the format's own rule.
    pub edges: Option<EdgeDirection>,
    /// What turns molecules into graphs with these columns, where they are those of molecules.
    pub featurizer: Option<Featurizer>,
    /// What is computed for every graph.
    pub preparation: Preparation,
    /// Back from the model's units to those of the data.
    pub target_scaler: Option<TargetScaler>,
    /// What it says about graphs that were set aside for calibration, where there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// What it was trained on.
    pub data: TrainedOn,
    /// Which epoch's weights these are, and how good they were.
    pub selection: Selection,
    /// Seed of the training.
    pub seed: u64,
    /// The model that training began with, where it did not begin with random weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Origin>,
}

/// What is computed for every graph before a model sees it: the form of [`PrepareOptions`] that is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preparation {
    /// Stored eigenpairs of the Laplacian.
    pub eigenpairs: usize,
    /// Whether the block leaves an eigenspace alone that the cut splits.
    pub whole_eigenspaces: bool,
    /// Steps of the random walk.
    pub random_walk_steps: usize,
    /// Whether the local degree profile replaces the node features.
    pub degree_profile: bool,
}

/// The data that a model was trained on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainedOn {
    /// Its name.
    pub name: String,
    /// Hash of graphs, targets and parts.
    pub fingerprint: String,
    /// The same without weights of graphs, and as if nothing had been set aside for a calibration, where there is either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain: Option<String>,
    /// Whether every edge had its reverse, in other data than molecules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub both_directions: Option<bool>,
    /// Graphs that were trained on.
    pub train: usize,
    /// Graphs that the epoch was chosen by.
    pub valid: usize,
    /// Graphs that were only reported on.
    pub test: usize,
}

impl TrainedOn {
    /// The hash of graphs, targets and parts that other data has, which names no weights and sets nothing aside.
    pub fn plain(&self) -> &String {
        self.plain.as_ref().unwrap_or(&self.fingerprint)
    }

    /// Whether data of this name with so many graphs is called like this and is about as large: some graphs may have been set aside, for a calibration.
    pub fn resembles(&self, name: &str, graphs: usize) -> bool {
        let own = self.train + self.valid + self.test;
        self.name == name && own <= graphs && 4 * own >= 3 * graphs
    }
}

/// The epoch that weights were taken from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// The epoch, from 0.
    pub epoch: usize,
    /// Why this one, in words.
    pub chosen_by: String,
    /// Validation metric of these weights, where it was recorded.
    pub valid: Option<f64>,
    /// Test metric of these weights, where it was recorded.
    pub test: Option<f64>,
}

/// What the outputs of a model mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerKind {
    /// A number per target column, in the units of the data.
    Numbers,
    /// The logit of "yes" per target column.
    Binary,
    /// A score per class; the softmax is the probability.
    Classes,
}

impl Description {
    /// What the outputs mean: decided by what was minimised, whatever the targets look like.
    pub fn answers(&self) -> AnswerKind {
        match self.loss {
            Loss::L1 | Loss::Mse | Loss::Huber | Loss::MeanVariance | Loss::Quantile => AnswerKind::Numbers,
            Loss::BinaryCrossEntropy | Loss::WeightedBinaryCrossEntropy | Loss::FocalBinaryCrossEntropy => {
                AnswerKind::Binary
            }
            Loss::CrossEntropy | Loss::WeightedCrossEntropy | Loss::FocalCrossEntropy => AnswerKind::Classes,
        }
    }

    /// What it says about numbers besides the numbers themselves.
    pub fn spread(&self) -> Spread {
        Spread::of(self.loss, &self.quantiles)
    }

    /// What the outputs of a row are.
    pub(super) fn form(&self) -> Form {
        Form { kind: self.answers(), columns: self.model.out_dim, spread: self.spread() }
    }

    /// Makes outputs of the network, `[rows, out_dim]`, what they stand for in the units of the data.
    pub(super) fn read_outputs(&self, outputs: &mut [f32]) {
        read_outputs(&self.spread(), self.target_scaler.as_ref(), outputs, self.model.out_dim);
    }

    /// The output column that a name or a number stands for; `None` for the predicted one of several classes. Names come first:
    /// a class may be called `1`.
    ///
    /// # Errors
    ///
    /// What there is instead, in words.
    pub fn output_called(&self, asked: &str) -> Result<Option<usize>, String> {
        let (targets, kind) = (&self.schema.targets, self.answers());
        let classes = if kind == AnswerKind::Classes {
            self.classes_with_probability()
        } else {
            // Of two classes the score of one says everything.
            self.ranked_class().into_iter().map(str::to_owned).collect()
        };
        let place = |names: &[String]| names.iter().position(|name| name == asked);
        if let Some(class) = place(&classes) {
            return Ok(Some(class));
        }
        match place(targets) {
            // The target that has the classes: the predicted one of them.
            Some(_) if kind == AnswerKind::Classes => Ok(None),
            Some(target) => Ok(Some(target)),
            None => asked.parse().map(Some).map_err(|_| {
                let names: Vec<String> = targets.iter().chain(&classes).map(|name| escape(name)).collect();
                format!("{}: neither a number nor one of {}", escape(asked), names.join(", "))
            }),
        }
    }

    /// How new data is to be read: with the columns, vocabularies and edges of the data that was trained on.
    pub fn read_options(&self) -> ReadOptions {
        ReadOptions {
            edges: self.edges,
            featurizer: self.featurizer,
            ..ReadOptions::with_schema(self.schema.clone())
        }
    }

    /// The name of a class: as in the data, or its number.
    pub fn class_name(&self, class: usize) -> String {
        self.schema.class_names.get(class).cloned().unwrap_or_else(|| class.to_string())
    }

    /// The class that a yes/no answer is the probability of, where the classes have names and the model says which.
    pub fn positive_class(&self) -> Option<&str> {
        self.schema.positive_class.as_deref().filter(|_| self.answers() == AnswerKind::Binary)
    }

    /// The class that probabilities and rankings are about, where there are two with names: the second. Models of
    /// version 0.1 have one too, only that they took what the alphabet gave them.
    pub fn ranked_class(&self) -> Option<&str> {
        match self.schema.class_names.as_slice() {
            [_, second] if self.answers() != AnswerKind::Numbers => Some(second),
            _ => None,
        }
    }

    /// Finds contradictions that no reader of the parts would notice.
    pub(super) fn check(&self) -> Result<(), String> {
        let (outputs, targets) = (self.model.out_dim, self.schema.num_targets());
        let level = Level::from(self.model.level);
        if level != self.schema.level {
            return Err(format!("the model answers per {level}, the schema says per {}", self.schema.level));
        }
        if (self.loss == Loss::Quantile) == self.quantiles.is_empty()
            || !self.quantiles.is_empty() && !are_quantiles(&self.quantiles)
        {
            return Err(format!("the loss {} does not fit the quantiles {:?}", self.loss, self.quantiles));
        }
        let objective = Objective { quantiles: &self.quantiles, ..self.loss.into() };
        loss::check_shape(objective, outputs, targets).map_err(|error| error.to_string())?;
        if let Task::MultiClass { classes } = self.schema.task
            && self.answers() == AnswerKind::Classes
            && classes > outputs
        {
            return Err(format!("{outputs} outputs do not fit the schema's {classes} classes"));
        }
        if let Some(positive) = &self.schema.positive_class
            && self.schema.class_names.get(1..) != Some(std::slice::from_ref(positive))
        {
            return Err(format!("the positive class `{positive}` is not the second of two classes"));
        }
        if let Some(calibration) = &self.calibration {
            calibration.check(self)?;
        }
        if let Some(scaler) = &self.target_scaler {
            let fits = scaler.mean.len() == targets && scaler.deviation.len() == targets;
            let usable = scaler.mean.iter().all(|mean| mean.is_finite())
                && scaler.deviation.iter().all(|deviation| deviation.is_finite() && *deviation > 0.0);
            if !fits || !usable || self.answers() != AnswerKind::Numbers {
                return Err("the target scaler does not fit the targets".to_owned());
            }
        }
        if self.preparation != Preparation::from(&self.model.prepare_options()) {
            return Err("what is computed for a graph does not fit the model's configuration".to_owned());
        }
        Ok(())
    }
}

impl From<&PrepareOptions> for Preparation {
    fn from(options: &PrepareOptions) -> Self {
        Self {
            eigenpairs: options.eigenpairs,
            whole_eigenspaces: options.whole_eigenspaces,
            random_walk_steps: options.random_walk_steps,
            degree_profile: options.degree_profile,
        }
    }
}

impl From<Preparation> for PrepareOptions {
    fn from(preparation: Preparation) -> Self {
        Self {
            eigenpairs: preparation.eigenpairs,
            whole_eigenspaces: preparation.whole_eigenspaces,
            random_walk_steps: preparation.random_walk_steps,
            degree_profile: preparation.degree_profile,
        }
    }
}
