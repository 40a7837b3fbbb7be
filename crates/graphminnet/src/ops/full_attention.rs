//! Attention between all nodes of a graph, in heads.
//!
//! ```text
//! y_i[t,c] = Σ_j softmax_j( Σ_c q_i[t,c]·k_j[t,c] / √channels )·v_j[t,c]          nodes i, j of one graph, head t
//! ```

use super::engine::{self, Array, Kernel};
use super::{RowIndex, Structure, gather_rows, sum_rows};
use burn::tensor::{Device, Tensor, TensorData, activation};
use graphminnet_kernels::full_attention as kernels;
use std::ops::Range;
use std::sync::Arc;

/// Weighted means of the values, one for every node: `[nodes, 3·l] → [nodes, l]`.
///
/// `qkv` has queries, keys and values side by side, each head by head; `heads` divides `l`. The kernel holds the scores of a few
/// nodes at a time; the generic body those of some graphs.
pub fn full_attention(qkv: Tensor<2>, heads: usize, structure: &Arc<Structure>) -> Tensor<2> {
    if !engine::on_cpu(&qkv.device()) {
        return generic(qkv, heads, structure);
    }
    engine::run(Fused { heads, structure: structure.clone() }, [qkv.into()])
}

/// The kernel; operand `qkv`.
#[derive(Debug, Clone)]
struct Fused {
    heads: usize,
    structure: Arc<Structure>,
}

impl Fused {
    fn input<'a>(&'a self, qkv: &'a Array) -> kernels::FullAttention<'a> {
        let width = qkv.dim(1) / 3;
        kernels::FullAttention {
            offsets: self.structure.node_offsets(),
            heads: self.heads,
            width,
            scale: 1.0 / ((width / self.heads) as f32).sqrt(),
            qkv: qkv.values(),
        }
    }
}

impl Kernel<1> for Fused {
    type Saved = Array;

    fn forward(&self, [qkv]: &[Array; 1], keep: bool) -> (Array, Option<Self::Saved>) {
        let shape = [qkv.dim(0), qkv.dim(1) / 3];
        let output = Array::written(shape, |out| kernels::full_attention(self.input(qkv), out));
        (output, keep.then(|| qkv.clone()))
    }

    fn backward(&self, qkv: Self::Saved, gradient: Array, _: [bool; 1]) -> [Option<Array>; 1] {
        let shape = [qkv.dim(0), qkv.dim(1)];
        let d_qkv = Array::written(shape, |out| {
            kernels::full_attention_backward(self.input(&qkv), gradient.values(), out);
        });
        [Some(d_qkv)]
    }
}

/// Scores per head that a group of graphs may have together; a larger graph stands alone.
const GROUP_SCORES: usize = 1 << 22;

/// Added to the scores of padding: its weight is exactly zero.
const MASKED: f32 = -1e30;

/// Graphs are padded to equal length in groups of bounded size, so that memory does not grow with the square of the batch.
fn generic(qkv: Tensor<2>, heads: usize, structure: &Structure) -> Tensor<2> {
    let mixed: Vec<Tensor<2>> = groups(structure.node_offsets())
        .into_iter()
        .map(|group| attend(qkv.clone(), heads, &structure.node_offsets()[group.start..=group.end]))
        .collect();
    if mixed.is_empty() {
        let [nodes, triple] = qkv.dims();
        return Tensor::zeros([nodes, triple / 3], &qkv.device());
    }
    Tensor::cat(mixed, 0)
}

/// The graphs between `offsets`: `[nodes of all graphs, 3·l] → [nodes of these graphs, l]`.
fn attend(qkv: Tensor<2>, heads: usize, offsets: &[u32]) -> Tensor<2> {
    let [_, triple] = qkv.dims();
    let (hidden, device) = (triple / 3, qkv.device());
    let width = hidden / heads;
    let sizes: Vec<usize> = offsets.windows(2).map(|range| (range[1] - range[0]) as usize).collect();
    let (graphs, longest) = (sizes.len(), sizes.iter().copied().max().unwrap_or(0));
    let (first, count) = (offsets[0] as usize, sizes.iter().sum());
    let places = places(&sizes, longest);
    let padded = sum_rows(qkv.narrow(0, first, count), &places)
        .reshape([graphs, longest, 3, heads, width])
        .permute([2, 0, 3, 1, 4]); // [3, graphs, heads, longest, width]
    let part = |which: usize| padded.clone().narrow(0, which, 1).reshape([graphs, heads, longest, width]);
    let (query, key, value) = (part(0) * (1.0 / (width as f64).sqrt()), part(1), part(2));
    let scores = query.matmul(key.swap_dims(2, 3)) + mask(&sizes, longest, &device);
    let mixed = activation::softmax(scores, 3).matmul(value); // [graphs, heads, longest, width]
    gather_rows(mixed.swap_dims(1, 2).reshape([graphs * longest, hidden]), &places)
}

/// Consecutive graphs, together at most [`GROUP_SCORES`] scores; graphs without nodes join their neighbours.
fn groups(offsets: &[u32]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut longest = 0;
    for (graph, range) in offsets.windows(2).enumerate() {
        let size = (range[1] - range[0]) as usize;
        match groups.last_mut() {
            Some(group) if (group.len() + 1) * longest.max(size).pow(2) <= GROUP_SCORES => {
                group.end = graph + 1;
                longest = longest.max(size);
            }
            _ => {
                groups.push(graph..graph + 1);
                longest = size;
            }
        }
    }
    groups.retain(|group| offsets[group.end] > offsets[group.start]);
    groups
}

/// Row of every node in the padded layout.
fn places(sizes: &[usize], longest: usize) -> Arc<RowIndex> {
    let graphs = sizes.iter().enumerate();
    let rows = graphs.flat_map(|(graph, &size)| (0..size).map(move |row| (graph * longest + row) as u32));
    RowIndex::new(sizes.len() * longest, rows.collect())
}

/// Zero for nodes, [`MASKED`] for padding: `[graphs, 1, 1, longest]`.
fn mask(sizes: &[usize], longest: usize, device: &Device) -> Tensor<4> {
    let values: Vec<f32> = sizes
        .iter()
        .flat_map(|&size| (0..longest).map(move |row| if row < size { 0.0 } else { MASKED }))
        .collect();
    Tensor::from_data(TensorData::new(values, [sizes.len(), 1, 1, longest]), device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{assert_same_bodies, structure};

    #[test]
    fn kernel_and_generic_body_agree() {
        let structure = structure();
        for (heads, width) in [(1, 5), (3, 12)] {
            assert_same_bodies(
                &[[structure.num_nodes(), 3 * width]],
                |t| full_attention(t[0].clone(), heads, &structure),
                |t| generic(t[0].clone(), heads, &structure),
            );
        }
    }

    #[test]
    fn groups_cover_all_nodes_once_and_stay_small() {
        for sizes in [vec![], vec![0, 0], vec![3, 0, 2100, 5, 5000, 1, 1], vec![100; 2000]] {
            let mut offsets = vec![0u32];
            for size in &sizes {
                offsets.push(offsets[offsets.len() - 1] + size);
            }
            let groups = groups(&offsets);
            let nodes: u32 = groups.iter().map(|group| offsets[group.end] - offsets[group.start]).sum();
            assert_eq!(nodes, *offsets.last().unwrap());
            for group in groups {
                let longest = sizes[group.clone()].iter().max().unwrap();
                let scores = group.len() * (*longest as usize).pow(2);
                assert!(group.len() == 1 || scores <= GROUP_SCORES, "{group:?}: {scores}");
            }
        }
    }
}
