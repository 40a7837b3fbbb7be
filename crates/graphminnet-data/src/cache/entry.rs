//! Reading and writing one entry.

use super::{Cache, CacheError, CacheKey};
use crate::fs::{AtomicFile, IoError, create_dir, open};
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const MAGIC: &[u8; 8] = b"GMNCACHE";
const LAYOUT: u32 = 1;
const CHECKSUM: u64 = 32;
/// Longest name of a transform that is read back.
const LONGEST_NAME: usize = 64;
const BUFFER: usize = 1 << 20;

/// Passes bytes through and hashes them.
struct Hashing<T> {
    inner: T,
    hasher: blake3::Hasher,
}

impl<T: Read> Read for Hashing<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}

impl<T: Write> Write for Hashing<T> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn header(transform: &str, hash: &[u8; 32], payload: u64) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&LAYOUT.to_le_bytes());
    bytes.extend_from_slice(&(transform.len() as u32).to_le_bytes());
    bytes.extend_from_slice(transform.as_bytes());
    bytes.extend_from_slice(hash);
    bytes.extend_from_slice(&payload.to_le_bytes());
    bytes
}

/// A file behind its header.
struct Opened {
    path: PathBuf,
    file: File,
    header: Vec<u8>,
}

/// An entry of which parts are read.
#[derive(Debug)]
pub(crate) struct OpenEntry {
    path: PathBuf,
    file: Mutex<File>,
    /// Where the payload begins.
    start: u64,
    payload: u64,
}

/// The same file: an entry never changes.
impl PartialEq for OpenEntry {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl OpenEntry {
    /// Some bytes of the payload.
    ///
    /// # Errors
    ///
    /// [`CacheError`] if there are fewer, or they cannot be read.
    pub(crate) fn bytes(&self, range: Range<u64>) -> Result<Vec<u8>, CacheError> {
        let short = || self.damaged("it ends too early");
        let length = range.end.checked_sub(range.start).filter(|_| range.end <= self.payload);
        let length = length.and_then(|length| usize::try_from(length).ok()).ok_or_else(short)?;
        let mut bytes = vec![0; length];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let read =
            file.seek(SeekFrom::Start(self.start + range.start)).and_then(|_| file.read_exact(&mut bytes));
        read.map_err(|error| unreadable(&self.path, error))?;
        Ok(bytes)
    }

    /// It is not what it should be.
    pub(crate) fn damaged(&self, reason: &'static str) -> CacheError {
        CacheError::Damaged { path: self.path.clone(), reason }
    }
}

/// Why an entry cannot be read.
fn unreadable(path: &Path, error: io::Error) -> CacheError {
    match error.kind() {
        ErrorKind::UnexpectedEof => {
            CacheError::Damaged { path: path.to_owned(), reason: "it ends too early" }
        }
        _ => IoError::at("read", path)(error).into(),
    }
}

impl Cache {
    /// Reads an entry whose payload must have exactly `payload` bytes; `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`CacheError::Damaged`] for an entry that is not whole, [`CacheError::Io`] if it cannot be read.
    pub(crate) fn read<T>(
        &self,
        key: &CacheKey,
        payload: u64,
        decode: impl FnOnce(&mut dyn Read) -> io::Result<T>,
    ) -> Result<Option<T>, CacheError> {
        let Some(Opened { path, file, header }) = self.begin(key, payload)? else { return Ok(None) };
        let mut reader =
            Hashing { inner: BufReader::with_capacity(BUFFER, file), hasher: blake3::Hasher::new() };
        reader.hasher.update(&header);
        let result = decode(&mut reader).map_err(|error| unreadable(&path, error))?;
        let computed = reader.hasher.finalize();
        let mut stored = [0; CHECKSUM as usize];
        reader.inner.read_exact(&mut stored).map_err(|error| unreadable(&path, error))?;
        if computed != blake3::Hash::from_bytes(stored) {
            return Err(CacheError::Damaged { path, reason: "wrong checksum" });
        }
        Ok(Some(result))
    }

    /// Opens an entry for reading parts of its payload, which are not checked: whoever wants that reads it as a whole before.
    /// `None` if there is none.
    ///
    /// # Errors
    ///
    /// As [`Cache::read`], as far as header and length go.
    pub(crate) fn open(&self, key: &CacheKey, payload: u64) -> Result<Option<OpenEntry>, CacheError> {
        let opened = self.begin(key, payload)?;
        Ok(opened.map(|Opened { path, file, header }| OpenEntry {
            path,
            file: Mutex::new(file),
            start: header.len() as u64,
            payload,
        }))
    }

    /// An entry of the right length behind its right header.
    fn begin(&self, key: &CacheKey, payload: u64) -> Result<Option<Opened>, CacheError> {
        let path = self.directory.join(key.file_name());
        let mut file = match open(&path) {
            Ok(file) => file,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let header = header(key.transform, &key.hash, payload);
        let length = file.metadata().map_err(IoError::at("open", &path))?.len();
        if length != header.len() as u64 + payload + CHECKSUM {
            return Err(CacheError::Damaged { path, reason: "wrong length" });
        }
        let mut found = vec![0; header.len()];
        file.read_exact(&mut found).map_err(|error| unreadable(&path, error))?;
        match found == header {
            true => Ok(Some(Opened { path, file, header })),
            false => Err(CacheError::Damaged { path, reason: "wrong header" }),
        }
    }

    /// Removes an entry, if it is there and can be removed.
    pub(crate) fn forget(&self, key: &CacheKey) {
        // One that stays is found by whoever shrinks the cache.
        let _ = std::fs::remove_file(self.directory.join(key.file_name()));
    }

    /// Writes an entry whose payload has exactly `payload` bytes.
    ///
    /// The entry appears whole or not at all, whether the process is killed, the disk is full or the power fails.
    ///
    /// # Errors
    ///
    /// [`CacheError::Io`]; the entry is then as it was.
    pub(crate) fn write(
        &self,
        key: &CacheKey,
        payload: u64,
        encode: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CacheError> {
        create_dir(&self.directory)?;
        let path = self.directory.join(key.file_name());
        let file = AtomicFile::create(&path)?;
        let failed = |error| IoError::at("write", &path)(error);
        let mut writer = Hashing { inner: file, hasher: blake3::Hasher::new() };
        writer.write_all(&header(key.transform, &key.hash, payload)).map_err(failed)?;
        encode(&mut writer).map_err(failed)?;
        let checksum = *writer.hasher.finalize().as_bytes();
        let mut file = writer.inner;
        file.write_all(&checksum).map_err(failed)?;
        Ok(file.commit()?)
    }
}

/// Checks an entry on its own: header, length and checksum. Gives the name of its transform.
pub(super) fn check(path: &Path) -> Result<String, CacheError> {
    let damaged = |reason| CacheError::Damaged { path: path.to_owned(), reason };
    let short = |error| unreadable(path, error);
    let file = open(path)?;
    let length = file.metadata().map_err(IoError::at("open", path))?.len();
    let mut reader = Hashing { inner: BufReader::with_capacity(BUFFER, file), hasher: blake3::Hasher::new() };
    let mut start = [0; 16];
    reader.read_exact(&mut start).map_err(short)?;
    let [version, name_length] =
        [8, 12].map(|at| u32::from_le_bytes([0, 1, 2, 3].map(|byte| start[at + byte])));
    if &start[..8] != MAGIC || version != LAYOUT || name_length as usize > LONGEST_NAME {
        return Err(damaged("wrong header"));
    }
    let mut name = vec![0; name_length as usize];
    reader.read_exact(&mut name).map_err(short)?;
    let name = String::from_utf8(name).map_err(|_| damaged("wrong header"))?;
    let (mut hash, mut payload) = ([0; 32], [0; 8]);
    reader.read_exact(&mut hash).map_err(short)?;
    reader.read_exact(&mut payload).map_err(short)?;
    let payload = u64::from_le_bytes(payload);
    let before = (16 + name.len() + 32 + 8) as u64;
    if before.checked_add(payload).and_then(|sum| sum.checked_add(CHECKSUM)) != Some(length) {
        return Err(damaged("wrong length"));
    }
    let expected = format!("{name}-{}.{}", blake3::Hash::from_bytes(hash).to_hex(), super::EXTENSION);
    if path.file_name().and_then(|found| found.to_str()) != Some(expected.as_str()) {
        return Err(damaged("its name is not that of its content"));
    }
    io::copy(&mut (&mut reader).take(payload), &mut io::sink()).map_err(short)?;
    let computed = reader.hasher.finalize();
    let mut stored = [0; CHECKSUM as usize];
    reader.inner.read_exact(&mut stored).map_err(short)?;
    if computed != blake3::Hash::from_bytes(stored) {
        return Err(damaged("wrong checksum"));
    }
    Ok(name)
}
