//! `y = SiLU(LayerNorm(x))`, the activation of the set encoder: rows are centred, divided by
//! `√(variance + 1e-5)`, scaled by γ and shifted by β, then `SiLU(a) = a·σ(a)`.
//!
//! Shapes: `x`, `y` are `[rows, width]`, γ and β `[width]`.
//!
//! Gradient. With `x̂` the normalised row, `a = x̂ ⊙ γ + β`, `r = 1/√(variance + 1e-5)` and
//! `da = dy ⊙ σ(a) ⊙ (1 + a ⊙ (1 − σ(a)))`: `dγ = Σ da ⊙ x̂`, `dβ = Σ da`, and with `g = da ⊙ γ`,
//! `dx = r·(g − mean(g) − x̂·mean(g ⊙ x̂))`, means over the row.

use crate::batch_norm::{NORM_EPSILON, NormGradients, sum_blocks};
use crate::dispatch::{Arithmetic, simd_fn};
use crate::math::{dot, sigmoid, sum};
use crate::parallel::{Disjoint, for_each_piece, rows_of, rows_per_piece};

/// Computes `y`. Backward needs the inputs.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn layer_norm_silu(x: &[f32], gamma: &[f32], beta: &[f32], y: &mut [f32]) {
    let (width, rows) = check(x, gamma, beta);
    assert_eq!(y.len(), x.len(), "layer_norm_silu: length of y");
    let y = Disjoint::new(y);
    for_each_piece(rows, rows_per_piece(width), |range| {
        // SAFETY: pieces are disjoint.
        forward_rows(rows_of(x, &range, width), gamma, beta, unsafe { y.rows(&range, width) });
    });
}

fn check(x: &[f32], gamma: &[f32], beta: &[f32]) -> (usize, usize) {
    let width = gamma.len();
    assert_eq!(beta.len(), width, "layer_norm_silu: gamma and beta differ in length");
    assert!(x.len().is_multiple_of(width.max(1)), "layer_norm_silu: length of x");
    (width, x.len() / width.max(1))
}

/// Writes `x̂` and returns `r`.
#[inline(always)]
fn normalise<S: Arithmetic>(x: &[f32], normal: &mut [f32]) -> f32 {
    let width = x.len();
    let normal = &mut normal[..width];
    let mean = sum(x) / width as f32;
    for c in 0..width {
        normal[c] = x[c] - mean;
    }
    let inverse = 1.0 / (dot::<S>(normal, normal) / width as f32 + NORM_EPSILON as f32).sqrt();
    for value in normal {
        *value *= inverse;
    }
    inverse
}

simd_fn! {
    fn forward_rows<S>(x: &[f32], gamma: &[f32], beta: &[f32], y: &mut [f32]) {
        let width = gamma.len().max(1);
        for (x, y) in x.chunks_exact(width).zip(y.chunks_exact_mut(width)) {
            normalise::<S>(x, y);
            activate_row::<S>(y, gamma, beta);
        }
    }
}

#[inline(always)]
fn activate_row<S: Arithmetic>(y: &mut [f32], gamma: &[f32], beta: &[f32]) {
    let (gamma, beta) = (&gamma[..y.len()], &beta[..y.len()]);
    for c in 0..y.len() {
        let a = S::fma(y[c], gamma[c], beta[c]);
        y[c] = a * sigmoid::<S>(a);
    }
}

/// Computes the wanted gradients from `dy`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn layer_norm_silu_backward(
    x: &[f32],
    gamma: &[f32],
    beta: &[f32],
    dy: &[f32],
    gradients: NormGradients<'_>,
) {
    let (width, rows) = check(x, gamma, beta);
    assert_eq!(dy.len(), x.len(), "layer_norm_silu_backward: length of dy");
    let NormGradients { input, gamma: d_gamma, beta: d_beta } = gradients;
    if let Some(dx) = &input {
        assert_eq!(dx.len(), x.len(), "layer_norm_silu_backward: length of dx");
    }
    let dx = input.map(Disjoint::new);
    let sums = sum_blocks(rows, width, |range, d_beta, d_gamma| {
        // SAFETY: blocks are disjoint.
        let dx = dx.as_ref().map(|dx| unsafe { dx.rows(&range, width) });
        let (x, dy) = (rows_of(x, &range, width), rows_of(dy, &range, width));
        backward_rows(x, gamma, beta, dy, dx, d_gamma, d_beta);
    });
    for (gradient, sums) in [(d_beta, &sums[..width]), (d_gamma, &sums[width..])] {
        if let Some(gradient) = gradient {
            assert_eq!(gradient.len(), width, "layer_norm_silu_backward: length of d_gamma or d_beta");
            gradient.iter_mut().zip(sums).for_each(|(gradient, &sum)| *gradient = sum as f32);
        }
    }
}

simd_fn! {
    fn backward_rows<S>(
        x: &[f32],
        gamma: &[f32],
        beta: &[f32],
        dy: &[f32],
        dx: Option<&mut [f32]>,
        d_gamma: &mut [f32],
        d_beta: &mut [f32],
    ) {
        let width = gamma.len().max(1);
        let mut dx = dx;
        let mut normal = vec![0.0; width];
        let mut gradient = vec![0.0; width];
        for (row, (x, dy)) in x.chunks_exact(width).zip(dy.chunks_exact(width)).enumerate() {
            let inverse = normalise::<S>(x, &mut normal);
            through_activation::<S>(&mut gradient, &normal, gamma, beta, dy, d_gamma, d_beta);
            if let Some(dx) = &mut dx {
                let mean = sum(&gradient) / width as f32;
                let slope = dot::<S>(&gradient, &normal) / width as f32;
                through_norm(&mut dx[row * width..(row + 1) * width], &gradient, &normal, inverse, mean, slope);
            }
        }
    }
}

/// `gradient = da ⊙ γ`; adds to dγ and dβ.
#[inline(always)]
fn through_activation<S: Arithmetic>(
    gradient: &mut [f32],
    normal: &[f32],
    gamma: &[f32],
    beta: &[f32],
    dy: &[f32],
    d_gamma: &mut [f32],
    d_beta: &mut [f32],
) {
    let width = gradient.len();
    let (normal, gamma, beta, dy) = (&normal[..width], &gamma[..width], &beta[..width], &dy[..width]);
    let (d_gamma, d_beta) = (&mut d_gamma[..width], &mut d_beta[..width]);
    for c in 0..width {
        let a = S::fma(normal[c], gamma[c], beta[c]);
        let open = sigmoid::<S>(a);
        let da = dy[c] * open * S::fma(a, 1.0 - open, 1.0);
        d_gamma[c] = S::fma(da, normal[c], d_gamma[c]);
        d_beta[c] += da;
        gradient[c] = da * gamma[c];
    }
}

#[inline(always)]
fn through_norm(dx: &mut [f32], gradient: &[f32], normal: &[f32], inverse: f32, mean: f32, slope: f32) {
    let (gradient, normal) = (&gradient[..dx.len()], &normal[..dx.len()]);
    for c in 0..dx.len() {
        dx[c] = inverse * (gradient[c] - mean - normal[c] * slope);
    }
}
