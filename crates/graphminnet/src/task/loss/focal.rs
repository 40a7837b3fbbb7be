//! Focal losses: of a label to which the model gives the probability `p`, `−(1 − p)^γ·log p`, averaged over labels, so that
//! those it is sure of count little and the hard ones are learnt. With `γ = 0` they are the cross entropies.

use super::super::Rows;
use super::{LossError, LossValue, Weighing, binary_cross_entropy, cross_entropy};

/// Over classes.
pub(super) fn of_classes(
    rows: Rows<'_>,
    weighing: Weighing<'_>,
    gamma: f64,
) -> Result<Option<LossValue>, LossError> {
    cross_entropy::weighted(rows, weighing, &vec![1.0; rows.columns], &|nll| emphasised(nll, gamma))
}

/// Over any number of yes/no labels.
pub(super) fn of_labels(
    rows: Rows<'_>,
    weighing: Weighing<'_>,
    gamma: f64,
) -> Result<Option<LossValue>, LossError> {
    binary_cross_entropy::weighted(rows, weighing, [1.0; 2], &|nll| emphasised(nll, gamma))
}

/// `(1 − p)^γ·nll` for `nll = −log p`, and its slope with respect to `nll`.
fn emphasised(nll: f64, gamma: f64) -> (f64, f64) {
    // Exact where p is close to 1; the slope is that of the limit where it is 1.
    let doubt = -(-nll).exp_m1();
    if gamma == 0.0 {
        return (nll, 1.0);
    }
    if doubt <= 0.0 {
        return (0.0, 0.0);
    }
    let weight = doubt.powf(gamma);
    (weight * nll, weight + gamma * weight / doubt * (1.0 - doubt) * nll)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loss;
    use crate::task::loss::{Objective, evaluate};

    const CLASSES: Rows<'_> = Rows {
        outputs: &[1.5, -0.5, 0.25, 0.0, 3.0, -2.0, 0.5, 0.5, 0.5, 9.0, 0.0, 0.0],
        columns: 3,
        targets: &[2.0, 1.0, f32::NAN, 0.0],
        target_columns: 1,
    };
    const LABELS: Rows<'_> = Rows {
        outputs: &[0.5, -1.0, 4.0, -3.0],
        columns: 2,
        targets: &[1.0, 1.0, f32::NAN, 0.0],
        target_columns: 2,
    };

    fn objective(loss: Loss, gamma: f64) -> Objective<'static> {
        Objective { gamma, ..loss.into() }
    }

    #[test]
    fn without_emphasis_they_are_the_cross_entropies() {
        for (focal, plain, rows) in [
            (Loss::FocalCrossEntropy, Loss::CrossEntropy, CLASSES),
            (Loss::FocalBinaryCrossEntropy, Loss::BinaryCrossEntropy, LABELS),
        ] {
            assert_eq!(evaluate(objective(focal, 0.0), rows), evaluate(plain, rows));
        }
    }

    #[test]
    fn a_single_label_has_the_value_of_the_formula() {
        // A logit of ln 3 is a probability of 3/4.
        let rows = Rows { outputs: &[3f32.ln()], columns: 1, targets: &[1.0], target_columns: 1 };
        let loss = evaluate(objective(Loss::FocalBinaryCrossEntropy, 2.0), rows).unwrap().unwrap();
        assert!((loss.value - 0.0625 * (4f64 / 3.0).ln()).abs() < 1e-7, "{}", loss.value);
    }

    #[test]
    fn gradients_are_those_of_the_values() {
        for (loss, rows) in [(Loss::FocalCrossEntropy, CLASSES), (Loss::FocalBinaryCrossEntropy, LABELS)] {
            for gamma in [0.5, 1.0, 2.0, 5.0] {
                let at = |outputs: &[f32]| {
                    evaluate(objective(loss, gamma), Rows { outputs, ..rows }).unwrap().unwrap()
                };
                let gradient = at(rows.outputs).gradient;
                for place in 0..rows.outputs.len() {
                    let moved = |by: f32| {
                        let mut outputs = rows.outputs.to_vec();
                        outputs[place] += by;
                        at(&outputs).value
                    };
                    let step = 1.0 / 256.0;
                    let expected = (moved(step) - moved(-step)) / f64::from(2.0 * step);
                    let found = f64::from(gradient[place]);
                    assert!((found - expected).abs() < 1e-4, "{loss} {gamma} {place}: {found}, {expected}");
                }
            }
        }
    }

    #[test]
    fn labels_that_the_model_is_sure_of_do_not_overflow() {
        for gamma in [0.5, 2.0] {
            let rows = Rows { outputs: &[1e4, -1e4], columns: 1, targets: &[1.0, 1.0], target_columns: 1 };
            let loss = evaluate(objective(Loss::FocalBinaryCrossEntropy, gamma), rows).unwrap().unwrap();
            assert!((loss.value - 5e3).abs() < 1e-9, "{}", loss.value);
            assert_eq!(loss.gradient, [0.0, -0.5]);
        }
    }
}
