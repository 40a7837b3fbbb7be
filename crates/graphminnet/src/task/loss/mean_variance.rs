//! The negative log-likelihood of labels under normal distributions whose mean and variance the model says: the mean of
//! `½·(ln 2π + ln σ² + z²)` with `z = (mean − label)/σ` over the labels that are there.
//!
//! Of a bound it is the negative logarithm of the probability of the values on its side: `−ln Φ(z)` of one from below,
//! `−ln Φ(−z)` of one from above.

use super::super::Rows;
use super::super::normal::{LOG_ROOT_TWO_PI, log_probability_below};
use super::super::spread::log_variance;
use super::{LossValue, Weighing};
use graphminnet_data::Side;

pub(super) fn evaluate(rows: Rows<'_>, weighing: Weighing<'_>) -> Option<LossValue> {
    let labels = rows.targets.iter().filter(|target| !target.is_nan()).count();
    if labels == 0 {
        return None;
    }
    let targets = rows.target_columns;
    let mut sum = 0.0;
    let mut gradient = vec![0.0; rows.outputs.len()];
    let slopes = gradient.chunks_exact_mut(rows.columns);
    for (row, ((outputs, truths), slopes)) in rows.iter().zip(slopes).enumerate() {
        for (target, truth) in truths.iter().enumerate().filter(|(_, truth)| !truth.is_nan()) {
            let label = row * targets + target;
            let (log_variance, slope) = log_variance(f64::from(outputs[targets + target]));
            let deviation = (0.5 * log_variance).exp();
            let z = (f64::from(outputs[target]) - f64::from(*truth)) / deviation;
            // The value, and its slopes with respect to the mean in units of the deviation and to the logarithm.
            let (value, by_mean, by_log_variance) = match weighing.bound(label) {
                None => (LOG_ROOT_TWO_PI + 0.5 * (log_variance + z * z), z, 0.5 * (1.0 - z * z)),
                Some(Side::AtLeast) => {
                    let (log, ratio) = log_probability_below(z);
                    (-log, -ratio, 0.5 * ratio * z)
                }
                Some(Side::AtMost) => {
                    let (log, ratio) = log_probability_below(-z);
                    (-log, ratio, -0.5 * ratio * z)
                }
            };
            let weight = weighing.of(label, &rows);
            sum += weight * value;
            slopes[target] = (weight * by_mean / deviation / labels as f64) as f32;
            slopes[targets + target] = (weight * by_log_variance * slope / labels as f64) as f32;
        }
    }
    Some(LossValue { value: sum / labels as f64, labels, gradient })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIKE: Weighing<'static> = Weighing { rows: &[], columns: &[], bounds: &[] };

    #[test]
    fn a_label_at_the_mean_costs_the_logarithm_of_the_density_there() {
        // σ² = 1 (but for the bend of the range) and σ² = e².
        let rows = Rows {
            outputs: &[3.0, 2.0, 1.0, 2.0, 9.0, 9.0],
            columns: 2,
            targets: &[3.0, 1.0, f32::NAN],
            target_columns: 1,
        };
        let loss = evaluate(rows, ALIKE).unwrap();
        let variance = log_variance(2.0).0;
        assert!((variance - 2.0).abs() < 0.02, "{variance}");
        let expected = (2.0 * std::f64::consts::PI).ln() / 2.0 + variance / 2.0;
        assert!((loss.value - expected).abs() < 1e-12, "{}", loss.value);
        assert_eq!((loss.labels, loss.gradient[0]), (2, 0.0));
        assert!(loss.gradient[1] > 0.0, "less variance would be better");
        assert_eq!(loss.gradient[4..], [0.0, 0.0], "what has no label");
        assert_eq!(evaluate(Rows { targets: &[f32::NAN; 3], ..rows }, ALIKE), None);
    }

    #[test]
    fn a_bound_costs_the_logarithm_of_the_probability_of_its_side() {
        let outputs = [1.0, 0.0, 1.0, 0.0, -900.0, -100.0];
        let bounds = [Some(Side::AtLeast), Some(Side::AtMost), Some(Side::AtLeast)];
        let rows = Rows { outputs: &outputs, columns: 2, targets: &[1.0, 1.0, 1.0], target_columns: 1 };
        let of = |at: usize| {
            let rows = Rows { outputs: &outputs[2 * at..2 * at + 2], targets: &[1.0], ..rows };
            evaluate(rows, Weighing { bounds: &bounds[at..=at], ..ALIKE }).unwrap()
        };
        assert!(
            (of(0).value - 2f64.ln()).abs() < 1e-12
                && of(1) == LossValue { gradient: vec![-of(0).gradient[0], 0.0], ..of(0) }
        );
        // Far on the wrong side with the least variance: huge, but a number with a slope that leads back.
        let far = of(2);
        assert!(far.value.is_finite() && far.gradient[0] < 0.0 && far.gradient[0].is_finite(), "{far:?}");
    }
}
