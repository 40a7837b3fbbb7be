//! SHA-256 of files and streams, as lower-case hexadecimal text.

use crate::DataError;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Number of bytes and SHA-256 of everything that a stream gives.
///
/// # Errors
///
/// The stream's own.
pub fn hash_reader(mut stream: impl Read) -> std::io::Result<(u64, String)> {
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
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((total, hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
}

/// Number of bytes and SHA-256 of a file.
///
/// # Errors
///
/// [`DataError::Io`] if it cannot be read.
pub fn hash_file(path: &Path) -> Result<(u64, String), DataError> {
    let file = File::open(path).map_err(DataError::io(path, "open"))?;
    hash_reader(file).map_err(DataError::io(path, "read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_abc_is_the_published_one() {
        let (bytes, hash) = hash_reader(&b"abc"[..]).unwrap();
        assert_eq!(bytes, 3);
        assert_eq!(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
