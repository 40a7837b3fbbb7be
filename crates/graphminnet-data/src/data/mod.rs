//! Collections of graphs with targets: what they are, where they come from, how they are split and prepared.
//!
//! This module turns bytes into [`Dataset`]s and never sees a tensor.
//!
//! * [`open`] reads any known file or folder; [`ReadOptions`] says how, [`Report`] what was noticed;
//! * [`formats`] holds one reader per format, [`import`] the published archives, [`smiles`] molecules;
//! * [`registry`] knows the ten benchmark data sets by name;
//! * [`Limits`] bounds everything that a file may ask for, [`DataError`] says where it went wrong.

pub mod cache;
mod dataset;
pub mod generate;
pub mod loader;
pub mod prepare;
pub mod split;
pub mod download;
mod error;
pub mod formats;
#[doc(hidden)]
pub mod fuzzing;
pub mod import;
pub(crate) mod limits;
mod read;
pub mod registry;
mod schema;
pub mod smiles;

pub use dataset::{Column, ColumnKind, Dataset, Level, Sample, Schema, Split, Task};
pub use error::{BadRow, DataError, Place, PlaceParts, escape};
pub use limits::{Exceeded, Limits};
pub use read::{EdgeDirection, OnBadRow, Read, ReadOptions, Report, open};
pub use smiles::{Featurizer, SmilesError, molecule_graph, scaffold_key};
