//! Prediction heads: linear layers with ReLU between them, and L2 row normalisation where asked for.

use super::{Init, Linear};
use crate::config::{HeadKind, ModelConfig};
use crate::ops::{Epilogue, l2_rows};
use burn::module::Module;
use burn::tensor::Tensor;

/// `mlp` or `san`.
#[derive(Module, Debug)]
pub struct Head {
    /// The linear layers.
    pub lins: Vec<Linear>,
    #[module(skip)]
    normalise_rows: bool,
}

impl Head {
    /// Fresh parameters.
    pub fn new(config: &ModelConfig, init: &mut Init) -> Self {
        let hidden = config.hidden;
        let mut widths = match config.head {
            HeadKind::Mlp => vec![hidden; config.head_layers],
            HeadKind::San => vec![hidden, hidden / 2, hidden / 4],
        };
        // Of an edge or pair the head reads both ends, of a graph its descriptors too.
        if let Some(first) = widths.first_mut() {
            *first = config.head_in();
        }
        widths.push(config.out_dim);
        Self {
            lins: widths.windows(2).map(|pair| Linear::new(pair[0], pair[1], true, init)).collect(),
            normalise_rows: config.head == HeadKind::Mlp && config.head_l2norm,
        }
    }

    /// `[rows, head_in] → [rows, out_dim]`.
    pub fn forward(&self, mut x: Tensor<2>) -> Tensor<2> {
        let Some((last, inner)) = self.lins.split_last() else { return x };
        for layer in inner {
            x = layer.forward_then(x, Epilogue::Relu(None));
            if self.normalise_rows {
                x = l2_rows(x);
            }
        }
        last.forward(x)
    }
}
