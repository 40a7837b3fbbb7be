//! What the seeds of a run are together: one file with all their models, and how good their mean is.

use super::directory::{read_json, write_json};
use super::{Resources, Run};
use crate::bundle::{Answers, Ensemble, group};
use crate::config::MetricKind;
use crate::task::{Rows, metric};
use crate::train::{TrainError, TrainingData};
use graphminnet_data::spectral::PreparedGraph;
use graphminnet_data::{Split, fs};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The models of all seeds.
pub(super) const MODELS: &str = "ensemble.gmn";
/// How good they are together.
pub(super) const RESULT: &str = "ensemble.json";

/// How good the mean of several models is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnsembleResult {
    /// The seeds of the models.
    pub seeds: Vec<u64>,
    /// Metric on the validation part.
    pub valid: Option<f64>,
    /// Metric on the test part.
    pub test: Option<f64>,
}

impl EnsembleResult {
    /// What a run has recorded about some seeds; `None` if it has not, or about others.
    pub(super) fn read(run: &Path, seeds: &[u64]) -> Result<Option<Self>, TrainError> {
        let path = run.join(RESULT);
        if !path.is_file() {
            return Ok(None);
        }
        Ok(Some(read_json::<Self>(&path)?).filter(|result| result.seeds == seeds))
    }
}

impl Run {
    /// Puts the models of several seeds into one file, and measures them together where the data is at hand as a whole (it is
    /// not where a graph is in parts).
    pub(super) fn write_ensemble(&self, resources: &Resources) -> Result<(), TrainError> {
        let seeds = &self.file.seeds;
        if seeds.len() < 2 {
            return Ok(());
        }
        let files: Vec<_> = seeds.iter().map(|seed| self.seed(*seed).file("best.gmn")).collect();
        let models = files.iter().map(|file| fs::read(file)).collect::<Result<Vec<_>, _>>()?;
        fs::write_atomically(&self.path().join(MODELS), &group::pack(&models))?;
        let Some(data) = self.data() else { return Ok(()) };
        let ensemble = Ensemble::load_on(&files, &resources.device)?;
        let metric = self.file.train.metric;
        let result = EnsembleResult {
            seeds: seeds.clone(),
            valid: score(&ensemble, data, Split::Valid, metric)?,
            test: score(&ensemble, data, Split::Test, metric)?,
        };
        write_json(&self.path().join(RESULT), &result)
    }
}

/// The metric of an ensemble on a part; `None` if it has no value.
fn score(
    ensemble: &Ensemble,
    data: &TrainingData,
    split: Split,
    kind: MetricKind,
) -> Result<Option<f64>, TrainError> {
    let part = data.splits.part(split);
    let graphs = part.iter().map(|&at| data.dataset.complete(at)).collect::<Result<Vec<_>, _>>()?;
    let graphs: Vec<&PreparedGraph> = graphs.iter().map(|graph| &**graph).collect();
    let answers: Answers = ensemble.predict_prepared(&graphs);
    let mut outputs = Vec::new();
    for answer in answers.iter() {
        let Ok(answer) = answer else { return Ok(None) };
        outputs.extend(answer.outputs());
    }
    let samples = part.iter().filter_map(|&at| data.dataset.samples.get(at));
    let mut targets: Vec<f32> = samples.flat_map(|sample| sample.targets.iter().copied()).collect();
    data.hide_others(split, part, &mut targets);
    let columns = answers.columns();
    let rows = Rows { outputs: &outputs, columns, targets: &targets, target_columns: data.target_columns() };
    Ok(metric::evaluate(kind, rows).ok().map(|score| score.value))
}
