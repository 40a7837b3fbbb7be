//! The benchmark data sets by name.

use std::fmt;
use std::path::PathBuf;

/// What to tell someone whose data set is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotHere {
    /// Name of the data set.
    pub name: String,
    /// Folders that were looked at.
    pub looked_in: Vec<PathBuf>,
}

impl fmt::Display for NotHere {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.name)
    }
}
