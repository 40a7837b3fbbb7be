//! A linear layer: `y = x·Wᵀ + b`, optionally followed by ReLU and dropout.

pub use graphminnet_kernels::linear::Activation as Epilogue;

use super::dropout::dropout;
use super::engine::{self, Array, Kernel, Operand, Slot};
use burn::tensor::{Tensor, activation};
use graphminnet_kernels::linear as kernels;

/// `epilogue(x·Wᵀ + b)`.
///
/// # Shapes
///
/// * `x`: `[rows, in]`
/// * `weight`: `[out, in]`
/// * `bias`: `[out]`
/// * returns `[rows, out]`
pub fn linear(x: Tensor<2>, weight: Tensor<2>, bias: Option<Tensor<1>>, epilogue: Epilogue) -> Tensor<2> {
    if !engine::on_cpu(&x.device()) {
        return generic(x, weight, bias, epilogue);
    }
    let kernel = Fused { epilogue, has_bias: bias.is_some() };
    engine::run(kernel, [x.into(), weight.into(), Operand::optional(bias)])
}

/// The kernel; operands `x`, `weight`, `bias`.
#[derive(Debug, Clone)]
struct Fused {
    epilogue: Epilogue,
    has_bias: bool,
}

impl Fused {
    fn shape(x: &Array, weight: &Array) -> kernels::LinearShape {
        kernels::LinearShape { rows: x.dim(0), inputs: x.dim(1), outputs: weight.dim(0) }
    }
}

impl Kernel<3> for Fused {
    /// `x`, `weight`, and the output where a ReLU follows.
    type Saved = (Array, Array, Option<Array>);

    fn forward(&self, [x, weight, bias]: &[Array; 3], keep: bool) -> (Array, Option<Self::Saved>) {
        let shape = Self::shape(x, weight);
        let bias = self.has_bias.then(|| bias.values());
        let y = Array::written([shape.rows, shape.outputs], |y| {
            kernels::linear(shape, x.values(), weight.values(), bias, self.epilogue, y);
        });
        let kept_output = matches!(self.epilogue, Epilogue::Relu(_)).then(|| y.clone());
        (y, keep.then(|| (x.clone(), weight.clone(), kept_output)))
    }

    fn backward(&self, saved: Self::Saved, gradient: Array, wanted: [bool; 3]) -> [Option<Array>; 3] {
        let dx = Slot::like(&saved.0, wanted[0]);
        self.gradients(dx, false, saved, gradient, wanted)
    }

    fn backward_onto(
        &self,
        onto: Array,
        saved: Self::Saved,
        gradient: Array,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        self.gradients(Slot::onto(onto), true, saved, gradient, wanted)
    }
}

impl Fused {
    /// All gradients; that of the first input is written to its slot or added to what is there.
    fn gradients(
        &self,
        mut dx: Slot,
        add: bool,
        (x, weight, y): <Self as Kernel<3>>::Saved,
        gradient: Array,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        let mut d_weight = Slot::like(&weight, wanted[1]);
        let mut d_bias = Slot::new([weight.dim(0)], wanted[2] && self.has_bias);
        kernels::linear_backward(
            Self::shape(&x, &weight),
            x.values(),
            weight.values(),
            self.epilogue,
            y.as_ref().map(Array::values),
            gradient.values(),
            kernels::LinearGradients {
                input: dx.as_mut(),
                add_to_input: add,
                weight: d_weight.as_mut(),
                bias: d_bias.as_mut(),
            },
        );
        [dx.into_array(), d_weight.into_array(), d_bias.into_array()]
    }
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

#[cfg(test)]
mod tests {
    use super::super::dropout::Dropout;
    use super::*;
    use crate::ops::testing::{assert_same_bodies, vector};

    #[test]
    fn kernel_and_generic_body_agree() {
        let rate = Some(Dropout { probability: 0.3, seed: 5, first: 0 });
        for epilogue in [Epilogue::None, Epilogue::Relu(None), Epilogue::Relu(rate)] {
            let shapes = [[13, 7], [9, 7], [1, 9]];
            let with = |body: fn(Tensor<2>, Tensor<2>, Option<Tensor<1>>, Epilogue) -> Tensor<2>| {
                move |t: &[Tensor<2>]| body(t[0].clone(), t[1].clone(), Some(vector(&t[2])), epilogue)
            };
            assert_same_bodies(&shapes, with(linear), with(generic));
            let without = |body: fn(Tensor<2>, Tensor<2>, Option<Tensor<1>>, Epilogue) -> Tensor<2>| {
                move |t: &[Tensor<2>]| body(t[0].clone(), t[1].clone(), None, epilogue)
            };
            assert_same_bodies(&shapes[..2], without(linear), without(generic));
        }
    }
}
