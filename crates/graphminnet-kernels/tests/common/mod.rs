//! Checks shared by the tests of all operations.
//!
//! Every operation is compared with a plain f64 reference: values directly, gradients by central differences of the
//! reference. Every call is repeated on pools of 1, 2 and 3 threads, and with AVX2 where the processor has AVX-512, and must
//! give the same bits.

mod sorted_edges;

use graphminnet_kernels::{Instructions, limit_instructions};
pub use sorted_edges::SortedEdges;
use std::sync::{Mutex, Once, PoisonError};

/// The best instructions under test: the test binary's name says which.
const BEST: Instructions = match env!("CARGO_CRATE_NAME").as_bytes() {
    b"portable" => Instructions::Portable,
    _ => Instructions::Avx512,
};

/// Chooses the path under test.
pub fn setup() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| limit_instructions(BEST));
}

/// Repeatable random numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678_9ABC_DEF1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound.max(1)
    }

    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Values in (-1, 1).
    pub fn values(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| (self.uniform() * 2.0 - 1.0) as f32).collect()
    }

    /// Edges in any order, with self-loops and repetitions as they come.
    pub fn edges(&mut self, num_nodes: usize, num_edges: usize) -> SortedEdges {
        let mut node = || self.below(num_nodes) as u32;
        let (source, target): (Vec<u32>, Vec<u32>) = (0..num_edges).map(|_| (node(), node())).unzip();
        SortedEdges::new(num_nodes, &source, &target)
    }
}

pub fn offsets(sizes: &[usize]) -> Vec<u32> {
    let mut offsets = vec![0u32];
    for size in sizes {
        offsets.push(offsets[offsets.len() - 1] + *size as u32);
    }
    offsets
}

/// Runs `work` on pools of 1, 2 and 3 threads and with all instructions that promise the same bits; they must agree.
pub fn same_bits_on_all_pools<R: Send>(
    what: &str,
    flatten: impl Fn(&R) -> Vec<f32>,
    work: impl Fn() -> R + Sync + Send,
) -> R {
    // The instructions are those of the process, so one test at a time.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    setup();
    let run = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(&work);
    let first = run(1);
    let bits = |r: &R| flatten(r).into_iter().map(f32::to_bits).collect::<Vec<_>>();
    for threads in [2, 3] {
        assert!(bits(&first) == bits(&run(threads)), "{what}: other bits with {threads} threads");
    }
    if graphminnet_kernels::instructions() == Instructions::Avx512 {
        limit_instructions(Instructions::Avx2);
        let with_avx2 = run(1);
        limit_instructions(BEST);
        assert!(bits(&first) == bits(&with_avx2), "{what}: other bits with AVX2 than with AVX-512");
    }
    first
}

/// `got` agrees with `expected` to `tolerance` of the largest expected value (at least 1e-3).
pub fn assert_close(what: &str, got: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len(), "{what}: length");
    let largest = expected.iter().fold(1e-3f64, |m, v| m.max(v.abs()));
    for (i, (&g, &e)) in got.iter().zip(expected).enumerate() {
        let error = (f64::from(g) - e).abs();
        assert!(error <= tolerance * largest, "{what}[{i}]: got {g}, expected {e} (largest {largest:.3e})");
    }
}

pub fn to_f64(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&v| f64::from(v)).collect()
}

/// An operation under test: named inputs, an f64 reference, a kernel and its gradients (one per input, `None` = none).
pub struct Check<'a> {
    pub what: String,
    pub inputs: Vec<Vec<f32>>,
    #[allow(clippy::type_complexity)]
    pub reference: &'a (dyn Fn(&[Vec<f64>]) -> Vec<f64> + Sync),
    #[allow(clippy::type_complexity)]
    pub forward: &'a (dyn Fn(&[Vec<f32>]) -> Vec<f32> + Sync),
    #[allow(clippy::type_complexity)]
    pub backward: &'a (dyn Fn(&[Vec<f32>], &[f32]) -> Vec<Option<Vec<f32>>> + Sync),
    pub tolerance: f64,
}

impl Check<'_> {
    pub fn run(self) {
        let what = &self.what;
        let wide: Vec<Vec<f64>> = self.inputs.iter().map(|input| to_f64(input)).collect();
        let expected = (self.reference)(&wide);
        let got = same_bits_on_all_pools(what, Vec::clone, || (self.forward)(&self.inputs));
        assert_close(what, &got, &expected, self.tolerance);

        let mut random = Random::new(got.len() as u64 + 77);
        let dy = random.values(got.len());
        let flatten = |g: &Vec<Option<Vec<f32>>>| g.iter().flatten().flatten().copied().collect();
        let gradients = same_bits_on_all_pools(what, flatten, || (self.backward)(&self.inputs, &dy));
        assert_eq!(gradients.len(), wide.len(), "{what}: one gradient slot per input");
        let loss = |inputs: &[Vec<f64>]| -> f64 {
            (self.reference)(inputs).iter().zip(&dy).map(|(y, &g)| y * f64::from(g)).sum()
        };
        let mut moved = wide.clone();
        for (index, gradient) in gradients.iter().enumerate() {
            let Some(gradient) = gradient else { continue };
            assert_eq!(gradient.len(), wide[index].len(), "{what}: gradient {index} length");
            let count = gradient.len();
            let picks: Vec<usize> = if count <= 24 {
                (0..count).collect()
            } else {
                (0..24).map(|_| random.below(count)).collect()
            };
            // Short, so that a step seldom crosses the kink of a ReLU.
            let step = 3e-7;
            let mut numeric = Vec::new();
            for &pick in &picks {
                let original = wide[index][pick];
                moved[index][pick] = original + step;
                let above = loss(&moved);
                moved[index][pick] = original - step;
                let below = loss(&moved);
                moved[index][pick] = original;
                numeric.push((above - below) / (2.0 * step));
            }
            // Errors are measured against the size of the whole gradient, of which `picks` is a sample.
            let largest = gradient.iter().fold(1e-3f64, |m, &v| m.max(f64::from(v).abs()));
            for (&pick, &numeric) in picks.iter().zip(&numeric) {
                let error = (f64::from(gradient[pick]) - numeric).abs();
                assert!(
                    error <= 4.0 * self.tolerance * largest.max(numeric.abs()),
                    "{what}: gradient {index}[{pick}] is {}, expected {numeric} (largest {largest:.3e})",
                    gradient[pick]
                );
            }
        }
    }
}
