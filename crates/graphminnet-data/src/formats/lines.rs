//! Lines of text with their numbers, one at a time, each bounded in length.
//!
//! A byte-order mark at the start and carriage returns at line ends are dropped; a last line without an end counts.

use crate::budget::MEMORY;
use crate::fs::open_decompressed;
use crate::{DataError, Limits, Place};
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A reader of lines that knows where it is.
pub(crate) struct Lines {
    path: PathBuf,
    member: Option<String>,
    reader: BufReader<Box<dyn Read + Send>>,
    buffer: Vec<u8>,
    max_line: u64,
    /// Which limit that is.
    line_limit: &'static str,
    number: u64,
    /// Records in the lines before the first, where a stream is read in pieces.
    records_before: usize,
    /// Byte at which the current line begins, and at which the next one does.
    start: u64,
    next_start: u64,
    /// Byte from which on no record begins that is wanted.
    until: u64,
}

impl Lines {
    /// Opens a file, undoing gzip and zstd.
    pub(crate) fn open(path: &Path, limits: &Limits) -> Result<Self, DataError> {
        Ok(Self::new(open_decompressed(path, limits)?, path, None, limits))
    }

    /// Reads lines of a member of an archive, or of any other stream.
    pub(crate) fn new(
        stream: Box<dyn Read + Send>,
        path: &Path,
        member: Option<String>,
        limits: &Limits,
    ) -> Self {
        Self {
            path: path.to_path_buf(),
            member,
            reader: BufReader::with_capacity(1 << 16, stream),
            buffer: Vec::new(),
            max_line: limits.line_bytes.min(limits.memory()),
            line_limit: if limits.line_bytes <= limits.memory() { "line_bytes" } else { MEMORY },
            number: 0,
            records_before: 0,
            start: 0,
            next_start: 0,
            until: u64::MAX,
        }
    }

    /// The same lines as a piece of a longer stream, after so many lines and records.
    pub(crate) fn after(mut self, lines: u64, records: usize) -> Self {
        self.number = lines;
        self.records_before = records;
        self
    }

    /// Only the records that begin within some bytes of the file, where every line that is not blank is one.
    pub(crate) fn only(mut self, part: &Range<u64>) -> Result<Self, DataError> {
        while self.next_start < part.start && self.advance()? {
            self.records_before += usize::from(!self.bytes().trim_ascii().is_empty());
        }
        self.until = part.end;
        Ok(self)
    }

    /// From now on, no record that begins at this byte or later.
    pub(super) fn end_at(&mut self, byte: u64) {
        self.until = byte;
    }

    /// Byte at which the next line begins.
    pub(super) fn position(&self) -> u64 {
        self.next_start
    }

    /// Moves to the next line that a record may begin on; false at the end, or where the next shard begins.
    pub(crate) fn advance_to_record(&mut self) -> Result<bool, DataError> {
        if self.next_start >= self.until { Ok(false) } else { self.advance() }
    }

    /// Records in the lines before the first.
    pub(crate) fn records_before(&self) -> usize {
        self.records_before
    }

    /// Where the current line is.
    pub(crate) fn place(&self) -> Place {
        let place = Place::file(&self.path).at_line(self.number);
        match &self.member {
            Some(member) => place.in_member(member),
            None => place,
        }
    }

    /// The whole file.
    pub(super) fn file(&self) -> Place {
        Place::file(&self.path)
    }

    /// Number of the current line, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Moves to the next line; false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, DataError> {
        self.buffer.clear();
        self.start = self.next_start;
        self.number += 1;
        // One byte more than allowed tells a line that is too long from one that just fits.
        let mut window = self.reader.by_ref().take(self.max_line.saturating_add(1));
        let read = window.read_until(b'\n', &mut self.buffer);
        let count = read.map_err(DataError::stream(self.place()))?;
        self.next_start += count as u64;
        if count as u64 > self.max_line {
            return Err(DataError::Limit {
                place: self.place(),
                name: self.line_limit,
                found: count as u64,
                limit: self.max_line,
            });
        }
        if count == 0 {
            return Ok(false);
        }
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
            if self.buffer.last() == Some(&b'\r') {
                self.buffer.pop();
            }
        }
        if self.number == 1 && self.buffer.starts_with(b"\xef\xbb\xbf") {
            self.buffer.drain(..3);
            self.start += 3;
        }
        Ok(true)
    }

    /// The current line as bytes, without its end.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// The current line as text.
    pub(crate) fn text(&self) -> Result<&str, DataError> {
        std::str::from_utf8(&self.buffer).map_err(|error| DataError::Encoding {
            place: self.place().at_byte(self.start + error.valid_up_to() as u64),
        })
    }
}
