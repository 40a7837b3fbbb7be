//! Split-conformal prediction: intervals and sets that hold the truth with a chosen probability.
//!
//! From labelled graphs that were not trained on, the error at the right rank is taken: the ⌈(n + 1)·level⌉-th smallest
//! of n. For graphs from the same source, the interval `prediction ± error`, or the set of all classes whose probability
//! is at least `1 − error`, then holds the truth with probability at least `level` (and at most `level + 1/(n + 1)` where
//! no two errors are equal). Nothing is assumed about the model or the noise; but graphs of another kind than those of
//! the calibration get no such promise. A set may be empty: then no class is as likely as the true ones usually are.
//!
//! Several models know where they are unsure, and so does one that learnt it (loss `mean_variance`): errors of numbers are
//! then measured in units of their deviation (never less than its median on the calibration), so that an interval is wide
//! where the models disagree or are unsure and narrow where they are not. What is promised stays nearly the same: the median is that of
//! the calibration, which changes with the order of 1/n.

use super::isotonic::Isotonic;
use super::platt::Platt;
use super::{Answer, AnswerKind, AnswerRow, Coverage, Ensemble, PredictError};
use graphminnet_data::Dataset;
use graphminnet_data::Graph;
use std::sync::Arc;
use thiserror::Error;

/// How sure intervals and sets are unless another level is asked for.
pub const DEFAULT_LEVEL: f64 = 0.9;

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

/// How probabilities of yes are made as large as what happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Correction {
    /// Two numbers: a slope and a shift of the log-odds (Platt's scaling). The order of answers stays.
    #[default]
    Platt,
    /// Any rising curve (isotonic regression): follows more, and wants a few hundred labels. Answers may become equal.
    Isotonic,
}

impl Correction {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Platt => "platt",
            Self::Isotonic => "isotonic",
        }
    }
}

impl std::str::FromStr for Correction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = [Self::Platt, Self::Isotonic].into_iter().find(|correction| correction.word() == text);
        found.ok_or_else(|| "expected platt or isotonic".to_owned())
    }
}

/// The error that is not exceeded with the chosen probability, per target column.
#[derive(Debug, Clone, PartialEq)]
pub struct Conformal {
    level: f64,
    kind: AnswerKind,
    targets: Vec<String>,
    radii: Vec<f64>,
    counts: Vec<usize>,
    /// The spread of the models that an error is at least measured by, per target; 0 where errors count as they are.
    floors: Vec<f64>,
    /// What was said about the graphs of the calibration, sorted, per column of values.
    reference: Vec<Vec<f64>>,
    /// For yes/no targets, what makes probabilities as large as what happens; `None` where the labels are of one kind.
    platt: Vec<Option<Platt>>,
    /// The same by another way.
    isotonic: Vec<Option<Isotonic>>,
    correction: Correction,
}

/// A labelled row: how wrong it is about a target, and how far the models were apart.
type Miss = (f64, f64);

impl Conformal {
    /// Calibrates an ensemble on labelled graphs, which must neither have been trained on nor have chosen the epoch.
    ///
    /// # Errors
    ///
    /// [`ConformalError`].
    pub fn calibrate(ensemble: &Ensemble, dataset: &Dataset, level: f64) -> Result<Self, ConformalError> {
        let graphs: Vec<Arc<Graph>> =
            dataset.samples.iter().map(|sample| Arc::clone(&sample.graph)).collect();
        let answers = ensemble.answer(&graphs);
        let labelled = dataset.samples.iter().enumerate().map(|(graph, sample)| {
            let answer = answers.graph(graph).map_err(PredictError::in_graph(graph))?;
            Ok((answer, sample.targets.as_slice()))
        });
        let labelled = labelled.collect::<Result<Vec<_>, PredictError>>()?;
        let found = Self::fit(answers.kind(), &ensemble.description().schema.targets, labelled, level)?;
        match found.counts.iter().position(|count| !rank_fits(*count, level)) {
            None => Ok(found),
            Some(at) => {
                let needed = needed(level);
                let (target, found) = (found.targets[at].clone(), found.counts[at]);
                Err(ConformalError::TooFew { target, found, needed, level })
            }
        }
    }

    /// Calibrates on what was said about graphs, beside their labels. A target with too few of them for the level gets
    /// intervals without an end.
    pub(super) fn fit<'a>(
        kind: AnswerKind,
        targets: &[String],
        labelled: impl IntoIterator<Item = (Answer<'a>, &'a [f32])>,
        level: f64,
    ) -> Result<Self, ConformalError> {
        check_level(level)?;
        let mut misses = vec![Vec::new(); targets.len()];
        let mut reference: Vec<Vec<f64>> = Vec::new();
        let mut chances: Vec<Vec<(f64, bool)>> = vec![Vec::new(); targets.len()];
        for (answer, labels) in labelled {
            for (row, labels) in answer.rows().zip(labels.chunks(targets.len().max(1))) {
                let values = row.values();
                reference.resize(values.len(), Vec::new());
                reference.iter_mut().zip(&values).for_each(|(column, value)| column.push(*value));
                collect(kind, &values, &row.deviations(), labels, &mut misses);
                for ((said, label), chances) in values.iter().zip(labels).zip(&mut chances) {
                    if !label.is_nan() {
                        chances.push((*said, *label > 0.5));
                    }
                }
            }
        }
        reference.iter_mut().for_each(|column| column.sort_by(f64::total_cmp));
        if kind != AnswerKind::Binary {
            chances.clear();
        }
        let platt = chances.iter().map(|said| Platt::fit(said)).collect();
        let isotonic = chances.iter().map(|said| Isotonic::fit(said)).collect();
        Ok(Self { reference, platt, isotonic, ..Self::from_misses(kind, targets, misses, level) })
    }

    fn from_misses(kind: AnswerKind, targets: &[String], misses: Vec<Vec<Miss>>, level: f64) -> Self {
        let counts = misses.iter().map(Vec::len).collect();
        let (mut radii, mut floors) = (Vec::with_capacity(misses.len()), Vec::with_capacity(misses.len()));
        for misses in misses {
            let floor = if kind == AnswerKind::Numbers { median_spread(&misses) } else { 0.0 };
            let mut errors: Vec<f64> =
                misses.iter().map(|(error, spread)| error / scale(floor, *spread)).collect();
            errors.sort_by(f64::total_cmp);
            let radius = rank(errors.len(), level).checked_sub(1).and_then(|at| errors.get(at));
            radii.push(radius.copied().unwrap_or(f64::INFINITY));
            floors.push(floor);
        }
        Self {
            level,
            kind,
            targets: targets.to_vec(),
            radii,
            counts,
            floors,
            reference: Vec::new(),
            platt: Vec::new(),
            isotonic: Vec::new(),
            correction: Correction::default(),
        }
    }

    /// The same, with probabilities corrected in another way.
    pub fn correcting_by(self, correction: Correction) -> Self {
        Self { correction, ..self }
    }

    /// The probability with which the truth is inside.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// Targets with too few labels for the level, each with their number and the least that is enough: their intervals have no
    /// end, and their sets hold everything.
    pub fn without_end(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        let found = self.targets.iter().zip(&self.counts);
        let needed = needed(self.level);
        found
            .filter(move |(_, count)| **count < needed)
            .map(move |(name, count)| (name.as_str(), *count, needed))
    }

    /// Labels that every target column was calibrated on.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// What was said about the graphs of the calibration, sorted, per column of values.
    pub(super) fn reference(&self) -> &[Vec<f64>] {
        &self.reference
    }

    /// The interval around a number, of models that are this far apart; everything if there is no such target.
    pub fn interval(&self, target: usize, value: f64, spread: f64) -> (f64, f64) {
        let radius = match (self.radii.get(target), self.floors.get(target)) {
            (Some(radius), Some(floor)) => radius * scale(*floor, spread),
            _ => f64::INFINITY,
        };
        (value - radius, value + radius)
    }

    /// The probability of yes as large as what happened on the calibration (by Platt's scaling unless another way is
    /// [chosen](Conformal::correcting_by)); as it was said where the labels of the calibration are of one kind, or
    /// answers are not yes or no.
    pub fn corrected(&self, target: usize, probability: f64) -> f64 {
        let corrected = match self.correction {
            Correction::Platt => {
                self.platt.get(target).and_then(Option::as_ref).map(|platt| platt.correct(probability))
            }
            Correction::Isotonic => {
                self.isotonic.get(target).and_then(Option::as_ref).map(|curve| curve.correct(probability))
            }
        };
        corrected.unwrap_or(probability)
    }

    /// The classes in the set of a row with these values: of a yes/no target, 0 (no) and 1 (yes); else all classes.
    pub fn set(&self, target: usize, values: &[f64]) -> Vec<usize> {
        let radius = self.radii.get(target).copied().unwrap_or(f64::INFINITY);
        (0..)
            .zip(self.errors(target, values))
            .filter(|(_, error)| *error <= radius)
            .map(|(class, _)| class)
            .collect()
    }

    /// How wrong every class would make a row with these values. The calibration measured the same numbers, to the last bit:
    /// `1 − (1 − p)` may be more than `p`, and a radius may be the error of this very row.
    fn errors(&self, target: usize, values: &[f64]) -> Vec<f64> {
        match self.kind {
            AnswerKind::Numbers => Vec::new(),
            AnswerKind::Binary => {
                let yes = values.get(target).copied().unwrap_or(0.5);
                vec![yes, 1.0 - yes]
            }
            AnswerKind::Classes => values.iter().map(|likely| 1.0 - likely).collect(),
        }
    }

    /// How often intervals or sets hold the truth on labelled graphs, per target column.
    pub fn coverage<'a>(&self, labelled: impl IntoIterator<Item = (Answer<'a>, &'a [f32])>) -> Vec<Coverage> {
        let targets = self.radii.len();
        let start = |(target, count): (&String, &usize)| Coverage::new(target, self.level, *count);
        let mut coverage: Vec<Coverage> = self.targets.iter().zip(&self.counts).map(start).collect();
        for (answer, labels) in labelled {
            for (row, labels) in answer.rows().zip(labels.chunks(targets.max(1))) {
                let pairs = labels.iter().zip(&mut coverage).enumerate();
                for (target, (label, coverage)) in pairs.filter(|(_, (label, _))| !label.is_nan()) {
                    let (held, width) = self.judge(&row, target, *label);
                    coverage.add(held, width);
                }
            }
        }
        coverage
    }

    /// Whether the truth about a row is held, and how wide the interval (or large the set) is.
    fn judge(&self, row: &AnswerRow<'_>, target: usize, label: f32) -> (bool, f64) {
        let values = row.values();
        if self.kind != AnswerKind::Numbers {
            let set = self.set(target, &values);
            return (set.contains(&(label as usize)), set.len() as f64);
        }
        let spread = row.deviations().get(target).copied().unwrap_or(0.0);
        let (low, high) = self.interval(target, values.get(target).copied().unwrap_or(f64::NAN), spread);
        (low <= f64::from(label) && f64::from(label) <= high, high - low)
    }
}

/// What an error is measured by.
fn scale(floor: f64, spread: f64) -> f64 {
    if floor > 0.0 { floor.hypot(spread) } else { 1.0 }
}

fn median_spread(misses: &[Miss]) -> f64 {
    let mut spreads: Vec<f64> = misses.iter().map(|(_, spread)| *spread).collect();
    spreads.sort_by(f64::total_cmp);
    spreads.get(spreads.len() / 2).copied().unwrap_or(0.0)
}

fn check_level(level: f64) -> Result<(), ConformalError> {
    if level > 0.0 && level < 1.0 { Ok(()) } else { Err(ConformalError::Level { level }) }
}

/// ⌈(n + 1)·level⌉, forgiving the last bits of the product.
fn rank(count: usize, level: f64) -> usize {
    ((count as f64 + 1.0) * level - 1e-9).ceil().max(1.0) as usize
}

/// The least number of labels that is enough for a level.
fn needed(level: f64) -> usize {
    // n ≥ ⌈(n + 1)·level⌉ for n ≥ level / (1 − level), but for the last bits.
    let about = (level / (1.0 - level)).ceil() as usize;
    let near = about.saturating_sub(2).max(1)..=about.saturating_add(2);
    near.into_iter().find(|count| rank_fits(*count, level)).unwrap_or(about)
}

fn rank_fits(count: usize, level: f64) -> bool {
    rank(count, level) <= count
}

/// How wrong the values of a row are, for every target that has a label.
fn collect(kind: AnswerKind, values: &[f64], spreads: &[f64], labels: &[f32], misses: &mut [Vec<Miss>]) {
    for (target, (label, misses)) in labels.iter().zip(misses).enumerate() {
        if label.is_nan() {
            continue;
        }
        let value = |at: usize| values.get(at).copied().unwrap_or(0.0);
        let error = match kind {
            AnswerKind::Numbers => (value(target) - f64::from(*label)).abs(),
            AnswerKind::Binary if *label > 0.5 => 1.0 - value(target),
            AnswerKind::Binary => value(target),
            AnswerKind::Classes => 1.0 - value(*label as usize),
        };
        misses.push((error, spreads.get(target).copied().unwrap_or(0.0)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_number_of_labels_is_found_at_any_level() {
        for level in (1..1_000).map(|level| f64::from(level) / 1_000.0) {
            assert_eq!(Some(needed(level)), (1..).find(|count| rank_fits(*count, level)), "{level}");
        }
        assert_eq!(needed(0.99999), 99_999);
        assert!(needed(0.9999999999999999) > 1 << 52);
    }

    fn fitted(errors: Vec<f64>, level: f64) -> Conformal {
        let misses = errors.into_iter().map(|error| (error, 0.0)).collect();
        Conformal::from_misses(AnswerKind::Numbers, &["y".to_owned()], vec![misses], level)
    }

    #[test]
    fn the_error_at_the_right_rank_is_taken() {
        // ⌈(9 + 1)·0.9⌉ = 9: the largest of nine. Of nineteen, the 18th.
        let errors = |count: u32| (1..=count).rev().map(f64::from).collect::<Vec<_>>();
        assert_eq!(fitted(errors(9), 0.9).interval(0, 100.0, 0.0), (91.0, 109.0));
        assert_eq!(fitted(errors(19), 0.9).interval(0, 0.0, 0.0), (-18.0, 18.0));
        assert_eq!(fitted(errors(19), 0.5).interval(0, 0.0, 0.0), (-10.0, 10.0));
    }

    #[test]
    fn intervals_are_wide_where_the_models_disagree() {
        // Errors are ten times the spread, which is 1 for most graphs and 3 for the others.
        let misses: Vec<Miss> =
            (0..100).map(|at| if at % 4 == 0 { (30.0, 3.0) } else { (10.0, 1.0) }).collect();
        let found = Conformal::from_misses(AnswerKind::Numbers, &["y".to_owned()], vec![misses], 0.9);
        let width = |spread: f64| {
            let (low, high) = found.interval(0, 0.0, spread);
            high - low
        };
        // Both kinds of graphs are covered, and the sure ones have less than half the width.
        assert!(width(3.0) >= 60.0 && width(1.0) >= 20.0 && width(1.0) < width(3.0) / 2.0);
        assert!(width(0.0) > 0.0, "models that agree are not always right");
    }

    #[test]
    fn too_few_labels_make_intervals_without_an_end() {
        assert_eq!(fitted(vec![1.0; 8], 0.9).interval(0, 0.0, 0.0), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!(fitted(vec![1.0; 9], 0.9).interval(0, 0.0, 0.0), (-1.0, 1.0));
        assert!(matches!(check_level(1.0), Err(ConformalError::Level { .. })));
        assert!(matches!(check_level(f64::NAN), Err(ConformalError::Level { .. })));
    }

    #[test]
    fn sets_hold_the_classes_that_are_likely_enough() {
        let sets = Conformal {
            level: 0.9,
            kind: AnswerKind::Classes,
            targets: vec!["y".to_owned()],
            radii: vec![0.7],
            counts: vec![9],
            floors: vec![0.0],
            reference: vec![],
            platt: vec![],
            isotonic: vec![],
            correction: Correction::Platt,
        };
        assert_eq!(sets.set(0, &[0.3, 0.6, 0.1]), [0, 1]);
        let answers = Conformal { kind: AnswerKind::Binary, radii: vec![0.7, 0.2], ..sets };
        assert_eq!(answers.set(0, &[0.5, 0.9]), [0, 1]);
        assert_eq!(answers.set(1, &[0.5, 0.9]), [1]);
        assert!(answers.set(1, &[0.5, 0.5]).is_empty());
        // The error of a no is the probability of yes itself.
        let yes = 0.414_342_132_483_184_6;
        assert!(1.0 - (1.0 - yes) > yes, "the example is one that rounding changes");
        let tied = Conformal { radii: vec![yes], ..answers };
        assert_eq!(tied.set(0, &[yes]), [0]);
    }
}
