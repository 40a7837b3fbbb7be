//! Whether probabilities are as large as they say: the expected calibration error, and the Brier score.

use super::metric::Undefined;
use super::{Rows, class_probabilities, first_largest, probability};

/// Ranges of probability that are compared with what happened.
const RANGES: usize = 10;

/// A probability that was said, and whether what it stands for was true.
type Said = (f64, bool);

/// Probabilities of yes, over all labels of all targets.
pub(super) fn of_yes(rows: Rows<'_>) -> Vec<Said> {
    let labelled = rows.entries().filter(|(_, target)| !target.is_nan());
    labelled.map(|(output, target)| (probability(output), target > 0.5)).collect()
}

/// Probabilities of the classes that were said.
pub(super) fn of_said_class(rows: Rows<'_>) -> Vec<Said> {
    let said = |(outputs, class): (&[f32], usize)| {
        let said = first_largest(outputs).unwrap_or(0);
        (class_probabilities(outputs).get(said).copied().unwrap_or(1.0), class == said)
    };
    labelled_classes(&rows).map(said).collect()
}

/// Outputs and class of the rows that have one.
fn labelled_classes<'a>(rows: &'a Rows<'_>) -> impl Iterator<Item = (&'a [f32], usize)> {
    let labelled = rows.iter().filter(|(_, targets)| !targets[0].is_nan());
    labelled.map(|(outputs, targets)| (outputs, targets[0] as usize))
}

/// The mean over labels of the distance between probability and share of the true, in ten ranges of probability.
pub(crate) fn expected_error(said: &[Said]) -> Result<f64, Undefined> {
    let mut ranges = [(0.0, 0.0); RANGES];
    for (chance, truth) in said {
        let range = ((chance * RANGES as f64) as usize).min(RANGES - 1);
        let (chances, truths) = &mut ranges[range];
        *chances += chance;
        *truths += f64::from(u8::from(*truth));
    }
    let sum: f64 = ranges.iter().map(|(chances, truths): &(f64, f64)| (chances - truths).abs()).sum();
    if said.is_empty() { Err(Undefined::NoLabels) } else { Ok(sum / said.len() as f64) }
}

/// The mean square of the distance between the probability of yes and the truth.
pub(super) fn brier_of_yes(rows: Rows<'_>) -> Result<f64, Undefined> {
    mean(of_yes(rows).into_iter().map(|(chance, truth)| (chance - f64::from(u8::from(truth))).powi(2)))
}

/// The mean over rows of the sum over classes of these squares, from 0 to 2; of two classes half of it, which is that of yes and no.
pub(super) fn brier_of_classes(rows: Rows<'_>) -> Result<f64, Undefined> {
    let of_row = |(outputs, class): (&[f32], usize)| {
        let squares = class_probabilities(outputs).into_iter().enumerate();
        squares.map(|(at, chance)| (chance - f64::from(u8::from(at == class))).powi(2)).sum::<f64>()
    };
    let sum = mean(labelled_classes(&rows).map(of_row))?;
    Ok(if rows.columns == 2 { sum / 2.0 } else { sum })
}

fn mean(values: impl Iterator<Item = f64>) -> Result<f64, Undefined> {
    let (count, sum) = values.fold((0usize, 0.0), |(count, sum), value| (count + 1, sum + value));
    if count == 0 { Err(Undefined::NoLabels) } else { Ok(sum / count as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // Two of 0.75 with one true, one of 0.25 that is false: (|1.5 − 1| + |0.25 − 0|) / 3.
        let said = [(0.75, true), (0.75, false), (0.25, false)];
        assert_eq!(expected_error(&said), Ok(0.25));
        assert_eq!(expected_error(&[(1.0, true), (0.0, false)]), Ok(0.0));
        assert_eq!(expected_error(&[]), Err(Undefined::NoLabels));
    }

    #[test]
    fn the_brier_score_counts_all_classes_and_is_that_of_yes_and_no_for_two() {
        // Even odds among three classes: (1 − 1/3)² + 2·(1/3)², whichever is true.
        let rows = Rows { outputs: &[0.5; 6], columns: 3, targets: &[2.0, 0.0], target_columns: 1 };
        assert!((brier_of_classes(rows).unwrap() - 2.0 / 3.0).abs() < 1e-12);
        // Sure and wrong costs 2, whatever else is said of its confidence.
        let wrong = Rows { outputs: &[0.0, 90.0, 0.0], columns: 3, targets: &[0.0], target_columns: 1 };
        assert!((brier_of_classes(wrong).unwrap() - 2.0).abs() < 1e-12);
        let two =
            Rows { outputs: &[0.0, 1.5, 0.0, -0.5], columns: 2, targets: &[1.0, 1.0], target_columns: 1 };
        let odds = Rows { outputs: &[1.5, -0.5], columns: 1, ..two };
        assert!((brier_of_classes(two).unwrap() - brier_of_yes(odds).unwrap()).abs() < 1e-12);
        assert_eq!(brier_of_classes(Rows { targets: &[f32::NAN; 2], ..rows }), Err(Undefined::NoLabels));
    }

    #[test]
    fn log_odds_and_scores_become_the_same_probabilities() {
        let odds = Rows { outputs: &[2.0, -1.0], columns: 1, targets: &[1.0, f32::NAN], target_columns: 1 };
        let scores = Rows {
            outputs: &[1.0, 3.0, 0.0, -1.0],
            columns: 2,
            targets: &[1.0, f32::NAN],
            target_columns: 1,
        };
        assert_eq!(of_yes(odds), [(probability(2.0), true)]);
        assert!((of_said_class(scores)[0].0 - probability(2.0)).abs() < 1e-12);
        let far = Rows { outputs: &[900.0, -900.0], columns: 2, targets: &[0.0], target_columns: 1 };
        assert_eq!(of_said_class(far), [(1.0, true)]);
    }
}
