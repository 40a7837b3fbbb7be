//! One pass through a model in training and its gradients, in one of two ways: with everything kept that the backward
//! pass needs, or with layers computed again.

use super::Recomputation;
use crate::model::{GraphMinNet, ModelInput, Trace};
use crate::nn::Pass;
use crate::optim::NamedGradients;
use crate::task::loss::{self, LossValue};
use burn::tensor::{Tensor, TensorData};

/// A forward pass whose gradients can be asked for.
#[derive(Debug)]
pub struct GradientPass<'a> {
    model: &'a GraphMinNet,
    input: &'a ModelInput,
    pass: Pass,
    way: Way<'a>,
}

#[derive(Debug)]
enum Way<'a> {
    /// Everything is recorded; the output.
    Kept(Tensor<2>),
    /// Layers are computed again.
    Recomputed(Box<Recomputation<'a>>),
}

impl<'a> GradientPass<'a> {
    /// The forward pass with the random numbers of `seed`. With `recompute_layers` the backward pass computes that many
    /// layers at a time again, see [`Recomputation`].
    pub fn forward(
        model: &'a GraphMinNet,
        input: &'a ModelInput,
        seed: u64,
        recompute_layers: Option<usize>,
    ) -> Self {
        let pass = Pass::Train { seed };
        let way = match recompute_layers {
            None => Way::Kept(model.forward(input, pass)),
            Some(together) => Way::Recomputed(Box::new(Recomputation::forward(model, input, pass, together))),
        };
        Self { model, input, pass, way }
    }

    /// The output, `[graphs or nodes, out_dim]`.
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

    /// The same pass once more, keeping the node features of all layers: to see where something went wrong.
    pub fn traced(&self) -> Trace {
        match &self.way {
            Way::Kept(_) => self.model.forward_traced(self.input, self.pass),
            Way::Recomputed(recomputation) => recomputation.traced(),
        }
    }

    /// Ends a pass that nobody wants the gradients of. Running estimates have moved all the same; where that happened
    /// in a copy of the model, the copy is returned and takes the model's place.
    pub fn abandon(self) -> Option<GraphMinNet> {
        match self.way {
            Way::Kept(_) => None,
            Way::Recomputed(recomputation) => Some(recomputation.abandon()),
        }
    }
}
