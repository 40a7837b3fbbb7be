//! `y = BN(t) + add` with `t = x + dropout(branch)`, the normalised residual sums of a layer.
//!
//! Shapes: `x`, `branch`, `add`, `t`, `y` are `[rows, channels]`; γ, β and the statistics `[channels]`. `branch` and
//! `add` may be absent; without `branch`, `t` is `x` itself and need not be stored.
//!
//! Gradient: `d_add = dy` (the caller passes it on), `dt` is that of the normalisation (see [`crate::batch_norm`]),
//! `dx = dt` and `d_branch = dt ⊙ mask`.

use crate::batch_norm::{
    Affine, GradientCoefficients, Statistics, UsedStatistics, add_moments, moments, statistics_among,
    sum_blocks,
};
use crate::dispatch::{Arithmetic, simd_fn};
use crate::dropout::{Dropout, Mask};
use crate::norm_relu_residual::{add_sums_row, through_norm_row};
use crate::parallel::{Disjoint, for_each_piece, rows_of, rows_per_piece};
use crate::scratch::Scratch;

/// The branch added to `x` before normalising.
pub struct Branch<'a> {
    /// `[rows, channels]`
    pub values: &'a [f32],
    /// Dropout of the branch.
    pub dropout: Option<Dropout>,
    /// Receives `t = x + dropout(branch)`, `[rows, channels]`. With given statistics and no backward pass to come it need
    /// not be stored.
    pub sum: Option<&'a mut [f32]>,
}

/// Computes `y` (and `t`, if there is a branch). Backward needs `t`, γ and the statistics used.
///
/// # Panics
///
/// If a slice has another length than its shape says, or there is no room for a sum whose statistics are wanted.
pub fn residual_norm(
    x: &[f32],
    branch: Option<Branch<'_>>,
    add: Option<&[f32]>,
    gamma: &[f32],
    beta: &[f32],
    statistics: Statistics<'_>,
    y: &mut [f32],
) {
    let channels = gamma.len();
    assert_eq!(x.len(), y.len(), "residual_norm: x and y differ in length");
    assert!(x.len().is_multiple_of(channels.max(1)), "residual_norm: length of x");
    assert!(add.is_none_or(|add| add.len() == y.len()), "residual_norm: length of add");
    let rows = x.len() / channels.max(1);
    let mut statistics = statistics;
    let t: &[f32] = match branch {
        None => {
            if let Statistics::Batch { mean, variance, others } = &mut statistics {
                assert_eq!(mean.len(), channels, "residual_norm: length of the mean");
                statistics_among(x, *others, mean, variance);
            }
            x
        }
        Some(Branch { values, dropout, sum }) => {
            assert_eq!(values.len(), x.len(), "residual_norm: length of the branch");
            let mask = dropout.and_then(Dropout::mask);
            let Some(sum) = sum else {
                let Statistics::Given { mean, variance } = statistics else {
                    panic!("residual_norm: batch statistics need room for t");
                };
                let affine = Affine::new(mean, variance, gamma, beta);
                normalise_sum(x, values, mask, add, &affine, y);
                return;
            };
            assert_eq!(sum.len(), x.len(), "residual_norm: length of t");
            sum_and_moments(rows, channels, x, values, mask, sum, &mut statistics);
            sum
        }
    };
    let affine = match &statistics {
        Statistics::Batch { mean, variance, .. } => Affine::new(mean, variance, gamma, beta),
        Statistics::Given { mean, variance } => Affine::new(mean, variance, gamma, beta),
    };
    let y = Disjoint::new(y);
    for_each_piece(rows, rows_per_piece(channels), |range| {
        // SAFETY: pieces are disjoint.
        let out = unsafe { y.rows(&range, channels) };
        normalise_rows(
            rows_of(t, &range, channels),
            add.map(|add| rows_of(add, &range, channels)),
            &affine,
            out,
        );
    });
}

/// Rows that stay in the nearest cache from one step to the next.
fn rows_in_cache(channels: usize) -> usize {
    (4096 / channels.max(1)).max(1)
}

/// `y = BN(x + branch ⊙ mask) + add`, with a sum that never leaves the cache.
fn normalise_sum(
    x: &[f32],
    branch: &[f32],
    mask: Option<Mask>,
    add: Option<&[f32]>,
    affine: &Affine<'_>,
    y: &mut [f32],
) {
    let channels = affine.scale.len();
    let (rows, run) = (x.len() / channels.max(1), rows_in_cache(channels));
    let y = Disjoint::new(y);
    for_each_piece(rows, rows_per_piece(channels), |piece| {
        let mut sum = Scratch::new(run * channels);
        for start in piece.clone().step_by(run) {
            let range = start..(start + run).min(piece.end);
            let sum = &mut sum[..range.len() * channels];
            let (x, branch) = (rows_of(x, &range, channels), rows_of(branch, &range, channels));
            add_masked(x, branch, mask, (range.start * channels) as u32, sum);
            // SAFETY: pieces are disjoint.
            let out = unsafe { y.rows(&range, channels) };
            normalise_rows(sum, add.map(|add| rows_of(add, &range, channels)), affine, out);
        }
    });
}

/// Writes `t` and, in training, its statistics in the same pass.
fn sum_and_moments(
    rows: usize,
    channels: usize,
    x: &[f32],
    branch: &[f32],
    mask: Option<Mask>,
    t: &mut [f32],
    statistics: &mut Statistics<'_>,
) {
    let mut origin = vec![0.0; channels];
    if rows > 0 {
        add_masked(&x[..channels], &branch[..channels], mask, 0, &mut origin);
    }
    let t = Disjoint::new(t);
    let with_moments = matches!(statistics, Statistics::Batch { .. });
    // Short runs of rows, so that what was just written is summed from the nearest cache.
    let run = rows_in_cache(channels);
    let sums = sum_blocks(rows, channels, |range, sums, squares| {
        for start in range.clone().step_by(run) {
            let range = start..(start + run).min(range.end);
            // SAFETY: runs of all blocks are disjoint.
            let out = unsafe { t.rows(&range, channels) };
            let (x, branch) = (rows_of(x, &range, channels), rows_of(branch, &range, channels));
            add_masked(x, branch, mask, (range.start * channels) as u32, out);
            if with_moments {
                add_moments(out, &origin, sums, squares);
            }
        }
    });
    if let Statistics::Batch { mean, variance, others } = statistics {
        assert_eq!(mean.len(), channels, "residual_norm: length of the mean");
        assert_eq!(variance.len(), channels, "residual_norm: length of the variance");
        moments(rows, &sums, &origin, *others, mean, variance);
    }
}

simd_fn! {
    fn add_masked<S>(x: &[f32], branch: &[f32], mask: Option<Mask>, first: u32, out: &mut [f32]) {
        let count = out.len();
        let (x, branch) = (&x[..count], &branch[..count]);
        match mask {
            None => {
                for i in 0..count {
                    out[i] = x[i] + branch[i];
                }
            }
            Some(mask) => {
                for i in 0..count {
                    out[i] = S::fma(branch[i], mask.factor(first.wrapping_add(i as u32)), x[i]);
                }
            }
        }
    }
}

simd_fn! {
    fn normalise_rows<S>(t: &[f32], add: Option<&[f32]>, affine: &Affine<'_>, out: &mut [f32]) {
        let channels = affine.scale.len().max(1);
        match add {
            None => {
                for (t, out) in t.chunks_exact(channels).zip(out.chunks_exact_mut(channels)) {
                    normalise_row::<S>(t, affine, out);
                }
            }
            Some(add) => {
                let rows = t.chunks_exact(channels).zip(add.chunks_exact(channels));
                for ((t, add), out) in rows.zip(out.chunks_exact_mut(channels)) {
                    normalise_row::<S>(t, affine, out);
                    for (out, add) in out.iter_mut().zip(add) {
                        *out += add;
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn normalise_row<S: Arithmetic>(t: &[f32], affine: &Affine<'_>, out: &mut [f32]) {
    let channels = out.len();
    let (t, mean) = (&t[..channels], &affine.mean[..channels]);
    let (scale, beta) = (&affine.scale[..channels], &affine.beta[..channels]);
    for c in 0..channels {
        out[c] = Affine::apply::<S>(mean[c], scale[c], beta[c], t[c]);
    }
}

/// Gradients of [`residual_norm`]; those not wanted are not written.
#[derive(Default)]
pub struct ResidualNormGradients<'a> {
    /// Of `t`, hence of `x`: `[rows, channels]`.
    pub sum: Option<&'a mut [f32]>,
    /// Of the branch, `[rows, channels]`.
    pub branch: Option<&'a mut [f32]>,
    /// `[channels]`
    pub gamma: Option<&'a mut [f32]>,
    /// `[channels]`
    pub beta: Option<&'a mut [f32]>,
}

/// Computes the wanted gradients from `dy`; `t` and `dropout` are those of the forward pass.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn residual_norm_backward(
    t: &[f32],
    dropout: Option<Dropout>,
    gamma: &[f32],
    used: UsedStatistics<'_>,
    dy: &[f32],
    gradients: ResidualNormGradients<'_>,
) {
    let channels = gamma.len();
    assert_eq!(t.len(), dy.len(), "residual_norm_backward: t and dy differ in length");
    assert!(t.len().is_multiple_of(channels.max(1)), "residual_norm_backward: length of t");
    assert_eq!(used.mean.len(), channels, "residual_norm_backward: length of the mean");
    assert_eq!(used.variance.len(), channels, "residual_norm_backward: length of the variance");
    let rows = t.len() / channels.max(1);
    let ResidualNormGradients { sum, branch, gamma: d_gamma, beta: d_beta } = gradients;
    let needs_sums = used.from_batch || d_gamma.is_some() || d_beta.is_some();
    let sums = if needs_sums {
        sum_blocks(rows, channels, |range, sums, products| {
            sum_rows(rows_of(t, &range, channels), rows_of(dy, &range, channels), used.mean, sums, products);
        })
    } else {
        vec![0.0; 2 * channels]
    };
    let coefficients = GradientCoefficients::new(rows, &sums, used, gamma, d_gamma, d_beta);
    if sum.is_none() && branch.is_none() {
        return;
    }
    for gradient in [&sum, &branch].into_iter().flatten() {
        assert_eq!(gradient.len(), t.len(), "residual_norm_backward: length of dt or d_branch");
    }
    let mask = dropout.and_then(Dropout::mask);
    let (sum, branch) = (sum.map(Disjoint::new), branch.map(Disjoint::new));
    for_each_piece(rows, rows_per_piece(channels), |range| {
        // SAFETY: pieces are disjoint.
        let sum = sum.as_ref().map(|sum| unsafe { sum.rows(&range, channels) });
        // SAFETY: as above.
        let branch = branch.as_ref().map(|branch| unsafe { branch.rows(&range, channels) });
        let (t, dy) = (rows_of(t, &range, channels), rows_of(dy, &range, channels));
        let first = (range.start * channels) as u32;
        match (sum, branch) {
            (Some(sum), None) => gradient_rows(t, dy, used.mean, &coefficients, sum),
            (None, Some(branch)) => {
                gradient_rows(t, dy, used.mean, &coefficients, branch);
                mask_in_place(mask, first, branch);
            }
            (Some(sum), Some(branch)) => {
                gradient_rows(t, dy, used.mean, &coefficients, sum);
                branch.copy_from_slice(sum);
                mask_in_place(mask, first, branch);
            }
            (None, None) => {}
        }
    });
}

simd_fn! {
    fn sum_rows<S>(t: &[f32], dy: &[f32], mean: &[f32], sums: &mut [f32], products: &mut [f32]) {
        let channels = mean.len().max(1);
        for (t, dy) in t.chunks_exact(channels).zip(dy.chunks_exact(channels)) {
            add_sums_row::<S>(dy, t, mean, sums, products);
        }
    }
}

simd_fn! {
    fn gradient_rows<S>(
        t: &[f32],
        dy: &[f32],
        mean: &[f32],
        coefficients: &GradientCoefficients,
        out: &mut [f32],
    ) {
        let channels = mean.len().max(1);
        let rows = t.chunks_exact(channels).zip(dy.chunks_exact(channels));
        for ((t, dy), out) in rows.zip(out.chunks_exact_mut(channels)) {
            out.copy_from_slice(dy);
            through_norm_row::<S>(out, t, mean, coefficients);
        }
    }
}

simd_fn! {
    fn mask_in_place<S>(mask: Option<Mask>, first: u32, values: &mut [f32]) {
        if let Some(mask) = mask {
            for (offset, value) in values.iter_mut().enumerate() {
                *value *= mask.factor(first.wrapping_add(offset as u32));
            }
        }
    }
}
