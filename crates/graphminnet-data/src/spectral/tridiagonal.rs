//! The lowest eigenpairs of a symmetric tridiagonal matrix, when only a part of them is wanted.
//!
//! Eigenvalues by bisection on Sturm counts (the number of negative pivots of `T − x` is the number of eigenvalues
//! below `x`), eight of them side by side; eigenvectors by inverse iteration, with vectors of neighbouring eigenvalues
//! kept orthogonal to each other. This is LAPACK's `stebz` and `stein`: time grows with the number of wanted pairs,
//! where a full decomposition computes all of them. The caller verifies the result and has the full decomposition to
//! fall back to.

use crate::rng::stream;
use std::array::from_fn;

/// Eigenvalues that are bisected side by side.
const LANES: usize = 8;
/// Eigenvalues closer than this part of the matrix's norm have their vectors orthogonalised.
const CLUSTER: f64 = 1e-3;
/// Most inverse iterations for one vector.
const ITERATIONS: usize = 5;

/// A symmetric tridiagonal matrix.
pub(super) struct Tridiagonal {
    diagonal: Vec<f64>,
    /// Entries beside the diagonal, one fewer.
    beside: Vec<f64>,
}

impl Tridiagonal {
    pub(super) fn new(diagonal: Vec<f64>, beside: Vec<f64>) -> Self {
        Self { diagonal, beside }
    }

    /// The lowest `count` eigenvalues, ascending, and unit eigenvectors, one after the other.
    ///
    /// `None` if a vector does not settle.
    pub(super) fn lowest_pairs(&self, count: usize) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
        let values: Vec<f64> =
            (0..count).step_by(LANES).flat_map(|first| self.bisect(first)).take(count).collect();
        let norm = self.norm();
        let mut vectors: Vec<Vec<f64>> = Vec::with_capacity(count);
        let mut solver = Solver::new(self.diagonal.len());
        let mut cluster_start = 0;
        let mut shift = f64::NEG_INFINITY;
        for (at, &value) in values.iter().enumerate() {
            if at > 0 && value - values[at - 1] > CLUSTER * norm {
                cluster_start = at;
            }
            // Equal shifts would give equal vectors: keep them apart by a few roundings.
            let apart = 10.0 * f64::EPSILON * norm;
            shift = if value - shift < apart { shift + apart } else { value };
            solver.factorise(self, shift, norm);
            let vector = solver.iterate(at as u64, &vectors[cluster_start..])?;
            vectors.push(vector);
        }
        Some((values, vectors))
    }

    fn norm(&self) -> f64 {
        self.gershgorin().into_iter().fold(0.0, |norm: f64, end| norm.max(end.abs())).max(f64::MIN_POSITIVE)
    }

    /// An interval that holds all eigenvalues.
    fn gershgorin(&self) -> [f64; 2] {
        let beside = |at: usize| self.beside.get(at).map_or(0.0, |entry| entry.abs());
        let mut ends = [f64::INFINITY, f64::NEG_INFINITY];
        for (row, &centre) in self.diagonal.iter().enumerate() {
            let radius = beside(row) + if row > 0 { beside(row - 1) } else { 0.0 };
            ends = [ends[0].min(centre - radius), ends[1].max(centre + radius)];
        }
        ends
    }

    /// Eigenvalues number `first`, `first + 1`, …
    fn bisect(&self, first: usize) -> [f64; LANES] {
        let [lowest, highest] = self.gershgorin();
        let width = (highest - lowest).max(f64::MIN_POSITIVE);
        let squares: Vec<f64> = self.beside.iter().map(|entry| entry * entry).collect();
        let smallest_pivot =
            f64::MIN_POSITIVE * squares.iter().fold(1.0, |largest: f64, &square| largest.max(square));
        let mut low = [lowest - f64::EPSILON * width; LANES];
        let mut high = [highest + f64::EPSILON * width; LANES];
        for _ in 0..64 {
            let middle: [f64; LANES] = from_fn(|lane| 0.5 * (low[lane] + high[lane]));
            let below = self.counts_below(&middle, &squares, smallest_pivot);
            let mut settled = true;
            for lane in 0..LANES {
                if below[lane] > (first + lane) as f64 {
                    high[lane] = middle[lane];
                } else {
                    low[lane] = middle[lane];
                }
                let scale = low[lane].abs().max(high[lane].abs());
                settled &= high[lane] - low[lane]
                    <= 2.0 * f64::EPSILON * scale + f64::EPSILON * f64::EPSILON * width;
            }
            if settled {
                break;
            }
        }
        from_fn(|lane| 0.5 * (low[lane] + high[lane]))
    }

    /// How many eigenvalues lie below each of the points.
    fn counts_below(&self, points: &[f64; LANES], squares: &[f64], smallest: f64) -> [f64; LANES] {
        let mut counts = [0.0; LANES];
        let mut pivots = [1.0; LANES];
        for (&centre, &square) in self.diagonal.iter().zip(std::iter::once(&0.0).chain(squares)) {
            for lane in 0..LANES {
                let pivot = centre - points[lane] - square / pivots[lane];
                let pivot = if pivot.abs() < smallest { -smallest } else { pivot };
                counts[lane] += if pivot < 0.0 { 1.0 } else { 0.0 };
                pivots[lane] = pivot;
            }
        }
        counts
    }
}

/// `T − shift` factorised with row exchanges.
struct Solver {
    /// The upper factor: its diagonal (inverted) and the two diagonals above.
    inverse_pivot: Vec<f64>,
    above: Vec<f64>,
    second: Vec<f64>,
    /// The multiplier of each step, and whether rows were exchanged.
    multiplier: Vec<f64>,
    exchanged: Vec<bool>,
}

impl Solver {
    fn new(order: usize) -> Self {
        let zeros = vec![0.0; order];
        Self {
            inverse_pivot: zeros.clone(),
            above: zeros.clone(),
            second: zeros.clone(),
            multiplier: zeros,
            exchanged: vec![false; order],
        }
    }

    fn factorise(&mut self, matrix: &Tridiagonal, shift: f64, norm: f64) {
        let order = matrix.diagonal.len();
        let beside = |row: usize| matrix.beside.get(row).copied().unwrap_or(0.0);
        let tiny = f64::EPSILON * norm;
        let (mut pivot, mut next) = (matrix.diagonal[0] - shift, beside(0));
        for row in 0..order {
            let last = row + 1 == order;
            let below = if last { 0.0 } else { beside(row) };
            let (centre, right) =
                if last { (0.0, 0.0) } else { (matrix.diagonal[row + 1] - shift, beside(row + 1)) };
            if pivot.abs() >= below.abs() || last {
                let pivot_here = if pivot.abs() < tiny { tiny.copysign(pivot) } else { pivot };
                let factor = below / pivot_here;
                self.inverse_pivot[row] = 1.0 / pivot_here;
                (self.above[row], self.second[row]) = (next, 0.0);
                (self.multiplier[row], self.exchanged[row]) = (factor, false);
                (pivot, next) = (centre - factor * next, right);
            } else {
                let factor = pivot / below;
                self.inverse_pivot[row] = 1.0 / below;
                (self.above[row], self.second[row]) = (centre, right);
                (self.multiplier[row], self.exchanged[row]) = (factor, true);
                (pivot, next) = (next - factor * centre, -factor * right);
            }
        }
    }

    fn solve(&self, vector: &mut [f64]) {
        let order = vector.len();
        for row in 0..order - 1 {
            if self.exchanged[row] {
                vector.swap(row, row + 1);
            }
            vector[row + 1] -= self.multiplier[row] * vector[row];
        }
        let (mut one, mut two) = (0.0, 0.0);
        for row in (0..order).rev() {
            let value =
                (vector[row] - self.above[row] * one - self.second[row] * two) * self.inverse_pivot[row];
            (one, two) = (value, one);
            vector[row] = value;
        }
    }

    /// Iterates a random vector, keeping it orthogonal to `others`, until a solve makes it grow as much as it does for
    /// an eigenvector.
    fn iterate(&self, number: u64, others: &[Vec<f64>]) -> Option<Vec<f64>> {
        let mut random = stream(0, "inverse iteration", &[number]);
        let mut vector: Vec<f64> = self.inverse_pivot.iter().map(|_| random.uniform() - 0.5).collect();
        normalise(&mut vector)?;
        let order = vector.len() as f64;
        for step in 0..ITERATIONS {
            self.solve(&mut vector);
            for other in others {
                let overlap: f64 = vector.iter().zip(other).map(|(a, b)| a * b).sum();
                vector.iter_mut().zip(other).for_each(|(entry, other)| *entry -= overlap * other);
            }
            let growth = normalise(&mut vector)?;
            // The shift is right up to a few roundings, so one solve brings out the eigenvector; one more polishes.
            if step > 0 && growth > 1e8 / order.sqrt() {
                return Some(vector);
            }
        }
        None
    }
}

/// Scales to unit norm and gives the norm; `None` if that is zero or not finite.
fn normalise(vector: &mut [f64]) -> Option<f64> {
    let norm = vector.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
    if norm.is_nan() || norm <= 0.0 || norm.is_infinite() {
        return None;
    }
    vector.iter_mut().for_each(|entry| *entry /= norm);
    Some(norm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(matrix: &Tridiagonal, count: usize) {
        let (values, vectors) = matrix.lowest_pairs(count).unwrap();
        let order = matrix.diagonal.len();
        assert!(values.is_sorted());
        let limit = 1e-11 * matrix.norm();
        for (at, vector) in vectors.iter().enumerate() {
            for row in 0..order {
                let left = if row > 0 { matrix.beside[row - 1] * vector[row - 1] } else { 0.0 };
                let right = if row + 1 < order { matrix.beside[row] * vector[row + 1] } else { 0.0 };
                let residual = left + right + (matrix.diagonal[row] - values[at]) * vector[row];
                assert!(residual.abs() < limit, "pair {at}: {residual:e}");
            }
            for (other, second) in vectors[..=at].iter().enumerate() {
                let product: f64 = vector.iter().zip(second).map(|(a, b)| a * b).sum();
                let expected = if other == at { 1.0 } else { 0.0 };
                assert!((product - expected).abs() < 1e-9, "{other}·{at} = {product}");
            }
        }
    }

    #[test]
    fn paths_diagonal_matrices_and_decoupled_copies() {
        let path = |order: usize| {
            let mut diagonal = vec![2.0; order];
            (diagonal[0], diagonal[order - 1]) = (1.0, 1.0);
            (diagonal, vec![-1.0; order - 1])
        };
        let (diagonal, beside) = path(60);
        let matrix = Tridiagonal::new(diagonal, beside);
        check(&matrix, 20);
        let (values, _) = matrix.lowest_pairs(20).unwrap();
        for (k, value) in values.iter().enumerate() {
            let exact = 2.0 - 2.0 * (std::f64::consts::PI * k as f64 / 60.0).cos();
            assert!((value - exact).abs() < 1e-14, "{value} is not {exact}");
        }
        // Two copies of one path: every eigenvalue twice.
        let (diagonal, beside) = path(20);
        let twice = [beside.clone(), vec![0.0], beside].concat();
        check(&Tridiagonal::new([diagonal.clone(), diagonal].concat(), twice), 13);
        check(&Tridiagonal::new(vec![3.0, 1.0, 1.0, 2.0], vec![0.0; 3]), 4);
        // Nothing to scale by: left to the full decomposition.
        assert!(Tridiagonal::new(vec![0.0; 5], vec![0.0; 4]).lowest_pairs(3).is_none());
    }

    proptest! {
        #[test]
        fn random_matrices(entries in prop::collection::vec((-3f64..3.0, -2f64..2.0), 2..40), part in 0.0f64..1.0) {
            let (diagonal, mut beside): (Vec<f64>, Vec<f64>) = entries.into_iter().unzip();
            beside.pop();
            let count = 1 + (part * (diagonal.len() - 1) as f64) as usize;
            check(&Tridiagonal::new(diagonal, beside), count);
        }
    }
}
