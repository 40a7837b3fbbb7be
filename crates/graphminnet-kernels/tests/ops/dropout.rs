use crate::common::{Random, same_bits_on_all_pools};
use graphminnet_kernels::dropout::{Dropout, dropout, dropout_mask};

fn mask(probability: f32, seed: u64, count: usize) -> Vec<f32> {
    same_bits_on_all_pools("mask", Vec::clone, || {
        let mut out = vec![7.0; count];
        dropout_mask(Dropout { probability, seed, first: 0 }, &mut out);
        out
    })
}

#[test]
fn the_share_of_dropped_elements_is_the_probability() {
    const COUNT: usize = 200_000;
    for probability in [0.1, 0.3, 0.5, 0.6, 0.9] {
        for seed in [0, 1, 2, u64::MAX, 1 << 40] {
            let mask = mask(probability, seed, COUNT);
            let dropped = mask.iter().filter(|&&m| m == 0.0).count() as f64 / COUNT as f64;
            let p = f64::from(probability);
            let deviation = (p * (1.0 - p) / COUNT as f64).sqrt();
            assert!((dropped - p).abs() < 5.0 * deviation, "p {probability} seed {seed}: {dropped}");
            assert!(mask.iter().all(|&m| m == 0.0 || m == 1.0 / (1.0 - probability)));
        }
    }
}

/// Correlation of two 0/1 sequences; about N(0, 1/√count) when independent.
fn correlation(a: &[f32], b: &[f32]) -> f64 {
    let mean = |v: &[f32]| v.iter().map(|&x| f64::from(x)).sum::<f64>() / v.len() as f64;
    let (ma, mb) = (mean(a), mean(b));
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (&x, &y) in a.iter().zip(b) {
        let (x, y) = (f64::from(x) - ma, f64::from(y) - mb);
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    ab / (aa * bb).sqrt()
}

#[test]
fn neighbouring_elements_and_neighbouring_seeds_are_independent() {
    const COUNT: usize = 100_000;
    let limit = 5.0 / (COUNT as f64).sqrt();
    for seed in [0u64, 5, 1000] {
        let here = mask(0.5, seed, COUNT + 4096);
        for lag in [1, 2, 3, 4, 8, 16, 32, 36, 64, 100, 128, 1024, 4096] {
            let c = correlation(&here[..COUNT], &here[lag..COUNT + lag]);
            assert!(c.abs() < limit, "seed {seed} lag {lag}: {c}");
        }
        for other in [seed + 1, seed + 2, seed ^ (1 << 32), seed ^ (1 << 63)] {
            let there = mask(0.5, other, COUNT + 4096);
            let c = correlation(&here, &there);
            assert!(c.abs() < limit, "seeds {seed} {other}: {c}");
            // Nor is one a shifted copy of the other.
            let c = correlation(&here[..COUNT], &there[1..COUNT + 1]);
            assert!(c.abs() < limit, "seeds {seed} {other} shifted: {c}");
        }
    }
}

#[test]
fn extreme_probabilities_keep_all_or_nothing() {
    assert!(mask(0.0, 3, 1000).iter().all(|&m| m == 1.0));
    assert!(mask(1.0, 3, 1000).iter().all(|&m| m == 0.0));
    assert!(mask(0.5, 3, 0).is_empty());
}

#[test]
fn dropout_multiplies_by_the_mask() {
    let x = Random::new(1).values(40_001);
    let settings = Dropout { probability: 0.3, seed: 9, first: 0 };
    let mask = mask(0.3, 9, x.len());
    let mut y = vec![0.0; x.len()];
    dropout(settings, &x, &mut y);
    for i in 0..x.len() {
        assert_eq!(y[i], x[i] * mask[i]);
    }
}
