//! One pass through a model in training and its gradients, in one of two ways: with everything kept that the backward
//! pass needs, or with layers computed again.

use super::recompute::Recomputation;
use crate::model::{GraphMinNet, Model, ModelInput};
use crate::nn::Pass;
use crate::optim::NamedGradients;
use crate::task::loss::{self, LossValue};
use burn::tensor::{Tensor, TensorData};

/// A forward pass whose gradients can be asked for.
#[derive(Debug)]
pub struct GradientPass<'a, M: Model = GraphMinNet> {
    model: &'a M,
    input: &'a M::Input,
    pass: Pass,
    way: Way<'a, M>,
}

#[derive(Debug)]
enum Way<'a, M> {
    /// Everything is recorded; the output.
    Kept(Tensor<2>),
    /// Layers are computed again.
    Recomputed(Box<dyn Recompute<M> + 'a>),
}

/// A forward pass that recorded nothing, and can be differentiated all the same.
pub(super) trait Recompute<M>: std::fmt::Debug {
    /// The output, `[rows, out_dim]`.
    fn output(&self) -> &Tensor<2>;

    /// The copy of the model that the pass ran on: its running estimates have moved, its parameters are not recorded.
    fn unrecorded(&self) -> &M;

    /// That copy in the place of the model, for a pass that is not differentiated.
    fn abandon(self: Box<Self>) -> M;

    /// The gradients of all parameters, given the gradient of the output.
    fn backward(self: Box<Self>, gradient: Tensor<2>) -> NamedGradients;
}

impl<'a> GradientPass<'a> {
    /// The forward pass with the random numbers of `seed`. With `recompute_layers` the backward pass computes that many
    /// layers at a time again.
    ///
    /// The more layers at a time, the fewer inputs are kept between groups and the more within one; from two on, the
    /// branches of a layer are computed three times instead of twice.
    pub fn forward(
        model: &'a GraphMinNet,
        input: &'a ModelInput,
        seed: u64,
        recompute_layers: Option<usize>,
    ) -> Self {
        let Some(together) = recompute_layers else { return Self::kept(model, input, seed) };
        let pass = Pass::Train { seed };
        let recomputation = Recomputation::forward(model, input, pass, together);
        Self { model, input, pass, way: Way::Recomputed(Box::new(recomputation)) }
    }
}

impl<'a, M: Model> GradientPass<'a, M> {
    /// The forward pass with the random numbers of `seed`; everything is kept that the backward pass needs.
    pub fn kept(model: &'a M, input: &'a M::Input, seed: u64) -> Self {
        let pass = Pass::Train { seed };
        Self { model, input, pass, way: Way::Kept(model.forward(input, pass)) }
    }

    /// The output, `[rows, out_dim]`.
    pub fn output(&self) -> &Tensor<2> {
        match &self.way {
            Way::Kept(output) => output,
            Way::Recomputed(recomputation) => recomputation.output(),
        }
    }

    /// The gradients of all parameters, given a loss of the output.
    pub fn gradients(self, loss: &LossValue) -> NamedGradients {
        match self.way {
            Way::Kept(output) => NamedGradients::of(self.model, &loss::attach(output, loss, 1.0).backward()),
            Way::Recomputed(recomputation) => {
                let output = recomputation.output();
                let (shape, device) = (output.dims(), output.device().inner());
                let gradient = TensorData::new(loss.gradient.clone(), shape);
                recomputation.backward(Tensor::from_data(gradient, &device))
            }
        }
    }

    /// The same pass once more, to see where the first number arises that is not finite.
    pub fn first_nonfinite(&self) -> Option<String> {
        let model = match &self.way {
            Way::Kept(_) => self.model,
            Way::Recomputed(recomputation) => recomputation.unrecorded(),
        };
        model.first_nonfinite(self.input, self.pass)
    }

    /// Ends a pass that nobody wants the gradients of. Running estimates have moved all the same; where that happened
    /// in a copy of the model, the copy is returned and takes the model's place.
    pub fn abandon(self) -> Option<M> {
        match self.way {
            Way::Kept(_) => None,
            Way::Recomputed(recomputation) => Some(recomputation.abandon()),
        }
    }
}
