//! The innermost loop of all matrix products: a tile of sums kept in registers.

use super::{Epilogue, PANEL, Place, TILE_ROWS};
use crate::dispatch::Arithmetic;

/// What one tile reads: `R` rows of A and one panel of B.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    /// Number of products summed.
    pub depth: usize,
    /// First element of the first row.
    pub a: *const f32,
    pub row_stride: usize,
    pub depth_stride: usize,
    /// First line of the panel.
    pub b: *const f32,
    pub line_stride: usize,
}

/// `sums[r][c] = Σ_step A[r, step] · B[step, c]`.
///
/// # Safety
///
/// `a` and `b` must be readable at every element named by `R`, `W`, `depth` and the strides.
#[inline(always)]
unsafe fn sums<S: Arithmetic, const R: usize, const W: usize>(operands: Operands) -> [[f32; W]; R] {
    let Operands { depth, a, row_stride, depth_stride, b, line_stride } = operands;
    let mut sums = [[0.0; W]; R];
    for step in 0..depth {
        // SAFETY: promised by the caller.
        let line = unsafe { &*b.add(step * line_stride).cast::<[f32; W]>() };
        for r in 0..R {
            // SAFETY: promised by the caller.
            let value = unsafe { *a.add(r * row_stride + step * depth_stride) };
            for c in 0..W {
                sums[r][c] = S::fma(value, line[c], sums[r][c]);
            }
        }
    }
    sums
}

/// A whole tile, all of whose `W` columns count.
///
/// The rows are handed over one by one with constant numbers, so that the sums never leave the registers.
///
/// # Safety
///
/// As [`sums`].
#[inline(always)]
unsafe fn whole_body<S: Arithmetic, E: Epilogue, const R: usize, const W: usize>(
    operands: Operands,
    place: Place,
    epilogue: &mut E,
) {
    // SAFETY: promised by the caller.
    let sums = unsafe { sums::<S, R, W>(operands) };
    macro_rules! hand_over {
        ($($r:literal)*) => {
            $(if $r < R {
                epilogue.row::<S, W>(Place { row: place.row + $r, width: W, ..place }, sums[$r % R]);
            })*
        };
    }
    hand_over!(0 1 2 3 4 5 6 7 8 9 10 11);
}

/// The loops for one set of instructions. Never inlined: on their own, the compiler keeps all sums in registers.
macro_rules! loops {
    ($whole:ident, $stored:ident, $hand_over:ident, [$($generic:tt)*], $arithmetic:ty $(, #[$attribute:meta])?) => {
        $(#[$attribute])?
        #[inline(never)]
        unsafe fn $whole<$($generic)* E: Epilogue, const R: usize, const W: usize>(
            operands: Operands,
            place: Place,
            epilogue: &mut E,
        ) {
            // SAFETY: promised by the caller.
            unsafe { whole_body::<$arithmetic, E, R, W>(operands, place, epilogue) }
        }

        $(#[$attribute])?
        #[inline(never)]
        unsafe fn $stored<$($generic)* const R: usize, const W: usize>(
            operands: Operands,
            out: &mut [[f32; W]; R],
        ) {
            // SAFETY: promised by the caller.
            *out = unsafe { sums::<$arithmetic, R, W>(operands) };
        }

        $(#[$attribute])?
        #[inline(never)]
        fn $hand_over<$($generic)* E: Epilogue, const W: usize>(
            sums: &[[f32; W]],
            place: Place,
            epilogue: &mut E,
        ) {
            for (r, sums) in sums.iter().enumerate() {
                // A branch of its own, so that the usual case is compiled for the full width.
                let at = Place { row: place.row + r, ..place };
                if at.width == W {
                    epilogue.row::<$arithmetic, W>(Place { width: W, ..at }, *sums);
                } else {
                    epilogue.row::<$arithmetic, W>(at, *sums);
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
loops!(
    whole_wide,
    stored_wide,
    hand_over_wide,
    [],
    crate::dispatch::Fused,
    #[target_feature(enable = "avx2,fma,bmi2")]
);
#[cfg(target_arch = "x86_64")]
loops!(
    whole_long,
    stored_long,
    hand_over_long,
    [],
    crate::dispatch::FusedLong,
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2")]
);
loops!(whole_baseline, stored_baseline, hand_over_baseline, [S: Arithmetic,], S);

/// Computes a tile with the instructions `S` stands for and hands its rows to the epilogue.
///
/// Tiles at the lower and right edge of C, and those of long epilogues, go through memory.
///
/// # Safety
///
/// `a` and `b` must be readable at every element named by `R`, `W`, `depth` and the strides.
#[inline(always)]
pub(super) unsafe fn tile<S: Arithmetic, E: Epilogue, const R: usize, const W: usize>(
    operands: Operands,
    place: Place,
    epilogue: &mut E,
) {
    // Rare shapes go through memory too: each one handed over from registers is compiled anew for every epilogue.
    let common = R.is_multiple_of(TILE_ROWS) || (W == PANEL && R >= 3);
    let whole = S::WIDE && E::IN_REGISTERS && common;
    // SAFETY: promised by the caller; wide bodies only run where the instructions exist.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if S::LONG {
            if whole && place.width == W {
                whole_long::<E, R, W>(operands, place, epilogue);
            } else {
                let mut sums = [[0.0; W]; R];
                stored_long::<R, W>(operands, &mut sums);
                hand_over_long::<E, W>(&sums, place, epilogue);
            }
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if S::WIDE {
            if whole && place.width == W {
                whole_wide::<E, R, W>(operands, place, epilogue);
            } else {
                let mut sums = [[0.0; W]; R];
                stored_wide::<R, W>(operands, &mut sums);
                hand_over_wide::<E, W>(&sums, place, epilogue);
            }
            return;
        }
        if whole && place.width == W {
            whole_baseline::<S, E, R, W>(operands, place, epilogue);
        } else {
            let mut sums = [[0.0; W]; R];
            stored_baseline::<S, R, W>(operands, &mut sums);
            hand_over_baseline::<S, E, W>(&sums, place, epilogue);
        }
    }
}
