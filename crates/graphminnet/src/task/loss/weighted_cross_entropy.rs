//! Cross entropy with class weights from the batch: `weight_k = (V − c_k)/V` for classes that occur, else 0, where
//! `c_k` of the `V` labels are of class `k`; then `Σ weight[y]·nll / Σ weight[y]`.
//!
//! A batch in which all labels are of one class weighs nothing and gives no loss.

use super::super::Rows;
use super::cross_entropy::{classes, weighted};
use super::{LossError, LossValue, Weighing, as_it_is};

pub(super) fn evaluate(rows: Rows<'_>, weighing: Weighing<'_>) -> Result<Option<LossValue>, LossError> {
    let mut counts = vec![0usize; rows.columns];
    for class in classes(rows) {
        if let Some(class) = class? {
            counts[class] += 1;
        }
    }
    weighted(rows, weighing, &class_weights(&counts), &as_it_is)
}

/// `(V − c)/V` for every class that occurs, 0 for the others.
pub(super) fn class_weights(counts: &[usize]) -> Vec<f64> {
    let labels: usize = counts.iter().sum();
    counts
        .iter()
        .map(|&count| if count == 0 { 0.0 } else { (labels - count) as f64 / labels as f64 })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIKE: Weighing<'static> = Weighing { rows: &[], columns: &[], bounds: &[] };

    #[test]
    fn weights_are_those_of_the_other_classes() {
        assert_eq!(class_weights(&[3, 1, 0]), vec![0.25, 0.75, 0.0]);
        assert_eq!(class_weights(&[4, 0]), vec![0.0, 0.0]);
    }

    #[test]
    fn a_batch_of_one_class_gives_no_loss() {
        let rows =
            Rows { outputs: &[0.0, 1.0, 2.0, 3.0], columns: 2, targets: &[1.0, 1.0], target_columns: 1 };
        assert_eq!(evaluate(rows, ALIKE).unwrap(), None);
    }
}
