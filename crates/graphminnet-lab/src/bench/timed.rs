//! An exchange between hosts that counts what is sent, and tells waiting for the other side from sending and receiving.
//!
//! A rank that waits for a slower one spends that time in the exchange too. To tell the two apart, both sides of a message meet
//! before it goes: the receiver says that it is ready, the sender that it begins. What is spent until then is waiting, what is
//! spent on the message itself is communication. Meeting costs two small messages, so it is for measuring alone.

use graphminnet_data::exchange::Exchange;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What a host has spent on the exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Spent {
    /// Bytes sent to other hosts.
    pub(super) bytes: u64,
    /// Nanoseconds of waiting for other hosts, of all parts; 0 unless messages are met.
    pub(super) waiting: u64,
    /// Nanoseconds of sending and receiving, of all parts.
    pub(super) communicating: u64,
}

/// The exchange.
#[derive(Debug)]
pub(super) struct Timed {
    hosts: Arc<dyn Exchange>,
    meets: bool,
    bytes: AtomicU64,
    waiting: AtomicU64,
    communicating: AtomicU64,
}

impl Timed {
    /// Over another one; `meets` says whether both sides meet before every message.
    pub(super) fn over(hosts: &Arc<dyn Exchange>, meets: bool) -> Self {
        let zero = || AtomicU64::new(0);
        Self { hosts: Arc::clone(hosts), meets, bytes: zero(), waiting: zero(), communicating: zero() }
    }

    /// What was spent so far.
    pub(super) fn spent(&self) -> Spent {
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Spent {
            bytes: load(&self.bytes),
            waiting: load(&self.waiting),
            communicating: load(&self.communicating),
        }
    }
}

fn timed(sum: &AtomicU64, work: impl FnOnce()) {
    let begun = Instant::now();
    work();
    sum.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
}

impl Exchange for Timed {
    fn rank(&self) -> usize {
        self.hosts.rank()
    }

    fn size(&self) -> usize {
        self.hosts.size()
    }

    fn send_on(&self, line: u16, to: usize, bytes: &[u8]) {
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if self.meets {
            timed(&self.waiting, || {
                self.hosts.receive_on(line, to, &mut [0]);
                self.hosts.send_on(line, to, &[1]);
            });
        }
        timed(&self.communicating, || self.hosts.send_on(line, to, bytes));
    }

    fn receive_on(&self, line: u16, from: usize, bytes: &mut [u8]) {
        if self.meets {
            timed(&self.waiting, || {
                self.hosts.send_on(line, from, &[1]);
                self.hosts.receive_on(line, from, &mut [0]);
            });
        }
        timed(&self.communicating, || self.hosts.receive_on(line, from, bytes));
    }

    fn broadcast(&self, from: usize, bytes: &mut [u8]) {
        if self.rank() != from {
            return self.receive(from, bytes);
        }
        for to in (0..self.size()).filter(|&to| to != from) {
            self.send(to, bytes);
        }
    }

    fn give_up(&self, why: &str) {
        self.hosts.give_up(why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphminnet_data::exchange::Threads;

    #[test]
    fn messages_that_are_met_arrive_and_only_their_own_bytes_count() {
        for meets in [false, true] {
            let spent: Vec<Spent> = std::thread::scope(|scope| {
                let ranks: Vec<_> = Threads::team(3)
                    .into_iter()
                    .map(|rank| {
                        scope.spawn(move || {
                            let timed = Timed::over(&(Arc::new(rank) as _), meets);
                            let exchange: &dyn Exchange = &timed;
                            let heard = exchange.collect(vec![exchange.rank() as u8; 3]);
                            assert_eq!(heard, [[0; 3], [1; 3], [2; 3]]);
                            let swapped = exchange.swap(vec![vec![exchange.rank() as u8]; 3]);
                            assert_eq!(swapped.concat().len(), 2);
                            let mut sum = [1.0f64];
                            exchange.chain(&mut sum, |_, sum| sum[0] += 2.0);
                            assert_eq!(sum, [7.0]);
                            timed.spent()
                        })
                    })
                    .collect();
                ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
            });
            // What was collected with its length, to both others; what was swapped likewise; a sum to the next, or to all.
            let bytes: Vec<u64> = spent.iter().map(|spent| spent.bytes).collect();
            assert_eq!(bytes, [2 * 11 + 2 * 9 + 8, 2 * 11 + 2 * 9 + 8, 2 * 11 + 2 * 9 + 16]);
            assert!(spent.iter().all(|spent| (spent.waiting > 0) == meets && spent.communicating > 0));
        }
    }
}
