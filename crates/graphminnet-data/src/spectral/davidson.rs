//! The lowest eigenpairs of a large connected component: a block Davidson method.
//!
//! A basis of a few dozen vectors is kept orthonormal, the Laplacian is projected onto it, and the lowest Ritz
//! vectors that are not accurate yet are improved by [`Improvement`] — a Chebyshev polynomial of `L` (Zhou and Saad
//! 2007), or a solve with a sparse factorisation where the graph has a cheap one — and appended. When the basis is
//! full it shrinks to its lowest Ritz vectors.
//!
//! * The eigenvalue 0 is known and kept out: all vectors are orthogonal to the constant one.
//! * Copies of a repeated eigenvalue: a block of [`BLOCK`] vectors sees that many at once; directions that are used
//!   up are replaced by random ones; and when all wanted pairs are accurate, a fresh random block is iterated until
//!   the first pair *beyond* them is known well enough to say that none below was missed.
//! * Everything starts from a fixed stream of random numbers and runs in fixed chunks: the result is a pure function
//!   of the graph.

use super::chebyshev::Filter;
use super::dense;
use super::error::SpectralError;
use super::laplacian::Laplacian;
use super::shift_invert::ShiftInverse;
use super::solution::Solution;
use super::tall::Tall;
use crate::rng::stream;
use faer::Mat;

/// Vectors that are improved together; eight doubles are one cache line.
const BLOCK: usize = 8;
/// A pair is accurate when its residual is below this part of its eigenvalue …
const RELATIVE_RESIDUAL: f64 = 1e-7;
/// … or below this part of the bound on the spectrum, which is near rounding.
const SMALLEST_RESIDUAL: f64 = 1e-14;
/// Give up after this many blocks.
const MAX_ITERATIONS: usize = 2_000;
/// What is left of a unit vector after projection must exceed this to count as a new direction.
const NEW_DIRECTION: f64 = 1e-12;

/// How Ritz vectors are turned into better directions.
enum Improvement {
    Inverse(ShiftInverse),
    Polynomial,
}

/// The lowest `wanted` eigenpairs above the trivial one of a connected graph.
///
/// # Errors
///
/// [`SpectralError::NotConverged`] if [`MAX_ITERATIONS`] are not enough.
pub(crate) fn lowest_above_zero(laplacian: &Laplacian, wanted: usize) -> Result<Solution, SpectralError> {
    Search::new(laplacian, wanted).run()
}

struct Search<'a> {
    laplacian: &'a Laplacian,
    wanted: usize,
    bound: f64,
    improvement: Improvement,
    /// Orthonormal basis in the leading `size` columns, and the Laplacian applied to it.
    basis: Tall,
    image: Tall,
    size: usize,
    capacity: usize,
    /// The projected Laplacian, `size × size`.
    projected: Mat<f64>,
    /// Eigenvalues and eigenvectors of the projected Laplacian.
    ritz_values: Vec<f64>,
    ritz_vectors: Mat<f64>,
    /// Number of leading Ritz pairs found accurate.
    accurate: usize,
    /// How many random vectors were drawn; part of the key of the next ones.
    drawn: u64,
    block: Tall,
    scratch: Tall,
}

impl<'a> Search<'a> {
    fn new(laplacian: &'a Laplacian, wanted: usize) -> Self {
        let nodes = laplacian.num_nodes();
        let bound = laplacian.spectral_bound();
        let improvement = match ShiftInverse::new(laplacian, bound) {
            Some(inverse) => Improvement::Inverse(inverse),
            None => Improvement::Polynomial,
        };
        // Room for what is kept after shrinking and as much again.
        let capacity = (2 * (wanted + BLOCK) + 2 * BLOCK).min(nodes - 1);
        Self {
            laplacian,
            wanted,
            bound,
            improvement,
            basis: Tall::zeros(nodes, capacity),
            image: Tall::zeros(nodes, capacity),
            size: 0,
            capacity,
            projected: Mat::zeros(capacity, capacity),
            ritz_values: Vec::new(),
            ritz_vectors: Mat::zeros(0, 0),
            accurate: 0,
            drawn: 0,
            block: Tall::zeros(nodes, BLOCK),
            scratch: Tall::zeros(nodes, BLOCK),
        }
    }

    fn run(mut self) -> Result<Solution, SpectralError> {
        let mut fresh_block_tested = false;
        self.draw_random_columns(0);
        self.improve();
        for _ in 0..MAX_ITERATIONS {
            let new = self.orthonormalise_block();
            self.extend(new)?;
            let residuals = self.next_block();
            if self.accurate >= self.wanted {
                if fresh_block_tested && self.beyond_is_known(&residuals) {
                    if self.all_accurate() {
                        return Ok(self.into_solution());
                    }
                } else if !fresh_block_tested {
                    fresh_block_tested = true;
                    self.shrink(self.wanted);
                    self.draw_random_columns(0);
                    self.improve();
                    continue;
                }
            }
            let live = residuals.len();
            self.draw_random_columns(live.min(new));
            if self.size + BLOCK > self.capacity {
                self.shrink((self.wanted + BLOCK).min(self.capacity - BLOCK));
            }
            self.improve();
        }
        Err(SpectralError::NotConverged {
            nodes: self.laplacian.num_nodes(),
            wanted: self.wanted,
            converged: self.accurate.min(self.wanted),
            iterations: MAX_ITERATIONS,
        })
    }

    /// Fills the block's columns from `first` on with random vectors.
    fn draw_random_columns(&mut self, first: usize) {
        if first >= BLOCK {
            return;
        }
        let mut random = stream(0, "eigenvector start", &[self.drawn]);
        self.drawn += 1;
        for row in self.block.data_mut().chunks_exact_mut(BLOCK) {
            for entry in &mut row[first..] {
                *entry = random.uniform() - 0.5;
            }
        }
    }

    /// Replaces the block by directions in which the low eigenvectors are amplified.
    fn improve(&mut self) {
        self.block.subtract_means(BLOCK);
        match &self.improvement {
            Improvement::Inverse(inverse) => inverse.apply(&mut self.block),
            Improvement::Polynomial => {
                let filter = self.filter();
                filter.apply::<BLOCK>(self.laplacian, &mut self.block, &mut self.scratch);
            }
        }
        self.block.subtract_means(BLOCK);
    }

    /// A polynomial that damps everything above the Ritz values of interest.
    fn filter(&self) -> Filter {
        let beyond = self.wanted + BLOCK / 2;
        let (low, cut) = match (self.ritz_values.first(), self.ritz_values.last()) {
            (Some(&low), Some(&last)) => (low, self.ritz_values.get(beyond).copied().unwrap_or(last)),
            _ => (0.0, self.bound / 8.0),
        };
        let cut = cut.clamp(1e-6 * self.bound, self.bound / 2.0);
        let degree = (2.0 * (self.bound / cut).sqrt()).clamp(8.0, 400.0) as usize;
        Filter { low: low.min(cut / 2.0), cut, bound: self.bound, degree }
    }

    /// Makes the block orthonormal and orthogonal to the basis; gives the number of columns that are left.
    fn orthonormalise_block(&mut self) -> usize {
        normalise(&mut self.block, BLOCK);
        let mut columns = BLOCK;
        for _ in 0..2 {
            if self.size > 0 {
                let overlap = self.basis.inner_products(self.size, &self.block, columns);
                self.block.subtract_product(columns, &self.basis, overlap.as_ref());
            }
            self.block.subtract_means(columns);
            columns = orthonormalise(&mut self.block, columns);
            if columns == 0 {
                break;
            }
        }
        columns
    }

    /// Appends the leading columns of the block to the basis and solves the projected problem.
    fn extend(&mut self, columns: usize) -> Result<(), SpectralError> {
        let columns = columns.min(self.capacity - self.size);
        if columns > 0 {
            self.scratch.data_mut().fill(0.0);
            self.laplacian.apply::<BLOCK>(&self.block, &mut self.scratch, 0.0, 1.0, 0.0);
            self.basis.set_columns(self.size, &self.block, columns);
            self.image.set_columns(self.size, &self.scratch, columns);
            let first = self.size;
            self.size += columns;
            let products = self.basis.inner_products(self.size, &self.scratch, columns);
            for column in 0..columns {
                for row in 0..self.size {
                    self.projected[(row, first + column)] = products[(row, column)];
                    self.projected[(first + column, row)] = products[(row, column)];
                }
            }
        }
        let projected = self.projected.submatrix(0, 0, self.size, self.size).to_owned();
        (self.ritz_values, self.ritz_vectors) = dense::lowest_pairs(projected, self.size)?;
        Ok(())
    }

    /// Residuals of the Ritz pairs `first..first + count`, whose vectors are left in the block.
    fn ritz_block(&mut self, first: usize, count: usize) -> Vec<f64> {
        let coefficients = self.ritz_vectors.subcols(first, count);
        self.block.set_product(&self.basis, coefficients);
        self.scratch.set_product(&self.image, coefficients);
        let values =
            Mat::from_fn(
                count,
                count,
                |row, column| {
                    if row == column { self.ritz_values[first + row] } else { 0.0 }
                },
            );
        self.scratch.subtract_product(count, &self.block, values.as_ref());
        self.scratch.column_norms(count)
    }

    fn limit(&self, pair: usize) -> f64 {
        (RELATIVE_RESIDUAL * self.ritz_values[pair]).max(SMALLEST_RESIDUAL * self.bound)
    }

    /// Puts the lowest Ritz vectors that are not accurate yet into the block; gives their residuals.
    fn next_block(&mut self) -> Vec<f64> {
        self.accurate = self.accurate.min(self.size);
        // A new Ritz value below the accurate ones moves them up: look again from its place.
        let first = self.accurate.saturating_sub(BLOCK / 2);
        self.accurate = first;
        loop {
            let first = self.accurate;
            let count = BLOCK.min(self.size - first);
            let residuals = self.ritz_block(first, count);
            let good = (0..count).take_while(|&at| residuals[at] <= self.limit(first + at)).count();
            self.accurate += good;
            if good == 0 || self.accurate >= self.wanted || self.accurate >= self.size {
                if good > 0 && self.accurate < self.size {
                    let count = BLOCK.min(self.size - self.accurate);
                    return self.ritz_block(self.accurate, count);
                }
                return if good == 0 { residuals } else { Vec::new() };
            }
        }
    }

    /// Whether the first pair beyond the wanted ones is known well enough to exclude a missed one below them.
    fn beyond_is_known(&self, residuals: &[f64]) -> bool {
        let at = self.wanted;
        if at >= self.laplacian.num_nodes() - 1 || self.accurate > at {
            return true;
        }
        let (Some(&value), Some(&residual)) = (self.ritz_values.get(at), residuals.first()) else {
            return false;
        };
        value - residual >= self.ritz_values[at - 1] * (1.0 - RELATIVE_RESIDUAL) || residual <= self.limit(at)
    }

    /// Looks at every wanted pair once more.
    fn all_accurate(&mut self) -> bool {
        for first in (0..self.wanted).step_by(BLOCK) {
            let count = BLOCK.min(self.wanted - first);
            let residuals = self.ritz_block(first, count);
            if let Some(at) = (0..count).find(|&at| residuals[at] > self.limit(first + at)) {
                self.accurate = first + at;
                let count = BLOCK.min(self.size - self.accurate);
                self.ritz_block(self.accurate, count);
                return false;
            }
        }
        true
    }

    /// Replaces the basis by its `keep` lowest Ritz vectors.
    fn shrink(&mut self, keep: usize) {
        let keep = keep.min(self.size);
        let coefficients = self.ritz_vectors.subcols(0, keep);
        self.basis.multiply_right(coefficients);
        self.image.multiply_right(coefficients);
        self.size = keep;
        self.ritz_values.truncate(keep);
        self.ritz_vectors = Mat::identity(keep, keep);
        self.projected = Mat::zeros(self.capacity, self.capacity);
        for (at, &value) in self.ritz_values.iter().enumerate() {
            self.projected[(at, at)] = value;
        }
    }

    fn into_solution(self) -> Solution {
        let mut vectors = Tall::zeros(self.laplacian.num_nodes(), self.wanted);
        vectors.set_product(&self.basis, self.ritz_vectors.subcols(0, self.wanted));
        Solution { values: self.ritz_values[..self.wanted].to_vec(), vectors }
    }
}

/// Scales the leading columns to unit norm; columns that are zero or not finite become zero.
fn normalise(block: &mut Tall, columns: usize) -> Vec<f64> {
    let norms = block.column_norms(columns);
    let factors: Vec<f64> =
        norms.iter().map(|&norm| if norm > 0.0 && norm.is_finite() { 1.0 / norm } else { 0.0 }).collect();
    block.scale_columns(&factors);
    norms
}

/// Makes the leading columns orthonormal, dropping directions that are used up; gives the number that is left.
///
/// Through the eigenvectors of the Gram matrix of the normalised columns (Stathopoulos and Wu 2002), which a
/// linearly dependent block does not upset.
fn orthonormalise(block: &mut Tall, columns: usize) -> usize {
    let norms = block.column_norms(columns);
    let factors: Vec<f64> = norms
        .iter()
        .map(|&norm| if norm > NEW_DIRECTION && norm.is_finite() { 1.0 / norm } else { 0.0 })
        .collect();
    block.scale_columns(&factors);
    let gram = block.inner_products(columns, block, columns);
    let Ok((values, vectors)) = dense::lowest_pairs(gram, columns) else { return 0 };
    let kept: Vec<usize> = (0..columns).rev().filter(|&at| values[at] > 1e-10).collect();
    let rotation = Mat::from_fn(columns, kept.len(), |row, column| {
        vectors[(row, kept[column])] / values[kept[column]].sqrt()
    });
    if !kept.is_empty() {
        block.multiply_right(rotation.as_ref());
    }
    kept.len()
}
