//! Processes that work on one thing together: what they can say to each other, and sums that do not depend on how many
//! of them there are.
//!
//! Whoever does shared work takes an [`Exchange`]; [`Alone`] is the one of a single process. The members are *ranks*, counted
//! from 0. All of them must make the same calls in the same order.
//!
//! ```
//! use graphminnet_data::exchange::{Alone, Exchange};
//!
//! let exchange: &dyn Exchange = &Alone;
//! assert_eq!(exchange.share(7), 0..7);
//! let mut sum = [0.0f32];
//! exchange.chain(&mut sum, |_, sum| sum[0] += 2.5);
//! assert_eq!(sum, [2.5]);
//! ```

mod numbers;
mod team;
mod threads;

pub(crate) use numbers::Number;

// For tests: many ranks without a network.
#[doc(hidden)]
pub use threads::Threads;
// For the library, which trains on graphs in parts.
#[doc(hidden)]
pub use team::Team;

use bytemuck::Pod;
use std::fmt::Debug;
use std::ops::Range;

/// Bytes of a piece of a sum that goes from rank to rank: while one rank adds to a piece, the next adds to the one before.
const PIECE: usize = 64 * 1024;
/// Most bytes of a message: transports count in 32 bits.
const MESSAGE: usize = 1 << 30;

/// A rank's connection to the others.
///
/// A rank that is gone never answers: an implementation ends the process then, because the others wait for it too.
/// Messages are never empty.
pub trait Exchange: Debug + Send + Sync {
    /// The number of this rank.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn size(&self) -> usize;

    /// Sends bytes to another rank; may wait until they are received.
    fn send(&self, to: usize, bytes: &[u8]) {
        self.send_on(0, to, bytes);
    }

    /// Waits for bytes of another rank, as many as it sends.
    fn receive(&self, from: usize, bytes: &mut [u8]) {
        self.receive_on(0, from, bytes);
    }

    /// Sends bytes on a line of their own: who listens on another line does not hear them. Lines are numbers below 2¹⁵,
    /// of which 0 is that of [`Exchange::send`]; several threads may use different lines at the same time.
    fn send_on(&self, line: u16, to: usize, bytes: &[u8]);

    /// Waits for bytes of another rank on a line.
    fn receive_on(&self, line: u16, from: usize, bytes: &mut [u8]);

    /// Fills the bytes of all ranks with those of one.
    fn broadcast(&self, from: usize, bytes: &mut [u8]);

    /// Lets nobody wait any longer because this rank failed alone: an implementation that can ends all processes.
    fn give_up(&self, _why: &str) {}
}

/// A single process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl Exchange for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn send_on(&self, _: u16, _: usize, _: &[u8]) {}

    fn receive_on(&self, _: u16, _: usize, _: &mut [u8]) {}

    fn broadcast(&self, _: usize, _: &mut [u8]) {}
}

impl dyn Exchange + '_ {
    /// Whether there is nobody else.
    pub fn is_alone(&self) -> bool {
        self.size() == 1
    }

    /// This rank's part of so many things in a row: consecutive ones, those of the ranks before it come before.
    pub fn share(&self, count: usize) -> Range<usize> {
        self.share_of(self.rank(), count)
    }

    /// The same for any rank.
    pub fn share_of(&self, rank: usize, count: usize) -> Range<usize> {
        let cut = |rank: usize| (count as u128 * rank as u128 / self.size() as u128) as usize;
        cut(rank)..cut(rank + 1)
    }

    /// A left fold over what all ranks have, in the order of the ranks; every rank gets the result.
    ///
    /// It starts with the values of rank 0, and `fold` lets this rank's own go into a piece of the sum that begins at the
    /// given position. The sum goes from rank to rank, so it is the one that a single process would form, to the bit, however
    /// many ranks hold the terms; a rank sends it once, whatever the number of terms.
    pub fn chain<T: Pod>(&self, values: &mut [T], mut fold: impl FnMut(usize, &mut [T])) {
        let (rank, size) = (self.rank(), self.size());
        let length = (PIECE / size_of::<T>().max(1)).max(1);
        for (at, piece) in values.chunks_mut(length).enumerate() {
            if rank > 0 {
                self.receive(rank - 1, bytemuck::cast_slice_mut(piece));
            }
            fold(at * length, piece);
            if rank + 1 < size {
                self.send(rank + 1, bytemuck::cast_slice(piece));
            }
        }
        self.same(size - 1, values);
    }

    /// Fills the values of all ranks with those of one.
    pub fn same<T: Pod>(&self, from: usize, values: &mut [T]) {
        if self.is_alone() {
            return;
        }
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        for part in bytes.chunks_mut(MESSAGE) {
            self.broadcast(from, part);
        }
    }

    /// What one rank has to say, of any length; what the others give is dropped.
    pub fn tell(&self, from: usize, message: Vec<u8>) -> Vec<u8> {
        if self.is_alone() {
            return message;
        }
        let mut length = [message.len() as u64];
        self.same(from, &mut length);
        let mut message = if self.rank() == from { message } else { vec![0; length[0] as usize] };
        self.same(from, &mut message);
        message
    }

    /// What every rank has to say, by rank.
    pub fn collect(&self, mine: Vec<u8>) -> Vec<Vec<u8>> {
        let mut mine = Some(mine);
        let mut own = |rank| if rank == self.rank() { mine.take() } else { None };
        (0..self.size()).map(|rank| self.tell(rank, own(rank).unwrap_or_default())).collect()
    }

    /// What every rank has to say, by rank, on one of them; nothing on the others.
    pub fn gather(&self, to: usize, mine: Vec<u8>) -> Vec<Vec<u8>> {
        if self.rank() != to {
            self.send(to, &(mine.len() as u64).to_le_bytes());
            mine.chunks(MESSAGE).for_each(|part| self.send(to, part));
            return Vec::new();
        }
        let mut mine = Some(mine);
        let said = |rank: usize| {
            if rank == to {
                return mine.take().unwrap_or_default();
            }
            let mut length = [0; 8];
            self.receive(rank, &mut length);
            let mut message = vec![0; u64::from_le_bytes(length) as usize];
            message.chunks_mut(MESSAGE).for_each(|part| self.receive(rank, part));
            message
        };
        (0..self.size()).map(said).collect()
    }

    /// The numbers of all ranks, one after the other, on one of them; nothing on the others.
    pub fn gather_numbers(&self, to: usize, mine: &[f32]) -> Vec<f32> {
        f32::of_bytes(&self.gather(to, f32::to_bytes(mine)).concat())
    }

    /// Hands one message to each rank and takes one of each, both of any length; a rank's own goes nowhere.
    ///
    /// Ranks meet in pairs, in an order in which nobody waits for a rank that waits for somebody else.
    pub fn swap(&self, mut messages: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let mut taken: Vec<Vec<u8>> = messages.iter().map(|_| Vec::new()).collect();
        for other in self.meetings() {
            let message = std::mem::take(&mut messages[other]);
            let mut length = [0u64];
            self.meet(other, &[message.len() as u64], &mut length);
            let mut received = vec![0u8; length[0] as usize];
            self.meet(other, &message, &mut received);
            taken[other] = received;
        }
        taken
    }

    /// The other ranks in the order in which this one meets them.
    pub(crate) fn meetings(&self) -> impl Iterator<Item = usize> {
        let (rank, size) = (self.rank(), self.size());
        (1..size.next_power_of_two()).map(move |round| rank ^ round).filter(move |&other| other < size)
    }

    /// Sends values to a rank and receives some of it, the lower rank first; what is empty is not sent.
    pub(crate) fn meet<T: Pod>(&self, other: usize, own: &[T], theirs: &mut [T]) {
        let send = || {
            for part in bytemuck::cast_slice::<T, u8>(own).chunks(MESSAGE) {
                self.send(other, part);
            }
        };
        let mut receive = || {
            for part in bytemuck::cast_slice_mut::<T, u8>(theirs).chunks_mut(MESSAGE) {
                self.receive(other, part);
            }
        };
        if self.rank() < other {
            send();
            receive();
        } else {
            receive();
            send();
        }
    }

    /// Whether any rank says yes.
    pub fn any(&self, yes: bool) -> bool {
        let mut count = [0u8];
        self.chain(&mut count, |_, count| count[0] |= u8::from(yes));
        count[0] != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_chain_is_the_left_fold_of_one_process_to_the_bit_for_any_number_of_ranks() {
        // More than two pieces, so that they overlap.
        proptest!(ProptestConfig::with_cases(24), |(
            ranks in 1usize..=5,
            terms in 0usize..9,
            length in prop_oneof![Just(0), 1usize..40, Just(2 * PIECE / 4 + 3)],
            seed: u64,
        )| {
            let number = |term: usize, at: usize| {
                let bits = (seed ^ (term as u64) << 40 ^ at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                f32::from_bits(bits as u32 | 0x3f00_0000) - 1.0
            };
            let start: Vec<f32> = (0..length).map(|at| number(99, at)).collect();
            let add = |term: usize, from: usize, piece: &mut [f32]| {
                for (at, sum) in piece.iter_mut().enumerate() {
                    *sum = *sum * 0.9 + number(term, from + at);
                }
            };
            let mut plain = start.clone();
            (0..terms).for_each(|term| add(term, 0, &mut plain));
            for sum in Threads::run(ranks, |exchange| {
                let own = exchange.share(terms);
                // Only rank 0's start counts.
                let mut sum = if exchange.rank() == 0 { start.clone() } else { vec![7.0; length] };
                exchange.chain(&mut sum, |from, piece| own.clone().for_each(|term| add(term, from, piece)));
                sum
            }) {
                prop_assert!(sum.iter().map(|value| value.to_bits()).eq(plain.iter().map(|value| value.to_bits())));
            }
        });
    }

    #[test]
    fn shares_are_consecutive_and_leave_nothing_out() {
        for (ranks, count) in [(1, 5), (3, 7), (4, 2), (5, 0)] {
            let shares = Threads::run(ranks, |exchange| exchange.share(count));
            assert!(shares.into_iter().flatten().eq(0..count), "{count} over {ranks}");
        }
    }

    #[test]
    fn everybody_hears_everybody_also_those_with_nothing_to_say() {
        let said = |rank: usize| vec![rank as u8; rank * 3];
        for heard in Threads::run(4, |exchange| exchange.collect(said(exchange.rank()))) {
            assert_eq!(heard, (0..4).map(said).collect::<Vec<_>>());
        }
        for heard in Threads::run(3, |exchange| exchange.tell(1, said(exchange.rank()))) {
            assert_eq!(heard, said(1));
        }
        let gathered = Threads::run(3, |exchange| exchange.gather(1, said(exchange.rank())));
        assert_eq!(gathered, [vec![], (0..3).map(said).collect(), vec![]]);
        let numbers = Threads::run(3, |exchange| exchange.gather_numbers(0, &vec![0.5; exchange.rank()]));
        assert_eq!(numbers, [vec![0.5; 3], vec![], vec![]]);
    }

    #[test]
    fn everybody_swaps_with_everybody() {
        let said = |from: usize, to: usize| vec![(10 * from + to) as u8; (from * 5 + to) % 4];
        for ranks in 1..=6 {
            let heard = Threads::run(ranks, |exchange| {
                exchange.swap((0..ranks).map(|to| said(exchange.rank(), to)).collect())
            });
            for (to, heard) in heard.into_iter().enumerate() {
                let expected = (0..ranks).map(|from| if from == to { Vec::new() } else { said(from, to) });
                assert_eq!(heard, expected.collect::<Vec<_>>(), "{ranks} ranks");
            }
        }
    }

    #[test]
    fn lines_do_not_hear_each_other() {
        Threads::run(2, |exchange| {
            let other = 1 - exchange.rank();
            for line in [3, 1, 2] {
                exchange.send_on(line, other, &[line as u8]);
            }
            for line in [1, 2, 3] {
                let mut heard = [0];
                exchange.receive_on(line, other, &mut heard);
                assert_eq!(heard, [line as u8]);
            }
        });
    }

    #[test]
    fn one_yes_is_enough_whoever_says_it() {
        for sayer in 0..3 {
            assert_eq!(Threads::run(3, |exchange| exchange.any(exchange.rank() == sayer)), [true; 3]);
        }
        assert_eq!(Threads::run(3, |exchange| exchange.any(false)), [false; 3]);
    }
}
