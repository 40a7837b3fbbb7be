use crate::common::{Check, Random, offsets};
use graphminnet_kernels::gate_product::{
    GateProductGradients, SelfTerm, gate_product, gate_product_backward,
};
use graphminnet_kernels::weighted_squares::{weighted_squares, weighted_squares_backward};

#[test]
fn gate_product_agrees_with_the_reference() {
    for (nodes, width) in [(1, 1), (0, 5), (3, 7), (100, 36), (700, 100)] {
        for with_self in [false, true] {
            let mut random = Random::new((nodes + width) as u64);
            let term = |v: &'_ [Vec<f32>]| with_self.then(|| (v[2].clone(), v[3][0]));
            let beta = if with_self { 0.7 } else { 1.0 };
            Check {
                what: format!("gate_product {nodes}x{width} {with_self}"),
                inputs: vec![
                    random.values(nodes * 2 * width),
                    random.values(nodes * width),
                    random.values(nodes),
                    vec![beta],
                ],
                reference: &|v| {
                    let mut out = Vec::new();
                    for u in 0..nodes {
                        for c in 0..width {
                            let (z, h) = (v[0][u * 2 * width + c], v[0][u * 2 * width + width + c]);
                            let s = v[1][u * width + c];
                            let mixed = if with_self { v[3][0] * s + (2.0 - v[3][0]) * v[2][u] } else { s };
                            out.push(h * mixed / (1.0 + (-z).exp()));
                        }
                    }
                    out
                },
                forward: &|v| {
                    let mut out = vec![f32::NAN; nodes * width];
                    let term = term(v);
                    let term = term.as_ref().map(|(q, beta)| SelfTerm { q, beta: *beta });
                    gate_product(width, &v[0], &v[1], term, &mut out);
                    out
                },
                backward: &|v, d_out| {
                    let term = term(v);
                    let term = term.as_ref().map(|(q, beta)| SelfTerm { q, beta: *beta });
                    let (mut zh, mut s) = (vec![f32::NAN; v[0].len()], vec![f32::NAN; v[1].len()]);
                    let (mut q, mut beta) = (vec![f32::NAN; nodes], f32::NAN);
                    let wanted = GateProductGradients {
                        zh: Some(&mut zh),
                        s: Some(&mut s),
                        q: with_self.then_some(&mut q[..]),
                        beta: with_self.then_some(&mut beta),
                    };
                    gate_product_backward(width, &v[0], &v[1], term, d_out, wanted);
                    let own = with_self.then_some((q, vec![beta]));
                    let (q, beta) = own.unzip();
                    vec![Some(zh), Some(s), q, beta]
                },
                tolerance: 3e-6,
            }
            .run();
        }
    }
}

#[test]
fn weighted_squares_agrees_with_the_reference() {
    for (sizes, m) in
        [(vec![1], 1), (vec![], 4), (vec![3, 0, 7], 16), (vec![40, 1, 90], 31), (vec![2500, 3], 5)]
    {
        let nodes: usize = sizes.iter().sum();
        let offsets = offsets(&sizes);
        let mut random = Random::new((nodes + m) as u64);
        Check {
            what: format!("weighted_squares {sizes:?} {m}"),
            inputs: vec![random.values(nodes * m), random.values(sizes.len() * m)],
            reference: &|v| {
                let mut q = Vec::new();
                for graph in 0..sizes.len() {
                    for u in offsets[graph] as usize..offsets[graph + 1] as usize {
                        q.push((0..m).map(|i| v[0][u * m + i].powi(2) * v[1][graph * m + i]).sum());
                    }
                }
                q
            },
            forward: &|v| {
                let mut q = vec![f32::NAN; nodes];
                weighted_squares(&offsets, m, &v[0], &v[1], &mut q);
                q
            },
            backward: &|v, dq| {
                let (mut dp, mut d_kappa) = (vec![f32::NAN; v[0].len()], vec![f32::NAN; v[1].len()]);
                weighted_squares_backward(&offsets, m, &v[0], &v[1], dq, Some(&mut d_kappa), Some(&mut dp));
                vec![Some(dp), Some(d_kappa)]
            },
            tolerance: 3e-6,
        }
        .run();
    }
}
