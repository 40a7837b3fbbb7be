use crate::common::{Check, Random, offsets};
use graphminnet_kernels::pool::{Pooling, pool, pool_backward};

#[test]
fn pooling_agrees_with_the_reference() {
    for (sizes, width) in
        [(vec![], 3), (vec![0], 4), (vec![1, 0, 5], 7), (vec![30, 2, 0, 41], 36), (vec![1500, 3, 600], 9)]
    {
        for pooling in [Pooling::Sum, Pooling::Mean, Pooling::Max] {
            let nodes: usize = sizes.iter().sum();
            let offsets = offsets(&sizes);
            let mut random = Random::new((nodes + width) as u64);
            let forward = |v: &[Vec<f32>]| {
                let mut y = vec![f32::NAN; sizes.len() * width];
                pool(pooling, &offsets, width, &v[0], &mut y);
                y
            };
            Check {
                what: format!("pool {sizes:?} {width} {pooling:?}"),
                inputs: vec![random.values(nodes * width)],
                reference: &|v| {
                    let mut y = Vec::new();
                    for graph in 0..sizes.len() {
                        for c in 0..width {
                            let rows = offsets[graph] as usize..offsets[graph + 1] as usize;
                            let column: Vec<f64> = rows.map(|u| v[0][u * width + c]).collect();
                            y.push(match pooling {
                                _ if column.is_empty() => 0.0,
                                Pooling::Sum => column.iter().sum(),
                                Pooling::Mean => column.iter().sum::<f64>() / column.len() as f64,
                                Pooling::Max => column.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                            });
                        }
                    }
                    y
                },
                forward: &forward,
                backward: &|v, dy| {
                    let y = forward(v);
                    let mut dx = vec![f32::NAN; v[0].len()];
                    pool_backward(pooling, &offsets, width, Some((&v[0], &y)), dy, &mut dx);
                    vec![Some(dx)]
                },
                tolerance: 3e-6,
            }
            .run();
        }
    }
}

#[test]
fn the_first_of_equal_maxima_gets_the_gradient() {
    let x = [1.0, 3.0, 5.0, 3.0, 5.0, 2.0];
    let mut y = [0.0; 2];
    pool(Pooling::Max, &[0, 3], 2, &x, &mut y);
    assert_eq!(y, [5.0, 3.0]);
    let mut dx = [f32::NAN; 6];
    pool_backward(Pooling::Max, &[0, 3], 2, Some((&x, &y)), &[10.0, 20.0], &mut dx);
    assert_eq!(dx, [0.0, 20.0, 10.0, 0.0, 0.0, 0.0]);
}
