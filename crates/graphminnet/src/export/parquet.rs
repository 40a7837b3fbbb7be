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

#[cfg(test)]
mod tests {
    use super::*;

    /// A value of the compact protocol, read by a reader that knows nothing of the writer.
    #[derive(Debug, PartialEq)]
    enum Value {
        Integer(i64),
        Text(String),
        List(Vec<Value>),
        Struct(Vec<(u8, Value)>),
    }

    impl Value {
        fn field(&self, number: u8) -> &Value {
            let Value::Struct(fields) = self else { panic!("no structure: {self:?}") };
            &fields.iter().find(|(found, _)| *found == number).unwrap().1
        }

        fn item(&self, at: usize) -> &Value {
            let Value::List(items) = self else { panic!("no list: {self:?}") };
            &items[at]
        }

        fn integer(&self) -> i64 {
            let Value::Integer(value) = self else { panic!("no integer: {self:?}") };
            *value
        }
    }

    fn variable(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (byte, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return value;
            }
        }
    }

    fn read(bytes: &mut &[u8], kind: u8) -> Value {
        match kind {
            5 | 6 => {
                let value = variable(bytes);
                Value::Integer((value >> 1) as i64 ^ -((value & 1) as i64))
            }
            8 => {
                let length = variable(bytes) as usize;
                let (text, rest) = bytes.split_at(length);
                *bytes = rest;
                Value::Text(String::from_utf8(text.to_vec()).unwrap())
            }
            9 => {
                let (head, rest) = bytes.split_first().unwrap();
                *bytes = rest;
                let length = if head >> 4 == 15 { variable(bytes) } else { u64::from(head >> 4) };
                Value::List((0..length).map(|_| read(bytes, head & 15)).collect())
            }
            12 => {
                let (mut fields, mut number) = (Vec::new(), 0);
                loop {
                    let (head, rest) = bytes.split_first().unwrap();
                    *bytes = rest;
                    if *head == 0 {
                        return Value::Struct(fields);
                    }
                    number += head >> 4;
                    fields.push((number, read(bytes, head & 15)));
                }
            }
            other => panic!("type {other}"),
        }
    }

    #[test]
    fn the_footer_leads_to_every_value() {
        let floats = 20;
        let names = ["id".to_owned(), "node".to_owned()].into_iter();
        let names: Vec<String> = names.chain((0..floats).map(|column| format!("e{column}"))).collect();
        let group = |rows: i64| -> Vec<ParquetColumn<'static>> {
            let mut columns = vec![
                ParquetColumn::Text((0..rows).map(|_| "größe").collect()),
                ParquetColumn::Integers((0..rows).map(|row| -row).collect()),
            ];
            columns.extend((0..floats).map(|column| {
                ParquetColumn::Floats((0..rows).map(|row| row as f32 + column as f32 / 32.0).collect())
            }));
            columns
        };
        let mut writer = ParquetWriter::new(Vec::new(), names.clone()).unwrap();
        writer.write(&group(3)).unwrap();
        writer.write(&group(200)).unwrap();
        assert!(writer.write(&group(1)[1..]).is_err());
        let bytes = writer.finish(&group(0)).unwrap();
        let (body, tail) = bytes.split_at(bytes.len() - 8);
        assert!(bytes.starts_with(b"PAR1") && tail.ends_with(b"PAR1"));
        let length = u32::from_le_bytes(*tail.first_chunk().unwrap()) as usize;
        let mut footer = &body[body.len() - length..];
        let file = read(&mut footer, 12);
        assert!(footer.is_empty());
        assert_eq!(file.field(3), &Value::Integer(203));
        assert_eq!(file.field(2).item(0).field(5), &Value::Integer(22));
        assert_eq!(file.field(2).item(22).field(4), &Value::Text("e19".into()));
        for (at, rows) in [(0, 3), (1, 200)] {
            let group_of_file = file.field(4).item(at);
            assert_eq!(group_of_file.field(3), &Value::Integer(rows));
            for (column, expected) in group(rows).iter().enumerate() {
                let about = group_of_file.field(1).item(column).field(3);
                assert_eq!(about.field(3).item(0), &Value::Text(names[column].clone()));
                assert_eq!((about.field(1).integer(), about.field(5).integer()), (expected.kind(), rows));
                let mut page = &bytes[about.field(9).integer() as usize..];
                let header = read(&mut page, 12);
                assert_eq!(header.field(5).field(1), &Value::Integer(rows));
                assert_eq!(&page[..header.field(3).integer() as usize], expected.plain());
            }
        }
    }
}
