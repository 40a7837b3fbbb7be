//! Ranks that are threads of one process.

use super::Exchange;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

/// One of several threads that are ranks to each other.
#[derive(Debug)]
pub struct Threads {
    rank: usize,
    /// To every rank.
    to: Vec<Sender<Vec<u8>>>,
    /// From every rank. Only this rank listens; the lock is there because a receiver cannot be shared.
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl Threads {
    /// Does some work on every rank; what it gave, by rank.
    ///
    /// # Panics
    ///
    /// If the work panics on a rank.
    pub fn run<T: Send>(size: usize, work: impl Fn(&dyn Exchange) -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let work = &work;
            let ranks = Self::team(size).into_iter();
            let handles: Vec<_> = ranks.map(|rank| scope.spawn(move || work(&rank))).collect();
            let results = handles.into_iter().map(|handle| handle.join());
            results.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }

    /// The ranks of a team.
    pub fn team(size: usize) -> Vec<Self> {
        let mut to: Vec<Vec<_>> = (0..size).map(|_| Vec::new()).collect();
        let mut from: Vec<Vec<_>> = (0..size).map(|_| Vec::new()).collect();
        for sender in &mut to {
            for receiver in &mut from {
                let (into, out) = channel();
                sender.push(into);
                receiver.push(Mutex::new(out));
            }
        }
        to.into_iter().zip(from).enumerate().map(|(rank, (to, from))| Self { rank, to, from }).collect()
    }
}

impl Exchange for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        // Nobody listens to a rank that failed before the others: they fail where they wait for it.
        let _ = self.to[to].send(bytes.to_vec());
    }

    fn receive(&self, from: usize, bytes: &mut [u8]) {
        let receiver = self.from[from].lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(message) = receiver.recv() else { panic!("rank {from} is gone") };
        bytes.copy_from_slice(&message);
    }

    fn broadcast(&self, from: usize, bytes: &mut [u8]) {
        if self.rank != from {
            return self.receive(from, bytes);
        }
        for to in (0..self.size()).filter(|&to| to != from) {
            self.send(to, bytes);
        }
    }
}
