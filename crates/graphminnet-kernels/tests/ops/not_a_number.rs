//! What is wrong with one row must reach the answer for it, and no other: no kernel may turn NaN into a number.

use crate::common::Random;
use graphminnet_kernels::batch_norm::{Statistics, batch_statistics};
use graphminnet_kernels::gine_aggregate::gine_aggregate;
use graphminnet_kernels::linear::{Activation, LinearShape, linear};
use graphminnet_kernels::norm_relu_residual::norm_relu_residual;
use graphminnet_kernels::others::Others;
use graphminnet_kernels::pool::{Pooling, pool};

/// Rows of width 9 that hold NaN.
fn broken_rows(values: &[f32]) -> Vec<usize> {
    let rows = values.chunks(9).enumerate();
    rows.filter(|(_, row)| row.iter().any(|value| value.is_nan())).map(|(at, _)| at).collect()
}

/// Random rows of width 9, the third with one NaN.
fn rows() -> Vec<f32> {
    let mut x = Random::new(5).values(9 * 40);
    x[2 * 9 + 4] = f32::NAN;
    x
}

#[test]
fn a_rectified_linear_map_keeps_nan_in_its_row() {
    let (shape, weight) = (LinearShape { rows: 40, inputs: 9, outputs: 9 }, Random::new(6).values(81));
    let mut y = vec![0.0; 9 * 40];
    linear(shape, &rows(), &weight, None, Activation::Relu(None), &mut y);
    assert_eq!(broken_rows(&y), [2]);
    assert!(y[2 * 9..3 * 9].iter().all(|value| value.is_nan()));
}

#[test]
fn a_rectified_norm_keeps_nan_in_its_row() {
    let (ones, zeros, mut y) = ([1.0; 9], [0.0; 9], vec![0.0; 9 * 40]);
    let given = Statistics::Given { mean: &zeros, variance: &ones };
    norm_relu_residual(&rows(), None, &ones, &zeros, given, None, &mut y);
    assert_eq!(broken_rows(&y), [2]);
}

#[test]
fn statistics_of_a_channel_with_nan_are_nan() {
    let (mut mean, mut variance) = ([0.0; 9], [0.0; 9]);
    batch_statistics(&rows(), &mut mean, &mut variance);
    for (channel, (mean, variance)) in mean.into_iter().zip(variance).enumerate() {
        assert_eq!((mean.is_nan(), variance.is_nan()), (channel == 4, channel == 4), "{channel}");
    }
}

/// Nobody: all rows are at hand.
#[derive(Debug)]
struct Nobody;

impl Others for Nobody {
    fn join_moments(&self, _: &mut [f64]) {}
    fn join_sums(&self, _: &mut [f64]) {}
}

#[test]
fn statistics_that_are_shared_with_others_keep_nan() {
    let (ones, zeros, mut y) = ([1.0; 9], [0.0; 9], vec![0.0; 9 * 40]);
    let (mut mean, mut variance) = ([0.0; 9], [0.0; 9]);
    let batch = Statistics::Batch { mean: &mut mean, variance: &mut variance, others: Some(&Nobody) };
    norm_relu_residual(&rows(), None, &ones, &zeros, batch, None, &mut y);
    assert!(variance[4].is_nan() && variance.iter().filter(|value| value.is_nan()).count() == 1);
}

#[test]
fn a_rectified_message_carries_nan_to_its_target() {
    let sorted = Random::new(7).edges(40, 120);
    let edges = sorted.as_edges();
    let mut y = vec![0.0; 9 * 40];
    gine_aggregate(edges, 9, &rows(), &vec![0.0; 9 * 120], &mut y);
    let mut expected: Vec<usize> = edges
        .source
        .iter()
        .zip(edges.target)
        .filter(|(source, _)| **source == 2)
        .map(|(_, target)| *target as usize)
        .collect();
    expected.push(2);
    expected.sort_unstable();
    expected.dedup();
    assert!(expected.len() > 1, "the third node has neighbours");
    assert_eq!(broken_rows(&y), expected);
}

#[test]
fn a_maximum_over_nan_is_nan() {
    // The second graph is so large that it is reduced in pieces.
    let sizes = [4, 3000, 2];
    for broken in [0, 1, 3, 4, 5, 1700, 3003] {
        let mut x = Random::new(8).values(9 * 3006);
        x[broken * 9 + 3] = f32::NAN;
        let mut y = vec![0.0; 9 * sizes.len()];
        pool(Pooling::Max, &[0, 4, 3004, 3006], 9, &x, &mut y);
        assert_eq!(broken_rows(&y), [usize::from(broken >= 4)], "{broken}");
        assert_eq!(y.iter().filter(|value| value.is_nan()).count(), 1);
    }
}
