//! Metrics, one per file, each named by its definition; plain arithmetic in double precision.
//!
//! A metric that has no value (no labels, one class only) says why instead of giving a number.
//!
//! ```
//! use graphminnet::config::MetricKind;
//! use graphminnet::task::{Rows, metric};
//!
//! // All labels are of one class, so there is no ranking to judge.
//! let rows = Rows { outputs: &[0.3, -1.2], columns: 1, targets: &[1.0, 1.0], target_columns: 1 };
//! assert!(metric::evaluate(MetricKind::RocAuc, rows).is_err());
//! ```

mod accuracy;
mod accuracy_class_mean;
mod average_precision;
mod f1_macro;
mod hits;
mod mae;
mod roc_auc;

#[cfg(feature = "train")]
pub(crate) use roc_auc::roc_curve;

use super::{Rows, first_largest, probability, regression};
use crate::config::MetricKind;
use thiserror::Error;

/// The value of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// The value.
    pub value: f64,
    /// Tasks (target columns) left out of the mean because their labels are all of one class.
    pub skipped_tasks: usize,
}

/// Why a metric has no value.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undefined {
    /// All labels are missing, or there are no rows.
    #[error("there are no labels")]
    NoLabels,
    /// Every task has labels of one class only.
    #[error("none of the {tasks} tasks has labels of both classes")]
    OneClass {
        /// Number of tasks.
        tasks: usize,
    },
    /// All labels of every target column are equal.
    #[error("the targets do not vary")]
    NoVariance,
    /// Several classes have no ranking.
    #[error("a ranking needs yes/no targets or two classes, and there are {classes} classes")]
    Classes {
        /// Number of classes.
        classes: usize,
    },
    /// A prediction that is not a finite number.
    #[error("the prediction of row {row} is not a finite number")]
    NonFinite {
        /// The row.
        row: usize,
    },
}

/// Whether a larger value of the metric is better.
pub fn larger_is_better(metric: MetricKind) -> bool {
    !metric.is_regression()
}

/// Whether `new` is better than `old` by the metric.
pub fn is_better(metric: MetricKind, new: f64, old: f64) -> bool {
    if larger_is_better(metric) { new > old } else { new < old }
}

/// Fails at the first output that is not finite.
pub(super) fn check_finite(rows: Rows<'_>) -> Result<(), Undefined> {
    match rows.outputs.iter().position(|output| !output.is_finite()) {
        None => Ok(()),
        Some(at) => Err(Undefined::NonFinite { row: at / rows.columns.max(1) }),
    }
}

/// Computes a metric over all rows.
///
/// # Errors
///
/// [`Undefined`] if it has no value.
pub fn evaluate(metric: MetricKind, rows: Rows<'_>) -> Result<Score, Undefined> {
    check_finite(rows)?;
    let whole = |value: Result<f64, Undefined>| value.map(|value| Score { value, skipped_tasks: 0 });
    match metric {
        MetricKind::MeanAbsoluteError => whole(mae::mae(rows)),
        MetricKind::RootMeanSquaredError => whole(regression::rmse(rows)),
        MetricKind::Accuracy => whole(accuracy::accuracy(&answers(rows))),
        MetricKind::AccuracyClassMean => {
            whole(over_targets(rows, |rows| accuracy_class_mean::accuracy_class_mean(&answers(rows))))
        }
        MetricKind::F1Macro => {
            whole(over_targets(rows, |rows| f1_macro::f1_macro(&answers(rows), classes(rows))))
        }
        MetricKind::RocAuc
        | MetricKind::AveragePrecision
        | MetricKind::HitsAt20
        | MetricKind::HitsAt50
        | MetricKind::HitsAt100 => {
            if is_binary(rows) {
                return over_tasks(rows, |scored| ranked(metric, scored));
            }
            if !has_ranking(rows.columns, rows.target_columns) {
                return Err(Undefined::Classes { classes: rows.columns });
            }
            // How much more likely the second class is than the first.
            let odds: Vec<f32> = rows.outputs.chunks_exact(2).map(|scores| scores[1] - scores[0]).collect();
            over_tasks(Rows { outputs: &odds, columns: 1, ..rows }, |scored| ranked(metric, scored))
        }
    }
}

/// A metric of scores against yes/no labels of both kinds, one task; sorts the scores.
pub(super) fn ranked(metric: MetricKind, scored: &mut [(f64, bool)]) -> f64 {
    match (metric, metric.hits_at()) {
        (_, Some(k)) => hits::hits_at(k, scored),
        (MetricKind::AveragePrecision, _) => average_precision::average_precision(scored),
        _ => roc_auc::roc_auc(scored),
    }
}

/// Whether answers of this shape can be ranked: one output for every target, or two classes.
pub(crate) fn has_ranking(outputs: usize, targets: usize) -> bool {
    outputs == targets || (outputs, targets) == (2, 1)
}

/// An answer next to the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Answer {
    said: usize,
    truth: usize,
}

/// Whether there is one output per target column, each the log-odds of yes; else there is one per class.
fn is_binary(rows: Rows<'_>) -> bool {
    rows.columns == rows.target_columns
}

/// Number of classes that an answer can be one of.
fn classes(rows: Rows<'_>) -> usize {
    if is_binary(rows) { 2 } else { rows.columns }
}

/// The class that each labelled row is given: the largest output (the first among equals), or whether the one output
/// is positive where there is one output per target column.
fn answers(rows: Rows<'_>) -> Vec<Answer> {
    if is_binary(rows) {
        let labelled = rows.entries().filter(|(_, target)| !target.is_nan());
        return labelled
            .map(|(output, target)| Answer { said: usize::from(output > 0.0), truth: target as usize })
            .collect();
    }
    rows.iter()
        .filter(|(_, targets)| !targets[0].is_nan())
        .map(|(outputs, targets)| {
            let said = first_largest(outputs).unwrap_or(0);
            Answer { said, truth: targets[0] as usize }
        })
        .collect()
}

/// The unweighted mean of a metric over those of several yes/no targets that have labels. A yes of one target and a yes of another
/// are no class together: who knows nothing but which target is which would seem to know them.
fn over_targets(
    rows: Rows<'_>,
    metric: impl Fn(Rows<'_>) -> Result<f64, Undefined>,
) -> Result<f64, Undefined> {
    if !is_binary(rows) || rows.columns < 2 {
        return metric(rows);
    }
    let column = |values: &[f32], at: usize| -> Vec<f32> {
        values.iter().skip(at).step_by(rows.columns).copied().collect()
    };
    let mut values = Vec::with_capacity(rows.columns);
    for at in 0..rows.columns {
        let (outputs, targets) = (column(rows.outputs, at), column(rows.targets, at));
        match metric(Rows { outputs: &outputs, columns: 1, targets: &targets, target_columns: 1 }) {
            Err(Undefined::NoLabels) => {}
            value => values.push(value?),
        }
    }
    match values.len() {
        0 => Err(Undefined::NoLabels),
        count => Ok(values.iter().sum::<f64>() / count as f64),
    }
}

/// The unweighted mean over tasks of a metric of scores against yes/no labels. As OGB does, missing labels are left
/// out and so are tasks whose labels are all of one class.
///
/// Scores are the probabilities that predictions give, so that whoever computes the metric from a table of predictions
/// finds the same: log-odds that are so large that the probabilities are equal are no ranking.
fn over_tasks(rows: Rows<'_>, metric: impl Fn(&mut [(f64, bool)]) -> f64) -> Result<Score, Undefined> {
    let tasks = rows.target_columns;
    let (mut sum, mut counted, mut labels) = (0.0, 0usize, 0usize);
    for task in 0..tasks {
        let mut scored: Vec<(f64, bool)> = rows
            .iter()
            .filter(|(_, targets)| !targets[task].is_nan())
            .map(|(outputs, targets)| (probability(outputs[task]), targets[task] > 0.5))
            .collect();
        labels += scored.len();
        let positives = scored.iter().filter(|(_, label)| *label).count();
        if positives > 0 && positives < scored.len() {
            sum += metric(&mut scored);
            counted += 1;
        }
    }
    match (labels, counted) {
        (0, _) => Err(Undefined::NoLabels),
        (_, 0) => Err(Undefined::OneClass { tasks }),
        _ => Ok(Score { value: sum / counted as f64, skipped_tasks: tasks - counted }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f32 = f32::NAN;

    #[test]
    fn tasks_with_one_class_are_left_out_of_the_mean_and_counted() {
        // Task 0: one pair, rightly ordered. Task 1: only positives. Task 2: only missing.
        let rows = Rows {
            outputs: &[0.9, 0.1, 0.0, 0.2, 0.3, 0.0],
            columns: 3,
            targets: &[1.0, 1.0, NAN, 0.0, 1.0, NAN],
            target_columns: 3,
        };
        for metric in [MetricKind::RocAuc, MetricKind::AveragePrecision] {
            assert_eq!(evaluate(metric, rows), Ok(Score { value: 1.0, skipped_tasks: 2 }));
        }
    }

    #[test]
    fn log_odds_beyond_every_probability_are_no_ranking() {
        // Both probabilities are written as 1.
        let rows = Rows { outputs: &[4000.0, 3000.0], columns: 1, targets: &[1.0, 0.0], target_columns: 1 };
        for metric in [MetricKind::RocAuc, MetricKind::AveragePrecision] {
            assert_eq!(evaluate(metric, rows).unwrap().value, 0.5);
        }
    }

    #[test]
    fn two_classes_are_ranked_by_their_odds_and_several_not_at_all() {
        let outputs = &[5.0, -5.0, -5.0, 5.0];
        let rows = Rows { outputs, columns: 2, targets: &[0.0, 1.0], target_columns: 1 };
        for metric in [MetricKind::RocAuc, MetricKind::AveragePrecision] {
            assert_eq!(evaluate(metric, rows).unwrap().value, 1.0);
            let swapped = Rows { targets: &[1.0, 0.0], ..rows };
            assert!(evaluate(metric, swapped).unwrap().value < 0.6);
        }
        let three = Rows { outputs: &[0.0; 6], columns: 3, ..rows };
        assert_eq!(evaluate(MetricKind::RocAuc, three), Err(Undefined::Classes { classes: 3 }));
    }

    #[test]
    fn undefined_metrics_say_why() {
        let rows = Rows { outputs: &[0.0, 1.0], columns: 1, targets: &[1.0, 1.0], target_columns: 1 };
        assert_eq!(evaluate(MetricKind::RocAuc, rows), Err(Undefined::OneClass { tasks: 1 }));
        let unlabelled = Rows { targets: &[NAN, NAN], ..rows };
        for metric in [MetricKind::RocAuc, MetricKind::MeanAbsoluteError, MetricKind::Accuracy] {
            assert_eq!(evaluate(metric, unlabelled), Err(Undefined::NoLabels));
        }
        let broken = Rows { outputs: &[0.0, NAN], ..rows };
        assert_eq!(evaluate(MetricKind::MeanAbsoluteError, broken), Err(Undefined::NonFinite { row: 1 }));
    }

    #[test]
    fn the_answer_is_the_first_of_the_largest_outputs_or_the_sign_of_one_logit() {
        let rows = Rows {
            outputs: &[1.0, 1.0, 0.0, -3.0, -2.0, -1.0],
            columns: 3,
            targets: &[1.0, 2.0],
            target_columns: 1,
        };
        assert_eq!(answers(rows), vec![Answer { said: 0, truth: 1 }, Answer { said: 2, truth: 2 }]);
        let logits = Rows { outputs: &[0.1, -0.1], columns: 1, targets: &[0.0, 0.0], target_columns: 1 };
        assert_eq!(answers(logits), vec![Answer { said: 1, truth: 0 }, Answer { said: 0, truth: 0 }]);
    }
}
