use crate::common::{Check, Random, assert_close};
use graphminnet_kernels::batch_norm::{
    AffineGradients, NormGradients, Statistics, UsedStatistics, batch_statistics,
};
use graphminnet_kernels::dropout::{Dropout, dropout_mask};
use graphminnet_kernels::norm_relu_residual::{
    norm_relu_residual, norm_relu_residual_backward, norm_relu_residual_backward_in_place,
};
use graphminnet_kernels::residual_norm::{
    Branch, ResidualNormGradients, residual_norm, residual_norm_backward,
};

const SHAPES: [(usize, usize); 7] = [(1, 3), (2, 1), (3, 36), (40, 7), (300, 52), (1000, 31), (0, 4)];

/// BN in f64; with `given`, those statistics.
fn norm(t: &[f64], gamma: &[f64], beta: &[f64], given: Option<(&[f32], &[f32])>) -> Vec<f64> {
    let channels = gamma.len();
    let rows = t.len() / channels;
    let mut y = vec![0.0; t.len()];
    for c in 0..channels {
        let column = || (0..rows).map(|r| t[r * channels + c]);
        let (mean, variance) = match given {
            Some((mean, variance)) => (f64::from(mean[c]), f64::from(variance[c])),
            None => {
                let mean = column().sum::<f64>() / rows as f64;
                (mean, column().map(|v| (v - mean).powi(2)).sum::<f64>() / rows as f64)
            }
        };
        for r in 0..rows {
            y[r * channels + c] =
                (t[r * channels + c] - mean) / (variance + 1e-5).sqrt() * gamma[c] + beta[c];
        }
    }
    y
}

struct Case {
    rows: usize,
    channels: usize,
    train: bool,
    dropout: Option<Dropout>,
    mask: Vec<f32>,
    running: (Vec<f32>, Vec<f32>),
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (rows, channels) in SHAPES {
        for train in [true, false] {
            for dropout in [None, Some(Dropout { probability: 0.3, seed: 17, first: 0 })] {
                let mut mask = vec![1.0; rows * channels];
                if let Some(dropout) = dropout {
                    dropout_mask(dropout, &mut mask);
                }
                let mut random = Random::new(channels as u64);
                let mean = random.values(channels);
                let variance = random.values(channels).into_iter().map(|v| v.abs() + 0.1).collect();
                cases.push(Case { rows, channels, train, dropout, mask, running: (mean, variance) });
            }
        }
    }
    cases
}

impl Case {
    fn given(&self) -> Option<(&[f32], &[f32])> {
        (!self.train).then_some((&self.running.0[..], &self.running.1[..]))
    }

    /// Runs a forward with the right statistics and returns those used.
    fn with_statistics<R>(&self, run: impl FnOnce(Statistics<'_>) -> R) -> (R, Vec<f32>, Vec<f32>) {
        let (mut mean, mut variance) = self.running.clone();
        let result = if self.train {
            run(Statistics::Batch { mean: &mut mean, variance: &mut variance, others: None })
        } else {
            run(Statistics::Given { mean: &mean, variance: &variance })
        };
        (result, mean, variance)
    }

    /// With one or two rows in training the exact gradient of the rows all but cancels; only finiteness is asked.
    fn is_degenerate(&self) -> bool {
        self.train && self.rows <= 2
    }
}

#[test]
fn norm_relu_residual_agrees_with_the_reference() {
    for case in cases() {
        let size = case.rows * case.channels;
        let mut random = Random::new(size as u64 + 5);
        let forward = |v: &[Vec<f32>]| {
            let mut y = vec![f32::NAN; size];
            case.with_statistics(|statistics| {
                norm_relu_residual(&v[0], Some(&v[1]), &v[2], &v[3], statistics, case.dropout, &mut y);
                y
            })
        };
        Check {
            what: format!("norm_relu_residual {}x{} {}", case.rows, case.channels, case.train),
            inputs: vec![
                random.values(size),
                random.values(size),
                random.values(case.channels),
                random.values(case.channels),
            ],
            reference: &|v| {
                let normed = norm(&v[0], &v[2], &v[3], case.given());
                (0..size).map(|i| v[1][i] + normed[i].max(0.0) * f64::from(case.mask[i])).collect()
            },
            forward: &|v| forward(v).0,
            backward: &|v, dy| {
                let (_, mean, variance) = forward(v);
                let used =
                    UsedStatistics { mean: &mean, variance: &variance, from_batch: case.train, others: None };
                let mut gradients = [size, case.channels, case.channels].map(|len| vec![f32::NAN; len]);
                let [input, gamma, beta] = &mut gradients;
                let wanted = NormGradients { input: Some(input), gamma: Some(gamma), beta: Some(beta) };
                norm_relu_residual_backward(&v[0], &v[2], &v[3], used, case.dropout, dy, wanted);
                let [input, gamma, beta] = gradients;
                assert!(input.iter().chain(&gamma).chain(&beta).all(|v| v.is_finite()));
                vec![(!case.is_degenerate()).then_some(input), None, Some(gamma), Some(beta)]
            },
            tolerance: 1e-5,
        }
        .run();
    }
}

#[test]
fn residual_norm_agrees_with_the_reference() {
    for case in cases() {
        for with_branch in [true, false] {
            let size = case.rows * case.channels;
            let mut random = Random::new(size as u64 + 6);
            let dropout = if with_branch { case.dropout } else { None };
            let sum_of = |v: &[Vec<f64>]| -> Vec<f64> {
                let factor = |i: usize| if with_branch { f64::from(case.mask[i]) } else { 0.0 };
                (0..size).map(|i| v[0][i] + v[1][i] * factor(i)).collect()
            };
            let forward = |v: &[Vec<f32>]| {
                let (mut y, mut t) = (vec![f32::NAN; size], v[0].clone());
                case.with_statistics(|statistics| {
                    let add = with_branch.then_some(&v[2][..]);
                    if let Statistics::Given { mean, variance } = statistics {
                        let statistics = Statistics::Given { mean, variance };
                        let branch = with_branch.then(|| Branch { values: &v[1], dropout, sum: None });
                        let mut alone = vec![f32::NAN; size];
                        residual_norm(&v[0], branch, add, &v[3], &v[4], statistics, &mut alone);
                        let sum = Some(&mut t[..]);
                        let branch = with_branch.then(|| Branch { values: &v[1], dropout, sum });
                        let statistics = Statistics::Given { mean, variance };
                        residual_norm(&v[0], branch, add, &v[3], &v[4], statistics, &mut y);
                        assert!(y.iter().map(|y| y.to_bits()).eq(alone.iter().map(|y| y.to_bits())));
                    } else {
                        let sum = Some(&mut t[..]);
                        let branch = with_branch.then(|| Branch { values: &v[1], dropout, sum });
                        residual_norm(&v[0], branch, add, &v[3], &v[4], statistics, &mut y);
                    }
                    (y, t)
                })
            };
            Check {
                what: format!("residual_norm {}x{} {} {with_branch}", case.rows, case.channels, case.train),
                inputs: vec![
                    random.values(size),
                    random.values(size),
                    random.values(size),
                    random.values(case.channels),
                    random.values(case.channels),
                ],
                reference: &|v| {
                    let normed = norm(&sum_of(v), &v[3], &v[4], case.given());
                    (0..size).map(|i| normed[i] + if with_branch { v[2][i] } else { 0.0 }).collect()
                },
                forward: &|v| forward(v).0.0,
                backward: &|v, dy| {
                    let ((_, t), mean, variance) = forward(v);
                    let used = UsedStatistics {
                        mean: &mean,
                        variance: &variance,
                        from_batch: case.train,
                        others: None,
                    };
                    let mut gradients =
                        [size, size, case.channels, case.channels].map(|len| vec![f32::NAN; len]);
                    let [sum, branch, gamma, beta] = &mut gradients;
                    let wanted = ResidualNormGradients {
                        sum: Some(sum),
                        branch: Some(branch),
                        gamma: Some(gamma),
                        beta: Some(beta),
                    };
                    residual_norm_backward(&t, dropout, &v[3], used, dy, wanted);
                    let mut alone = vec![f32::NAN; size];
                    let wanted = ResidualNormGradients { branch: Some(&mut alone), ..Default::default() };
                    residual_norm_backward(&t, dropout, &v[3], used, dy, wanted);
                    let [sum, branch, gamma, beta] = gradients;
                    assert_eq!(alone, branch);
                    assert!(sum.iter().chain(&gamma).chain(&beta).all(|v| v.is_finite()));
                    let fine = !case.is_degenerate();
                    vec![
                        fine.then_some(sum),
                        (fine && with_branch).then_some(branch),
                        None,
                        Some(gamma),
                        Some(beta),
                    ]
                },
                tolerance: 1e-5,
            }
            .run();
        }
    }
}

#[test]
fn a_large_offset_does_not_spoil_the_variance() {
    let x: Vec<f32> = Random::new(4).values(2000).into_iter().map(|v| 1000.0 + v).collect();
    let (mut mean, mut variance) = ([0.0; 2], [0.0; 2]);
    batch_statistics(&x, &mut mean, &mut variance);
    for c in 0..2 {
        let column: Vec<f64> = x.iter().skip(c).step_by(2).map(|&v| f64::from(v)).collect();
        let expected = column.iter().sum::<f64>() / 1000.0;
        let spread = column.iter().map(|v| (v - expected).powi(2)).sum::<f64>() / 1000.0;
        assert_close("mean", &mean[c..=c], &[expected], 1e-7);
        assert_close("variance", &variance[c..=c], &[spread], 1e-5);
    }
}

#[test]
fn the_gradient_written_over_its_input_has_the_same_bits() {
    for case in cases() {
        let mut random = Random::new(5);
        let size = case.rows * case.channels;
        let (mut pre, dy) = (random.values(size), random.values(size));
        let (gamma, beta) = (random.values(case.channels), random.values(case.channels));
        let (mean, variance) = &case.running;
        let used = || UsedStatistics { mean, variance, from_batch: case.train, others: None };
        let [mut d_pre, mut first, mut second] =
            [size, 2 * case.channels, 2 * case.channels].map(|n| vec![0.0; n]);
        let (d_gamma, d_beta) = first.split_at_mut(case.channels);
        let wanted = NormGradients { input: Some(&mut d_pre), gamma: Some(d_gamma), beta: Some(d_beta) };
        norm_relu_residual_backward(&pre, &gamma, &beta, used(), case.dropout, &dy, wanted);
        let (d_gamma, d_beta) = second.split_at_mut(case.channels);
        let wanted = AffineGradients { gamma: Some(d_gamma), beta: Some(d_beta) };
        norm_relu_residual_backward_in_place(&mut pre, &gamma, &beta, used(), case.dropout, &dy, wanted);
        assert_eq!((pre, second), (d_pre, first));
    }
}
