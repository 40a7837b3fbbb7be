use crate::common::{Check, Random};
use graphminnet_kernels::batch_norm::{NORM_EPSILON, NormGradients};
use graphminnet_kernels::bound_rows::{Bound, RMS_EPSILON, SMALLEST_NORM, bound_rows, bound_rows_backward};
use graphminnet_kernels::edge_attention::LARGEST_SCORE;
use graphminnet_kernels::edges::group_by;
use graphminnet_kernels::embedding_sum::{Lookup, embedding_sum, embedding_sum_backward};
use graphminnet_kernels::gated_convolution::DENOMINATOR_EPSILON;
use graphminnet_kernels::gather_rows::{Groups, gather_rows, segment_sum};
use graphminnet_kernels::layer_norm_silu::{layer_norm_silu, layer_norm_silu_backward};

#[test]
fn bound_rows_agrees_with_the_reference() {
    for (rows, width) in [(1, 2), (0, 3), (7, 5), (50, 36), (600, 100), (3, 31)] {
        for bound in [Bound::Rms, Bound::Ball, Bound::Unit] {
            let mut random = Random::new((rows * width) as u64);
            // Rows of every length, so that the ball binds for some and not for others.
            let mut x = random.values(rows * width);
            for (row, x) in x.chunks_mut(width).enumerate() {
                x.iter_mut().for_each(|x| *x *= 0.3 + (row % 5) as f32);
            }
            Check {
                what: format!("bound_rows {rows}x{width} {bound:?}"),
                inputs: vec![x],
                reference: &|v| {
                    let mut y = Vec::new();
                    for x in v[0].chunks(width) {
                        let square: f64 = x.iter().map(|x| x * x).sum();
                        let rms = (square / width as f64 + 1e-6).sqrt();
                        let divisor = match bound {
                            Bound::Rms => rms,
                            Bound::Ball => rms.max(1.0),
                            Bound::Unit => square.sqrt().max(1e-12),
                        };
                        y.extend(x.iter().map(|x| x / divisor));
                    }
                    y
                },
                forward: &|v| {
                    let mut y = vec![f32::NAN; v[0].len()];
                    bound_rows(bound, width, &v[0], &mut y);
                    y
                },
                backward: &|v, dy| {
                    let mut dx = vec![f32::NAN; v[0].len()];
                    bound_rows_backward(bound, width, &v[0], dy, &mut dx);
                    vec![Some(dx)]
                },
                tolerance: 4e-6,
            }
            .run();
        }
    }
}

#[test]
fn rows_of_zeros_stay_zero_and_finite() {
    let (mut y, mut dx) = ([f32::NAN; 4], [f32::NAN; 4]);
    bound_rows(Bound::Unit, 4, &[0.0; 4], &mut y);
    assert_eq!(y, [0.0; 4]);
    bound_rows_backward(Bound::Unit, 4, &[0.0; 4], &[0.0, 1e-14, 0.0, 0.0], &mut dx);
    assert!(dx.iter().all(|v| v.is_finite()) && dx[1] > 0.0);
    bound_rows(Bound::Rms, 4, &[0.0; 4], &mut y);
    assert_eq!(y, [0.0; 4]);
}

#[test]
fn rows_whose_squares_are_infinite_keep_their_direction() {
    for (bound, expected) in [(Bound::Rms, 1.0), (Bound::Ball, 1.0), (Bound::Unit, 0.5)] {
        let mut y = [f32::NAN; 4];
        bound_rows(bound, 4, &[2e30, -2e30, 2e30, 2e30], &mut y);
        assert_eq!(y, [expected, -expected, expected, expected], "{bound:?}");
        bound_rows(bound, 4, &[1.0, f32::INFINITY, 0.0, 2.0], &mut y);
        assert!(y[1].is_nan(), "{bound:?}: an infinite number has no direction: {y:?}");
    }
}

#[test]
fn layer_norm_silu_agrees_with_the_reference() {
    for (rows, width) in [(0, 4), (3, 5), (70, 32), (600, 31), (9, 100)] {
        let mut random = Random::new((rows * width + 1) as u64);
        Check {
            what: format!("layer_norm_silu {rows}x{width}"),
            inputs: vec![random.values(rows * width), random.values(width), random.values(width)],
            reference: &|v| {
                let mut y = Vec::new();
                for x in v[0].chunks(width) {
                    let mean = x.iter().sum::<f64>() / width as f64;
                    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
                    for c in 0..width {
                        let a = (x[c] - mean) / (variance + 1e-5).sqrt() * v[1][c] + v[2][c];
                        y.push(a / (1.0 + (-a).exp()));
                    }
                }
                y
            },
            forward: &|v| {
                let mut y = vec![f32::NAN; v[0].len()];
                layer_norm_silu(&v[0], &v[1], &v[2], &mut y);
                y
            },
            backward: &|v, dy| {
                let mut gradients: Vec<Vec<f32>> = v.iter().map(|v| vec![f32::NAN; v.len()]).collect();
                let [input, gamma, beta] = &mut gradients[..] else { unreachable!() };
                let wanted = NormGradients { input: Some(input), gamma: Some(gamma), beta: Some(beta) };
                layer_norm_silu_backward(&v[0], &v[1], &v[2], dy, wanted);
                gradients.into_iter().map(Some).collect()
            },
            tolerance: 1e-5,
        }
        .run();
    }
}

#[test]
fn gathering_and_summing_by_group_are_transposes() {
    let mut random = Random::new(12);
    for (rows, picks, width) in [(1, 0, 3), (5, 1, 1), (9, 60, 31), (300, 2000, 36)] {
        let index: Vec<u32> = (0..picks).map(|_| random.below(rows) as u32).collect();
        let (offsets, members) = group_by(rows, &index);
        let groups = Groups { offsets: &offsets, members: Some(&members) };
        Check {
            what: format!("gather_rows {rows} {picks} {width}"),
            inputs: vec![random.values(rows * width)],
            reference: &|v| {
                index.iter().flat_map(|&row| v[0][row as usize * width..][..width].to_vec()).collect()
            },
            forward: &|v| {
                let mut out = vec![f32::NAN; picks * width];
                gather_rows(width, &v[0], &index, &mut out);
                out
            },
            backward: &|v, d_out| {
                let mut dx = vec![f32::NAN; v[0].len()];
                segment_sum(width, groups, d_out, &mut dx);
                vec![Some(dx)]
            },
            tolerance: 2e-6,
        }
        .run();
        let ordered: Vec<f32> = random.values(picks * width);
        let contiguous = Groups { offsets: &offsets, members: None };
        let mut out = vec![f32::NAN; rows * width];
        segment_sum(width, contiguous, &ordered, &mut out);
        for row in 0..rows {
            for c in 0..width {
                let range = offsets[row] as usize..offsets[row + 1] as usize;
                let expected: f32 = range.map(|i| ordered[i * width + c]).sum();
                assert!((out[row * width + c] - expected).abs() < 1e-5);
            }
        }
    }
}

#[test]
fn embedding_sum_agrees_with_the_reference() {
    let mut random = Random::new(13);
    for (rows, vocabularies, width) in [
        (1, vec![1], 3),
        (0, vec![4], 2),
        (50, vec![9, 2, 5], 36),
        (5000, vec![21], 31),
        (3000, vec![11, 6, 2, 2], 84),
    ] {
        let mut first_row = vec![0u32];
        vocabularies.iter().for_each(|v| first_row.push(first_row[first_row.len() - 1] + *v as u32));
        let total = first_row.pop().unwrap() as usize;
        let index: Vec<u32> = (0..rows)
            .flat_map(|_| vocabularies.iter().map(|&v| random.below(v) as u32).collect::<Vec<_>>())
            .collect();
        let lookup = Lookup { first_row: &first_row, index: &index };
        Check {
            what: format!("embedding_sum {rows} {vocabularies:?} {width}"),
            inputs: vec![random.values(total * width)],
            reference: &|v| {
                let mut out = vec![0.0; rows * width];
                for (i, &row) in index.iter().enumerate() {
                    let (u, t) = (i / vocabularies.len(), i % vocabularies.len());
                    for c in 0..width {
                        out[u * width + c] += v[0][(first_row[t] + row) as usize * width + c];
                    }
                }
                out
            },
            forward: &|v| {
                let mut out = vec![f32::NAN; rows * width];
                embedding_sum(lookup, width, &v[0], &mut out);
                out
            },
            backward: &|v, d_out| {
                let mut d_tables = vec![f32::NAN; v[0].len()];
                embedding_sum_backward(lookup, width, d_out, &mut d_tables);
                vec![Some(d_tables)]
            },
            tolerance: 5e-6,
        }
        .run();
    }
}

#[test]
fn constants_in_single_precision_are_the_nearest_numbers() {
    for (found, expected) in [
        (NORM_EPSILON, 1e-5f32),
        (DENOMINATOR_EPSILON, 1e-6),
        (RMS_EPSILON, 1e-6),
        (SMALLEST_NORM, 1e-12),
        (1.0 / SMALLEST_NORM, 1e12),
        (LARGEST_SCORE, 5.0),
    ] {
        assert_eq!((found as f32).to_bits(), expected.to_bits(), "{found}");
    }
}
