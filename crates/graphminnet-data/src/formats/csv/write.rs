//! Writing of tables, and the fields of a record that was written.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

/// Writes a table field by field.
#[derive(Debug)]
pub struct CsvWriter<W: Write> {
    out: W,
    /// Whether the current row has a field already.
    begun: bool,
    text: String,
}

impl<W: Write> CsvWriter<W> {
    /// An empty table.
    pub fn new(out: W) -> Self {
        Self { out, begun: false, text: String::new() }
    }

    /// Adds a field to the current row.
    ///
    /// # Errors
    ///
    /// Whatever the output refuses.
    pub fn field(&mut self, value: impl Display) -> io::Result<()> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let written = std::fmt::Write::write_fmt(&mut text, format_args!("{value}"));
        let result = written.map_err(io::Error::other).and_then(|()| self.bytes(text.as_bytes()));
        self.text = text;
        result
    }

    /// Adds fields that are written already, with their commas and quotes, as `CsvReader::record` gives them.
    ///
    /// # Errors
    ///
    /// Whatever the output refuses.
    pub fn written(&mut self, fields: &[u8]) -> io::Result<()> {
        if self.begun {
            self.out.write_all(b",")?;
        }
        self.begun = true;
        self.out.write_all(fields)
    }

    /// Ends the current row.
    ///
    /// # Errors
    ///
    /// Whatever the output refuses.
    pub fn end_row(&mut self) -> io::Result<()> {
        self.begun = false;
        self.out.write_all(b"\n")
    }

    /// A whole row.
    ///
    /// # Errors
    ///
    /// Whatever the output refuses.
    pub fn row<T: Display>(&mut self, fields: impl IntoIterator<Item = T>) -> io::Result<()> {
        fields.into_iter().try_for_each(|field| self.field(field))?;
        self.end_row()
    }

    /// The output.
    pub fn into_inner(self) -> W {
        self.out
    }

    pub(super) fn bytes(&mut self, field: &[u8]) -> io::Result<()> {
        self.written(&quoted(field))
    }
}

/// The fields of a record that [`CsvReader`](super::CsvReader) gave, with its commas and quotes.
pub fn fields_of(record: &[u8]) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), Vec::new(), false);
    let mut bytes = record.iter().copied().peekable();
    let mut at_start = true;
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' if quoted && bytes.peek() == Some(&b'"') => {
                bytes.next();
                field.push(b'"');
            }
            b'"' if quoted => quoted = false,
            b'"' if at_start => quoted = true,
            b',' if !quoted => {
                fields.push(String::from_utf8_lossy(&std::mem::take(&mut field)).into_owned());
                at_start = true;
                continue;
            }
            _ => field.push(byte),
        }
        at_start = false;
    }
    fields.push(String::from_utf8_lossy(&field).into_owned());
    fields
}

/// A field as it stands in a table.
fn quoted(field: &[u8]) -> Cow<'_, [u8]> {
    let is_special = |byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    if !field.iter().any(is_special) && field.trim_ascii().len() == field.len() {
        return field.into();
    }
    let mut quoted = vec![b'"'];
    for byte in field {
        quoted.extend(if *byte == b'"' { &b"\"\""[..] } else { std::slice::from_ref(byte) });
    }
    quoted.push(b'"');
    quoted.into()
}

#[cfg(test)]
mod tests {
    use super::super::CsvReader;
    use super::*;
    use crate::Limits;

    #[test]
    fn fields_are_quoted_where_they_could_be_misread_and_only_there() {
        let mut table = CsvWriter::new(Vec::new());
        table.row(["plain", "a,\"b\"", " blank ", "two\nlines", "", "größe"]).unwrap();
        table.written(b"as,it,is").unwrap();
        table.field(-0.5).unwrap();
        table.end_row().unwrap();
        let text = String::from_utf8(table.into_inner()).unwrap();
        assert_eq!(text, "plain,\"a,\"\"b\"\"\",\" blank \",\"two\nlines\",,größe\nas,it,is,-0.5\n");
    }

    #[test]
    fn the_fields_of_a_record_are_those_that_were_written() {
        let rows = [vec!["a,\"b\"", "", "1\n2", " x "], vec![""], vec!["in \"the\" middle", "plain"]];
        for row in rows {
            let mut table = CsvWriter::new(Vec::new());
            table.row(&row).unwrap();
            let record = table.into_inner();
            assert_eq!(fields_of(&record[..record.len() - 1]), row);
        }
        assert_eq!(fields_of(b"in \"the\" middle,x"), ["in \"the\" middle", "x"]);
    }

    #[test]
    fn what_is_written_is_read_back_also_under_names_that_repeat() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        let mut table = CsvWriter::new(Vec::new());
        table.row(["id", "y", "y"]).unwrap();
        table.row(["a,\"b\"", "1\n2", " "]).unwrap();
        std::fs::write(&path, table.into_inner()).unwrap();
        let mut reader = CsvReader::open(&path, &Limits::default()).unwrap();
        assert_eq!(reader.header(), ["id", "y", "y"]);
        reader.advance().unwrap().unwrap().unwrap();
        assert_eq!([0, 1, 2].map(|column| reader.field(column).to_owned()), ["a,\"b\"", "1\n2", " "]);
        assert!(reader.advance().unwrap().is_none());
    }
}
