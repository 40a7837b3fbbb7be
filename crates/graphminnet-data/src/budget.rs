//! Memory for reading: counted where it is taken, given back where it is freed.
//!
//! What is counted is what the content of a file makes this program hold: text and cells of rows, values of a pickle,
//! members of an archive, graphs. A budget stands for one reading and is shared by everything that reads for it, on any
//! thread.

use crate::limits::{Exceeded, Limits, within};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory is taken from the common account in pieces of this size, so that counting costs next to nothing.
const PIECE: u64 = 1 << 16;

/// The memory that one reading may take.
#[derive(Debug, Clone)]
pub(crate) struct Budget(Arc<Account>);

#[derive(Debug)]
struct Account {
    limit: u64,
    taken: AtomicU64,
}

impl Budget {
    /// A budget of which nothing has been taken.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self(Arc::new(Account { limit: limits.memory(), taken: AtomicU64::new(0) }))
    }

    /// An empty share.
    pub(crate) fn share(&self) -> Share {
        Share { account: Arc::clone(&self.0), taken: 0, used: 0 }
    }

    /// Bytes that have not been taken.
    #[cfg(feature = "benchmarks")]
    pub(crate) fn left(&self) -> u64 {
        self.0.limit.saturating_sub(self.0.taken.load(Ordering::Relaxed))
    }
}

/// Name of the limit.
pub(crate) const MEMORY: &str = "memory_bytes";

/// Memory that something holds; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    account: Arc<Account>,
    taken: u64,
    used: u64,
}

impl Share {
    /// Holds more.
    pub(crate) fn grow(&mut self, bytes: u64) -> Result<(), Exceeded> {
        self.used = self.used.saturating_add(bytes);
        if self.used <= self.taken {
            return Ok(());
        }
        let more = (self.used - self.taken).max(PIECE.min(self.account.limit / 64));
        let taken = self.account.taken.fetch_add(more, Ordering::Relaxed).saturating_add(more);
        self.taken = self.taken.saturating_add(more);
        within(MEMORY, taken, self.account.limit)
    }

    /// Fails if so many bytes are not left, without taking them: for what is freed again at once.
    #[cfg(feature = "benchmarks")]
    pub(crate) fn has_room_for(&self, bytes: u64) -> Result<(), Exceeded> {
        let taken = self.account.taken.load(Ordering::Relaxed);
        within(MEMORY, taken.saturating_add(bytes), self.account.limit)
    }

    /// An empty share of the same budget.
    #[cfg(feature = "benchmarks")]
    pub(crate) fn another(&self) -> Self {
        Self { account: Arc::clone(&self.account), taken: 0, used: 0 }
    }

    /// Holds less.
    pub(crate) fn shrink(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
        let spare = self.taken - self.used.min(self.taken);
        if spare > 4 * PIECE {
            self.account.taken.fetch_sub(spare, Ordering::Relaxed);
            self.taken -= spare;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.account.taken.fetch_sub(self.taken, Ordering::Relaxed);
    }
}

/// Bytes of so many values of a type.
pub(crate) fn bytes_of<T>(count: usize) -> u64 {
    (count as u64).saturating_mul(size_of::<T>() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(memory: u64) -> Budget {
        Budget::new(&Limits { memory_bytes: Some(memory), ..Limits::default() })
    }

    #[test]
    fn shares_of_one_budget_add_up_and_are_given_back() {
        let budget = budget(1 << 20);
        let mut first = budget.share();
        first.grow(600 << 10).unwrap();
        let mut second = budget.clone().share();
        let exceeded = second.grow(600 << 10).unwrap_err();
        assert_eq!((exceeded.limit_name, exceeded.limit), ("memory_bytes", 1 << 20));
        drop(second);
        first.shrink(500 << 10);
        budget.share().grow(600 << 10).unwrap();
        drop(first);
        assert_eq!(budget.left(), 1 << 20);
    }

    #[test]
    fn small_amounts_and_huge_ones_are_counted() {
        let budget = budget(1_000);
        let mut share = budget.share();
        for _ in 0..10 {
            share.grow(90).unwrap();
        }
        assert!(share.grow(101).is_err());
        assert!(budget.share().grow(u64::MAX).is_err());
        assert!(budget.share().has_room_for(u64::MAX).is_err());
    }
}
