//! Loops over the channels of a row in blocks of fixed width.
//!
//! A plain loop over a row leaves its last few channels to scalar code, which is as slow as all the rest when a channel
//! costs a sigmoid and rows are 36 wide. Here the tail is a narrower block.

use crate::dispatch::Arithmetic;
pub(crate) use crate::gemm::{load_lanes, store_lanes};

/// One block of channels of an operation.
pub(crate) trait Lanes {
    /// Works on the `width ≤ W` channels from `at` on.
    fn lanes<S: Arithmetic, const W: usize>(&mut self, at: usize, width: usize);
}

/// Calls `operation` for all blocks of `0..channels`.
#[inline(always)]
pub(crate) fn for_lanes<S: Arithmetic, L: Lanes>(channels: usize, operation: &mut L) {
    let mut at = 0;
    while at + 16 <= channels {
        operation.lanes::<S, 16>(at, 16);
        at += 16;
    }
    if at + 8 <= channels {
        operation.lanes::<S, 8>(at, 8);
        at += 8;
    }
    if at + 4 <= channels {
        operation.lanes::<S, 4>(at, 4);
        at += 4;
    }
    if at < channels {
        operation.lanes::<S, 4>(at, channels - at);
    }
}
