//! The tensor operations of the model, one per file: the formula, the generic body that every device can run, and
//! the call into the fused CPU kernel with its gradient.
//!
//! This module knows tensors and offsets. It knows no graphs, files or layers, and nothing outside it knows the
//! engine's backend types.

// Without gradients nobody calls the half of a kernel that computes them.
#![cfg_attr(not(feature = "gradients"), allow(dead_code))]

mod across;
mod batch_statistics;
mod bound_rows;
pub(crate) mod buffers;
mod dropout;
mod edge_attention;
mod embedding_sum;
mod engine;
mod full_attention;
mod gate_product;
mod gated_convolution;
mod generic;
mod gine_aggregate;
mod lap_pe;
mod layer_norm_silu;
mod linear;
mod multi_output;
mod normalize;
#[cfg(feature = "train")]
mod pad_tape_depth;
mod pair_attention;
mod pair_list;
mod pool;
mod rows;
mod seed_gradient;
mod selective_scan;
mod spectral_product;
mod structure;
#[cfg(test)]
mod testing;
mod weighted_squares;

// For layers of this library alone; others have no part of a graph to read.
#[doc(hidden)]
pub use across::Across;
pub use batch_statistics::{BatchStatistics, Statistics};
pub use bound_rows::{RowBound, bound_rows, l2_rows};
pub use dropout::{Dropout, dropout};
pub use edge_attention::edge_attention;
pub use embedding_sum::{CategoryTable, embedding_sum};
#[cfg(feature = "train")]
pub(crate) use engine::on_cpu;
pub use full_attention::full_attention;
pub use gate_product::{SelfTerm, gate_product};
pub use gated_convolution::{EdgeUpdate, GatedConvolution, gated_convolution};
pub use gine_aggregate::gine_aggregate;
pub use lap_pe::{LapPeWeights, lap_pe};
pub use layer_norm_silu::layer_norm_silu;
pub use linear::{Epilogue, linear};
pub use normalize::{norm_relu_residual, residual_norm};
#[cfg(feature = "train")]
pub(crate) use pad_tape_depth::pad_tape_depth;
pub use pair_attention::{pair_messages, pair_scores};
pub use pair_list::PairList;
pub use pool::{PoolKind, pool};
pub use rows::{RowIndex, gather_graphs, gather_rows, sum_members, sum_per_graph, sum_rows};
pub(crate) use seed_gradient::seed_gradient;
pub use selective_scan::selective_scan;
pub(crate) use spectral_product::spectral_product_across;
pub use spectral_product::{batched_rows, outer_sums, spectral_product};
pub use structure::Structure;
pub use weighted_squares::weighted_squares;

/// The numbers of a tensor, row-major.
pub(crate) fn values<const D: usize>(tensor: burn::tensor::Tensor<D>) -> Vec<f32> {
    let values = tensor.into_data().try_into_vec();
    values.unwrap_or_else(|_| unreachable!("the model computes with 32-bit floats"))
}
