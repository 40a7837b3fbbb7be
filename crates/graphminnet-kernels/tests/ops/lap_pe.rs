use crate::common::{Check, Random, offsets};
use graphminnet_kernels::lap_pe::{LapPe, LapPeGradients, lap_pe, lap_pe_backward};

fn check(sizes: &[usize], pairs: usize, hidden: usize, width: usize) {
    let (nodes, graphs): (usize, usize) = (sizes.iter().sum(), sizes.len());
    let offsets = offsets(sizes);
    let mut random = Random::new((nodes + pairs * hidden) as u64);
    let exist: Vec<f32> = (0..graphs * pairs).map(|i| if i % 5 == 3 { 0.0 } else { 1.0 }).collect();
    let signs: Vec<f32> = (0..pairs).map(|i| if i % 3 == 1 { -1.0 } else { 1.0 }).collect();
    Check {
        what: format!("lap_pe {sizes:?} K{pairs} H{hidden} P{width}"),
        inputs: vec![
            random.values(nodes * pairs),
            random.values(graphs * pairs),
            random.values(hidden * 2),
            random.values(hidden),
            random.values(width * hidden),
            random.values(width),
        ],
        reference: &|v| {
            let mut out = Vec::new();
            for graph in 0..graphs {
                for u in offsets[graph] as usize..offsets[graph + 1] as usize {
                    let mut row = vec![0.0; width];
                    for i in (0..pairs).filter(|i| exist[graph * pairs + i] != 0.0) {
                        let (entry, eigval) =
                            (f64::from(signs[i]) * v[0][u * pairs + i], v[1][graph * pairs + i]);
                        let h: Vec<f64> = (0..hidden)
                            .map(|h| (v[2][2 * h] * entry + v[2][2 * h + 1] * eigval + v[3][h]).max(0.0))
                            .collect();
                        for c in 0..width {
                            let sum: f64 = (0..hidden).map(|k| v[4][c * hidden + k] * h[k]).sum();
                            row[c] += (sum + v[5][c]).max(0.0);
                        }
                    }
                    out.extend(row);
                }
            }
            out
        },
        forward: &|v| {
            let mut out = vec![f32::NAN; nodes * width];
            lap_pe(inputs(&offsets, &exist, &signs, v), &mut out);
            out
        },
        backward: &|v, d_out| {
            let mut gradients: Vec<Vec<f32>> = v.iter().map(|v| vec![f32::NAN; v.len()]).collect();
            let [eigvecs, eigvals, w1, b1, w2, b2] = &mut gradients[..] else { unreachable!() };
            let wanted = LapPeGradients {
                w1: Some(w1),
                b1: Some(b1),
                w2: Some(w2),
                b2: Some(b2),
                eigvecs: Some(eigvecs),
                eigvals: Some(eigvals),
            };
            lap_pe_backward(inputs(&offsets, &exist, &signs, v), d_out, wanted);
            gradients.into_iter().map(Some).collect()
        },
        tolerance: 4e-6,
    }
    .run();
}

fn inputs<'a>(offsets: &'a [u32], exist: &'a [f32], signs: &'a [f32], v: &'a [Vec<f32>]) -> LapPe<'a> {
    LapPe {
        offsets,
        eigvecs: &v[0],
        eigvals: &v[1],
        exist,
        signs,
        w1: &v[2],
        b1: &v[3],
        w2: &v[4],
        b2: &v[5],
    }
}

#[test]
fn values_and_gradients_agree_with_the_reference() {
    check(&[1], 1, 1, 1);
    check(&[], 4, 8, 4);
    check(&[5, 0, 3], 6, 10, 5);
    check(&[40, 11], 33, 32, 16);
    check(&[250, 7], 9, 36, 18);
    check(&[3], 4, 64, 32);
}

#[test]
fn a_network_without_channels_leaves_no_gradient_unwritten() {
    check(&[5, 0, 3], 6, 10, 0);
    check(&[5, 0, 3], 6, 0, 5);
    check(&[5, 0, 3], 6, 0, 0);
    check(&[5, 0, 3], 0, 10, 5);
}
