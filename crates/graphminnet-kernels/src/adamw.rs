//! AdamW with decoupled weight decay, in the order of operations of PyTorch, and the sum of squares for clipping.
//!
//! At step t, with gradient `g` (times the clipping factor):
//!
//! * `p ← p·(1 − lr·decay)`
//! * `m ← m + (g − m)·(1 − β₁)`, `v ← v·β₂ + g²·(1 − β₂)`
//! * `p ← p − lr/(1 − β₁ᵗ) · m / (√v / √(1 − β₂ᵗ) + ε)`

use crate::dispatch::simd_fn;
use crate::math::dot;
use crate::parallel::{Disjoint, for_each_piece, map_pieces};

/// Settings of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// Learning rate.
    pub learning_rate: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the denominator.
    pub epsilon: f64,
    /// Number of this step, from 1.
    pub step: u64,
    /// Factor of the gradient (1 without clipping).
    pub gradient_scale: f32,
}

/// One step on one parameter, in place.
///
/// # Panics
///
/// If the slices differ in length.
pub fn adamw(
    settings: &AdamW,
    parameter: &mut [f32],
    gradient: &[f32],
    first: &mut [f32],
    second: &mut [f32],
) {
    let count = parameter.len();
    assert_eq!(gradient.len(), count, "adamw: length of the gradient");
    assert_eq!(first.len(), count, "adamw: length of the first moment");
    assert_eq!(second.len(), count, "adamw: length of the second moment");
    let step = settings.step as f64;
    let factors = Factors {
        keep: (1.0 - settings.learning_rate * settings.weight_decay) as f32,
        rate1: (1.0 - settings.beta1) as f32,
        beta2: settings.beta2 as f32,
        rate2: (1.0 - settings.beta2) as f32,
        step_size: (settings.learning_rate / (1.0 - settings.beta1.powf(step))) as f32,
        root_correction: (1.0 - settings.beta2.powf(step)).sqrt() as f32,
        epsilon: settings.epsilon as f32,
        gradient_scale: settings.gradient_scale,
    };
    let (parameter, first, second) = (Disjoint::new(parameter), Disjoint::new(first), Disjoint::new(second));
    for_each_piece(count, 16_384, |range| {
        // SAFETY: pieces are disjoint.
        let (p, m, v) = unsafe {
            (parameter.range(range.clone()), first.range(range.clone()), second.range(range.clone()))
        };
        step_values(factors, p, &gradient[range], m, v);
    });
}

#[derive(Clone, Copy)]
struct Factors {
    keep: f32,
    rate1: f32,
    beta2: f32,
    rate2: f32,
    step_size: f32,
    root_correction: f32,
    epsilon: f32,
    gradient_scale: f32,
}

simd_fn! {
    fn step_values<S>(factors: Factors, p: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]) {
        let count = p.len();
        let (g, m, v) = (&g[..count], &mut m[..count], &mut v[..count]);
        for i in 0..count {
            let gradient = g[i] * factors.gradient_scale;
            let first = S::fma(gradient - m[i], factors.rate1, m[i]);
            let second = S::fma(gradient * factors.rate2, gradient, v[i] * factors.beta2);
            m[i] = first;
            v[i] = second;
            let denominator = second.sqrt() / factors.root_correction + factors.epsilon;
            p[i] = p[i] * factors.keep - factors.step_size * (first / denominator);
        }
    }
}

/// `Σ x²`: f32 over short runs, f64 beyond, always in the same order.
pub fn sum_of_squares(x: &[f32]) -> f64 {
    map_pieces(x.len(), 65_536, |range| squares(&x[range])).into_iter().sum()
}

simd_fn! {
    fn squares<S>(x: &[f32]) -> f64 {
        let mut total = 0.0;
        for run in x.chunks(256) {
            total += f64::from(dot::<S>(run, run));
        }
        total
    }
}
