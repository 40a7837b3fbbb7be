//! A polynomial of the Laplacian that amplifies the low end of the spectrum and damps the rest.
//!
//! The Chebyshev polynomial of degree `d`, mapped so that `[cut, bound]` becomes `[−1, 1]`, is at most 1 there and
//! grows like `exp(2 d √((cut − λ) / bound))` below the cut. It needs nothing but mat-vecs, which on a graph with a
//! few neighbours per node are cheaper than keeping vectors orthogonal: filtering between the steps of a
//! subspace method is what makes it fast.

use super::Stop;
use super::laplacian::Laplacian;
use super::tall::Tall;

/// The polynomial, scaled to 1 at 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filter {
    /// Eigenvalues from here to `bound` are damped.
    pub cut: f64,
    /// An upper bound of all eigenvalues.
    pub bound: f64,
    /// Degree of the polynomial.
    pub degree: usize,
}

impl Filter {
    /// Half the width and the centre of the damped interval.
    fn interval(&self) -> (f64, f64) {
        ((self.bound - self.cut) / 2.0, (self.bound + self.cut) / 2.0)
    }

    /// Replaces the `B` columns of `block` by the filtered ones; `scratch` has the same shape.
    ///
    /// A stop is obeyed between two products; what the columns hold then means nothing.
    pub(super) fn apply<const B: usize>(
        &self,
        laplacian: &Laplacian,
        block: &mut Tall,
        scratch: &mut Tall,
        stop: Stop<'_>,
    ) {
        let (half_width, centre) = self.interval();
        let first = -half_width / centre;
        let mut ratio = first;
        // scratch ← (L − centre) block · ratio / half_width; the old content of scratch is multiplied by 0.
        scratch.data_mut().fill(0.0);
        laplacian.apply::<B>(block, scratch, centre, ratio / half_width, 0.0);
        for _ in 1..self.degree {
            if stop() {
                return;
            }
            let next_ratio = 1.0 / (2.0 / first - ratio);
            laplacian.apply::<B>(scratch, block, centre, 2.0 * next_ratio / half_width, ratio * next_ratio);
            std::mem::swap(block, scratch);
            ratio = next_ratio;
        }
        std::mem::swap(block, scratch);
    }

    /// The value at an eigenvalue not above the cut.
    pub(super) fn value(&self, eigenvalue: f64) -> f64 {
        let (half_width, centre) = self.interval();
        let degree = self.degree as f64;
        let angle = |at: f64| degree * ((centre - at) / half_width).max(1.0).acosh();
        (angle(eigenvalue) - angle(0.0)).exp() * (1.0 + (-2.0 * angle(eigenvalue)).exp())
            / (1.0 + (-2.0 * angle(0.0)).exp())
    }

    /// The eigenvalue below the cut with the given value, and the inverse of the slope there.
    pub(super) fn inverse(&self, value: f64) -> Option<(f64, f64)> {
        let (half_width, centre) = self.interval();
        let degree = self.degree as f64;
        let largest = (degree * (centre / half_width).acosh()).cosh();
        let scaled = value * largest;
        if scaled.is_nan() || scaled <= 1.0 + 1e-9 {
            return None;
        }
        let angle = scaled.acosh() / degree;
        let slope = degree * (degree * angle).sinh() / (half_width * angle.sinh() * largest);
        Some(((centre - half_width * angle.cosh()).max(0.0), 1.0 / slope))
    }
}

#[cfg(test)]
mod tests {
    use super::super::NEVER;
    use super::*;
    use crate::graph::Graph;

    #[test]
    fn the_filter_acts_on_an_eigenvector_as_its_value_says() {
        // A path of three nodes has eigenvalues 0, 1, 3.
        let path = Laplacian::of(&Graph::from_edges(3, vec![[0, 1], [1, 2]]).unwrap());
        for degree in [1, 2, 7] {
            let filter = Filter { cut: 2.0, bound: 4.0, degree };
            let mut block = Tall::zeros(3, 2);
            block.data_mut().copy_from_slice(&[1.0, 1.0, 1.0, 0.0, 1.0, -1.0]);
            let mut scratch = Tall::zeros(3, 2);
            filter.apply::<2>(&path, &mut block, &mut scratch, NEVER);
            assert!((block.data()[0] - 1.0).abs() < 1e-12);
            assert!((block.data()[1] - filter.value(1.0)).abs() < 1e-12);
            let (eigenvalue, inverse_slope) = filter.inverse(filter.value(1.0)).unwrap();
            assert!((eigenvalue - 1.0).abs() < 1e-9);
            let slope = (filter.value(1.0 - 1e-6) - filter.value(1.0 + 1e-6)) / 2e-6;
            assert!((slope * inverse_slope - 1.0).abs() < 1e-6);
        }
    }
}
