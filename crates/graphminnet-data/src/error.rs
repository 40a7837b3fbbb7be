//! Everything that can go wrong between a file and a [`Dataset`](super::Dataset), with the place where it did.
//!
//! Text that comes from a file is escaped and shortened before it enters a message: a file must not be able to move
//! the cursor of the terminal that shows the message.

use super::limits::Exceeded;
use crate::budget::{MEMORY, bytes_of};
use crate::fs::IoError;
use crate::graph::GraphError;
use crate::text::{counted, escape};
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Where in the input something is.
///
/// Dereferences to its parts; boxed so that errors stay small.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place(Box<PlaceParts>);

/// The parts of a [`Place`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlaceParts {
    /// The file (or folder).
    pub file: PathBuf,
    /// The member, if the file is an archive.
    pub member: Option<String>,
    /// Line, counted from 1.
    pub line: Option<u64>,
    /// Row of a table without lines, counted from 1.
    pub row: Option<u64>,
    /// Column or field, by name.
    pub column: Option<String>,
    /// Byte, counted from 0 (after decompression).
    pub byte: Option<u64>,
}

impl Deref for Place {
    type Target = PlaceParts;

    fn deref(&self) -> &PlaceParts {
        &self.0
    }
}

impl Place {
    /// A whole file.
    pub(crate) fn file(path: impl Into<PathBuf>) -> Self {
        Self(Box::new(PlaceParts { file: path.into(), ..PlaceParts::default() }))
    }

    /// Bytes that it takes, besides those of its place in a list.
    pub(crate) fn bytes(&self) -> u64 {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let texts = self.file.as_os_str().len() + text(&self.member) + text(&self.column);
        bytes_of::<PlaceParts>(1) + texts as u64
    }

    /// The same place, at a line counted from 1.
    #[must_use]
    pub(crate) fn at_line(mut self, line: u64) -> Self {
        self.0.line = Some(line);
        self
    }

    /// The same place, at a row counted from 1.
    #[must_use]
    pub(crate) fn at_row(mut self, row: u64) -> Self {
        self.0.row = Some(row);
        self
    }

    /// The same place, in a column or field.
    #[must_use]
    pub(crate) fn in_column(mut self, column: impl AsRef<str>) -> Self {
        self.0.column = Some(escape(column.as_ref()));
        self
    }

    /// The same place, at a byte counted from 0.
    #[must_use]
    pub(crate) fn at_byte(mut self, byte: u64) -> Self {
        self.0.byte = Some(byte);
        self
    }

    /// The same place, in a member of an archive.
    #[must_use]
    pub(crate) fn in_member(mut self, member: impl AsRef<str>) -> Self {
        self.0.member = Some(escape(member.as_ref()));
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", escape(&self.file.to_string_lossy()))?;
        if let Some(member) = &self.member {
            write!(out, "::{member}")?;
        }
        if let Some(line) = self.line {
            write!(out, ", line {line}")?;
        }
        if let Some(row) = self.row {
            write!(out, ", row {row}")?;
        }
        if let Some(column) = &self.column {
            write!(out, ", column `{column}`")?;
        }
        if let Some(byte) = self.byte {
            write!(out, ", byte {byte}")?;
        }
        Ok(())
    }
}

/// One record that could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRow {
    /// File, line and column.
    pub place: Place,
    /// The offending value, escaped and shortened; empty where there is none.
    pub value: String,
    /// What is wrong with it and what was expected.
    pub reason: String,
    /// The name that the source gives the record, where it could be read.
    pub id: Option<String>,
}

impl BadRow {
    /// Bytes that it takes, besides those of its place in a list.
    pub(crate) fn bytes(&self) -> u64 {
        let id = self.id.as_ref().map_or(0, String::len);
        self.place.bytes() + (self.value.len() + self.reason.len() + id) as u64
    }

    /// A bad row; `value` may be any text from a file.
    pub(crate) fn new(place: Place, value: impl AsRef<str>, reason: impl Into<String>) -> Self {
        Self { place, value: escape(value.as_ref()), reason: reason.into(), id: None }
    }
}

impl fmt::Display for BadRow {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: ", self.place)?;
        if !self.value.is_empty() {
            write!(out, "`{}`: ", self.value)?;
        }
        write!(out, "{}", self.reason)
    }
}

/// Why data could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataError {
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A file that the layout requires does not exist.
    #[error("{}: {what} is missing; expected {expected}", escape(&path.to_string_lossy()))]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
        /// What is missing.
        what: String,
        /// What the layout looks like.
        expected: String,
    },
    /// Neither the name nor the layout is one that a reader knows.
    #[error(
        "{}: not a known graph format ({reason}); known are {known}",
        escape(&path.to_string_lossy())
    )]
    UnknownFormat {
        /// The path that was given.
        path: PathBuf,
        /// What was looked at.
        reason: String,
        /// The formats there are.
        known: String,
    },
    /// Text is not UTF-8.
    #[error("{place}: not valid UTF-8; save the file as UTF-8")]
    Encoding {
        /// The first byte that is wrong.
        place: Place,
    },
    /// The structure is not what the format says.
    #[error("{place}: found {found}, expected {expected}")]
    Malformed {
        /// Where.
        place: Place,
        /// What was found (escaped).
        found: String,
        /// What the format says.
        expected: String,
    },
    /// A single value is wrong.
    #[error("{place}: `{value}` is not {expected}")]
    Value {
        /// Where.
        place: Place,
        /// The value (escaped).
        value: String,
        /// What would be right.
        expected: String,
    },
    /// Something is larger than the reader accepts.
    #[error("{place}: {}", Exceeded { limit_name: name, found: *found, limit: *limit })]
    Limit {
        /// Where.
        place: Place,
        /// Field of [`Limits`](super::Limits).
        name: &'static str,
        /// What was found (a lower bound where counting stopped early).
        found: u64,
        /// What is allowed.
        limit: u64,
    },
    /// The parts are fine but do not make a graph.
    #[error("{place}: {source}")]
    Graph {
        /// Where.
        place: Place,
        /// Why not.
        source: GraphError,
    },
    /// Rows could not be used and the policy is to stop.
    #[error("{}", describe_bad_rows(rows, *total))]
    BadRows {
        /// The bad rows that were looked at, in input order.
        rows: Vec<BadRow>,
        /// How many there were; at least `rows.len()`.
        total: u64,
    },
    /// The data does not fit the schema it is to be read with.
    #[error("{place}: {reason}")]
    Schema {
        /// Where.
        place: Place,
        /// Column, what it holds, what the schema says.
        reason: String,
    },
    /// An instruction, a name or a size in a pickle or array file is not allowed.
    #[cfg(feature = "benchmarks")]
    #[error("{place}: {reason}")]
    Pickle {
        /// File, member and byte.
        place: Place,
        /// What is not allowed.
        reason: String,
    },
    /// An archive is damaged or hostile.
    #[error("{place}: {reason}")]
    Archive {
        /// File and member.
        place: Place,
        /// What is wrong.
        reason: String,
    },
    /// A named data set is not on this machine.
    #[cfg(feature = "benchmarks")]
    #[error("{0}")]
    NotHere(Box<super::registry::NotHere>),
    /// A name is not in the registry.
    #[cfg(feature = "benchmarks")]
    #[error("no data set is called `{name}`; known are {known}")]
    UnknownDataset {
        /// The name that was given (escaped).
        name: String,
        /// All names.
        known: String,
    },
    /// A download did not give the expected bytes.
    #[cfg(feature = "benchmarks")]
    #[error("{url}: {reason}")]
    Download {
        /// Address.
        url: String,
        /// What happened and what was expected.
        reason: String,
    },
}

impl DataError {
    /// An error of the operating system while doing `action` on `path`.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io(IoError { action, path, source })
    }

    /// A limit exceeded at a place.
    pub(crate) fn limit(place: Place) -> impl FnOnce(Exceeded) -> Self {
        move |Exceeded { limit_name, found, limit }| Self::Limit { place, name: limit_name, found, limit }
    }

    /// What a stream that undoes a compression fails with: a limit, damage, or what reading fails with.
    pub(crate) fn stream(place: Place) -> impl FnOnce(std::io::Error) -> Self {
        use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        move |source| {
            let exceeded = source.get_ref().and_then(|error| error.downcast_ref::<Exceeded>());
            match (exceeded, source.kind()) {
                (Some(exceeded), _) => Self::limit(place)(*exceeded),
                (None, InvalidData | InvalidInput | UnexpectedEof) => {
                    Self::Archive { place, reason: format!("the compressed data is damaged: {source}") }
                }
                _ => Self::io(&place.file, "read")(source),
            }
        }
    }

    /// A structure that is not what the format says; `found` may be any text from a file.
    pub(crate) fn malformed(place: Place, found: impl AsRef<str>, expected: impl Into<String>) -> Self {
        Self::Malformed { place, found: escape(found.as_ref()), expected: expected.into() }
    }

    /// A wrong value; `value` may be any text from a file.
    pub(crate) fn value(place: Place, value: impl AsRef<str>, expected: impl Into<String>) -> Self {
        Self::Value { place, value: escape(value.as_ref()), expected: expected.into() }
    }

    /// The bad row that this error is about, for formats in which one record can fail alone.
    ///
    /// # Errors
    ///
    /// The error itself if it is about the reading as a whole, whichever row it was noticed at.
    pub(crate) fn into_bad_row(self, fallback: Place) -> Result<BadRow, Self> {
        let (place, value, reason) = match self {
            Self::Limit { name, .. } if name == MEMORY => return Err(self),
            Self::Malformed { place, found, expected } => (place, found, format!("expected {expected}")),
            Self::Value { place, value, expected } => (place, value, format!("not {expected}")),
            Self::Encoding { place } => (place, String::new(), "not valid UTF-8".to_owned()),
            Self::Graph { place, source } => (place, String::new(), source.to_string()),
            Self::Limit { place, name, found, limit } => {
                (place, String::new(), Exceeded { limit_name: name, found, limit }.to_string())
            }
            other => (fallback, String::new(), other.to_string()),
        };
        Ok(BadRow { place, value, reason, id: None })
    }
}

fn describe_bad_rows(rows: &[BadRow], total: u64) -> String {
    const SHOWN: usize = 10;
    let mut text = format!("{}:", counted(total as usize, "bad row"));
    for row in rows.iter().take(SHOWN) {
        text.push_str("\n  ");
        text.push_str(&row.to_string());
    }
    if total > SHOWN as u64 {
        text.push_str(&format!("\n  … and {} more", total - SHOWN as u64));
    }
    text.push_str("\nchoose `skip` to leave such rows out or `null` to keep their place (--on-bad-row; --skip-bad-rows of evaluate)");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_names_file_member_line_column_and_byte() {
        let place = Place::file("a.zip").in_member("b.csv").at_line(3).in_column("x").at_byte(17);
        assert_eq!(place.to_string(), "a.zip::b.csv, line 3, column `x`, byte 17");
    }
}
