//! Mean absolute error over all labels of all rows (not a mean of batch means).

use super::super::Rows;
use super::Undefined;

pub(super) fn mae(rows: Rows<'_>) -> Result<f64, Undefined> {
    let (mut sum, mut labels) = (0.0, 0usize);
    for (output, target) in rows.entries().filter(|(_, target)| !target.is_nan()) {
        sum += (f64::from(output) - f64::from(target)).abs();
        labels += 1;
    }
    if labels == 0 { Err(Undefined::NoLabels) } else { Ok(sum / labels as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_weighs_the_same() {
        let rows = Rows {
            outputs: &[1.0, 2.0, 3.0, 4.0],
            columns: 2,
            targets: &[0.0, f32::NAN, 5.0, 4.0],
            target_columns: 2,
        };
        assert_eq!(mae(rows), Ok(1.0));
    }
}
