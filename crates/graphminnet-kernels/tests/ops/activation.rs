use crate::common::{Random, same_bits_on_all_pools, setup};
use graphminnet_kernels::activation::{Function, activate, activate_backward};

/// erf by its series, or by the continued fraction of erfc far out.
fn erf(x: f64) -> f64 {
    if x.abs() < 3.0 {
        let (mut term, mut sum) = (x, x);
        for n in 1..200 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return sum * 2.0 / std::f64::consts::PI.sqrt();
    }
    let z = x.abs();
    let mut fraction = z;
    for k in (1..200).rev() {
        fraction = z + f64::from(k) / 2.0 / fraction;
    }
    (1.0 - (-z * z).exp() / fraction / std::f64::consts::PI.sqrt()).copysign(x)
}

fn reference(function: Function, x: f64) -> f64 {
    match function {
        Function::Relu => x.max(0.0),
        Function::Silu => x / (1.0 + (-x).exp()),
        Function::Gelu => x * 0.5 * (1.0 + erf(x / 2f64.sqrt())),
        Function::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Function::Exp => x.exp(),
    }
}

fn apply(function: Function, x: &[f32]) -> Vec<f32> {
    same_bits_on_all_pools("activate", Vec::clone, || {
        let mut y = vec![f32::NAN; x.len()];
        activate(function, x, &mut y);
        y
    })
}

#[test]
fn values_and_slopes_agree_with_the_reference() {
    let x: Vec<f32> = Random::new(1).values(40_000).into_iter().map(|v| v * 9.0).collect();
    for function in [Function::Relu, Function::Silu, Function::Gelu, Function::Sigmoid, Function::Exp] {
        let y = apply(function, &x);
        let mut slope = vec![f32::NAN; x.len()];
        activate_backward(function, &x, &vec![1.0; x.len()], &mut slope);
        for i in 0..x.len() {
            let x = f64::from(x[i]);
            let expected = reference(function, x);
            let scale = expected.abs().max(x.abs()).max(1.0);
            assert!((f64::from(y[i]) - expected).abs() < 3e-7 * scale, "{function:?}({x}) is {}", y[i]);
            let step = 1e-6;
            let expected = (reference(function, x + step) - reference(function, x - step)) / (2.0 * step);
            if x.abs() > step {
                let scale = expected.abs().max(1.0);
                assert!(
                    (f64::from(slope[i]) - expected).abs() < 1e-6 * scale,
                    "{function:?}'({x}) is {}",
                    slope[i]
                );
            }
        }
    }
}

#[test]
fn exp_is_right_to_two_ulp_on_the_whole_range() {
    let x: Vec<f32> = (0..400_000).map(|i| -104.0 + i as f32 * (193.0 / 400_000.0)).collect();
    for (x, y) in x.iter().zip(apply(Function::Exp, &x)) {
        let expected = f64::from(*x).exp();
        if expected > f64::from(f32::MAX) {
            assert!(y == f32::INFINITY || y > 3.4e38, "exp({x}) is {y}");
            continue;
        }
        let rounded = expected as f32;
        let ulp = f64::from(f32::from_bits(rounded.to_bits() + 1)) - f64::from(rounded);
        assert!((f64::from(y) - expected).abs() <= 2.0 * ulp, "exp({x}) is {y}, expected {expected}");
    }
}

#[test]
fn infinities_and_nan_are_respected() {
    setup();
    let x = [f32::NEG_INFINITY, -1e30, 1e30, f32::INFINITY, f32::NAN, 0.0];
    assert_eq!(apply(Function::Exp, &x)[..4], [0.0, 0.0, f32::INFINITY, f32::INFINITY]);
    let sigmoid = apply(Function::Sigmoid, &x);
    assert!(sigmoid[0] < 1e-37 && sigmoid[1] < 1e-37 && sigmoid[2] == 1.0 && sigmoid[3] == 1.0);
    assert_eq!(apply(Function::Exp, &x)[5], 1.0);
    assert_eq!(sigmoid[5], 0.5);
    for function in [Function::Relu, Function::Silu, Function::Gelu, Function::Sigmoid, Function::Exp] {
        assert!(apply(function, &x)[4].is_nan(), "{function:?}");
    }
}
