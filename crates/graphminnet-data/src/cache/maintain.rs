//! Listing, checking and shrinking a cache.

use super::entry::check;
use super::{Cache, CacheError, EXTENSION};
use crate::fs::IoError;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Temporary files older than this were left behind by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// One file of a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    /// The file.
    pub path: PathBuf,
    /// Name of the transform, from the name of the file.
    pub transform: String,
    /// Size of the file.
    pub bytes: u64,
    /// When it was written.
    pub modified: SystemTime,
}

/// An entry that has been read and checked.
#[derive(Debug)]
pub struct CheckedEntry {
    /// The entry.
    pub entry: CacheEntry,
    /// What is wrong with it, if anything.
    pub problem: Option<CacheError>,
}

/// What was removed from a cache.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Collected {
    /// Number of entries removed.
    pub entries: usize,
    /// Number of abandoned temporary files removed.
    pub temporary: usize,
    /// Bytes freed.
    pub bytes: u64,
    /// Bytes of the entries that are left.
    pub left: u64,
}

impl Cache {
    /// All entries, oldest first. A directory that does not exist has none.
    ///
    /// # Errors
    ///
    /// [`CacheError::Io`] if the directory cannot be read.
    pub fn entries(&self) -> Result<Vec<CacheEntry>, CacheError> {
        Ok(self.files()?.into_iter().filter_map(|(entry, is_entry)| is_entry.then_some(entry)).collect())
    }

    /// Reads every entry and checks it.
    ///
    /// # Errors
    ///
    /// [`CacheError::Io`] if the directory cannot be read; what is wrong with an entry stands beside it.
    pub fn verify(&self) -> Result<Vec<CheckedEntry>, CacheError> {
        let checked = |entry: CacheEntry| {
            let problem = check(&entry.path).err();
            CheckedEntry { entry, problem }
        };
        Ok(self.entries()?.into_iter().map(checked).collect())
    }

    /// Removes the oldest entries until at most `max_bytes` are left, and temporary files that were abandoned.
    ///
    /// # Errors
    ///
    /// [`CacheError::Io`] if the directory cannot be read or a file cannot be removed.
    pub fn collect_garbage(&self, max_bytes: u64) -> Result<Collected, CacheError> {
        let files = self.files()?;
        let now = SystemTime::now();
        let mut left: u64 =
            files.iter().filter(|(_, is_entry)| *is_entry).map(|(entry, _)| entry.bytes).sum();
        let mut collected = Collected::default();
        for (entry, is_entry) in files {
            let age = now.duration_since(entry.modified).unwrap_or_default();
            let remove = if is_entry { left > max_bytes } else { age > ABANDONED };
            if !remove {
                continue;
            }
            match fs::remove_file(&entry.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(IoError::at("remove", &entry.path)(error).into());
                }
                _ => {}
            }
            collected.bytes += entry.bytes;
            if is_entry {
                left -= entry.bytes;
                collected.entries += 1;
            } else {
                collected.temporary += 1;
            }
        }
        collected.left = left;
        Ok(collected)
    }

    /// Entries and temporary files (the flag tells which), oldest first.
    fn files(&self) -> Result<Vec<(CacheEntry, bool)>, CacheError> {
        let listing = match fs::read_dir(&self.directory) {
            Ok(listing) => listing,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(IoError::at("list", &self.directory)(error).into()),
        };
        let mut files = Vec::new();
        for item in listing {
            let item = item.map_err(IoError::at("list", &self.directory))?;
            let name = item.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_entry = name.ends_with(&format!(".{EXTENSION}"));
            if !is_entry && !name.contains(&format!(".{EXTENSION}.tmp-")) {
                continue;
            }
            let path = item.path();
            let metadata = match item.metadata() {
                Ok(metadata) => metadata,
                // Another process may have removed or renamed it just now.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(IoError::at("read", &path)(error).into()),
            };
            if !metadata.is_file() {
                continue;
            }
            let modified = metadata.modified().map_err(IoError::at("read", &path))?;
            let transform = name.split('-').next().unwrap_or_default().to_owned();
            files.push((CacheEntry { path, transform, bytes: metadata.len(), modified }, is_entry));
        }
        files.sort_by(|(a, _), (b, _)| (a.modified, &a.path).cmp(&(b.modified, &b.path)));
        Ok(files)
    }
}
