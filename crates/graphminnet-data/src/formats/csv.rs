//! Comma-separated text: the one reader and the one writer of the project.
//!
//! Read: a header, quoted fields, embedded line ends, and the line at which a record began; tables of molecules also with
//! other separators or without a header. Written: a field is put in quotes where a comma, a quote, a line end, or a blank
//! at its ends could be misread.
//!
//! ```
//! use graphminnet_data::formats::csv::CsvWriter;
//!
//! let mut table = CsvWriter::new(Vec::new());
//! table.row(["id", "size"])?;
//! table.field("a, b")?;
//! table.field(12)?;
//! table.end_row()?;
//! assert_eq!(table.into_inner(), b"id,size\n\"a, b\",12\n");
//! # Ok::<(), std::io::Error>(())
//! ```

mod dialect;
mod part;
mod write;

pub use write::{CsvWriter, fields_of};

use super::Lines;
use super::sdf::{Fault, SdfColumns};
use crate::limits::within;
use crate::{DataError, Limits, Place, RULES, ReadOptions};
use std::path::Path;

/// What stands between two fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    /// A byte; fields may be quoted.
    Byte(u8),
    /// Blanks, any number of them; the last column takes the rest of the line, and may be missing.
    Blanks,
}

/// The first version of the rules under which columns without a name are numbered, and are no targets.
pub(super) const NAMELESS: u32 = 6;

/// The first version of the rules under which a quoted empty cell alone is a row.
const QUOTED: u32 = 7;

/// The rows of a table that is not text.
pub(super) trait TableRows: Send {
    /// Adds the cells of the next row to `text`, and where each ends to `ends`; the number of the row, counted from 1, or
    /// `None` at the end.
    fn next(&mut self, text: &mut Vec<u8>, ends: &mut Vec<usize>) -> Result<Option<u64>, DataError>;
}

/// A table with a header row, read record by record.
pub struct CsvReader {
    lines: Lines,
    separator: Separator,
    /// Where the table has no header: whether its first record is still to be handed out, and the column that looks
    /// like molecules.
    waiting: bool,
    molecules: Option<usize>,
    /// Where the records are those of an SD file: its columns, and what is wrong with the current one.
    sdf: Option<SdfColumns>,
    spoilt: Option<Fault>,
    /// Where the rows are not text: what gives them, and the number of the current one.
    rows: Option<Box<dyn TableRows>>,
    row: u64,
    limits: Limits,
    /// Version of the rules by which it is understood.
    rules: u32,
    header: Vec<String>,
    /// Columns that have a number for a name.
    nameless: Vec<usize>,
    /// Text of the current record's fields, one after the other, and where each ends.
    text: Vec<u8>,
    ends: Vec<usize>,
    /// The current record as it is written.
    raw: Vec<u8>,
    line: u64,
    /// Records before the shard that is read.
    records_before: usize,
}

impl CsvReader {
    /// Opens a file, undoing gzip and zstd, and reads its header. Names of columns may repeat.
    ///
    /// # Errors
    ///
    /// [`DataError`] if it cannot be read or has no header.
    pub fn open(path: &Path, limits: &Limits) -> Result<Self, DataError> {
        Self::with_any_header(Lines::open(path, limits)?, limits)
    }

    /// Reads the header, whose names must be unique; columns without a name are numbered, or have an empty one.
    pub(super) fn new(lines: Lines, is_numbered: bool, options: &ReadOptions) -> Result<Self, DataError> {
        let mut reader = Self::with_any_header(lines, &options.limits)?;
        reader.rules = options.rules;
        if is_numbered {
            reader.number_nameless();
        }
        reader.check_names()?;
        Ok(reader)
    }

    fn with_any_header(lines: Lines, limits: &Limits) -> Result<Self, DataError> {
        let mut reader = Self::without_header(lines, limits);
        if !reader.read_record()? {
            return Err(reader.is_empty());
        }
        reader.take_header()?;
        Ok(reader)
    }

    fn without_header(lines: Lines, limits: &Limits) -> Self {
        Self {
            lines,
            separator: Separator::Byte(b','),
            waiting: false,
            molecules: None,
            sdf: None,
            spoilt: None,
            rows: None,
            row: 0,
            limits: limits.clone(),
            rules: RULES,
            header: Vec::new(),
            nameless: Vec::new(),
            text: Vec::new(),
            ends: Vec::new(),
            raw: Vec::new(),
            line: 1,
            records_before: 0,
        }
    }

    fn is_empty(&self) -> DataError {
        DataError::malformed(self.lines.place(), "an empty file", "a header row with column names")
    }

    /// Takes the current record for the header.
    fn take_header(&mut self) -> Result<(), DataError> {
        self.check_line_ends()?;
        for field in 0..self.ends.len() {
            let name = self.checked_field(field)?.trim().to_owned();
            self.header.push(name);
        }
        Ok(())
    }

    /// Fails for line ends by which a whole file is one line.
    fn check_line_ends(&self) -> Result<(), DataError> {
        let mut quoted = false;
        let is_end = |byte: &u8| {
            quoted ^= *byte == b'"';
            !quoted && *byte == b'\r'
        };
        match self.raw.trim_ascii_end().iter().any(is_end) {
            false => Ok(()),
            true => Err(DataError::malformed(
                self.place(),
                "lines that end with CR alone, as on old Macintosh computers",
                "LF or CR LF at line ends (`tr '\\r' '\\n' <FILE >NEW` writes such a file)",
            )),
        }
    }

    /// Numbers the columns without a name as those of a table without a header.
    fn number_nameless(&mut self) {
        for (column, name) in self.header.iter_mut().enumerate().filter(|(_, name)| name.is_empty()) {
            *name = format!("column_{}", column + 1);
            self.nameless.push(column);
        }
    }

    /// Whether a column has a number for a name.
    pub(super) fn is_nameless(&self, column: usize) -> bool {
        self.nameless.contains(&column)
    }

    fn check_names(&self) -> Result<(), DataError> {
        let mut names = std::collections::HashSet::new();
        match self.header.iter().find(|name| !names.insert(name.as_str())) {
            None => Ok(()),
            Some(name) => {
                let place = self.place().in_column(name);
                Err(DataError::malformed(place, "this column twice", "column names that are unique"))
            }
        }
    }

    /// Names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// Position of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        let named = self.header.iter().position(|column| column == name);
        // So are columns without a name called in models of earlier versions.
        named.or_else(|| self.nameless.first().copied().filter(|_| name.is_empty()))
    }

    /// Position of the first of several names, ignoring case.
    pub fn column_called(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.header.iter().position(|column| column.eq_ignore_ascii_case(name)))
    }

    /// That the table has none of these columns, though it needs one.
    pub(in crate::formats) fn lacks(&self, names: &[&str]) -> DataError {
        let separator = match self.header.as_slice() {
            [header] if header.contains(';') => Some("semicolons"),
            [header] if header.contains('\t') => Some("tabs"),
            _ => None,
        };
        let (found, expected) = match separator {
            Some(separator) => {
                (format!("columns separated by {separator}"), "commas between columns".to_owned())
            }
            None => {
                let columns = crate::escape(&self.header.join(", "));
                (format!("the columns {columns}"), format!("a column called {}", names.join(" or ")))
            }
        };
        DataError::malformed(self.place(), found, expected)
    }

    /// Where the current record begins.
    pub fn place(&self) -> Place {
        match &self.rows {
            // The names of columns stand in no row of a Parquet file.
            Some(_) if self.row == 0 => self.lines.file(),
            Some(_) => self.lines.file().at_row(self.row),
            None => self.lines.place().at_line(self.line),
        }
    }

    /// Moves to the next record that is not blank. `None` at the end; an inner error spoils only this record.
    ///
    /// # Errors
    ///
    /// What makes the rest of the file unreadable: the system, a limit, an open quote at the end.
    pub fn advance(&mut self) -> Result<Option<Result<(), DataError>>, DataError> {
        loop {
            if !std::mem::take(&mut self.waiting) && !self.read_record()? {
                return Ok(None);
            }
            if !self.is_blank() {
                return Ok(Some(self.check_record()));
            }
        }
    }

    /// Whether the current record is an empty line, which is none. Quotes say that there is a cell.
    fn is_blank(&self) -> bool {
        if self.rows.is_some() || self.rules >= QUOTED && self.raw.contains(&b'"') {
            return false;
        }
        let is_blank = self.ends.len() <= 1 && self.text.trim_ascii().is_empty();
        is_blank && (self.header.len() != 1 || self.text.is_empty())
    }

    fn check_record(&self) -> Result<(), DataError> {
        if let Some(fault) = &self.spoilt {
            return Err(fault.error(self.place()));
        }
        if self.ends.len() != self.header.len() {
            return Err(DataError::malformed(
                self.place(),
                format!("{} fields", self.ends.len()),
                format!("{} fields, as in the header", self.header.len()),
            ));
        }
        for field in 0..self.ends.len() {
            if self.checked_field(field)?.contains('\0') {
                let name = self.header.get(field).map_or("", String::as_str);
                return Err(DataError::malformed(self.place().in_column(name), "a NUL character", "text"));
            }
        }
        Ok(())
    }

    /// The current record as it is written, without its line end. One with too few fields gets empty ones, one with too
    /// many loses them: what is written after it stands in the right columns.
    pub(super) fn record(&self) -> Vec<u8> {
        let is_text = self.sdf.is_none() && self.rows.is_none();
        let is_plain = self.separator == Separator::Byte(b',') && is_text;
        if self.ends.len() == self.header.len() && is_plain {
            return self.raw.clone();
        }
        let mut record = CsvWriter::new(Vec::with_capacity(self.raw.len()));
        for position in 0..self.header.len() {
            // A list of bytes takes everything.
            let _ = record.bytes(self.field_bytes(position));
        }
        record.into_inner()
    }

    /// A field of the current record; empty if there is none.
    pub fn field(&self, position: usize) -> &str {
        std::str::from_utf8(self.field_bytes(position)).unwrap_or_default()
    }

    fn checked_field(&self, position: usize) -> Result<&str, DataError> {
        std::str::from_utf8(self.field_bytes(position)).map_err(|error| {
            let name = self.header.get(position).map_or("", String::as_str);
            DataError::Encoding { place: self.place().in_column(name).at_byte(error.valid_up_to() as u64) }
        })
    }

    fn field_bytes(&self, position: usize) -> &[u8] {
        let Some(end) = self.ends.get(position) else { return &[] };
        let start = position.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.text.get(start..*end).unwrap_or_default()
    }

    /// Reads one record, which may span lines inside quotes; false at the end.
    fn read_record(&mut self) -> Result<bool, DataError> {
        if self.sdf.is_some() {
            return self.read_block();
        }
        self.clear_record();
        if let Some(rows) = &mut self.rows {
            let row = rows.next(&mut self.text, &mut self.ends)?;
            self.row = row.unwrap_or(self.row);
            return Ok(row.is_some());
        }
        if self.lines.advance_to_record()? { self.read_from_line() } else { Ok(false) }
    }

    fn clear_record(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.raw.clear();
    }

    /// Reads the record that begins on the current line.
    fn read_from_line(&mut self) -> Result<bool, DataError> {
        self.clear_record();
        self.line = self.lines.number();
        let Separator::Byte(separator) = self.separator else {
            self.split_at_blanks()?;
            return Ok(true);
        };
        let mut quoted = false;
        loop {
            self.raw.extend(self.lines.bytes());
            let mut bytes = self.lines.bytes().iter().copied().peekable();
            let mut at_start = !quoted;
            while let Some(byte) = bytes.next() {
                match byte {
                    b'"' if quoted => {
                        if bytes.peek() == Some(&b'"') {
                            bytes.next();
                            self.text.push(b'"');
                        } else {
                            quoted = false;
                        }
                    }
                    b'"' if at_start => quoted = true,
                    _ if byte == separator && !quoted => {
                        self.ends.push(self.text.len());
                        within("columns", self.ends.len() as u64 + 1, self.limits.columns)
                            .map_err(DataError::limit(self.lines.place().at_line(self.line)))?;
                        at_start = true;
                        continue;
                    }
                    _ => self.text.push(byte),
                }
                at_start = false;
            }
            if !quoted {
                self.ends.push(self.text.len());
                return Ok(true);
            }
            self.text.push(b'\n');
            self.raw.push(b'\n');
            within("line_bytes", self.text.len() as u64, self.limits.line_bytes)
                .map_err(DataError::limit(self.lines.place().at_line(self.line)))?;
            if !self.lines.advance()? {
                let place = self.lines.place().at_line(self.line);
                return Err(DataError::malformed(place, "a quote that is never closed", "a closing `\"`"));
            }
        }
    }
}
