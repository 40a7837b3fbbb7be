//! Reuse of large buffers.
//!
//! A training step makes and drops hundreds of arrays of many megabytes. Asking the system for each of them costs
//! a page fault per 4 KiB and a pass that zeroes it; reusing the buffers of the step before costs nothing. Buffers
//! keep whatever values they had: whoever takes one overwrites it.
//!
//! Every thread has its own reserve, which is only ever a matter of speed, never of results. It never holds more than
//! was in use at once: buffers also come here that were made by the engine, and if nobody wants buffers of their size
//! they would pile up without such a bound. Those that have been free for longest are given back to the system first, so
//! a reserve follows batches that have other sizes now.

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

/// What was in use at once is measured over the last so many requests and returns, and as many before them: some
/// training steps.
const WINDOW: usize = 4096;

thread_local! {
    static RESERVE: RefCell<Reserve> = RefCell::default();
}

/// A buffer of `length` values with arbitrary contents.
pub(super) fn take(length: usize) -> Vec<f32> {
    if length < SMALLEST {
        return vec![0.0; length];
    }
    if length > LARGEST {
        return arbitrary_values(length, length);
    }
    // A little room, so that the next batch, which may be a little larger, fits too.
    let room = length / 8;
    match RESERVE.with_borrow_mut(|reserve| reserve.take(length, room)) {
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

/// Free buffers by capacity, and how much is in use.
#[derive(Default)]
struct Reserve {
    free: BTreeMap<usize, Queue>,
    /// Values in all free buffers together.
    held: usize,
    /// Values in buffers that were handed out and have not come back. It grows with the buffers that the engine keeps
    /// or frees by itself, so it is only looked at how far it falls.
    out: usize,
    /// The most of that in this window.
    most_out: usize,
    /// The most values that were out at once and came back, in the window before and in this one.
    most_back: [usize; 2],
    /// Time: requests and returns.
    clock: usize,
}

impl Reserve {
    /// A buffer that holds `length` values, or `None` if a new one with `room` for more has to be made.
    fn take(&mut self, length: usize, room: usize) -> Option<Vec<f32>> {
        self.tick();
        let loosest = (length as f64 / TIGHTEST) as usize;
        let found = self.free.range(length..=loosest).next().map(|(&capacity, _)| capacity);
        let buffer = found.and_then(|capacity| self.remove(capacity, VecDeque::pop_back));
        self.out += buffer.as_ref().map_or(length + room, Vec::capacity);
        self.most_out = self.most_out.max(self.out);
        buffer
    }

    fn give(&mut self, buffer: Vec<f32>) {
        self.tick();
        let capacity = buffer.capacity();
        // Buffers that were not taken here come back, too.
        self.out = self.out.saturating_sub(capacity);
        self.most_back[1] = self.most_back[1].max(self.most_out - self.out);
        if capacity <= self.limit() {
            self.held += capacity;
            self.free.entry(capacity).or_default().push_back((self.clock, buffer));
        }
        self.shrink();
    }

    /// The most values that may be held: as many as were in use at once.
    fn limit(&self) -> usize {
        self.most_back[0].max(self.most_back[1])
    }

    fn tick(&mut self) {
        self.clock += 1;
        if self.clock.is_multiple_of(WINDOW) {
            self.most_back = [self.most_back[1], 0];
            self.most_out = self.out;
            self.shrink();
        }
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
        self.held -= capacity;
        Some(buffer)
    }

    /// Gives back to the system what has been free for longest, until no more is held than may be.
    fn shrink(&mut self) {
        let freed = |(&capacity, buffers): (&usize, &Queue)| Some((buffers.front()?.0, capacity));
        while self.held > self.limit()
            && let Some((_, capacity)) = self.free.iter().filter_map(freed).min()
        {
            self.remove(capacity, VecDeque::pop_front);
        }
    }
}

/// Takes buffers, gives them back, gives others that were never taken, and keeps some for good, as pairs of bytes say:
/// what the fuzzer and the property test run.
///
/// # Panics
///
/// If the reserve holds more than it may, or has lost count.
#[cfg(any(test, feature = "benchmarks"))]
pub(crate) fn exercise(acts: &[u8]) {
    let mut reserve = Reserve::default();
    let (mut out, mut lost, mut most): (Vec<Vec<f32>>, usize, usize) = (Vec::new(), 0, 0);
    for act in acts.chunks_exact(2) {
        let (kind, size) = (act[0] % 10, usize::from(act[1]) + 1);
        let any_out = if out.is_empty() { None } else { Some(size % out.len()) };
        match (kind, any_out) {
            (0..4, _) => {
                let found = reserve.take(size, 0);
                assert!(found.as_ref().is_none_or(|found| found.capacity() >= size));
                out.push(found.unwrap_or_else(|| Vec::with_capacity(size)));
            }
            (4..7, Some(at)) => reserve.give(out.swap_remove(at)),
            (7, Some(at)) => lost += out.swap_remove(at).capacity(),
            (8, _) => reserve.give(Vec::with_capacity(size)),
            // As time goes by.
            (9, _) => (0..WINDOW / 8).for_each(|_| reserve.tick()),
            _ => {}
        }
        most = most.max(lost + out.iter().map(Vec::capacity).sum::<usize>());
        assert!(reserve.held <= most, "{} held, {most} in use at most", reserve.held);
        let sum: usize = reserve.free.values().flatten().map(|(_, buffer)| buffer.capacity()).sum();
        assert_eq!(sum, reserve.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn buffer(capacity: usize) -> Vec<f32> {
        Vec::with_capacity(capacity)
    }

    /// A buffer from the reserve or a new one, as [`take`] makes it.
    fn taken(reserve: &mut Reserve, length: usize) -> Vec<f32> {
        reserve.take(length, 0).unwrap_or_else(|| buffer(length))
    }

    #[test]
    fn a_buffer_is_reused_for_a_request_of_about_its_size() {
        let mut reserve = Reserve::default();
        let first = taken(&mut reserve, 100_000);
        reserve.give(first);
        assert!(reserve.take(50_000, 0).is_none(), "too small a request for so large a buffer");
        assert!(reserve.take(90_000, 0).is_some_and(|buffer| buffer.capacity() >= 100_000));
        assert!(reserve.take(90_000, 0).is_none(), "it was taken");
    }

    #[test]
    fn buffers_that_are_given_and_never_wanted_are_not_kept() {
        // What a server sees: every answer leaves some buffers of the engine and wants none of that size.
        let mut reserve = Reserve::default();
        for _ in 0..100_000 {
            reserve.give(buffer(16_384));
            assert_eq!(reserve.held, 0, "nothing was ever in use");
        }
        for _ in 0..10_000 {
            let own = taken(&mut reserve, 20_000);
            (0..4).for_each(|_| reserve.give(buffer(16_384)));
            reserve.give(own);
            assert!(reserve.held <= 20_000, "{} values are held, 20,000 were in use", reserve.held);
        }
        assert!(reserve.take(20_000, 0).is_some(), "what is wanted again is there");
    }

    #[test]
    fn buffers_that_never_come_back_do_not_count_as_in_use_for_good() {
        let mut reserve = Reserve::default();
        for _ in 0..10 * WINDOW {
            let (kept, own) = (taken(&mut reserve, 30_000), taken(&mut reserve, 100_000));
            // Freed by whoever kept it.
            drop(kept);
            reserve.give(own);
            assert!(reserve.held <= 100_000, "{} values are held", reserve.held);
        }
        assert!(reserve.take(100_000, 0).is_some());
    }

    #[test]
    fn a_reserve_that_is_no_longer_needed_is_given_back() {
        let mut reserve = Reserve::default();
        let large: Vec<_> = (0..10).map(|_| taken(&mut reserve, 1_000_000)).collect();
        large.into_iter().for_each(|buffer| reserve.give(buffer));
        assert_eq!(reserve.held, 10_000_000);
        for _ in 0..WINDOW {
            let small = taken(&mut reserve, 20_000);
            reserve.give(small);
        }
        assert!(reserve.held <= 20_000, "{}", reserve.held);
    }

    #[test]
    fn a_step_like_the_one_before_finds_all_its_buffers() {
        let mut reserve = Reserve::default();
        let sizes = [40_000, 100_000, 70_000, 40_000, 1_000_000];
        let mut step = || {
            let taken: Vec<_> = sizes.iter().map(|&size| (size, reserve.take(size, 0))).collect();
            let found = taken.iter().filter(|(_, found)| found.is_some()).count();
            for (size, found) in taken {
                reserve.give(found.unwrap_or_else(|| buffer(size)));
            }
            found
        };
        assert_eq!(step(), 0);
        // More than some windows of them.
        assert!((0..3 * WINDOW).all(|_| step() == sizes.len()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Whatever is taken, given back, given that was never taken, or kept by others for good.
        #[test]
        fn no_more_is_held_than_was_in_use_at_once(acts in prop::collection::vec(any::<u8>(), 0..1200)) {
            exercise(&acts);
        }
    }

    #[test]
    fn a_taken_buffer_has_the_length_asked_for() {
        give(take(40_000));
        assert_eq!(take(39_000).len(), 39_000);
        assert_eq!(take(100).len(), 100);
    }
}
