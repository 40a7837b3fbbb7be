//! A linear map, or (in the ablations) a small network in its place.

use super::{Init, Linear};
use crate::config::Activation;
use crate::ops::Epilogue;
use burn::module::Module;
use burn::tensor::{Tensor, activation};

/// The non-linearity between two linear maps; it has no parameters.
#[derive(Module, Debug)]
pub struct Nonlinearity {
    #[module(skip)]
    kind: Activation,
}

impl Nonlinearity {
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        match self.kind {
            Activation::None => x,
            Activation::Relu => activation::relu(x),
            Activation::Gelu => activation::gelu(x),
            Activation::Silu => activation::silu(x),
        }
    }
}

/// `Linear(in→out)`, or `Linear(in→out) → activation → Linear(out→out)`.
#[derive(Module, Debug)]
pub enum Projection {
    /// A single linear map.
    Plain(Linear),
    /// Two linear maps with a non-linearity between them.
    Deep((Linear, Nonlinearity, Linear)),
}

impl Projection {
    /// Fresh parameters.
    pub fn new(inputs: usize, outputs: usize, activation: Activation, bias: bool, init: &mut Init) -> Self {
        let first = Linear::new(inputs, outputs, bias, init);
        match activation {
            Activation::None => Self::Plain(first),
            kind => Self::Deep((first, Nonlinearity { kind }, Linear::new(outputs, outputs, bias, init))),
        }
    }

    /// `[rows, in] → [rows, out]`.
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Plain(linear) => linear.forward(x),
            Self::Deep((first, nonlinearity, second)) => match nonlinearity.kind {
                Activation::Relu => second.forward(first.forward_then(x, Epilogue::Relu(None))),
                _ => second.forward(nonlinearity.forward(first.forward(x))),
            },
        }
    }

    /// The linear map, where it is a single one.
    pub fn as_linear(&self) -> Option<&Linear> {
        match self {
            Self::Plain(linear) => Some(linear),
            Self::Deep(_) => None,
        }
    }
}
