//! The rate of matrix products this machine reaches, as a yardstick for benchmarks.

use graphminnet_kernels::gemm::matmul;
use std::time::{Duration, Instant};

/// Measured rate in GFLOP/s of the kernels' matrix product at a favourable shape, on the current rayon pool.
///
/// Takes about `budget`; the best of many runs is returned.
pub fn measure_matmul_peak(budget: Duration) -> f64 {
    const ROWS: usize = 6144;
    const DEPTH: usize = 256;
    const COLUMNS: usize = 192;
    let a = vec![0.5; ROWS * DEPTH];
    let b = vec![0.25; DEPTH * COLUMNS];
    let mut c = vec![0.0; ROWS * COLUMNS];
    let flop = 2.0 * (ROWS * DEPTH * COLUMNS) as f64;
    let start = Instant::now();
    let mut best = f64::INFINITY;
    let mut runs = 0;
    while runs < 3 || start.elapsed() < budget {
        let begin = Instant::now();
        matmul(ROWS, DEPTH, COLUMNS, &a, &b, &mut c);
        best = best.min(begin.elapsed().as_secs_f64());
        runs += 1;
    }
    assert!(std::hint::black_box(&c)[0] > 0.0, "the product was computed");
    flop / best / 1e9
}
