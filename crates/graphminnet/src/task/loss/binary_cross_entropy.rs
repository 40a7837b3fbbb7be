//! Binary cross entropy with logits, over any number of independent labels: the mean of
//! `max(x, 0) − x·y + log(1 + exp(−|x|))` over the labels that are there.

use super::super::Rows;
use super::{LossError, LossValue, Weighing, as_it_is};

pub(super) fn evaluate(rows: Rows<'_>, weighing: Weighing<'_>) -> Result<Option<LossValue>, LossError> {
    weighted(rows, weighing, [1.0; 2], &as_it_is)
}

/// The mean over labels of `weights[label]·of(bce)`, where `of` gives a value and its slope (the mean is not divided by the
/// weights).
pub(super) fn weighted(
    rows: Rows<'_>,
    weighing: Weighing<'_>,
    weights: [f64; 2],
    of: &dyn Fn(f64) -> (f64, f64),
) -> Result<Option<LossValue>, LossError> {
    let labels = rows.targets.iter().filter(|target| !target.is_nan()).count();
    if labels == 0 || weights == [0.0; 2] {
        return Ok(None);
    }
    let mut sum = 0.0;
    let mut gradient = Vec::with_capacity(rows.outputs.len());
    for (at, (output, target)) in rows.entries().enumerate() {
        if target.is_nan() {
            gradient.push(0.0);
            continue;
        }
        let label = binary_label(at / rows.target_columns, target)?;
        let weight = weighing.of(at, &rows) * weights[label] / labels as f64;
        let (value, slope) = of(binary_nll(output, label));
        sum += weight * value;
        gradient.push((weight * slope * (sigmoid(f64::from(output)) - label as f64)) as f32);
    }
    Ok(Some(LossValue { value: sum, labels, gradient }))
}

pub(super) fn binary_label(row: usize, value: f32) -> Result<usize, LossError> {
    match value {
        0.0 => Ok(0),
        1.0 => Ok(1),
        _ => Err(LossError::Label { row, value, classes: 2 }),
    }
}

/// `−log` of the probability that the logit gives to the label.
pub(in crate::task) fn binary_nll(logit: f32, label: usize) -> f64 {
    let x = f64::from(logit);
    x.max(0.0) - x * label as f64 + (-x.abs()).exp().ln_1p()
}

fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIKE: Weighing<'static> = Weighing { rows: &[], columns: &[], bounds: &[] };

    #[test]
    fn extreme_logits_are_exact_and_the_slope_at_zero_is_one_half() {
        let rows = Rows {
            outputs: &[1000.0, -1000.0, 0.0, 7.0],
            columns: 1,
            targets: &[0.0, 1.0, 0.0, f32::NAN],
            target_columns: 1,
        };
        let loss = evaluate(rows, ALIKE).unwrap().unwrap();
        assert!((loss.value - (2000.0 + 2f64.ln()) / 3.0).abs() < 1e-9, "{}", loss.value);
        assert_eq!(loss.gradient, vec![1.0 / 3.0, -1.0 / 3.0, 0.5 / 3.0, 0.0]);
        assert_eq!(loss.labels, 3);
    }

    #[test]
    fn a_label_between_the_classes_is_refused() {
        let rows = Rows { outputs: &[0.0; 4], columns: 2, targets: &[0.0, 1.0, 1.0, 0.5], target_columns: 2 };
        assert_eq!(evaluate(rows, ALIKE).unwrap_err(), LossError::Label { row: 1, value: 0.5, classes: 2 });
    }
}
