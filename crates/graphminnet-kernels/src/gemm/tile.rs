//! The innermost loop of all matrix products: a tile of sums kept in registers.

use crate::dispatch::Arithmetic;

/// `sums[r][c] = Σ_step A[r, step] · B[step, c]`.
///
/// # Safety
///
/// `a` and `b` must be readable at every element named by `R`, `W`, `depth` and the strides.
#[inline(always)]
unsafe fn tile_body<S: Arithmetic, const R: usize, const W: usize>(
    depth: usize,
    a: *const f32,
    row_stride: usize,
    depth_stride: usize,
    b: *const f32,
    line_stride: usize,
    sums: &mut [[f32; W]; R],
) {
    let mut registers = [[0.0; W]; R];
    for step in 0..depth {
        // SAFETY: promised by the caller.
        let line = unsafe { &*b.add(step * line_stride).cast::<[f32; W]>() };
        for r in 0..R {
            // SAFETY: promised by the caller.
            let value = unsafe { *a.add(r * row_stride + step * depth_stride) };
            for c in 0..W {
                registers[r][c] = S::fma(value, line[c], registers[r][c]);
            }
        }
    }
    *sums = registers;
}

/// # Safety
///
/// As [`tile_body`], on a processor with the wide instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
#[inline(never)]
unsafe fn tile_wide<const R: usize, const W: usize>(
    depth: usize,
    a: *const f32,
    row_stride: usize,
    depth_stride: usize,
    b: *const f32,
    line_stride: usize,
    sums: &mut [[f32; W]; R],
) {
    // SAFETY: promised by the caller.
    unsafe {
        tile_body::<crate::dispatch::Fused, R, W>(depth, a, row_stride, depth_stride, b, line_stride, sums)
    }
}

/// As [`tile_body`], but never inlined: on its own, the compiler keeps all sums in registers.
///
/// # Safety
///
/// As [`tile_body`].
#[inline(never)]
unsafe fn tile_baseline<S: Arithmetic, const R: usize, const W: usize>(
    depth: usize,
    a: *const f32,
    row_stride: usize,
    depth_stride: usize,
    b: *const f32,
    line_stride: usize,
    sums: &mut [[f32; W]; R],
) {
    // SAFETY: promised by the caller.
    unsafe { tile_body::<S, R, W>(depth, a, row_stride, depth_stride, b, line_stride, sums) }
}

/// The tile, compiled for the instructions `S` stands for.
///
/// # Safety
///
/// As [`tile_body`].
#[inline(always)]
pub(super) unsafe fn tile<S: Arithmetic, const R: usize, const W: usize>(
    depth: usize,
    a: *const f32,
    row_stride: usize,
    depth_stride: usize,
    b: *const f32,
    line_stride: usize,
    sums: &mut [[f32; W]; R],
) {
    #[cfg(target_arch = "x86_64")]
    if S::WIDE {
        // SAFETY: promised by the caller; wide bodies only run where the instructions exist.
        return unsafe { tile_wide::<R, W>(depth, a, row_stride, depth_stride, b, line_stride, sums) };
    }
    // SAFETY: promised by the caller.
    unsafe { tile_baseline::<S, R, W>(depth, a, row_stride, depth_stride, b, line_stride, sums) }
}
