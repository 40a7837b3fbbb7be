//! Holds the two bodies of an operation to each other: kernel and generic, in values and in every gradient.

use super::Structure;
use burn::tensor::{Device, Tensor, TensorData};
use graphminnet_data::rng::{self, Stream};
use graphminnet_data::{Features, Graph, Layout};
use std::sync::Arc;

/// Largest difference relative to the largest value.
const TOLERANCE: f32 = 2e-5;

/// Three graphs (one of them empty, one with a single node) with loops and repeated edges.
pub(super) fn structure() -> Arc<Structure> {
    let ring: Vec<[u32; 2]> =
        (0..7u32).flat_map(|node| [[node, (node + 1) % 7], [(node + 1) % 7, node]]).collect();
    let odd = vec![[0, 1], [0, 1], [2, 2], [3, 0], [4, 1]];
    let graphs = [
        Graph::from_edges(7, ring).unwrap(),
        Graph::from_edges(0, vec![]).unwrap(),
        Graph::new(5, odd, Features::none(5), Features::none(5)).unwrap(),
        Graph::from_edges(1, vec![]).unwrap(),
    ];
    Structure::new(Layout::new(&graphs.iter().collect::<Vec<_>>()).unwrap())
}

/// Runs both bodies on random matrices of the given shapes and compares outputs and gradients.
pub(super) fn assert_same_bodies(
    shapes: &[[usize; 2]],
    kernel: impl Fn(&[Tensor<2>]) -> Tensor<2>,
    generic: impl Fn(&[Tensor<2>]) -> Tensor<2>,
) {
    let device = Device::flex().autodiff();
    let stream = &mut rng::stream(7, "bodies", &[shapes.len() as u64]);
    let inputs: Vec<Vec<f32>> = shapes.iter().map(|[rows, columns]| random(rows * columns, stream)).collect();
    let mut weights: Option<Vec<f32>> = None;
    let mut run = |body: &dyn Fn(&[Tensor<2>]) -> Tensor<2>| {
        let tensors: Vec<Tensor<2>> = (shapes.iter().zip(&inputs))
            .map(|(shape, input)| {
                Tensor::from_data(TensorData::new(input.clone(), *shape), &device).require_grad()
            })
            .collect();
        let output = body(&tensors);
        let shape = output.dims();
        let weights = weights.get_or_insert_with(|| random(shape[0] * shape[1], stream)).clone();
        let weights = Tensor::<2>::from_data(TensorData::new(weights, shape), &device);
        let gradients = (output.clone() * weights).sum().backward();
        let mut results = vec![values(output)];
        for (tensor, [rows, columns]) in tensors.iter().zip(shapes) {
            results.push(tensor.grad(&gradients).map_or_else(|| vec![0.0; rows * columns], values));
        }
        results
    };
    let (fused, plain) = (run(&kernel), run(&generic));
    for (which, (fused, plain)) in fused.iter().zip(&plain).enumerate() {
        let scale = plain.iter().fold(1e-3f32, |max, value| max.max(value.abs()));
        for (at, (a, b)) in fused.iter().zip(plain).enumerate() {
            let place =
                if which == 0 { "output".to_owned() } else { format!("gradient of input {}", which - 1) };
            assert!((a - b).abs() <= TOLERANCE * scale, "{place}, value {at}: kernel {a}, generic {b}");
        }
    }
}

/// A vector from a matrix with one row.
pub(super) fn vector(row: &Tensor<2>) -> Tensor<1> {
    let [_, columns] = row.dims();
    row.clone().reshape([columns])
}

fn random(count: usize, stream: &mut Stream) -> Vec<f32> {
    (0..count).map(|_| stream.normal() as f32).collect()
}

fn values(tensor: Tensor<2>) -> Vec<f32> {
    tensor.into_data().try_to_vec().unwrap()
}
