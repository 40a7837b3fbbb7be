//! Reuse of large buffers.
//!
//! A training step makes and drops hundreds of arrays of many megabytes. Asking the system for each of them costs
//! a page fault per 4 KiB and a pass that zeroes it; reusing the buffers of the step before costs nothing. Buffers
//! keep whatever values they had: whoever takes one overwrites it.
//!
//! Every thread has its own reserve, which is only ever a matter of speed, never of results. A buffer that has been
//! idle for some steps, because batches have other sizes now, is given back to the system.

use graphminnet_kernels::arbitrary::arbitrary_values;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

/// Buffers smaller than this many values are left to the allocator.
const SMALLEST: usize = 16 * 1024;

/// Buffers larger than this many values are left to the allocator too: on a graph with a million nodes an idle one
/// would be a tenth of all memory.
const LARGEST: usize = 16 * 1024 * 1024;

/// A buffer serves requests down to this share of its size.
const TIGHTEST: f64 = 0.75;

/// A buffer may be idle while the whole reserve is turned over this many times.
const IDLE_TURNOVERS: usize = 3;

thread_local! {
    static RESERVE: RefCell<Reserve> = RefCell::default();
}

/// A buffer of `length` values with arbitrary contents.
pub(super) fn take(length: usize) -> Vec<f32> {
    if length < SMALLEST {
        return vec![0.0; length];
    }
    let reused = RESERVE.with_borrow_mut(|reserve| reserve.take(length));
    // A little room, so that the next batch, which may be a little larger, fits too.
    let room = if length > LARGEST { 0 } else { length / 8 };
    match reused {
        Some(mut buffer) => {
            buffer.resize(length, 0.0);
            buffer
        }
        None => arbitrary_values(length, length + room),
    }
}

/// Keeps a buffer for later.
pub(super) fn give(buffer: Vec<f32>) {
    if (SMALLEST..=LARGEST + LARGEST / 8).contains(&buffer.capacity()) {
        // A thread that is ending has no reserve any more; the buffer is simply freed.
        let _ = RESERVE.try_with(|reserve| reserve.borrow_mut().give(buffer));
    }
}

/// Free buffers of one capacity, each with the time at which it became free; the newest last.
type Queue = VecDeque<(usize, Vec<f32>)>;

/// Free buffers by capacity.
#[derive(Default)]
struct Reserve {
    free: BTreeMap<usize, Queue>,
    /// Values in all free buffers together, now and at most.
    total: usize,
    largest_total: usize,
    /// Time: values in all buffers that ever became free.
    clock: usize,
}

impl Reserve {
    fn take(&mut self, length: usize) -> Option<Vec<f32>> {
        let loosest = (length as f64 / TIGHTEST) as usize;
        let capacity = self.free.range(length..=loosest).next().map(|(&capacity, _)| capacity)?;
        self.remove(capacity, VecDeque::pop_back)
    }

    fn give(&mut self, buffer: Vec<f32>) {
        let capacity = buffer.capacity();
        self.clock += capacity;
        self.total += capacity;
        self.largest_total = self.largest_total.max(self.total);
        self.free.entry(capacity).or_default().push_back((self.clock, buffer));
        self.free_idle();
    }

    fn remove(
        &mut self,
        capacity: usize,
        pick: impl FnOnce(&mut Queue) -> Option<(usize, Vec<f32>)>,
    ) -> Option<Vec<f32>> {
        let buffers = self.free.get_mut(&capacity)?;
        let (_, buffer) = pick(buffers)?;
        if buffers.is_empty() {
            self.free.remove(&capacity);
        }
        self.total -= capacity;
        Some(buffer)
    }

    /// Gives back to the system what nobody wanted while the whole reserve was turned over a few times.
    fn free_idle(&mut self) {
        let horizon = self.clock.saturating_sub(IDLE_TURNOVERS * self.largest_total);
        let idle = |(&capacity, buffers): (&usize, &Queue)| {
            buffers.front().is_some_and(|(freed, _)| *freed < horizon).then_some(capacity)
        };
        while let Some(capacity) = self.free.iter().find_map(idle) {
            self.remove(capacity, VecDeque::pop_front);
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
        assert!(reserve.take(90_000).is_some_and(|buffer| buffer.capacity() >= 100_000));
        assert!(reserve.take(90_000).is_none(), "it was taken");
    }

    #[test]
    fn a_buffer_that_nobody_wants_is_freed_in_the_end() {
        let mut reserve = Reserve::default();
        reserve.give(Vec::with_capacity(40_000));
        for _ in 0..20 {
            reserve.give(Vec::with_capacity(100_000));
            reserve.take(100_000);
        }
        assert_eq!(reserve.total, 0, "the first buffer was idle all the time");
    }

    #[test]
    fn a_taken_buffer_has_the_length_asked_for() {
        give(vec![7.0; 40_000]);
        assert_eq!(take(39_000).len(), 39_000);
        assert_eq!(take(100).len(), 100);
    }
}
