//! Transfer: a run that begins with the weights of a trained model.
//!
//! ```text
//! model file ─ Start::read ─→ Start ─ take_over(model, data) ─→ Taken: tensors, what was taken, rates of its parameters
//! ```
//!
//! Tensors are taken over by name. Encoders hold a vector for each category and each numeric column; those are taken over
//! by the names of columns and categories, so that vocabularies may differ in order and content. What the file does not
//! have stays as it was initialised, and everything is counted.
//!
//! A tensor of which some vectors are new counts as new: it is trained at the full rate, also where its part is frozen.

mod encoder;
mod head;
mod report;

pub use report::TakenOver;

use super::{TrainError, TrainingData};
use crate::bundle::{Bundle, Description, Origin, TargetScaler, locate};
use crate::config::{ModelConfig, Spread};
use crate::weights::{self, NamedTensor};
use burn::module::Module;
use burn::tensor::Device;
use graphminnet_data::formats::{Format, detect};
use graphminnet_data::fs::{self, sha256};
use graphminnet_data::{ReadOptions, Schema};
use head::{descriptors, read_otherwise, reads_descriptors_or_answers, rescale_outputs};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use thiserror::Error;
use toml::{Table, Value};

/// What a run asks for: a trained model to begin with.
#[derive(Debug, Clone, PartialEq)]
pub struct Transfer {
    /// The model file.
    pub path: PathBuf,
    /// Whether the head begins anew. It does in any case where the targets are others.
    pub new_head: bool,
    /// Parts that keep the weights they begin with: `encoders`, `layers`, `layers.0`, …, `head`.
    pub freeze: Vec<String>,
    /// Factor of the learning rate for what was taken over.
    pub rate: f64,
}

impl Transfer {
    /// All weights of a model, none of them frozen, at the full rate.
    pub fn from_file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), new_head: false, freeze: Vec::new(), rate: 1.0 }
    }

    /// The same with the model file that the path stands for, where it is a folder: that of a seed, or a run of one seed.
    ///
    /// # Errors
    ///
    /// [`TrainError::Bundle`] if there is none, [`TransferError::Several`] if there are several.
    pub fn located(mut self) -> Result<Self, TrainError> {
        let mut found = locate(&self.path)?;
        match (found.pop(), found.is_empty()) {
            (Some(path), true) => self.path = path,
            _ => return Err(TransferError::Several { path: self.path }.into()),
        }
        Ok(self)
    }
}

/// Why a run cannot begin with a model.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum TransferError {
    /// A tensor of the model has another shape.
    #[error(
        "`{tensor}` has shape {found:?} in {file} and {expected:?} in the model to be trained: weights can be taken over \
         into a model of the same widths only; leave out the settings of the model, and the file's are used"
    )]
    Shape {
        /// The model file.
        file: String,
        /// Name of the tensor.
        tensor: String,
        /// Shape in the file.
        found: Vec<usize>,
        /// Shape in the model.
        expected: Vec<usize>,
    },
    /// No layer of the two models has anything in common.
    #[error("no layer of {file} has a place in the model to be trained: it is a model of another kind")]
    Nothing {
        /// The model file.
        file: String,
    },
    /// A part that cannot be frozen.
    #[error("`{part}` cannot be frozen: {reason}")]
    Freeze {
        /// What was asked for.
        part: String,
        /// Why not.
        reason: String,
    },
    /// A factor that is none.
    #[error("the rate of what was taken over is {rate}; it must be a positive number, 1 at most")]
    Rate {
        /// What was asked for.
        rate: f64,
    },
    /// The models of several seeds.
    #[error("{}: it holds the models of several seeds; name one of them, such as seed-0/best.gmn", path.display())]
    Several {
        /// The folder.
        path: PathBuf,
    },
    /// Everything is frozen.
    #[error("everything that has a gradient is frozen, so there is nothing to train")]
    AllFrozen,
    /// The kind of model has no model files.
    #[error("this kind of model cannot begin with a model file")]
    NoModelFile,
}

/// A model to begin with.
#[derive(Debug, Clone)]
pub struct Start {
    origin: Origin,
    bytes: Vec<u8>,
    description: Description,
    tensors: BTreeMap<String, NamedTensor>,
}

/// What a run begins with.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    /// All tensors of the model.
    pub(super) tensors: Vec<NamedTensor>,
    pub(super) report: TakenOver,
    /// Factors of the learning rate that are not 1; 0 for what is frozen.
    rates: BTreeMap<String, f64>,
}

impl Taken {
    /// Factor of the learning rate of a parameter.
    pub(super) fn rate(&self, parameter: &str) -> f64 {
        self.rates.get(parameter).copied().unwrap_or(1.0)
    }
}

impl Start {
    /// Reads the model that a run is to begin with.
    ///
    /// # Errors
    ///
    /// [`TrainError::Bundle`] if the file holds no model or several, [`TrainError::Transfer`] if the rest makes no sense.
    pub fn read(transfer: &Transfer) -> Result<Self, TrainError> {
        let file = transfer.path.file_name().unwrap_or(transfer.path.as_os_str());
        let Transfer { new_head, freeze, rate, .. } = transfer;
        if !(rate.is_finite() && *rate > 0.0 && *rate <= 1.0) {
            return Err(TransferError::Rate { rate: *rate }.into());
        }
        // Before a run has a directory.
        if let Some(part) = freeze.iter().find(|part| !is_part(part)) {
            return Err(no_such_part(part).into());
        }
        // Says whether it is missing, damaged, or several models in one.
        let bundle = Bundle::load(&transfer.path)?;
        let Description { name, seed, .. } = bundle.description();
        let bytes = fs::read(&transfer.path)?;
        let origin = Origin {
            file: file.to_string_lossy().into_owned(),
            sha256: sha256(&bytes),
            name: name.clone(),
            seed: *seed,
            new_head: *new_head,
            freeze: freeze.clone(),
            rate: *rate,
        };
        Ok(Self::new(origin, bytes, &bundle))
    }

    /// Whether molecules get their basic descriptors, for the model has read them.
    pub fn describes_molecules(&self) -> bool {
        descriptors(&self.description.schema).is_some_and(|(is_basic, ..)| is_basic)
    }

    /// Makes options read a table of molecules in the form in which the model has read its own (hydrogens, stereo, fragments,
    /// counts of a fingerprint), where they do not ask for more. Other data has no molecules, and is read as it was to be.
    pub fn read_alike(&self, path: &Path, options: &mut ReadOptions) {
        let format = options.format.or_else(|| detect(path).ok());
        let is_table =
            matches!(format, Some(Format::SmilesCsv | Format::Parquet | Format::Xlsx | Format::Sdf));
        let Some(table) = self.description.schema.molecules.as_ref().filter(|_| is_table) else { return };
        let (theirs, ours) = (&table.form, &mut options.molecules);
        ours.add_hydrogens |= theirs.add_hydrogens;
        ours.ignore_stereo |= theirs.ignore_stereo;
        // The rest says nothing about reactions, and a fingerprint nothing about several molecules.
        if !ours.reactions {
            ours.largest_fragment |= theirs.largest_fragment;
            ours.morgan_counts |= theirs.morgan_counts && options.further_smiles.is_empty();
        }
    }

    /// The model that a run keeps a copy of.
    pub(in crate::train) fn reread(
        path: &Path,
        origin: &Origin,
        device: &Device,
    ) -> Result<Self, TrainError> {
        let bytes = fs::read(path)?;
        let found = sha256(&bytes);
        if found != origin.sha256 {
            let reason = format!("it has the SHA-256 {found}, the run began with {}", origin.sha256);
            return Err(TrainError::Damaged { path: path.to_owned(), reason });
        }
        let bundle = Bundle::from_bytes(&bytes, &path.display().to_string(), device)?;
        Ok(Self::new(origin.clone(), bytes, &bundle))
    }

    fn new(origin: Origin, bytes: Vec<u8>, bundle: &Bundle) -> Self {
        let tensors = weights::named_tensors(bundle.model()).into_iter();
        let tensors = tensors.map(|tensor| (tensor.name.clone(), tensor)).collect();
        Self { origin, bytes, description: bundle.description().clone(), tensors }
    }

    /// Where the run begins, as it is written down.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// By what a run knows that it resumes what it began with.
    pub(super) fn identity(&self) -> String {
        format!(" from {}", sha256(self.origin.identity().as_bytes()))
    }

    /// Everything about the model but its weights.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// A recipe with the model of the file, for [`fit_recipe`](super::fit_recipe) with
    /// [`Unnamed::Protocol`](super::Unnamed::Protocol); what another recipe names comes before it.
    pub fn recipe(&self, other: Option<&Table>) -> Table {
        let mut recipe = other.cloned().unwrap_or_default();
        let mut model = self.description.model.to_table();
        if let Some(Value::Table(named)) = recipe.get("model") {
            model.extend(named.clone());
        }
        recipe.insert("model".to_owned(), Value::Table(model));
        recipe
    }

    /// The model file.
    pub(in crate::train) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What a freshly initialised model for some data begins with.
    pub(super) fn take_over<M: Module>(
        &self,
        fresh: &M,
        config: &ModelConfig,
        schema: &Schema,
        spread: &Spread,
        scaler: Option<&TargetScaler>,
    ) -> Result<Taken, TransferError> {
        let file = &self.origin.file;
        let mut tensors = weights::named_tensors(fresh);
        let mut report = TakenOver { file: file.clone(), ..TakenOver::default() };
        let mut whole = BTreeSet::new();

        let ours = encoder::vectors(config, schema);
        let theirs = encoder::vectors(&self.description.model, &self.description.schema);
        let by_columns: BTreeSet<&str> = ours.iter().map(|vector| vector.tensor.as_str()).collect();
        let keeps_head = self.keeps_head(config, schema, spread);
        report.new_head = keeps_head.clone().err();
        report.read_otherwise = read_otherwise(&self.description.schema, schema);

        for tensor in &mut tensors {
            let name = tensor.name.as_str();
            if by_columns.contains(name) || encoder::is_scale(name) {
                continue;
            }
            let is_left_out = reads_descriptors_or_answers(name) && keeps_head.is_err();
            let Some(other) = self.tensors.get(name).filter(|_| !is_left_out) else {
                if !is_left_out {
                    report.missing.push(name.to_owned());
                }
                continue;
            };
            if other.shape != tensor.shape {
                return Err(TransferError::Shape {
                    file: file.clone(),
                    tensor: name.to_owned(),
                    found: other.shape.clone(),
                    expected: tensor.shape.clone(),
                });
            }
            tensor.values.clone_from(&other.values);
            whole.insert(name.to_owned());
        }
        if !whole.iter().any(|name| is_of("layers", name)) {
            return Err(TransferError::Nothing { file: file.clone() });
        }
        encoder::take_over(&mut tensors, &ours, &self.tensors, &theirs, file, &mut report, &mut whole)?;
        if keeps_head.is_ok() {
            rescale_outputs(&mut tensors, spread, self.description.target_scaler.as_ref(), scaler);
        }
        let has_place = |name: &String| {
            tensors.iter().any(|tensor| tensor.name == *name)
                || theirs.iter().any(|vector| vector.tensor == *name)
                || encoder::is_scale(name)
                || reads_descriptors_or_answers(name) && keeps_head.is_err()
        };
        report.left_out = self.tensors.keys().filter(|name| !has_place(name)).cloned().collect();
        report.tensors = (whole.len(), tensors.len());
        let rates = self.rates(&tensors, &whole, &mut report)?;
        Ok(Taken { tensors, report, rates })
    }

    /// What is to be said where the model seems to have been trained on the same graphs in other parts.
    pub(super) fn knows_the_data(&self, data: &TrainingData) -> Option<String> {
        let theirs = &self.description.data;
        (theirs.resembles(&data.dataset.name, data.dataset.samples.len()) && theirs.plain() != data.plain.as_ref().unwrap_or(&data.fingerprint)).then(|| {
            format!(
                "{} was trained on data that is called {} and is as large, in other parts or read in another way: graphs that it was trained on may be in the \
                 test part, whose score then says nothing about new graphs, or in a calibration; give it the same split",
                self.origin.file,
                graphminnet_data::escape(&theirs.name)
            )
        })
    }

    /// The factors of the learning rate that are not 1.
    fn rates(
        &self,
        tensors: &[NamedTensor],
        whole: &BTreeSet<String>,
        report: &mut TakenOver,
    ) -> Result<BTreeMap<String, f64>, TransferError> {
        let parameters = || tensors.iter().filter(|tensor| tensor.is_parameter()).map(|tensor| &tensor.name);
        let mut rates = BTreeMap::new();
        if self.origin.rate < 1.0 {
            rates.extend(
                parameters()
                    .filter(|name| whole.contains(*name))
                    .map(|name| (name.clone(), self.origin.rate)),
            );
        }
        for part in &self.origin.freeze {
            let refused =
                |reason: &str| TransferError::Freeze { part: part.clone(), reason: reason.to_owned() };
            let members: Vec<&String> = parameters().filter(|name| is_of(part, name)).collect();
            if members.is_empty() {
                return Err(no_such_part(part));
            }
            let taken: Vec<&String> = members.iter().copied().filter(|name| whole.contains(*name)).collect();
            if taken.is_empty() {
                return Err(refused("nothing of it was taken over, so it would stay as it was initialised"));
            }
            report.frozen += taken.len();
            report.not_frozen.extend(members.into_iter().filter(|name| !whole.contains(*name)).cloned());
            rates.extend(taken.into_iter().map(|name| (name.clone(), 0.0)));
        }
        if parameters().all(|name| rates.get(name) == Some(&0.0)) {
            return Err(TransferError::AllFrozen);
        }
        Ok(rates)
    }
}

/// Whether some model may have a part of this name.
fn is_part(part: &str) -> bool {
    let layer = part.strip_prefix("layers.").is_some_and(|number| number.parse::<usize>().is_ok());
    layer || ["encoders", "layers", "head"].contains(&part)
}

fn no_such_part(part: &str) -> TransferError {
    let reason = "the model has the parts encoders, layers, layers.0, layers.1, … and head".to_owned();
    TransferError::Freeze { part: part.to_owned(), reason }
}

/// Whether a tensor belongs to a part of the model.
fn is_of(part: &str, tensor: &str) -> bool {
    let begins = |prefix: &str| tensor.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'));
    match part {
        "encoders" => {
            let encoders = ["node_encoder", "node_pe", "edge_encoder", "set_encoder", encoder::HEAD_EDGES];
            encoders.into_iter().any(begins)
        }
        part => begins(part),
    }
}
