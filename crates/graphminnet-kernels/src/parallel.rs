//! Splits work over the threads of the current rayon pool, always in the same pieces.
//!
//! The size of a piece depends on the shape of the problem only, and results of pieces are combined in order, so
//! every kernel gives the same bits for any number of threads.

use rayon::prelude::*;
use std::marker::PhantomData;
use std::ops::Range;

/// Values of an element-wise pass handled by one piece of work.
const PIECE_VALUES: usize = 16_384;

/// Rows per piece for a pass that reads and writes rows of `width` values.
pub(crate) fn rows_per_piece(width: usize) -> usize {
    (PIECE_VALUES / width.max(1)).max(1)
}

/// Calls `work` for consecutive ranges of at most `piece` of `0..count`.
pub(crate) fn for_each_piece(count: usize, piece: usize, work: impl Fn(Range<usize>) + Sync + Send) {
    let pieces = count.div_ceil(piece);
    match pieces {
        0 => {}
        1 => work(0..count),
        _ => (0..pieces).into_par_iter().for_each(|i| work(i * piece..((i + 1) * piece).min(count))),
    }
}

/// As [`for_each_piece`], collecting the results in order.
pub(crate) fn map_pieces<R: Send>(
    count: usize,
    piece: usize,
    work: impl Fn(Range<usize>) -> R + Sync + Send,
) -> Vec<R> {
    let pieces = count.div_ceil(piece);
    match pieces {
        0 => Vec::new(),
        1 => vec![work(0..count)],
        _ => (0..pieces).into_par_iter().map(|i| work(i * piece..((i + 1) * piece).min(count))).collect(),
    }
}

/// Cuts `0..segments` (given by ascending `offsets`) in ranges of about equal cost (members plus segments).
///
/// At most 64 ranges, none cheaper than `min_cost` but the last; empty ranges are left out.
pub(crate) fn balanced_ranges(offsets: &[u32], min_cost: usize) -> Vec<Range<usize>> {
    let segments = offsets.len().saturating_sub(1);
    if segments == 0 {
        return Vec::new();
    }
    let cost_before = |segment: usize| (offsets[segment] - offsets[0]) as usize + segment;
    let total = cost_before(segments);
    let pieces = (total / min_cost.max(1)).clamp(1, 64);
    let mut ranges = Vec::with_capacity(pieces);
    let mut start = 0;
    for piece in 1..=pieces {
        let goal = total * piece / pieces;
        let (mut low, mut high) = (start, segments);
        while low < high {
            let middle = (low + high) / 2;
            if cost_before(middle) < goal {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let end = if piece == pieces { segments } else { low };
        if end > start {
            ranges.push(start..end);
            start = end;
        }
    }
    ranges
}

/// Calls `work` on every range, in parallel.
pub(crate) fn for_each_range(ranges: Vec<Range<usize>>, work: impl Fn(Range<usize>) + Sync + Send) {
    if ranges.len() <= 1 {
        ranges.into_iter().for_each(work);
    } else {
        ranges.into_par_iter().for_each(work);
    }
}

/// As [`for_each_range`], collecting the results in order.
pub(crate) fn map_ranges<R: Send>(
    ranges: Vec<Range<usize>>,
    work: impl Fn(Range<usize>) -> R + Sync + Send,
) -> Vec<R> {
    if ranges.len() <= 1 {
        ranges.into_iter().map(work).collect()
    } else {
        ranges.into_par_iter().map(work).collect()
    }
}

/// A mutable slice of which parallel pieces of work borrow disjoint ranges.
#[derive(Clone, Copy)]
pub(crate) struct Disjoint<'a, T = f32> {
    start: *mut T,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for `&mut [T]`; `range` hands the duty of disjointness to its callers.
unsafe impl<T: Send> Send for Disjoint<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Disjoint<'_, T> {}

impl<'a, T> Disjoint<'a, T> {
    pub(crate) fn new(slice: &'a mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), slice: PhantomData }
    }

    /// Borrows `range`.
    ///
    /// # Safety
    ///
    /// No two live borrows may overlap.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn range(&self, range: Range<usize>) -> &'a mut [T] {
        assert!(range.start <= range.end && range.end <= self.len, "range outside of the slice");
        // SAFETY: inside the slice as just checked; exclusive by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }

    /// Borrows the rows `rows` of `width` values each.
    ///
    /// # Safety
    ///
    /// As [`Self::range`].
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn rows(&self, rows: &Range<usize>, width: usize) -> &'a mut [T] {
        // SAFETY: passed on to the caller.
        unsafe { self.range(rows.start * width..rows.end * width) }
    }
}

/// Asks for the memory of a row that will be read soon from a place the processor cannot foresee.
#[inline(always)]
pub(crate) fn prefetch(values: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    for line in values.chunks(16) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint; it reads nothing, and the address is that of a slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}

/// Asks for the memory of many rows that will be read a little later: near, but not in the nearest cache, where they
/// would take the place of what is being worked on.
#[inline(always)]
pub(crate) fn prefetch_block(values: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    for line in values.chunks(16) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a hint; it reads nothing, and the address is that of a slice.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}

/// The rows `rows` of `values`, rows of `width`.
pub(crate) fn rows_of<'a>(values: &'a [f32], rows: &Range<usize>, width: usize) -> &'a [f32] {
    &values[rows.start * width..rows.end * width]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balanced_ranges_cover_all_segments_once() {
        for (sizes, min_cost) in
            [(vec![], 1), (vec![0, 0], 1), (vec![5, 0, 1000, 0, 3], 10), (vec![1; 500], 7)]
        {
            let mut offsets = vec![0u32];
            for size in &sizes {
                offsets.push(offsets[offsets.len() - 1] + size);
            }
            let covered: Vec<usize> = balanced_ranges(&offsets, min_cost).into_iter().flatten().collect();
            assert_eq!(covered, (0..sizes.len()).collect::<Vec<_>>());
        }
    }
}
