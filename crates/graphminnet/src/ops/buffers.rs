//! Reuse of large buffers.
//!
//! A training step makes and drops hundreds of arrays of many megabytes. Asking the system for each of them costs
//! a page fault per 4 KiB and a pass that zeroes it; reusing the buffers of the step before costs nothing. Buffers
//! keep whatever values they had: whoever takes one overwrites it.
//!
//! Every thread has its own reserve, which is only ever a matter of speed, never of results. It does not grow
//! beyond what was in use at once: when no buffer fits, others of at least that size are given back to the system.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

/// Buffers smaller than this many values are left to the allocator.
const SMALLEST: usize = 16 * 1024;

/// A buffer serves requests down to this share of its size.
const TIGHTEST: f64 = 0.75;

thread_local! {
    static RESERVE: RefCell<Reserve> = RefCell::default();
}

/// A buffer of `length` values with arbitrary contents.
pub(super) fn take(length: usize) -> Vec<f32> {
    if length < SMALLEST {
        return vec![0.0; length];
    }
    let reused = RESERVE.with_borrow_mut(|reserve| reserve.take(length));
    match reused {
        Some(mut buffer) => {
            buffer.resize(length, 0.0);
            buffer
        }
        None => {
            // A little room, so that the next batch, which may be a little larger, fits too.
            let mut buffer = Vec::with_capacity(length + length / 8);
            buffer.resize(length, 0.0);
            buffer
        }
    }
}

/// Keeps a buffer for later.
pub(super) fn give(buffer: Vec<f32>) {
    if buffer.capacity() >= SMALLEST {
        // A thread that is ending has no reserve any more; the buffer is simply freed.
        let _ = RESERVE.try_with(|reserve| reserve.borrow_mut().give(buffer));
    }
}

/// Free buffers by capacity, the most recently used last.
#[derive(Default)]
struct Reserve {
    free: BTreeMap<usize, VecDeque<Vec<f32>>>,
}

impl Reserve {
    fn take(&mut self, length: usize) -> Option<Vec<f32>> {
        let loosest = (length as f64 / TIGHTEST) as usize;
        let capacity = self.free.range(length..=loosest).next().map(|(&capacity, _)| capacity);
        match capacity {
            Some(capacity) => self.pop(capacity),
            None => {
                self.shrink(length);
                None
            }
        }
    }

    fn give(&mut self, buffer: Vec<f32>) {
        self.free.entry(buffer.capacity()).or_default().push_back(buffer);
    }

    fn pop(&mut self, capacity: usize) -> Option<Vec<f32>> {
        let buffers = self.free.get_mut(&capacity)?;
        let buffer = buffers.pop_back();
        if buffers.is_empty() {
            self.free.remove(&capacity);
        }
        buffer
    }

    /// Frees buffers, the largest first, until `length` values have been given back.
    fn shrink(&mut self, length: usize) {
        let mut freed = 0;
        while freed < length {
            let Some((&capacity, _)) = self.free.last_key_value() else { return };
            self.pop(capacity);
            freed += capacity;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_reused_for_a_request_of_about_its_size() {
        let mut reserve = Reserve::default();
        reserve.give(Vec::with_capacity(100_000));
        assert!(reserve.take(50_000).is_none(), "too small a request for so large a buffer");
        reserve.give(Vec::with_capacity(100_000));
        assert!(reserve.take(90_000).is_some_and(|buffer| buffer.capacity() >= 100_000));
        assert!(reserve.take(90_000).is_none(), "it was taken");
    }

    #[test]
    fn the_reserve_shrinks_when_nothing_fits() {
        let mut reserve = Reserve::default();
        for _ in 0..4 {
            reserve.give(Vec::with_capacity(20_000));
        }
        assert!(reserve.take(50_000).is_none());
        assert_eq!(reserve.free.values().map(VecDeque::len).sum::<usize>(), 1);
    }

    #[test]
    fn a_taken_buffer_has_the_length_asked_for() {
        give(vec![7.0; 40_000]);
        assert_eq!(take(39_000).len(), 39_000);
        assert_eq!(take(100).len(), 100);
    }
}
