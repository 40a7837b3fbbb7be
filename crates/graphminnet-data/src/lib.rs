//! Everything of GraphMinNet that happens before the first tensor: validated graphs, their spectral preparation,
//! and the ragged batches that a model consumes.
//!
//! ```text
//! file / SMILES / generator → Graph → PreparedGraph → GraphBatch
//! ```
//!
//! * [`data`] — data sets: targets, schema, splits;
//! * [`graph`] — the validated, immutable [`Graph`] and the ragged [`GraphBatch`];
//! * [`rng`] — random numbers as pure functions of a key;
//! * [`spectral`] — Laplacian eigenpairs, random-walk return probabilities, degrees.
//!
//! This crate never sees a tensor, prints nothing and keeps no global state.

#![forbid(unsafe_code)]

pub mod data;
pub mod graph;
pub mod io;
pub mod rng;
pub mod spectral;
pub mod text;

pub use graph::{Features, Graph, GraphBatch, GraphError, Topology};
