//! Append-only files that are cut back to a known length when a run resumes.

use super::TrainError;
use graphminnet_data::fs::IoError;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file that only grows.
#[derive(Debug)]
pub(super) struct GrowingFile {
    path: PathBuf,
    file: File,
    length: u64,
}

impl GrowingFile {
    /// Opens the file with its first `length` bytes; what follows them was written after the state that is resumed
    /// and will be written again.
    pub(super) fn open(path: &Path, length: u64) -> Result<Self, TrainError> {
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(IoError::at("open", path))?;
        let found = file.metadata().map_err(IoError::at("open", path))?.len();
        if found < length {
            let reason = format!("it has {found} bytes, {length} were recorded");
            return Err(TrainError::Damaged { path: path.to_owned(), reason });
        }
        file.set_len(length).map_err(IoError::at("cut back", path))?;
        file.seek(SeekFrom::End(0)).map_err(IoError::at("open", path))?;
        Ok(Self { path: path.to_owned(), file, length })
    }

    /// The path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends bytes in one go.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        self.file.write_all(bytes).map_err(IoError::at("write", &self.path))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Flushes to the disk; returns the length.
    pub(super) fn sync(&mut self) -> Result<u64, IoError> {
        self.file.sync_data().map_err(IoError::at("flush", &self.path))?;
        Ok(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_cut_back_to_the_recorded_length_and_a_shorter_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let mut file = GrowingFile::open(&path, 0).unwrap();
        file.append(b"one\n").unwrap();
        let recorded = file.sync().unwrap();
        file.append(b"two\nhal").unwrap();
        drop(file);
        let mut file = GrowingFile::open(&path, recorded).unwrap();
        file.append(b"two\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one\ntwo\n");
        assert!(matches!(GrowingFile::open(&path, 100), Err(TrainError::Damaged { .. })));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error() {
        let path = Path::new("/dev/full");
        let file = OpenOptions::new().write(true).open(path).unwrap();
        let mut file = GrowingFile { path: path.to_owned(), file, length: 0 };
        let error = file.append(b"x").unwrap_err();
        assert_eq!(error.source.kind(), std::io::ErrorKind::StorageFull);
        assert!(error.to_string().contains("/dev/full"), "{error}");
    }
}
