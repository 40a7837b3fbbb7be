//! Whether probabilities are as large as they say: the expected calibration error, and the Brier score.

use super::metric::Undefined;
use super::{Rows, probability};

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
    let labelled = rows.iter().filter(|(_, targets)| !targets[0].is_nan());
    labelled
        .map(|(outputs, targets)| {
            let said =
                (0..outputs.len()).fold(0, |best, at| if outputs[at] > outputs[best] { at } else { best });
            let largest = outputs.get(said).copied().unwrap_or(0.0);
            let sum: f64 = outputs.iter().map(|output| f64::from(output - largest).exp()).sum();
            (1.0 / sum, targets[0] as usize == said)
        })
        .collect()
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

/// The mean square of the distance between probability and truth.
pub(super) fn brier(said: &[Said]) -> Result<f64, Undefined> {
    let sum: f64 = said.iter().map(|(chance, truth)| (chance - f64::from(u8::from(*truth))).powi(2)).sum();
    if said.is_empty() { Err(Undefined::NoLabels) } else { Ok(sum / said.len() as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // Two of 0.75 with one true, one of 0.25 that is false: (|1.5 − 1| + |0.25 − 0|) / 3.
        let said = [(0.75, true), (0.75, false), (0.25, false)];
        assert_eq!(expected_error(&said), Ok(0.25));
        assert_eq!(brier(&said), Ok((0.0625 + 0.5625 + 0.0625) / 3.0));
        assert_eq!(expected_error(&[(1.0, true), (0.0, false)]), Ok(0.0));
        assert_eq!(expected_error(&[]), Err(Undefined::NoLabels));
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
