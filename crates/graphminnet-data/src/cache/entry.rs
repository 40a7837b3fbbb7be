//! Reading and writing one entry.

use super::{Cache, CacheError, CacheKey};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

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
        let path = self.directory.join(key.file_name());
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CacheError::io(&path, error)),
        };
        let damaged = |reason| CacheError::Damaged { path: path.clone(), reason };
        let expected = header(key.transform, &key.hash, payload);
        let length = file.metadata().map_err(|error| CacheError::io(&path, error))?.len();
        if length != expected.len() as u64 + payload + CHECKSUM {
            return Err(damaged("wrong length"));
        }
        let mut reader =
            Hashing { inner: BufReader::with_capacity(BUFFER, file), hasher: blake3::Hasher::new() };
        let mut found = vec![0; expected.len()];
        let short = |error: io::Error| match error.kind() {
            ErrorKind::UnexpectedEof => {
                CacheError::Damaged { path: path.clone(), reason: "it ends too early" }
            }
            _ => CacheError::io(&path, error),
        };
        reader.read_exact(&mut found).map_err(short)?;
        if found != expected {
            return Err(damaged("wrong header"));
        }
        let result = decode(&mut reader).map_err(short)?;
        let computed = reader.hasher.finalize();
        let mut stored = [0; CHECKSUM as usize];
        reader.inner.read_exact(&mut stored).map_err(short)?;
        if computed != blake3::Hash::from_bytes(stored) {
            return Err(damaged("wrong checksum"));
        }
        Ok(Some(result))
    }

    /// Writes an entry whose payload has exactly `payload` bytes.
    ///
    /// The entry appears whole or not at all, whether the process is killed, the disk is full or the power fails.
    ///
    /// # Errors
    ///
    /// [`CacheError::Io`]; the temporary file is then removed.
    pub(crate) fn write(
        &self,
        key: &CacheKey,
        payload: u64,
        encode: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CacheError> {
        fs::create_dir_all(&self.directory).map_err(|error| CacheError::io(&self.directory, error))?;
        let path = self.directory.join(key.file_name());
        let (temporary, file) = create_temporary(&path)?;
        let guard = RemoveOnDrop(Some(temporary.clone()));
        let failed = |error| CacheError::io(&temporary, error);
        let buffered = BufWriter::with_capacity(BUFFER, file);
        let mut writer = Hashing { inner: buffered, hasher: blake3::Hasher::new() };
        writer.write_all(&header(key.transform, &key.hash, payload)).map_err(failed)?;
        encode(&mut writer).map_err(failed)?;
        let checksum = *writer.hasher.finalize().as_bytes();
        let mut inner = writer.inner;
        inner.write_all(&checksum).map_err(failed)?;
        let file = inner.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        drop(file);
        fs::rename(&temporary, &path).map_err(|error| CacheError::io(&path, error))?;
        guard.keep();
        // Only after this does the rename survive a power failure. Not every system can open a directory.
        if let Ok(directory) = File::open(&self.directory) {
            directory.sync_all().map_err(|error| CacheError::io(&self.directory, error))?;
        }
        Ok(())
    }
}

/// Removes a file that was not finished.
struct RemoveOnDrop(Option<PathBuf>);

impl RemoveOnDrop {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            // Already reporting another error; what is left is found by `collect_garbage`.
            let _ = fs::remove_file(path);
        }
    }
}

/// Creates a file beside `path` that did not exist before.
fn create_temporary(path: &Path) -> Result<(PathBuf, File), CacheError> {
    // Makes names unique within the process; across processes the process number does, and `create_new` decides.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut attempts = 0;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".tmp-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        let temporary = PathBuf::from(name);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && attempts < 1000 => attempts += 1,
            Err(error) => return Err(CacheError::io(&temporary, error)),
        }
    }
}

/// Checks an entry on its own: header, length and checksum. Gives the name of its transform.
pub(super) fn check(path: &Path) -> Result<String, CacheError> {
    let damaged = |reason| CacheError::Damaged { path: path.to_owned(), reason };
    let short = |error: io::Error| match error.kind() {
        ErrorKind::UnexpectedEof => {
            CacheError::Damaged { path: path.to_owned(), reason: "it ends too early" }
        }
        _ => CacheError::io(path, error),
    };
    let file = File::open(path).map_err(|error| CacheError::io(path, error))?;
    let length = file.metadata().map_err(|error| CacheError::io(path, error))?.len();
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
