//! An ensemble over labelled graphs: metrics, confidence intervals, a table by class or target.

use super::uncertainty::{self, LearntDeviation, LearntQuantiles};
use super::{AnswerKind, Correction, Coverage, DEFAULT_LEVEL, Ensemble, Labelled, PredictError};
use crate::task::assess::{Assessed, Bootstrap, Breakdown, Measure, assess, breakdown};
use crate::task::{Rows, calibration_error};
use graphminnet_data::Dataset;
use serde::Serialize;

/// How good an ensemble is on a data set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluated {
    /// Graphs.
    pub graphs: usize,
    /// Known labels.
    pub labels: usize,
    /// The class that ranking metrics are about, where there are two with names.
    pub positive_class: Option<String>,
    /// All metrics of the kind of answer.
    pub metrics: Vec<Assessed>,
    /// The same by class or by target.
    pub breakdown: Breakdown,
    /// By target, how good the deviations are that the models learnt (loss `mean_variance`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<LearntDeviation>,
    /// By target, how good the quantiles are that the models learnt (loss `quantile`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<LearntQuantiles>,
    /// How often intervals or sets at the usual level hold the truth, where the models were calibrated in training.
    pub coverage: Vec<Coverage>,
    /// For yes/no answers of models that were calibrated in training, the calibration error of corrected probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrected_calibration_error: Option<f64>,
    /// The same of probabilities that are corrected by isotonic regression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isotonic_calibration_error: Option<f64>,
}

/// Evaluates an ensemble on labelled graphs.
///
/// # Errors
///
/// [`PredictError::InGraph`] for the first graph that cannot be predicted; [`PredictError::NoLabels`].
pub fn evaluate(
    ensemble: &Ensemble,
    dataset: &Dataset,
    bootstrap: Bootstrap,
) -> Result<Evaluated, PredictError> {
    evaluate_answers(ensemble, &Labelled::answer(ensemble, dataset)?, bootstrap)
}

/// Evaluates what an ensemble said about labelled graphs.
///
/// # Errors
///
/// [`PredictError::NoLabels`].
pub fn evaluate_answers(
    ensemble: &Ensemble,
    labelled: &Labelled,
    bootstrap: Bootstrap,
) -> Result<Evaluated, PredictError> {
    let Labelled { answers, targets: of_graphs } = labelled;
    let (mut outputs, mut targets, mut ranges) = (Vec::new(), Vec::new(), Vec::with_capacity(labelled.len()));
    let mut end = 0;
    for (graph, of_graph) in of_graphs.iter().enumerate() {
        let answer = answers.graph(graph).map_err(PredictError::in_graph(graph))?;
        ranges.push(end..end + answer.num_rows());
        end += answer.num_rows();
        outputs.extend(answer.outputs());
        targets.extend(of_graph);
    }
    let about = ensemble.description();
    let labels = targets.iter().filter(|target: &&f32| !target.is_nan()).count();
    if labels == 0 {
        return Err(PredictError::NoLabels { targets: about.schema.targets.join("`, `") });
    }
    let known = || of_graphs.iter().zip(answers.iter());
    let answered = || known().filter_map(|(targets, answer)| Some((answer.ok()?, targets.as_slice())));
    let conformal = ensemble.conformal(DEFAULT_LEVEL).ok().flatten();
    let coverage = conformal.as_ref().map(|conformal| conformal.coverage(answered())).unwrap_or_default();
    let corrected_error = |by: Correction| {
        let conformal =
            conformal.clone().filter(|_| about.answers() == AnswerKind::Binary)?.correcting_by(by);
        let mut said = Vec::with_capacity(labels);
        for (targets, answer) in known() {
            let Ok(answer) = answer else { continue };
            for (row, truth) in answer.rows().zip(targets.chunks(about.schema.num_targets().max(1))) {
                let pairs = row.values().into_iter().zip(truth).enumerate();
                let pairs = pairs.filter(|(_, (_, truth))| !truth.is_nan());
                said.extend(
                    pairs.map(|(target, (yes, truth))| (conformal.corrected(target, yes), *truth > 0.5)),
                );
            }
        }
        calibration_error(&said).ok()
    };
    let rows = Rows {
        outputs: &outputs,
        columns: answers.columns(),
        targets: &targets,
        target_columns: about.schema.num_targets(),
    };
    let (measure, names) = match about.answers() {
        AnswerKind::Numbers => (Measure::Numbers, about.schema.targets.clone()),
        AnswerKind::Binary => (Measure::Binary, about.schema.targets.clone()),
        AnswerKind::Classes => {
            (Measure::Classes, (0..about.model.out_dim).map(|class| about.class_name(class)).collect())
        }
    };
    let (deviations, quantiles) = uncertainty::judge(about, answers, answered());
    Ok(Evaluated {
        graphs: labelled.len(),
        positive_class: about.ranked_class().map(str::to_owned),
        labels,
        metrics: assess(measure, rows, &ranges, bootstrap),
        breakdown: breakdown(measure, rows, &names),
        deviations,
        quantiles,
        coverage,
        corrected_calibration_error: corrected_error(Correction::Platt),
        isotonic_calibration_error: corrected_error(Correction::Isotonic),
    })
}
