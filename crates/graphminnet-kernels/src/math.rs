//! Scalar functions that vectorise: `exp` and the logistic sigmoid; sums and products of slices.
//!
//! NaN in gives NaN out: bounds are applied by comparisons that are false for NaN.

use crate::dispatch::Arithmetic;

/// Adding and subtracting 1.5·2²³ rounds to the nearest integer, which then sits in the low bits.
const ROUND: f32 = 12_582_912.0;
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

#[inline(always)]
fn clamp_keep_nan(x: f32, low: f32, high: f32) -> f32 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// `max(x, 0)`, and NaN for NaN: what is wrong must reach the answer. (`f32::max` would drop it.)
#[inline(always)]
pub(crate) fn relu(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// The larger one, or NaN if there is one.
#[inline(always)]
pub(crate) fn larger(best: f32, x: f32) -> f32 {
    if x > best || x.is_nan() { x } else { best }
}

/// `(n, e^r)` with `x = n·ln 2 + r`, `|r| ≤ ln 2 / 2`; `n` as an integer.
#[inline(always)]
fn reduced_exp<S: Arithmetic>(x: f32) -> (i32, f32) {
    let rounded = S::fma(x, std::f32::consts::LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = S::fma(n, -LN_2_LOW, S::fma(n, -LN_2_HIGH, x));
    let mut p = 1.987_569_1e-4;
    p = S::fma(p, r, 1.398_2e-3);
    p = S::fma(p, r, 8.333_452e-3);
    p = S::fma(p, r, 4.166_579_6e-2);
    p = S::fma(p, r, 1.666_666_5e-1);
    p = S::fma(p, r, 5e-1);
    let p = S::fma(p, r * r, r) + 1.0;
    // The bit pattern of `rounded` is that of ROUND plus n.
    ((rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32), p)
}

/// 2ⁿ for −126 ≤ n ≤ 127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) << 23) as u32)
}

/// eˣ to about 1 ulp on the whole range, with gradual underflow, 0 and ∞ at the ends.
#[inline(always)]
pub(crate) fn exp<S: Arithmetic>(x: f32) -> f32 {
    let (n, p) = reduced_exp::<S>(clamp_keep_nan(x, -105.0, 90.0));
    // Two factors, since 2ⁿ alone leaves the range of normal numbers before the product does.
    let half = n >> 1;
    p * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// 1 / (1 + e⁻ˣ) to about 2 ulp.
///
/// The function that gates spend their time in, so every operation counts: e⁻ˣ = 2ⁿ·2ᶠ with |f| ≤ ½, and 2ᶠ as a
/// polynomial whose coefficients make the largest relative error (2.6e-9) as small as possible.
#[inline(always)]
pub(crate) fn sigmoid<S: Arithmetic>(x: f32) -> f32 {
    // Within ±87 one factor 2ⁿ is enough, and outside the sigmoid is 1 or below 1e-37.
    let x = clamp_keep_nan(x, -87.0, 87.0);
    let rounded = S::fma(x, -std::f32::consts::LOG2_E, ROUND);
    let f = S::fma(x, -std::f32::consts::LOG2_E, ROUND - rounded);
    let mut p = 1.559_467_8e-4;
    p = S::fma(p, f, 1.340_664_3e-3);
    p = S::fma(p, f, 9.617_693e-3);
    p = S::fma(p, f, 5.550_310_4e-2);
    p = S::fma(p, f, 2.402_265_2e-1);
    p = S::fma(p, f, 6.931_472_4e-1);
    p = S::fma(p, f, 1.0);
    // The low bits of `rounded` are n; those of ROUND are shifted out.
    let power = f32::from_bits((rounded.to_bits() << 23).wrapping_add(1.0f32.to_bits()));
    1.0 / S::fma(p, power, 1.0)
}

/// Partial sums a reduction is spread over, so that it vectorises.
const LANES: usize = 16;

/// Adds up lanes in a fixed order.
#[inline(always)]
fn sum_lanes(lanes: [f32; LANES]) -> f32 {
    let mut quarter = [0.0; 4];
    for c in 0..4 {
        quarter[c] = (lanes[c] + lanes[c + 8]) + (lanes[c + 4] + lanes[c + 12]);
    }
    (quarter[0] + quarter[2]) + (quarter[1] + quarter[3])
}

/// `Σ a·b`.
#[inline(always)]
pub(crate) fn dot<S: Arithmetic>(a: &[f32], b: &[f32]) -> f32 {
    let b = &b[..a.len()];
    let mut lanes = [0.0; LANES];
    let (mut a_blocks, mut b_blocks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    for (a, b) in (&mut a_blocks).zip(&mut b_blocks) {
        for c in 0..LANES {
            lanes[c] = S::fma(a[c], b[c], lanes[c]);
        }
    }
    for (c, (a, b)) in a_blocks.remainder().iter().zip(b_blocks.remainder()).enumerate() {
        lanes[c] = S::fma(*a, *b, lanes[c]);
    }
    sum_lanes(lanes)
}

/// `Σ a·b·c`.
#[inline(always)]
pub(crate) fn dot3<S: Arithmetic>(a: &[f32], b: &[f32], c: &[f32]) -> f32 {
    let (b, c) = (&b[..a.len()], &c[..a.len()]);
    let mut lanes = [0.0; LANES];
    let whole = a.len() / LANES * LANES;
    for start in (0..whole).step_by(LANES) {
        let (a, b, c) = (&a[start..start + LANES], &b[start..start + LANES], &c[start..start + LANES]);
        for lane in 0..LANES {
            lanes[lane] = S::fma(a[lane] * b[lane], c[lane], lanes[lane]);
        }
    }
    for i in whole..a.len() {
        lanes[i - whole] = S::fma(a[i] * b[i], c[i], lanes[i - whole]);
    }
    sum_lanes(lanes)
}

/// `Σ a`.
#[inline(always)]
pub(crate) fn sum(a: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let mut blocks = a.chunks_exact(LANES);
    for block in &mut blocks {
        for c in 0..LANES {
            lanes[c] += block[c];
        }
    }
    for (lane, value) in lanes.iter_mut().zip(blocks.remainder()) {
        *lane += value;
    }
    sum_lanes(lanes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::{Plain, simd_fn};

    simd_fn! {
        fn exps<S>(x: &[f32], y: &mut [f32]) {
            let x = &x[..y.len()];
            for i in 0..y.len() {
                y[i] = exp::<S>(x[i]);
            }
        }
    }

    simd_fn! {
        fn sigmoids<S>(x: &[f32], y: &mut [f32]) {
            let x = &x[..y.len()];
            for i in 0..y.len() {
                y[i] = sigmoid::<S>(x[i]);
            }
        }
    }

    /// The values on the path that this processor takes, and on the portable one.
    fn on_both_paths(wide: fn(&[f32], &mut [f32]), plain: fn(f32) -> f32, x: &[f32]) -> [Vec<f32>; 2] {
        let mut y = vec![f32::NAN; x.len()];
        wide(x, &mut y);
        [y, x.iter().map(|x| plain(*x)).collect()]
    }

    #[test]
    fn exp_is_right_to_two_ulp_on_the_whole_range() {
        let x: Vec<f32> = (0..400_000).map(|i| -104.0 + i as f32 * (193.0 / 400_000.0)).collect();
        for y in on_both_paths(exps, exp::<Plain>, &x) {
            for (x, y) in x.iter().zip(y) {
                let expected = f64::from(*x).exp();
                if expected > f64::from(f32::MAX) {
                    assert!(y == f32::INFINITY || y > 3.4e38, "exp({x}) is {y}");
                    continue;
                }
                let rounded = expected as f32;
                let ulp = f64::from(f32::from_bits(rounded.to_bits() + 1)) - f64::from(rounded);
                assert!((f64::from(y) - expected).abs() <= 2.0 * ulp, "exp({x}) is {y}, expected {expected}");
            }
        }
    }

    #[test]
    fn sigmoid_agrees_with_the_reference() {
        let x: Vec<f32> = (0..40_000).map(|i| -9.0 + i as f32 * (18.0 / 40_000.0)).collect();
        for y in on_both_paths(sigmoids, sigmoid::<Plain>, &x) {
            for (x, y) in x.iter().zip(y) {
                let expected = 1.0 / (1.0 + (-f64::from(*x)).exp());
                assert!((f64::from(y) - expected).abs() < 3e-7, "sigmoid({x}) is {y}, expected {expected}");
            }
        }
    }

    #[test]
    fn infinities_and_nan_are_respected() {
        let x = [f32::NEG_INFINITY, -1e30, 1e30, f32::INFINITY, 0.0, f32::NAN];
        for y in on_both_paths(exps, exp::<Plain>, &x) {
            assert_eq!(y[..5], [0.0, 0.0, f32::INFINITY, f32::INFINITY, 1.0]);
            assert!(y[5].is_nan());
        }
        for y in on_both_paths(sigmoids, sigmoid::<Plain>, &x) {
            assert!(y[0] < 1e-37 && y[1] < 1e-37);
            assert_eq!(y[2..5], [1.0, 1.0, 0.5]);
            assert!(y[5].is_nan());
        }
    }
}
