//! The worst single error: the row that a mean hides.

use super::Rows;
use super::loss::{binary_nll, negative_log_likelihood, read_class};
use crate::config::Loss;

/// The largest error of a single label.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Worst {
    /// The row.
    pub row: usize,
    /// Its error: the absolute difference for regression, the negative log-likelihood in nats for classes.
    pub error: f64,
}

/// Finds the label with the largest error; an error that is not a number counts as infinite.
///
/// `None` if no label is there.
pub(crate) fn worst_error(loss: Loss, rows: Rows<'_>) -> Option<Worst> {
    let mut worst: Option<Worst> = None;
    let mut offer = |row: usize, error: f64| {
        let error = if error.is_nan() { f64::INFINITY } else { error };
        if worst.is_none_or(|worst| error > worst.error) {
            worst = Some(Worst { row, error });
        }
    };
    for (row, (outputs, targets)) in rows.iter().enumerate() {
        match loss {
            Loss::CrossEntropy | Loss::WeightedCrossEntropy | Loss::FocalCrossEntropy => {
                if let Some(Ok(Some(class))) =
                    targets.first().map(|target| read_class(row, *target, outputs.len()))
                {
                    offer(row, negative_log_likelihood(outputs, class));
                }
            }
            _ => {
                for (&output, &target) in outputs.iter().zip(targets).filter(|(_, target)| !target.is_nan()) {
                    offer(
                        row,
                        if loss.is_regression() {
                            (f64::from(output) - f64::from(target)).abs()
                        } else {
                            binary_nll(output, usize::from(target > 0.5))
                        },
                    );
                }
            }
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_error_is_found_and_nan_counts_as_infinite() {
        let rows =
            Rows { outputs: &[0.0, 3.0, 1.0], columns: 1, targets: &[0.5, 1.0, f32::NAN], target_columns: 1 };
        assert_eq!(worst_error(Loss::L1, rows), Some(Worst { row: 1, error: 2.0 }));
        let rows = Rows { outputs: &[f32::NAN, 3.0, 1.0], ..rows };
        assert_eq!(worst_error(Loss::L1, rows), Some(Worst { row: 0, error: f64::INFINITY }));
        assert_eq!(worst_error(Loss::L1, Rows { targets: &[f32::NAN; 3], ..rows }), None);
    }
}
