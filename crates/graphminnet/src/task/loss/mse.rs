//! Mean squared error: `mean (output − target)²` over the labels that are there.

use super::super::Rows;
use super::{LossValue, Weighing, mean_over_errors};

pub(super) fn evaluate(rows: Rows<'_>, weighing: Weighing<'_>) -> Option<LossValue> {
    mean_over_errors(rows, weighing, |error| (error * error, 2.0 * error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIKE: Weighing<'static> = Weighing { rows: &[], columns: &[], bounds: &[] };

    #[test]
    fn errors_count_by_their_squares_and_missing_targets_take_no_part() {
        let targets = [3.0, f32::NAN, -1.0];
        let rows = Rows { outputs: &[1.0, 5.0, 0.0], columns: 1, targets: &targets, target_columns: 1 };
        let loss = evaluate(rows, ALIKE).unwrap();
        assert_eq!((loss.value, loss.labels), (2.5, 2));
        assert_eq!(loss.gradient, vec![-2.0, 0.0, 1.0]);
    }
}
