//! Matrices as `.npy` files, written row by row.

use std::io::{self, Read, Seek, SeekFrom, Write};

/// Bytes of the header: the number of rows is filled in at the end, so there must be room for any.
const HEADER: usize = 128;

/// Writes a matrix of 32-bit floats whose number of rows is known only at the end.
#[derive(Debug)]
pub struct NpyWriter<W: Write + Seek> {
    out: W,
    columns: usize,
    values: usize,
}

impl<W: Write + Seek> NpyWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// Whatever the output refuses.
    pub fn new(mut out: W, columns: usize) -> io::Result<Self> {
        out.write_all(&header(0, columns)?)?;
        Ok(Self { out, columns: columns.max(1), values: 0 })
    }

    /// Adds rows, `[rows, columns]`.
    ///
    /// # Errors
    ///
    /// Whatever the output refuses; values that are no whole rows.
    pub fn write(&mut self, values: &[f32]) -> io::Result<()> {
        if !values.len().is_multiple_of(self.columns) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a whole number of rows"));
        }
        self.values += values.len();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.out.write_all(&bytes)
    }

    /// Adds the rows of a file that this writer wrote.
    ///
    /// # Errors
    ///
    /// What reading fails with, or the output refuses; `InvalidData` for anything but such a file of equally long rows.
    pub fn write_file(&mut self, from: &mut impl Read) -> io::Result<()> {
        let (mut found, mut bytes) = ([0; HEADER], Vec::new());
        from.read_exact(&mut found)?;
        let mut values = 0;
        loop {
            bytes.clear();
            from.take(1 << 20).read_to_end(&mut bytes)?;
            if bytes.is_empty() {
                break;
            }
            self.out.write_all(&bytes)?;
            values += bytes.len() / 4;
        }
        if found != *header(values / self.columns, self.columns)? {
            let what = format!("not a matrix of 32-bit floats with {} columns", self.columns);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        self.values += values;
        Ok(())
    }

    /// Fills in the number of rows and gives the output back.
    ///
    /// # Errors
    ///
    /// Whatever the output refuses.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&header(self.values / self.columns, self.columns)?)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn header(rows: usize, columns: usize) -> io::Result<Vec<u8>> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(((HEADER - 10) as u16).to_le_bytes());
    let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    bytes.extend(text.as_bytes());
    if bytes.len() >= HEADER {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the matrix is too large"));
    }
    bytes.resize(HEADER - 1, b' ');
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(rows: &[&[f32]], columns: usize) -> Vec<u8> {
        let mut writer = NpyWriter::new(io::Cursor::new(Vec::new()), columns).unwrap();
        rows.iter().for_each(|rows| writer.write(rows).unwrap());
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn files_in_a_row_are_the_file_of_all_rows() {
        let parts = [written(&[&[1.0, 2.0]], 2), written(&[], 2), written(&[&[3.0, 4.0, 5.0, 6.0]], 2)];
        let mut whole = NpyWriter::new(io::Cursor::new(Vec::new()), 2).unwrap();
        parts.iter().for_each(|part| whole.write_file(&mut &part[..]).unwrap());
        let expected = written(&[&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]], 2);
        assert_eq!(whole.finish().unwrap().into_inner(), expected);
        for other in [&parts[2][..140], &parts[0][..100], b"", &written(&[&[1.0, 2.0, 3.0]], 3)] {
            let mut whole = NpyWriter::new(io::Cursor::new(Vec::new()), 2).unwrap();
            assert!(whole.write_file(&mut &other[..]).is_err(), "{} bytes", other.len());
        }
    }

    #[test]
    fn the_file_is_what_numpy_writes() {
        let mut writer = NpyWriter::new(io::Cursor::new(Vec::new()), 2).unwrap();
        writer.write(&[1.0, 2.0]).unwrap();
        writer.write(&[3.0, -0.5]).unwrap();
        assert!(writer.write(&[1.0]).is_err());
        let bytes = writer.finish().unwrap().into_inner();
        assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
        let text = std::str::from_utf8(&bytes[10..128]).unwrap();
        assert_eq!(text.trim_end(), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }");
        assert!(text.ends_with('\n'));
        let values: Vec<f32> =
            bytes[128..].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        assert_eq!(values, [1.0, 2.0, 3.0, -0.5]);
    }
}
