//! The lowest eigenpairs of a large connected component: a block Krylov method with thick restarts.
//!
//! An [`Operator`] — a Chebyshev polynomial of `L`, or the inverse of `L + shift` where the graph has a cheap
//! factorisation — is applied to a block of vectors again and again; the results are kept as an orthonormal basis,
//! and the operator's largest Ritz pairs in it converge to the lowest pairs of `L`. When the basis is full it shrinks
//! to its best Ritz vectors and goes on. Residuals come from the small projected matrix, so a step costs the operator
//! and one orthogonalisation, nothing else.
//!
//! * The eigenvalue 0 is known and kept out: all vectors are orthogonal to the constant one (on a graph in parts, to that of each
//!   connected component).
//! * Copies of a repeated eigenvalue: a block of [`BLOCK`] vectors sees that many at once; directions that are used
//!   up are replaced by random ones; and when all wanted pairs are accurate, a fresh random block is iterated until
//!   the first pair *beyond* them is known well enough to say that none below was missed.
//! * Everything starts from a fixed stream of random numbers and runs in fixed chunks: the result is a pure function
//!   of the graph.

use super::chebyshev::Filter;
use super::dense;
use super::error::SpectralError;
use super::laplacian::Laplacian;
use super::operator::Operator;
use super::shift_invert::ShiftInverse;
use super::solution::Solution;
use super::tall::Tall;
use super::{NEVER, Stop, unless_stopped};
use crate::rng::stream;
use faer::Mat;

/// Vectors that go through the operator together.
const BLOCK: usize = 4;
/// A pair is accurate when its residual is below this part of its eigenvalue …
const RELATIVE_RESIDUAL: f64 = 1e-7;
/// … or below this part of the bound on the spectrum, which is near rounding.
const SMALLEST_RESIDUAL: f64 = 1e-14;
/// A pair that came up from random vectors is taken for the lowest there is when its residual is below this part of
/// its eigenvalue: by then anything lower would have come up before it.
const KNOWN: f64 = 1e-3;
/// Give up after this many blocks.
const MAX_ITERATIONS: usize = 4_000;
/// What is left of a vector after projection must exceed this part of it to count as a new direction.
const NEW_DIRECTION: f64 = 1e-13;
/// Degree of the polynomial, in units of `√(bound / cut)`.
const STEEPNESS: f64 = 2.5;

/// The lowest `wanted` eigenpairs above zero of a connected graph, or of one whose components are known.
///
/// # Errors
///
/// [`SpectralError::NotConverged`] if [`MAX_ITERATIONS`] are not enough; [`SpectralError::Interrupted`].
pub(crate) fn lowest_above_zero(
    laplacian: &Laplacian,
    wanted: usize,
    stop: Stop<'_>,
) -> Result<Solution, SpectralError> {
    Search::new(laplacian, wanted, stop).run()
}

struct Search<'a> {
    laplacian: &'a Laplacian,
    stop: Stop<'a>,
    wanted: usize,
    bound: f64,
    operator: Operator,
    /// Orthonormal basis in the leading `size` columns; the operator was applied to all of them.
    basis: Tall,
    size: usize,
    capacity: usize,
    /// The operator projected onto the basis.
    projected: Mat<f64>,
    /// The operator's Ritz pairs, descending.
    ritz_values: Vec<f64>,
    ritz_vectors: Mat<f64>,
    /// What the operator made of the newest columns outside of the basis: the Gram matrix of that.
    outside: Mat<f64>,
    newest: usize,
    /// The next columns of the basis: orthonormal, and orthogonal to it.
    block: Tall,
    block_columns: usize,
    scratch: Tall,
    /// How often random vectors were drawn; the key of the next ones.
    drawn: u64,
}

impl<'a> Search<'a> {
    fn new(laplacian: &'a Laplacian, wanted: usize, stop: Stop<'a>) -> Self {
        let bound = laplacian.spectral_bound();
        // A factorisation needs all rows in one place.
        let inverse = if laplacian.spread().is_none() { ShiftInverse::new(laplacian, bound) } else { None };
        let operator = match inverse {
            Some(inverse) => Operator::Inverse(Box::new(inverse)),
            None => Operator::Polynomial(filter(bound, bound / 30.0)),
        };
        let capacity = (2 * wanted + 12 * BLOCK).min(laplacian.nodes_above_zero());
        Self {
            laplacian,
            stop,
            wanted,
            bound,
            operator,
            basis: laplacian.tall(capacity),
            size: 0,
            capacity,
            projected: Mat::zeros(capacity, capacity),
            ritz_values: Vec::new(),
            ritz_vectors: Mat::zeros(0, 0),
            outside: Mat::zeros(0, 0),
            newest: 0,
            block: laplacian.tall(BLOCK),
            block_columns: 0,
            scratch: laplacian.tall(BLOCK),
            drawn: 0,
        }
    }

    fn run(mut self) -> Result<Solution, SpectralError> {
        let mut tested: Option<Solution> = None;
        // How much better than needed the estimated residuals have to be before the true ones are computed.
        let mut margin = 1.0;
        self.fill_with_random(0);
        for _ in 0..MAX_ITERATIONS {
            self.expand()?;
            if self.num_accurate(margin) >= self.wanted {
                match tested.take() {
                    Some(solution) if !self.found_another(&solution) => {
                        if self.none_below(&solution) {
                            return Ok(solution);
                        }
                        tested = Some(solution);
                    }
                    // The first time, or after random vectors have brought up a pair that had been missed.
                    _ => match self.solution()? {
                        Some(solution) => {
                            self.continue_from(&solution);
                            tested = Some(solution);
                            continue;
                        }
                        None => margin *= 0.1,
                    },
                }
            }
            if self.size + self.block_columns > self.capacity {
                match self.better_cut().filter(|_| tested.is_none()) {
                    Some(cut) => self.restart_with(cut),
                    None => self.shrink(),
                }
            }
        }
        Err(SpectralError::NotConverged {
            nodes: self.laplacian.total_nodes(),
            wanted: self.wanted,
            converged: self.num_accurate(margin).min(self.wanted),
            iterations: MAX_ITERATIONS,
        })
    }

    /// Appends the block to the basis, applies the operator to it, and solves the projected problem.
    fn expand(&mut self) -> Result<(), SpectralError> {
        let columns = self.block_columns.min(self.capacity - self.size);
        let first = self.size;
        self.basis.set_columns(first, &self.block, columns);
        self.size += columns;
        // Ranks stop together or not at all, and agreeing on it takes as long as a product.
        let within = if self.laplacian.spread().is_some() { NEVER } else { self.stop };
        self.operator.apply::<BLOCK>(self.laplacian, &mut self.block, &mut self.scratch, within);
        unless_stopped(self.stop)?;
        self.block.subtract_means(BLOCK);
        let before = self.block.column_norms(columns).into_iter().fold(0.0, f64::max);
        let overlap = self.basis.inner_products(self.size, &self.block, columns);
        self.block.subtract_product(columns, &self.basis, overlap.as_ref());
        for column in 0..columns {
            for row in 0..self.size {
                self.projected[(row, first + column)] = overlap[(row, column)];
            }
        }
        for column in first..self.size {
            for row in 0..column {
                let entry = self.projected[(row, column)];
                let mean = if row < first { entry } else { (entry + self.projected[(column, row)]) / 2.0 };
                self.projected[(row, column)] = mean;
                self.projected[(column, row)] = mean;
            }
        }
        self.block.subtract_means(columns);
        self.outside = self.block.inner_products(columns, &self.block, columns);
        self.newest = columns;
        let left = orthonormalise(&mut self.block, columns, NEW_DIRECTION * before);
        self.fill_with_random(left);

        let negative = Mat::from_fn(self.size, self.size, |row, column| -self.projected[(row, column)]);
        let (values, vectors) = dense::lowest_pairs(negative, self.size)?;
        self.ritz_values = values.into_iter().map(|value| -value).collect();
        self.ritz_vectors = vectors;
        Ok(())
    }

    /// Fills the block with random vectors from column `first` on, so that it is orthonormal and orthogonal to the
    /// basis again. Fewer columns are left where the basis spans (nearly) the whole space.
    fn fill_with_random(&mut self, first: usize) {
        // What came from the operator has been projected once already; twice is enough.
        let passes = if first < BLOCK { 2 } else { 1 };
        if first < BLOCK {
            let mut random = stream(0, "eigenvector start", &[self.drawn]);
            self.drawn += 1;
            if let Some(spread) = self.laplacian.spread() {
                random.skip(spread.before * (BLOCK - first) as u64);
            }
            for row in self.block.data_mut().chunks_exact_mut(BLOCK) {
                for entry in &mut row[first..] {
                    *entry = random.uniform() - 0.5;
                }
            }
        }
        let mut columns = BLOCK;
        for _ in 0..passes {
            self.block.subtract_means(columns);
            if self.size > 0 {
                let overlap = self.basis.inner_products(self.size, &self.block, columns);
                self.block.subtract_product(columns, &self.basis, overlap.as_ref());
            }
            columns = orthonormalise(&mut self.block, columns, 0.0);
        }
        self.block_columns = columns;
    }

    /// The eigenvalue that belongs to a Ritz pair and an estimate of its residual.
    fn estimate(&self, pair: usize) -> Option<(f64, f64)> {
        let (eigenvalue, inverse_slope) = self.operator.eigenvalue(self.ritz_values[pair])?;
        let last = self.size - self.newest;
        let mut square = 0.0;
        for row in 0..self.newest {
            for column in 0..self.newest {
                let weight = self.ritz_vectors[(last + row, pair)] * self.ritz_vectors[(last + column, pair)];
                square += weight * self.outside[(row, column)];
            }
        }
        Some((eigenvalue, square.max(0.0).sqrt() * inverse_slope))
    }

    fn limit(&self, eigenvalue: f64) -> f64 {
        (RELATIVE_RESIDUAL * eigenvalue).max(SMALLEST_RESIDUAL * self.bound)
    }

    /// Number of leading Ritz pairs whose estimated residuals are small enough.
    fn num_accurate(&self, margin: f64) -> usize {
        let accurate = |pair: &usize| match self.estimate(*pair) {
            Some((eigenvalue, residual)) => residual <= margin * self.limit(eigenvalue),
            None => false,
        };
        (0..self.size.min(self.wanted + 1)).take_while(accurate).count()
    }

    /// Whether the first pair beyond the wanted ones is known well enough to exclude a missed one below them.
    fn none_below(&self, solution: &Solution) -> bool {
        let Some(&last) = solution.values.last() else { return true };
        if self.wanted >= self.laplacian.nodes_above_zero() {
            return true;
        }
        if self.size <= self.wanted {
            return false;
        }
        match self.estimate(self.wanted) {
            Some((value, residual)) => {
                let above = value - residual >= last * (1.0 - RELATIVE_RESIDUAL);
                (above && residual <= KNOWN * value) || residual <= self.limit(value)
            }
            None => false,
        }
    }

    /// Whether a value has appeared among the wanted ones that is not in the solution.
    fn found_another(&self, solution: &Solution) -> bool {
        solution.values.iter().enumerate().any(|(pair, &value)| match self.estimate(pair) {
            Some((found, _)) => found < value * (1.0 - 10.0 * RELATIVE_RESIDUAL) - self.limit(value),
            None => false,
        })
    }

    /// The wanted pairs of the Laplacian in the span of the wanted Ritz vectors, if all of them are accurate.
    fn solution(&mut self) -> Result<Option<Solution>, SpectralError> {
        let wanted = self.wanted;
        let mut vectors = self.laplacian.tall(wanted);
        vectors.set_product(&self.basis, self.ritz_vectors.subcols(0, wanted));
        let image = self.image(&vectors);
        let projected = vectors.inner_products(wanted, &image, wanted);
        let (values, rotation) = dense::lowest_pairs(projected, wanted)?;
        vectors.multiply_right(rotation.as_ref());
        let mut residual = image;
        residual.multiply_right(rotation.as_ref());
        let diagonal =
            Mat::from_fn(wanted, wanted, |row, column| if row == column { values[row] } else { 0.0 });
        residual.subtract_product(wanted, &vectors, diagonal.as_ref());
        let norms = residual.column_norms(wanted);
        let accurate = norms.iter().zip(&values).all(|(&norm, &value)| norm <= self.limit(value));
        Ok(accurate.then_some(Solution { values, vectors }))
    }

    /// The Laplacian applied to all columns.
    fn image(&mut self, vectors: &Tall) -> Tall {
        let columns = vectors.stride();
        let mut image = self.laplacian.tall(columns);
        let (mut block, mut product) = (self.laplacian.tall(BLOCK), self.laplacian.tall(BLOCK));
        for first in (0..columns).step_by(BLOCK) {
            let count = BLOCK.min(columns - first);
            block.copy_columns(0, vectors, first, count);
            self.laplacian.apply::<BLOCK>(&block, &mut product, 0.0, 1.0, 0.0);
            image.copy_columns(first, &product, 0, count);
        }
        image
    }

    /// Starts again from accurate pairs and random vectors.
    fn continue_from(&mut self, solution: &Solution) {
        self.basis.set_columns(0, &solution.vectors, self.wanted);
        self.size = self.wanted;
        self.projected = Mat::zeros(self.capacity, self.capacity);
        for (at, &value) in solution.values.iter().enumerate() {
            self.projected[(at, at)] = self.operator.value(value);
        }
        self.fill_with_random(0);
    }

    /// Starts a steeper polynomial from mixtures of the wanted Ritz vectors.
    fn restart_with(&mut self, cut: f64) {
        let mut random = stream(1, "eigenvector start", &[self.drawn]);
        self.drawn += 1;
        let count = self.wanted.min(self.size);
        let weights = Mat::from_fn(count, BLOCK, |_, _| random.uniform() - 0.5);
        let coefficients = self.ritz_vectors.subcols(0, count) * weights;
        self.block.set_product(&self.basis, coefficients.as_ref());
        self.operator = Operator::Polynomial(filter(self.bound, cut));
        self.size = 0;
        self.projected = Mat::zeros(self.capacity, self.capacity);
        let columns = orthonormalise(&mut self.block, BLOCK, 0.0);
        self.fill_with_random(columns);
    }

    /// Makes room: keeps the best Ritz vectors.
    fn shrink(&mut self) {
        let keep =
            (self.wanted + (self.capacity - self.wanted) / 3).min(self.capacity - BLOCK).min(self.size);
        self.basis.multiply_right(self.ritz_vectors.subcols(0, keep));
        self.size = keep;
        self.projected = Mat::zeros(self.capacity, self.capacity);
        for at in 0..keep {
            self.projected[(at, at)] = self.ritz_values[at];
        }
    }

    /// A cut that suits the spectrum better than the present one: above all wanted pairs, but not far above.
    fn better_cut(&self) -> Option<f64> {
        let Operator::Polynomial(present) = &self.operator else { return None };
        let highest = self.bound * 0.9;
        let cut = match self.estimate((self.wanted + 2 * BLOCK).min(self.size - 1)) {
            // Ritz values err upwards, so this is above the true one.
            Some((value, _)) => value.clamp(1e-7 * self.bound, highest),
            None => (3.0 * present.cut).min(highest),
        };
        (cut < 0.6 * present.cut || cut > present.cut).then_some(cut)
    }
}

fn filter(bound: f64, cut: f64) -> Filter {
    let degree = (STEEPNESS * (bound / cut).sqrt()).clamp(4.0, 400.0) as usize;
    Filter { cut, bound, degree }
}

/// Makes the leading columns orthonormal, dropping those with a norm of at most `noise` and directions that depend on
/// the others; gives the number that is left.
///
/// Through the eigenvectors of the Gram matrix of the normalised columns (Stathopoulos and Wu 2002), which a
/// linearly dependent block does not upset.
fn orthonormalise(block: &mut Tall, columns: usize, noise: f64) -> usize {
    let norms = block.column_norms(columns);
    let factor = |norm: f64| if norm > noise && norm.is_finite() { 1.0 / norm } else { 0.0 };
    block.scale_columns(&norms.into_iter().map(factor).collect::<Vec<_>>());
    let gram = block.inner_products(columns, block, columns);
    let Ok((values, vectors)) = dense::lowest_pairs(gram, columns) else { return 0 };
    let kept: Vec<usize> = (0..columns).rev().filter(|&at| values[at] > 1e-10).collect();
    if !kept.is_empty() {
        let rotation = Mat::from_fn(columns, kept.len(), |row, column| {
            vectors[(row, kept[column])] / values[kept[column]].sqrt()
        });
        block.multiply_right(rotation.as_ref());
    }
    kept.len()
}
