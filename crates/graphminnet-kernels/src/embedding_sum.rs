//! Sum of one embedding per categorical column: `out[u] = Σ_t table_t[index[u, t]]`.
//!
//! Shapes: all tables stand one below the other in `tables [Σ vocabulary, width]`, table `t` from row `first_row[t]`
//! on; `index [rows, columns]`, `out [rows, width]`.
//!
//! Gradient: `d_tables[v] = Σ d_out[u]` over all `(u, t)` that name row `v`. Rows are cut in a few parts with a table
//! of their own each, added in order; with large tables there is one part only.

use crate::add::add_row;
use crate::dispatch::simd_fn;
use crate::parallel::{Disjoint, for_each_piece, map_pieces, rows_of, rows_per_piece};
use crate::scratch::Scratch;
use std::ops::Range;

/// Which rows of which tables to add.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a> {
    /// First row of every table in the common array; one value per column.
    pub first_row: &'a [u32],
    /// Row within the column's table, `[rows, columns]`.
    pub index: &'a [u32],
}

impl Lookup<'_> {
    fn rows(&self) -> usize {
        let columns = self.first_row.len();
        assert!(columns > 0, "embedding_sum: no columns");
        assert!(self.index.len().is_multiple_of(columns), "embedding_sum: length of the index");
        self.index.len() / columns
    }
}

/// Computes `out`. Backward needs the lookup only.
///
/// # Panics
///
/// If there is no column, a length does not fit, or an index is outside of all tables.
pub fn embedding_sum(lookup: Lookup<'_>, width: usize, tables: &[f32], out: &mut [f32]) {
    let rows = lookup.rows();
    assert_eq!(out.len(), rows * width, "embedding_sum: length of the output");
    let out = Disjoint::new(out);
    for_each_piece(rows, rows_per_piece(width), |range| {
        // SAFETY: pieces are disjoint.
        let out = unsafe { out.rows(&range, width) };
        forward_rows(lookup, width, tables, range, out);
    });
}

simd_fn! {
    fn forward_rows<S>(lookup: Lookup<'_>, width: usize, tables: &[f32], range: Range<usize>, out: &mut [f32]) {
        let columns = lookup.first_row.len();
        for (row, out) in range.zip(out.chunks_exact_mut(width.max(1))) {
            out.fill(0.0);
            let index = &lookup.index[row * columns..(row + 1) * columns];
            for (&index, &first) in index.iter().zip(lookup.first_row) {
                add_row(out, &tables[(first + index) as usize * width..][..width]);
            }
        }
    }
}

/// Computes `d_tables` from `d_out`.
///
/// # Panics
///
/// As [`embedding_sum`].
pub fn embedding_sum_backward(lookup: Lookup<'_>, width: usize, d_out: &[f32], d_tables: &mut [f32]) {
    let rows = lookup.rows();
    assert_eq!(d_out.len(), rows * width, "embedding_sum_backward: length of d_out");
    // A part of its own pays when it has several times more rows to add than its table has.
    let additions = lookup.index.len() * width;
    let parts = (additions / (4 * d_tables.len()).max(16_384)).clamp(1, 16);
    let partials = map_pieces(rows, rows.div_ceil(parts).max(1), |range| {
        let mut partial = Scratch::zeroed(d_tables.len());
        add_rows_to_tables(lookup, width, rows_of(d_out, &range, width), range, &mut partial);
        partial
    });
    d_tables.fill(0.0);
    for partial in partials {
        add_row(d_tables, &partial);
    }
}

simd_fn! {
    fn add_rows_to_tables<S>(
        lookup: Lookup<'_>,
        width: usize,
        d_out: &[f32],
        range: Range<usize>,
        d_tables: &mut [f32],
    ) {
        let columns = lookup.first_row.len();
        for (row, d_out) in range.zip(d_out.chunks_exact(width.max(1))) {
            let index = &lookup.index[row * columns..(row + 1) * columns];
            for (&index, &first) in index.iter().zip(lookup.first_row) {
                add_row(&mut d_tables[(first + index) as usize * width..][..width], d_out);
            }
        }
    }
}
