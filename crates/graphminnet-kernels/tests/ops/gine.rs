use crate::common::{Check, Random};
use graphminnet_kernels::gine_aggregate::{gine_aggregate, gine_aggregate_backward};

#[test]
fn gine_aggregate_agrees_with_the_reference() {
    let mut random = Random::new(8);
    for (num_nodes, num_edges, width) in
        [(1, 0, 4), (5, 0, 3), (1, 4, 5), (3, 40, 64), (60, 100, 31), (500, 3000, 36)]
    {
        let sorted = random.edges(num_nodes, num_edges);
        let edges = sorted.as_edges();
        Check {
            what: format!("gine_aggregate {num_nodes} {num_edges} {width}"),
            inputs: vec![random.values(num_nodes * width), random.values(num_edges * width)],
            reference: &|v| {
                let mut y = v[0].clone();
                for edge in 0..num_edges {
                    let (source, target) = (edges.source[edge] as usize, edges.target[edge] as usize);
                    for c in 0..width {
                        y[target * width + c] += (v[0][source * width + c] + v[1][edge * width + c]).max(0.0);
                    }
                }
                y
            },
            forward: &|v| {
                let mut y = vec![f32::NAN; num_nodes * width];
                gine_aggregate(edges, width, &v[0], &v[1], &mut y);
                y
            },
            backward: &|v, dy| {
                let (mut dx, mut de) = (vec![f32::NAN; v[0].len()], vec![f32::NAN; v[1].len()]);
                gine_aggregate_backward(edges, width, &v[0], &v[1], dy, Some(&mut dx), Some(&mut de));
                vec![Some(dx), Some(de)]
            },
            tolerance: 2e-6,
        }
        .run();
    }
}
