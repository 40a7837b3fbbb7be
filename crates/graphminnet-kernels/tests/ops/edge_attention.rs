use crate::common::{Check, Random};
use graphminnet_kernels::edge_attention::{
    EdgeAttention, EdgeAttentionGradients, edge_attention, edge_attention_backward,
};

#[test]
fn edge_attention_agrees_with_the_reference() {
    let mut random = Random::new(21);
    // One row of factors for each pair, one for all, some; the last with scores that are clamped.
    for (nodes, pairs, heads, channels, rows, scale) in [
        (1, 0, 1, 3, 1, 0.5),
        (5, 9, 2, 4, 9, 0.5),
        (40, 900, 4, 8, 1, 0.3),
        (70, 5000, 3, 5, 7, 0.4),
        (6, 60, 2, 8, 4, 9.0),
    ] {
        let sorted = random.edges(nodes, pairs);
        let width = heads * channels;
        let row: Vec<u32> = (0..pairs)
            .map(|pair| if rows == pairs { pair as u32 } else { random.below(rows) as u32 })
            .collect();
        let input = |v: &[Vec<f32>], use_it: &mut dyn FnMut(EdgeAttention<'_>)| {
            use_it(EdgeAttention {
                pairs: sorted.as_edges(),
                rows: &row,
                heads,
                width,
                scale,
                q: &v[0],
                k: &v[1],
                v: &v[2],
                factors: &v[3],
            });
        };
        Check {
            what: format!("edge_attention {nodes} {pairs} {heads} {channels} {rows}"),
            inputs: vec![
                random.values(nodes * width),
                random.values(nodes * width),
                random.values(nodes * width),
                random.values(rows * width),
            ],
            reference: &|x| {
                let mut out = vec![0.0; nodes * (width + heads)];
                for pair in 0..pairs {
                    let edges = sorted.as_edges();
                    let (i, j) = (edges.target[pair] as usize, edges.source[pair] as usize);
                    for t in 0..heads {
                        let at = |c: usize, of: usize| of * width + t * channels + c;
                        let score: f64 = (0..channels)
                            .map(|c| x[0][at(c, i)] * x[1][at(c, j)] * x[3][at(c, row[pair] as usize)])
                            .sum();
                        let weight = (score * f64::from(scale)).clamp(-5.0, 5.0).exp();
                        for c in 0..channels {
                            out[i * (width + heads) + t * channels + c] += weight * x[2][at(c, j)];
                        }
                        out[i * (width + heads) + width + t] += weight;
                    }
                }
                out
            },
            forward: &|v| {
                let mut out = vec![f32::NAN; nodes * (width + heads)];
                input(v, &mut |input| edge_attention(input, &mut out));
                out
            },
            backward: &|v, gradient| {
                let mut out: Vec<Vec<f32>> = v.iter().map(|v| vec![f32::NAN; v.len()]).collect();
                input(v, &mut |input| {
                    let [q, k, v, factors] = out.as_mut_slice() else { unreachable!() };
                    let wanted =
                        EdgeAttentionGradients { q: Some(q), k: Some(k), v: Some(v), factors: Some(factors) };
                    edge_attention_backward(input, gradient, wanted);
                });
                out.into_iter().map(Some).collect()
            },
            tolerance: 1e-5,
        }
        .run();
    }
}
