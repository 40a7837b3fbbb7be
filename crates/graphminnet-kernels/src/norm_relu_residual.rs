//! `y = residual + dropout(ReLU(BN(pre)))`, the update of nodes and edges in the gated graph convolution.
//!
//! Shapes: `pre`, `residual`, `y` are `[rows, channels]`; γ, β and the statistics `[channels]`.
//!
//! Gradient: `d_residual = dy` (the caller passes it on); with `g = dy ⊙ mask ⊙ [BN(pre) > 0]` the rest is that of
//! the normalisation, see [`crate::batch_norm`]. Mask and sign are computed again.

use crate::add::add_row;
use crate::batch_norm::{
    Affine, AffineGradients, GradientCoefficients, NormGradients, Statistics, UsedStatistics,
    statistics_among, sum_blocks,
};
use crate::dispatch::{Arithmetic, simd_fn};
use crate::dropout::{Dropout, Mask};
use crate::lanes::{Lanes, for_lanes, load_lanes, store_lanes};
use crate::math::relu;
use crate::parallel::{Disjoint, for_each_piece, rows_of, rows_per_piece};
use crate::scratch::Scratch;

/// Computes `y`. Backward needs `pre`, γ, β and the statistics used. `residual` may be absent (zero).
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn norm_relu_residual(
    pre: &[f32],
    residual: Option<&[f32]>,
    gamma: &[f32],
    beta: &[f32],
    statistics: Statistics<'_>,
    dropout: Option<Dropout>,
    y: &mut [f32],
) {
    let channels = gamma.len();
    assert_eq!(pre.len(), y.len(), "norm_relu_residual: pre and y differ in length");
    assert!(residual.is_none_or(|r| r.len() == y.len()), "norm_relu_residual: length of the residual");
    assert!(pre.len().is_multiple_of(channels.max(1)), "norm_relu_residual: length of pre");
    let affine = match statistics {
        Statistics::Batch { mean, variance, others } => {
            statistics_among(pre, others, mean, variance);
            Affine::new(mean, variance, gamma, beta)
        }
        Statistics::Given { mean, variance } => Affine::new(mean, variance, gamma, beta),
    };
    let mask = dropout.and_then(Dropout::mask);
    let rows = pre.len() / channels.max(1);
    let y = Disjoint::new(y);
    for_each_piece(rows, rows_per_piece(channels), |range| {
        // SAFETY: pieces are disjoint.
        let out = unsafe { y.rows(&range, channels) };
        let residual = residual.map(|residual| rows_of(residual, &range, channels));
        forward_rows(rows_of(pre, &range, channels), residual, &affine, mask, range.start, out);
    });
}

simd_fn! {
    fn forward_rows<S>(
        pre: &[f32],
        residual: Option<&[f32]>,
        affine: &Affine<'_>,
        mask: Option<Mask>,
        first_row: usize,
        out: &mut [f32],
    ) {
        let channels = affine.scale.len();
        for (row, out) in out.chunks_exact_mut(channels.max(1)).enumerate() {
            let at = row * channels..(row + 1) * channels;
            activate_row::<S>(out, &pre[at.clone()], affine);
            if let Some(mask) = &mask {
                mask_row(out, mask, ((first_row + row) * channels) as u32);
            }
            if let Some(residual) = residual {
                add_row(out, &residual[at]);
            }
        }
    }
}

#[inline(always)]
fn activate_row<S: Arithmetic>(out: &mut [f32], pre: &[f32], affine: &Affine<'_>) {
    let channels = out.len();
    let (pre, mean) = (&pre[..channels], &affine.mean[..channels]);
    let (scale, beta) = (&affine.scale[..channels], &affine.beta[..channels]);
    for c in 0..channels {
        out[c] = relu(Affine::apply::<S>(mean[c], scale[c], beta[c], pre[c]));
    }
}

#[inline(always)]
fn mask_row(out: &mut [f32], mask: &Mask, first: u32) {
    for (offset, out) in out.iter_mut().enumerate() {
        *out *= mask.factor(first.wrapping_add(offset as u32));
    }
}

/// Computes the wanted gradients from `dy`; `input` is that of `pre`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn norm_relu_residual_backward(
    pre: &[f32],
    gamma: &[f32],
    beta: &[f32],
    used: UsedStatistics<'_>,
    dropout: Option<Dropout>,
    dy: &[f32],
    gradients: NormGradients<'_>,
) {
    let NormGradients { input, gamma: d_gamma, beta: d_beta } = gradients;
    let channels = gamma.len();
    let affine = Affine::new(used.mean, used.variance, gamma, beta);
    let mask = dropout.and_then(Dropout::mask);
    let coefficients = gradient_coefficients(pre, gamma, &affine, used, mask, dy, d_gamma, d_beta);
    if let Some(d_pre) = input {
        assert_eq!(d_pre.len(), pre.len(), "norm_relu_residual_backward: length of d_pre");
        let d_pre = Disjoint::new(d_pre);
        for_each_piece(pre.len() / channels.max(1), rows_per_piece(channels), |range| {
            // SAFETY: pieces are disjoint.
            let out = unsafe { d_pre.rows(&range, channels) };
            let (pre, dy) = (rows_of(pre, &range, channels), rows_of(dy, &range, channels));
            gradient_rows(pre, dy, &affine, mask, range.start, &coefficients, out);
        });
    }
}

/// As [`norm_relu_residual_backward`], with the gradient of `pre` written over `pre`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn norm_relu_residual_backward_in_place(
    pre: &mut [f32],
    gamma: &[f32],
    beta: &[f32],
    used: UsedStatistics<'_>,
    dropout: Option<Dropout>,
    dy: &[f32],
    gradients: AffineGradients<'_>,
) {
    let AffineGradients { gamma: d_gamma, beta: d_beta } = gradients;
    let channels = gamma.len();
    let affine = Affine::new(used.mean, used.variance, gamma, beta);
    let mask = dropout.and_then(Dropout::mask);
    let coefficients = gradient_coefficients(pre, gamma, &affine, used, mask, dy, d_gamma, d_beta);
    let rows = pre.len() / channels.max(1);
    let pre = Disjoint::new(pre);
    for_each_piece(rows, rows_per_piece(channels), |range| {
        // SAFETY: pieces are disjoint.
        let out = unsafe { pre.rows(&range, channels) };
        let dy = rows_of(dy, &range, channels);
        let mut before = Scratch::new(out.len());
        before.copy_from_slice(out);
        gradient_rows(&before, dy, &affine, mask, range.start, &coefficients, out);
    });
}

/// Sums over all rows, the gradients of γ and β, and what turns the gradient of a normalised row into that of the row.
#[allow(clippy::too_many_arguments)]
pub(crate) fn gradient_coefficients(
    pre: &[f32],
    gamma: &[f32],
    affine: &Affine<'_>,
    used: UsedStatistics<'_>,
    mask: Option<Mask>,
    dy: &[f32],
    d_gamma: Option<&mut [f32]>,
    d_beta: Option<&mut [f32]>,
) -> GradientCoefficients {
    let channels = gamma.len();
    assert_eq!(pre.len(), dy.len(), "norm_relu_residual_backward: pre and dy differ in length");
    assert!(pre.len().is_multiple_of(channels.max(1)), "norm_relu_residual_backward: length of pre");
    let rows = pre.len() / channels.max(1);
    let needs_sums = used.from_batch || d_gamma.is_some() || d_beta.is_some();
    let sums = if needs_sums {
        sum_blocks(rows, channels, |range, sums, products| {
            let (pre, dy) = (rows_of(pre, &range, channels), rows_of(dy, &range, channels));
            sum_rows(pre, dy, affine, mask, range.start, sums, products);
        })
    } else {
        vec![0.0; 2 * channels]
    };
    GradientCoefficients::new(rows, &sums, used, gamma, d_gamma, d_beta)
}

/// `out = dy ⊙ mask ⊙ [BN(pre) > 0]`.
#[inline(always)]
fn active_gradient_row<S: Arithmetic>(
    out: &mut [f32],
    pre: &[f32],
    dy: &[f32],
    affine: &Affine<'_>,
    mask: Option<&Mask>,
    first: u32,
) {
    let channels = out.len();
    let (pre, dy, mean) = (&pre[..channels], &dy[..channels], &affine.mean[..channels]);
    let (scale, beta) = (&affine.scale[..channels], &affine.beta[..channels]);
    for c in 0..channels {
        let active = Affine::apply::<S>(mean[c], scale[c], beta[c], pre[c]) > 0.0;
        out[c] = if active { dy[c] } else { 0.0 };
    }
    if let Some(mask) = mask {
        mask_row(out, mask, first);
    }
}

/// Rows summed before going on to the next columns: few enough to stay in the nearest cache.
const ROWS_IN_CACHE: usize = 24;

simd_fn! {
    fn sum_rows<S>(
        pre: &[f32],
        dy: &[f32],
        affine: &Affine<'_>,
        mask: Option<Mask>,
        first_row: usize,
        sums: &mut [f32],
        products: &mut [f32],
    ) {
        let channels = affine.scale.len();
        let chunk = (ROWS_IN_CACHE * channels).max(1);
        let chunks = pre.chunks(chunk).zip(dy.chunks(chunk)).enumerate();
        for (number, (pre, dy)) in chunks {
            let first = ((first_row + number * ROWS_IN_CACHE) * channels) as u32;
            for_lanes::<S, _>(channels, &mut SumRows { pre, dy, affine, mask, first, sums, products });
        }
    }
}

/// Adds `g = dy ⊙ mask ⊙ [BN(pre) > 0]` and `g ⊙ (pre − mean)` of some rows.
struct SumRows<'a> {
    pre: &'a [f32],
    dy: &'a [f32],
    affine: &'a Affine<'a>,
    mask: Option<Mask>,
    /// Number of the first value.
    first: u32,
    sums: &'a mut [f32],
    products: &'a mut [f32],
}

impl Lanes for SumRows<'_> {
    #[inline(always)]
    fn lanes<S: Arithmetic, const W: usize>(&mut self, at: usize, width: usize) {
        let channels = self.affine.scale.len();
        let mean = load_lanes::<W>(&self.affine.mean[at..], width);
        let scale = load_lanes::<W>(&self.affine.scale[at..], width);
        let beta = load_lanes::<W>(&self.affine.beta[at..], width);
        let mut sums = load_lanes::<W>(&self.sums[at..], width);
        let mut products = load_lanes::<W>(&self.products[at..], width);
        let rows = self.pre.chunks_exact(channels).zip(self.dy.chunks_exact(channels));
        for (row, (pre, dy)) in rows.enumerate() {
            let pre = load_lanes::<W>(&pre[at..], width);
            let mut gradient = load_lanes::<W>(&dy[at..], width);
            for c in 0..W {
                let active = Affine::apply::<S>(mean[c], scale[c], beta[c], pre[c]) > 0.0;
                gradient[c] = if active { gradient[c] } else { 0.0 };
            }
            if let Some(mask) = &self.mask {
                let first = self.first.wrapping_add((row * channels + at) as u32);
                for c in 0..W {
                    gradient[c] *= mask.factor(first.wrapping_add(c as u32));
                }
            }
            for c in 0..W {
                sums[c] += gradient[c];
                products[c] = S::fma(gradient[c], pre[c] - mean[c], products[c]);
            }
        }
        store_lanes(&mut self.sums[at..], width, sums);
        store_lanes(&mut self.products[at..], width, products);
    }
}

#[inline(always)]
pub(crate) fn add_sums_row<S: Arithmetic>(
    gradient: &[f32],
    t: &[f32],
    mean: &[f32],
    sums: &mut [f32],
    products: &mut [f32],
) {
    let channels = gradient.len();
    let (t, mean) = (&t[..channels], &mean[..channels]);
    let (sums, products) = (&mut sums[..channels], &mut products[..channels]);
    for c in 0..channels {
        sums[c] += gradient[c];
        products[c] = S::fma(gradient[c], t[c] - mean[c], products[c]);
    }
}

simd_fn! {
    fn gradient_rows<S>(
        pre: &[f32],
        dy: &[f32],
        affine: &Affine<'_>,
        mask: Option<Mask>,
        first_row: usize,
        coefficients: &GradientCoefficients,
        out: &mut [f32],
    ) {
        let channels = affine.scale.len().max(1);
        let rows = pre.chunks_exact(channels).zip(dy.chunks_exact(channels));
        for (row, ((pre, dy), out)) in rows.zip(out.chunks_exact_mut(channels)).enumerate() {
            let first = ((first_row + row) * channels) as u32;
            active_gradient_row::<S>(out, pre, dy, affine, mask.as_ref(), first);
            through_norm_row::<S>(out, pre, affine.mean, coefficients);
        }
    }
}

/// Turns the gradient of the normalised value into that of the value.
#[inline(always)]
pub(crate) fn through_norm_row<S: Arithmetic>(
    gradient: &mut [f32],
    t: &[f32],
    mean: &[f32],
    coefficients: &GradientCoefficients,
) {
    let channels = gradient.len();
    let (t, mean, scale) = (&t[..channels], &mean[..channels], &coefficients.scale[..channels]);
    let (slope, constant) = (&coefficients.slope[..channels], &coefficients.constant[..channels]);
    for c in 0..channels {
        gradient[c] = S::fma(scale[c], gradient[c], S::fma(t[c] - mean[c], slope[c], constant[c]));
    }
}
