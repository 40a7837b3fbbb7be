//! `SHA256SUMS`: hashes of first downloads, readable by the `sha256sum` tool.

use crate::DataError;
use crate::fs::write_atomically_with;
use std::path::Path;

const NAME: &str = "SHA256SUMS";
/// Longest file that is read.
const MAX_BYTES: u64 = 1 << 20;

fn read(folder: &Path) -> Result<Vec<(String, String)>, DataError> {
    let path = folder.join(NAME);
    match std::fs::metadata(&path) {
        Ok(metadata) if metadata.len() <= MAX_BYTES => {}
        _ => return Ok(Vec::new()),
    }
    let text = std::fs::read_to_string(&path).map_err(DataError::io(&path, "read"))?;
    let pairs = text.lines().filter_map(|line| line.split_once("  "));
    Ok(pairs.map(|(hash, name)| (name.trim().to_owned(), hash.trim().to_ascii_lowercase())).collect())
}

/// The hash that was recorded for a file.
pub fn recorded(folder: &Path, name: &str) -> Result<Option<String>, DataError> {
    Ok(read(folder)?.into_iter().find(|(recorded, _)| recorded == name).map(|(_, hash)| hash))
}

/// Records the hash of a file.
pub(super) fn record(folder: &Path, name: &str, hash: &str) -> Result<(), DataError> {
    let mut entries = read(folder)?;
    entries.push((name.to_owned(), hash.to_owned()));
    entries.sort();
    let path = folder.join(NAME);
    Ok(write_atomically_with(&path, |out| {
        entries.iter().try_for_each(|(name, hash)| writeln!(out, "{hash}  {name}"))
    })?)
}
