//! Split-conformal prediction: intervals and sets that hold the truth with a chosen probability.
//!
//! From labelled graphs that were not trained on, the error at the right rank is taken: the ⌈(n + 1)·level⌉-th smallest
//! of n. For graphs from the same source, the interval `prediction ± error`, or the set of all classes whose probability
//! is at least `1 − error`, then holds the truth with probability at least `level` (and at most `level + 1/(n + 1)` where
//! no two errors are equal). Nothing is assumed about the model or the noise; but graphs of another kind than those of
//! the calibration get no such promise. A set may be empty: then no class is as likely as the true ones usually are.

use super::{AnswerKind, Ensemble, PredictError};
use graphminnet_data::Dataset;
use graphminnet_data::Graph;
use std::sync::Arc;
use thiserror::Error;

/// Why a calibration is not possible.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum ConformalError {
    /// Not a probability that makes sense.
    #[error("level {level}: expected a number between 0 and 1, both excluded")]
    Level {
        /// The level.
        level: f64,
    },
    /// Not enough labels for the level.
    #[error(
        "target `{target}`: {found} labels are too few to calibrate at level {level}; at least {needed} are needed, or a lower level"
    )]
    TooFew {
        /// The target column.
        target: String,
        /// Labels that there are.
        found: usize,
        /// Labels that are needed.
        needed: usize,
        /// The level.
        level: f64,
    },
    /// A graph of the calibration has no prediction.
    #[error(transparent)]
    Predict(#[from] PredictError),
}

/// The error that is not exceeded with the chosen probability, per target column.
#[derive(Debug, Clone, PartialEq)]
pub struct Conformal {
    level: f64,
    kind: AnswerKind,
    radii: Vec<f64>,
    counts: Vec<usize>,
}

impl Conformal {
    /// Calibrates an ensemble on labelled graphs, which must not have been trained on.
    ///
    /// # Errors
    ///
    /// [`ConformalError`].
    pub fn calibrate(ensemble: &Ensemble, dataset: &Dataset, level: f64) -> Result<Self, ConformalError> {
        check_level(level)?;
        let graphs: Vec<Arc<Graph>> =
            dataset.samples.iter().map(|sample| Arc::clone(&sample.graph)).collect();
        let answers = ensemble.answer(&graphs);
        let targets = &ensemble.description().schema.targets;
        let mut errors = vec![Vec::new(); targets.len()];
        for (graph, sample) in dataset.samples.iter().enumerate() {
            let answer = answers.graph(graph).map_err(PredictError::in_graph(graph))?;
            for (row, labels) in answer.rows().zip(sample.targets.chunks(targets.len().max(1))) {
                collect(answers.kind(), &row.values(), labels, &mut errors);
            }
        }
        Self::from_errors(answers.kind(), targets, errors, level)
    }

    fn from_errors(
        kind: AnswerKind,
        targets: &[String],
        errors: Vec<Vec<f64>>,
        level: f64,
    ) -> Result<Self, ConformalError> {
        let counts = errors.iter().map(Vec::len).collect();
        let mut radii = Vec::with_capacity(errors.len());
        for (target, mut errors) in targets.iter().zip(errors) {
            errors.sort_by(f64::total_cmp);
            let rank = rank(errors.len(), level);
            let Some(radius) = rank.checked_sub(1).and_then(|at| errors.get(at)) else {
                let needed = (1..).find(|count| rank_fits(*count, level)).unwrap_or(usize::MAX);
                let (target, found) = (target.clone(), errors.len());
                return Err(ConformalError::TooFew { target, found, needed, level });
            };
            radii.push(*radius);
        }
        Ok(Self { level, kind, radii, counts })
    }

    /// The probability with which the truth is inside.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// Labels that every target column was calibrated on.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// The interval around a number; everything if there is no such target.
    pub fn interval(&self, target: usize, value: f64) -> (f64, f64) {
        let radius = self.radii.get(target).copied().unwrap_or(f64::INFINITY);
        (value - radius, value + radius)
    }

    /// Whether an answer of this probability belongs to the set of a target.
    pub fn holds(&self, target: usize, probability: f64) -> bool {
        1.0 - probability <= self.radii.get(target).copied().unwrap_or(f64::INFINITY)
    }

    /// The classes in the set of a row with these values: of a yes/no target, 0 (no) and 1 (yes); else all classes.
    pub fn set(&self, target: usize, values: &[f64]) -> Vec<usize> {
        let probabilities = match self.kind {
            AnswerKind::Numbers => return Vec::new(),
            AnswerKind::Binary => {
                let yes = values.get(target).copied().unwrap_or(0.5);
                vec![1.0 - yes, yes]
            }
            AnswerKind::Classes => values.to_vec(),
        };
        (0..probabilities.len()).filter(|class| self.holds(target, probabilities[*class])).collect()
    }
}

fn check_level(level: f64) -> Result<(), ConformalError> {
    if level > 0.0 && level < 1.0 { Ok(()) } else { Err(ConformalError::Level { level }) }
}

/// ⌈(n + 1)·level⌉, forgiving the last bits of the product.
fn rank(count: usize, level: f64) -> usize {
    ((count as f64 + 1.0) * level - 1e-9).ceil().max(1.0) as usize
}

fn rank_fits(count: usize, level: f64) -> bool {
    rank(count, level) <= count
}

/// How wrong the values of a row are, for every target that has a label.
fn collect(kind: AnswerKind, values: &[f64], labels: &[f32], errors: &mut [Vec<f64>]) {
    for (target, (label, errors)) in labels.iter().zip(errors).enumerate() {
        if label.is_nan() {
            continue;
        }
        let value = |at: usize| values.get(at).copied().unwrap_or(0.0);
        errors.push(match kind {
            AnswerKind::Numbers => (value(target) - f64::from(*label)).abs(),
            AnswerKind::Binary if *label > 0.5 => 1.0 - value(target),
            AnswerKind::Binary => value(target),
            AnswerKind::Classes => 1.0 - value(*label as usize),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(errors: Vec<f64>, level: f64) -> Result<Conformal, ConformalError> {
        Conformal::from_errors(AnswerKind::Numbers, &["y".to_owned()], vec![errors], level)
    }

    #[test]
    fn the_error_at_the_right_rank_is_taken() {
        // ⌈(9 + 1)·0.9⌉ = 9: the largest of nine. Of nineteen, the 18th.
        let errors = |count: u32| (1..=count).rev().map(f64::from).collect::<Vec<_>>();
        assert_eq!(fitted(errors(9), 0.9).unwrap().interval(0, 100.0), (91.0, 109.0));
        assert_eq!(fitted(errors(19), 0.9).unwrap().interval(0, 0.0), (-18.0, 18.0));
        assert_eq!(fitted(errors(19), 0.5).unwrap().interval(0, 0.0), (-10.0, 10.0));
    }

    #[test]
    fn too_few_labels_say_how_many_are_needed() {
        let error = fitted(vec![1.0; 8], 0.9).unwrap_err();
        assert_eq!(error, ConformalError::TooFew { target: "y".into(), found: 8, needed: 9, level: 0.9 });
        assert!(fitted(vec![1.0; 9], 0.9).is_ok());
        assert!(matches!(check_level(1.0), Err(ConformalError::Level { .. })));
        assert!(matches!(check_level(f64::NAN), Err(ConformalError::Level { .. })));
    }

    #[test]
    fn sets_hold_the_classes_that_are_likely_enough() {
        let sets = Conformal { level: 0.9, kind: AnswerKind::Classes, radii: vec![0.7], counts: vec![9] };
        assert_eq!(sets.set(0, &[0.3, 0.6, 0.1]), [0, 1]);
        let answers = Conformal { kind: AnswerKind::Binary, radii: vec![0.7, 0.2], ..sets };
        assert_eq!(answers.set(0, &[0.5, 0.9]), [0, 1]);
        assert_eq!(answers.set(1, &[0.5, 0.9]), [1]);
        assert!(answers.set(1, &[0.5, 0.5]).is_empty());
    }
}
