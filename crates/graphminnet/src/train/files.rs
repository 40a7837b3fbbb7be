//! The files that outlive training: weights with what is needed to use them, and predictions.

use super::{SeedDir, TargetScaler, TrainError, TrainingData};
use crate::config::{ModelConfig, TrainConfig};
use crate::io;
use serde_json::json;

/// Writes weights under a name (`best`, `last`). Everything that saves a usable model goes through here.
pub(super) fn write_weights(directory: &SeedDir, name: &str, weights: &[u8]) -> Result<(), TrainError> {
    Ok(io::write_atomically(&directory.file(&format!("{name}.safetensors")), weights)?)
}

/// Writes what is needed besides the weights to use them on new data.
pub(super) fn write_description(
    directory: &SeedDir,
    model: &ModelConfig,
    train: &TrainConfig,
    data: &TrainingData,
    scaler: Option<&TargetScaler>,
) -> Result<(), TrainError> {
    let description = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "model": model,
        "metric": train.metric,
        "loss": train.loss,
        "target_scaler": scaler,
        "schema": data.dataset.schema,
        "data_fingerprint": data.fingerprint,
    });
    super::run_dir::write_json(&directory.file("model.json"), &description)
}
