//! One way into the crate for every file: [`open`] finds the format, reads it, and reports what it noticed.
//!
//! The formats themselves are in [`formats`](super::formats).

mod options;

pub use options::{EdgeDirection, OnBadRow, RULES, ReadOptions};

use super::formats::{self, Format, check_effects};
use super::{BadRow, DataError, Dataset, Place};
use crate::content::ContentHash;
use crate::exchange::Exchange;
use crate::graph::Graph;
use crate::partition::Partition;
use crate::preparation::GraphInParts;
use std::io;
use std::path::Path;

/// What was noticed while reading.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Things worth telling a person, such as what was ignored.
    pub notes: Vec<String>,
    /// What was inferred about columns and targets, in words.
    pub inferred: Vec<String>,
    /// How a local copy of a benchmark data set differs from the published one.
    pub differences: Vec<String>,
    /// Unusable records in input order, as many as [`Limits::bad_rows`](super::Limits::bad_rows) allows.
    pub bad_rows: Vec<BadRow>,
    /// For every entry of `bad_rows`, the record's position in the input; empty under [`OnBadRow::Skip`].
    pub bad_positions: Vec<usize>,
    /// Number of unusable records.
    pub bad_row_count: u64,
    /// For every record of the input, in order, its position among the samples; `None` for a record that was replaced
    /// by nothing under [`OnBadRow::Null`]. Skipped records have no entry.
    pub rows: Vec<Option<usize>>,
}

/// A data set and what was noticed while reading it.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The graphs.
    pub dataset: Dataset,
    /// What was noticed.
    pub report: Report,
}

/// Reads graphs from a file or folder in any known format.
///
/// # Errors
///
/// [`DataError`] with the place of the first problem, or of all bad rows; [`DataError::Malformed`] for a file without
/// graphs.
///
/// # Examples
///
/// ```no_run
/// use graphminnet_data::{ReadOptions, open};
///
/// let read = open("molecules.csv".as_ref(), &ReadOptions::default())?;
/// println!("{} graphs, task {:?}", read.dataset.samples.len(), read.dataset.schema.task);
/// # Ok::<(), graphminnet_data::DataError>(())
/// ```
pub fn open(path: &Path, options: &ReadOptions) -> Result<Read, DataError> {
    let format = match options.format {
        Some(format) => format,
        None => formats::detect(path)?,
    };
    check_effects(format, path, options)?;
    some(formats::read(format, path, options)?, path, options)
}

/// How a single graph is read in parts.
pub struct InParts<'a> {
    /// The processes that share the parts.
    pub hosts: &'a dyn Exchange,
    /// Chooses the parts of so many nodes. The second argument reads the graph without features, for parts that depend on its
    /// edges: all of them are then in memory until the parts are chosen.
    pub cut: &'a ChooseParts<'a>,
    /// Whether a hash of all of the data is wanted, for which it is read once more. Without it nothing is found in a cache.
    pub hashed: bool,
}

/// Chooses the parts of so many nodes, by the structure of the graph if need be.
pub type ChooseParts<'a> =
    dyn Fn(usize, &dyn Fn() -> Result<Graph, DataError>) -> Result<Partition, DataError> + 'a;

/// A single graph of which a process keeps some parts.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadInParts {
    /// What was read, with a graph that has nodes alone: targets and parts of the data are those of all nodes.
    pub read: Read,
    /// The parts of this process.
    pub graph: GraphInParts,
    /// The hash of the only sample, where it was asked for.
    pub content: Option<ContentHash>,
}

/// Reads the parts of a single graph that belong to a process, and never all of it: rows pass through, those of its own nodes
/// stay, and so do the edges that touch them. `None` where that cannot be done, and [`open`] is the way: the format is not a CSV
/// folder, there are several graphs, or nodes without a table or targets of their own.
///
/// What comes out is what cutting the whole graph would give, to the bit.
///
/// # Errors
///
/// As [`open`], on all processes that read the same file; those of choosing the parts. A graph that cannot be used is an error
/// whatever the policy for bad rows, because nothing would be left.
pub fn open_in_parts(
    path: &Path,
    options: &ReadOptions,
    how: &InParts<'_>,
) -> Result<Option<ReadInParts>, DataError> {
    let format = match options.format {
        Some(format) => format,
        None => formats::detect(path)?,
    };
    check_effects(format, path, options)?;
    match format {
        Format::CsvFolder => formats::read_csv_folder_in_parts(path, options, how),
        _ => Ok(None),
    }
}

/// Reads a stream; `name` is that of the data set, and what errors call it. The options must say whether it is a CSV
/// table or JSON Lines.
///
/// # Errors
///
/// As [`open`]; [`DataError::UnknownFormat`] for a format that is no stream.
pub fn read_stream(
    stream: Box<dyn io::Read + Send>,
    name: &str,
    options: &ReadOptions,
) -> Result<Read, DataError> {
    let path = Path::new(name);
    let format = formats::of_stream(path, options)?;
    check_effects(format, path, options)?;
    let lines = formats::Lines::new(stream, path, None, &options.limits);
    some(formats::read_lines(format, lines, path, options)?, path, options)
}

/// Fails if there is nothing. A shard may be empty.
fn some(read: Read, path: &Path, options: &ReadOptions) -> Result<Read, DataError> {
    if read.dataset.samples.is_empty() && read.report.bad_row_count == 0 && options.shard.is_none() {
        return Err(DataError::malformed(Place::file(path), "no graphs", "at least one"));
    }
    Ok(read)
}
