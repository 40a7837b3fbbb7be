//! How much labels count in a loss: by their row, by their column, and not at all where a bound is kept.

use super::super::Rows;
use graphminnet_data::Side;

/// Factors of the labels; the loss is divided by their number, not by the factors, so that those of a whole training part
/// are 1 in the mean or change the learning rate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Weighing<'a> {
    /// One per row; empty where all rows count alike.
    pub rows: &'a [f32],
    /// One per target column; empty where all columns count alike.
    pub columns: &'a [f64],
    /// For each target whether it is a bound, and on which side the value is; empty where none is.
    pub bounds: &'a [Option<Side>],
}

impl Weighing<'_> {
    /// The side that the value of a target is known to be on, where the target is a bound.
    pub(super) fn bound(&self, label: usize) -> Option<Side> {
        self.bounds.get(label).copied().flatten()
    }

    /// Whether a target is a bound, and an output with this error, `output − target`, is on the right side of it.
    pub(super) fn is_kept(&self, label: usize, error: f64) -> bool {
        match self.bound(label) {
            None => false,
            Some(Side::AtLeast) => error >= 0.0,
            Some(Side::AtMost) => error <= 0.0,
        }
    }

    /// The factor of a label, given its place among the targets.
    pub(super) fn of(&self, label: usize, rows: &Rows<'_>) -> f64 {
        let columns = rows.target_columns.max(1);
        let row = self.rows.get(label / columns).copied().map_or(1.0, f64::from);
        row * self.columns.get(label % columns).copied().unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loss;
    use crate::task::loss::{LossValue, evaluate, evaluate_weighing};

    const ROWS: [f32; 3] = [0.5, 0.0, 2.5];
    const COLUMNS: [f64; 2] = [0.25, 1.75];

    /// The sum over labels of what each costs alone, times its factors, over the number of labels: each label is asked
    /// about with all others hidden. Class weights of a batch do not exist then, so losses that have them are not asked.
    fn reference(loss: Loss, rows: Rows<'_>, weighing: Weighing<'_>) -> (f64, Vec<f64>) {
        let labels = rows.targets.iter().filter(|target| !target.is_nan()).count() as f64;
        let (mut value, mut gradient) = (0.0, vec![0.0; rows.outputs.len()]);
        for (at, target) in rows.targets.iter().enumerate().filter(|(_, target)| !target.is_nan()) {
            let mut alone = vec![f32::NAN; rows.targets.len()];
            alone[at] = *target;
            let one = evaluate(loss, Rows { targets: &alone, ..rows }).unwrap().unwrap();
            let row = weighing.rows.get(at / rows.target_columns).map_or(1.0, |weight| f64::from(*weight));
            let factor = row * weighing.columns.get(at % rows.target_columns).unwrap_or(&1.0) / labels;
            value += factor * one.value;
            let slopes = gradient.iter_mut().zip(one.gradient);
            slopes.for_each(|(sum, slope)| *sum += factor * f64::from(slope));
        }
        (value, gradient)
    }

    fn close(found: &LossValue, (value, gradient): &(f64, Vec<f64>)) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        let mut slopes = found.gradient.iter().zip(gradient);
        near(found.value, *value) && slopes.all(|(found, slope)| near(f64::from(*found), *slope))
    }

    #[test]
    fn every_loss_is_that_of_its_labels_alone_times_their_factors() {
        let outputs = [0.3, -2.0, 1.5, 0.0, -0.7, 4.0];
        let numbers = [1.0, -1.5, f32::NAN, 0.25, 2.0, 0.0];
        let answers = [1.0, 0.0, f32::NAN, 1.0, 0.0, 0.0];
        let rows = Rows { outputs: &outputs, columns: 2, targets: &numbers, target_columns: 2 };
        let yes_no = Rows { targets: &answers, ..rows };
        let classes = Rows { targets: &[1.0, 0.0, 1.0], target_columns: 1, ..rows };
        let more: [f32; 18] = std::array::from_fn(|at| (at * 7 % 11) as f32 / 4.0 - 1.2);
        let both = Weighing { rows: &ROWS, columns: &COLUMNS, bounds: &[] };
        let by_row = Weighing { columns: &[], ..both };
        for (loss, rows, weighing) in [
            (Loss::L1, rows, both),
            (Loss::Mse, rows, both),
            (Loss::Huber, rows, by_row),
            (Loss::BinaryCrossEntropy, yes_no, both),
            (Loss::FocalBinaryCrossEntropy, yes_no, both),
            (Loss::CrossEntropy, classes, by_row),
            (Loss::FocalCrossEntropy, classes, by_row),
            (Loss::MeanVariance, Rows { outputs: &more[..12], columns: 4, ..rows }, both),
            (Loss::Quantile, Rows { outputs: &more, columns: 6, ..rows }, both),
        ] {
            let found = evaluate_weighing(loss, rows, weighing).unwrap().unwrap();
            let expected = reference(loss, rows, weighing);
            assert!(close(&found, &expected), "{loss}: {found:?}, {expected:?}");
            assert_ne!(found.value, evaluate(loss, rows).unwrap().unwrap().value, "{loss}");
        }
    }

    #[test]
    fn weights_of_rows_multiply_weights_of_classes() {
        let classes = Rows {
            outputs: &[0.5, 0.0, 1.0, -1.0, 0.0, 2.0],
            columns: 2,
            targets: &[0.0, 1.0, 1.0],
            target_columns: 1,
        };
        let yes_no = Rows { outputs: &[0.5, -1.0, 2.0], columns: 1, ..classes };
        for (loss, rows) in
            [(Loss::WeightedCrossEntropy, classes), (Loss::WeightedBinaryCrossEntropy, yes_no)]
        {
            let plain = evaluate(loss, rows).unwrap().unwrap();
            let weighing = Weighing { rows: &ROWS, columns: &[], bounds: &[] };
            let found = evaluate_weighing(loss, rows, weighing).unwrap().unwrap();
            for (at, (found, plain)) in found.gradient.iter().zip(&plain.gradient).enumerate() {
                assert!((found - plain * ROWS[at / rows.columns]).abs() < 1e-6, "{loss} {at}");
            }
        }
    }

    #[test]
    fn factors_of_one_change_no_bit() {
        let rows = Rows { outputs: &[0.3, -2.0], columns: 1, targets: &[1.1, 0.7], target_columns: 1 };
        let ones = Weighing { rows: &[1.0; 2], columns: &[1.0], bounds: &[None; 2] };
        assert_eq!(evaluate_weighing(Loss::Mse, rows, ones), evaluate(Loss::Mse, rows));
    }

    #[test]
    fn a_bound_costs_nothing_where_it_is_kept_and_else_what_a_number_does() {
        let (more, less) = (Some(Side::AtLeast), Some(Side::AtMost));
        let targets = [1.0, 1.0, 1.0, 1.0, 1.0, f32::NAN];
        let bounds = [more, more, less, less, None, more];
        let outputs = [3.0, 0.5, 3.0, 0.5, 3.0, 9.0];
        let rows = Rows { outputs: &outputs, columns: 1, targets: &targets, target_columns: 1 };
        let weighing = Weighing { bounds: &bounds, ..Weighing::default() };
        for loss in [Loss::L1, Loss::Mse, Loss::Huber] {
            let plain = evaluate(loss, rows).unwrap().unwrap();
            let found = evaluate_weighing(loss, rows, weighing).unwrap().unwrap();
            assert_eq!(found.labels, 5, "a bound that is kept is a label");
            for (at, kept) in [true, false, false, true, false, true].into_iter().enumerate() {
                let expected = if kept { 0.0 } else { plain.gradient[at] };
                assert_eq!(found.gradient[at], expected, "{loss} {at}");
            }
            // The value is the one whose slopes these are.
            for at in 0..outputs.len() {
                let moved = |by: f32| {
                    let mut outputs = outputs;
                    outputs[at] += by;
                    evaluate_weighing(loss, Rows { outputs: &outputs, ..rows }, weighing)
                        .unwrap()
                        .unwrap()
                        .value
                };
                let slope = (moved(1.0 / 256.0) - moved(-1.0 / 256.0)) * 128.0;
                assert!((slope - f64::from(found.gradient[at])).abs() < 1e-4, "{loss} {at}: {slope}");
            }
            let exactly = Rows { outputs: &[1.0; 6], ..rows };
            assert_eq!(evaluate_weighing(loss, exactly, weighing).unwrap().unwrap().gradient, [0.0; 6]);
        }
        let nothing = Rows { outputs: &[f32::NAN; 6], ..rows };
        let value = evaluate_weighing(Loss::Mse, nothing, weighing).unwrap().unwrap().value;
        assert!(value.is_nan(), "an output that is no number keeps no bound");
    }
}
