//! Models: what one must be able to do, and GraphMinNet itself.
//!
//! ```text
//! Batch ─ Model::input ─→ tensors on a device ─ Model::forward ─→ outputs, a row per graph, node or edge
//! ```
//!
//! Training, evaluation, optimizer and weights know models through [`Model`] alone, so that another system can take the
//! place of [`GraphMinNet`] in the same harness.
//!
//! ```
//! use graphminnet::{DeviceKind, GraphMinNet, ModelConfig, weights};
//!
//! let config = ModelConfig { node_in: 2, hidden: 16, lap_dim: 4, ..ModelConfig::default() };
//! let model = GraphMinNet::new(&config, 0, &DeviceKind::Cpu.open()?)?;
//! assert!(weights::count_parameters(&model) > 1000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`GraphMinNetBlock`] is the global branch alone, as a layer for Burn models of your own.

mod attention;
mod beyond;
mod block;
mod block_layer;
mod block_use;
mod encoder;
mod ends;
mod graphminnet;
mod gssc;
mod inner_product;
mod input;
mod layer;
mod spectrum;

pub(crate) use attention::Attention;
#[cfg(feature = "train")]
pub(crate) use beyond::{Beyond, Carried, Noted};
pub(crate) use block::Block;
pub use block_layer::{BlockConfig, BlockInput, GraphMinNetBlock};
// For the laboratory, which says what the block of a trained model does.
#[doc(hidden)]
pub use block_use::BlockUse;
use encoder::{FeatureEncoder, NodePe};
// For explanations of single layers.
#[doc(hidden)]
pub use graphminnet::Encoded;
pub use graphminnet::{GraphMinNet, Trace};
pub(crate) use gssc::Gssc;
// For the laboratory, which feeds single parts of a model.
#[doc(hidden)]
pub use input::FeatureInput;
pub(crate) use input::check_graph;
pub use input::{InputError, ModelInput};
use layer::Layer;
// For tests of the local branch.
#[doc(hidden)]
pub use layer::Local;
pub(crate) use layer::{Place, Shared};
pub(crate) use spectrum::Spectrum;

use crate::nn::Pass;
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use graphminnet_data::exchange::Exchange;
use graphminnet_data::{Batch, Graph, Level};

/// A network that reads batches and answers for graphs, nodes or edges.
///
/// It is a Burn module, which gives everything that has to do with its parameters and running statistics: their names and
/// values ([`crate::weights`]), a copy that records nothing ([`Module::valid`]), a step of the optimizer. A running
/// statistic is a [`Running`](crate::nn::Running) whose name ends in `running_mean` or `running_var`.
///
/// A pass must be a pure function of parameters, input and [`Pass`], whatever the number of threads, but for the running
/// statistics, which a training pass moves.
pub trait Model: Module {
    /// A batch as the model reads it.
    type Input;

    /// Checks a batch and puts what the model reads of it on a device.
    ///
    /// # Errors
    ///
    /// [`InputError`] if the batch was made for another model.
    fn input(&self, batch: Batch, device: &Device) -> Result<Self::Input, InputError>;

    /// The outputs, `[rows of the level, out_dim]`; those of edges in the order of the batch (sorted by target).
    fn forward(&self, input: &Self::Input, pass: Pass) -> Tensor<2>;

    /// What a row of the outputs belongs to.
    fn level(&self) -> Level;

    /// Number of outputs per row.
    fn out_dim(&self) -> usize;

    /// Takes from the training graphs, before the first step, what the model keeps of them; most keep nothing.
    fn fit(&self, _graphs: &[&Graph]) {}

    /// The same where every rank of an exchange has a part of the only graph, of which `own` leading nodes are its own.
    #[doc(hidden)]
    fn fit_part(&self, _graph: &Graph, _own: usize, _exchange: &dyn Exchange) {}

    /// Where the first number of a pass arises that is not finite, in words, where the model can tell.
    fn first_nonfinite(&self, _input: &Self::Input, _pass: Pass) -> Option<String> {
        None
    }
}
