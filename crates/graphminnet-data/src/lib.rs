//! From files to batches: graphs, what is computed for them before training, and the batches that a model reads.
//!
//! ```text
//! file / SMILES / generator → Graph → PreparedGraph → Batch
//! ```
//!
//! ```
//! use graphminnet_data::spectral::{PrepareOptions, prepare_graph};
//! use graphminnet_data::{Batch, Featurizer, Limits, molecule_graph};
//! use std::sync::Arc;
//!
//! let ethanol = Arc::new(molecule_graph("CCO", Featurizer::Ogb, &Limits::default())?);
//! let prepared = prepare_graph(&ethanol, &PrepareOptions { eigenpairs: 3, ..Default::default() })?;
//! let batch = Batch::collate(&[&prepared, &prepared])?;
//! assert_eq!(batch.layout.num_nodes(), 6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * [`open`] reads any known file or folder, [`memory`] what a program has in memory. [`ReadOptions`] says how, and [`Report`] says what was noticed.
//! * [`formats`] names the formats and writes files; [`smiles`] reads molecules.
//! * [`generate`] makes data sets, [`split`] divides them, and [`DataCard`] describes one on one page.
//! * [`graph`] holds the validated, immutable [`Graph`] and what can be attached to it.
//! * [`spectral`] computes Laplacian eigenpairs, random-walk return probabilities and degrees. [`preparation`] does so
//!   for a whole data set, and [`cache`] keeps the results.
//! * [`batch`] puts prepared graphs side by side. [`exchange`] is how several processes share such work, and [`partition`]
//!   how they share one graph.
//! * [`Limits`] bounds everything that a file may ask for, and [`DataError`] says where reading failed.
//!
//! With the feature `benchmarks`, `registry` knows ten published data sets by name and `download` fetches them (over
//! HTTP and HTTPS with the feature `download`).
//!
//! This crate uses no tensors, prints nothing and keeps no global state.

#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

pub mod batch;
mod budget;
pub mod cache;
mod card;
mod content;
mod dataset;
#[cfg(feature = "benchmarks")]
pub mod download;
mod error;
pub mod exchange;
#[doc(hidden)]
pub mod foreign;
pub mod formats;
// For the other crates of this workspace: whole files, hashes, memory.
#[doc(hidden)]
pub mod fs;
// For the fuzz crate.
#[cfg(feature = "benchmarks")]
#[doc(hidden)]
pub mod fuzzing;
pub mod generate;
pub mod graph;
// For tests; `registry::import_published` is what a user calls.
#[cfg(feature = "benchmarks")]
#[doc(hidden)]
pub mod import;
pub(crate) mod limits;
pub mod links;
pub mod memory;
mod node_parts;
pub mod partition;
mod qualifiers;
// For the command: what its shards leave behind.
#[doc(hidden)]
pub mod parts;
// For the library, which trains on pieces of large graphs.
#[doc(hidden)]
pub mod pieces;
pub mod preparation;
mod read;
#[cfg(feature = "benchmarks")]
pub mod registry;
// For the library: its random streams are those of the generators and splits.
#[doc(hidden)]
pub mod rng;
mod rows;
mod schema;
mod shard;
pub mod smiles;
pub mod spectral;
pub mod split;
mod statistics;
// For the other crates of this workspace: how numbers and foreign text are printed.
#[doc(hidden)]
pub mod text;

pub use batch::{Batch, Layout, Topology};
pub use card::{DataCard, TargetSummary, TargetValues};
// For the library, whose runs know their data again by it.
#[doc(hidden)]
pub use content::ContentHash;
pub use dataset::{Column, ColumnKind, Dataset, Level, MoleculeTable, Sample, Schema, Split, Task};
pub use error::{BadRow, DataError, Place, PlaceParts};
pub use fs::IoError;
pub use graph::{Encodings, Features, Graph, GraphError, Pairs, Part};
// For the server, whose options are others than those of commands that read files.
#[doc(hidden)]
pub use limits::ADVICE;
pub use limits::{Exceeded, LimitChange, Limits};
pub use node_parts::NodeParts;
pub use qualifiers::{Bound, Qualifiers, Side};
pub use read::{
    ChooseParts, EdgeDirection, InParts, OnBadRow, RULES, Read, ReadInParts, ReadOptions, Report, open,
    open_in_parts, read_stream,
};
// For the command, which predicts for files that are longer than memory.
#[doc(hidden)]
pub use rows::{InputRow, RowReader};
pub use shard::Shard;
pub use smiles::{
    BASIC_DESCRIPTORS, Featurizer, Fingerprint, MoleculeForm, MoleculeReading, SmilesError, molecule_graph,
    scaffold_key,
};
pub use statistics::{Statistics, statistics};
// For the other crates of this workspace.
#[doc(hidden)]
pub use text::{escape, escape_up_to};
