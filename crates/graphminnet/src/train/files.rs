//! The files that outlive training: models, ready to be used on new data.

use super::{SeedDir, Settings, TargetScaler, TrainError, TrainingData};
use crate::bundle::{Bundle, Description, EXTENSION, Selection, TrainedOn};
use graphminnet_data::Featurizer;
use graphminnet_data::fs;

/// What a model file says besides the weights. A pure function of the run: bits do not depend on when it is written.
pub(super) fn describe(
    settings: &Settings<'_>,
    data: &TrainingData,
    scaler: Option<&TargetScaler>,
    selection: Selection,
) -> Description {
    let schema = data.source_schema.clone();
    Description {
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        name: settings.name.to_owned(),
        model: settings.model.clone(),
        loss: settings.train.loss,
        metric: settings.train.metric,
        edges: settings.edges,
        featurizer: Featurizer::of_schema(&schema),
        schema,
        preparation: (&settings.model.prepare_options()).into(),
        target_scaler: scaler.cloned(),
        data: TrainedOn {
            name: data.dataset.name.clone(),
            fingerprint: data.fingerprint.clone(),
            train: data.splits.train.len(),
            valid: data.splits.valid.len(),
            test: data.splits.test.len(),
        },
        selection,
        seed: settings.seed,
    }
}

/// Writes a model under a name (`best`, `last`). Everything that saves a usable model goes through here.
pub(super) fn write_model(
    directory: &SeedDir,
    name: &str,
    description: &Description,
    weights: &[u8],
) -> Result<(), TrainError> {
    let bytes = Bundle::pack(description, weights)?;
    Ok(fs::write_atomically(&directory.file(&format!("{name}.{EXTENSION}")), &bytes)?)
}
