//! Tall, narrow matrices (nodes × a few dozen columns) and the products an eigensolver needs on them.
//!
//! Rows are contiguous, so a mat-vec with a sparse matrix reads whole cache lines, and a chunk of rows is a
//! contiguous slice that one thread can own. Every operation cuts the rows into chunks of [`CHUNK_ROWS`] and adds
//! partial sums in the order of the chunks: results are the same bits for any number of threads.

use super::spread::{Groups, Spread};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;
use std::sync::Arc;

/// Rows per chunk of work.
pub(crate) const CHUNK_ROWS: usize = 2048;

/// A row-major matrix with `stride` columns, of which callers use a leading part.
#[derive(Debug, Clone)]
pub(crate) struct Tall {
    stride: usize,
    data: Vec<f64>,
    /// Where more rows are: sums are over all of them.
    spread: Option<Arc<Spread>>,
}

impl Tall {
    pub(super) fn zeros(rows: usize, stride: usize) -> Self {
        Self::zeros_over(rows, stride, None)
    }

    /// The rows here of a matrix that may be spread over ranks.
    pub(super) fn zeros_over(rows: usize, stride: usize, spread: Option<Arc<Spread>>) -> Self {
        Self { stride, data: vec![0.0; rows * stride], spread }
    }

    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    pub(super) fn rows(&self) -> usize {
        self.data.len() / self.stride
    }

    pub(super) fn data(&self) -> &[f64] {
        &self.data
    }

    pub(super) fn data_mut(&mut self) -> &mut [f64] {
        &mut self.data
    }

    fn chunks(&self) -> rayon::slice::Chunks<'_, f64> {
        self.data.par_chunks(CHUNK_ROWS * self.stride)
    }

    fn chunks_mut(&mut self) -> rayon::slice::ChunksMut<'_, f64> {
        self.data.par_chunks_mut(CHUNK_ROWS * self.stride)
    }

    /// `selfᵀ · other` of the leading columns of both.
    pub(super) fn inner_products(&self, columns: usize, other: &Self, other_columns: usize) -> Mat<f64> {
        let of_chunk = |(left, right): (&[f64], &[f64])| {
            let mut product = Mat::zeros(columns, other_columns);
            let left = view(left, self.stride, columns);
            let right = view(right, other.stride, other_columns);
            matmul(product.as_mut(), Accum::Replace, left.transpose(), right, 1.0, Par::Seq);
            product
        };
        let here = if self.rows() <= CHUNK_ROWS {
            of_chunk((&self.data, &other.data))
        } else {
            let partial: Vec<Mat<f64>> = self.chunks().zip(other.chunks()).map(of_chunk).collect();
            partial.into_iter().fold(Mat::zeros(columns, other_columns), |sum, part| sum + part)
        };
        let Some(spread) = &self.spread else { return here };
        let entries = |at: usize| here[(at / other_columns, at % other_columns)];
        let mut sums: Vec<f64> = (0..columns * other_columns).map(entries).collect();
        spread.join(&mut sums);
        Mat::from_fn(columns, other_columns, |row, column| sums[row * other_columns + column])
    }

    /// `self ← self − basis · coefficients` on the leading columns.
    pub(super) fn subtract_product(&mut self, columns: usize, basis: &Self, coefficients: MatRef<'_, f64>) {
        let (stride, basis_stride) = (self.stride, basis.stride);
        self.chunks_mut().zip(basis.chunks()).for_each(|(chunk, basis)| {
            let basis = view(basis, basis_stride, coefficients.nrows());
            let chunk = view_mut(chunk, stride, columns);
            matmul(chunk, Accum::Add, basis, coefficients, -1.0, Par::Seq);
        });
    }

    /// Writes `basis · coefficients` into the leading columns.
    pub(super) fn set_product(&mut self, basis: &Self, coefficients: MatRef<'_, f64>) {
        let (stride, basis_stride) = (self.stride, basis.stride);
        self.chunks_mut().zip(basis.chunks()).for_each(|(chunk, basis)| {
            let basis = view(basis, basis_stride, coefficients.nrows());
            let chunk = view_mut(chunk, stride, coefficients.ncols());
            matmul(chunk, Accum::Replace, basis, coefficients, 1.0, Par::Seq);
        });
    }

    /// `self ← self · coefficients` in place; the result occupies the leading columns.
    pub(super) fn multiply_right(&mut self, coefficients: MatRef<'_, f64>) {
        let (stride, columns) = (self.stride, coefficients.ncols());
        self.chunks_mut().for_each(|chunk| {
            let mut product = Mat::zeros(chunk.len() / stride, columns);
            let old = view(chunk, stride, coefficients.nrows());
            matmul(product.as_mut(), Accum::Replace, old, coefficients, 1.0, Par::Seq);
            view_mut(chunk, stride, columns).copy_from(&product);
        });
    }

    /// Copies `count` columns of `source` from `from` on to the columns from `first` on.
    pub(super) fn copy_columns(&mut self, first: usize, source: &Self, from: usize, count: usize) {
        let (stride, source_stride) = (self.stride, source.stride);
        self.chunks_mut().zip(source.chunks()).for_each(|(chunk, source)| {
            for (row, old) in chunk.chunks_exact_mut(stride).zip(source.chunks_exact(source_stride)) {
                row[first..first + count].copy_from_slice(&old[from..from + count]);
            }
        });
    }

    /// Copies `count` leading columns of `source` to the columns from `first` on.
    pub(super) fn set_columns(&mut self, first: usize, source: &Self, count: usize) {
        self.copy_columns(first, source, 0, count);
    }

    /// Sums of `value(row, column)` over all rows, for each of `columns` columns.
    fn column_sums(&self, columns: usize, value: impl Fn(f64) -> f64 + Sync) -> Vec<f64> {
        let partial: Vec<Vec<f64>> = self
            .chunks()
            .map(|chunk| {
                let mut sums = vec![0.0; columns];
                for row in chunk.chunks_exact(self.stride) {
                    for (sum, &entry) in sums.iter_mut().zip(row) {
                        *sum += value(entry);
                    }
                }
                sums
            })
            .collect();
        let mut total = vec![0.0; columns];
        for part in partial {
            for (total, part) in total.iter_mut().zip(part) {
                *total += part;
            }
        }
        if let Some(spread) = &self.spread {
            spread.join(&mut total);
        }
        total
    }

    /// Euclidean norms of the leading columns.
    pub(super) fn column_norms(&self, columns: usize) -> Vec<f64> {
        self.column_sums(columns, |entry| entry * entry).into_iter().map(f64::sqrt).collect()
    }

    /// Multiplies each leading column by its own factor.
    pub(super) fn scale_columns(&mut self, factors: &[f64]) {
        let stride = self.stride;
        self.chunks_mut().for_each(|chunk| {
            for row in chunk.chunks_exact_mut(stride) {
                for (entry, factor) in row.iter_mut().zip(factors) {
                    *entry *= factor;
                }
            }
        });
    }

    /// Makes the leading columns orthogonal to the constant vector, or to that of each connected component.
    pub(super) fn subtract_means(&mut self, columns: usize) {
        if let Some(spread) = self.spread.clone()
            && let Some(groups) = &spread.groups
        {
            return self.subtract_means_of(groups, &spread, columns);
        }
        let rows = self.spread.as_ref().map_or(self.rows() as u64, |spread| spread.total) as f64;
        let means: Vec<f64> =
            self.column_sums(columns, |entry| entry).into_iter().map(|sum| sum / rows).collect();
        let stride = self.stride;
        self.chunks_mut().for_each(|chunk| {
            for row in chunk.chunks_exact_mut(stride) {
                for (entry, mean) in row.iter_mut().zip(&means) {
                    *entry -= mean;
                }
            }
        });
    }
}

impl Tall {
    fn subtract_means_of(&mut self, groups: &Groups, spread: &Spread, columns: usize) {
        let mut means = vec![0.0; groups.sizes.len() * columns];
        let place = |group: &Option<u32>| {
            group.map_or(0..0, |group| group as usize * columns..(group as usize + 1) * columns)
        };
        for (row, group) in self.data.chunks_exact(self.stride).zip(&groups.of_row) {
            means[place(group)].iter_mut().zip(row).for_each(|(sum, entry)| *sum += entry);
        }
        spread.join(&mut means);
        for (means, size) in means.chunks_exact_mut(columns.max(1)).zip(&groups.sizes) {
            means.iter_mut().for_each(|mean| *mean /= size);
        }
        for (row, group) in self.data.chunks_exact_mut(self.stride).zip(&groups.of_row) {
            row.iter_mut().zip(&means[place(group)]).for_each(|(entry, mean)| *entry -= mean);
        }
    }
}

fn view(data: &[f64], stride: usize, columns: usize) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(data, data.len() / stride, stride).subcols(0, columns)
}

fn view_mut(data: &mut [f64], stride: usize, columns: usize) -> MatMut<'_, f64> {
    let rows = data.len() / stride;
    MatMut::from_row_major_slice_mut(data, rows, stride).subcols_mut(0, columns)
}
