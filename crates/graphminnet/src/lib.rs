//! GraphMinNet: learning on graphs with long-range dependencies at linear cost.
//!
//! A layer runs two branches side by side on the nodes of a graph. The local one passes messages along edges. The
//! global one, the GraphMinNet block, lets every node see the whole graph at once through the lowest eigenvectors of
//! its Laplacian:
//!
//! ```text
//! a_u = B(φ(λ) ⊙ W x_u ⊕ φ(λ) ⊙ p_u)        what node u says, weighted by the lowest eigenvectors
//! ā   = Σ_v a_v                              what the graph says
//! h_u = ⟨a_u, ā⟩ ⊙ sigmoid(z(x_u)) ⊙ h̃(x_u)   what node u takes from it
//! ```
//!
//! The sum is formed once per graph, so the cost is linear in the number of nodes.
//!
//! # From a graph to a prediction
//!
//! ```
//! use graphminnet::data::{Features, Graph, prepare_graph};
//! use graphminnet::{DeviceKind, GraphMinNet, ModelConfig, ModelInput, Pass};
//! use std::sync::Arc;
//!
//! // A ring of six nodes with two numbers each.
//! let edges = (0..6u32).flat_map(|node| [[node, (node + 1) % 6], [(node + 1) % 6, node]]).collect();
//! let graph = Graph::new(6, edges, Features::numbers(6, 2, vec![0.5; 12])?, Features::none(12))?;
//!
//! let config = ModelConfig { node_in: 2, hidden: 16, lap_dim: 4, ..ModelConfig::default() };
//! let device = DeviceKind::Cpu.open()?;
//! let model = GraphMinNet::new(&config, 0, &device)?;
//!
//! let prepared = prepare_graph(&Arc::new(graph), &config.prepare_options())?;
//! let input = ModelInput::from_prepared(&config, &[&prepared], &device)?;
//! let prediction = model.forward(&input, Pass::Eval);
//! assert_eq!(prediction.dims(), [1, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rooms
//!
//! * [`data`]: graphs, reading them, and what is computed for them before a model sees them.
//! * [`bundle`]: a trained model in one file, and what it answers. [`Bundle`] is one model, [`Ensemble`] several.
//! * [`explain`]: which nodes and edges a prediction rests on, and from how far away.
//! * [`config`]: the options of a model and of its training, and recipes.
//! * [`train`]: [`train::Run`] trains, is watched by an observer, and resumes.
//! * [`report`]: runs as a page to read. [`task`]: metrics with confidence intervals.
//! * [`model`]: the model as a Burn module, and its block as a layer for other models. [`weights`]: its parameters by name and as safetensors.
//!
//! The paper's numbers, its tables and figures computed again, and workloads for timing are in the crate
//! `graphminnet-lab`.

#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

pub mod bundle;
pub mod config;
pub mod data;
mod device;
#[cfg(feature = "gradients")]
pub mod explain;
// For the fuzz crate.
#[cfg(all(feature = "benchmarks", feature = "train"))]
#[doc(hidden)]
pub mod fuzzing;
// For the command, which writes embeddings.
#[doc(hidden)]
pub mod export;
pub mod model;
// For tests; `Pass` is what a user needs.
#[doc(hidden)]
pub mod nn;
// For the laboratory, which times single operations, and for tests.
#[doc(hidden)]
pub mod ops;
// For the laboratory, which times the optimizer, and for tests.
#[cfg(feature = "train")]
#[doc(hidden)]
pub mod optim;
#[cfg(feature = "train")]
pub mod report;
// For the command `inspect`.
#[doc(hidden)]
pub mod summary;
pub mod task;
#[cfg(feature = "train")]
pub mod train;
pub mod weights;

/// The tensor engine, in the version that this crate was built with.
pub use burn;

/// The crate of graphs and files: [`data`] has what is usually needed of it.
pub use graphminnet_data;

pub use bundle::{Answers, Bundle, BundleError, Ensemble, PredictError};
pub use config::{ConfigError, ModelConfig, Recipe, TrainConfig};
pub use device::{DeviceError, DeviceKind};
pub use model::{GraphMinNet, GraphMinNetBlock, ModelInput};
pub use nn::Pass;
