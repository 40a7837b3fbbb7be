//! The values of a column, some rows at a time, as text.

use super::pages::Pages;
use ::parquet::basic::{ConvertedType, LogicalType, Type};
use ::parquet::column::reader::{ColumnReader, get_column_reader};
use ::parquet::data_type::ByteArray;
use ::parquet::errors::{ParquetError, Result};
use ::parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};
use std::io::Write;

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// Text, true or false, a number.
    Plain,
    /// A whole number without a sign.
    Unsigned,
    /// A number that is written with a decimal point, though it may be whole.
    Decimal,
}

/// The first version of the rules under which columns of floating-point numbers are written with a decimal point.
const WITH_POINT: u32 = 8;

impl Kind {
    /// The kind of a column that is one of text or numbers, with at most one value per row, under the rules of a version.
    pub(super) fn of(column: &ColumnDescriptor, rules: u32) -> Option<Self> {
        use ConvertedType as C;
        if column.max_rep_level() > 0 || column.max_def_level() > 1 || column.path().parts().len() != 1 {
            return None;
        }
        let (logical, converted) = (column.logical_type_ref(), column.converted_type());
        match column.physical_type() {
            Type::BOOLEAN => Some(Self::Plain),
            Type::FLOAT | Type::DOUBLE if logical.is_none() && rules >= WITH_POINT => Some(Self::Decimal),
            Type::FLOAT | Type::DOUBLE if logical.is_none() => Some(Self::Plain),
            Type::INT32 | Type::INT64 => match (logical, converted) {
                (Some(LogicalType::Integer(kind)), _) if !kind.is_signed => Some(Self::Unsigned),
                (Some(LogicalType::Integer(_)), _) => Some(Self::Plain),
                (None, C::UINT_8 | C::UINT_16 | C::UINT_32 | C::UINT_64) => Some(Self::Unsigned),
                (None, C::NONE | C::INT_8 | C::INT_16 | C::INT_32 | C::INT_64) => Some(Self::Plain),
                _ => None,
            },
            Type::BYTE_ARRAY => match (logical, converted) {
                (Some(LogicalType::String | LogicalType::Enum | LogicalType::Json), _) => Some(Self::Plain),
                (None, C::NONE | C::UTF8 | C::ENUM | C::JSON) => Some(Self::Plain),
                _ => None,
            },
            _ => None,
        }
    }
}

enum Values {
    Truth(Vec<bool>),
    Int(Vec<i32>),
    Long(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Text(Vec<ByteArray>),
}

/// A column of a row group.
pub(super) struct Column {
    reader: ColumnReader,
    kind: Kind,
    /// For every row of the present ones, whether it has a value: the level is then the largest.
    levels: Vec<i16>,
    has_gaps: bool,
    values: Values,
    /// Rows and values that were handed out.
    row: usize,
    value: usize,
}

impl Column {
    pub(super) fn new(about: ColumnDescPtr, kind: Kind, pages: Pages) -> Result<Self> {
        let has_gaps = about.max_def_level() > 0;
        let reader = get_column_reader(about, Box::new(pages));
        let values = match &reader {
            ColumnReader::BoolColumnReader(_) => Values::Truth(Vec::new()),
            ColumnReader::Int32ColumnReader(_) => Values::Int(Vec::new()),
            ColumnReader::Int64ColumnReader(_) => Values::Long(Vec::new()),
            ColumnReader::FloatColumnReader(_) => Values::Float(Vec::new()),
            ColumnReader::DoubleColumnReader(_) => Values::Double(Vec::new()),
            ColumnReader::ByteArrayColumnReader(_) => Values::Text(Vec::new()),
            _ => return Err(ParquetError::General("a column of an unknown type".to_owned())),
        };
        Ok(Self { reader, kind, levels: Vec::new(), has_gaps, values, row: 0, value: 0 })
    }

    /// Decodes so many rows, and tells how many there were.
    pub(super) fn decode(&mut self, rows: usize) -> Result<usize> {
        self.levels.clear();
        (self.row, self.value) = (0, 0);
        let levels = &mut self.levels;
        macro_rules! decode {
            ($reader:ident, $values:ident) => {{
                $values.clear();
                $reader.read_records(rows, Some(levels), None, $values)?.0
            }};
        }
        Ok(match (&mut self.reader, &mut self.values) {
            (ColumnReader::BoolColumnReader(reader), Values::Truth(values)) => decode!(reader, values),
            (ColumnReader::Int32ColumnReader(reader), Values::Int(values)) => decode!(reader, values),
            (ColumnReader::Int64ColumnReader(reader), Values::Long(values)) => decode!(reader, values),
            (ColumnReader::FloatColumnReader(reader), Values::Float(values)) => decode!(reader, values),
            (ColumnReader::DoubleColumnReader(reader), Values::Double(values)) => decode!(reader, values),
            (ColumnReader::ByteArrayColumnReader(reader), Values::Text(values)) => decode!(reader, values),
            _ => 0,
        })
    }

    /// Writes the next value; nothing where there is none.
    pub(super) fn write_cell(&mut self, out: &mut Vec<u8>) {
        let is_there = !self.has_gaps || self.levels.get(self.row).is_some_and(|level| *level > 0);
        self.row += 1;
        if !is_there {
            return;
        }
        let (at, unsigned) = (self.value, self.kind == Kind::Unsigned);
        let has_point = self.kind == Kind::Decimal;
        self.value += 1;
        // Memory takes everything.
        let mut number = |text: std::fmt::Arguments<'_>| drop(out.write_fmt(text));
        match &self.values {
            Values::Truth(values) => {
                values.get(at).into_iter().for_each(|value| number(format_args!("{value}")))
            }
            Values::Int(values) => match values.get(at) {
                Some(value) if unsigned => number(format_args!("{}", *value as u32)),
                Some(value) => number(format_args!("{value}")),
                None => {}
            },
            Values::Long(values) => match values.get(at) {
                Some(value) if unsigned => number(format_args!("{}", *value as u64)),
                Some(value) => number(format_args!("{value}")),
                None => {}
            },
            // No number is a missing one. A table of text with the same numbers has 6.0, and is no table of classes.
            Values::Float(values) => match values.get(at).filter(|value| !value.is_nan()) {
                Some(value) if has_point => number(format_args!("{value:?}")),
                Some(value) => number(format_args!("{value}")),
                None => {}
            },
            Values::Double(values) => match values.get(at).filter(|value| !value.is_nan()) {
                Some(value) if has_point => number(format_args!("{value:?}")),
                Some(value) => number(format_args!("{value}")),
                None => {}
            },
            Values::Text(values) => values.get(at).iter().for_each(|value| out.extend(value.data())),
        }
    }
}
