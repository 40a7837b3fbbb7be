//! Pieces shared by the operations that contain a batch normalisation over rows `[rows, channels]`:
//! `BN(t) = (t − mean) / √(variance + 1e-5) ⊙ γ + β`.
//!
//! In training the statistics are those of the rows at hand (biased variance); in evaluation they are given.
//! Sums run in f32 over at most 256 rows and in f64 beyond; moments are taken about the first row, so that a large
//! common offset does not cancel the variance away.
//!
//! Gradient, with `r = 1 / √(variance + 1e-5)` and `t̂ = (t − mean)·r`: `dβ = Σ dy`, `dγ = Σ dy ⊙ t̂`, and
//! `dt = γ·r·(dy − Σdy/rows − t̂·Σ(dy ⊙ t̂)/rows)` in training, `dt = γ·r·dy` in evaluation.

use crate::dispatch::{Arithmetic, simd_fn};
use crate::lanes::{Lanes, for_lanes, load_lanes, store_lanes};
use crate::others::Others;
use crate::parallel::map_pieces;
use std::ops::Range;

/// The ε under the square root, of all norms.
pub const NORM_EPSILON: f64 = 1e-5;
/// Rows summed in f32.
pub(crate) const BLOCK: usize = 256;

/// Statistics to normalise with.
pub enum Statistics<'a> {
    /// Training: those of the rows at hand are computed, used and written here.
    Batch {
        /// `[channels]`
        mean: &'a mut [f32],
        /// Biased variance, `[channels]`
        variance: &'a mut [f32],
        /// Who has more rows that count.
        others: Option<&'a dyn Others>,
    },
    /// Evaluation: use these.
    Given {
        /// `[channels]`
        mean: &'a [f32],
        /// `[channels]`
        variance: &'a [f32],
    },
}

/// Statistics a forward pass used, for its backward pass.
#[derive(Clone, Copy, Debug)]
pub struct UsedStatistics<'a> {
    /// `[channels]`
    pub mean: &'a [f32],
    /// `[channels]`
    pub variance: &'a [f32],
    /// Whether they were computed from the rows (training), so that gradients flow through them.
    pub from_batch: bool,
    /// Who has more rows that counted.
    pub others: Option<&'a dyn Others>,
}

/// Gradients of γ and β; those not wanted are not written.
#[derive(Default)]
pub struct AffineGradients<'a> {
    /// `[channels]`
    pub gamma: Option<&'a mut [f32]>,
    /// `[channels]`
    pub beta: Option<&'a mut [f32]>,
}

/// Gradients of rows, γ and β; those not wanted are not written.
#[derive(Default)]
pub struct NormGradients<'a> {
    /// `[rows, channels]`
    pub input: Option<&'a mut [f32]>,
    /// `[channels]`
    pub gamma: Option<&'a mut [f32]>,
    /// `[channels]`
    pub beta: Option<&'a mut [f32]>,
}

/// Normalisation as one multiplication and addition: `BN(t)[c] = (t[c] − mean[c])·scale[c] + beta[c]`.
pub(crate) struct Affine<'a> {
    pub mean: &'a [f32],
    pub beta: &'a [f32],
    pub scale: Vec<f32>,
}

impl<'a> Affine<'a> {
    pub(crate) fn new(mean: &'a [f32], variance: &[f32], gamma: &[f32], beta: &'a [f32]) -> Self {
        let channels = gamma.len();
        assert_eq!(beta.len(), channels, "batch norm: gamma and beta differ in length");
        assert_eq!(mean.len(), channels, "batch norm: length of the mean");
        assert_eq!(variance.len(), channels, "batch norm: length of the variance");
        let scale =
            gamma.iter().zip(variance).map(|(&g, &v)| (f64::from(g) * inverse_deviation(v)) as f32).collect();
        Self { mean, beta, scale }
    }

    /// BN of one value of channel `c`.
    #[inline(always)]
    pub(crate) fn apply<S: Arithmetic>(mean: f32, scale: f32, beta: f32, value: f32) -> f32 {
        S::fma(value - mean, scale, beta)
    }
}

fn inverse_deviation(variance: f32) -> f64 {
    1.0 / (f64::from(variance) + NORM_EPSILON).sqrt()
}

/// Sums over all rows of two quantities per channel: `[first…, second…]`, added up in order.
pub(crate) fn sum_blocks(
    rows: usize,
    channels: usize,
    block: impl Fn(Range<usize>, &mut [f32], &mut [f32]) + Sync + Send,
) -> Vec<f64> {
    let partials = map_pieces(rows, BLOCK, |range| {
        let mut sums = vec![0.0f32; 2 * channels];
        let (first, second) = sums.split_at_mut(channels);
        block(range, first, second);
        sums
    });
    let mut total = vec![0.0f64; 2 * channels];
    for sums in partials {
        for (total, &sum) in total.iter_mut().zip(&sums) {
            *total += f64::from(sum);
        }
    }
    total
}

/// What rounding has made negative becomes 0. NaN stays, which `max` would drop: a broken row must not look like one
/// without spread.
fn not_negative(value: f64) -> f64 {
    if value < 0.0 { 0.0 } else { value }
}

/// Writes mean and variance from the sums of `t − origin` and `(t − origin)²`; without rows, mean 0 and variance 0.
pub(crate) fn moments(
    rows: usize,
    sums: &[f64],
    origin: &[f32],
    others: Option<&dyn Others>,
    mean: &mut [f32],
    variance: &mut [f32],
) {
    let channels = origin.len();
    let count = rows.max(1) as f64;
    let Some(others) = others else {
        for c in 0..channels {
            let offset = sums[c] / count;
            mean[c] = (f64::from(origin[c]) + offset) as f32;
            variance[c] = not_negative(sums[channels + c] / count - offset * offset) as f32;
        }
        return;
    };
    let mut joined = vec![0.0; 1 + 2 * channels];
    joined[0] = rows as f64;
    for c in 0..channels {
        let offset = sums[c] / count;
        joined[1 + c] = f64::from(origin[c]) + offset;
        joined[1 + channels + c] = not_negative(sums[channels + c] - count * offset * offset);
    }
    others.join_moments(&mut joined);
    let count = joined[0].max(1.0);
    for c in 0..channels {
        mean[c] = joined[1 + c] as f32;
        variance[c] = (joined[1 + channels + c] / count) as f32;
    }
}

simd_fn! {
    /// Adds `t − origin` and its square, row by row.
    pub(crate) fn add_moments<S>(t: &[f32], origin: &[f32], sums: &mut [f32], squares: &mut [f32]) {
        for_lanes::<S, _>(origin.len(), &mut AddMoments { t, origin, sums, squares });
    }
}

/// Adds rows less the origin, and their squares.
struct AddMoments<'a> {
    t: &'a [f32],
    origin: &'a [f32],
    sums: &'a mut [f32],
    squares: &'a mut [f32],
}

impl Lanes for AddMoments<'_> {
    #[inline(always)]
    fn lanes<S: Arithmetic, const W: usize>(&mut self, at: usize, width: usize) {
        let origin = load_lanes::<W>(&self.origin[at..], width);
        let mut sums = load_lanes::<W>(&self.sums[at..], width);
        let mut squares = load_lanes::<W>(&self.squares[at..], width);
        for row in self.t.chunks_exact(self.origin.len()) {
            let row = load_lanes::<W>(&row[at..], width);
            for c in 0..W {
                let value = row[c] - origin[c];
                sums[c] += value;
                squares[c] = S::fma(value, value, squares[c]);
            }
        }
        store_lanes(&mut self.sums[at..], width, sums);
        store_lanes(&mut self.squares[at..], width, squares);
    }
}

/// Mean and biased variance of every channel of `x [rows, channels]`.
///
/// # Panics
///
/// If `mean` and `variance` differ in length or `x` is not made of such rows.
pub fn batch_statistics(x: &[f32], mean: &mut [f32], variance: &mut [f32]) {
    statistics_among(x, None, mean, variance);
}

/// The same over the rows at hand and those of others.
pub(crate) fn statistics_among(
    x: &[f32],
    others: Option<&dyn Others>,
    mean: &mut [f32],
    variance: &mut [f32],
) {
    let channels = mean.len();
    assert_eq!(variance.len(), channels, "batch_statistics: mean and variance differ in length");
    if channels == 0 {
        return;
    }
    assert!(x.len().is_multiple_of(channels), "batch_statistics: length of x");
    let rows = x.len() / channels;
    let mut origin = vec![0.0; channels];
    if rows > 0 {
        origin.copy_from_slice(&x[..channels]);
    }
    let sums = sum_blocks(rows, channels, |range, sums, squares| {
        add_moments(&x[range.start * channels..range.end * channels], &origin, sums, squares);
    });
    moments(rows, &sums, &origin, others, mean, variance);
}

/// `dt = scale·g + (t − mean)·slope + constant`, per channel, with `g` the gradient of the normalised value.
pub(crate) struct GradientCoefficients {
    pub scale: Vec<f32>,
    pub slope: Vec<f32>,
    pub constant: Vec<f32>,
}

impl GradientCoefficients {
    /// From the sums of `g` and `g ⊙ (t − mean)`; also writes the gradients of gamma and beta.
    pub(crate) fn new(
        rows: usize,
        sums: &[f64],
        used: UsedStatistics<'_>,
        gamma: &[f32],
        d_gamma: Option<&mut [f32]>,
        d_beta: Option<&mut [f32]>,
    ) -> Self {
        let channels = gamma.len();
        if let Some(d_gamma) = d_gamma {
            assert_eq!(d_gamma.len(), channels, "batch norm backward: length of d_gamma");
            for c in 0..channels {
                d_gamma[c] = (sums[channels + c] * inverse_deviation(used.variance[c])) as f32;
            }
        }
        if let Some(d_beta) = d_beta {
            assert_eq!(d_beta.len(), channels, "batch norm backward: length of d_beta");
            for c in 0..channels {
                d_beta[c] = sums[c] as f32;
            }
        }
        // Gradients of gamma and beta are those of the rows at hand; a row feels all rows through the statistics.
        let mut joined = vec![rows as f64];
        joined.extend_from_slice(sums);
        if let (true, Some(others)) = (used.from_batch, used.others) {
            others.join_sums(&mut joined);
        }
        let (count, sums) = (joined[0].max(1.0), &joined[1..]);
        let mut this =
            Self { scale: vec![0.0; channels], slope: vec![0.0; channels], constant: vec![0.0; channels] };
        for c in 0..channels {
            let inverse = inverse_deviation(used.variance[c]);
            let scale = f64::from(gamma[c]) * inverse;
            this.scale[c] = scale as f32;
            if used.from_batch {
                this.slope[c] = (-scale * inverse * inverse * sums[channels + c] / count) as f32;
                this.constant[c] = (-scale * sums[c] / count) as f32;
            }
        }
        this
    }
}
