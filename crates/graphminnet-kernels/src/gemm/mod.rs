//! Matrix products: `C[rows, columns] = A[rows, depth] · B[depth, columns]`, with a free choice of what to do with C.
//!
//! B is packed in panels of 16 columns (the last one padded with zeros), so that a step along the depth reads one
//! cache line. A tile of 6 × 16 sums lives in registers; A is read in place through two strides, which also serves
//! products with a transposed A. The `Epilogue` decides what happens to a finished row of sums.

mod pack;
mod tile;

pub(crate) use pack::{pack, pack_transposed, packed_len};

use crate::dispatch::{Arithmetic, simd_fn};
use crate::parallel::{Disjoint, for_each_piece, prefetch};
use crate::scratch::Scratch;
use std::ops::Range;
use tile::{Operands, tile};

/// Columns of a panel of packed B.
pub(crate) const PANEL: usize = 16;
/// Rows of a register tile.
const TILE_ROWS: usize = 6;

/// The left operand: element (row, step) is `values[row · row_stride + step · depth_stride]`.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    pub values: &'a [f32],
    pub row_stride: usize,
    pub depth_stride: usize,
}

impl<'a> Left<'a> {
    /// `A` stored row by row, `depth` values each.
    pub(crate) fn row_major(values: &'a [f32], depth: usize) -> Self {
        Self { values, row_stride: depth, depth_stride: 1 }
    }

    /// `A` stored transposed: `values` is `[depth, rows]`.
    pub(crate) fn transposed(values: &'a [f32], rows: usize) -> Self {
        Self { values, row_stride: 1, depth_stride: rows }
    }

    /// Whether all elements of `[rows, depth]` are there.
    fn holds(&self, rows: usize, depth: usize) -> bool {
        if rows == 0 || depth == 0 {
            return true;
        }
        let (row, step) =
            ((rows - 1).checked_mul(self.row_stride), (depth - 1).checked_mul(self.depth_stride));
        let last = row.zip(step).and_then(|(row, step)| row.checked_add(step));
        last.is_some_and(|last| last < self.values.len())
    }
}

/// The right operand `[depth, columns]`, in panels of 16 columns. It knows its sizes, so that no product reads beyond it.
#[derive(Clone, Copy)]
pub(crate) struct Right<'a> {
    values: &'a [f32],
    depth: usize,
    columns: usize,
    /// Distance of two steps of the depth within a panel.
    line_stride: usize,
    /// Distance of two panels.
    panel_stride: usize,
}

impl<'a> Right<'a> {
    /// Packed by [`pack`] or [`pack_transposed`].
    pub(crate) fn packed(values: &'a [f32], depth: usize, columns: usize) -> Self {
        assert!(values.len() >= packed_len(depth, columns), "matrix product: packed operand is too short");
        Self { values, depth, columns, line_stride: PANEL, panel_stride: PANEL * depth }
    }

    /// Some steps of the depth of an operand packed by [`pack`] or [`pack_transposed`].
    pub(crate) fn packed_steps(
        values: &'a [f32],
        depth: usize,
        columns: usize,
        steps: &Range<usize>,
    ) -> Self {
        assert!(
            steps.start <= steps.end && steps.end <= depth,
            "matrix product: steps outside of the operand"
        );
        let whole = Self::packed(values, depth, columns);
        Self { values: &values[steps.start * PANEL..], depth: steps.len(), ..whole }
    }

    /// `[depth, columns]` row by row, rows `row_stride` apart, which hold whole panels.
    pub(crate) fn strided(values: &'a [f32], depth: usize, columns: usize, row_stride: usize) -> Self {
        assert!(columns.next_multiple_of(PANEL) <= row_stride, "matrix product: rows end within a panel");
        Self::check_rows(values, depth, row_stride);
        Self { values, depth, columns, line_stride: row_stride, panel_stride: PANEL }
    }

    /// `[depth, columns]` as it stands, row by row, if its last panel can be read without leaving a row and its rows
    /// do not fall on the same few places of the cache.
    pub(crate) fn in_place(values: &'a [f32], depth: usize, columns: usize) -> Option<Self> {
        Self::check_rows(values, depth, columns);
        let suitable = matches!(columns % PANEL, 0 | 4 | 8) && !columns.is_multiple_of(64);
        suitable.then_some(Self { values, depth, columns, line_stride: columns, panel_stride: PANEL })
    }

    fn check_rows(values: &[f32], depth: usize, row_stride: usize) {
        let length = depth.checked_mul(row_stride);
        let fits = length.is_some_and(|length| length <= values.len());
        assert!(fits, "matrix product: right operand is too short");
    }
}

/// A part of a row of C, or the upper left end of a tile.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub row: usize,
    pub column: usize,
    /// Columns that count; the others are padding.
    pub width: usize,
}

/// Receives the finished sums.
///
/// Implementations work on arrays of `W` lanes loaded with [`load_lanes`] and written with [`store_lanes`]: slices behind
/// a reference may overlap for all the compiler knows, and then loops over them are not vectorised.
pub(crate) trait Epilogue {
    /// Whether rows of sums are handed over straight from the registers of the tile. Long epilogues need the registers
    /// themselves; with them the compiler would move the sums out of the innermost loop's registers.
    const IN_REGISTERS: bool = true;

    /// Called before the sums of rows `rows` from `column` on are computed: the time to ask for memory they will need.
    #[inline(always)]
    fn prefetch(&self, _rows: Range<usize>, _column: usize) {}

    /// `sums` are the values of C at the place given; only the first `width` of them count.
    fn row<S: Arithmetic, const W: usize>(&mut self, at: Place, sums: [f32; W]);
}

/// The first `width` values of `from`, then zeros.
#[inline(always)]
pub(crate) fn load_lanes<const W: usize>(from: &[f32], width: usize) -> [f32; W] {
    let mut lanes = [0.0; W];
    if width == W {
        lanes.copy_from_slice(&from[..W]);
    } else {
        for (lane, value) in lanes.iter_mut().zip(&from[..width]) {
            *lane = *value;
        }
    }
    lanes
}

/// Writes the first `width` lanes.
#[inline(always)]
pub(crate) fn store_lanes<const W: usize>(to: &mut [f32], width: usize, lanes: [f32; W]) {
    if width == W {
        to[..W].copy_from_slice(&lanes);
    } else {
        for (value, lane) in to[..width].iter_mut().zip(lanes) {
            *value = lane;
        }
    }
}

/// Asks for the part of `out` that a tile is going to write: lines that are not in the cache must be fetched even to be
/// overwritten, and the arithmetic of the tile hides the wait.
#[inline(always)]
pub(crate) fn prefetch_rows(out: &[f32], row_stride: usize, rows: Range<usize>, column: usize) {
    for row in rows {
        prefetch(&out[row * row_stride + column..][..1]);
    }
}

/// Writes C.
pub(crate) struct Store<'a> {
    pub out: &'a mut [f32],
    pub row_stride: usize,
}

impl Epilogue for Store<'_> {
    #[inline(always)]
    fn prefetch(&self, rows: Range<usize>, column: usize) {
        prefetch_rows(self.out, self.row_stride, rows, column);
    }

    #[inline(always)]
    fn row<S: Arithmetic, const W: usize>(&mut self, at: Place, sums: [f32; W]) {
        let Place { row, column, width } = at;
        store_lanes(&mut self.out[row * self.row_stride + column..], width, sums);
    }
}

/// Adds C to what is there.
pub(crate) struct Add<'a> {
    pub out: &'a mut [f32],
    pub row_stride: usize,
}

impl Epilogue for Add<'_> {
    #[inline(always)]
    fn prefetch(&self, rows: Range<usize>, column: usize) {
        prefetch_rows(self.out, self.row_stride, rows, column);
    }

    #[inline(always)]
    fn row<S: Arithmetic, const W: usize>(&mut self, at: Place, sums: [f32; W]) {
        let Place { row, column, width } = at;
        let out = &mut self.out[row * self.row_stride + column..];
        let mut total = load_lanes::<W>(out, width);
        for c in 0..W {
            total[c] += sums[c];
        }
        store_lanes(out, width, total);
    }
}

/// # Safety
///
/// Unless `depth` is 0, `left` must hold `R` rows from `row` on, and `panel` a panel of B.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn rows_times_panel<S: Arithmetic, E: Epilogue, const R: usize>(
    left: Left<'_>,
    row: usize,
    depth: usize,
    panel: *const f32,
    line_stride: usize,
    column: usize,
    width: usize,
    epilogue: &mut E,
) {
    // Wrapping, because there need not be a row if the depth is 0; then nothing is read.
    let a = left.values.as_ptr().wrapping_add(row * left.row_stride);
    let Left { row_stride, depth_stride, .. } = left;
    let operands = Operands { depth, a, row_stride, depth_stride, b: panel, line_stride };
    let place = Place { row, column, width };
    epilogue.prefetch(row..row + R, column);
    // Many layers are a multiple of four wide, so narrow last panels get tiles of their own.
    // SAFETY (of all calls): promised by the caller; part of a line is readable where the line is.
    match width {
        ..=4 => unsafe { tile::<S, E, R, 4>(operands, place, epilogue) },
        5..=8 => unsafe { tile::<S, E, R, 8>(operands, place, epilogue) },
        _ => unsafe { tile::<S, E, R, PANEL>(operands, place, epilogue) },
    }
}

/// The product on one thread; for use inside other `simd_fn!` bodies.
///
/// # Panics
///
/// If an operand is too short.
#[inline(always)]
pub(crate) fn product_body<S: Arithmetic, E: Epilogue>(
    rows: usize,
    depth: usize,
    columns: usize,
    left: Left<'_>,
    packed: &[f32],
    epilogue: &mut E,
) {
    product_right::<S, E>(rows, left, Right::packed(packed, depth, columns), epilogue);
}

/// As [`product_body`], with a right operand in any layout, whose sizes are those of the product.
///
/// With a depth of 0 all sums are 0, and the epilogue is handed these.
#[inline(always)]
pub(crate) fn product_right<S: Arithmetic, E: Epilogue>(
    rows: usize,
    left: Left<'_>,
    right: Right<'_>,
    epilogue: &mut E,
) {
    let Right { depth, columns, .. } = right;
    if rows == 0 || columns == 0 {
        return;
    }
    assert!(left.holds(rows, depth), "matrix product: left operand is too short");
    // Rows worked on together: A's part stays in the nearest cache while the panels pass by.
    let block = if left.row_stride >= left.depth_stride {
        (4096 / depth.max(1) / TILE_ROWS).clamp(1, 16) * TILE_ROWS
    } else {
        rows
    };
    let mut start = 0;
    while start < rows {
        let end = (start + block).min(rows);
        for panel in 0..columns.div_ceil(PANEL) {
            let column = panel * PANEL;
            let width = PANEL.min(columns - column);
            // Inside, as the constructor of `right` checked; wrapping, because with a depth of 0 there is nothing inside.
            let b = right.values.as_ptr().wrapping_add(panel * right.panel_stride);
            let mut row = start;
            macro_rules! rows {
                ($count:expr) => {
                    rows_times_panel::<S, E, { $count }>(
                        left,
                        row,
                        depth,
                        b,
                        right.line_stride,
                        column,
                        width,
                        epilogue,
                    )
                };
            }
            // SAFETY (of all calls): rows up to `end` exist in A, as asserted, and panel `panel` in B, as its constructor
            // asserted; with a depth of 0 neither is read.
            unsafe {
                // A narrow tile, or one in long registers, takes half as many of them; with twice the rows it keeps the
                // arithmetic as busy.
                while (S::LONG || width <= PANEL / 2) && row + 2 * TILE_ROWS <= end {
                    rows!(2 * TILE_ROWS);
                    row += 2 * TILE_ROWS;
                }
                // The last rows are shared out evenly: a tile of one or two rows would leave the arithmetic idle.
                loop {
                    let rows = match end - row {
                        0 => break,
                        1..=6 => end - row,
                        7 | 8 => 4,
                        9 => 5,
                        _ => TILE_ROWS,
                    };
                    match rows {
                        1 => rows!(1),
                        2 => rows!(2),
                        3 => rows!(3),
                        4 => rows!(4),
                        5 => rows!(5),
                        _ => rows!(TILE_ROWS),
                    }
                    row += rows;
                }
            }
        }
        start = end;
    }
}

simd_fn! {
    /// The product on one thread.
    ///
    /// # Panics
    ///
    /// If an operand is too short.
    pub(crate) fn product<S; E: Epilogue>(
        rows: usize,
        depth: usize,
        columns: usize,
        left: Left<'_>,
        packed: &[f32],
        epilogue: &mut E,
    ) {
        product_body::<S, E>(rows, depth, columns, left, packed, epilogue);
    }
}

simd_fn! {
    /// The product on one thread, with a right operand that need not be packed.
    ///
    /// # Panics
    ///
    /// If an operand is too short.
    pub(crate) fn product_with<S; E: Epilogue>(rows: usize, left: Left<'_>, right: Right<'_>, epilogue: &mut E) {
        product_right::<S, E>(rows, left, right, epilogue);
    }
}

/// Rows per parallel piece: about two million operations, which is long against the cost of handing out work.
pub(crate) fn rows_per_product_piece(depth: usize, columns: usize) -> usize {
    (1_000_000 / (depth * columns).max(1)).clamp(24, 2400).div_ceil(24) * 24
}

/// `c[rows, columns] = a[rows, depth] · b[depth, columns]`, all row-major, on all threads.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn matmul(rows: usize, depth: usize, columns: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
    assert_eq!(a.len(), rows * depth, "matmul: length of a");
    assert_eq!(b.len(), depth * columns, "matmul: length of b");
    assert_eq!(c.len(), rows * columns, "matmul: length of c");
    let mut packed = Scratch::new(packed_len(depth, columns));
    pack(b, depth, columns, columns, &mut packed);
    let packed = &packed[..];
    let c = Disjoint::new(c);
    for_each_piece(rows, rows_per_product_piece(depth, columns), |range| {
        let left = Left::row_major(&a[range.start * depth..range.end * depth], depth);
        // SAFETY: pieces are disjoint.
        let mut store = Store { out: unsafe { c.rows(&range, columns) }, row_stride: columns };
        product(range.len(), depth, columns, left, packed, &mut store);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `start`, `start` + 1, …
    fn numbers(start: usize, count: usize) -> Vec<f32> {
        (start..start + count).map(|number| number as f32).collect()
    }

    fn packed(b: &[f32], depth: usize, columns: usize) -> Vec<f32> {
        let mut packed = vec![0.0; packed_len(depth, columns)];
        pack(b, depth, columns, columns, &mut packed);
        packed
    }

    #[test]
    fn some_steps_of_an_operand_give_the_product_over_these() {
        let (rows, depth, columns, steps) = (7, 9, 20, 2..6);
        let (a, b) = (numbers(1, rows * depth), numbers(3, depth * columns));
        let packed = packed(&b, depth, columns);
        let right = Right::packed_steps(&packed, depth, columns, &steps);
        let mut c = vec![f32::NAN; rows * columns];
        let left = Left { values: &a[steps.start..], row_stride: depth, depth_stride: 1 };
        product_with(rows, left, right, &mut Store { out: &mut c, row_stride: columns });
        for (at, &value) in c.iter().enumerate() {
            let (row, column) = (at / columns, at % columns);
            let sum: f32 = steps.clone().map(|k| a[row * depth + k] * b[k * columns + column]).sum();
            assert_eq!(value, sum, "{row} {column}");
        }
    }

    #[test]
    fn a_product_of_depth_zero_is_zero_and_adds_nothing() {
        let (rows, columns) = (13, 20);
        for right in [Right::packed(&[], 0, columns), Right::strided(&[], 0, columns, 32)] {
            for left in [Left::row_major(&[], 0), Left::transposed(&[], rows)] {
                let mut c = vec![f32::NAN; rows * columns];
                product_with(rows, left, right, &mut Store { out: &mut c, row_stride: columns });
                assert_eq!(c, vec![0.0; rows * columns]);
                let mut c = numbers(1, rows * columns);
                product_with(rows, left, right, &mut Add { out: &mut c, row_stride: columns });
                assert_eq!(c, numbers(1, rows * columns));
            }
        }
    }

    #[test]
    #[should_panic(expected = "left operand is too short")]
    fn a_left_operand_that_ends_early_is_refused() {
        let (a, b) = (numbers(0, 4 * 5 - 1), packed(&numbers(0, 15), 5, 3));
        product(4, 5, 3, Left::row_major(&a, 5), &b, &mut Store { out: &mut [0.0; 12], row_stride: 3 });
    }

    #[test]
    #[should_panic(expected = "left operand is too short")]
    fn a_left_operand_of_the_depth_of_some_other_product_is_refused() {
        let (a, b) = (numbers(0, 4 * 3), packed(&numbers(0, 15), 5, 3));
        let right = Right::packed(&b, 5, 3);
        product_with(4, Left::row_major(&a, 3), right, &mut Store { out: &mut [0.0; 12], row_stride: 3 });
    }

    #[test]
    #[should_panic(expected = "left operand is too short")]
    fn a_left_operand_of_more_elements_than_can_be_counted_is_refused() {
        let (a, b) = (numbers(0, 3), packed(&numbers(0, 3), 1, 3));
        let left = Left { values: &a, row_stride: usize::MAX / 2 + 1, depth_stride: 1 };
        product(3, 1, 3, left, &b, &mut Store { out: &mut [0.0; 9], row_stride: 3 });
    }

    #[test]
    #[should_panic(expected = "right operand is too short")]
    fn a_right_operand_of_more_elements_than_can_be_counted_is_refused() {
        Right::strided(&[], usize::MAX / 16, 16, 32);
    }
}
