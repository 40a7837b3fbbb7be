use crate::common::{Check, Random, offsets, same_bits_on_all_pools};
use graphminnet_kernels::spectral_product::{
    Order, SpectralGradients, SpectralInputs, spectral_product, spectral_product_backward,
    spectral_product_backward_with, spectral_product_with,
};

/// `s` from the definition: codes of all nodes, their sum per graph, inner products.
fn reference(sizes: &[usize], d: usize, m: usize, l: usize, v: &[Vec<f64>]) -> Vec<f64> {
    let (w, p, f, b) = (&v[0], &v[1], &v[2], &v[3]);
    let mut s = Vec::new();
    let mut first = 0;
    for (graph, &size) in sizes.iter().enumerate() {
        let code = |node: usize, k: usize, i: usize| -> f64 {
            let sum: f64 = (0..d).map(|j| b[k * d + j] * f[(graph * m + i) * d + j] * w[node * d + j]).sum();
            p[node * m + i] * sum
        };
        let mut total = vec![0.0; l * m];
        let mut codes = vec![0.0; size * l * m];
        for node in 0..size {
            for k in 0..l {
                for i in 0..m {
                    let value = code(first + node, k, i);
                    codes[(node * l + k) * m + i] = value;
                    total[k * m + i] += value;
                }
            }
        }
        for node in 0..size {
            for k in 0..l {
                s.push((0..m).map(|i| codes[(node * l + k) * m + i] * total[k * m + i]).sum());
            }
        }
        first += size;
    }
    s
}

fn check(sizes: &[usize], d: usize, m: usize, l: usize, order: Order) {
    let nodes: usize = sizes.iter().sum();
    let offsets = offsets(sizes);
    let mut random = Random::new((nodes * l + m) as u64);
    let inputs = |v: &'_ [Vec<f32>]| -> SpectralInputs<'static> {
        // The test keeps the vectors alive; leaking copies keeps the signature simple.
        let leak = |v: &[f32]| -> &'static [f32] { Box::leak(v.to_vec().into_boxed_slice()) };
        SpectralInputs {
            offsets: Box::leak(offsets.clone().into_boxed_slice()),
            channels: d,
            eigenpairs: m,
            hidden: l,
            w: leak(&v[0]),
            p: leak(&v[1]),
            f: leak(&v[2]),
            b: leak(&v[3]),
            others: None,
        }
    };
    Check {
        what: format!("spectral_product {sizes:?} D{d} M{m} l{l} {order:?}"),
        inputs: vec![
            random.values(nodes * d),
            random.values(nodes * m),
            random.values(sizes.len() * m * d),
            random.values(l * d),
        ],
        reference: &|v| reference(sizes, d, m, l, v),
        forward: &|v| {
            let mut s = vec![f32::NAN; nodes * l];
            spectral_product_with(inputs(v), order, &mut s);
            s
        },
        backward: &|v, ds| {
            let mut gradients: Vec<Vec<f32>> = v.iter().map(|v| vec![f32::NAN; v.len()]).collect();
            let [w, p, f, b] = &mut gradients[..] else { unreachable!() };
            let wanted = SpectralGradients { w: Some(w), p: Some(p), f: Some(f), b: Some(b) };
            spectral_product_backward(inputs(v), ds, wanted);
            // Eigenvectors are constants in training, and other orders are open then.
            let mut others: Vec<Vec<f32>> = v.iter().map(|v| vec![f32::NAN; v.len()]).collect();
            let [w, _, f, b] = &mut others[..] else { unreachable!() };
            let wanted = SpectralGradients { w: Some(w), p: None, f: Some(f), b: Some(b) };
            spectral_product_backward_with(inputs(v), order, ds, wanted);
            let mut alone = vec![f32::NAN; v[0].len()];
            let wanted = SpectralGradients { w: Some(&mut alone), ..Default::default() };
            spectral_product_backward_with(inputs(v), order, ds, wanted);
            assert!(alone == others[0], "dw alone differs");
            others[1] = gradients.swap_remove(1);
            others.into_iter().map(Some).collect()
        },
        tolerance: 5e-6,
    }
    .run();
}

#[test]
fn values_and_gradients_agree_with_the_definition_in_every_order() {
    for order in [Order::ThroughQ, Order::Direct, Order::ThroughPairs, Order::Cheapest] {
        check(&[1], 1, 1, 1, order);
        check(&[3, 0, 5], 4, 3, 7, order);
        check(&[0, 0], 4, 3, 7, order);
        check(&[], 4, 3, 7, order);
        check(&[9, 30, 1, 14], 32, 16, 36, order);
        check(&[40, 11], 20, 9, 17, order);
        check(&[25, 0, 13], 33, 5, 100, order);
        check(&[7, 2], 32, 31, 52, order);
        check(&[6, 2], 32, 0, 5, order);
        check(&[300], 8, 3, 6, order);
        check(&[5, 0, 300], 32, 3, 5, order);
        check(&[4, 3], 64, 17, 3, order);
    }
}

#[test]
fn large_graphs_are_shared_between_threads() {
    check(&[10, 1500, 1100], 3, 2, 5, Order::Cheapest);
    check(&[2100], 16, 2, 4, Order::ThroughQ);
    check(&[1030, 7, 1200], 32, 2, 3, Order::ThroughPairs);
}

#[test]
fn very_large_graphs_give_the_same_bits_on_all_pools() {
    let (nodes, d, m, l) = (70_000, 8, 3, 9);
    let mut random = Random::new(2);
    let (w, p) = (random.values(nodes * d), random.values(nodes * m));
    let (f, b, ds) = (random.values(m * d), random.values(l * d), random.values(nodes * l));
    let offsets = offsets(&[nodes]);
    let inputs = SpectralInputs {
        offsets: &offsets,
        channels: d,
        eigenpairs: m,
        hidden: l,
        w: &w,
        p: &p,
        f: &f,
        b: &b,
        others: None,
    };
    same_bits_on_all_pools("large graph", Vec::clone, || {
        let mut s = vec![f32::NAN; nodes * l];
        spectral_product(inputs, &mut s);
        let (mut dw, mut dp, mut df, mut db) = (w.clone(), p.clone(), f.clone(), b.clone());
        let wanted =
            SpectralGradients { w: Some(&mut dw), p: Some(&mut dp), f: Some(&mut df), b: Some(&mut db) };
        spectral_product_backward(inputs, &ds, wanted);
        [s, dw, dp, df, db].concat()
    });
}

#[test]
#[should_panic(expected = "offsets descend")]
fn graphs_that_overlap_are_refused() {
    let (channels, eigenpairs, hidden) = (1, 1, 1);
    let (offsets, rows, of_graphs) = (&[0, 4, 2, 5], &[1.0; 5], &[1.0; 3]);
    let inputs = SpectralInputs {
        offsets,
        channels,
        eigenpairs,
        hidden,
        w: rows,
        p: rows,
        f: of_graphs,
        b: &[1.0],
        others: None,
    };
    spectral_product(inputs, &mut [0.0; 5]);
}
