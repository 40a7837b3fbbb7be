//! One reader per file format, and how a path tells which.
//!
//! Readers stream, are bounded by [`Limits`](super::Limits), and treat every byte as hostile until a [`Graph`]
//! has been built from it.
//!
//! [`Graph`]: crate::graph::Graph

mod jsonl;
mod ogb;

pub use jsonl::{write_jsonl, write_jsonl_to};

use super::{DataError, Read, ReadOptions};
use crate::io::{Folder, Tree, without_compression};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A file format, or the layout of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// One graph per line of JSON.
    Jsonl,
    /// The raw CSV layout of the Open Graph Benchmark.
    Ogb,
}

impl Format {
    /// All formats with the names or layouts by which they are found.
    pub const ALL: [(Self, &'static str); 2] = [
        (Self::Jsonl, "`.jsonl` or `.ndjson`: one graph per line"),
        (Self::Ogb, "folder with `raw/num-node-list.csv`: OGB layout"),
    ];
}

/// Finds the format from the extension, or the layout of a folder.
///
/// # Errors
///
/// [`DataError::UnknownFormat`], [`DataError::Io`].
pub fn detect(path: &Path) -> Result<Format, DataError> {
    let metadata = std::fs::metadata(path).map_err(DataError::io(path, "open"))?;
    if metadata.is_dir() {
        return detect_folder(path);
    }
    let inner = without_compression(path);
    let extension = inner.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "jsonl" | "ndjson" => Ok(Format::Jsonl),
        other => Err(unknown(path, format!("extension `{}`", super::escape(other)))),
    }
}

fn detect_folder(path: &Path) -> Result<Format, DataError> {
    let has =
        |name: &str| ["", ".gz", ".zst"].iter().any(|suffix| path.join(format!("{name}{suffix}")).is_file());
    if has("raw/num-node-list.csv") {
        return Ok(Format::Ogb);
    }
    Err(unknown(path, "a folder with none of the known layouts".to_owned()))
}

fn unknown(path: &Path, reason: String) -> DataError {
    let known: Vec<&str> = Format::ALL.iter().map(|(_, description)| *description).collect();
    DataError::UnknownFormat { path: path.to_path_buf(), reason, known: known.join("; ") }
}

/// Reads `path` in a given format.
pub(super) fn read(format: Format, path: &Path, options: &ReadOptions) -> Result<Read, DataError> {
    match format {
        Format::Jsonl => jsonl::read(path, options),
        Format::Ogb => ogb::read(&folder(path, options), options),
    }
}

fn folder(path: &Path, options: &ReadOptions) -> impl Tree {
    Folder::new(path, &options.limits)
}
