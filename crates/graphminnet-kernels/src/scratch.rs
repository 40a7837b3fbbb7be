//! Reusable work buffers, so that kernels do not ask the system for memory on every call.
//!
//! Each thread has its own reserve. A buffer is taken out of it while in use (another kernel may run on the same thread
//! in between) and goes back when dropped. Contents of a fresh buffer are unspecified.
//!
//! Small buffers serve any small request; they cost little, however few of their values are used. A larger one serves
//! requests of about its size, as the next batch makes them. The reserve never holds more than [`MOST_SMALL`] small ones
//! and [`MOST_HELD`] in larger ones. Those that have been free for longest are given back to the system first, so a
//! reserve follows batches that have other sizes now.

use crate::arbitrary::arbitrary;
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// One cache line; buffers of lines are aligned for vector loads.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

const LINE: usize = 16;

/// Lines of the largest small buffer: 64 KiB.
const SMALL: usize = 1024;
/// Small buffers kept per thread.
const MOST_SMALL: usize = 32;
/// Lines kept per thread in larger buffers: 32 MiB, which is a few arrays of an ordinary batch (20,000 nodes with 100
/// channels are 8 MB). A buffer that is larger by itself, for a graph with hundreds of thousands of nodes, is made anew
/// each time: that is a page fault per 4 KiB, little against what a kernel does with as many values, and an idle one
/// would be a tenth of all memory.
const MOST_HELD: usize = 32 * 1024 * 1024 / size_of::<Line>();
/// A larger buffer serves requests down to this share of its size.
const TIGHTEST: f64 = 0.75;
/// A larger buffer that nobody wanted for so many requests and returns of the thread is given back: some training steps.
const WINDOW: usize = 1 << 18;

thread_local! {
    static RESERVE: RefCell<Reserve> = const { RefCell::new(Reserve::new()) };
}

/// A work buffer of `f32`, aligned to a cache line, with unspecified contents.
pub(crate) struct Scratch {
    lines: Vec<Line>,
    len: usize,
    /// The thread that it was made on.
    home: usize,
}

impl Scratch {
    /// A buffer of `len` values, recycled if one of a suitable size is free.
    pub(crate) fn new(len: usize) -> Self {
        let wanted = len.div_ceil(LINE);
        let (home, free) = RESERVE.with(|reserve| (number(reserve), reserve.borrow_mut().take(wanted)));
        Self { lines: free.unwrap_or_else(|| fresh(wanted)), len, home }
    }

    /// A buffer of `len` zeros.
    pub(crate) fn zeroed(len: usize) -> Self {
        let mut scratch = Self::new(len);
        scratch.fill(0.0);
        scratch
    }
}

/// Tells the threads that are running apart.
fn number(reserve: &RefCell<Reserve>) -> usize {
    std::ptr::from_ref(reserve).addr()
}

/// A buffer that is made for a request of `wanted` lines.
fn fresh(wanted: usize) -> Vec<Line> {
    // A little room, so that the next batch, which may be a little larger, fits too.
    let room = if wanted > SMALL { (wanted / 8).min(MOST_HELD.saturating_sub(wanted)) } else { 0 };
    // SAFETY: every pattern of bits is a line of floats.
    unsafe { arbitrary(wanted + room, wanted + room, Line([0.0; LINE])) }
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
        // The reserve may be gone when a thread is ending; then the buffer is simply freed. So is one of another thread,
        // which comes here with a partial result: such buffers would pile up and drive out those that are wanted here.
        let _ = RESERVE.try_with(|reserve| {
            if number(reserve) == self.home {
                reserve.borrow_mut().give(lines);
            }
        });
    }
}

/// The free buffers of a thread.
struct Reserve {
    small: Vec<Vec<Line>>,
    /// Larger ones, each with the time at which it became free; the newest last.
    large: Vec<(usize, Vec<Line>)>,
    /// Lines in all larger ones together.
    held: usize,
    /// Time: requests and returns.
    clock: usize,
}

impl Reserve {
    const fn new() -> Self {
        Self { small: Vec::new(), large: Vec::new(), held: 0, clock: 0 }
    }

    /// A free buffer of at least `wanted` lines.
    fn take(&mut self, wanted: usize) -> Option<Vec<Line>> {
        self.clock += 1;
        if wanted <= SMALL {
            let fitting = (0..self.small.len()).filter(|&at| self.small[at].len() >= wanted);
            let best = fitting.min_by_key(|&at| self.small[at].len())?;
            return Some(self.small.swap_remove(best));
        }
        let loosest = (wanted as f64 / TIGHTEST) as usize;
        let fitting =
            (0..self.large.len()).filter(|&at| (wanted..=loosest).contains(&self.large[at].1.len()));
        let best = fitting.min_by_key(|&at| self.large[at].1.len())?;
        Some(self.remove_large(best))
    }

    fn give(&mut self, lines: Vec<Line>) {
        self.clock += 1;
        if lines.len() <= SMALL {
            self.give_small(lines);
        } else if lines.len() <= MOST_HELD {
            self.held += lines.len();
            self.large.push((self.clock, lines));
        }
        while let Some(&(since, _)) = self.large.first()
            && (self.held > MOST_HELD || self.clock - since > WINDOW)
        {
            self.remove_large(0);
        }
    }

    /// Of too many, the smallest is given back: the others serve its requests, too.
    fn give_small(&mut self, lines: Vec<Line>) {
        self.small.push(lines);
        if self.small.len() > MOST_SMALL {
            let smallest = (0..self.small.len()).min_by_key(|&at| self.small[at].len()).unwrap_or(0);
            self.small.swap_remove(smallest);
        }
    }

    fn remove_large(&mut self, at: usize) -> Vec<Line> {
        let (_, lines) = self.large.remove(at);
        self.held -= lines.len();
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A buffer from the reserve or a fresh one, as [`Scratch::new`] makes it.
    fn taken(reserve: &mut Reserve, wanted: usize) -> Vec<Line> {
        reserve.take(wanted).unwrap_or_else(|| fresh(wanted))
    }

    #[test]
    fn a_dropped_buffer_is_recycled_and_nested_buffers_are_distinct() {
        for len in [1000, 1_000_000] {
            let first = Scratch::new(len);
            let second = Scratch::new(len);
            assert_ne!(first.as_ptr(), second.as_ptr());
            let address = first.as_ptr();
            drop(first);
            let third = Scratch::new(len - 10);
            assert_eq!(address, third.as_ptr());
            assert_eq!(third.len(), len - 10);
            assert_eq!(third.as_ptr() as usize % 64, 0);
        }
    }

    #[test]
    fn a_buffer_that_another_thread_made_is_not_kept() {
        let held = || RESERVE.with_borrow(|reserve| (reserve.small.len(), reserve.held));
        let before = held();
        for len in [1000, 1_000_000] {
            drop(std::thread::spawn(move || Scratch::new(len)).join().unwrap());
        }
        assert_eq!(held(), before);
    }

    #[test]
    fn a_large_buffer_is_reused_for_a_request_of_about_its_size() {
        let mut reserve = Reserve::new();
        let first = taken(&mut reserve, 100_000);
        reserve.give(first);
        assert!(reserve.take(10).is_none() && reserve.take(50_000).is_none(), "too small a request");
        assert!(reserve.take(105_000).is_some_and(|lines| lines.len() >= 105_000), "a little larger a batch");
        assert!(reserve.take(105_000).is_none(), "it was taken");
    }

    #[test]
    fn a_step_like_the_one_before_finds_all_its_buffers() {
        let mut reserve = Reserve::new();
        // 8 MB for an ordinary batch, and what many small graphs take.
        let sizes = [[125_000, 30_000, 2000].as_slice(), &[500; 20]].concat();
        let mut step = || {
            let found: Vec<_> = sizes.iter().map(|&wanted| (wanted, reserve.take(wanted))).collect();
            let count = found.iter().filter(|(_, lines)| lines.is_some()).count();
            found
                .into_iter()
                .for_each(|(wanted, lines)| reserve.give(lines.unwrap_or_else(|| fresh(wanted))));
            count
        };
        assert_eq!(step(), 0);
        assert!((0..WINDOW / 10).all(|_| step() == sizes.len()));
    }

    #[test]
    fn the_buffer_of_a_huge_graph_is_not_kept() {
        let mut reserve = Reserve::new();
        for wanted in [MOST_HELD + 1, 6_000_000] {
            let huge = taken(&mut reserve, wanted);
            reserve.give(huge);
            assert_eq!(reserve.held, 0, "{wanted}");
        }
    }

    #[test]
    fn a_large_buffer_that_is_no_longer_wanted_is_given_back() {
        let mut reserve = Reserve::new();
        let large = taken(&mut reserve, 100_000);
        reserve.give(large);
        assert!(reserve.held >= 100_000);
        for _ in 0..WINDOW {
            let small = taken(&mut reserve, 10);
            reserve.give(small);
        }
        assert_eq!(reserve.held, 0);
    }

    /// Whatever is taken and given back, in any order, and given that was never taken.
    #[test]
    fn the_reserve_never_holds_more_than_it_may() {
        let (mut reserve, mut out) = (Reserve::new(), Vec::new());
        let mut state = 1u64;
        let mut below = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % bound
        };
        for _ in 0..20_000 {
            // Sizes of all magnitudes, up to twice what is kept.
            let magnitude = below(20);
            let wanted = below((2 * MOST_HELD) >> magnitude);
            match below(5) {
                0 | 1 => out.push(taken(&mut reserve, wanted)),
                2 => reserve.give(fresh(wanted)),
                _ if out.is_empty() => {}
                _ => {
                    let at = below(out.len());
                    reserve.give(out.swap_remove(at));
                }
            }
            let sum: usize = reserve.large.iter().map(|(_, lines)| lines.len()).sum();
            assert_eq!(sum, reserve.held);
            assert!(reserve.held <= MOST_HELD && reserve.small.len() <= MOST_SMALL);
            assert!(reserve.small.iter().all(|lines| lines.len() <= SMALL));
        }
    }
}
