//! Gathering of rows, `out[i] = x[index[i]]`, and its transpose, the sum of rows by group,
//! `out[g] = Σ_{i in group g} x[i]`.
//!
//! Shapes: `x [rows, width]`; `index` names a row per output row. The gradient of one is the other: that of a
//! gathering is the sum over the rows gathered from the same place, given the index grouped by place
//! (see [`crate::edges::group_by`]); that of a sum by group is a gathering of the group's row.

use crate::add::add_row;
use crate::dispatch::simd_fn;
use crate::parallel::{Disjoint, balanced_ranges, for_each_piece, for_each_range, rows_per_piece};
use std::ops::Range;

/// `out[i] = x[index[i]]`. Its gradient is [`segment_sum`], with `index` grouped by row.
///
/// # Panics
///
/// If a length does not fit, or an index is out of range.
pub fn gather_rows(width: usize, x: &[f32], index: &[u32], out: &mut [f32]) {
    assert_eq!(out.len(), index.len() * width, "gather_rows: length of the output");
    let out = Disjoint::new(out);
    for_each_piece(index.len(), rows_per_piece(width), |range| {
        // SAFETY: pieces are disjoint.
        let out = unsafe { out.rows(&range, width) };
        for (&row, out) in index[range].iter().zip(out.chunks_exact_mut(width.max(1))) {
            out.copy_from_slice(&x[row as usize * width..][..width]);
        }
    });
}

/// Members of groups: rows `offsets[g]..offsets[g + 1]`, or those positions of `members` if given.
#[derive(Clone, Copy, Debug)]
pub struct Groups<'a> {
    /// One more value than groups, from 0 to the number of rows.
    pub offsets: &'a [u32],
    /// Row numbers grouped by group; `None` if rows already lie group by group.
    pub members: Option<&'a [u32]>,
}

/// `out[g] = Σ_{i in group g} x[i]`; an empty group gives 0.
///
/// # Panics
///
/// If a length does not fit.
pub fn segment_sum(width: usize, groups: Groups<'_>, x: &[f32], out: &mut [f32]) {
    let count = groups.offsets.len().saturating_sub(1);
    assert_eq!(out.len(), count * width, "segment_sum: length of the output");
    let rows = groups.offsets.last().map_or(0, |&end| end as usize);
    assert_eq!(x.len(), rows * width, "segment_sum: length of x");
    assert!(groups.members.is_none_or(|members| members.len() == rows), "segment_sum: length of members");
    sum_all(width, groups, x, out);
}

/// `out[g] = Σ x[row]` over the rows `rows[offsets[g]..offsets[g + 1]]`, where a row may be in any number of groups.
///
/// # Panics
///
/// If a length does not fit, or a row is out of range.
pub fn sum_of_rows(width: usize, offsets: &[u32], rows: &[u32], x: &[f32], out: &mut [f32]) {
    let count = offsets.len().saturating_sub(1);
    assert_eq!(out.len(), count * width, "sum_of_rows: length of the output");
    assert_eq!(rows.len(), offsets.last().map_or(0, |&end| end as usize), "sum_of_rows: length of the rows");
    sum_all(width, Groups { offsets, members: Some(rows) }, x, out);
}

fn sum_all(width: usize, groups: Groups<'_>, x: &[f32], out: &mut [f32]) {
    let out = Disjoint::new(out);
    for_each_range(balanced_ranges(groups.offsets, 1 + 16_384 / width.max(1)), |range| {
        // SAFETY: ranges are disjoint.
        let out = unsafe { out.rows(&range, width) };
        sum_groups(width, groups, x, range, out);
    });
}

simd_fn! {
    fn sum_groups<S>(width: usize, groups: Groups<'_>, x: &[f32], range: Range<usize>, out: &mut [f32]) {
        if width == 0 {
            return;
        }
        for (group, out) in range.zip(out.chunks_exact_mut(width)) {
            out.fill(0.0);
            let members = groups.offsets[group] as usize..groups.offsets[group + 1] as usize;
            match groups.members {
                None => {
                    for row in members {
                        add_row(out, &x[row * width..][..width]);
                    }
                }
                Some(list) => {
                    for &row in &list[members] {
                        add_row(out, &x[row as usize * width..][..width]);
                    }
                }
            }
        }
    }
}
