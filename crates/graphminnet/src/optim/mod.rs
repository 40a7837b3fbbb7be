//! From gradients to the next parameters: AdamW with decoupled decay, clipping of the global norm, the schedule.
//!
//! Parameters are known by name (see [`crate::weights`]); the optimizer's state is plain vectors under those names.

mod adamw;
mod gradients;
mod schedule;

pub use adamw::{AdamW, AdamWSettings, Moments, OptimError, Share};
pub use gradients::{NamedGradients, clip_factor};
pub use schedule::{learning_rate, learning_rate_factor};
