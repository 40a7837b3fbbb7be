//! What the head reads of an edge or a pair: its two ends.

use crate::config::{EndsKind, ModelConfig};
use crate::ops::{RowIndex, gather_rows};
use burn::tensor::Tensor;
use std::sync::Arc;

/// `[edges or pairs, head_in]`: the product of the ends' features, the features side by side, both, and those of the edge.
///
/// Where the order of the ends must not matter, their sum and their distance `|x_u − x_v|` stand for the features side by
/// side. All of these have the same bits for either order.
pub(super) fn both_ends(
    nodes: Tensor<2>,
    [sources, targets]: [&Arc<RowIndex>; 2],
    config: &ModelConfig,
    edges: Option<Tensor<2>>,
) -> Tensor<2> {
    let source = gather_rows(nodes.clone(), sources);
    let target = gather_rows(nodes, targets);
    let mut parts = Vec::with_capacity(4);
    if matches!(config.ends, EndsKind::Hadamard | EndsKind::Both) {
        parts.push(source.clone() * target.clone());
    }
    if matches!(config.ends, EndsKind::Concat | EndsKind::Both) {
        if config.ends_symmetric {
            parts.push(source.clone() + target.clone());
            parts.push((source - target).abs());
        } else {
            parts.extend([source, target]);
        }
    }
    parts.extend(edges);
    Tensor::cat(parts, 1)
}
