use crate::common::{Check, Random, same_bits_on_all_pools};
use graphminnet_kernels::dropout::{Dropout, dropout_mask};
use graphminnet_kernels::gemm::matmul;
use graphminnet_kernels::linear::{Activation, LinearGradients, LinearShape, linear, linear_backward};

fn check(rows: usize, inputs: usize, outputs: usize, with_bias: bool, activation: Activation) {
    let shape = LinearShape { rows, inputs, outputs };
    let mut random = Random::new((rows + 31 * inputs + 977 * outputs) as u64);
    let mut mask = vec![1.0; rows * outputs];
    let is_relu = activation != Activation::None;
    if let Activation::Relu(Some(dropout)) = activation {
        dropout_mask(dropout, &mut mask);
    }
    let bias = if with_bias { random.values(outputs) } else { vec![0.0; outputs] };
    let forward = |v: &[Vec<f32>]| {
        let mut y = vec![f32::NAN; rows * outputs];
        linear(shape, &v[0], &v[1], with_bias.then_some(&v[2][..]), activation, &mut y);
        y
    };
    Check {
        what: format!("linear {shape:?} {activation:?}"),
        inputs: vec![random.values(rows * inputs), random.values(outputs * inputs), bias],
        reference: &|v| {
            let mut y = vec![0.0; rows * outputs];
            for (row, y) in y.chunks_mut(outputs.max(1)).enumerate() {
                for (o, y) in y.iter_mut().enumerate() {
                    *y = v[2][o]
                        + (0..inputs).map(|i| v[0][row * inputs + i] * v[1][o * inputs + i]).sum::<f64>();
                    if is_relu {
                        *y = y.max(0.0) * f64::from(mask[row * outputs + o]);
                    }
                }
            }
            y
        },
        forward: &forward,
        backward: &|v, dy| {
            let y = is_relu.then(|| forward(v));
            let mut dx = vec![f32::NAN; v[0].len()];
            let mut dw = vec![f32::NAN; v[1].len()];
            let mut db = vec![f32::NAN; outputs];
            let gradients = LinearGradients {
                input: Some(&mut dx),
                add_to_input: false,
                weight: Some(&mut dw),
                bias: Some(&mut db),
            };
            linear_backward(shape, &v[0], &v[1], activation, y.as_deref(), dy, gradients);
            // Each gradient alone is the same as together, and so is one that is added to something.
            let unwritten = |gradient: &[f32]| vec![f32::NAN; gradient.len()];
            let (mut alone_dx, mut alone_dw, mut alone_db) = (unwritten(&dx), unwritten(&dw), unwritten(&db));
            let mut added_dx: Vec<f32> = (0..dx.len()).map(|i| 0.25 * i as f32).collect();
            for gradients in [
                LinearGradients { input: Some(&mut alone_dx), ..Default::default() },
                LinearGradients { weight: Some(&mut alone_dw), ..Default::default() },
                LinearGradients { bias: Some(&mut alone_db), ..Default::default() },
                LinearGradients { input: Some(&mut added_dx), add_to_input: true, ..Default::default() },
            ] {
                linear_backward(shape, &v[0], &v[1], activation, y.as_deref(), dy, gradients);
            }
            assert!(alone_dx == dx && alone_dw == dw && alone_db == db);
            assert!(added_dx.iter().zip(&dx).enumerate().all(|(i, (sum, dx))| *sum == 0.25 * i as f32 + dx));
            vec![Some(dx), Some(dw), with_bias.then_some(db)]
        },
        tolerance: 3e-6,
    }
    .run();
}

#[test]
fn values_and_gradients_agree_with_the_reference() {
    let dropout = Some(Dropout { probability: 0.4, seed: 11, first: 0 });
    for (rows, inputs, outputs) in [
        (1, 1, 1),
        (2, 3, 5),
        (5, 31, 7),
        (7, 16, 16),
        (13, 100, 36),
        (131, 52, 31),
        (400, 36, 52),
        (736, 64, 64),
        (257, 8, 40),
        (900, 33, 17),
    ] {
        check(rows, inputs, outputs, true, Activation::None);
        check(rows, inputs, outputs, false, Activation::None);
        check(rows, inputs, outputs, true, Activation::Relu(None));
        check(rows, inputs, outputs, false, Activation::Relu(dropout));
    }
}

#[test]
fn empty_inputs_give_empty_or_constant_outputs() {
    check(0, 5, 3, true, Activation::None);
    check(0, 5, 3, true, Activation::Relu(None));
    check(4, 0, 3, true, Activation::None);
    check(4, 3, 0, true, Activation::None);
}

#[test]
fn matmul_is_the_plain_product() {
    let (rows, depth, columns) = (151, 37, 45);
    let mut random = Random::new(5);
    let (a, b) = (random.values(rows * depth), random.values(depth * columns));
    let c = same_bits_on_all_pools("matmul", Vec::clone, || {
        let mut c = vec![f32::NAN; rows * columns];
        matmul(rows, depth, columns, &a, &b, &mut c);
        c
    });
    for row in 0..rows {
        for column in 0..columns {
            let expected: f64 =
                (0..depth).map(|k| f64::from(a[row * depth + k]) * f64::from(b[k * columns + column])).sum();
            assert!((f64::from(c[row * columns + column]) - expected).abs() < 1e-5);
        }
    }
}

#[test]
#[should_panic(expected = "length of the weight")]
fn a_wrong_length_is_named() {
    let shape = LinearShape { rows: 2, inputs: 2, outputs: 2 };
    linear(shape, &[0.0; 4], &[0.0; 3], None, Activation::None, &mut [0.0; 4]);
}
