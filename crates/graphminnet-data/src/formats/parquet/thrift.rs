//! The header of a page: a structure in Thrift's compact protocol, of which only what is needed is kept.

/// Structures within structures, lists within lists.
const DEPTH: u32 = 16;

/// What a page says about itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PageHeader {
    /// 0: data, 1: index, 2: dictionary, 3: data of the second version.
    pub(super) kind: i64,
    pub(super) uncompressed: i64,
    pub(super) compressed: i64,
    pub(super) checksum: Option<i64>,
    pub(super) values: i64,
    pub(super) encoding: i64,
    /// Of the second version: bytes of the levels, which are not compressed, and whether the values are.
    pub(super) nulls: i64,
    pub(super) rows: i64,
    pub(super) definition_bytes: i64,
    pub(super) repetition_bytes: i64,
    pub(super) is_compressed: bool,
}

impl PageHeader {
    /// Reads a header, and tells its length; `None` if the bytes are none, or not all of one.
    pub(super) fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut from = Compact { bytes, at: 0 };
        let mut header = Self { is_compressed: true, ..Self::default() };
        from.structure(|field, from| {
            match field.id {
                1 => header.kind = from.number(field)?,
                2 => header.uncompressed = from.number(field)?,
                3 => header.compressed = from.number(field)?,
                4 => header.checksum = Some(from.number(field)?),
                // Number of values and encoding come first in the header of data and in that of a dictionary.
                5 | 7 => from.inner(field, |field, from| {
                    match field.id {
                        1 => header.values = from.number(field)?,
                        2 => header.encoding = from.number(field)?,
                        _ => from.skip(field.kind, DEPTH)?,
                    }
                    Some(())
                })?,
                8 => from.inner(field, |field, from| {
                    match field.id {
                        1 => header.values = from.number(field)?,
                        2 => header.nulls = from.number(field)?,
                        3 => header.rows = from.number(field)?,
                        4 => header.encoding = from.number(field)?,
                        5 => header.definition_bytes = from.number(field)?,
                        6 => header.repetition_bytes = from.number(field)?,
                        7 => header.is_compressed = field.kind == TRUE,
                        _ => from.skip(field.kind, DEPTH)?,
                    }
                    Some(())
                })?,
                _ => from.skip(field.kind, DEPTH)?,
            }
            Some(())
        })?;
        Some((header, from.at))
    }
}

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const STRUCTURE: u8 = 12;

#[derive(Clone, Copy)]
struct Field {
    id: i64,
    kind: u8,
}

struct Compact<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Compact<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A whole number of any width but 8 bits.
    fn number(&mut self, field: Field) -> Option<i64> {
        if (4..=6).contains(&field.kind) { self.signed() } else { None }
    }

    fn inner(&mut self, field: Field, each: impl FnMut(Field, &mut Self) -> Option<()>) -> Option<()> {
        if field.kind == STRUCTURE { self.structure(each) } else { None }
    }

    fn structure(&mut self, mut each: impl FnMut(Field, &mut Self) -> Option<()>) -> Option<()> {
        let mut id = 0i64;
        loop {
            let byte = self.byte()?;
            if byte == 0 {
                return Some(());
            }
            id = match byte >> 4 {
                0 => self.signed()?,
                step => id.checked_add(i64::from(step))?,
            };
            each(Field { id, kind: byte & 15 }, self)?;
        }
    }

    fn advance(&mut self, bytes: u64) -> Option<()> {
        let end = self.at.checked_add(usize::try_from(bytes).ok()?)?;
        self.at = Some(end).filter(|end| *end <= self.bytes.len())?;
        Some(())
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            TRUE | FALSE => Some(()),
            3 => self.advance(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.advance(8),
            8 => {
                let length = self.varint()?;
                self.advance(length)
            }
            9 | 10 => {
                let byte = self.byte()?;
                let count = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
                self.skip_elements(count, byte & 15, depth)
            }
            11 => {
                let count = self.varint()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                for _ in 0..count {
                    self.skip_elements(1, kinds >> 4, depth)?;
                    self.skip_elements(1, kinds & 15, depth)?;
                }
                Some(())
            }
            STRUCTURE => self.structure(|field, from| from.skip(field.kind, depth)),
            _ => None,
        }
    }

    fn skip_elements(&mut self, count: u64, kind: u8, depth: u32) -> Option<()> {
        for _ in 0..count {
            // In a list a truth value takes a byte.
            if kind == TRUE || kind == FALSE { self.advance(1)? } else { self.skip(kind, depth)? }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Type 0, 300 bytes, 200 compressed; data with 7 values, plain, and statistics with a text in them.
    const DATA: [u8; 29] = [
        0x15, 0, 0x15, 0xd8, 0x04, 0x15, 0x90, 0x03, 0x2c, 0x15, 14, 0x15, 0, 0x15, 6, 0x15, 6, 0x1c, 0x28,
        3, 97, 98, 99, 0x11, 0x12, 0, 0, 0, 99,
    ];

    #[test]
    fn a_header_is_read_up_to_its_end() {
        let (header, length) = PageHeader::read(&DATA).unwrap();
        assert_eq!((header.kind, header.uncompressed, header.compressed), (0, 300, 200));
        assert_eq!((header.values, header.encoding, header.is_compressed), (7, 0, true));
        assert_eq!(length, DATA.len() - 1);
    }

    #[test]
    fn half_a_header_and_nonsense_are_none() {
        for end in 0..DATA.len() - 1 {
            assert_eq!(PageHeader::read(&DATA[..end]), None, "{end} bytes");
        }
        // Lists within lists, a text longer than the file, a map of anything.
        assert_eq!(PageHeader::read(&[0x99; 100]), None);
        assert_eq!(PageHeader::read(&[0x98, 0xff, 0xff, 0xff, 0xff, 0x7f]), None);
        assert_eq!(PageHeader::read(&[0x9b, 0xff, 0xff, 0xff, 0x7f, 0x11]), None);
    }
}
