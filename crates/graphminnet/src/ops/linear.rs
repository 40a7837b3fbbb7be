//! A linear layer: `y = x·Wᵀ + b`, optionally followed by ReLU and dropout.

use super::dropout::{Dropout, dropout};
use burn::tensor::{Tensor, activation};

/// What follows the matrix product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Epilogue {
    /// Nothing.
    None,
    /// `dropout(ReLU(·))`.
    Relu(Option<Dropout>),
}

/// `epilogue(x·Wᵀ + b)`.
///
/// # Shapes
///
/// * `x`: `[rows, in]`
/// * `weight`: `[out, in]`
/// * `bias`: `[out]`
/// * returns `[rows, out]`
pub fn linear(x: Tensor<2>, weight: Tensor<2>, bias: Option<Tensor<1>>, epilogue: Epilogue) -> Tensor<2> {
    generic(x, weight, bias, epilogue)
}

fn generic(x: Tensor<2>, weight: Tensor<2>, bias: Option<Tensor<1>>, epilogue: Epilogue) -> Tensor<2> {
    let ([rows, _], [out, _]) = (x.dims(), weight.dims());
    if rows == 0 {
        return Tensor::zeros([0, out], &x.device());
    }
    let product = x.matmul(weight.transpose());
    let sum = match bias {
        None => product,
        Some(bias) => product + bias.unsqueeze(),
    };
    match epilogue {
        Epilogue::None => sum,
        Epilogue::Relu(rate) => dropout(activation::relu(sum), rate),
    }
}
