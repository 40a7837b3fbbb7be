//! Everything of GraphMinNet that happens before the first tensor: validated graphs, their spectral preparation,
//! and the ragged batches that a model consumes.
//!
//! ```text
//! file / SMILES / generator → Graph → PreparedGraph → Batch
//! ```
//!
//! * [`open`] reads any known file or folder; [`ReadOptions`] says how, [`Report`] what was noticed;
//! * [`formats`] holds one reader per format, [`smiles`] reads molecules;
//! * [`generate`] makes data sets, [`split`] divides them, [`DataCard`] sums one up on one page;
//! * [`graph`] holds the validated, immutable [`Graph`] and what can be attached to one;
//! * [`spectral`] computes Laplacian eigenpairs, random-walk return probabilities and degrees; [`prepare`] does so for
//!   a whole data set and [`cache`] keeps the results;
//! * [`batch`] puts prepared graphs side by side, which is what a model consumes;
//! * [`Limits`] bounds everything that a file may ask for, [`DataError`] says where it went wrong;
//! * [`rng`] gives random numbers as pure functions of a key.
//!
//! With the feature `benchmarks`, `registry` knows ten published data sets by name, `import` reads their archives and
//! `download` fetches them (over HTTP and HTTPS with the feature `download`).
//!
//! This crate never sees a tensor, prints nothing and keeps no global state.

#![forbid(unsafe_code)]

pub mod batch;
pub mod cache;
mod card;
mod dataset;
#[cfg(feature = "benchmarks")]
pub mod download;
mod error;
pub mod formats;
pub mod fs;
#[cfg(feature = "benchmarks")]
#[doc(hidden)]
pub mod fuzzing;
pub mod generate;
pub mod graph;
#[cfg(feature = "benchmarks")]
pub mod import;
pub(crate) mod limits;
pub mod prepare;
mod read;
#[cfg(feature = "benchmarks")]
pub mod registry;
pub mod rng;
mod rows;
mod schema;
pub mod smiles;
pub mod spectral;
pub mod split;
mod statistics;
mod stop;
pub mod text;

pub use batch::{Batch, Layout, Topology};
pub use card::{DataCard, TargetSummary, TargetValues};
pub use dataset::{Column, ColumnKind, Dataset, Level, Sample, Schema, Split, Task};
pub use error::{BadRow, DataError, Place, PlaceParts};
pub use graph::{Encodings, Features, Graph, GraphError, Pairs, Part};
pub use limits::{Exceeded, Limits};
pub use read::{EdgeDirection, OnBadRow, Read, ReadOptions, Report, open};
pub use rows::{InputRow, RowReader};
pub use smiles::{Featurizer, SmilesError, molecule_graph, scaffold_key};
pub use statistics::{Statistics, statistics};
pub use stop::{Stop, Stopped};
pub use text::{escape, escape_up_to};
