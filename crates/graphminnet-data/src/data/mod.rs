//! Collections of graphs with targets: what they are, where they come from, how they are split and prepared.
//!
//! This module turns bytes into [`Dataset`]s and never sees a tensor.

pub mod cache;
mod dataset;
pub mod generate;
pub mod loader;
pub mod prepare;
pub mod split;

pub use dataset::{Column, ColumnKind, Dataset, Level, Sample, Schema, Split, Task};
