//! Parquet tables: columns of text and numbers, read as the rows of a table, and written.
//!
//! The footer, the levels and the values are decoded by the crate `parquet`; pages come from `pages`, where what a file
//! claims is compared with what it holds, and counted, before anything is allocated for it. Dates, decimals, lists and
//! whatever else is neither text nor a number is left out with a note.

mod columns;
mod pages;
mod thrift;
mod write;

pub use write::{ParquetColumn, ParquetKind, ParquetWriter, join_files};

use super::csv::TableRows;
use crate::budget::Budget;
use crate::foreign::contained;
use crate::fs::{open, without_compression};
use crate::limits::{Exceeded, within};
use crate::text::quoted;
use crate::{DataError, Limits, Place, ReadOptions};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use columns::{Column, Kind};
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const MAGIC: &[u8; 4] = b"PAR1";
/// Rows that are decoded at a time.
const ROWS: usize = 1024;
/// Memory that a byte of the footer may take once it is understood; lists in it may be longer than what is in them.
const FOOTER_FACTOR: u64 = 512;
/// Rows that any file may claim; beyond, they are compared with its length.
const FREE_ROWS: u64 = 1 << 20;

/// A file, or what a test has in memory.
trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

type Source = Arc<Mutex<dyn ReadSeek>>;

/// The rows of a file, or of a shard of it.
pub(crate) struct ParquetRows {
    path: PathBuf,
    file: Source,
    length: u64,
    metadata: Arc<ParquetMetaData>,
    /// Position among the columns of the file, and what its values are.
    wanted: Vec<(usize, Kind)>,
    names: Vec<String>,
    notes: Vec<String>,
    budget: Budget,
    limits: Limits,
    /// Row groups that are still to be read.
    groups: Range<usize>,
    columns: Vec<Column>,
    /// Rows of the current row group that are not decoded yet, and of those that are, which are not handed out.
    left: u64,
    ready: usize,
    /// Rows before the next one.
    row: u64,
}

impl ParquetRows {
    /// Reads the footer of a file.
    pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<Self, DataError> {
        if without_compression(path) != path {
            let reason = "Parquet files are compressed within; decompress this one first".to_owned();
            return Err(DataError::Schema { place: Place::file(path), reason });
        }
        let file = open(path)?;
        let length = file.metadata().map_err(DataError::io(path, "open"))?.len();
        Self::new(file, length, path, options)
    }

    /// Reads the footer of a file of so many bytes.
    pub(crate) fn new(
        mut file: impl Read + Seek + Send + 'static,
        length: u64,
        path: &Path,
        options: &ReadOptions,
    ) -> Result<Self, DataError> {
        let limits = options.limits.clone();
        let footer = footer(&mut file, length, path, &limits)?;
        let metadata = caught(|| ParquetMetaDataReader::decode_metadata(&footer)).map_err(damaged(path))?;
        let mut rows = Self {
            path: path.to_owned(),
            file: Arc::new(Mutex::new(file)),
            length,
            metadata: Arc::new(metadata),
            wanted: Vec::new(),
            names: Vec::new(),
            notes: Vec::new(),
            budget: Budget::new(&limits),
            limits,
            groups: 0..0,
            columns: Vec::new(),
            left: 0,
            ready: 0,
            row: 0,
        };
        rows.find_columns(options.rules)?;
        rows.find_groups(options)?;
        Ok(rows)
    }

    /// Names of the columns, and what was found out about the file.
    pub(super) fn take_names(&mut self) -> (Vec<String>, Vec<String>) {
        (std::mem::take(&mut self.names), std::mem::take(&mut self.notes))
    }

    /// Rows of the file before the first.
    pub(super) fn rows_before(&self) -> u64 {
        self.row
    }

    fn find_columns(&mut self, rules: u32) -> Result<(), DataError> {
        let schema = self.metadata.file_metadata().schema_descr();
        within("columns", schema.num_columns() as u64, self.limits.columns)
            .map_err(DataError::limit(Place::file(&self.path)))?;
        let mut left_out = Vec::new();
        for (position, column) in schema.columns().iter().enumerate() {
            let name = column.path().parts().first().cloned().unwrap_or_default();
            match Kind::of(column, rules) {
                Some(kind) => {
                    self.wanted.push((position, kind));
                    self.names.push(name);
                }
                None if left_out.last() == Some(&name) => {}
                None => left_out.push(name),
            }
        }
        if !left_out.is_empty() {
            self.notes.push(format!(
                "columns that hold neither text nor numbers are left out: {}",
                quoted(&left_out)
            ));
        }
        match self.wanted.is_empty() {
            true => {
                Err(DataError::malformed(Place::file(&self.path), "no columns", "columns of text or numbers"))
            }
            false => Ok(()),
        }
    }

    fn find_groups(&mut self, options: &ReadOptions) -> Result<(), DataError> {
        let count = self.metadata.num_row_groups();
        let wanted = options.shard.map_or(0..count as u64, |shard| shard.range(count as u64));
        self.groups = wanted.start as usize..wanted.end as usize;
        let (mut total, mut before) = (0u64, 0);
        for (number, group) in self.metadata.row_groups().iter().enumerate() {
            if number == self.groups.start {
                before = total;
            }
            let rows =
                u64::try_from(group.num_rows()).map_err(|_| self.unsound("a negative number of rows"))?;
            total = total.saturating_add(rows);
        }
        // Runs of the same value take next to no bytes, so that a short file could claim any number of rows.
        let most = self.length.saturating_mul(self.limits.ratio).max(FREE_ROWS);
        within("ratio", if total > most { total / self.length.max(1) } else { 0 }, self.limits.ratio)
            .map_err(DataError::limit(Place::file(&self.path)))?;
        self.row = if self.groups.start < count { before } else { total };
        Ok(())
    }

    fn unsound(&self, reason: &str) -> DataError {
        damaged(&self.path)(ParquetError::General(reason.to_owned()))
    }

    /// Opens the columns of the next row group; false if there is none.
    fn next_group(&mut self) -> Result<bool, DataError> {
        let Some(number) = self.groups.next() else { return Ok(false) };
        let metadata = Arc::clone(&self.metadata);
        let group = metadata.row_group(number);
        self.columns.clear();
        for (position, kind) in &self.wanted {
            let chunk = group.columns().get(*position);
            let chunk = chunk.ok_or_else(|| self.unsound("a row group without one of the columns"))?;
            let pages = pages::Pages::new(&self.file, self.length, chunk, &self.budget);
            let column = pages.and_then(|pages| Column::new(chunk.column_descr_ptr(), *kind, pages));
            self.columns.push(column.map_err(damaged(&self.path))?);
        }
        self.left = u64::try_from(group.num_rows()).unwrap_or(0);
        Ok(true)
    }

    /// Decodes more rows; false at the end.
    fn decode(&mut self) -> Result<bool, DataError> {
        while self.left == 0 {
            if !self.next_group()? {
                return Ok(false);
            }
        }
        let count = self.left.min(ROWS as u64) as usize;
        for (column, (position, _)) in self.columns.iter_mut().zip(&self.wanted) {
            let found = caught(|| column.decode(count)).map_err(damaged(&self.path))?;
            if found != count {
                let name = self.metadata.file_metadata().schema_descr().column(*position).path().string();
                let name = crate::escape(&name);
                return Err(
                    self.unsound(&format!("column `{name}` has fewer values than its row group has rows"))
                );
            }
        }
        self.left -= count as u64;
        self.ready = count;
        Ok(true)
    }
}

impl TableRows for ParquetRows {
    fn next(&mut self, text: &mut Vec<u8>, ends: &mut Vec<usize>) -> Result<Option<u64>, DataError> {
        if self.ready == 0 && !self.decode()? {
            return Ok(None);
        }
        self.ready -= 1;
        self.row += 1;
        for column in &mut self.columns {
            column.write_cell(text);
            ends.push(text.len());
            within("line_bytes", text.len() as u64, self.limits.line_bytes.min(self.limits.memory()))
                .map_err(DataError::limit(Place::file(&self.path).at_row(self.row)))?;
        }
        Ok(Some(self.row))
    }
}

/// The bytes of the footer.
fn footer(
    file: &mut (impl Read + Seek),
    length: u64,
    path: &Path,
    limits: &Limits,
) -> Result<Vec<u8>, DataError> {
    let short = || damaged(path)(ParquetError::General("it is too short".to_owned()));
    let failed = |error| DataError::io(path, "read")(error);
    let (start, end) = (MAGIC.len() as u64, 8);
    if length < start + end {
        return Err(short());
    }
    let (mut begin, mut tail) = ([0; 4], [0; 8]);
    file.read_exact(&mut begin).map_err(failed)?;
    file.seek(SeekFrom::Start(length - end)).map_err(failed)?;
    file.read_exact(&mut tail).map_err(failed)?;
    if begin != *MAGIC || tail[4..] != *MAGIC {
        return Err(DataError::malformed(
            Place::file(path),
            "something else, or the beginning of a file",
            "a Parquet file, which begins and ends with `PAR1`",
        ));
    }
    let bytes = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    if bytes > length - start - end {
        return Err(short());
    }
    within(crate::budget::MEMORY, bytes.saturating_mul(FOOTER_FACTOR), limits.memory())
        .map_err(DataError::limit(Place::file(path)))?;
    file.seek(SeekFrom::Start(length - end - bytes)).map_err(failed)?;
    let mut footer = vec![0; bytes as usize];
    file.read_exact(&mut footer).map_err(failed)?;
    Ok(footer)
}

/// What the decoder fails with, also where it panics: a file must not be able to end the program.
fn caught<T>(work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    contained(work).unwrap_or_else(|| Err(ParquetError::General("its decoder gave up".to_owned())))
}

fn damaged(path: &Path) -> impl Fn(ParquetError) -> DataError {
    let place = Place::file(path);
    move |error| {
        if let ParquetError::External(source) = &error
            && let Some(exceeded) = source.downcast_ref::<Exceeded>()
        {
            return DataError::limit(place.clone())(*exceeded);
        }
        DataError::Archive { place: place.clone(), reason: format!("not a sound Parquet file: {error}") }
    }
}
