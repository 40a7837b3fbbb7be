//! Functions of the Laplacian whose *largest* eigenvalues belong to its *lowest* ones.

use super::Stop;
use super::chebyshev::Filter;
use super::laplacian::Laplacian;
use super::shift_invert::ShiftInverse;
use super::tall::Tall;

/// A decreasing function of the Laplacian that can be applied to vectors.
#[derive(Debug)]
pub(crate) enum Operator {
    /// `(L + shift)⁻¹`.
    Inverse(Box<ShiftInverse>),
    /// A polynomial of `L`.
    Polynomial(Filter),
}

impl Operator {
    /// Replaces the `B` columns of `block`; `scratch` has the same shape. What is in them after a stop means nothing.
    pub(super) fn apply<const B: usize>(
        &self,
        laplacian: &Laplacian,
        block: &mut Tall,
        scratch: &mut Tall,
        stop: Stop<'_>,
    ) {
        match self {
            Self::Inverse(inverse) => inverse.apply(block),
            Self::Polynomial(filter) => filter.apply::<B>(laplacian, block, scratch, stop),
        }
    }

    /// The value of the function at an eigenvalue of the Laplacian.
    pub(super) fn value(&self, eigenvalue: f64) -> f64 {
        match self {
            Self::Inverse(inverse) => 1.0 / (eigenvalue + inverse.shift()),
            Self::Polynomial(filter) => filter.value(eigenvalue),
        }
    }

    /// The eigenvalue of the Laplacian at which the function has the given value, and how far an error of 1 in the
    /// value moves it. `None` where different eigenvalues have the same value.
    pub(super) fn eigenvalue(&self, value: f64) -> Option<(f64, f64)> {
        match self {
            Self::Inverse(inverse) if value > 0.0 => {
                Some(((1.0 / value - inverse.shift()).max(0.0), 1.0 / (value * value)))
            }
            Self::Inverse(_) => None,
            Self::Polynomial(filter) => filter.inverse(value),
        }
    }
}
