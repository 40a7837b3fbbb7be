//! Random streams that are pure functions of their key: nothing to save, nothing to restore.

/// A stream of random numbers named by a seed, a purpose and further keys.
#[derive(Debug, Clone)]
pub struct Stream {
    state: u64,
}

fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

impl Stream {
    /// The stream for a seed, a purpose and keys such as (epoch, item).
    pub fn new(seed: u64, purpose: &str, keys: &[u64]) -> Self {
        let words = purpose.bytes().map(u64::from).chain([u64::MAX]).chain(keys.iter().copied());
        let state = words.fold(mix(seed.wrapping_add(0x9E37_79B9_7F4A_7C15)), |state, word| {
            mix(state ^ mix(word.wrapping_add(0x9E37_79B9_7F4A_7C15)).wrapping_add(0x9E37_79B9_7F4A_7C15))
        });
        Self { state }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    /// Uniform in `[0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal (Box–Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
