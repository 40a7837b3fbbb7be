//! Binary cross entropy with class weights from the batch: `weight_k = (V − c_k)/V` for classes that occur, and the
//! mean over labels of `weight[y]·bce` (not divided by the sum of the weights).

use super::super::Rows;
use super::binary_cross_entropy::{binary_label, weighted};
use super::weighted_cross_entropy::class_weights;
use super::{LossError, LossValue, Weighing, as_it_is};

pub(super) fn evaluate(rows: Rows<'_>, weighing: Weighing<'_>) -> Result<Option<LossValue>, LossError> {
    let mut counts = [0usize; 2];
    for (row, &target) in rows.targets.iter().enumerate() {
        if !target.is_nan() {
            counts[binary_label(row, target)?] += 1;
        }
    }
    let weights = class_weights(&counts);
    weighted(rows, weighing, [weights[0], weights[1]], &as_it_is)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIKE: Weighing<'static> = Weighing { rows: &[], columns: &[], bounds: &[] };

    #[test]
    fn weights_multiply_but_do_not_divide() {
        // Three zeros weigh 1/4, one one weighs 3/4; every bce is ln 2.
        let rows = Rows { outputs: &[0.0; 4], columns: 1, targets: &[0.0, 0.0, 1.0, 0.0], target_columns: 1 };
        let loss = evaluate(rows, ALIKE).unwrap().unwrap();
        assert!((loss.value - 2f64.ln() * 1.5 / 4.0).abs() < 1e-12, "{}", loss.value);
        assert_eq!(evaluate(Rows { targets: &[1.0; 4], ..rows }, ALIKE).unwrap(), None);
    }
}
