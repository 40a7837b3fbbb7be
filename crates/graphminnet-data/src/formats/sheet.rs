//! Spreadsheets (`.xlsx`): the first sheet as a table, whose first row has the names of the columns.
//!
//! Formulas are the values that the spreadsheet program computed last, dates are written as 2026-01-31. A workbook is a
//! ZIP archive of XML files: how much they are is measured before they are understood, and the cells are counted one by
//! one, because a sheet of two cells may claim to be as large as a sheet can be.

use super::csv::{NAMELESS, TableRows};
use crate::budget::{Budget, Share, bytes_of};
use crate::foreign::contained;
use crate::fs::{open, without_compression};
use crate::limits::{Exceeded, within};
use crate::{DataError, Limits, Place, ReadOptions, escape};
use calamine::{DataRef, Reader, Xlsx, XlsxError};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Memory that a byte of XML may take once it is understood: an empty text between two tags.
const FACTOR: u64 = 8;

/// The rows of a sheet.
pub(super) struct SheetRows {
    names: Vec<String>,
    notes: Vec<String>,
    /// Number of the row with the names.
    header_row: u64,
    /// Numbers of the rows and their cells.
    rows: std::vec::IntoIter<(u64, Vec<String>)>,
    /// For as long as there are rows.
    _held: Share,
}

/// What reading a workbook fails with.
enum Trouble {
    Workbook(XlsxError),
    Limit(Exceeded),
    Other(String),
}

impl From<XlsxError> for Trouble {
    fn from(error: XlsxError) -> Self {
        Self::Workbook(error)
    }
}

impl From<Exceeded> for Trouble {
    fn from(exceeded: Exceeded) -> Self {
        Self::Limit(exceeded)
    }
}

impl SheetRows {
    /// Reads the first sheet of a file.
    pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<Self, DataError> {
        let place = || Place::file(path);
        if without_compression(path) != path {
            let reason = "spreadsheets are compressed within; decompress this one first".to_owned();
            return Err(DataError::Schema { place: place(), reason });
        }
        measure(open(path)?, &options.limits).map_err(DataError::stream(place()))?;
        let file = BufReader::new(open(path)?);
        // The reader of workbooks is not ours: if it panics, the file is to blame, and must not end the program.
        let read = contained(|| read(file, options));
        let read = read.unwrap_or_else(|| Err(Trouble::Other("its reader gave up".to_owned())));
        read.map_err(|trouble| match trouble {
            Trouble::Limit(exceeded) => DataError::limit(place())(exceeded),
            Trouble::Workbook(error) => damaged(place(), &error.to_string()),
            Trouble::Other(reason) => damaged(place(), &reason),
        })
    }

    /// Names of the columns, and what was found out about the file.
    pub(super) fn take_names(&mut self) -> (Vec<String>, Vec<String>) {
        (std::mem::take(&mut self.names), std::mem::take(&mut self.notes))
    }

    /// Number of the row with the names of the columns.
    pub(super) fn header_row(&self) -> u64 {
        self.header_row
    }
}

fn damaged(place: Place, reason: &str) -> DataError {
    DataError::Archive { place, reason: format!("not a sound spreadsheet (.xlsx): {}", escape(reason)) }
}

impl TableRows for SheetRows {
    fn next(&mut self, text: &mut Vec<u8>, ends: &mut Vec<usize>) -> Result<Option<u64>, DataError> {
        let Some((number, cells)) = self.rows.next() else { return Ok(None) };
        for cell in cells {
            text.extend(cell.as_bytes());
            ends.push(text.len());
        }
        Ok(Some(number))
    }
}

/// Fails if the files of a workbook are more than there is memory for, whatever they are called: a workbook names its sheets as it
/// likes. What the archive says about their sizes is not asked.
fn measure(file: File, limits: &Limits) -> io::Result<()> {
    let wrong = |error: zip::result::ZipError| io::Error::new(io::ErrorKind::InvalidData, error);
    let exceeded = |exceeded: Exceeded| io::Error::new(io::ErrorKind::FileTooLarge, exceeded);
    let length = file.metadata()?.len();
    let mut archive = zip::ZipArchive::new(BufReader::new(file)).map_err(wrong)?;
    within("members", archive.len() as u64, limits.members).map_err(exceeded)?;
    let most = limits.memory() / FACTOR;
    let mut total = 0;
    for member in 0..archive.len() {
        let member = archive.by_index(member).map_err(wrong)?;
        // A name that cannot be read is nobody's.
        let name = member.name().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
        let mut content = member.take(most.saturating_add(1) - total);
        total += if name.ends_with("sharedstrings.xml") {
            let mut text = Vec::new();
            content.read_to_end(&mut text)?;
            check_count(&text)?;
            text.len() as u64
        } else {
            io::copy(&mut content, &mut io::sink())?
        };
        within(crate::budget::MEMORY, total.saturating_mul(FACTOR), limits.memory()).map_err(exceeded)?;
    }
    within("ratio", if total > 1 << 24 { total / length.max(1) } else { 0 }, limits.ratio).map_err(exceeded)
}

/// Fails if a table of texts says that it has more of them than it has room for: memory for so many is taken before they are read.
fn check_count(table: &[u8]) -> io::Result<()> {
    const COUNT: &[u8] = b"uniqueCount";
    // In UTF-16 every other byte is 0.
    let plain: Vec<u8> = table.iter().copied().filter(|byte| *byte != 0).collect();
    for (at, _) in plain.windows(COUNT.len()).enumerate().filter(|(_, window)| *window == COUNT) {
        let rest = plain.get(at + COUNT.len()..).unwrap_or_default();
        let quote = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'=' | b'"' | b'\'');
        let digits = rest.iter().skip_while(|byte| quote(byte)).take_while(|byte| byte.is_ascii_digit());
        let count = digits
            .fold(0u64, |count, digit| count.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
        // The shortest text is `<si/>`.
        if count > plain.len() as u64 / 5 {
            let reason = format!("{} bytes cannot hold the {count} texts that they announce", table.len());
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
    }
    Ok(())
}

fn read(file: BufReader<File>, options: &ReadOptions) -> Result<SheetRows, Trouble> {
    let limits = &options.limits;
    let mut workbook = Xlsx::new(file)?;
    let sheets = workbook.sheet_names();
    let Some(first) = sheets.first().cloned() else {
        return Err(Trouble::Other("it has no sheet".to_owned()));
    };
    let mut notes = Vec::new();
    if sheets.len() > 1 {
        notes.push(format!("the first of {} sheets is read, `{}`", sheets.len(), escape(&first)));
    }
    let mut held = Budget::new(limits).share();
    let mut rows: Vec<(u64, Vec<String>)> = Vec::new();
    let mut cells = workbook.worksheet_cells_reader(&first)?;
    while let Some(cell) = cells.next_cell()? {
        let text = text(cell.get_value());
        if text.trim().is_empty() {
            continue;
        }
        let (row, column) = cell.get_position();
        let (number, column) = (u64::from(row) + 1, column as usize);
        within("columns", column as u64 + 1, limits.columns)?;
        match rows.last() {
            Some((last, _)) if *last > number => {
                return Err(Trouble::Other(format!("row {number} comes after row {last}")));
            }
            Some((last, _)) if *last == number => {}
            _ => {
                held.grow(bytes_of::<(u64, Vec<String>)>(2))?;
                rows.push((number, Vec::new()));
            }
        }
        let Some((_, cells)) = rows.last_mut() else { continue };
        let more = (column + 1).saturating_sub(cells.len());
        held.grow(2 * bytes_of::<String>(more) + text.len() as u64)?;
        if more > 0 {
            cells.resize(column + 1, String::new());
        }
        if let Some(cell) = cells.get_mut(column) {
            *cell = text;
        }
    }
    let mut rows = rows.into_iter();
    let Some((header_row, header)) = rows.next() else {
        return Err(Trouble::Other("its first sheet is empty".to_owned()));
    };
    let name = |(column, name): (usize, String)| match name.trim() {
        "" if options.rules < NAMELESS => format!("column_{}", column + 1),
        name => name.to_owned(),
    };
    let names: Vec<String> = header.into_iter().enumerate().map(name).collect();
    let mut rows: Vec<_> = rows.collect();
    for (_, cells) in &mut rows {
        held.grow(2 * bytes_of::<String>(names.len().saturating_sub(cells.len())))?;
        // A row with more cells than there are names is a bad row, whoever reads it.
        if cells.len() < names.len() {
            cells.resize(names.len(), String::new());
        }
    }
    Ok(SheetRows { names, notes, header_row, rows: rows.into_iter(), _held: held })
}

fn text(value: &DataRef<'_>) -> String {
    match value {
        DataRef::Empty => String::new(),
        DataRef::Int(value) => value.to_string(),
        DataRef::Float(value) => value.to_string(),
        DataRef::Bool(value) => value.to_string(),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Error(error) => error.to_string(),
        DataRef::DateTime(moment) if moment.is_duration() => moment.as_f64().to_string(),
        DataRef::DateTime(moment) => {
            let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
            let date = format!("{year:04}-{month:02}-{day:02}");
            let time = format!("{hour:02}:{minute:02}:{second:02}");
            match (hour, minute, second) {
                (0, 0, 0) => date,
                _ if moment.as_f64() < 1.0 => time,
                _ => format!("{date}T{time}"),
            }
        }
    }
}
