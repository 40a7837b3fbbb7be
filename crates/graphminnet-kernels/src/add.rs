//! Sums of arrays and rows of the same length; the gradient of a value that was used twice is such a sum.

use crate::parallel::{Disjoint, for_each_piece};

/// Values handled by one piece of work.
const PIECE: usize = 16_384;

/// `sum[i] += x[i]`.
///
/// # Panics
///
/// If the lengths differ.
pub fn accumulate(sum: &mut [f32], x: &[f32]) {
    assert_eq!(sum.len(), x.len(), "accumulate: the arrays differ in length");
    let count = sum.len();
    let sum = Disjoint::new(sum);
    for_each_piece(count, PIECE, |range| {
        // SAFETY: pieces are disjoint.
        let sum = unsafe { sum.range(range.clone()) };
        for (sum, x) in sum.iter_mut().zip(&x[range]) {
            *sum += x;
        }
    });
}

/// `sum += row`, inside of a kernel.
#[inline(always)]
pub(crate) fn add_row(sum: &mut [f32], row: &[f32]) {
    let row = &row[..sum.len()];
    for c in 0..sum.len() {
        sum[c] += row[c];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_added_once() {
        for length in [0, 1, 7, PIECE, 3 * PIECE + 5] {
            let x: Vec<f32> = (0..length).map(|i| i as f32).collect();
            let mut sum: Vec<f32> = (0..length).map(|i| 0.5 - i as f32).collect();
            accumulate(&mut sum, &x);
            assert!(sum.iter().all(|value| *value == 0.5), "{length}");
        }
    }

    #[test]
    #[should_panic(expected = "differ in length")]
    fn lengths_must_agree() {
        accumulate(&mut [0.0; 3], &[1.0; 2]);
    }
}
