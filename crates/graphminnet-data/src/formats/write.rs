//! Writes a data set in the format that a path names.

use super::{Format, write_csv_folder, write_graph6, write_jsonl, write_jsonl_to};
use crate::fs::{without_compression, write_atomically_with};
use crate::{DataError, Dataset, escape};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::path::Path;

/// Writes a data set: `.jsonl` (or `.ndjson`), also with `.gz`; `.g6`; or a folder of CSV files for a path without an
/// extension. Gives the format.
///
/// # Errors
///
/// [`DataError::UnknownFormat`] for any other path; [`DataError::Io`]; [`DataError::Malformed`] for a graph that the
/// format cannot hold.
pub fn write(dataset: &Dataset, path: &Path) -> Result<Format, DataError> {
    let inner = without_compression(path);
    let is_compressed = inner != path;
    let is_gzip =
        is_compressed && path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    let extension = inner.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("jsonl" | "ndjson") if is_gzip => {
            write_atomically_with(path, |out| {
                let mut encoder = GzEncoder::new(out, Compression::default());
                write_jsonl_to(dataset, &mut encoder)?;
                encoder.finish().map(drop)
            })?;
            Ok(Format::Jsonl)
        }
        Some("jsonl" | "ndjson") if !is_compressed => write_jsonl(dataset, path).map(|()| Format::Jsonl),
        Some("g6") if !is_compressed => write_graph6(dataset, path).map(|()| Format::Graph6),
        None if !is_compressed => write_csv_folder(dataset, path).map(|()| Format::CsvFolder),
        _ => Err(DataError::UnknownFormat {
            path: path.to_path_buf(),
            reason: format!(
                "`{}` cannot be written",
                escape(&path.extension().unwrap_or_default().to_string_lossy())
            ),
            known: "`.jsonl`, `.jsonl.gz`, `.g6`, and names without an extension for a folder of CSV files"
                .to_owned(),
        }),
    }
}
