//! The systems of the paper's table of results that are models of their own.
//!
//! Each is one module with the formulas it computes, in the symbols of its paper; what all have (encoders, pooling,
//! heads, how the harness sees them) is in the frame around them. The other systems of the table are variants of the
//! library's own model.
//!
//! | system | module | cost in the nodes n of a graph |
//! |---|---|---|
//! | SAN | `san` | n² |
//! | Exphormer | `exphormer` | n + edges |
//! | GRIT | `grit` | n² |
//! | GRED | `gred` | n · shells |
//! | Graph-Mamba | `graph_mamba` | n + edges |
//!
//! ```
//! use graphminnet::{DeviceKind, weights};
//! use graphminnet_lab::systems::{System, SystemRecipe};
//!
//! let recipe = SystemRecipe::named("grit", "zinc")?.expect("there is a file for it");
//! let grit = System::new(&recipe.model, 0, &DeviceKind::Cpu.open()?)?;
//! assert_eq!(weights::count_parameters(&grit), 473_473);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attention;
mod config;
mod encoder;
mod exphormer;
mod graph_mamba;
mod gred;
mod grit;
mod model;
mod norm;
mod positions;
mod prepare;
mod recipe;
mod san;
mod spectrum;
#[cfg(test)]
mod testing;

pub use config::{Body, Encoder, HeadKind, SystemConfig};
pub use exphormer::ExphormerConfig;
pub use graph_mamba::{EvaluationOrder, GraphMambaConfig};
pub use gred::GredConfig;
pub use grit::{GritConfig, Orientation};
pub(crate) use model::Encoded;
pub use model::{System, SystemInput};
pub use positions::Positions;
pub use recipe::{NAMES, SystemRecipe};
pub use san::{MissingPair, SanConfig, SpectrumConfig};
