//! Opens files with gzip and zstd undone, bounded in size and in expansion.
//!
//! The compression is chosen by the file's extension, never by its content: a file that claims to be one thing and
//! holds another is an error, not a guess.

use super::zstd::ZstdReader;
use super::{IoError, open};
use crate::Limits;
use crate::limits::within;
use std::ffi::OsStr;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Expansion is not judged before this many decompressed bytes: tiny files may expand as they like.
const RATIO_FREE_BYTES: u64 = 16 << 20;

/// Bytes per read from the file system and out of the decompressor.
const BUFFER_BYTES: usize = 1 << 16;

/// Opens `path`, undoing gzip (`.gz`) or zstd (`.zst`).
///
/// # Errors
///
/// [`IoError`] if the file cannot be opened. Reading past `member_bytes`, or expanding by more than `ratio`, is an
/// [`io::Error`] of kind `FileTooLarge` that holds what was exceeded.
pub(crate) fn open_decompressed(path: &Path, limits: &Limits) -> Result<Box<dyn Read + Send>, IoError> {
    Ok(decompress(Box::new(open(path)?), path, limits))
}

/// Undoes the compression that `name`'s extension names, on any stream. Damage is found while reading.
pub(crate) fn decompress(stream: Box<dyn Read + Send>, name: &Path, limits: &Limits) -> Box<dyn Read + Send> {
    let consumed = Arc::new(AtomicU64::new(0));
    let counted = Counted { inner: stream, consumed: Arc::clone(&consumed) };
    let raw = BufReader::with_capacity(BUFFER_BYTES, counted);
    let decoded: Box<dyn Read + Send> = match compression(name) {
        Some("gz") => Box::new(flate2::bufread::MultiGzDecoder::new(raw)),
        Some(_) => Box::new(ZstdReader::new(raw)),
        None => return Box::new(Bounded::new(Box::new(raw), None, limits)),
    };
    Box::new(Bounded::new(decoded, Some(consumed), limits))
}

/// Undoes gzip or zstd of a stream, which has no name to tell them by: its first bytes say what it is.
///
/// # Errors
///
/// An [`io::Error`] of the stream.
pub fn decompress_stream(
    mut stream: Box<dyn Read + Send>,
    limits: &Limits,
) -> io::Result<Box<dyn Read + Send>> {
    const KINDS: [(&str, &[u8]); 2] =
        [("stream.gz", &[0x1f, 0x8b]), ("stream.zst", &[0x28, 0xb5, 0x2f, 0xfd])];
    let mut first = Vec::new();
    // No byte more than needed: whoever types waits for an answer.
    while KINDS.iter().any(|(_, magic)| magic.starts_with(&first) && magic.len() > first.len()) {
        if stream.by_ref().take(1).read_to_end(&mut first)? == 0 {
            break;
        }
    }
    let kind = KINDS.iter().find(|(_, magic)| *magic == first.as_slice());
    let whole = Box::new(io::Cursor::new(first.clone()).chain(stream));
    Ok(match kind {
        Some((name, _)) => decompress(whole, Path::new(name), limits),
        None => whole,
    })
}

/// `gz` or `zst` if that is the file's extension.
fn compression(path: &Path) -> Option<&'static str> {
    match path.extension().and_then(OsStr::to_str) {
        Some(extension) if extension.eq_ignore_ascii_case("gz") => Some("gz"),
        Some(extension) if extension.eq_ignore_ascii_case("zst") => Some("zst"),
        _ => None,
    }
}

/// The path without its compression extension: what the content is called.
pub(crate) fn without_compression(path: &Path) -> PathBuf {
    if compression(path).is_some() { path.with_extension("") } else { path.to_path_buf() }
}

/// Counts the bytes that were taken from the file.
struct Counted {
    inner: Box<dyn Read + Send>,
    consumed: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.consumed.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Stops a stream that is too long or expands too much.
struct Bounded {
    inner: Box<dyn Read + Send>,
    consumed: Option<Arc<AtomicU64>>,
    produced: u64,
    max_bytes: u64,
    max_ratio: u64,
}

impl Bounded {
    fn new(inner: Box<dyn Read + Send>, consumed: Option<Arc<AtomicU64>>, limits: &Limits) -> Self {
        Self { inner, consumed, produced: 0, max_bytes: limits.member_bytes, max_ratio: limits.ratio }
    }
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.produced = self.produced.saturating_add(count as u64);
        let consumed = self.consumed.as_ref().map(|consumed| consumed.load(Ordering::Relaxed));
        let ratio = consumed.map_or(0, |consumed| self.produced / consumed.max(1));
        let ratio = if self.produced > RATIO_FREE_BYTES { ratio } else { 0 };
        within("member_bytes", self.produced, self.max_bytes)
            .and_then(|()| within("ratio", ratio, self.max_ratio))
            .map_err(|exceeded| io::Error::new(io::ErrorKind::FileTooLarge, exceeded))?;
        Ok(count)
    }
}
