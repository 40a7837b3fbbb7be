//! Huber's loss: half the square of an error of up to 1, and from there on its absolute value less one half.
//!
//! With targets that are scaled to a deviation of 1, an error of 1 is as large as that of knowing nothing.

use super::super::Rows;
use super::{LossValue, Weighing, mean_over_errors};

pub(super) fn evaluate(rows: Rows<'_>, weighing: Weighing<'_>) -> Option<LossValue> {
    mean_over_errors(rows, weighing, |error| match error.abs() {
        size if size > 1.0 => (size - 0.5, error.signum()),
        _ => (0.5 * error * error, error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIKE: Weighing<'static> = Weighing { rows: &[], columns: &[], bounds: &[] };

    #[test]
    fn small_errors_count_by_their_squares_and_large_ones_by_their_size() {
        let rows =
            Rows { outputs: &[0.5, 4.0, f32::NAN], columns: 1, targets: &[0.0, 1.0, 0.0], target_columns: 1 };
        let two = Rows { outputs: &[0.5, 4.0], targets: &[0.0, 1.0], ..rows };
        let loss = evaluate(two, ALIKE).unwrap();
        assert_eq!((loss.value, loss.labels), ((0.125 + 2.5) / 2.0, 2));
        assert_eq!(loss.gradient, vec![0.25, 0.5]);
        assert!(evaluate(rows, ALIKE).unwrap().value.is_nan(), "an output that is no number is not hidden");
    }
}
