//! Headerless numeric tables, cut into one piece per graph while they stream by.

use crate::DataError;
use crate::budget::{Share, bytes_of};
use crate::formats::Lines;
use crate::limits::within;

/// Rows reserved for a graph before any of them has been seen.
const RESERVED_ROWS: usize = 1 << 12;

/// A value of a numeric table.
pub(super) trait Cell: Sized + Copy {
    /// What a message calls it.
    const EXPECTED: &'static str;

    /// Parses one trimmed field.
    fn parse(field: &[u8]) -> Option<Self>;
}

impl Cell for u32 {
    const EXPECTED: &'static str = "a non-negative integer below 4294967295";

    fn parse(field: &[u8]) -> Option<Self> {
        if field.is_empty() || field.len() > 10 {
            return None;
        }
        let mut value = 0u64;
        for byte in field {
            if !byte.is_ascii_digit() {
                return None;
            }
            value = value * 10 + u64::from(byte - b'0');
        }
        (value < u64::from(u32::MAX)).then_some(value as u32)
    }
}

impl Cell for u64 {
    const EXPECTED: &'static str = "a non-negative integer";

    fn parse(field: &[u8]) -> Option<Self> {
        std::str::from_utf8(field).ok()?.parse().ok()
    }
}

impl Cell for f32 {
    const EXPECTED: &'static str = "a finite number";

    fn parse(field: &[u8]) -> Option<Self> {
        std::str::from_utf8(field).ok()?.parse::<f32>().ok().filter(|value| value.is_finite())
    }
}

/// A label: a number, or blank for a missing one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Label(pub(super) f32);

impl Cell for Label {
    const EXPECTED: &'static str = "a finite number, or blank for a missing label";

    fn parse(field: &[u8]) -> Option<Self> {
        if field.is_empty() || field.eq_ignore_ascii_case(b"nan") {
            return Some(Self(f32::NAN));
        }
        f32::parse(field).map(Self)
    }
}

/// The values of a table, one piece per graph, all rows with the same number of columns.
pub(super) struct Pieces<T> {
    pub(super) columns: usize,
    pub(super) pieces: Vec<Vec<T>>,
}

/// Reads exactly `counts.iter().sum()` rows, `counts[g]` of them for graph `g`.
///
/// # Errors
///
/// [`DataError::Value`] for a field that is not a `T`, [`DataError::Malformed`] for a ragged row or a table that is
/// shorter or longer than the counts say.
pub(super) fn read_pieces<T: Cell>(
    lines: &mut Lines,
    counts: &[usize],
    columns: Option<usize>,
    max_columns: u64,
    held: &mut Share,
) -> Result<Pieces<T>, DataError> {
    read_cells(lines, counts, columns, max_columns, held, parse_field)
}

/// The same with values that `cell` makes of every field and the number of its column.
///
/// # Errors
///
/// As [`read_pieces`], and those of `cell`.
pub(super) fn read_cells<T: Copy>(
    lines: &mut Lines,
    counts: &[usize],
    columns: Option<usize>,
    max_columns: u64,
    held: &mut Share,
    mut cell: impl FnMut(&Lines, &[u8], usize) -> Result<T, DataError>,
) -> Result<Pieces<T>, DataError> {
    held.grow(bytes_of::<Vec<T>>(counts.len())).map_err(DataError::limit(lines.place()))?;
    let mut width = columns;
    let mut pieces = Vec::with_capacity(counts.len());
    let mut total = 0u64;
    for &count in counts {
        let mut piece =
            Vec::with_capacity(count.min(RESERVED_ROWS).saturating_mul(width.unwrap_or(1).min(64)));
        for _ in 0..count {
            if !lines.advance()? {
                let expected: u64 = counts.iter().map(|&count| count as u64).sum();
                return Err(DataError::malformed(
                    lines.place(),
                    format!("the end after {total} rows"),
                    format!("{expected} rows, the sum of the graphs' counts"),
                ));
            }
            total += 1;
            let fields = fields(lines);
            match width {
                Some(expected) if fields != expected => {
                    let (found, expected) = (format!("{fields} values"), format!("{expected} values"));
                    return Err(DataError::malformed(lines.place(), found, expected));
                }
                Some(_) => {}
                None => {
                    within("features", fields as u64, max_columns).map_err(DataError::limit(lines.place()))?
                }
            }
            width = Some(fields);
            for (column, field) in lines.bytes().split(|byte| *byte == b',').enumerate() {
                piece.push(cell(lines, field, column)?);
            }
            // Lists that grow take twice what is in them.
            held.grow(bytes_of::<T>(2 * fields)).map_err(DataError::limit(lines.place()))?;
        }
        pieces.push(piece);
    }
    while lines.advance()? {
        if !lines.bytes().trim_ascii().is_empty() {
            return Err(DataError::malformed(
                lines.place(),
                "another row",
                format!("the end after {total} rows, the sum of the graphs' counts"),
            ));
        }
    }
    Ok(Pieces { columns: width.unwrap_or(1), pieces })
}

/// Number of fields of the current line.
pub(super) fn fields(lines: &Lines) -> usize {
    lines.bytes().iter().filter(|byte| **byte == b',').count() + 1
}

/// A field as text without blanks around it.
///
/// # Errors
///
/// [`DataError::Encoding`] if it is not UTF-8.
pub(super) fn text<'a>(lines: &Lines, field: &'a [u8]) -> Result<&'a str, DataError> {
    match std::str::from_utf8(field.trim_ascii()) {
        Ok(text) => Ok(text),
        Err(_) => Err(lines.text().err().unwrap_or(DataError::Encoding { place: lines.place() })),
    }
}

/// Reads a column of values to the end.
pub(super) fn read_column<T: Cell>(
    lines: &mut Lines,
    max_rows: u64,
    held: &mut Share,
) -> Result<Vec<T>, DataError> {
    let mut values = Vec::new();
    while lines.advance()? {
        if lines.bytes().trim_ascii().is_empty() {
            continue;
        }
        within("graphs", values.len() as u64 + 1, max_rows).map_err(DataError::limit(lines.place()))?;
        held.grow(bytes_of::<T>(2)).map_err(DataError::limit(lines.place()))?;
        values.push(parse_field(lines, lines.bytes(), 0)?);
    }
    Ok(values)
}

fn parse_field<T: Cell>(lines: &Lines, field: &[u8], column: usize) -> Result<T, DataError> {
    let field = field.trim_ascii();
    T::parse(field).ok_or_else(|| {
        let place = lines.place().in_column(column.to_string());
        DataError::value(place, String::from_utf8_lossy(field), T::EXPECTED)
    })
}
