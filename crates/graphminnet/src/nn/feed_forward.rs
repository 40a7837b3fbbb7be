//! The feed-forward block of a layer: `Linear(l→2l) → ReLU → Dropout → Linear(2l→l)`.

use super::{Init, Linear};
use crate::ops::{Dropout, Epilogue};
use burn::tensor::Tensor;

/// The two linear layers, borrowed from the layer that owns them under the reference's names.
pub struct FeedForward<'a> {
    /// `l → 2l`.
    pub expand: &'a Linear,
    /// `2l → l`.
    pub contract: &'a Linear,
}

impl FeedForward<'_> {
    /// The two layers for a hidden width.
    pub fn layers(hidden: usize, init: &mut Init) -> (Linear, Linear) {
        (Linear::new(hidden, 2 * hidden, true, init), Linear::new(2 * hidden, hidden, true, init))
    }

    /// `[rows, hidden] → [rows, hidden]`, dropout after the ReLU.
    pub fn forward(&self, x: Tensor<2>, rate: Option<Dropout>) -> Tensor<2> {
        self.contract.forward(self.expand.forward_then(x, Epilogue::Relu(rate)))
    }
}
