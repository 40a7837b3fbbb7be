use crate::common::{Check, Random};
use graphminnet_kernels::full_attention::{FullAttention, full_attention, full_attention_backward};

#[test]
fn full_attention_agrees_with_the_reference() {
    let mut random = Random::new(22);
    // Graphs without nodes, of one node, of several blocks of queries; the last with weights near 0 and 1.
    for (sizes, heads, channels, scale) in [
        (vec![], 1, 2, 1.0),
        (vec![0, 1, 0], 2, 3, 0.5),
        (vec![5, 2, 9], 2, 4, 0.5),
        (vec![23, 1, 37], 4, 16, 0.25),
        (vec![130, 7], 4, 25, 0.2),
        (vec![700], 1, 5, 0.4),
        (vec![6, 11], 2, 8, 9.0),
    ] {
        let width = heads * channels;
        let mut offsets = vec![0u32];
        for size in &sizes {
            offsets.push(offsets[offsets.len() - 1] + size);
        }
        let nodes = offsets[sizes.len()] as usize;
        let offsets = &offsets[..];
        Check {
            what: format!("full_attention {sizes:?} {heads} {channels}"),
            inputs: vec![random.values(nodes * 3 * width)],
            reference: &|x| {
                let mut out = vec![0.0; nodes * width];
                let at =
                    |node: usize, part: usize, column: usize| x[0][node * 3 * width + part * width + column];
                for graph in offsets.windows(2) {
                    let members = graph[0] as usize..graph[1] as usize;
                    for (i, t) in members.clone().flat_map(|i| (0..heads).map(move |t| (i, t))) {
                        let columns = t * channels..(t + 1) * channels;
                        let scores: Vec<f64> = members
                            .clone()
                            .map(|j| {
                                columns.clone().map(|c| at(i, 0, c) * at(j, 1, c)).sum::<f64>()
                                    * f64::from(scale)
                            })
                            .collect();
                        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                        let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
                        let total: f64 = weights.iter().sum();
                        for (j, weight) in members.clone().zip(weights) {
                            for c in columns.clone() {
                                out[i * width + c] += weight / total * at(j, 2, c);
                            }
                        }
                    }
                }
                out
            },
            forward: &|v| {
                let mut out = vec![f32::NAN; nodes * width];
                full_attention(FullAttention { offsets, heads, width, scale, qkv: &v[0] }, &mut out);
                out
            },
            backward: &|v, gradient| {
                let mut d_qkv = vec![f32::NAN; v[0].len()];
                let input = FullAttention { offsets, heads, width, scale, qkv: &v[0] };
                full_attention_backward(input, gradient, &mut d_qkv);
                vec![Some(d_qkv)]
            },
            tolerance: 1e-5,
        }
        .run();
    }
}
