//! A trained model in one file: weights and everything that is needed to use them on new graphs.
//!
//! ```text
//! paths ─ Ensemble::load ─→ Ensemble ─ answer(graphs) ──┬─→ Answers: per graph numbers, or a reason
//! path ─── Bundle::load ──→ Bundle ─── predict(graphs) ──┤
//!                              └────── embed(graphs) ────┘
//! ```
//!
//! All three take the same way; a model is an ensemble of one. A graph that cannot be answered keeps its place and has a
//! reason, and so has one whose answer is no finite number.
//!
//! The file (`.gmn`) is versioned and checked: one that is damaged, truncated, foreign or too new is refused with a
//! [`BundleError`] that says which. Files of older versions are brought up to date as they are read.
//!
//! ```no_run
//! use graphminnet::Bundle;
//! use graphminnet::data::{Limits, MoleculeReading};
//! use std::sync::Arc;
//!
//! let bundle = Bundle::load("best.gmn".as_ref())?;
//! // Molecules are read in the way of those that it was trained on.
//! let reading = MoleculeReading::of_schema(&bundle.description().schema).ok_or("not a model of molecules")?;
//! let ethanol = reading.graph("CCO", &Limits::default())?;
//! let answers = bundle.predict(&[Arc::new(ethanol)]);
//! println!("{:?}", answers.graph(0)?.values());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answers;
mod calibration;
mod conformal;
mod container;
mod description;
mod dropout;
mod ensemble;
mod error;
mod evaluate;
pub(crate) mod group;
mod in_parts;
mod infer;
mod isotonic;
mod labelled;
mod links;
mod locate;
mod migrate;
mod origin;
mod platt;
mod scaler;
mod shift;
mod table;
mod uncertainty;

pub use answers::{Answer, AnswerRow, Answers, MaybeGraph};
pub use calibration::{Calibration, Coverage};
pub use conformal::{Conformal, ConformalError, Correction, DEFAULT_LEVEL};
// For tests of older versions.
#[doc(hidden)]
pub use container::FORMAT_VERSION;
pub use description::{AnswerKind, Description, Preparation, Selection, TrainedOn};
pub use dropout::DropoutSamples;
pub use ensemble::Ensemble;
pub use error::{BundleError, PredictError};
pub use evaluate::{Evaluated, evaluate, evaluate_answers};
#[cfg(feature = "gradients")]
pub(crate) use infer::prepare;
pub use labelled::Labelled;
pub use links::PairQuestions;
// For the command and the laboratory, which look for models in run directories.
#[doc(hidden)]
pub use locate::{EXTENSION, locate};
pub use origin::Origin;
pub use scaler::TargetScaler;
#[cfg(feature = "train")]
pub(crate) use scaler::read_outputs;
pub use shift::Shift;
// For the command, which writes predictions as CSV.
#[doc(hidden)]
pub use table::PredictionTable;
pub use uncertainty::{HeldInterval, HeldQuantile, LearntDeviation, LearntQuantiles};

use crate::device::DeviceKind;
use crate::model::GraphMinNet;
use crate::weights;
use burn::tensor::Device;
use std::path::{Path, PathBuf};

/// A trained model, ready to be used.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// What errors call it.
    path: PathBuf,
    description: Description,
    model: GraphMinNet,
    device: Device,
}

impl Bundle {
    /// Reads a model file, to be used on the processor.
    ///
    /// # Errors
    ///
    /// [`BundleError`] that says whether the file is missing, foreign, too new, truncated or damaged.
    pub fn load(path: &Path) -> Result<Self, BundleError> {
        Self::load_on(path, &DeviceKind::Cpu.open()?)
    }

    /// Reads a model file, to be used on a device (one without differentiation).
    ///
    /// # Errors
    ///
    /// As [`Bundle::load`].
    pub fn load_on(path: &Path, device: &Device) -> Result<Self, BundleError> {
        if let Some(models) = group::read(path)? {
            return Err(BundleError::Several { path: path.to_owned(), models: models.len() });
        }
        Self::from_content(path, container::read(path)?, device)
    }

    /// Takes a model from the bytes of a file; `name` is what errors call it.
    ///
    /// # Errors
    ///
    /// As [`Bundle::load`].
    pub fn from_bytes(bytes: &[u8], name: &str, device: &Device) -> Result<Self, BundleError> {
        let path = Path::new(name);
        Self::from_content(path, container::unpack(&mut &bytes[..], path)?, device)
    }

    /// Takes a model from the two parts of a file, with the checksums that they should have: for the fuzzer, which cannot
    /// guess one.
    #[cfg(all(feature = "benchmarks", feature = "train"))]
    pub(crate) fn of_parts(description: &[u8], weights: &[u8], device: &Device) -> Result<Self, BundleError> {
        Self::from_bytes(&container::pack(description, weights), "fuzz.gmn", device)
    }

    fn from_content(path: &Path, content: container::Content, device: &Device) -> Result<Self, BundleError> {
        let wrong = |reason: String| BundleError::Description { path: path.to_owned(), reason };
        let description =
            serde_json::from_slice(&content.description).map_err(|error| wrong(error.to_string()))?;
        let description = migrate::to_current(content.version, description).map_err(wrong)?;
        let description: Description =
            serde_json::from_value(description).map_err(|error| wrong(error.to_string()))?;
        Self::assemble(path, description, &content.weights, device)
    }

    /// Puts a model together from its description and weights (the bytes of a safetensors file).
    ///
    /// # Errors
    ///
    /// [`BundleError`] if the two do not belong together.
    pub fn new(description: Description, weights: &[u8], device: &Device) -> Result<Self, BundleError> {
        let name = PathBuf::from(&description.name);
        Self::assemble(&name, description, weights, device)
    }

    fn assemble(
        path: &Path,
        description: Description,
        weights: &[u8],
        device: &Device,
    ) -> Result<Self, BundleError> {
        description.check().map_err(|reason| BundleError::Description { path: path.to_owned(), reason })?;
        // The shapes first: a small file may claim a model of any size.
        let outline = GraphMinNet::outline(&description.model, device)
            .map_err(|source| BundleError::Config { path: path.to_owned(), source })?;
        let model = weights::from_bytes(outline, weights)
            .map_err(|source| BundleError::Weights { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), description, model, device: device.clone() })
    }

    /// The bytes of a model file: a pure function of description and weights.
    ///
    /// # Errors
    ///
    /// [`BundleError::Description`] if the description cannot be written down.
    pub fn pack(description: &Description, weights: &[u8]) -> Result<Vec<u8>, BundleError> {
        let wrong =
            |reason: String| BundleError::Description { path: PathBuf::from(&description.name), reason };
        description.check().map_err(wrong)?;
        let text = serde_json::to_vec(description).map_err(|error| wrong(error.to_string()))?;
        Ok(container::pack(&text, weights))
    }

    /// The bytes of the model's file, as [`Bundle::pack`].
    ///
    /// # Errors
    ///
    /// [`BundleError::Weights`] if the weights cannot be written down.
    pub fn to_bytes(&self) -> Result<Vec<u8>, BundleError> {
        let weights = weights::to_bytes(&self.model)
            .map_err(|source| BundleError::Weights { path: self.path.clone(), source })?;
        Self::pack(&self.description, &weights)
    }

    /// What errors call the model: the file that it came from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything about the model but its weights.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The model itself.
    pub fn model(&self) -> &GraphMinNet {
        &self.model
    }

    /// Where it runs.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_gives_back_the_bytes_that_it_came_from() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bundles");
        let stored = path.join(format!("v{FORMAT_VERSION}/model.gmn"));
        // A file of an earlier program does not name the keys that came later; the weights are the same.
        let written = Bundle::load(&stored).unwrap().to_bytes().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("copy.gmn");
        std::fs::write(&copy, &written).unwrap();
        assert_eq!(Bundle::load(&copy).unwrap().to_bytes().unwrap(), written);
        let weights = |path: &Path| container::read(path).unwrap().weights;
        assert_eq!(weights(&copy), weights(&stored));
    }

    #[test]
    fn a_key_that_is_not_known_is_refused_by_name_wherever_it_is() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bundles/v1/model.gmn");
        let content = container::read(&path).unwrap();
        let device = DeviceKind::Cpu.open().unwrap();
        for place in ["", "/model", "/schema", "/preparation", "/data", "/selection"] {
            let mut description: serde_json::Value = serde_json::from_slice(&content.description).unwrap();
            description.pointer_mut(place).unwrap()["hiden"] = 1.into();
            let description = serde_json::to_vec(&description).unwrap();
            let content = container::Content { description, ..content.clone() };
            let error = Bundle::from_content(&path, content, &device).unwrap_err().to_string();
            assert!(error.contains("`hiden`"), "{place}: {error}");
        }
    }
}
