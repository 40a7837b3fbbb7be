//! Collections of graphs with targets: what they are, where they come from, how they are split and prepared.
//!
//! This module turns bytes into [`Dataset`]s and never sees a tensor.
//!
//! * [`open`] reads any known file or folder; [`ReadOptions`] says how, [`Report`] what was noticed;
//! * [`formats`] holds one reader per format, [`import`] the published archives, [`smiles`] molecules;
//! * [`registry`] knows the ten benchmark data sets by name;
//! * [`DataCard`] sums a data set up on one page;
//! * [`Limits`] bounds everything that a file may ask for, [`DataError`] says where it went wrong.

pub mod cache;
mod card;
mod dataset;
pub mod download;
mod error;
pub mod formats;
#[doc(hidden)]
pub mod fuzzing;
pub mod generate;
pub mod import;
pub(crate) mod limits;
pub mod loader;
pub mod prepare;
mod read;
pub mod registry;
mod rows;
mod schema;
pub mod smiles;
pub mod split;

pub use card::{DataCard, TargetSummary, TargetValues};
pub use dataset::{Column, ColumnKind, Dataset, Level, Sample, Schema, Split, Task};
pub use error::{BadRow, DataError, Place, PlaceParts, escape, escape_up_to};
pub use limits::{Exceeded, Limits};
pub use read::{EdgeDirection, OnBadRow, Read, ReadOptions, Report, open};
pub use rows::{InputRow, RowReader};
pub use smiles::{Featurizer, SmilesError, molecule_graph, scaffold_key};
