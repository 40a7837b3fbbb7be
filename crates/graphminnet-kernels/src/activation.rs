//! Element-wise functions with their derivatives: ReLU, SiLU, GELU (the exact one), sigmoid; and `exp`.
//!
//! | function | y | dy/dx |
//! |---|---|---|
//! | ReLU | max(x, 0) | 1 if x > 0 else 0 |
//! | sigmoid | σ(x) = 1 / (1 + e⁻ˣ) | σ(x)·(1 − σ(x)) |
//! | SiLU | x·σ(x) | σ(x)·(1 + x·(1 − σ(x))) |
//! | GELU | x·Φ(x), Φ(x) = (1 + erf(x/√2)) / 2 | Φ(x) + x·e^(−x²/2) / √(2π) |

use crate::dispatch::{Arithmetic, simd_fn};
use crate::math;
use crate::parallel::{Disjoint, for_each_piece};
use std::f32::consts::FRAC_1_SQRT_2;

/// 1 / √(2π)
const NORMAL_DENSITY_AT_0: f32 = 0.398_942_3;

/// An element-wise function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// max(x, 0); NaN stays NaN.
    Relu,
    /// x·σ(x)
    Silu,
    /// x·Φ(x), with the error function
    Gelu,
    /// 1 / (1 + e⁻ˣ)
    Sigmoid,
    /// eˣ
    Exp,
}

impl Function {
    #[inline(always)]
    fn value<S: Arithmetic>(self, x: f32) -> f32 {
        match self {
            Self::Relu => {
                if x <= 0.0 {
                    0.0
                } else {
                    x
                }
            }
            Self::Silu => x * math::sigmoid::<S>(x),
            Self::Gelu => x * S::fma(0.5, math::erf::<S>(x * FRAC_1_SQRT_2), 0.5),
            Self::Sigmoid => math::sigmoid::<S>(x),
            Self::Exp => math::exp::<S>(x),
        }
    }

    #[inline(always)]
    fn slope<S: Arithmetic>(self, x: f32) -> f32 {
        match self {
            Self::Relu => {
                if x <= 0.0 {
                    0.0
                } else {
                    1.0
                }
            }
            Self::Silu => {
                let open = math::sigmoid::<S>(x);
                open * S::fma(x, 1.0 - open, 1.0)
            }
            Self::Gelu => {
                let below = S::fma(0.5, math::erf::<S>(x * FRAC_1_SQRT_2), 0.5);
                S::fma(x * NORMAL_DENSITY_AT_0, math::exp::<S>(-0.5 * x * x), below)
            }
            Self::Sigmoid => {
                let open = math::sigmoid::<S>(x);
                open * (1.0 - open)
            }
            Self::Exp => math::exp::<S>(x),
        }
    }
}

/// `y = function(x)`. Backward needs `x`.
///
/// # Panics
///
/// If the lengths differ.
pub fn activate(function: Function, x: &[f32], y: &mut [f32]) {
    assert_eq!(x.len(), y.len(), "activate: slices differ in length");
    let count = x.len();
    let y = Disjoint::new(y);
    for_each_piece(count, 16_384, |range| {
        // SAFETY: pieces are disjoint.
        let out = unsafe { y.range(range.clone()) };
        match function {
            Function::Relu => relu_values(&x[range], out),
            Function::Silu => silu_values(&x[range], out),
            Function::Gelu => gelu_values(&x[range], out),
            Function::Sigmoid => sigmoid_values(&x[range], out),
            Function::Exp => exp_values(&x[range], out),
        }
    });
}

/// `dx = dy ⊙ function'(x)`.
///
/// # Panics
///
/// If the lengths differ.
pub fn activate_backward(function: Function, x: &[f32], dy: &[f32], dx: &mut [f32]) {
    assert_eq!(x.len(), dy.len(), "activate_backward: length of dy");
    assert_eq!(x.len(), dx.len(), "activate_backward: length of dx");
    let count = x.len();
    let dx = Disjoint::new(dx);
    for_each_piece(count, 16_384, |range| {
        // SAFETY: pieces are disjoint.
        let out = unsafe { dx.range(range.clone()) };
        let (x, dy) = (&x[range.clone()], &dy[range]);
        match function {
            Function::Relu => relu_slopes(x, dy, out),
            Function::Silu => silu_slopes(x, dy, out),
            Function::Gelu => gelu_slopes(x, dy, out),
            Function::Sigmoid => sigmoid_slopes(x, dy, out),
            Function::Exp => exp_slopes(x, dy, out),
        }
    });
}

/// One pair of loops per function, so that each is compiled without a choice inside.
macro_rules! loops {
    ($($function:ident: $values:ident, $slopes:ident;)*) => {$(
        simd_fn! {
            fn $values<S>(x: &[f32], y: &mut [f32]) {
                let x = &x[..y.len()];
                for i in 0..y.len() {
                    y[i] = Function::$function.value::<S>(x[i]);
                }
            }
        }
        simd_fn! {
            fn $slopes<S>(x: &[f32], dy: &[f32], dx: &mut [f32]) {
                let (x, dy) = (&x[..dx.len()], &dy[..dx.len()]);
                for i in 0..dx.len() {
                    dx[i] = dy[i] * Function::$function.slope::<S>(x[i]);
                }
            }
        }
    )*};
}

loops! {
    Relu: relu_values, relu_slopes;
    Silu: silu_values, silu_slopes;
    Gelu: gelu_values, gelu_slopes;
    Sigmoid: sigmoid_values, sigmoid_slopes;
    Exp: exp_values, exp_slopes;
}
