//! Cross entropy: `mean −log softmax(outputs)[class]` over the rows that have a class.

use super::super::Rows;
use super::{LossError, LossValue, Weighing, as_it_is};

pub(super) fn evaluate(rows: Rows<'_>, weighing: Weighing<'_>) -> Result<Option<LossValue>, LossError> {
    weighted(rows, weighing, &vec![1.0; rows.columns], &as_it_is)
}

/// `Σ weight[class]·of(nll) / Σ weight[class]`, where `of` gives a value and its slope; `None` if the weights sum to zero.
pub(super) fn weighted(
    rows: Rows<'_>,
    weighing: Weighing<'_>,
    weights: &[f64],
    of: &dyn Fn(f64) -> (f64, f64),
) -> Result<Option<LossValue>, LossError> {
    let mut labels = 0;
    let mut total = 0.0;
    for class in classes(rows) {
        if let Some(class) = class? {
            labels += 1;
            total += weights[class];
        }
    }
    if total == 0.0 {
        return Ok(None);
    }
    let mut sum = 0.0;
    let mut gradient = Vec::with_capacity(rows.outputs.len());
    for (row, ((outputs, _), class)) in rows.iter().zip(classes(rows)).enumerate() {
        let Some(class) = class? else {
            gradient.resize(gradient.len() + outputs.len(), 0.0);
            continue;
        };
        let share = weighing.of(row, &rows) * weights[class] / total;
        let log_sum = log_sum_exp(outputs);
        let (value, slope) = of(log_sum - f64::from(outputs[class]));
        sum += share * value;
        gradient.extend(outputs.iter().enumerate().map(|(column, output)| {
            let probability = (f64::from(*output) - log_sum).exp();
            (share * slope * (probability - f64::from(u8::from(column == class)))) as f32
        }));
    }
    Ok(Some(LossValue { value: sum, labels, gradient }))
}

/// The class of every row; `None` where it is missing.
pub(super) fn classes(rows: Rows<'_>) -> impl Iterator<Item = Result<Option<usize>, LossError>> {
    let classes = rows.columns;
    rows.targets.iter().enumerate().map(move |(row, &value)| read_class(row, value, classes))
}

/// A class as a number; `None` for NaN.
pub(in crate::task) fn read_class(
    row: usize,
    value: f32,
    classes: usize,
) -> Result<Option<usize>, LossError> {
    if value.is_nan() {
        return Ok(None);
    }
    let class = value as usize;
    if value < 0.0 || class as f32 != value || class >= classes {
        return Err(LossError::Label { row, value, classes });
    }
    Ok(Some(class))
}

/// `−log softmax(outputs)[class]`.
#[cfg(feature = "train")]
pub(in crate::task) fn negative_log_likelihood(outputs: &[f32], class: usize) -> f64 {
    log_sum_exp(outputs) - f64::from(outputs[class])
}

/// `log Σ exp`, without overflow.
fn log_sum_exp(values: &[f32]) -> f64 {
    let largest = values.iter().fold(f32::NEG_INFINITY, |max, value| max.max(*value));
    let largest = f64::from(largest);
    largest + values.iter().map(|value| (f64::from(*value) - largest).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIKE: Weighing<'static> = Weighing { rows: &[], columns: &[], bounds: &[] };

    #[test]
    fn large_outputs_do_not_overflow_and_missing_rows_take_no_part() {
        let rows = Rows {
            outputs: &[1000.0, 0.0, -1000.0, 5.0, 5.0, 5.0, 0.0, 0.0, 0.0],
            columns: 3,
            targets: &[1.0, f32::NAN, 2.0],
            target_columns: 1,
        };
        let loss = evaluate(rows, ALIKE).unwrap().unwrap();
        assert!((loss.value - (1000.0 + 3f64.ln()) / 2.0).abs() < 1e-9, "{}", loss.value);
        assert_eq!(loss.labels, 2);
        assert_eq!(&loss.gradient[..6], &[0.5, -0.5, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_label_that_is_no_class_is_refused() {
        for value in [3.0, -1.0, 0.5, f32::INFINITY] {
            let rows = Rows { outputs: &[0.0; 3], columns: 3, targets: &[value], target_columns: 1 };
            assert_eq!(evaluate(rows, ALIKE).unwrap_err(), LossError::Label { row: 0, value, classes: 3 });
        }
    }
}
