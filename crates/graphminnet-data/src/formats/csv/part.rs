//! A shard of a table: the records that begin within some bytes of the file.
//!
//! Where a record begins can be told only from the beginning of the file, because a line end within quotes ends none. So
//! what comes before a shard is looked through, but not understood: that also tells the lines and records before it, by
//! which errors and vectors name a row. It takes no memory, and next to no time beside that of the model.

use super::{CsvReader, DataError, Separator};
use std::ops::Range;

impl CsvReader {
    /// Only the records that begin within some bytes of the file; the header was read.
    pub(in crate::formats) fn only(&mut self, part: &Range<u64>) -> Result<(), DataError> {
        // Without a header the record that was looked at is the first one, at the very beginning.
        if self.waiting && !part.contains(&0) {
            self.waiting = false;
            self.records_before += usize::from(part.start > 0);
        }
        while self.lines.position() < part.start && self.lines.advance()? {
            self.skip_record()?;
        }
        self.lines.end_at(part.end);
        Ok(())
    }

    /// Records before the shard that is read.
    pub(in crate::formats) fn records_before(&self) -> usize {
        self.records_before
    }

    /// Passes the record that begins on the current line.
    fn skip_record(&mut self) -> Result<(), DataError> {
        let line = self.lines.bytes();
        let is_record = match self.separator {
            Separator::Byte(separator) if !line.contains(&b'"') => {
                // As `is_blank`, without looking for the fields.
                let has_one_field = !line.contains(&separator);
                let is_empty = line.trim_ascii().is_empty() && (self.header.len() != 1 || line.is_empty());
                !(has_one_field && is_empty)
            }
            _ => {
                self.read_from_line()?;
                !self.is_blank()
            }
        };
        self.records_before += usize::from(is_record);
        Ok(())
    }
}
