//! A polynomial of the Laplacian that amplifies the low end of the spectrum and damps the rest.
//!
//! The Chebyshev polynomial of degree `d`, mapped so that `[cut, bound]` becomes `[−1, 1]`, is at most 1 there and
//! grows like `exp(2 d √((cut − λ) / bound))` below the cut. It needs nothing but mat-vecs, which on a graph with a
//! few neighbours per node are cheaper than keeping vectors orthogonal: filtering between the steps of a
//! subspace method is what makes it fast.

use super::laplacian::Laplacian;
use super::tall::Tall;

/// Where a filter begins to damp, and how steep it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filter {
    /// The lowest eigenvalue, or an estimate of it; the filter is 1 there.
    pub low: f64,
    /// Eigenvalues from here to `bound` are damped.
    pub cut: f64,
    /// An upper bound of all eigenvalues.
    pub bound: f64,
    /// Degree of the polynomial.
    pub degree: usize,
}

impl Filter {
    /// Replaces the `B` columns of `block` by the filtered ones; `scratch` has the same shape.
    pub fn apply<const B: usize>(&self, laplacian: &Laplacian, block: &mut Tall, scratch: &mut Tall) {
        let (half_width, centre) = ((self.bound - self.cut) / 2.0, (self.bound + self.cut) / 2.0);
        let first = half_width / (self.low - centre);
        let mut ratio = first;
        // scratch ← (L − centre) block · ratio / half_width; the old content of scratch is multiplied by 0.
        scratch.data_mut().fill(0.0);
        laplacian.apply::<B>(block, scratch, centre, ratio / half_width, 0.0);
        for _ in 1..self.degree {
            let next_ratio = 1.0 / (2.0 / first - ratio);
            laplacian.apply::<B>(scratch, block, centre, 2.0 * next_ratio / half_width, ratio * next_ratio);
            std::mem::swap(block, scratch);
            ratio = next_ratio;
        }
        std::mem::swap(block, scratch);
    }
}
