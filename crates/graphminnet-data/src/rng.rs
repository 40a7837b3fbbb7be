//! Random numbers as pure functions of a key.
//!
//! Every use of randomness has its own stream, named by a seed, a purpose and a few numbers (an epoch, a step, a
//! sample). A stream is started where it is needed and forgotten afterwards: no generator is ever stored, passed on
//! or saved, so there is nothing to restore when a run resumes, and no use of randomness can disturb another.
//!
//! ```
//! use graphminnet_data::rng::stream;
//!
//! let mut order: Vec<usize> = (0..5).collect();
//! stream(7, "shuffle", &[0]).shuffle(&mut order);
//! let mut again: Vec<usize> = (0..5).collect();
//! stream(7, "shuffle", &[0]).shuffle(&mut again);
//! assert_eq!(order, again);
//! ```
//!
//! The generator is ChaCha with 8 rounds (Bernstein 2008), written out here in a few lines so that the numbers of a
//! seed never change with the version of a dependency; a test holds it to the published key stream.

/// Starts the stream of random numbers that belongs to `(seed, purpose, keys)`.
pub fn stream(seed: u64, purpose: &str, keys: &[u64]) -> Stream {
    let mut key = [0u32; 8];
    for (lane, words) in key.chunks_exact_mut(2).enumerate() {
        let mut state = mix(seed ^ mix(lane as u64 + 1));
        // The lengths are mixed in, so that ("ab", [c]) and ("a", [b, c]) cannot meet.
        state = mix(state ^ purpose.len() as u64);
        for chunk in purpose.as_bytes().chunks(8) {
            let mut bytes = [0u8; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            state = mix(state.wrapping_add(GOLDEN) ^ u64::from_le_bytes(bytes));
        }
        state = mix(state ^ (keys.len() as u64).rotate_left(32));
        for &part in keys {
            state = mix(state.wrapping_add(GOLDEN) ^ mix(part));
        }
        words[0] = state as u32;
        words[1] = (state >> 32) as u32;
    }
    Stream { key, counter: 0, block: [0; 16], used: 16 }
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of SplitMix64: a bijection in which every bit of the input moves every bit of the output.
fn mix(mut value: u64) -> u64 {
    value = value.wrapping_add(GOLDEN);
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// A stream of random numbers; see [`stream`].
#[derive(Debug, Clone)]
pub struct Stream {
    key: [u32; 8],
    counter: u64,
    block: [u32; 16],
    used: usize,
}

impl Stream {
    /// 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        if self.used == 16 {
            self.block = chacha8(&self.key, self.counter);
            self.counter += 1;
            self.used = 0;
        }
        self.used += 1;
        self.block[self.used - 1]
    }

    /// Leaves out as many numbers of 64 bits, in no time.
    pub(crate) fn skip(&mut self, count: u64) {
        let used = self.counter * 16 + self.used as u64 - 16 + 2 * count;
        (self.counter, self.used) = (used / 16, (used % 16) as usize);
        match self.used {
            0 => self.used = 16,
            _ => {
                self.block = chacha8(&self.key, self.counter);
                self.counter += 1;
            }
        }
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let low = u64::from(self.next_u32());
        low | u64::from(self.next_u32()) << 32
    }

    /// A number in `[0, 1)`, uniform over the multiples of 2⁻⁵³.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A number in `[0, 1)`, uniform over the multiples of 2⁻²⁴.
    pub fn uniform_f32(&mut self) -> f32 {
        (self.next_u32() >> 8) as f32 * (1.0 / (1u32 << 24) as f32)
    }

    /// Whether an event of the given probability happens.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// A standard normal number (Box and Muller's cosine branch).
    pub fn normal(&mut self) -> f64 {
        // 1 − u is in (0, 1], so the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A number in `0..bound`, all equally likely; 0 for an empty range.
    ///
    /// Lemire's method: the product with a random word is rejected in the few places where it would be biased.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        if bound == 0 {
            return 0;
        }
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            if product as u64 >= threshold {
                return (product >> 64) as usize;
            }
        }
    }

    /// A number in the range, both ends included, all equally likely.
    pub fn in_range(&mut self, range: std::ops::RangeInclusive<usize>) -> usize {
        let (first, last) = range.into_inner();
        first + self.below((last + 1).saturating_sub(first))
    }

    /// Puts the items into a random order, all orders equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// A random permutation of `0..count`.
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        self.shuffle(&mut order);
        order
    }
}

fn chacha8(key: &[u32; 8], counter: u64) -> [u32; 16] {
    let mut input = [0u32; 16];
    input[..4].copy_from_slice(&[0x6170_7865, 0x3320_646E, 0x7962_2D32, 0x6B20_6574]);
    input[4..12].copy_from_slice(key);
    input[12] = counter as u32;
    input[13] = (counter >> 32) as u32;
    let mut state = input;
    for _ in 0..4 {
        for column in 0..4 {
            quarter_round(&mut state, column, column + 4, column + 8, column + 12);
        }
        for column in 0..4 {
            let place = |row: usize| row * 4 + (column + row) % 4;
            quarter_round(&mut state, place(0), place(1), place(2), place(3));
        }
    }
    for (word, start) in state.iter_mut().zip(input) {
        *word = word.wrapping_add(start);
    }
    state
}

fn quarter_round(state: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
    for (first, second) in [(16, 12), (8, 7)] {
        state[a] = state[a].wrapping_add(state[b]);
        state[d] = (state[d] ^ state[a]).rotate_left(first);
        state[c] = state[c].wrapping_add(state[d]);
        state[b] = (state[b] ^ state[c]).rotate_left(second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First bytes of the ChaCha8 key stream for a zero key and a zero nonce (eSTREAM test vectors).
    #[test]
    fn the_generator_is_chacha8() {
        let bytes: Vec<u8> = chacha8(&[0; 8], 0).iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(
            &bytes[..16],
            &[0x3E, 0x00, 0xEF, 0x2F, 0x89, 0x5F, 0x40, 0xD6, 0x7F, 0x5B, 0xB8, 0xE8, 0x1F, 0x09, 0xA5, 0xA1]
        );
    }

    #[test]
    fn skipped_numbers_are_those_that_would_have_come() {
        for (before, skipped) in [(0, 0), (0, 1), (0, 8), (3, 5), (3, 100), (8, 8), (1, 7)] {
            let [mut one, mut other] = [stream(1, "skip", &[]), stream(1, "skip", &[])];
            (0..before + skipped).for_each(|_| _ = one.next_u64());
            (0..before).for_each(|_| _ = other.next_u64());
            other.skip(skipped);
            assert_eq!(one.next_u64(), other.next_u64(), "{before} {skipped}");
        }
    }

    #[test]
    fn streams_differ_by_seed_purpose_and_keys() {
        let first = |mut stream: Stream| stream.next_u64();
        let mut seen = std::collections::HashSet::new();
        for seed in 0..4 {
            for purpose in ["", "a", "ab", "shuffle", "shuffle\0"] {
                for keys in [&[][..], &[0], &[1], &[0, 0], &[0, 1], &[1, 0]] {
                    assert!(seen.insert(first(stream(seed, purpose, keys))), "{seed} {purpose} {keys:?}");
                    assert_eq!(first(stream(seed, purpose, keys)), first(stream(seed, purpose, keys)));
                }
            }
        }
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut random = stream(1, "moments", &[]);
        let count = 200_000;
        let (mut mean, mut square, mut uniform) = (0.0, 0.0, 0.0);
        for _ in 0..count {
            let value = random.normal();
            mean += value / count as f64;
            square += value * value / count as f64;
            uniform += random.uniform() / count as f64;
        }
        // Five standard errors.
        assert!(mean.abs() < 5.0 / (count as f64).sqrt(), "{mean}");
        assert!((square - 1.0).abs() < 5.0 * (2.0 / count as f64).sqrt(), "{square}");
        assert!((uniform - 0.5).abs() < 5.0 / (12.0 * count as f64).sqrt(), "{uniform}");
    }

    #[test]
    fn every_number_of_a_range_is_equally_likely() {
        let mut random = stream(2, "range", &[]);
        let mut counts = [0usize; 7];
        for _ in 0..70_000 {
            counts[random.in_range(3..=9) - 3] += 1;
        }
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 500), "{counts:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
    }

    #[test]
    fn a_shuffle_keeps_all_items() {
        let mut order = stream(3, "shuffle", &[]).permutation(100);
        assert_ne!(order, (0..100).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }
}
