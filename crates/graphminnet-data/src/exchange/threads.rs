//! Ranks that are threads of one process.

use super::Exchange;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// One of several threads that are ranks to each other.
#[derive(Debug)]
pub struct Threads {
    rank: usize,
    /// What was sent and not received yet, by sender and receiver.
    boxes: Arc<Vec<Vec<Inbox>>>,
}

/// Messages on their way from one rank to another.
#[derive(Debug, Default)]
struct Inbox {
    messages: Mutex<Messages>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Messages {
    lines: HashMap<u16, VecDeque<Vec<u8>>>,
    /// The sender is gone.
    closed: bool,
}

impl Inbox {
    fn messages(&self) -> MutexGuard<'_, Messages> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        let row = || (0..size).map(|_| Inbox::default()).collect();
        let boxes: Arc<Vec<Vec<Inbox>>> = Arc::new((0..size).map(|_| row()).collect());
        (0..size).map(|rank| Self { rank, boxes: Arc::clone(&boxes) }).collect()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Who waits for a rank that failed before the others fails there.
        for inbox in &self.boxes[self.rank] {
            inbox.messages().closed = true;
            inbox.arrived.notify_all();
        }
    }
}

impl Exchange for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.boxes.len()
    }

    fn send_on(&self, line: u16, to: usize, bytes: &[u8]) {
        let inbox = &self.boxes[self.rank][to];
        inbox.messages().lines.entry(line).or_default().push_back(bytes.to_vec());
        inbox.arrived.notify_all();
    }

    fn receive_on(&self, line: u16, from: usize, bytes: &mut [u8]) {
        let inbox = &self.boxes[from][self.rank];
        let mut messages = inbox.messages();
        loop {
            if let Some(message) = messages.lines.get_mut(&line).and_then(VecDeque::pop_front) {
                drop(messages);
                return bytes.copy_from_slice(&message);
            }
            assert!(!messages.closed, "rank {from} is gone");
            messages = inbox.arrived.wait(messages).unwrap_or_else(PoisonError::into_inner);
        }
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
