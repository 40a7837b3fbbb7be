//! The pinball loss: of an output for the quantile of level `q`, `q·(label − output)` where the label is above it and
//! `(1 − q)·(output − label)` where it is below; the mean over quantiles, and over the labels that are there.
//!
//! It is least where a share `q` of the labels is below the output. A bound that an output keeps costs nothing, any other
//! as much as a number (Powell's censored quantile regression).

use super::super::Rows;
use super::{LossValue, Weighing};

/// `levels` are those of the blocks of outputs, in their order.
pub(super) fn evaluate(rows: Rows<'_>, weighing: Weighing<'_>, levels: &[f64]) -> Option<LossValue> {
    let labels = rows.targets.iter().filter(|target| !target.is_nan()).count();
    if labels == 0 {
        return None;
    }
    let targets = rows.target_columns;
    let parts = (labels * levels.len()) as f64;
    let mut sum = 0.0;
    let mut gradient = vec![0.0; rows.outputs.len()];
    let slopes = gradient.chunks_exact_mut(rows.columns);
    for (row, ((outputs, truths), slopes)) in rows.iter().zip(slopes).enumerate() {
        for (target, truth) in truths.iter().enumerate().filter(|(_, truth)| !truth.is_nan()) {
            let label = row * targets + target;
            let weight = weighing.of(label, &rows);
            for (block, level) in levels.iter().enumerate() {
                let place = block * targets + target;
                let error = f64::from(outputs[place]) - f64::from(*truth);
                if weighing.is_kept(label, error) {
                    continue;
                }
                sum += weight * pinball(*level, error);
                slopes[place] = (weight * slope(*level, error) / parts) as f32;
            }
        }
    }
    Some(LossValue { value: sum / parts, labels, gradient })
}

/// The loss of an error, `output − label`; one that is no number stays so.
pub(crate) fn pinball(level: f64, error: f64) -> f64 {
    if error < 0.0 { -level * error } else { (1.0 - level) * error }
}

/// Its slope; that at the kink is 0.
fn slope(level: f64, error: f64) -> f64 {
    if error == 0.0 {
        0.0
    } else if error < 0.0 {
        -level
    } else {
        1.0 - level
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIKE: Weighing<'static> = Weighing { rows: &[], columns: &[], bounds: &[] };

    #[test]
    fn by_hand() {
        // Blocks 0.5, 0.1, 0.9 of two columns, one of which has no label.
        let outputs = [2.0, 9.0, 0.0, 9.0, 4.0, 9.0];
        let rows = Rows { outputs: &outputs, columns: 6, targets: &[1.0, f32::NAN], target_columns: 2 };
        let loss = evaluate(rows, ALIKE, &[0.5, 0.1, 0.9]).unwrap();
        // 0.5·1 above the label, 0.1·1 below it, 0.1·3 above it.
        assert!((loss.value - 0.9 / 3.0).abs() < 1e-12 && loss.labels == 1, "{loss:?}");
        let expected = [0.5 / 3.0, 0.0, -0.1 / 3.0, 0.0, 0.1 / 3.0, 0.0];
        assert!(loss.gradient.iter().zip(expected).all(|(a, b)| (a - b as f32).abs() < 1e-7), "{loss:?}");
        assert_eq!(evaluate(Rows { targets: &[f32::NAN; 2], ..rows }, ALIKE, &[0.5, 0.1, 0.9]), None);
    }

    #[test]
    fn the_median_alone_is_half_the_absolute_error() {
        let rows =
            Rows { outputs: &[3.0, 0.0, f32::NAN], columns: 1, targets: &[1.0, 5.0, 1.0], target_columns: 1 };
        let two = Rows { outputs: &rows.outputs[..2], targets: &rows.targets[..2], ..rows };
        assert_eq!(evaluate(two, ALIKE, &[0.5]).unwrap().value, 0.5 * 3.5);
        assert!(evaluate(rows, ALIKE, &[0.5]).unwrap().value.is_nan(), "what is no number is not hidden");
    }
}
