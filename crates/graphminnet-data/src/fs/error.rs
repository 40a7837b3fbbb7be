//! A file operation that failed: what was being done, to what, and why it did not work.

use crate::text::escape_up_to;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Characters of a path that a message shows.
const SHOWN: usize = 1_000;

/// A file operation that failed.
#[derive(Debug, Error)]
#[error("cannot {action} {}: {source}", escape_up_to(&path.to_string_lossy(), SHOWN))]
pub struct IoError {
    /// What was being done: `open`, `read`, `write`, `rename` …
    pub action: &'static str,
    /// To which file or folder.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

impl IoError {
    /// Puts a cause together with what was being done, for `map_err`.
    pub fn at<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self { action, path: path.to_owned(), source }
    }

    /// Whether the file does not exist.
    pub fn is_not_found(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }
}
