//! The file formats: their names, how a path tells which one it is, and how to write them.
//!
//! ```
//! use graphminnet_data::formats::{Format, detect, write};
//! use graphminnet_data::generate::CircularSkipLinks;
//! use graphminnet_data::{ReadOptions, open};
//!
//! let rings = CircularSkipLinks { nodes: 11, skips: vec![2, 3], copies: 2 }.generate(0)?;
//! let path = std::env::temp_dir().join(format!("rings-{}.jsonl", std::process::id()));
//! assert_eq!(write(&rings, &path)?, Format::Jsonl);
//! assert_eq!(detect(&path)?, Format::Jsonl);
//! assert_eq!(open(&path, &ReadOptions::default())?.dataset.samples.len(), 4);
//! # std::fs::remove_file(path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`open`](crate::open) reads any of them. Readers stream, stay within [`Limits`](super::Limits), and treat every byte
//! as hostile until a [`Graph`] has been built from it. A layout of several files may be a folder or an archive.
//!
//! [`Graph`]: crate::graph::Graph

// For the other crates of this workspace: the one reader and writer of CSV.
#[doc(hidden)]
pub mod csv;
mod csv_folder;
mod descriptor_columns;
mod edgelist_folder;
mod effects;
mod graph6;
mod jsonl;
mod lines;
mod molecule_columns;
mod ogb;
mod pair_list;
// For the command, which writes tables of vectors and predictions.
#[doc(hidden)]
pub mod parquet;
mod sdf;
mod sheet;
mod smiles_csv;
mod smiles_rows;
mod target_columns;
mod tree;
mod tudataset;
mod value_lists;
mod weight_column;
mod write;

pub use csv_folder::write_csv_folder;
pub(crate) use effects::check_effects;
#[cfg(feature = "benchmarks")]
pub(crate) use graph6::read_lines as read_graph6_lines;
pub use graph6::write_graph6;
pub use jsonl::write_jsonl;
pub(crate) use jsonl::write_jsonl_to;
pub(crate) use jsonl::{names as jsonl_names, open_lines as open_jsonl, read_lines as read_jsonl_lines};
pub(crate) use lines::Lines;
// For the command, which predicts for lists of pairs and names nodes as their file does.
#[doc(hidden)]
pub use csv_folder::{NodeNames, node_text};
#[doc(hidden)]
pub use pair_list::{PairRow, read_pair_list};
pub(crate) use smiles_csv::reading as molecule_reading;
#[cfg(feature = "benchmarks")]
pub(crate) use smiles_csv::{read_lines as read_smiles_lines, read_parquet_bytes};
pub(super) use smiles_csv::{smiles, smiles_of_lines};
pub(super) use smiles_rows::SmilesRows;
pub(crate) use tree::{Folder, Tree, lines_of};
pub use write::write;

use super::{DataError, Dataset, Features, Place, Read, ReadOptions, Sample, Split};
use crate::fs::without_compression;
use crate::read::{InParts, ReadInParts};
use edgelist_folder::Numbering;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// A file format, or the layout of a folder or archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// One graph per line of JSON.
    Jsonl,
    /// A table with a column of SMILES strings, with commas, semicolons, tabs or blanks.
    SmilesCsv,
    /// The same as a Parquet file.
    Parquet,
    /// The same as the first sheet of a spreadsheet.
    Xlsx,
    /// MOL blocks with properties.
    Sdf,
    /// `graphs.csv`, `nodes.csv`, `edges.csv`.
    CsvFolder,
    /// The raw CSV layout of the Open Graph Benchmark.
    Ogb,
    /// The text layout of the TUDataset collection.
    TuDataset,
    /// One edge list per graph, one sub-folder per class.
    EdgelistFolder,
    /// graph6 or sparse6 lines.
    Graph6,
}

impl Format {
    /// All formats with the names or layouts by which they are found. Every file may end in `.gz` or `.zst`.
    pub const ALL: [(Self, &'static str); 10] = [
        (Self::Jsonl, "`.jsonl` or `.ndjson`: one graph per line"),
        (Self::SmilesCsv, "`.csv`, `.tsv`, `.smi` or `.txt`: a column of SMILES"),
        (Self::Parquet, "`.parquet`: a column of SMILES"),
        (Self::Xlsx, "`.xlsx`: a column of SMILES in the first sheet"),
        (Self::Sdf, "`.sdf` or `.mol`: MOL blocks (V2000 or V3000) with properties"),
        (Self::Graph6, "`.g6` or `.s6`: graph6 or sparse6"),
        (Self::CsvFolder, "folder with `edges.csv`: graphs.csv, nodes.csv, edges.csv"),
        (Self::Ogb, "folder with `raw/num-node-list.csv`: OGB layout"),
        (Self::TuDataset, "folder with `NAME_A.txt`: TUDataset layout"),
        (Self::EdgelistFolder, "folder with `.edgelist` files: one sub-folder per class"),
    ];
}

impl Format {
    /// Name of the format, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::SmilesCsv => "smiles-csv",
            Self::Parquet => "parquet",
            Self::Xlsx => "xlsx",
            Self::Sdf => "sdf",
            Self::Graph6 => "graph6",
            Self::CsvFolder => "csv-folder",
            Self::Ogb => "ogb",
            Self::TuDataset => "tudataset",
            Self::EdgelistFolder => "edgelist-folder",
        }
    }
}

impl std::str::FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(format, _)| format.name() == text);
        found.map(|(format, _)| *format).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(format, _)| format.name()).collect();
            format!("expected one of {}", names.join(", "))
        })
    }
}

/// Finds the format from the extension, or the layout of a folder.
///
/// # Errors
///
/// [`DataError::UnknownFormat`], [`DataError::Io`].
pub fn detect(path: &Path) -> Result<Format, DataError> {
    let metadata = std::fs::metadata(path).map_err(DataError::io(path, "open"))?;
    if metadata.is_dir() {
        return detect_tree(&Folder::new(path, &super::Limits::default()));
    }
    let inner = without_compression(path);
    let extension = inner.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "jsonl" | "ndjson" => Ok(Format::Jsonl),
        "csv" | "tsv" | "smi" | "txt" => Ok(Format::SmilesCsv),
        "parquet" | "pq" => Ok(Format::Parquet),
        "sdf" | "sd" | "mol" => Ok(Format::Sdf),
        "g6" | "s6" => Ok(Format::Graph6),
        "xlsx" => Ok(Format::Xlsx),
        "xls" | "xlsb" | "ods" => Err(unknown(
            path,
            "a spreadsheet: save it as .xlsx, or as CSV (any separator will do)".to_owned(),
        )),
        other => Err(unknown(path, format!("extension `{}`", super::escape(other)))),
    }
}

/// The layout of a folder or archive.
pub(crate) fn detect_tree(tree: &dyn Tree) -> Result<Format, DataError> {
    let has = |name: &str| ["", ".gz", ".zst"].iter().any(|suffix| tree.contains(&format!("{name}{suffix}")));
    if has("raw/num-node-list.csv") {
        return Ok(Format::Ogb);
    }
    if has("edges.csv") {
        return Ok(Format::CsvFolder);
    }
    let names = tree.names()?;
    if !tudataset::prefixes(&names).is_empty() {
        return Ok(Format::TuDataset);
    }
    if edgelist_folder::recognises(&names) {
        return Ok(Format::EdgelistFolder);
    }
    Err(unknown(tree.root(), "none of the known layouts".to_owned()))
}

fn unknown(path: &Path, reason: String) -> DataError {
    let known: Vec<&str> = Format::ALL.iter().map(|(_, description)| *description).collect();
    DataError::UnknownFormat { path: path.to_path_buf(), reason, known: known.join("; ") }
}

/// The format of a stream, which the options must name.
///
/// # Errors
///
/// [`DataError::UnknownFormat`] if they do not, or name a format that is no stream.
pub(crate) fn of_stream(path: &Path, options: &ReadOptions) -> Result<Format, DataError> {
    let reason = match options.format {
        _ if options.shard.is_some() => {
            "a stream cannot be read in shards: it has no parts to begin at".to_owned()
        }
        Some(format @ (Format::SmilesCsv | Format::Jsonl)) => return Ok(format),
        Some(format) => format!("{} cannot be read from a stream", format.name()),
        None => "a stream has no name to tell its format by".to_owned(),
    };
    let known = "smiles-csv, jsonl".to_owned();
    Err(DataError::UnknownFormat { path: path.to_path_buf(), reason, known })
}

/// Reads a stream of lines in one of the formats of [`of_stream`].
pub(crate) fn read_lines(
    format: Format,
    mut lines: Lines,
    path: &Path,
    options: &ReadOptions,
) -> Result<Read, DataError> {
    match format {
        Format::Jsonl => jsonl::read_lines(&mut lines, path, options),
        _ => smiles_csv::read_lines(lines, path, options),
    }
}

/// Fails for the name of a split scheme where a format has none; earlier rules took no notice.
fn check_scheme(format: Format, path: &Path, options: &ReadOptions) -> Result<(), DataError> {
    match format {
        Format::Ogb | Format::EdgelistFolder => Ok(()),
        _ if options.split.is_none() || options.rules < 5 => Ok(()),
        _ => Err(DataError::Schema {
            place: Place::file(path),
            reason: "only folders in OGB's layout and folders of edge lists have split schemes to choose from; a column of \
                     parts is named by `--split-column`"
                .to_owned(),
        }),
    }
}

/// Reads `path` in a given format.
pub(super) fn read(format: Format, path: &Path, options: &ReadOptions) -> Result<Read, DataError> {
    check_scheme(format, path, options)?;
    match format {
        Format::Jsonl => jsonl::read(path, options),
        Format::SmilesCsv | Format::Parquet | Format::Xlsx | Format::Sdf => {
            smiles_csv::read(format, path, options)
        }
        Format::Graph6 => graph6::read(path, options),
        Format::CsvFolder | Format::Ogb | Format::TuDataset | Format::EdgelistFolder => {
            read_tree(format, &Folder::by_rules(path, options), options)
        }
    }
}

/// Reads some parts of the only graph of a CSV folder; `None` where it cannot be read so.
pub(super) fn read_csv_folder_in_parts(
    path: &Path,
    options: &ReadOptions,
    how: &InParts<'_>,
) -> Result<Option<ReadInParts>, DataError> {
    check_scheme(Format::CsvFolder, path, options)?;
    csv_folder::read_in_parts(&Folder::by_rules(path, options), options, how)
}

/// Reads a layout of several files from a folder or archive.
pub(crate) fn read_tree(format: Format, tree: &dyn Tree, options: &ReadOptions) -> Result<Read, DataError> {
    match format {
        Format::CsvFolder => csv_folder::read(tree, options),
        Format::Ogb => ogb::read(tree, options),
        Format::TuDataset => tudataset::read(tree, options),
        Format::EdgelistFolder => edgelist_folder::read(tree, Numbering::AsGiven, options),
        Format::Jsonl | Format::SmilesCsv | Format::Parquet | Format::Xlsx | Format::Sdf | Format::Graph6 => {
            Err(unknown(tree.root(), "a single file was expected".to_owned()))
        }
    }
}

/// Reads MalNet's published archives: edge lists, renumbered without gaps as the benchmark counts them.
#[cfg(feature = "benchmarks")]
pub(crate) fn read_malnet(tree: &dyn Tree, options: &ReadOptions) -> Result<Read, DataError> {
    edgelist_folder::read(tree, Numbering::WithoutGaps, options)
}

/// Fails for a data set with something that no written format holds: better no file than one that lacks it.
fn check_writable(dataset: &Dataset) -> io::Result<()> {
    let refused =
        |what| Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{what} cannot be written")));
    let plain = |sample: &Sample| *sample.graph.graph_features() == Features::none(1);
    if dataset.samples.iter().all(plain) { Ok(()) } else { refused("features of whole graphs") }
}

/// The part of the split that a text in a column names; case does not matter.
fn parse_split(text: Option<&str>, column: &str, place: &Place) -> Result<Option<Split>, DataError> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    match text.to_ascii_lowercase().as_str() {
        "train" | "training" => Ok(Some(Split::Train)),
        "valid" | "val" | "validation" | "dev" => Ok(Some(Split::Valid)),
        "test" | "testing" => Ok(Some(Split::Test)),
        _ => {
            Err(DataError::value(place.clone().in_column(column), text, "`train`, `valid`, `test` or blank"))
        }
    }
}

/// Masks of nodes, one for each part of the data.
struct Masks;

impl Masks {
    /// The part that a mask of this name is for.
    fn part_of(name: &str) -> Option<Split> {
        match name {
            "train_mask" => Some(Split::Train),
            "valid_mask" | "val_mask" => Some(Split::Valid),
            "test_mask" => Some(Split::Test),
            _ => None,
        }
    }

    /// The part of a node that is in the training, validation and test part or not.
    fn part(flags: [bool; 3], place: &Place) -> Result<Option<Split>, DataError> {
        let mut parts = Split::ALL.into_iter().zip(flags).filter(|(_, holds)| *holds).map(|(part, _)| part);
        match (parts.next(), parts.next()) {
            (Some(first), Some(second)) => Err(DataError::value(
                place.clone().in_column(format!("{first}_mask")),
                format!("a node in the {first} and in the {second} part"),
                "one part for each node",
            )),
            (part, _) => Ok(part),
        }
    }
}
