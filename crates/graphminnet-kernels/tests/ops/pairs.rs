use crate::common::{Check, Random};
use graphminnet_kernels::pair_messages::{
    PairMessages, PairMessagesGradients, pair_messages, pair_messages_backward,
};
use graphminnet_kernels::pair_scores::{PairScores, PairScoresGradients, pair_scores, pair_scores_backward};

const SHAPES: [(usize, usize, usize, usize); 4] =
    [(1, 0, 1, 3), (3, 9, 2, 4), (30, 900, 8, 8), (50, 700, 3, 5)];

#[test]
fn pair_scores_agree_with_the_reference() {
    let mut random = Random::new(22);
    for (nodes, pairs, heads, channels) in SHAPES {
        let sorted = random.edges(nodes, pairs);
        let (width, edges) = (heads * channels, sorted.as_edges());
        let input = |v: &[Vec<f32>], use_it: &mut dyn FnMut(PairScores<'_>)| {
            use_it(PairScores { pairs: sorted.as_edges(), heads, width, q: &v[0], k: &v[1], wb: &v[2] });
        };
        let scores = |v: &[Vec<f32>]| {
            let mut t = vec![f32::NAN; pairs * width];
            input(v, &mut |input| pair_scores(input, &mut t));
            t
        };
        Check {
            what: format!("pair_scores {nodes} {pairs} {heads} {channels}"),
            inputs: vec![
                random.values(nodes * width),
                random.values(nodes * width),
                random.values(2 * pairs * width),
            ],
            reference: &|x| {
                let mut t = Vec::new();
                for pair in 0..pairs {
                    let (i, j) = (edges.target[pair] as usize, edges.source[pair] as usize);
                    for at in 0..width {
                        let (head, c) = (at / channels, at % channels);
                        let wb = &x[2][2 * pair * width + 2 * head * channels..];
                        let product = (x[0][i * width + at] + x[1][j * width + at]) * wb[c];
                        let root = product.max(0.0).sqrt() - (-product).max(0.0).sqrt();
                        t.push((root + wb[channels + c]).max(0.0));
                    }
                }
                t
            },
            forward: &scores,
            backward: &|v, dt| {
                let t = scores(v);
                let mut out: Vec<Vec<f32>> = v.iter().map(|v| vec![f32::NAN; v.len()]).collect();
                input(v, &mut |input| {
                    let [q, k, wb] = out.as_mut_slice() else { unreachable!() };
                    let wanted = PairScoresGradients { q: Some(q), k: Some(k), wb: Some(wb) };
                    pair_scores_backward(input, &t, dt, wanted);
                });
                out.into_iter().map(Some).collect()
            },
            tolerance: 1e-5,
        }
        .run();
    }
}

#[test]
fn a_root_of_zero_has_no_gradient() {
    let sorted = crate::common::SortedEdges::new(1, &[0], &[0]);
    let (q, k, wb) = ([1.0], [-1.0], [2.0, 1.0]);
    let input = PairScores { pairs: sorted.as_edges(), heads: 1, width: 1, q: &q, k: &k, wb: &wb };
    let (mut dq, mut d_wb) = ([f32::NAN], [f32::NAN; 2]);
    let wanted = PairScoresGradients { q: Some(&mut dq), k: None, wb: Some(&mut d_wb) };
    pair_scores_backward(input, &[1.0], &[3.0], wanted);
    assert_eq!((dq, d_wb), ([0.0], [0.0, 3.0]));
}

#[test]
fn pair_messages_agree_with_the_reference() {
    let mut random = Random::new(23);
    for (nodes, pairs, heads, channels) in SHAPES {
        let sorted = random.edges(nodes, pairs);
        let (width, edges) = (heads * channels, sorted.as_edges());
        let input = |v: &[Vec<f32>], use_it: &mut dyn FnMut(PairMessages<'_>)| {
            use_it(PairMessages { pairs: sorted.as_edges(), heads, width, a: &v[0], v: &v[1], e: &v[2] });
        };
        Check {
            what: format!("pair_messages {nodes} {pairs} {heads} {channels}"),
            inputs: vec![
                random.values(pairs * heads),
                random.values(nodes * width),
                random.values(pairs * width),
            ],
            reference: &|x| {
                let mut out = vec![0.0; 2 * nodes * width];
                for pair in 0..pairs {
                    let (i, j) = (edges.target[pair] as usize, edges.source[pair] as usize);
                    for at in 0..width {
                        let weight = x[0][pair * heads + at / channels];
                        out[2 * i * width + at] += weight * x[1][j * width + at];
                        out[(2 * i + 1) * width + at] += weight * x[2][pair * width + at];
                    }
                }
                out
            },
            forward: &|v| {
                let mut out = vec![f32::NAN; 2 * nodes * width];
                input(v, &mut |input| pair_messages(input, &mut out));
                out
            },
            backward: &|v, gradient| {
                let mut out: Vec<Vec<f32>> = v.iter().map(|v| vec![f32::NAN; v.len()]).collect();
                input(v, &mut |input| {
                    let [a, v, e] = out.as_mut_slice() else { unreachable!() };
                    let wanted = PairMessagesGradients { a: Some(a), v: Some(v), e: Some(e) };
                    pair_messages_backward(input, gradient, wanted);
                });
                out.into_iter().map(Some).collect()
            },
            tolerance: 1e-5,
        }
        .run();
    }
}
