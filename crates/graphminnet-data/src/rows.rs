//! Graphs of a file some rows at a time, none of them lost: what prediction reads.
//!
//! CSV tables and JSON Lines are read in pieces, so that a file may be longer than memory; other layouts are read whole
//! and handed out in pieces. A row that cannot be used keeps its place, with the reason in place of its graph. Targets
//! are not needed, and names may repeat.

use super::formats::{self, Format, SmilesRows};
use super::{BadRow, DataError, OnBadRow, Place, Read, ReadOptions, open};
use crate::formats::{Lines, check_effects};
use crate::graph::Graph;
use crate::preparation::GraphInParts;
use crate::read::{InParts, ReadInParts, open_in_parts};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most bytes of text that are taken up at a time (a longer line counts alone).
pub(crate) const PIECE_BYTES: usize = 16 << 20;

/// One record of a file.
#[derive(Debug)]
pub struct InputRow {
    /// The record as it is written, without its line end; only for CSV tables.
    pub text: Vec<u8>,
    /// Name of the graph, or its number; empty for CSV tables, whose text has it.
    pub id: String,
    /// The graph, or why there is none.
    pub graph: Result<Arc<Graph>, BadRow>,
}

/// A file that is read row by row.
pub struct RowReader {
    source: Source,
    options: ReadOptions,
    path: PathBuf,
}

enum Source {
    Csv(Box<SmilesRows>),
    Jsonl { lines: Box<Lines>, records: usize },
    Whole(std::vec::IntoIter<InputRow>),
}

impl RowReader {
    /// Opens a file or folder. The options' schema says which columns graphs must have.
    ///
    /// # Errors
    ///
    /// [`DataError`] if it cannot be opened, or its columns are not those of the schema.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, DataError> {
        let options = keeping_all(options);
        let format = match options.format {
            Some(format) => format,
            None => formats::detect(path)?,
        };
        check_effects(format, path, &options)?;
        let source = match format {
            Format::SmilesCsv | Format::Parquet | Format::Xlsx | Format::Sdf => {
                Source::Csv(Box::new(SmilesRows::open(format, path, &options)?))
            }
            Format::Jsonl => source(formats::open_jsonl(path, &options)?, format, path, &options)?,
            _ => Source::Whole(input_rows(open(path, &options)?, 0).into_iter()),
        };
        Ok(Self { source, options, path: path.to_owned() })
    }

    /// Reads a stream; `name` is what errors call it. The options must say whether it is a CSV table or JSON Lines.
    ///
    /// # Errors
    ///
    /// As [`RowReader::open`]; [`DataError::UnknownFormat`] for a format that is no stream.
    pub fn from_stream(
        stream: Box<dyn io::Read + Send>,
        name: &str,
        options: &ReadOptions,
    ) -> Result<Self, DataError> {
        let (options, path) = (keeping_all(options), PathBuf::from(name));
        let lines = Lines::new(stream, &path, None, &options.limits);
        let format = formats::of_stream(&path, &options)?;
        Ok(Self { source: source(lines, format, &path, &options)?, options, path })
    }

    /// The only graph of a file or folder, of which this process keeps its own parts; its row has nodes alone. `None` as for
    /// [`open_in_parts`].
    ///
    /// # Errors
    ///
    /// As [`open_in_parts`].
    pub fn open_in_parts(
        path: &Path,
        options: &ReadOptions,
        how: &InParts<'_>,
    ) -> Result<Option<(Self, GraphInParts)>, DataError> {
        let options = keeping_all(options);
        let Some(ReadInParts { read, graph, .. }) = open_in_parts(path, &options, how)? else {
            return Ok(None);
        };
        let source = Source::Whole(input_rows(read, 0).into_iter());
        Ok(Some((Self { source, options, path: path.to_owned() }, graph)))
    }

    /// The header of a CSV table as it is written; `None` for other formats.
    pub fn header(&self) -> Option<&[u8]> {
        match &self.source {
            Source::Csv(rows) => Some(rows.header()),
            _ => None,
        }
    }

    /// What was found out about a table, for people.
    pub fn notes(&self) -> &[String] {
        match &self.source {
            Source::Csv(rows) => rows.notes(),
            _ => &[],
        }
    }

    /// Names of the columns of a CSV table; none for other formats.
    pub fn columns(&self) -> &[String] {
        match &self.source {
            Source::Csv(rows) => rows.columns(),
            _ => &[],
        }
    }

    /// Name of the column of a CSV table that holds the molecules; `None` for other formats.
    pub fn smiles_column(&self) -> Option<&str> {
        match &self.source {
            Source::Csv(rows) => Some(rows.smiles_column()),
            _ => None,
        }
    }

    /// Records of the file before the next row.
    pub fn records_before(&self) -> usize {
        match &self.source {
            Source::Csv(rows) => rows.records_before(),
            Source::Jsonl { records, .. } => *records,
            Source::Whole(_) => 0,
        }
    }

    /// The next rows, at most so many; none at the end.
    ///
    /// # Errors
    ///
    /// [`DataError`] for what makes the rest unreadable.
    pub fn next_rows(&mut self, count: usize) -> Result<Vec<InputRow>, DataError> {
        match &mut self.source {
            Source::Csv(rows) => rows.next(count),
            Source::Whole(rows) => Ok(rows.take(count).collect()),
            Source::Jsonl { lines, records } => {
                let (before, first) = (lines.number(), *records);
                let (mut text, mut found) = (Vec::new(), 0);
                while found < count
                    && (found == 0 || text.len() < PIECE_BYTES)
                    && lines.advance_to_record()?
                {
                    text.extend(lines.bytes());
                    text.push(b'\n');
                    found += usize::from(!lines.bytes().trim_ascii().is_empty());
                }
                *records += found;
                let piece =
                    Lines::new(Box::new(io::Cursor::new(text)), &self.path, None, &self.options.limits);
                let mut piece = piece.after(before, first);
                Ok(input_rows(formats::read_jsonl_lines(&mut piece, &self.path, &self.options)?, first))
            }
        }
    }
}

/// Options under which no row is lost.
pub(crate) fn keeping_all(options: &ReadOptions) -> ReadOptions {
    let mut options = ReadOptions {
        on_bad_row: OnBadRow::Null,
        repeated_ids: true,
        ignore_split: true,
        ignore_targets: true,
        ..options.clone()
    };
    options.limits.bad_rows = u64::MAX;
    options
}

fn source(lines: Lines, format: Format, path: &Path, options: &ReadOptions) -> Result<Source, DataError> {
    if format == Format::Jsonl {
        let records = lines.records_before();
        return Ok(Source::Jsonl { lines: Box::new(lines), records });
    }
    Ok(Source::Csv(Box::new(SmilesRows::new(lines, path, options)?)))
}

/// All records in order, the bad ones with their reasons and, where their names could not be read, with their numbers.
pub(crate) fn input_rows(read: Read, records_before: usize) -> Vec<InputRow> {
    let Read { dataset, report } = read;
    let mut reasons: std::collections::HashMap<usize, BadRow> =
        report.bad_positions.into_iter().zip(report.bad_rows).collect();
    // A reader that keeps no list of rows lost none.
    let rows = match report.rows.is_empty() {
        true => (0..dataset.samples.len()).map(Some).collect(),
        false => report.rows,
    };
    let mut samples = dataset.samples.into_iter();
    let row = |(position, slot): (usize, Option<usize>)| match slot.and_then(|_| samples.next()) {
        Some(sample) => InputRow { text: Vec::new(), id: sample.id, graph: Ok(sample.graph) },
        None => {
            let unknown = || BadRow::new(Place::default(), "", "the row could not be read");
            let reason = reasons.remove(&position).unwrap_or_else(unknown);
            let id = reason.id.clone().unwrap_or_else(|| (records_before + position).to_string());
            InputRow { text: Vec::new(), id, graph: Err(reason) }
        }
    };
    rows.into_iter().enumerate().map(row).collect()
}
