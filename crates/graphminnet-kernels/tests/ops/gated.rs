use crate::common::{Check, Random};
use graphminnet_kernels::edge_gate::{EdgeGateGradients, edge_gate, edge_gate_backward};
use graphminnet_kernels::edges::SortedEdges;
use graphminnet_kernels::gated_aggregate::{
    GatedAggregateSaved, Write, gated_aggregate, gated_aggregate_backward,
};

/// Nodes, edges, width: isolated nodes, self-loops and repeated edges occur by chance.
fn cases() -> Vec<(SortedEdges, usize)> {
    let mut random = Random::new(3);
    [(1, 0, 5), (3, 0, 4), (1, 3, 7), (2, 9, 1), (40, 60, 36), (30, 400, 52), (300, 900, 31), (700, 2500, 16)]
        .map(|(nodes, edges, width)| (random.edges(nodes, edges), width))
        .into()
}

#[test]
fn edge_gate_agrees_with_the_reference() {
    for (sorted, width) in cases() {
        let edges = sorted.as_edges();
        let (num_nodes, num_edges) = (edges.num_nodes, edges.num_edges());
        let mut random = Random::new(width as u64);
        Check {
            what: format!("edge_gate {num_nodes} {num_edges} {width}"),
            inputs: vec![
                random.values(num_edges * width),
                random.values(width * width),
                random.values(width),
                random.values(num_nodes * 2 * width),
            ],
            reference: &|v| {
                let mut gate = Vec::new();
                for edge in 0..num_edges {
                    let (source, target) = (edges.source[edge] as usize, edges.target[edge] as usize);
                    for o in 0..width {
                        let linear: f64 =
                            (0..width).map(|i| v[0][edge * width + i] * v[1][o * width + i]).sum();
                        let d = v[3][target * 2 * width + o];
                        gate.push(linear + v[2][o] + d + v[3][source * 2 * width + width + o]);
                    }
                }
                gate
            },
            forward: &|v| {
                let mut gate = vec![f32::NAN; num_edges * width];
                edge_gate(edges, width, &v[0], &v[1], &v[2], &v[3], &mut gate);
                gate
            },
            backward: &|v, d_gate| {
                let mut gradients: Vec<Vec<f32>> = v.iter().map(|v| vec![f32::NAN; v.len()]).collect();
                let [d_features, d_weight, d_bias, d_de] = &mut gradients[..] else { unreachable!() };
                let wanted = EdgeGateGradients {
                    edge_features: Some(d_features),
                    add_to_edge_features: false,
                    weight: Some(d_weight),
                    bias: Some(d_bias),
                    de: Some(d_de),
                };
                edge_gate_backward(edges, width, &v[0], &v[1], d_gate, wanted);
                let mut added = v[0].clone();
                let wanted = EdgeGateGradients {
                    edge_features: Some(&mut added),
                    add_to_edge_features: true,
                    ..Default::default()
                };
                edge_gate_backward(edges, width, &v[0], &v[1], d_gate, wanted);
                let expected = v[0].iter().zip(&gradients[0]).map(|(before, gradient)| before + gradient);
                assert!(added.iter().copied().eq(expected), "added to what was there");
                gradients.into_iter().map(Some).collect()
            },
            tolerance: 3e-6,
        }
        .run();
    }
}

#[test]
fn gated_aggregate_agrees_with_the_reference() {
    for (sorted, width) in cases() {
        let edges = sorted.as_edges();
        let (num_nodes, num_edges) = (edges.num_nodes, edges.num_edges());
        let mut random = Random::new(width as u64 + 1);
        let gate = random.values(num_edges * width).into_iter().map(|v| v * 4.0).collect();
        let forward = |v: &[Vec<f32>]| {
            let (mut out, mut inverse) =
                (vec![f32::NAN; num_nodes * width], vec![f32::NAN; num_nodes * width]);
            gated_aggregate(edges, width, &v[0], &v[1], &mut out, &mut inverse);
            (out, inverse)
        };
        Check {
            what: format!("gated_aggregate {num_nodes} {num_edges} {width}"),
            inputs: vec![gate, random.values(num_nodes * 2 * width)],
            reference: &|v| {
                let mut out = Vec::new();
                for node in 0..num_nodes {
                    for c in 0..width {
                        let (mut numerator, mut denominator) = (0.0, 1e-6);
                        for edge in (0..num_edges).filter(|&edge| edges.target[edge] as usize == node) {
                            let open = 1.0 / (1.0 + (-v[0][edge * width + c]).exp());
                            numerator += open * v[1][edges.source[edge] as usize * 2 * width + width + c];
                            denominator += open;
                        }
                        out.push(v[1][node * 2 * width + c] + numerator / denominator);
                    }
                }
                out
            },
            forward: &|v| forward(v).0,
            backward: &|v, d_out| {
                let (out, inverse) = forward(v);
                let saved = GatedAggregateSaved { gate: &v[0], ab: &v[1], out: &out, inverse: &inverse };
                let (mut d_gate, mut d_ab) = (vec![f32::NAN; v[0].len()], vec![f32::NAN; v[1].len()]);
                let wanted = Some((&mut d_gate[..], Write::Overwrite));
                gated_aggregate_backward(edges, width, saved, d_out, wanted, Some(&mut d_ab));
                let mut sum = vec![1.0; d_gate.len()];
                let wanted = Some((&mut sum[..], Write::Accumulate));
                gated_aggregate_backward(edges, width, saved, d_out, wanted, None);
                assert!(sum.iter().zip(&d_gate).all(|(sum, d)| *sum == 1.0 + d));
                vec![Some(d_gate), Some(d_ab)]
            },
            tolerance: 4e-6,
        }
        .run();
    }
}
