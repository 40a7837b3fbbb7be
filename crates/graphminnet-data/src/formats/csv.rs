//! Comma-separated text with a header: quoted fields, embedded line ends, and the line at which a record began.

use crate::fs::Lines;
use crate::limits::within;
use crate::{DataError, Limits, Place};
use std::io::{self, Write};

/// A table with a header row, read record by record.
pub(super) struct CsvReader {
    lines: Lines,
    header: Vec<String>,
    /// Text of the current record's fields, one after the other, and where each ends.
    text: Vec<u8>,
    ends: Vec<usize>,
    /// The current record as it is written.
    raw: Vec<u8>,
    line: u64,
    max_columns: u64,
    max_bytes: u64,
}

impl CsvReader {
    /// Reads the header.
    pub(super) fn new(lines: Lines, limits: &Limits) -> Result<Self, DataError> {
        let mut reader = Self {
            lines,
            header: Vec::new(),
            text: Vec::new(),
            ends: Vec::new(),
            raw: Vec::new(),
            line: 1,
            max_columns: limits.columns,
            max_bytes: limits.line_bytes,
        };
        if !reader.read_record()? {
            return Err(DataError::malformed(
                reader.lines.place(),
                "an empty file",
                "a header row with column names",
            ));
        }
        for field in 0..reader.ends.len() {
            let name = reader.checked_field(field)?.trim().to_owned();
            if reader.header.contains(&name) {
                let place = reader.place().in_column(&name);
                return Err(DataError::malformed(place, "this column twice", "column names that are unique"));
            }
            reader.header.push(name);
        }
        Ok(reader)
    }

    /// Names of the columns.
    pub(super) fn header(&self) -> &[String] {
        &self.header
    }

    /// Position of a column.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    /// Position of the first of several names, ignoring case.
    pub(super) fn column_called(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.header.iter().position(|column| column.eq_ignore_ascii_case(name)))
    }

    /// Where the current record begins.
    pub(super) fn place(&self) -> Place {
        self.lines.place().at_line(self.line)
    }

    /// Moves to the next record that is not blank. `None` at the end; an inner error spoils only this record.
    ///
    /// # Errors
    ///
    /// What makes the rest of the file unreadable: the system, a limit, an open quote at the end.
    pub(super) fn advance(&mut self) -> Result<Option<Result<(), DataError>>, DataError> {
        loop {
            if !self.read_record()? {
                return Ok(None);
            }
            let is_blank = self.ends.len() <= 1 && self.text.trim_ascii().is_empty();
            if !is_blank || self.header.len() == 1 && !self.text.is_empty() {
                return Ok(Some(self.check_record()));
            }
        }
    }

    fn check_record(&self) -> Result<(), DataError> {
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
        if self.ends.len() == self.header.len() {
            return self.raw.clone();
        }
        let mut record = Vec::with_capacity(self.raw.len());
        for position in 0..self.header.len() {
            if position > 0 {
                record.push(b',');
            }
            let field = self.field_bytes(position);
            let quoted = field.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'));
            if !quoted {
                record.extend(field);
                continue;
            }
            record.push(b'"');
            for byte in field {
                record.extend(if *byte == b'"' { &b"\"\""[..] } else { std::slice::from_ref(byte) });
            }
            record.push(b'"');
        }
        record
    }

    /// A field of the current record; empty if there is none.
    pub(super) fn field(&self, position: usize) -> &str {
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
        self.text.clear();
        self.ends.clear();
        self.raw.clear();
        if !self.lines.advance()? {
            return Ok(false);
        }
        self.line = self.lines.number();
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
                    b',' if !quoted => {
                        self.ends.push(self.text.len());
                        within("columns", self.ends.len() as u64 + 1, self.max_columns)
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
            within("line_bytes", self.text.len() as u64, self.max_bytes)
                .map_err(DataError::limit(self.lines.place().at_line(self.line)))?;
            if !self.lines.advance()? {
                let place = self.lines.place().at_line(self.line);
                return Err(DataError::malformed(place, "a quote that is never closed", "a closing `\"`"));
            }
        }
    }
}

/// Writes one field, quoted where needed.
pub(super) fn write_field(out: &mut dyn Write, text: &str) -> io::Result<()> {
    let needs_quotes = text.contains([',', '"', '\n', '\r']) || text.trim() != text;
    if needs_quotes {
        write!(out, "\"{}\"", text.replace('"', "\"\""))
    } else {
        out.write_all(text.as_bytes())
    }
}
