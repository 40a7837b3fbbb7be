//! Every operation, one by one.

use super::common::{difference, normals, values};
use super::{TOLERANCE, adapter};
use burn::tensor::{Device, Tensor, TensorData};
use graphminnet::ops::{
    self, CategoryTable, Dropout, EdgeUpdate, Epilogue, LapPeWeights, PoolKind, RowBound, SelfTerm,
    Statistics, Structure,
};
use graphminnet_data::rng;
use graphminnet_data::{Features, Graph, Layout};
use std::sync::Arc;

const NODES: usize = 13;
const EDGES: usize = 19;
const GRAPHS: usize = 4;
const RATE: Option<Dropout> = Some(Dropout { probability: 0.3, seed: 5, first: 0 });

/// Four graphs (one of them empty, one with a single node) with loops and repeated edges.
fn structure() -> Arc<Structure> {
    let ring = (0..7u32).flat_map(|node| [[node, (node + 1) % 7], [(node + 1) % 7, node]]).collect();
    let odd = vec![[0, 1], [0, 1], [2, 2], [3, 0], [4, 1]];
    let graphs = [
        Graph::from_edges(7, ring).unwrap(),
        Graph::from_edges(0, vec![]).unwrap(),
        Graph::new(5, odd, Features::none(5), Features::none(5)).unwrap(),
        Graph::from_edges(1, vec![]).unwrap(),
    ];
    let structure = Structure::new(Layout::new(&graphs.iter().collect::<Vec<_>>()).unwrap());
    assert_eq!(
        [structure.num_nodes(), structure.num_edges(), structure.num_graphs()],
        [NODES, EDGES, GRAPHS]
    );
    structure
}

/// Runs an operation on random matrices of the given shapes on both devices; compares outputs and gradients.
fn assert_same(
    what: &str,
    device: &Device,
    shapes: &[[usize; 2]],
    operation: impl Fn(&[Tensor<2>], &Arc<Structure>) -> Tensor<2>,
) {
    assert_same_on(what, device, shapes, structure, operation);
}

fn assert_same_on(
    what: &str,
    device: &Device,
    shapes: &[[usize; 2]],
    structure: impl Fn() -> Arc<Structure>,
    operation: impl Fn(&[Tensor<2>], &Arc<Structure>) -> Tensor<2>,
) {
    let results = |device: &Device| {
        let random = &mut rng::stream(7, "devices", &[]);
        let tensors: Vec<Tensor<2>> = shapes
            .iter()
            .map(|&[rows, columns]| {
                let values = normals(rows * columns, random);
                Tensor::from_data(TensorData::new(values, [rows, columns]), device).require_grad()
            })
            .collect();
        let output = operation(&tensors, &structure());
        let [rows, columns] = output.dims();
        let weights = TensorData::new(normals(rows * columns, random), [rows, columns]);
        let gradients = (output.clone() * Tensor::from_data(weights, device)).sum().backward();
        let mut results = vec![values(output)];
        for (tensor, [rows, columns]) in tensors.iter().zip(shapes) {
            results.push(tensor.grad(&gradients).map_or_else(|| vec![0.0; rows * columns], values));
        }
        results
    };
    let (ours, theirs) = (results(&Device::flex().autodiff()), results(&device.clone().autodiff()));
    let errors: Vec<f32> = ours.iter().zip(&theirs).map(|(a, b)| difference(a, b)).collect();
    let [output, gradients @ ..] = errors.as_slice() else { unreachable!("there is an output") };
    let worst = gradients.iter().fold(0.0f32, |a, b| a.max(*b));
    println!("{what:44} values {output:.1e}, gradients {worst:.1e}");
    assert!(errors.iter().all(|error| f64::from(*error) <= TOLERANCE), "{what}: {errors:?}");
}

/// A vector from a matrix with one row.
fn vector(row: &Tensor<2>) -> Tensor<1> {
    let [_, columns] = row.dims();
    row.clone().reshape([columns])
}

#[test]
#[ignore = "needs a graphics driver"]
fn dense_operations_agree() {
    let device = adapter();
    for (what, epilogue) in [
        ("linear", Epilogue::None),
        ("linear, ReLU", Epilogue::Relu(None)),
        ("linear, ReLU, dropout", Epilogue::Relu(RATE)),
    ] {
        let shapes = [[130, 37], [70, 37], [1, 70]];
        assert_same(what, &device, &shapes, |t, _| {
            ops::linear(t[0].clone(), t[1].clone(), Some(vector(&t[2])), epilogue)
        });
        assert_same(&format!("{what}, no bias"), &device, &shapes[..2], |t, _| {
            ops::linear(t[0].clone(), t[1].clone(), None, epilogue)
        });
    }
    for bound in [RowBound::Rms, RowBound::Ball] {
        assert_same(&format!("bound_rows {bound:?}"), &device, &[[40, 3]], |t, _| {
            ops::bound_rows(t[0].clone(), bound)
        });
    }
    assert_same("l2_rows", &device, &[[40, 3]], |t, _| ops::l2_rows(t[0].clone()));
    assert_same("dropout", &device, &[[20, 7]], |t, _| ops::dropout(t[0].clone(), RATE));
    assert_same("layer_norm_silu", &device, &[[11, 6], [1, 6], [1, 6]], |t, _| {
        ops::layer_norm_silu(t[0].clone(), vector(&t[1]), vector(&t[2]))
    });
    let shapes = [[9, 10], [9, 5], [9, 1], [1, 1]];
    assert_same("gate_product", &device, &shapes[..2], |t, _| {
        ops::gate_product(t[0].clone(), t[1].clone(), None)
    });
    assert_same("gate_product with self term", &device, &shapes, |t, _| {
        let term = SelfTerm { own: t[2].clone(), beta: vector(&t[3]) };
        ops::gate_product(t[0].clone(), t[1].clone(), Some(term))
    });
    let categories = CategoryTable::new(vec![0, 3, 2, 1, 0, 0, 1, 3], &[3, 4]).unwrap();
    assert_same("embedding_sum", &device, &[[7, 5]], |t, _| ops::embedding_sum(t[0].clone(), &categories));
}

#[test]
#[ignore = "needs a graphics driver"]
fn normalisations_agree() {
    let device = adapter();
    const SHAPES: [[usize; 2]; 7] = [[150, 6], [150, 6], [1, 6], [1, 6], [1, 6], [1, 6], [150, 6]];
    let statistics = |t: &[Tensor<2>], given: bool| match given {
        false => Statistics::Batch,
        true => Statistics::Given {
            mean: vector(&t[3]).detach(),
            variance: (vector(&t[4]).powi_scalar(2) + 0.5).detach(),
        },
    };
    for given in [false, true] {
        let of = if given { "given" } else { "batch" };
        assert_same(&format!("norm_relu_residual, {of} statistics"), &device, &SHAPES, |t, _| {
            let statistics = statistics(t, given);
            let (scale, shift) = (vector(&t[2]), vector(&t[5]));
            ops::norm_relu_residual(t[0].clone(), t[1].clone(), scale, shift, statistics, RATE).0
        });
        for (branch, add) in [(false, false), (true, false), (false, true), (true, true)] {
            let what = format!("residual_norm, {of}, branch {branch}, add {add}");
            assert_same(&what, &device, &SHAPES, |t, _| {
                let branch = branch.then(|| (t[1].clone(), RATE));
                let add = add.then(|| t[6].clone());
                let (scale, shift) = (vector(&t[2]), vector(&t[5]));
                ops::residual_norm(t[0].clone(), branch, add, scale, shift, statistics(t, given)).0
            });
        }
    }
    // What the running estimates are made of.
    let measured = |device: &Device| {
        let random = &mut rng::stream(8, "devices", &[]);
        let x = TensorData::new(normals(600, random), [100, 6]);
        let (ones, zeros) = (Tensor::ones([6], device), Tensor::zeros([6], device));
        let x = Tensor::<2>::from_data(x, device) + 3.0;
        let (_, measured) = ops::residual_norm(x, None, None, ones, zeros, Statistics::Batch);
        let measured = measured.unwrap();
        [values(measured.mean), values(measured.variance)]
    };
    let (ours, theirs) = (measured(&Device::flex().autodiff()), measured(&device.autodiff()));
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert!(f64::from(difference(ours, theirs)) <= TOLERANCE, "{ours:?} {theirs:?}");
    }
}

#[test]
#[ignore = "needs a graphics driver"]
fn operations_on_graphs_agree() {
    let device = adapter();
    assert_same("gather_graphs", &device, &[[GRAPHS, 5]], |t, s| ops::gather_graphs(t[0].clone(), s));
    assert_same("sum_per_graph", &device, &[[NODES, 5]], |t, s| ops::sum_per_graph(t[0].clone(), s));
    for kind in [PoolKind::Mean, PoolKind::Sum, PoolKind::Max] {
        assert_same(&format!("pool {kind:?}"), &device, &[[NODES, 5]], |t, s| {
            ops::pool(t[0].clone(), kind, s)
        });
    }
    assert_same("gine_aggregate", &device, &[[NODES, 6], [EDGES, 6]], |t, s| {
        ops::gine_aggregate(t[0].clone(), t[1].clone(), s)
    });
    let shapes = [[EDGES, 6], [6, 6], [1, 6], [NODES, 24], [1, 6], [1, 6]];
    assert_same("gated_convolution", &device, &shapes[..4], |t, s| {
        ops::gated_convolution(t[0].clone(), t[1].clone(), vector(&t[2]), t[3].clone(), s, None).nodes
    });
    assert_same("gated_convolution with new edges", &device, &shapes, |t, s| {
        let (scale, shift) = (vector(&t[4]), vector(&t[5]));
        let update = EdgeUpdate { scale, shift, statistics: Statistics::Batch, rate: RATE };
        let (edges, bias) = (t[0].clone(), vector(&t[2]));
        let result = ops::gated_convolution(edges, t[1].clone(), bias, t[3].clone(), s, Some(update));
        Tensor::cat(vec![result.nodes, result.edges.unwrap()], 0)
    });
    assert_same("weighted_squares", &device, &[[NODES, 5], [GRAPHS, 5]], |t, s| {
        ops::weighted_squares(t[0].clone(), t[1].clone(), s)
    });
    assert_same("batched_rows", &device, &[[NODES, 3], [GRAPHS, 6]], |t, s| {
        ops::batched_rows(t[0].clone(), t[1].clone().reshape([GRAPHS, 3, 2]), s)
    });
    assert_same("outer_sums", &device, &[[NODES, 3], [NODES, 4]], |t, s| {
        ops::outer_sums(t[0].clone(), t[1].clone(), s).reshape([GRAPHS, 12])
    });
    assert_same("spectral_product", &device, &[[NODES, 3], [NODES, 4], [GRAPHS, 12], [6, 3]], |t, s| {
        let factors = t[2].clone().reshape([GRAPHS, 4, 3]);
        ops::spectral_product(t[0].clone(), t[1].clone(), factors, t[3].clone(), s)
    });
    let shapes = [[NODES, 4], [GRAPHS, 4], [6, 2], [1, 6], [3, 6], [1, 3]];
    for signs in [None, Some(vec![1.0, -1.0, 1.0, -1.0])] {
        assert_same("lap_pe", &device, &shapes, |t, s| {
            // The last pair is missing in every graph.
            let row = Tensor::<1>::from_floats([1.0, 1.0, 1.0, 0.0], &t[0].device());
            let exist = row.unsqueeze::<2>().expand([GRAPHS, 4]);
            let weights = LapPeWeights {
                weight1: t[2].clone(),
                bias1: vector(&t[3]),
                weight2: t[4].clone(),
                bias2: vector(&t[5]),
            };
            ops::lap_pe(t[0].clone(), t[1].clone(), exist, signs.clone(), weights, s)
        });
    }
}

/// More rows than some drivers can loop over: there the sums come out wrong without any error.
#[test]
#[ignore = "needs a graphics driver"]
fn sums_of_very_many_rows_agree() {
    let device = adapter();
    const ROWS: usize = 70_000;
    let structure = || {
        let graph = Graph::from_edges(ROWS, vec![]).unwrap();
        Structure::new(Layout::new(&[&graph, &Graph::from_edges(3, vec![]).unwrap()]).unwrap())
    };
    let shapes = [[ROWS + 3, 2]];
    assert_same_on("sum_per_graph, many rows", &device, &shapes, structure, |t, s| {
        ops::sum_per_graph(t[0].clone(), s)
    });
    assert_same_on("gather_graphs, many rows", &device, &[[2, 2]], structure, |t, s| {
        ops::gather_graphs(t[0].clone(), s)
    });
}
