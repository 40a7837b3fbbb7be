//! Tables as Parquet files: plain, uncompressed pages of columns without gaps, which every reader understands.
//!
//! The file is `PAR1`, row groups, the footer with the schema and the places of all pages, its length, `PAR1`. Page
//! headers and footer are Thrift structures in the compact protocol, of which [`Thrift`] writes what is needed.

use std::io::{self, Write};

/// A column of values.
#[derive(Debug, Clone, PartialEq)]
pub enum ParquetColumn<'a> {
    /// Texts.
    Text(Vec<&'a str>),
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Numbers.
    Floats(Vec<f32>),
}

impl ParquetColumn<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Integers(values) => values.len(),
            Self::Floats(values) => values.len(),
        }
    }

    /// Number of the physical type.
    fn kind(&self) -> i64 {
        match self {
            Self::Text(_) => 6,
            Self::Integers(_) => 2,
            Self::Floats(_) => 4,
        }
    }

    fn plain(&self) -> Vec<u8> {
        match self {
            Self::Text(values) => values
                .iter()
                .flat_map(|text| (text.len() as u32).to_le_bytes().into_iter().chain(text.bytes()))
                .collect(),
            Self::Integers(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::Floats(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }
}

/// Where a column of a row group is.
#[derive(Debug)]
struct Chunk {
    kind: i64,
    offset: u64,
    bytes: u64,
}

/// Writes a table, one row group at a time.
#[derive(Debug)]
pub struct ParquetWriter<W: Write> {
    out: W,
    names: Vec<String>,
    written: u64,
    groups: Vec<(usize, Vec<Chunk>)>,
}

impl<W: Write> ParquetWriter<W> {
    /// Begins a file with columns of these names.
    ///
    /// # Errors
    ///
    /// Whatever the output refuses.
    pub fn new(mut out: W, names: Vec<String>) -> io::Result<Self> {
        out.write_all(b"PAR1")?;
        Ok(Self { out, names, written: 4, groups: Vec::new() })
    }

    /// Adds rows: a column for every name, all equally long, with the types of the rows before.
    ///
    /// # Errors
    ///
    /// Whatever the output refuses; columns that do not go together, or are too long for one group.
    pub fn write(&mut self, columns: &[ParquetColumn<'_>]) -> io::Result<()> {
        let wrong = |text: &str| io::Error::new(io::ErrorKind::InvalidInput, text.to_owned());
        let rows = columns.first().map_or(0, ParquetColumn::len);
        let same_types = self.groups.first().is_none_or(|(_, before)| {
            before.iter().map(|chunk| chunk.kind).eq(columns.iter().map(ParquetColumn::kind))
        });
        if columns.len() != self.names.len()
            || columns.iter().any(|column| column.len() != rows)
            || !same_types
        {
            return Err(wrong("the columns do not fit the table"));
        }
        let mut chunks = Vec::with_capacity(columns.len());
        for column in columns {
            let data = column.plain();
            let size =
                i32::try_from(data.len()).map_err(|_| wrong("a column of a row group exceeds 2 GiB"))?;
            let mut header = Thrift::default();
            header.integer(1, Kind::I32, 0); // a data page
            header.integer(2, Kind::I32, i64::from(size));
            header.integer(3, Kind::I32, i64::from(size));
            header.structure(5, |page| {
                page.integer(1, Kind::I32, rows as i64);
                page.integer(2, Kind::I32, 0); // plain
                page.integer(3, Kind::I32, 3); // levels would be run lengths, but there are none
                page.integer(4, Kind::I32, 3);
            });
            let header = header.finish();
            self.out.write_all(&header)?;
            self.out.write_all(&data)?;
            let bytes = (header.len() + data.len()) as u64;
            chunks.push(Chunk { kind: column.kind(), offset: self.written, bytes });
            self.written += bytes;
        }
        self.groups.push((rows, chunks));
        Ok(())
    }

    /// Writes the footer and gives the output back. `columns` gives the types of a table without rows.
    ///
    /// # Errors
    ///
    /// Whatever the output refuses.
    pub fn finish(mut self, columns: &[ParquetColumn<'_>]) -> io::Result<W> {
        let footer = self.footer(columns);
        self.out.write_all(&footer)?;
        self.out.write_all(&(footer.len() as u32).to_le_bytes())?;
        self.out.write_all(b"PAR1")?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn footer(&self, columns: &[ParquetColumn<'_>]) -> Vec<u8> {
        let rows: usize = self.groups.iter().map(|(rows, _)| rows).sum();
        let mut file = Thrift::default();
        file.integer(1, Kind::I32, 1);
        file.list(2, Kind::Struct, self.names.len() + 1, |list| {
            list.element(|root| {
                root.text(4, "table");
                root.integer(5, Kind::I32, self.names.len() as i64);
            });
            for (name, column) in self.names.iter().zip(columns) {
                list.element(|element| {
                    element.integer(1, Kind::I32, column.kind());
                    element.integer(3, Kind::I32, 0); // required
                    element.text(4, name);
                    if let ParquetColumn::Text(_) = column {
                        element.integer(6, Kind::I32, 0); // UTF-8
                    }
                });
            }
        });
        file.integer(3, Kind::I64, rows as i64);
        file.list(4, Kind::Struct, self.groups.len(), |list| {
            for (rows, chunks) in &self.groups {
                list.element(|group| self.group(group, *rows, chunks));
            }
        });
        file.text(6, concat!("graphminnet ", env!("CARGO_PKG_VERSION")));
        file.finish()
    }

    fn group(&self, group: &mut Thrift, rows: usize, chunks: &[Chunk]) {
        group.list(1, Kind::Struct, chunks.len(), |list| {
            for (name, chunk) in self.names.iter().zip(chunks) {
                list.element(|column| {
                    column.integer(2, Kind::I64, chunk.offset as i64);
                    column.structure(3, |about| {
                        about.integer(1, Kind::I32, chunk.kind);
                        about.list(2, Kind::I32, 2, |encodings| {
                            encodings.bare(0);
                            encodings.bare(3);
                        });
                        about.list(3, Kind::Text, 1, |path| path.bare_text(name));
                        about.integer(4, Kind::I32, 0); // uncompressed
                        about.integer(5, Kind::I64, rows as i64);
                        about.integer(6, Kind::I64, chunk.bytes as i64);
                        about.integer(7, Kind::I64, chunk.bytes as i64);
                        about.integer(9, Kind::I64, chunk.offset as i64);
                    });
                });
            }
        });
        group.integer(2, Kind::I64, chunks.iter().map(|chunk| chunk.bytes as i64).sum());
        group.integer(3, Kind::I64, rows as i64);
    }
}

/// Types of the compact protocol.
#[derive(Debug, Clone, Copy)]
enum Kind {
    I32 = 5,
    I64 = 6,
    Text = 8,
    List = 9,
    Struct = 12,
}

/// One structure of the compact protocol, on its way to bytes.
#[derive(Debug, Default)]
struct Thrift {
    bytes: Vec<u8>,
    last: u8,
}

impl Thrift {
    fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    /// Fields come in rising order and less than 16 apart, so the short form always does.
    fn field(&mut self, number: u8, kind: Kind) {
        self.bytes.push((number - self.last) << 4 | kind as u8);
        self.last = number;
    }

    fn variable(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn bare(&mut self, value: i64) {
        self.variable((value << 1 ^ value >> 63) as u64);
    }

    fn bare_text(&mut self, text: &str) {
        self.variable(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    fn integer(&mut self, number: u8, kind: Kind, value: i64) {
        self.field(number, kind);
        self.bare(value);
    }

    fn text(&mut self, number: u8, text: &str) {
        self.field(number, Kind::Text);
        self.bare_text(text);
    }

    fn structure(&mut self, number: u8, fill: impl FnOnce(&mut Self)) {
        self.field(number, Kind::Struct);
        self.element(fill);
    }

    fn element(&mut self, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        fill(&mut inner);
        self.bytes.extend(inner.finish());
    }

    fn list(&mut self, number: u8, kind: Kind, length: usize, fill: impl FnOnce(&mut Self)) {
        self.field(number, Kind::List);
        if length < 15 {
            self.bytes.push((length as u8) << 4 | kind as u8);
        } else {
            self.bytes.push(0xf0 | kind as u8);
            self.variable(length as u64);
        }
        let last = std::mem::take(&mut self.last);
        fill(self);
        self.last = last;
    }
}
