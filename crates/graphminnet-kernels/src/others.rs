//! Rows that other holders have: sums over all of them.

use std::fmt::Debug;

/// Holders of other rows of the same matrix, each with a process or thread of its own.
///
/// A kernel that needs a sum over all rows asks here, on the thread that called the kernel and never on another, because
/// the answer may have to be waited for. Every holder must make the same calls in the same order, and gets the same bits.
pub trait Others: Debug + Send + Sync {
    /// Replaces the number of rows at hand, the means of their channels and the sums of squared deviations from these,
    /// `[1 + 2·channels]`, by those of all rows.
    fn join_moments(&self, moments: &mut [f64]);

    /// Replaces sums over the rows at hand by those over all rows.
    fn join_sums(&self, sums: &mut [f64]);
}

/// The same in single precision.
pub(crate) fn join_sums(others: &dyn Others, sums: &mut [f32]) {
    let mut joined: Vec<f64> = sums.iter().map(|&sum| f64::from(sum)).collect();
    others.join_sums(&mut joined);
    sums.iter_mut().zip(joined).for_each(|(sum, joined)| *sum = joined as f32);
}
