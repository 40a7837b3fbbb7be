//! The bytes of a model file.
//!
//! ```text
//! header   36 bytes   "GMNMODEL", version u32, length of description u64, length of weights u64 (little-endian),
//!                     first 8 bytes of the SHA-256 of these 28
//! body                description (JSON), weights (safetensors)
//! trailer  32 bytes   SHA-256 of everything before it
//! ```
//!
//! The header keeps this form in all versions, so that a program can say of any model, however new, what it is. Nothing
//! is read beyond the header before the header has been found to be right, and nothing is allocated beyond [`LIMIT`].

use super::BundleError;
use graphminnet_data::fs::{IoError, open};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::Path;

/// The version that this program writes.
pub const FORMAT_VERSION: u32 = 2;

/// Largest model file that is read.
pub(super) const LIMIT: u64 = 4 << 30;

const MAGIC: &[u8; 8] = b"GMNMODEL";
const HEADER: usize = 36;
const CHECKED: usize = 28;
const TRAILER: usize = 32;

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content {
    pub version: u32,
    pub description: Vec<u8>,
    pub weights: Vec<u8>,
}

/// The bytes of a file of the current version.
pub(super) fn pack(description: &[u8], weights: &[u8]) -> Vec<u8> {
    pack_as(FORMAT_VERSION, description, weights)
}

fn pack_as(version: u32, description: &[u8], weights: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + description.len() + weights.len() + TRAILER);
    bytes.extend(MAGIC);
    bytes.extend(version.to_le_bytes());
    bytes.extend((description.len() as u64).to_le_bytes());
    bytes.extend((weights.len() as u64).to_le_bytes());
    let check = Sha256::digest(&bytes);
    bytes.extend(check.iter().take(HEADER - CHECKED));
    bytes.extend(description);
    bytes.extend(weights);
    let digest = Sha256::digest(&bytes);
    bytes.extend(digest.iter());
    bytes
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Content, BundleError> {
    let mut file = open(path)?;
    unpack(&mut file, path)
}

/// Reads a file's content from any stream; `path` is what errors call it.
pub(super) fn unpack(stream: &mut dyn Read, path: &Path) -> Result<Content, BundleError> {
    let failed = |error: std::io::Error| BundleError::from(IoError::at("read the model", path)(error));
    let mut bytes = Vec::new();
    stream.take(HEADER as u64).read_to_end(&mut bytes).map_err(failed)?;
    let header = Header::parse(&bytes, path)?;
    let expected = header.total();
    stream.take(expected - HEADER as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    let found = bytes.len() as u64;
    if found < expected {
        return Err(BundleError::Truncated { path: path.to_owned(), found, expected });
    }
    let damaged = |what: &str| BundleError::Damaged { path: path.to_owned(), what: what.to_owned() };
    if found > expected {
        return Err(damaged(&format!("it continues after the {expected} bytes that belong to it")));
    }
    let (content, digest) = bytes.split_at(bytes.len() - TRAILER);
    if Sha256::digest(content).as_slice() != digest {
        return Err(damaged("its content does not agree with its SHA-256"));
    }
    let (description, weights) = content[HEADER..].split_at(header.description as usize);
    Ok(Content { version: header.version, description: description.to_vec(), weights: weights.to_vec() })
}

struct Header {
    version: u32,
    description: u64,
    weights: u64,
}

impl Header {
    fn parse(bytes: &[u8], path: &Path) -> Result<Self, BundleError> {
        let start = &bytes[..bytes.len().min(MAGIC.len())];
        if start.is_empty() || !MAGIC.starts_with(start) {
            let found = if start.is_empty() {
                "nothing (the file is empty)".to_owned()
            } else {
                format!("\"{}\"", start.escape_ascii())
            };
            return Err(BundleError::Foreign { path: path.to_owned(), found });
        }
        let found = bytes.len() as u64;
        let Some((fields, check)) = bytes.split_at_checked(CHECKED).filter(|_| bytes.len() == HEADER) else {
            return Err(BundleError::Truncated { path: path.to_owned(), found, expected: HEADER as u64 });
        };
        if Sha256::digest(fields).get(..HEADER - CHECKED) != Some(check) {
            let what = "its header does not agree with its check sum".to_owned();
            return Err(BundleError::Damaged { path: path.to_owned(), what });
        }
        let number =
            |at: usize| fields[at..].first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let version = fields[8..].first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        if version > FORMAT_VERSION {
            return Err(BundleError::FutureVersion {
                path: path.to_owned(),
                found: version,
                newest: FORMAT_VERSION,
            });
        }
        let header = Self { version, description: number(12), weights: number(20) };
        let total = header
            .description
            .checked_add(header.weights)
            .map_or(u64::MAX, |sum| sum.saturating_add((HEADER + TRAILER) as u64));
        if total > LIMIT {
            return Err(BundleError::TooLarge { path: path.to_owned(), bytes: total, limit: LIMIT });
        }
        Ok(header)
    }

    fn total(&self) -> u64 {
        self.description + self.weights + (HEADER + TRAILER) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(bytes: &[u8]) -> Result<Content, BundleError> {
        unpack(&mut &bytes[..], "model.gmn".as_ref())
    }

    #[test]
    fn what_is_packed_comes_back() {
        let content = unpacked(&pack(b"{}", b"weights")).unwrap();
        assert_eq!(
            content,
            Content { version: FORMAT_VERSION, description: b"{}".to_vec(), weights: b"weights".to_vec() }
        );
    }

    #[test]
    fn every_changed_bit_and_every_missing_byte_is_noticed_and_named() {
        let whole = pack(b"{\"a\": 1}", b"weights");
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                let error = unpacked(&bytes).unwrap_err();
                match at {
                    0..8 => assert!(matches!(error, BundleError::Foreign { .. }), "{at}: {error}"),
                    _ => assert!(matches!(error, BundleError::Damaged { .. }), "{at}: {error}"),
                }
            }
            let error = unpacked(&whole[..at]).unwrap_err();
            match at {
                0 => assert!(matches!(error, BundleError::Foreign { .. }), "{error}"),
                _ => assert!(matches!(error, BundleError::Truncated { .. }), "{at}: {error}"),
            }
        }
        let longer = [whole.as_slice(), b"x"].concat();
        assert!(unpacked(&longer).unwrap_err().to_string().contains("continues after"));
    }

    #[test]
    fn foreign_newer_and_huge_files_are_distinguished() {
        let foreign = unpacked(b"PK\x03\x04 a zip archive that is long enough to hold a header").unwrap_err();
        assert!(foreign.to_string().contains("not a GraphMinNet model"), "{foreign}");
        assert!(foreign.to_string().contains("PK\\x03\\x04"), "{foreign}");
        let newer = unpacked(&pack_as(FORMAT_VERSION + 1, b"{}", b"")).unwrap_err().to_string();
        let (found, known) = (FORMAT_VERSION + 1, FORMAT_VERSION);
        assert!(newer.contains(&format!("format version {found}")), "{newer}");
        assert!(newer.contains(&format!("versions 1 to {known};")), "{newer}");
        let mut huge = pack(b"", b"")[..CHECKED].to_vec();
        huge[20..28].copy_from_slice(&(u64::MAX - 40).to_le_bytes());
        let check = Sha256::digest(&huge);
        huge.extend(&check[..HEADER - CHECKED]);
        assert!(matches!(unpacked(&huge).unwrap_err(), BundleError::TooLarge { .. }));
    }
}
