//! Root mean squared error over all labels, and R² by target column.

use super::Rows;
use super::metric::Undefined;

/// Root of the mean squared error over all labels.
pub(super) fn rmse(rows: Rows<'_>) -> Result<f64, Undefined> {
    let (mut sum, mut labels) = (0.0, 0usize);
    for (output, target) in rows.entries().filter(|(_, target)| !target.is_nan()) {
        sum += (f64::from(output) - f64::from(target)).powi(2);
        labels += 1;
    }
    if labels == 0 { Err(Undefined::NoLabels) } else { Ok((sum / labels as f64).sqrt()) }
}

/// Mean over target columns of the share of the variance that is explained; a constant column has none.
pub(super) fn r2(rows: Rows<'_>) -> Result<f64, Undefined> {
    let columns = rows.target_columns.max(1);
    let (mut sum, mut counted, mut labels) = (0.0, 0usize, 0usize);
    for column in 0..columns {
        let entries = || {
            rows.entries()
                .skip(column)
                .step_by(columns)
                .filter(|(_, target)| !target.is_nan())
                .map(|(output, target)| (f64::from(output), f64::from(target)))
        };
        let count = entries().count();
        labels += count;
        let mean = entries().map(|(_, target)| target).sum::<f64>() / count.max(1) as f64;
        let total: f64 = entries().map(|(_, target)| (target - mean).powi(2)).sum();
        let left: f64 = entries().map(|(output, target)| (target - output).powi(2)).sum();
        if total > 0.0 {
            sum += 1.0 - left / total;
            counted += 1;
        }
    }
    match (labels, counted) {
        (0, _) => Err(Undefined::NoLabels),
        (_, 0) => Err(Undefined::NoVariance),
        _ => Ok(sum / counted as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let nan = f32::NAN;
        let rows = Rows {
            outputs: &[1.0, 5.0, 2.0, 5.0, 3.0, 0.0],
            columns: 2,
            targets: &[1.0, 5.0, 3.0, 5.0, 2.0, nan],
            target_columns: 2,
        };
        // Squares 0, 1, 1 in the first column (total 2), 0, 0 in the second (constant).
        assert_eq!(rmse(rows), Ok((2.0f64 / 5.0).sqrt()));
        assert_eq!(r2(rows), Ok(0.0));
        let constant = Rows { outputs: &[1.0], columns: 1, targets: &[1.0], target_columns: 1 };
        assert_eq!(r2(constant), Err(Undefined::NoVariance));
    }
}
