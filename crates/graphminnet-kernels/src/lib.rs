//! Fused CPU kernels of GraphMinNet: slices in, slices out.
//!
//! **This crate is for the other crates of GraphMinNet.** Its functions may change with any version; use the operations
//! of `graphminnet::ops`, which work on tensors and have gradients.
//!
//! ```
//! use graphminnet_kernels::linear::{Activation, LinearShape, linear};
//!
//! let shape = LinearShape { rows: 2, inputs: 3, outputs: 1 };
//! let mut y = [0.0; 2];
//! linear(shape, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1.0, 0.0, -1.0], Some(&[0.5]), Activation::None, &mut y);
//! assert_eq!(y, [-1.5, -1.5]);
//! ```
//!
//! No tensor framework is involved. Every operation is a forward function and a backward function over row-major `f32`
//! slices. The module of an operation opens with its formula, its shapes and its gradient.
//!
//! * Outputs are given by the caller and are overwritten completely unless the function's name says `accumulate`.
//! * Gradients that may not be wanted are `Option<&mut [f32]>`; work for absent ones is skipped.
//! * Results are the same bits for any number of threads of the current rayon pool.
//! * Lengths are checked once at the entrance; a wrong one panics with a message naming the slice.
//! * `NaN`s and infinities are computed with, not checked for.
//!
//! Calls made from a thread of the rayon pool (for example inside `ThreadPool::install`) avoid waking the pool each
//! time, which matters for kernels of a few microseconds.

// Kernels walk several slices with one index; that form is what vectorises reliably.
#![warn(unreachable_pub)]
#![allow(clippy::needless_range_loop)]

mod dispatch;
mod lanes;
mod math;
mod parallel;
mod scratch;
mod segments;

pub mod adamw;
pub mod add;
pub mod arbitrary;
pub mod batch_norm;
pub mod bound_rows;
pub mod dropout;
pub mod edge_attention;
pub mod edges;
pub mod embedding_sum;
pub mod full_attention;
pub mod gate_product;
pub mod gated_convolution;
pub mod gather_rows;
pub mod gemm;
pub mod gine_aggregate;
pub mod lap_pe;
pub mod layer_norm_silu;
pub mod linear;
pub mod norm_relu_residual;
pub mod others;
pub mod pair_messages;
pub mod pair_scores;
pub mod pool;
pub mod residual_norm;
pub mod selective_scan;
pub mod spectral_product;
pub mod weighted_squares;

// For tests that compare the paths.
#[doc(hidden)]
pub use dispatch::limit_instructions;
pub use dispatch::{Instructions, instructions};
