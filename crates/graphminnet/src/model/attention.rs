//! Multi-head attention between all nodes of a graph: the global branch of GraphGPS, here as a baseline.
//!
//! Per graph and head, with `[q, k, v] = Linear(l→3l)(x)` cut into heads of width `d`:
//!
//! ```text
//! out = Linear(l→l)( softmax(q kᵀ / √d) v )          both linear maps with bias
//! ```
//! Quadratic in the nodes of a graph. Graphs of a batch are padded to equal length in groups of bounded size, so that
//! memory does not grow with the square of the batch.

use crate::nn::{Init, Linear};
use crate::ops::{RowIndex, Structure, gather_rows, sum_rows};
use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData, activation};
use std::ops::Range;
use std::sync::Arc;

/// Scores per head that a group of graphs may have together; a larger graph stands alone.
const GROUP_SCORES: usize = 1 << 22;

/// Added to the scores of padding: its weight is exactly zero.
const MASKED: f32 = -1e30;

/// The two linear maps.
#[derive(Module, Debug)]
pub struct Attention {
    /// Queries, keys and values side by side.
    pub qkv: Linear,
    /// Output map.
    pub out: Linear,
    #[module(skip)]
    heads: usize,
}

impl Attention {
    /// Fresh parameters; `heads` divides `hidden`.
    pub fn new(hidden: usize, heads: usize, init: &mut Init) -> Self {
        Self {
            qkv: Linear::new(hidden, 3 * hidden, true, init),
            out: Linear::new(hidden, hidden, true, init),
            heads,
        }
    }

    /// `[nodes, hidden] → [nodes, hidden]`.
    pub fn forward(&self, nodes: Tensor<2>, structure: &Structure) -> Tensor<2> {
        let rows = self.qkv.forward(nodes.clone());
        let mixed: Vec<Tensor<2>> = groups(structure.node_offsets())
            .into_iter()
            .map(|group| self.attend(rows.clone(), &structure.node_offsets()[group.start..=group.end]))
            .collect();
        if mixed.is_empty() {
            return nodes;
        }
        self.out.forward(Tensor::cat(mixed, 0))
    }

    /// The graphs between `offsets`: `[nodes of all graphs, 3·hidden] → [nodes of these graphs, hidden]`.
    fn attend(&self, rows: Tensor<2>, offsets: &[u32]) -> Tensor<2> {
        let [_, triple] = rows.dims();
        let (hidden, device) = (triple / 3, rows.device());
        let width = hidden / self.heads;
        let sizes: Vec<usize> = offsets.windows(2).map(|range| (range[1] - range[0]) as usize).collect();
        let (graphs, longest) = (sizes.len(), sizes.iter().copied().max().unwrap_or(0));
        let (first, count) = (offsets[0] as usize, sizes.iter().sum());
        let places = places(&sizes, longest);
        let padded = sum_rows(rows.narrow(0, first, count), &places)
            .reshape([graphs, longest, 3, self.heads, width])
            .permute([2, 0, 3, 1, 4]); // [3, graphs, heads, longest, width]
        let part =
            |which: usize| padded.clone().narrow(0, which, 1).reshape([graphs, self.heads, longest, width]);
        let (query, key, value) = (part(0) * (1.0 / (width as f64).sqrt()), part(1), part(2));
        let scores = query.matmul(key.swap_dims(2, 3)) + mask(&sizes, longest, &device);
        let mixed = activation::softmax(scores, 3).matmul(value); // [graphs, heads, longest, width]
        gather_rows(mixed.swap_dims(1, 2).reshape([graphs * longest, hidden]), &places)
    }
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
