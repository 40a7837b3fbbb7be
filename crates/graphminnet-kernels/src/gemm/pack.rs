//! Packing of the right operand in panels of 16 columns, the last one padded with zeros.

use super::{PANEL, load_lanes};
use crate::dispatch::simd_fn;

/// Length of B packed.
///
/// # Panics
///
/// If that is more than can be counted: products trust it.
pub(crate) fn packed_len(depth: usize, columns: usize) -> usize {
    let length = columns.checked_next_multiple_of(PANEL).and_then(|columns| columns.checked_mul(depth));
    length.expect("matrix product: too large an operand")
}

simd_fn! {
    /// Packs B stored row by row, `[depth, columns]`, rows `row_stride` apart.
    pub(crate) fn pack<S>(b: &[f32], depth: usize, columns: usize, row_stride: usize, packed: &mut [f32]) {
        for (panel, out) in packed.chunks_exact_mut((PANEL * depth).max(1)).enumerate() {
            let first = panel * PANEL;
            let width = PANEL.min(columns - first);
            for (step, line) in out.chunks_exact_mut(PANEL).enumerate() {
                let from = &b[step * row_stride + first..][..width];
                if width == PANEL {
                    line.copy_from_slice(&from[..PANEL]);
                } else {
                    let lanes = load_lanes::<PANEL>(from, width);
                    line.copy_from_slice(&lanes);
                }
            }
        }
    }
}

/// Packs B stored transposed, `[columns, depth]`: a linear layer's weight.
pub(crate) fn pack_transposed(b: &[f32], depth: usize, columns: usize, packed: &mut [f32]) {
    for (panel, out) in packed.chunks_exact_mut((PANEL * depth).max(1)).enumerate() {
        let first = panel * PANEL;
        let width = PANEL.min(columns - first);
        if width < PANEL {
            out.fill(0.0);
        }
        // Blocks of 16 steps: the lines being written stay in the nearest cache.
        for block in (0..depth).step_by(PANEL) {
            let end = (block + PANEL).min(depth);
            for column in 0..width {
                let from = &b[(first + column) * depth..][block..end];
                for (line, &value) in out[block * PANEL..end * PANEL].chunks_exact_mut(PANEL).zip(from) {
                    line[column] = value;
                }
            }
        }
    }
}
