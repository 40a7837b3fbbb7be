//! GraphMinNet: learning on graphs with long-range dependencies at linear cost.

pub mod config;
pub mod io;
pub mod model;
pub mod nn;
pub mod ops;
pub mod optim;
pub mod task;
pub mod train;
pub mod weights;

pub use config::{ConfigError, ModelConfig, Recipe, TrainConfig};
pub use graphminnet_data::{self as data};
pub use model::{GraphMinNet, ModelInput};
