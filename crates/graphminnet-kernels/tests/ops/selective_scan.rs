use crate::common::{Check, Random, offsets};
use graphminnet_kernels::selective_scan::{
    STEPS, SelectiveScan, SelectiveScanGradients, selective_scan, selective_scan_backward,
};

#[test]
fn selective_scan_agrees_with_the_reference() {
    let mut random = Random::new(24);
    // Sequences that are empty, shorter and longer than what lies between two kept states.
    for (sizes, channels, states) in [
        (vec![], 4, 3),
        (vec![1], 3, 2),
        (vec![5, 0, 3], 8, 3),
        (vec![STEPS, 2 * STEPS + 7, 1], 5, 4),
        (vec![30, 20], 40, 16),
    ] {
        let rows: usize = sizes.iter().sum();
        let offsets = offsets(&sizes);
        let input = |v: &[Vec<f32>], use_it: &mut dyn FnMut(SelectiveScan<'_>)| {
            use_it(SelectiveScan {
                offsets: &offsets,
                channels,
                states,
                u: &v[0],
                delta: &v[1],
                a: &v[2],
                b: &v[3],
                c: &v[4],
            });
        };
        // Steps are positive and rates negative, so that states stay bounded.
        let positive = |values: Vec<f32>| values.into_iter().map(f32::abs).collect::<Vec<_>>();
        let negative =
            |values: Vec<f32>| values.into_iter().map(|value| -2.0 * value.abs()).collect::<Vec<_>>();
        Check {
            what: format!("selective_scan {sizes:?} {channels} {states}"),
            inputs: vec![
                random.values(rows * channels),
                positive(random.values(rows * channels)),
                negative(random.values(channels * states)),
                random.values(rows * states),
                random.values(rows * states),
            ],
            reference: &|x| {
                let mut y = vec![0.0; rows * channels];
                for range in offsets.windows(2) {
                    let mut state = vec![0.0; channels * states];
                    for row in range[0] as usize..range[1] as usize {
                        for i in 0..channels {
                            let at = row * channels + i;
                            for n in 0..states {
                                let (decay, push) = (x[1][at] * x[2][i * states + n], x[1][at] * x[0][at]);
                                let state = &mut state[i * states + n];
                                *state = decay.exp() * *state + push * x[3][row * states + n];
                                y[at] += *state * x[4][row * states + n];
                            }
                        }
                    }
                }
                y
            },
            forward: &|v| {
                let mut y = vec![f32::NAN; rows * channels];
                input(v, &mut |input| selective_scan(input, &mut y));
                y
            },
            backward: &|v, dy| {
                let mut out: Vec<Vec<f32>> = v.iter().map(|v| vec![f32::NAN; v.len()]).collect();
                input(v, &mut |input| {
                    let [u, delta, a, b, c] = out.as_mut_slice() else { unreachable!() };
                    selective_scan_backward(input, dy, SelectiveScanGradients { u, delta, a, b, c });
                });
                out.into_iter().map(Some).collect()
            },
            tolerance: 1e-5,
        }
        .run();
    }
}

#[test]
#[should_panic(expected = "offsets descend")]
fn sequences_that_overlap_are_refused() {
    let (offsets, rows) = (&[0, 4, 2, 5], &[1.0; 5]);
    let (channels, states) = (1, 1);
    let input =
        SelectiveScan { offsets, channels, states, u: rows, delta: rows, a: &[1.0], b: rows, c: rows };
    selective_scan(input, &mut [0.0; 5]);
}
