//! Reusable work buffers, so that kernels do not ask the system for memory on every call.
//!
//! Each thread keeps a short free list. A buffer is taken out of the list while in use (another kernel may run on the
//! same thread in between) and goes back when dropped. Contents of a fresh buffer are unspecified.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// One cache line; buffers of lines are aligned for vector loads.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

const LINE: usize = 16;
/// Buffers kept per thread.
const KEPT: usize = 12;

thread_local! {
    static FREE: RefCell<Vec<Vec<Line>>> = const { RefCell::new(Vec::new()) };
}

/// A work buffer of `f32`, aligned to a cache line, with unspecified contents.
pub(crate) struct Scratch {
    lines: Vec<Line>,
    len: usize,
}

impl Scratch {
    /// A buffer of `len` values, recycled if a large enough one is free.
    pub(crate) fn new(len: usize) -> Self {
        let wanted = len.div_ceil(LINE);
        let recycled = FREE.with_borrow_mut(|free| {
            let best = (0..free.len()).filter(|&i| free[i].len() >= wanted).min_by_key(|&i| free[i].len());
            best.map(|i| free.swap_remove(i))
        });
        let lines = recycled.unwrap_or_else(|| vec![Line([0.0; LINE]); wanted]);
        Self { lines, len }
    }

    /// A buffer of `len` zeros.
    pub(crate) fn zeroed(len: usize) -> Self {
        let mut scratch = Self::new(len);
        scratch.fill(0.0);
        scratch
    }
}

impl Deref for Scratch {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        // SAFETY: `lines` holds at least `len` initialised f32 (Line is [f32; 16] without padding).
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        // The list may be gone when a thread is ending; then the buffer is simply freed.
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            free.push(lines);
            if free.len() > KEPT {
                let smallest = (0..free.len()).min_by_key(|&i| free[i].len()).unwrap_or(0);
                free.swap_remove(smallest);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_buffer_is_recycled_and_nested_buffers_are_distinct() {
        let first = Scratch::new(1000);
        let second = Scratch::new(1000);
        assert_ne!(first.as_ptr(), second.as_ptr());
        let address = first.as_ptr();
        drop(first);
        let third = Scratch::new(990);
        assert_eq!(address, third.as_ptr());
        assert_eq!(third.len(), 990);
        assert_eq!(third.as_ptr() as usize % 64, 0);
    }
}
