//! Several model files in one: an ensemble that is copied as a whole.
//!
//! ```text
//! header     "GMNGROUP", version u32, number of models u32, length of each as u64 (little-endian)
//! body       the model files, one after the other, each with its own header and checks
//! trailer    SHA-256 of everything before it
//! ```

use super::BundleError;
use super::container::LIMIT;
use graphminnet_data::fs::{IoError, open};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::Path;

const MAGIC: &[u8; 8] = b"GMNGROUP";
const VERSION: u32 = 1;
const START: usize = 16;
const TRAILER: usize = 32;
/// More models than these are no ensemble that anybody would wait for.
const MAX_MODELS: u32 = 1_000;

/// The bytes of a file that holds some model files.
pub(crate) fn pack(models: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((models.len() as u32).to_le_bytes());
    models.iter().for_each(|model| bytes.extend((model.len() as u64).to_le_bytes()));
    models.iter().for_each(|model| bytes.extend(model));
    let digest = Sha256::digest(&bytes);
    bytes.extend(digest.iter());
    bytes
}

/// The model files in a file; `None` if it is something else.
pub(super) fn read(path: &Path) -> Result<Option<Vec<Vec<u8>>>, BundleError> {
    unpack(&mut open(path)?, path)
}

fn unpack(stream: &mut dyn Read, path: &Path) -> Result<Option<Vec<Vec<u8>>>, BundleError> {
    let failed = |error: std::io::Error| BundleError::from(IoError::at("read the models", path)(error));
    let mut bytes = Vec::new();
    stream.take(START as u64).read_to_end(&mut bytes).map_err(failed)?;
    if !bytes.starts_with(MAGIC) {
        return Ok(None);
    }
    let path = path.to_owned();
    let number = |bytes: &[u8]| bytes.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let (version, count) =
        (number(bytes.get(8..).unwrap_or_default()), number(bytes.get(12..).unwrap_or_default()));
    if version > VERSION {
        return Err(BundleError::FutureVersion { path, found: version, newest: VERSION });
    }
    if bytes.len() < START || count == 0 || count > MAX_MODELS {
        return Err(BundleError::Damaged { path, what: format!("it claims {count} models") });
    }
    stream.take(u64::from(count) * 8).read_to_end(&mut bytes).map_err(failed)?;
    let lengths = bytes.get(START..).unwrap_or_default().as_chunks::<8>().0;
    let lengths: Vec<u64> = lengths.iter().map(|length| u64::from_le_bytes(*length)).collect();
    let body = lengths.iter().fold(0u64, |sum, length| sum.saturating_add(*length));
    if body > LIMIT {
        return Err(BundleError::TooLarge { path, bytes: body, limit: LIMIT });
    }
    let header = START as u64 + u64::from(count) * 8;
    let expected = header + body + TRAILER as u64;
    stream.take(body + TRAILER as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    let found = bytes.len() as u64;
    if found < expected {
        return Err(BundleError::Truncated { path, found, expected });
    }
    let (content, digest) = bytes.split_at(bytes.len() - TRAILER);
    if found > expected || Sha256::digest(content).as_slice() != digest {
        let what = "its content does not agree with its SHA-256".to_owned();
        return Err(BundleError::Damaged { path, what });
    }
    let mut rest = content.get(header as usize..).unwrap_or_default();
    let mut models = Vec::with_capacity(lengths.len());
    for length in lengths {
        let (model, others) = rest.split_at_checked(length as usize).unwrap_or((rest, &[]));
        models.push(model.to_vec());
        rest = others;
    }
    Ok(Some(models))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, BundleError> {
        unpack(&mut &bytes[..], "models.gmn".as_ref())
    }

    #[test]
    fn what_is_packed_comes_back_and_every_damage_is_noticed() {
        let models = vec![b"one".to_vec(), b"another".to_vec()];
        let whole = pack(&models);
        assert_eq!(unpacked(&whole).unwrap(), Some(models));
        assert_eq!(unpacked(b"GMNMODEL and so on").unwrap(), None);
        for at in 8..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                assert!(unpacked(&bytes).is_err(), "byte {at}, bit {bit}");
            }
            assert!(unpacked(&whole[..at]).is_err(), "{at} bytes");
        }
        assert!(unpacked(&[whole.as_slice(), b"x"].concat()).is_err());
    }
}
