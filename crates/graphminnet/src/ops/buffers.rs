//! Reuse of large buffers.
//!
//! A training step makes and drops hundreds of arrays of many megabytes. Asking the system for each of them costs
//! a page fault per 4 KiB and a pass that zeroes it; reusing the buffers of the step before costs nothing. Buffers
//! keep whatever values they had: whoever takes one overwrites it.
//!
//! Every thread has its own reserve, which is only ever a matter of speed, never of results. It does not grow
//! beyond what was in use at once: whenever no buffer fits a request, others of the same size together are given back
//! to the system, those that have waited longest first.

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

/// Free buffers by capacity.
#[derive(Default)]
struct Reserve {
    /// For each capacity the free buffers, each with the moment at which it became free; the newest last.
    free: BTreeMap<usize, VecDeque<(u64, Vec<f32>)>>,
    /// Values in all free buffers together.
    total: usize,
    /// Values that were asked for in vain and not yet made up for by freeing others.
    debt: usize,
    /// Counts the buffers that became free.
    clock: u64,
}

impl Reserve {
    fn take(&mut self, length: usize) -> Option<Vec<f32>> {
        let loosest = (length as f64 / TIGHTEST) as usize;
        let fitting = self.free.range(length..=loosest).next().map(|(&capacity, _)| capacity);
        if let Some(capacity) = fitting {
            return self.remove(capacity, VecDeque::pop_back);
        }
        self.debt = (self.debt + length).min(self.total);
        self.pay();
        None
    }

    fn give(&mut self, buffer: Vec<f32>) {
        let capacity = buffer.capacity();
        self.clock += 1;
        self.total += capacity;
        self.free.entry(capacity).or_default().push_back((self.clock, buffer));
    }

    fn remove(
        &mut self,
        capacity: usize,
        pick: fn(&mut VecDeque<(u64, Vec<f32>)>) -> Option<(u64, Vec<f32>)>,
    ) -> Option<Vec<f32>> {
        let buffers = self.free.get_mut(&capacity)?;
        let (_, buffer) = pick(buffers)?;
        if buffers.is_empty() {
            self.free.remove(&capacity);
        }
        self.total -= capacity;
        Some(buffer)
    }

    /// Frees the buffers that have waited longest, as far as the debt covers them.
    fn pay(&mut self) {
        loop {
            let waiting = self.free.iter().filter_map(|(&capacity, buffers)| Some((buffers.front()?.0, capacity)));
            match waiting.min() {
                Some((_, capacity)) if capacity <= self.debt => {
                    self.remove(capacity, VecDeque::pop_front);
                    self.debt -= capacity;
                }
                _ => return,
            }
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
        assert_eq!(reserve.total, 40_000, "two buffers of 20,000 are covered by 50,000");
        assert!(reserve.take(50_000).is_none());
        assert_eq!(reserve.total, 0, "with the 10,000 left over, the other two are as well");
    }

    #[test]
    fn a_taken_buffer_has_the_length_asked_for() {
        give(vec![7.0; 40_000]);
        assert_eq!(take(39_000).len(), 39_000);
        assert_eq!(take(100).len(), 100);
    }
}
