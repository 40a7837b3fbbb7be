//! Tables of molecules as people keep them: what separates their fields, and whether they have a header.
//!
//! The separator is the first of tab, semicolon and comma in the first line (of a `.txt` file also a blank; `.smi` files
//! have blanks). There is no header where no cell of the first row is a name that is known or asked for, and one of
//! them is a molecule: a header that was taken for a molecule would be a bad row, but a molecule that is taken for
//! a header is lost without a word.

use super::{CsvReader, CsvWriter, Lines, NAMELESS, SdfColumns, Separator, TableRows};
use crate::fs::without_compression;
use crate::limits::within;
use crate::smiles::{Featurizer, molecule_graph};
use crate::text::number;
use crate::{DataError, ReadOptions};
use std::borrow::Cow;
use std::path::Path;

/// The first version of the rules under which a number may have the minus sign of word processors (U+2212).
const MINUS: u32 = 8;

impl CsvReader {
    /// Reads the beginning of a table of molecules; what was found out about it is added to the notes.
    pub(in crate::formats) fn of_molecules(
        mut lines: Lines,
        path: &Path,
        options: &ReadOptions,
        notes: &mut Vec<String>,
    ) -> Result<Self, DataError> {
        if options.rules < 3 {
            return Self::new(lines, false, options);
        }
        let has_line = lines.advance()?;
        let mut reader = Self::without_header(lines, &options.limits);
        reader.rules = options.rules;
        if !has_line {
            return Err(reader.is_empty());
        }
        reader.separator = separator(&extension(path), reader.lines.bytes());
        let usual = if extension(path) == "tsv" { b'\t' } else { b',' };
        match reader.separator {
            Separator::Byte(byte) if byte != usual => notes.push(said(byte).to_owned()),
            _ => {}
        }
        reader.read_from_line()?;
        let found = reader.first_molecule(options);
        match options.header.unwrap_or(found.is_none()) {
            true => {
                reader.take_header()?;
                reader.finish_names(options)?;
            }
            false => {
                if options.header.is_none() && reader.separator != Separator::Blanks {
                    notes.push(
                        "the first row is a molecule: the table has no header, and its columns are numbered \
                         (`--header yes` reads it as one)"
                            .to_owned(),
                    );
                }
                reader.number_columns(found.unwrap_or(0))?;
            }
        }
        Ok(reader)
    }

    /// Reads the records of an SD file as those of a table.
    pub(in crate::formats) fn of_blocks(path: &Path, options: &ReadOptions) -> Result<Self, DataError> {
        let (columns, limits) = (SdfColumns::find(path, options)?, &options.limits);
        let mut reader = Self::without_header(Lines::open(path, limits)?, limits);
        reader.header = columns.names();
        reader.molecules = Some(0);
        reader.check_names()?;
        reader.sdf = Some(columns);
        Ok(reader)
    }

    /// Reads the rows of a table that is not text, after so many others. Its names stand in a row of their own, or in none: 0.
    pub(in crate::formats) fn of_rows(
        path: &Path,
        (header, header_row): (Vec<String>, u64),
        before: u64,
        rows: Box<dyn TableRows>,
        options: &ReadOptions,
    ) -> Result<Self, DataError> {
        let lines = Lines::new(Box::new(std::io::empty()), path, None, &options.limits);
        let mut reader = Self::without_header(lines, &options.limits);
        reader.header = header;
        reader.rows = Some(rows);
        reader.row = header_row;
        reader.records_before = usize::try_from(before).unwrap_or(usize::MAX);
        reader.finish_names(options)?;
        Ok(reader)
    }

    fn finish_names(&mut self, options: &ReadOptions) -> Result<(), DataError> {
        self.rules = options.rules;
        if options.rules >= NAMELESS {
            self.number_nameless();
        }
        self.check_names()
    }

    /// Reads the next record of an SD file; false at the end.
    pub(super) fn read_block(&mut self) -> Result<bool, DataError> {
        self.clear_record();
        let Some(columns) = &self.sdf else { return Ok(false) };
        let Some(record) = columns.next(&mut self.lines, &self.limits)? else { return Ok(false) };
        self.line = record.line;
        self.spoilt = record.fault;
        for cell in record.cells {
            self.text.extend(cell.as_bytes());
            self.ends.push(self.text.len());
        }
        Ok(true)
    }

    /// The header as a line of CSV.
    fn header_record(&self) -> Vec<u8> {
        let mut record = CsvWriter::new(Vec::new());
        for name in &self.header {
            // A list of bytes takes everything.
            let _ = record.field(name);
        }
        record.into_inner()
    }

    /// The names of the columns as they are written, where they are, and else as a line of CSV. The record is the header.
    pub(in crate::formats) fn written_header(&self) -> Vec<u8> {
        let is_written = self.molecules.is_none() && self.rows.is_none();
        if is_written { self.record() } else { self.header_record() }
    }

    /// The column that looks like molecules in a table without a header.
    pub(in crate::formats) fn molecule_column(&self) -> Option<usize> {
        self.molecules
    }

    /// Whether names of graphs are what a `.smi` or SD file happens to call them, so that they may repeat.
    pub(in crate::formats) fn has_loose_names(&self) -> bool {
        self.sdf.is_some() || self.separator == Separator::Blanks && self.molecules.is_some()
    }

    /// The first column of the first row that holds a molecule; `None` if the row holds names of columns.
    fn first_molecule(&self, options: &ReadOptions) -> Option<usize> {
        let cells = || (0..self.ends.len()).map(|position| self.field(position).trim());
        let asked =
            [&options.smiles_column, &options.id_column, &options.split_column, &options.weight_column];
        let asked = asked.into_iter().flatten().chain(options.targets.iter().flatten());
        let asked = asked.chain(&options.further_smiles);
        let schema = options.schema.iter();
        let known = schema.flat_map(|schema| {
            schema.targets.iter().chain(schema.molecules.as_ref().map(|table| &table.column))
        });
        let mut names = asked.chain(known).map(String::as_str).chain(["smiles"]);
        if names.any(|name| cells().any(|cell| cell.eq_ignore_ascii_case(name))) {
            return None;
        }
        let is_molecule = |cell: &str| molecule_graph(cell, Featurizer::Ogb, &options.limits).is_ok();
        cells().position(is_molecule)
    }

    /// Names the columns of a table without a header, whose first record is in place.
    fn number_columns(&mut self, molecules: usize) -> Result<(), DataError> {
        self.check_line_ends()?;
        self.header = match self.separator {
            Separator::Byte(_) => (1..=self.ends.len()).map(|number| format!("column_{number}")).collect(),
            // A molecule and its name.
            Separator::Blanks => vec!["smiles".to_owned(), "id".to_owned()],
        };
        self.molecules = Some(molecules);
        self.waiting = true;
        // The number of columns decides where a line with blanks is split.
        if self.separator == Separator::Blanks {
            self.read_from_line()?;
        }
        Ok(())
    }

    /// Splits the current line at its blanks into as many fields as there are columns, or, for the first line, into all.
    pub(super) fn split_at_blanks(&mut self) -> Result<(), DataError> {
        let line = self.lines.bytes().trim_ascii().to_vec();
        let mut rest = line.as_slice();
        loop {
            let is_last = self.ends.len() + 1 == self.header.len();
            let end = rest.iter().position(u8::is_ascii_whitespace).filter(|_| !is_last);
            let (field, after) = rest.split_at(end.unwrap_or(rest.len()));
            self.text.extend(field);
            self.ends.push(self.text.len());
            within("columns", self.ends.len() as u64, self.limits.columns)
                .map_err(DataError::limit(self.lines.place()))?;
            rest = after.trim_ascii();
            if rest.is_empty() {
                break;
            }
        }
        self.raw.clone_from(&line);
        while self.ends.len() < self.header.len() && !line.is_empty() {
            self.ends.push(self.text.len());
        }
        Ok(())
    }

    /// A field of the current record where a number is asked for: with semicolons between fields, a decimal comma is a point.
    pub(in crate::formats) fn number_field(&self, position: usize) -> Cow<'_, str> {
        let field = match self.rules {
            MINUS.. => with_plain_minus(self.field(position)),
            _ => self.field(position).into(),
        };
        let number = (self.separator == Separator::Byte(b';')).then(|| with_decimal_point(&field)).flatten();
        number.map_or(field, Cow::from)
    }
}

fn extension(path: &Path) -> String {
    let inner = without_compression(path);
    inner.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase()
}

fn separator(extension: &str, line: &[u8]) -> Separator {
    let candidates: &[u8] = match extension {
        "smi" => return Separator::Blanks,
        "tsv" => return Separator::Byte(b'\t'),
        "txt" => b"\t;, ",
        _ => b"\t;,",
    };
    let mut quoted = false;
    let found = line.iter().find(|byte| {
        quoted ^= **byte == b'"';
        !quoted && candidates.contains(byte)
    });
    match found {
        Some(b' ') => Separator::Blanks,
        Some(byte) => Separator::Byte(*byte),
        None => Separator::Byte(b','),
    }
}

fn said(separator: u8) -> &'static str {
    match separator {
        b';' => "columns are separated by semicolons; a decimal comma is read as a point",
        b'\t' => "columns are separated by tabs",
        _ => "columns are separated by commas",
    }
}

/// A number, or a bound, with the sign of programs where the word processor has put its own.
fn with_plain_minus(field: &str) -> Cow<'_, str> {
    let is_number = |text: &str| {
        let number = text.trim().trim_start_matches(['<', '>', '=', '≤', '≥', ' ']);
        number.parse::<f64>().is_ok() || with_decimal_point(number).is_some()
    };
    match number(field) {
        Cow::Owned(plain) if is_number(&plain) => plain.into(),
        _ => field.into(),
    }
}

/// A number with a decimal comma as one with a point; it may be a bound, such as `>3,5`. `None` for anything else.
fn with_decimal_point(field: &str) -> Option<String> {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, decimals) = field.split_once(',')?;
    let number = whole.trim_start_matches(['<', '>', '=', ' ']);
    let number = number.strip_prefix(['-', '+']).unwrap_or(number);
    (is_digits(number) && is_digits(decimals)).then(|| format!("{whole}.{decimals}"))
}
