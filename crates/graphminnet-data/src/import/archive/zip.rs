//! Zip archives: the central directory is read and checked as a whole, members are decompressed while they are read.
//!
//! Checked before anything is allocated: the directory lies inside the file and is large enough for the number of members
//! it claims; every member lies inside the file; declared sizes, their sum and their ratio are within the limits. Checked
//! while reading: a member is exactly as long as declared and has the declared CRC-32.

use super::check_name;
use crate::budget::Share;
use crate::formats::Tree;
use crate::fs::open;
use crate::limits::within;
use crate::{DataError, Limits, Place};
use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const END_BYTES: usize = 22;
const LOCATOR_BYTES: u64 = 20;
const ENTRY_BYTES: u64 = 46;
const LOCAL_BYTES: u64 = 30;
/// Expansion is not judged below this size.
const RATIO_FREE_BYTES: u64 = 16 << 20;

/// Bytes that can be read from any position.
#[derive(Debug, Clone)]
pub(crate) enum Bytes {
    /// A file.
    File(PathBuf),
    /// Memory.
    Memory(Arc<Vec<u8>>),
}

impl Bytes {
    fn len(&self) -> io::Result<u64> {
        match self {
            Self::File(path) => std::fs::metadata(path).map(|metadata| metadata.len()),
            Self::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }

    fn from(&self, start: u64) -> io::Result<Box<dyn Read + Send>> {
        match self {
            Self::File(path) => {
                let mut file = open(path).map_err(|error| error.source)?;
                file.seek(SeekFrom::Start(start))?;
                Ok(Box::new(io::BufReader::with_capacity(1 << 16, file)))
            }
            Self::Memory(bytes) => {
                let mut cursor = io::Cursor::new(Shared(Arc::clone(bytes)));
                cursor.set_position(start);
                Ok(Box::new(cursor))
            }
        }
    }

    fn range(&self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; length];
        self.from(start)?.read_exact(&mut buffer)?;
        Ok(buffer)
    }
}

struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[derive(Debug, Clone)]
struct Member {
    method: u16,
    compressed: u64,
    size: u64,
    crc: u32,
    header: u64,
}

/// A zip archive.
#[derive(Debug)]
pub(crate) struct Zip {
    bytes: Bytes,
    place: Place,
    members: BTreeMap<String, Member>,
}

/// A little-endian number in a record; 0 past its end, which every caller has excluded by the record's length.
fn number(record: &[u8], at: usize, length: usize) -> u64 {
    let field = record.get(at..at + length).unwrap_or_default();
    field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

impl Zip {
    /// Reads the directory of an archive; `place` is where it is, for messages.
    pub(crate) fn open(
        bytes: Bytes,
        place: Place,
        max_members: u64,
        limits: &Limits,
    ) -> Result<Self, DataError> {
        let broken = |reason: &str| DataError::Archive { place: place.clone(), reason: reason.to_owned() };
        let io = |source: io::Error| DataError::Archive {
            place: place.clone(),
            reason: format!("damaged: {source}"),
        };
        let length = bytes.len().map_err(DataError::io(&place.file, "open"))?;
        let tail_length = length.min(END_BYTES as u64 + 0xffff);
        let tail = bytes.range(length - tail_length, tail_length as usize).map_err(io)?;
        let Some(end) = tail.windows(END_BYTES).rposition(|window| window.starts_with(b"PK\x05\x06")) else {
            return Err(broken("not a zip archive, or cut short: its end record is missing"));
        };
        let record = tail.get(end..).unwrap_or_default();
        let (mut count, mut size, mut start) =
            (number(record, 10, 2), number(record, 12, 4), number(record, 16, 4));
        let end_position = length - tail_length + end as u64;
        if (count == 0xffff || size == 0xffff_ffff || start == 0xffff_ffff) && end_position >= LOCATOR_BYTES {
            let locator = bytes.range(end_position - LOCATOR_BYTES, LOCATOR_BYTES as usize).map_err(io)?;
            if locator.starts_with(b"PK\x06\x07") {
                let wide = bytes.range(number(&locator, 8, 8), 56).map_err(io)?;
                if !wide.starts_with(b"PK\x06\x06") {
                    return Err(broken("damaged: the 64-bit end record is missing"));
                }
                (count, size, start) = (number(&wide, 32, 8), number(&wide, 40, 8), number(&wide, 48, 8));
            }
        }
        within("members", count, max_members).map_err(DataError::limit(place.clone()))?;
        let directory_end = start.checked_add(size).filter(|end| *end <= length);
        if directory_end.is_none() || count.saturating_mul(ENTRY_BYTES) > size {
            return Err(broken("damaged: the directory does not fit into the file"));
        }
        within("member_bytes", size, limits.member_bytes).map_err(DataError::limit(place.clone()))?;
        let mut directory = Vec::new();
        bytes.from(start).map_err(io)?.take(size).read_to_end(&mut directory).map_err(io)?;
        let members = read_directory(&directory, count, length, &place, limits)?;
        Ok(Self { bytes, place, members })
    }

    /// A member's content; its declared and real sizes agree.
    pub(crate) fn content(&self, name: &str, held: &mut Share) -> Result<Vec<u8>, DataError> {
        let size = self.members.get(name).map_or(0, |member| member.size);
        held.grow(size).map_err(DataError::limit(self.place(name)))?;
        let mut content = Vec::with_capacity(size.min(1 << 20) as usize);
        self.open_member(name)?.read_to_end(&mut content).map_err(|source| DataError::Archive {
            place: self.place(name),
            reason: format!("damaged: {source}"),
        })?;
        Ok(content)
    }

    /// A member's declared size.
    pub(crate) fn size_of(&self, name: &str) -> Option<u64> {
        self.members.get(name).map(|member| member.size)
    }

    /// Names of all members, sorted.
    pub(crate) fn member_names(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    fn open_member(&self, name: &str) -> Result<Box<dyn Read + Send>, DataError> {
        let place = self.place(name);
        let broken = |reason: String| DataError::Archive { place: place.clone(), reason };
        let Some(member) = self.members.get(name) else { return Err(broken("no such member".to_owned())) };
        let local = self
            .bytes
            .range(member.header, LOCAL_BYTES as usize)
            .map_err(|source| broken(format!("damaged: {source}")))?;
        if !local.starts_with(b"PK\x03\x04") {
            return Err(broken("damaged: the member's header is missing".to_owned()));
        }
        let start = member.header + LOCAL_BYTES + number(&local, 26, 2) + number(&local, 28, 2);
        let stored =
            self.bytes.from(start).map_err(DataError::io(&self.place.file, "read"))?.take(member.compressed);
        let content: Box<dyn Read + Send> = match member.method {
            0 => Box::new(stored),
            8 => Box::new(flate2::read::DeflateDecoder::new(stored)),
            other => {
                return Err(broken(format!(
                    "compression method {other} is not supported (stored or deflate is)"
                )));
            }
        };
        Ok(Box::new(Checked {
            inner: content,
            declared: member.size,
            seen: 0,
            crc: member.crc,
            hasher: flate2::Crc::new(),
        }))
    }
}

fn read_directory(
    directory: &[u8],
    count: u64,
    file_length: u64,
    place: &Place,
    limits: &Limits,
) -> Result<BTreeMap<String, Member>, DataError> {
    let broken = |reason: &str| DataError::Archive { place: place.clone(), reason: reason.to_owned() };
    let mut rest = directory;
    let mut members = BTreeMap::new();
    let mut total = 0u64;
    for _ in 0..count {
        let (entry, after) = match rest.split_at_checked(ENTRY_BYTES as usize) {
            Some((entry, after)) if entry.starts_with(b"PK\x01\x02") => (entry, after),
            _ => return Err(broken("damaged: an entry of the directory is missing")),
        };
        let lengths = [number(entry, 28, 2), number(entry, 30, 2), number(entry, 32, 2)];
        let [name_length, extra_length, comment_length] = lengths.map(|length| length as usize);
        let Some((variable, after)) = after.split_at_checked(name_length + extra_length + comment_length)
        else {
            return Err(broken("damaged: an entry of the directory is cut short"));
        };
        rest = after;
        let (name, extra) = variable.split_at(name_length.min(variable.len()));
        let Ok(name) = std::str::from_utf8(name) else { return Err(broken("a member's name is not UTF-8")) };
        let mut member = Member {
            method: number(entry, 10, 2) as u16,
            crc: number(entry, 16, 4) as u32,
            compressed: number(entry, 20, 4),
            size: number(entry, 24, 4),
            header: number(entry, 42, 4),
        };
        widen(&mut member, extra.get(..extra_length).unwrap_or_default());
        check_name(name.strip_suffix('/').unwrap_or(name), place)?;
        let here = place.clone().in_member(name);
        let kind = number(entry, 38, 4) >> 28;
        if !matches!(kind, 0 | 4 | 8) {
            let reason = "the member is a link or a device; only plain files are accepted".to_owned();
            return Err(DataError::Archive { place: here, reason });
        }
        if number(entry, 8, 2) & 1 == 1 {
            return Err(DataError::Archive { place: here, reason: "the member is encrypted".to_owned() });
        }
        if name.ends_with('/') {
            continue;
        }
        check_sizes(&member, file_length, &here, limits)?;
        total = total.saturating_add(member.size);
        within("total_bytes", total, limits.total_bytes).map_err(DataError::limit(place.clone()))?;
        if members.insert(name.to_owned(), member).is_some() {
            let reason = "two members have this name".to_owned();
            return Err(DataError::Archive { place: here, reason });
        }
    }
    Ok(members)
}

/// Takes 64-bit sizes from the extra field where the 32-bit ones are full.
fn widen(member: &mut Member, mut extra: &[u8]) {
    while let Some((head, rest)) = extra.split_at_checked(4) {
        let (id, length) = (number(head, 0, 2), number(head, 2, 2) as usize);
        let Some((body, after)) = rest.split_at_checked(length) else { return };
        if id == 1 {
            let mut at = 0;
            for field in [&mut member.size, &mut member.compressed, &mut member.header] {
                if *field == 0xffff_ffff && at + 8 <= body.len() {
                    *field = number(body, at, 8);
                    at += 8;
                }
            }
        }
        extra = after;
    }
}

fn check_sizes(member: &Member, file_length: u64, place: &Place, limits: &Limits) -> Result<(), DataError> {
    within("member_bytes", member.size, limits.member_bytes).map_err(DataError::limit(place.clone()))?;
    if member.size > RATIO_FREE_BYTES {
        let ratio = member.size / member.compressed.max(1);
        within("ratio", ratio, limits.ratio).map_err(DataError::limit(place.clone()))?;
    }
    let end = member.header.checked_add(LOCAL_BYTES).and_then(|start| start.checked_add(member.compressed));
    if end.is_none_or(|end| end > file_length) {
        let reason = "damaged: the member does not fit into the file".to_owned();
        return Err(DataError::Archive { place: place.clone(), reason });
    }
    Ok(())
}

/// Holds a stream to its declared length and checksum.
struct Checked {
    inner: Box<dyn Read + Send>,
    declared: u64,
    seen: u64,
    crc: u32,
    hasher: flate2::Crc,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.seen += count as u64;
        self.hasher.update(buffer.get(..count).unwrap_or_default());
        let damaged = |reason: &str| Err(io::Error::new(io::ErrorKind::InvalidData, reason.to_owned()));
        if self.seen > self.declared {
            return damaged("the member is longer than declared");
        }
        if count == 0 && !buffer.is_empty() {
            if self.seen < self.declared {
                return damaged("the member is shorter than declared");
            }
            if self.hasher.sum() != self.crc {
                return damaged("the member's checksum is wrong");
            }
        }
        Ok(count)
    }
}

impl Tree for Zip {
    fn root(&self) -> &Path {
        &self.place.file
    }

    fn contains(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>, DataError> {
        self.open_member(name)
    }

    fn names(&self) -> Result<Vec<String>, DataError> {
        Ok(self.members.keys().cloned().collect())
    }

    fn place(&self, name: &str) -> Place {
        match &self.place.member {
            Some(outer) => self.place.clone().in_member(format!("{outer}::{name}")),
            None => self.place.clone().in_member(name),
        }
    }
}
