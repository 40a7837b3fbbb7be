//! Graphs, reading them from files, and what is computed for them before a model sees them.
//!
//! ```
//! use graphminnet::data::{Features, Graph, PrepareOptions, prepare_graph};
//! use std::sync::Arc;
//!
//! // A path of three nodes with one number each. Both directions of every edge are written down.
//! let edges = vec![[0, 1], [1, 0], [1, 2], [2, 1]];
//! let path = Graph::new(3, edges, Features::numbers(3, 1, vec![0.5, 1.0, 2.0])?, Features::none(4))?;
//!
//! let prepared = prepare_graph(&Arc::new(path), &PrepareOptions { eigenpairs: 2, ..Default::default() })?;
//! assert_eq!(prepared.graph.num_nodes(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * [`Graph`] is validated and immutable; [`Features`] belong to its nodes or edges.
//! * [`open`] reads any known file or folder into a [`Dataset`]; [`RowReader`] reads files and streams row by row, for
//!   data that does not fit into memory. [`write()`] writes a data set.
//! * [`molecule_graph`] makes a graph of a SMILES string.
//! * [`Splits`] divide a data set; [`RingTransfer`] generates one.
//! * [`prepare_graph`] and [`prepare_all`] compute eigenpairs, random walks and degrees; [`Cache`] keeps them on disk.
//!
//! These are the items of the crate `graphminnet-data` that a user of the library meets. That crate has more: other
//! generators, links to hide, the statistics of a data set, the published benchmarks. All of it is
//! [`graphminnet::graphminnet_data`](crate::graphminnet_data).

// Graphs and data sets.
pub use graphminnet_data::{
    Batch, Bound, Column, ColumnKind, Dataset, Encodings, Features, Graph, GraphError, Level, MoleculeTable,
    NodeParts, Pairs, Part, Qualifiers, Sample, Schema, Side, Split, Task,
};

// Reading and writing.
pub use graphminnet_data::formats::{Format, write};
pub use graphminnet_data::{
    BadRow, DataError, EdgeDirection, Featurizer, InputRow, LimitChange, Limits, MoleculeForm,
    MoleculeReading, OnBadRow, Read, ReadOptions, Report, RowReader, SmilesError, molecule_graph, open,
};

// Splitting and generating.
pub use graphminnet_data::generate::{PartSizes, RingTransfer};
pub use graphminnet_data::split::{GroupBy, Ratios, SplitError, Splits};

// What is computed before training.
pub use graphminnet_data::cache::{Cache, CacheError};
pub use graphminnet_data::exchange::{Alone, Exchange};
pub use graphminnet_data::preparation::{
    Origin, PreparationReport, PreparedDataset, PreparedSample, Progress, Transform,
};
pub use graphminnet_data::spectral::{
    PrepareOptions, PreparedGraph, SpectralError, Stop, Stopped, prepare_all, prepare_graph,
};
