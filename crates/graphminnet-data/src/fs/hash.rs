//! SHA-256 of bytes, files and streams, as lower-case hexadecimal text.

use super::{IoError, open};
use sha2::{Digest, Sha256};
use std::{io, io::Read, path::Path};

/// The SHA-256 of some bytes.
pub fn sha256(bytes: &[u8]) -> String {
    text(Sha256::digest(bytes).as_slice())
}

/// Number of bytes and SHA-256 of everything that a stream gives.
///
/// # Errors
///
/// The stream's own.
pub(super) fn hash_reader(mut stream: impl Read) -> io::Result<(u64, String)> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0u8; 1 << 16];
    let mut total = 0u64;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                hasher.update(buffer.get(..count).unwrap_or_default());
                total += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((total, text(hasher.finalize().as_slice())))
}

/// Number of bytes and SHA-256 of a file.
///
/// # Errors
///
/// [`IoError`] if it cannot be read.
pub fn hash_file(path: &Path) -> Result<(u64, String), IoError> {
    hash_reader(open(path)?).map_err(IoError::at("read", path))
}

fn text(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_abc_is_the_published_one() {
        let published = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), published);
        assert_eq!(hash_reader(&b"abc"[..]).unwrap(), (3, published.to_owned()));
    }
}
