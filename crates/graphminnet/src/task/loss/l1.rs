//! Mean absolute error: `mean |output − target|` over the labels that are there.

use super::super::Rows;
use super::{LossValue, Weighing, mean_over_errors};

pub(super) fn evaluate(rows: Rows<'_>, weighing: Weighing<'_>) -> Option<LossValue> {
    mean_over_errors(rows, weighing, |error| {
        // NaN stays NaN; the slope at the kink is 0.
        let slope = if error == 0.0 { 0.0 } else { error.signum() };
        (error.abs(), slope)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIKE: Weighing<'static> = Weighing { rows: &[], columns: &[], bounds: &[] };

    #[test]
    fn missing_targets_take_no_part() {
        let rows = Rows {
            outputs: &[1.0, 5.0, -1.0],
            columns: 1,
            targets: &[3.0, f32::NAN, -1.0],
            target_columns: 1,
        };
        let loss = evaluate(rows, ALIKE).unwrap();
        assert_eq!((loss.value, loss.labels), (1.0, 2));
        assert_eq!(loss.gradient, vec![-0.5, 0.0, 0.0]);
        assert_eq!(evaluate(Rows { targets: &[f32::NAN; 3], ..rows }, ALIKE), None);
    }
}
