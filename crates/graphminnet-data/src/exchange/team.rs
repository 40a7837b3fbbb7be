//! More ranks than processes: every process is the host of some of them, a thread each.
//!
//! What a fixed number of ranks computes then does not depend on the number of processes.

use super::{Exchange, Threads};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// A member of a team whose members are spread over hosts, consecutive ones on each.
#[derive(Debug)]
pub struct Team {
    rank: usize,
    size: usize,
    /// Those on the same host.
    near: Threads,
    hosts: Arc<dyn Exchange>,
}

impl Team {
    /// Most members: a pair of them has a line of its own.
    pub const MOST: usize = 181;

    /// The members on this host. All hosts call this with the same size, at most [`Team::MOST`].
    pub fn of(hosts: &Arc<dyn Exchange>, size: usize) -> Vec<Self> {
        let here = hosts.share(size);
        let near = Threads::team(here.len());
        let members = here.zip(near);
        members.map(|(rank, near)| Self { rank, size, near, hosts: Arc::clone(hosts) }).collect()
    }

    /// Does some work on each member of this host: the first on the thread that calls, each of the others on one of its own, with a
    /// pool of its own, because a member that waits for another must not keep it from computing. What they gave, in their
    /// order.
    ///
    /// # Errors
    ///
    /// That of the first member that failed. A panic ends all hosts.
    pub fn run<T: Send, E: Send>(
        hosts: &Arc<dyn Exchange>,
        size: usize,
        first: impl FnOnce(&Arc<dyn Exchange>) -> Result<T, E>,
        other: impl Fn(&Arc<dyn Exchange>) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, E> {
        fn watched<T>(member: &Arc<dyn Exchange>, work: impl FnOnce() -> T) -> std::thread::Result<T> {
            let done = catch_unwind(AssertUnwindSafe(work));
            if done.is_err() {
                // The others would wait for it.
                member.give_up("panicked");
            }
            done
        }
        let members: Vec<Arc<dyn Exchange>> =
            Self::of(hosts, size).into_iter().map(|member| Arc::new(member) as _).collect();
        let threads = (rayon::current_num_threads() / members.len().max(1)).max(1);
        let pool = || rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let other = &other;
        let done: Vec<std::thread::Result<Result<T, E>>> = std::thread::scope(|scope| {
            let mut members = members.into_iter();
            let Some(own) = members.next() else { return Vec::new() };
            let others: Vec<_> = members
                .map(|member| {
                    scope.spawn(move || {
                        let work = || watched(&member, || other(&member));
                        match pool() {
                            Ok(pool) => pool.install(work),
                            Err(_) => work(),
                        }
                    })
                })
                .collect();
            let first = watched(&own, || first(&own));
            // Who waits for a member that failed fails there.
            drop(own);
            let others = others.into_iter().map(|other| other.join().and_then(|done| done));
            std::iter::once(first).chain(others).collect()
        });
        // A member that failed says more than those that missed it.
        let (mut results, mut panic) = (Vec::with_capacity(done.len()), None);
        for done in done {
            match done {
                Ok(done) => results.push(done?),
                Err(other) => panic = panic.or(Some(other)),
            }
        }
        match panic {
            None => Ok(results),
            Some(panic) => resume_unwind(panic),
        }
    }

    /// The members on a host.
    fn on(&self, host: usize) -> Range<usize> {
        self.hosts.share_of(host, self.size)
    }

    fn host_of(&self, rank: usize) -> usize {
        let hosts = 0..self.hosts.size();
        hosts.into_iter().find(|&host| self.on(host).contains(&rank)).unwrap_or_default()
    }

    fn here(&self) -> Range<usize> {
        self.on(self.hosts.rank())
    }

    /// The line between two members, of which there are as many as ordered pairs.
    fn line(&self, from: usize, to: usize) -> u16 {
        (1 + from * self.size + to) as u16
    }
}

impl Exchange for Team {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send_on(&self, line: u16, to: usize, bytes: &[u8]) {
        match self.here().contains(&to) {
            true => self.near.send_on(line, to - self.here().start, bytes),
            false => self.hosts.send_on(self.line(self.rank, to), self.host_of(to), bytes),
        }
    }

    fn receive_on(&self, line: u16, from: usize, bytes: &mut [u8]) {
        match self.here().contains(&from) {
            true => self.near.receive_on(line, from - self.here().start, bytes),
            false => self.hosts.receive_on(self.line(from, self.rank), self.host_of(from), bytes),
        }
    }

    fn give_up(&self, why: &str) {
        self.hosts.give_up(&format!("part {}: {why}", self.rank));
    }

    /// Over the network once for every host.
    fn broadcast(&self, from: usize, bytes: &mut [u8]) {
        let here = self.here();
        let source = if here.contains(&from) { from } else { here.start };
        if self.rank == from {
            let others = (0..self.hosts.size()).filter(|&host| host != self.hosts.rank());
            for first in others.filter_map(|host| self.on(host).next()) {
                self.send(first, bytes);
            }
        } else if self.rank == source {
            self.receive(from, bytes);
        }
        if self.rank != source {
            return self.receive(source, bytes);
        }
        for to in here.filter(|&to| to != self.rank) {
            self.send(to, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_fails_says_more_than_those_that_waited_for_it() {
        let alone: Arc<dyn Exchange> = Arc::new(super::super::Alone);
        let work = |member: &Arc<dyn Exchange>| match member.rank() {
            2 => Err("no".to_owned()),
            rank => Ok((rank, member.any(true))),
        };
        assert_eq!(Team::run(&alone, 3, work, work).unwrap_err(), "no");
        let sum = |member: &Arc<dyn Exchange>| {
            let mut sum = [0u64];
            member.chain(&mut sum, |_, sum| sum[0] = sum[0] * 10 + member.rank() as u64);
            Ok::<_, ()>((member.rank(), sum[0]))
        };
        assert_eq!(Team::run(&alone, 3, sum, sum), Ok(vec![(0, 12), (1, 12), (2, 12)]));
    }

    /// Everything that ranks say to each other, on teams of every size and number of hosts.
    #[test]
    fn members_hear_each_other_wherever_they_are() {
        for size in 1..=5 {
            for hosts in 1..=size {
                let heard = Threads::team(hosts).into_iter().map(|host| {
                    std::thread::spawn(move || {
                        let host: Arc<dyn Exchange> = Arc::new(host);
                        let members = Team::of(&host, size).into_iter().map(|member| {
                            std::thread::spawn(move || {
                                let member: &dyn Exchange = &member;
                                let mut sum = [0.25f64];
                                member.chain(&mut sum, |_, sum| sum[0] = sum[0] * 3.0 + member.rank() as f64);
                                let all = member.collect(vec![member.rank() as u8; member.rank()]);
                                let to = (0..size).map(|to| vec![(member.rank() * 16 + to) as u8]).collect();
                                (member.rank(), sum[0], all, member.swap(to))
                            })
                        });
                        let members: Vec<_> = members.collect();
                        members.into_iter().map(|member| member.join().unwrap()).collect::<Vec<_>>()
                    })
                });
                let heard: Vec<_> = heard.collect();
                let heard: Vec<_> = heard.into_iter().flat_map(|host| host.join().unwrap()).collect();
                let sum = (0..size).fold(0.25, |sum, rank| sum * 3.0 + rank as f64);
                let all: Vec<_> = (0..size).map(|rank| vec![rank as u8; rank]).collect();
                for (rank, found) in heard.into_iter().enumerate() {
                    let mut swapped: Vec<_> = (0..size).map(|from| vec![(from * 16 + rank) as u8]).collect();
                    swapped[rank].clear();
                    assert_eq!(found, (rank, sum, all.clone(), swapped), "{size} on {hosts}");
                }
            }
        }
    }
}
