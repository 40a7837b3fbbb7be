use crate::common::{Random, assert_close, same_bits_on_all_pools};
use graphminnet_kernels::adamw::{AdamW, adamw, sum_of_squares};

#[test]
fn twenty_steps_follow_the_definition() {
    const COUNT: usize = 20_011;
    let mut random = Random::new(6);
    let start = random.values(COUNT);
    let gradients: Vec<Vec<f32>> = (0..20).map(|_| random.values(COUNT)).collect();
    let (learning_rate, weight_decay, beta1, beta2, epsilon) = (1e-2, 0.1, 0.9, 0.999, 1e-8);
    let got = same_bits_on_all_pools("adamw", Vec::clone, || {
        let (mut p, mut m, mut v) = (start.clone(), vec![0.0; COUNT], vec![0.0; COUNT]);
        for (t, gradient) in gradients.iter().enumerate() {
            let step = t as u64 + 1;
            let settings =
                AdamW { learning_rate, weight_decay, beta1, beta2, epsilon, step, gradient_scale: 0.5 };
            adamw(&settings, &mut p, gradient, &mut m, &mut v);
        }
        p
    });
    let mut expected = Vec::new();
    for i in 0..COUNT {
        let (mut p, mut m, mut v) = (f64::from(start[i]), 0.0, 0.0);
        for (t, gradient) in gradients.iter().enumerate() {
            let g = 0.5 * f64::from(gradient[i]);
            p *= 1.0 - learning_rate * weight_decay;
            m = beta1 * m + (1.0 - beta1) * g;
            v = beta2 * v + (1.0 - beta2) * g * g;
            let t = t as i32 + 1;
            let (m_hat, v_hat) = (m / (1.0 - beta1.powi(t)), v / (1.0 - beta2.powi(t)));
            p -= learning_rate * m_hat / (v_hat.sqrt() + epsilon);
        }
        expected.push(p);
    }
    assert_close("adamw", &got, &expected, 2e-6);
}

#[test]
fn the_sum_of_squares_is_accurate_and_reproducible() {
    for count in [0, 1, 15, 300, 200_003] {
        let x = Random::new(count as u64).values(count);
        let expected: f64 = x.iter().map(|&x| f64::from(x).powi(2)).sum();
        let flatten =
            |v: &f64| vec![f32::from_bits((v.to_bits() >> 32) as u32), f32::from_bits(v.to_bits() as u32)];
        let got = same_bits_on_all_pools("sum_of_squares", flatten, || sum_of_squares(&x));
        assert!((got - expected).abs() <= 1e-6 * expected, "{got} {expected}");
    }
}
