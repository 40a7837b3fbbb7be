//! Tar archives, plain or compressed: read once from front to back, wanted members kept in memory.

use super::check_name;
use crate::budget::Share;
use crate::fs::{decompress, open};
use crate::limits::within;
use crate::{DataError, Limits, Place};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

const BLOCK: usize = 512;
/// Longest extended header.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// Members by name, with their content.
pub(super) type Members = BTreeMap<String, Arc<Vec<u8>>>;

/// The members of a tar file whose names are wanted.
pub(super) fn read(
    path: &Path,
    wanted: fn(&str) -> bool,
    limits: &Limits,
    held: &mut Share,
) -> Result<Members, DataError> {
    read_stream(Box::new(open(path)?), path, wanted, limits, held)
}

/// The members of a tar stream whose names are wanted; the extension of `path` tells its compression.
pub(super) fn read_stream(
    stream: Box<dyn Read + Send>,
    path: &Path,
    wanted: fn(&str) -> bool,
    limits: &Limits,
    held: &mut Share,
) -> Result<Members, DataError> {
    let name = match path.extension().and_then(|extension| extension.to_str()) {
        Some("tgz") => path.with_extension("tar.gz"),
        _ => path.to_path_buf(),
    };
    // A tar holds many members, so its own bound is that of all of them.
    let whole = Limits { member_bytes: limits.total_bytes, ..limits.clone() };
    let mut reader = Reader { stream: decompress(stream, &name, &whole), place: Place::file(path) };
    let mut members = BTreeMap::new();
    let mut long_name: Option<String> = None;
    let (mut count, mut total) = (0u64, 0u64);
    while let Some(header) = reader.header()? {
        count += 1;
        within("members", count, limits.members).map_err(DataError::limit(reader.place.clone()))?;
        total = total.saturating_add(header.size);
        within("total_bytes", total, limits.total_bytes).map_err(DataError::limit(reader.place.clone()))?;
        match header.kind {
            b'L' | b'x' | b'g' => {
                if header.size > MAX_HEADER_BYTES {
                    let reason = format!("an extended header of {} bytes, expected few", header.size);
                    return Err(reader.broken(reason));
                }
                let content = reader.content(header.size)?;
                if header.kind == b'L' {
                    let text = content.split(|byte| *byte == 0).next().unwrap_or_default();
                    long_name = Some(String::from_utf8_lossy(text).into_owned());
                } else if header.kind == b'x' {
                    long_name = pax_path(&content).or(long_name);
                }
                continue;
            }
            b'0' | 0 | b'7' | b'5' => {}
            other => {
                let place = reader.place.clone().in_member(long_name.as_deref().unwrap_or(&header.name));
                let reason =
                    format!("member of kind {:?}: links and devices are not accepted", char::from(other));
                return Err(DataError::Archive { place, reason });
            }
        }
        let name = long_name.take().unwrap_or(header.name);
        let name = name.trim_start_matches("./").trim_end_matches('/').to_owned();
        if header.kind == b'5' || name.is_empty() || name == "." {
            reader.skip(header.size)?;
            continue;
        }
        check_name(&name, &reader.place)?;
        if !wanted(&name) {
            reader.skip(header.size)?;
            continue;
        }
        let place = reader.place.clone().in_member(&name);
        within("member_bytes", header.size, limits.member_bytes).map_err(DataError::limit(place.clone()))?;
        held.grow(header.size).map_err(DataError::limit(place.clone()))?;
        let content = reader.content(header.size)?;
        if members.insert(name, Arc::new(content)).is_some() {
            return Err(DataError::Archive { place, reason: "two members have this name".to_owned() });
        }
    }
    Ok(members)
}

struct Header {
    name: String,
    size: u64,
    kind: u8,
}

struct Reader {
    stream: Box<dyn Read + Send>,
    place: Place,
}

impl Reader {
    fn broken(&self, reason: impl Into<String>) -> DataError {
        DataError::Archive { place: self.place.clone(), reason: reason.into() }
    }

    fn failure(&self, source: io::Error) -> DataError {
        DataError::stream(self.place.clone())(source)
    }

    /// The next header; `None` at the end.
    fn header(&mut self) -> Result<Option<Header>, DataError> {
        let mut block = [0u8; BLOCK];
        let mut filled = 0;
        while filled < BLOCK {
            let free = block.get_mut(filled..).unwrap_or_default();
            match self.stream.read(free) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(self.broken("cut short inside a header")),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failure(error)),
            }
        }
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let field = |start: usize, length: usize| block.get(start..start + length).unwrap_or_default();
        let stated = octal(field(148, 8));
        let checksum: u64 = block
            .iter()
            .enumerate()
            .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) })
            .sum();
        if stated != Some(checksum) {
            return Err(self.broken("not a tar archive, or damaged: a header's checksum is wrong"));
        }
        let text = |bytes: &[u8]| {
            let end = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(end).into_owned()
        };
        let (name, prefix) = (text(field(0, 100)), text(field(345, 155)));
        let has_prefix = field(257, 5) == b"ustar" && !prefix.is_empty();
        let Some(size) = octal(field(124, 12)) else {
            return Err(self.broken("damaged: a member's size is not a number"));
        };
        let kind = field(156, 1).first().copied().unwrap_or(0);
        Ok(Some(Header { name: if has_prefix { format!("{prefix}/{name}") } else { name }, size, kind }))
    }

    fn content(&mut self, size: u64) -> Result<Vec<u8>, DataError> {
        let mut content = Vec::with_capacity(size.min(1 << 20) as usize);
        let read = self.stream.by_ref().take(size).read_to_end(&mut content);
        read.map_err(|error| self.failure(error))?;
        if content.len() as u64 != size {
            return Err(self.broken("cut short inside a member"));
        }
        self.skip_padding(size)?;
        Ok(content)
    }

    fn skip(&mut self, size: u64) -> Result<(), DataError> {
        let skipped = io::copy(&mut self.stream.by_ref().take(size), &mut io::sink());
        if skipped.map_err(|error| self.failure(error))? != size {
            return Err(self.broken("cut short inside a member"));
        }
        self.skip_padding(size)
    }

    fn skip_padding(&mut self, size: u64) -> Result<(), DataError> {
        let padding = (BLOCK as u64 - size % BLOCK as u64) % BLOCK as u64;
        io::copy(&mut self.stream.by_ref().take(padding), &mut io::sink())
            .map(|_| ())
            .map_err(|error| self.failure(error))
    }
}

/// A number in octal text, or in base 256 if the first bit is set.
fn octal(field: &[u8]) -> Option<u64> {
    if field.first().is_some_and(|byte| byte & 0x80 != 0) {
        let (high, low) = field.split_at_checked(field.len().checked_sub(8)?)?;
        let is_small =
            high.iter().enumerate().all(|(at, byte)| if at == 0 { *byte == 0x80 } else { *byte == 0 });
        return is_small.then(|| low.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)));
    }
    let text = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    if text.is_empty() { Some(0) } else { u64::from_str_radix(text, 8).ok() }
}

/// The `path` of a pax extended header.
fn pax_path(content: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(content).ok()?;
    text.lines().find_map(|line| line.split_once(' ')?.1.strip_prefix("path=").map(str::to_owned))
}
