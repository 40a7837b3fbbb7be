//! Tables as Parquet files.

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, FloatType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ParquetMetaDataReader;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParquetKind {
    /// Texts.
    Text,
    /// Whole numbers, any of which may be missing.
    Integer,
    /// 32-bit numbers.
    Float,
    /// 64-bit numbers, any of which may be missing.
    Number,
}

/// Values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum ParquetColumn<'a> {
    /// Texts.
    Text(Vec<&'a str>),
    /// Whole numbers, any of which may be missing.
    Integers(Vec<Option<i64>>),
    /// 32-bit numbers.
    Floats(Vec<f32>),
    /// 64-bit numbers, any of which may be missing.
    Numbers(Vec<Option<f64>>),
}

/// Writes a table, one row group at a time.
pub struct ParquetWriter<W: Write + Send> {
    out: SerializedFileWriter<W>,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file with columns of these names and kinds.
    ///
    /// # Errors
    ///
    /// Whatever the output refuses; names that are no columns.
    pub fn new(out: W, columns: &[(String, ParquetKind)]) -> io::Result<Self> {
        let field = |(name, kind): &(String, ParquetKind)| {
            let (physical, logical) = match kind {
                ParquetKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                ParquetKind::Integer => (Physical::INT64, None),
                ParquetKind::Float => (Physical::FLOAT, None),
                ParquetKind::Number => (Physical::DOUBLE, None),
            };
            let repetition = match kind {
                ParquetKind::Integer | ParquetKind::Number => Repetition::OPTIONAL,
                ParquetKind::Text | ParquetKind::Float => Repetition::REQUIRED,
            };
            let builder = Type::primitive_type_builder(name, physical);
            builder.with_logical_type(logical).with_repetition(repetition).build().map(Arc::new)
        };
        let fields: Result<Vec<_>, ParquetError> = columns.iter().map(field).collect();
        let schema = Type::group_type_builder("table").with_fields(fields.map_err(refused)?).build();
        let properties = WriterProperties::builder()
            .set_created_by("graphminnet".to_owned())
            .set_compression(Compression::SNAPPY)
            .build();
        let schema = Arc::new(schema.map_err(refused)?);
        Ok(Self { out: SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(refused)? })
    }

    /// Adds rows: values for every column, all equally many.
    ///
    /// # Errors
    ///
    /// Whatever the output refuses; columns that are not those of the file.
    pub fn write(&mut self, columns: &[ParquetColumn<'_>]) -> io::Result<()> {
        self.write_group(columns).map_err(refused)
    }

    fn write_group(&mut self, columns: &[ParquetColumn<'_>]) -> Result<(), ParquetError> {
        let mut group = self.out.next_row_group()?;
        for values in columns {
            let Some(mut column) = group.next_column()? else {
                return Err(ParquetError::General("more columns than the file has".to_owned()));
            };
            match values {
                ParquetColumn::Text(values) => {
                    let values: Vec<ByteArray> = values.iter().map(|text| ByteArray::from(*text)).collect();
                    column.typed::<ByteArrayType>().write_batch(&values, None, None)?;
                }
                ParquetColumn::Integers(values) => {
                    let (levels, values) = with_levels(values);
                    column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
                }
                ParquetColumn::Floats(values) => {
                    column.typed::<FloatType>().write_batch(values, None, None)?;
                }
                ParquetColumn::Numbers(values) => {
                    let (levels, values) = with_levels(values);
                    column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
                }
            }
            column.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes the footer and gives the output back.
    ///
    /// # Errors
    ///
    /// Whatever the output refuses.
    pub fn finish(self) -> io::Result<W> {
        self.out.into_inner().map_err(refused)
    }
}

/// For every value whether it is there, and those that are.
fn with_levels<T: Copy>(values: &[Option<T>]) -> (Vec<i16>, Vec<T>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (levels, values.iter().flatten().copied().collect())
}

/// Puts files of the same columns together, row group by row group, as they are.
///
/// # Errors
///
/// What reading fails with, or the output refuses; files of other columns; no files.
pub fn join_files<W: Write + Send>(
    files: impl IntoIterator<Item = io::Result<File>>,
    out: W,
) -> io::Result<W> {
    let mut files = files.into_iter();
    let Some(first) = files.next() else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no files"));
    };
    join(first?, files, out).map_err(refused)
}

fn join<W: Write + Send>(
    first: File,
    others: impl Iterator<Item = io::Result<File>>,
    out: W,
) -> Result<W, ParquetError> {
    let about = |file: &File| ParquetMetaDataReader::new().parse_and_finish(file);
    let schema = about(&first)?.file_metadata().schema_descr().root_schema_ptr();
    let properties = WriterProperties::builder().set_created_by("graphminnet".to_owned()).build();
    let mut out = SerializedFileWriter::new(out, Arc::clone(&schema), Arc::new(properties))?;
    for file in std::iter::once(Ok(first)).chain(others) {
        let file = file?;
        let metadata = about(&file)?;
        if metadata.file_metadata().schema_descr().root_schema() != &*schema {
            return Err(ParquetError::General("files of different columns".to_owned()));
        }
        for group in metadata.row_groups() {
            let rows_written = u64::try_from(group.num_rows())?;
            let mut copy = out.next_row_group()?;
            for column in group.columns() {
                let bytes_written = u64::try_from(column.compressed_size())?;
                let metadata = column.clone();
                let close = ColumnCloseResult {
                    bytes_written,
                    rows_written,
                    metadata,
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                copy.append_column(&file, close)?;
            }
            copy.close()?;
        }
    }
    out.into_inner()
}

fn refused(error: ParquetError) -> io::Error {
    match error {
        // Somebody who closed the pipe must be told apart from a full disk.
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(source) => io::Error::other(source),
        },
        error => io::Error::new(io::ErrorKind::InvalidData, error),
    }
}
