//! The files that outlive training: models, ready to be used on new data.

use super::{Architecture, SeedDir, Settings, TargetScaler, TrainError, TrainingData};
use crate::bundle::{Bundle, Description, EXTENSION, Origin, Selection, TrainedOn};
use crate::config::Loss;
use graphminnet_data::Featurizer;
use graphminnet_data::fs;
use std::borrow::Cow;

/// What a model file says besides the weights; `None` for a kind of model that has no such file. A pure function of the run: bits do not depend on when it is written.
pub(super) fn describe<C: Architecture>(
    settings: &Settings<'_, C>,
    data: &TrainingData,
    scaler: Option<&TargetScaler>,
    selection: Selection,
    from: Option<&Origin>,
) -> Option<Description> {
    let model = settings.model.model_file()?;
    let schema = data.source_schema.clone();
    Some(Description {
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        name: settings.name.to_owned(),
        model: model.clone(),
        loss: settings.train.loss,
        quantiles: if settings.train.loss == Loss::Quantile {
            settings.train.quantiles.clone()
        } else {
            Vec::new()
        },
        metric: settings.train.metric,
        edges: settings.edges,
        featurizer: Featurizer::of_schema(&schema),
        schema,
        preparation: (&model.prepare_options()).into(),
        target_scaler: scaler.cloned(),
        calibration: None,
        data: TrainedOn {
            name: data.dataset.name.clone(),
            fingerprint: data.fingerprint.clone(),
            plain: data.plain.clone(),
            both_directions: data.both_directions,
            train: data.splits.train.len(),
            valid: data.splits.valid.len(),
            test: data.splits.test.len(),
        },
        selection,
        seed: settings.seed,
        from: from.cloned(),
    })
}

/// Writes a model under a name (`best`, `last`), or its weights alone if there is no description. Everything that saves a usable model goes through here.
pub(super) fn write_model(
    directory: &SeedDir,
    name: &str,
    description: Option<&Description>,
    weights: &[u8],
) -> Result<(), TrainError> {
    let (extension, bytes) = match description {
        None => ("safetensors", Cow::Borrowed(weights)),
        Some(description) => (EXTENSION, Cow::Owned(Bundle::pack(description, weights)?)),
    };
    Ok(fs::write_atomically(&directory.file(&format!("{name}.{extension}")), &bytes)?)
}
