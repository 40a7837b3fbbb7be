//! Writing that survives a kill at any moment.
//!
//! [`write_atomically`] builds the new content in a scratch file beside the target, opened as new (an existing file or
//! a planted link is refused), flushes it to the disk, renames it over the target and flushes the folder. Killed in
//! between, a process leaves the old content or the new one and at most a scratch file, whose name ends in
//! `.tmp-<process>`. After a loss of power the same holds as far as the file system keeps its promises about
//! flushing. Every failure is returned with the path and what was being done; none is swallowed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A file operation that failed.
#[derive(Debug, Error)]
#[error("cannot {action} {}", path.display())]
pub struct IoError {
    /// What was being done.
    pub action: &'static str,
    /// To which file or folder.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

impl IoError {
    /// Puts a cause together with what was being done, for `map_err`.
    pub fn at<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self { action, path: path.to_owned(), source }
    }

    /// Whether the file does not exist.
    pub fn is_not_found(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }
}

/// Replaces the content of a file; its name refers to the old content until the new one is on the disk.
///
/// # Errors
///
/// [`IoError`]; the old content is then untouched.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), IoError> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".tmp-{}", std::process::id()));
    let scratch = path.with_file_name(name);
    // A scratch file of the same name can only be left over from a dead process that had our number.
    let _ = fs::remove_file(&scratch);
    let written = write_new(&scratch, bytes).and_then(|()| rename(&scratch, path));
    if written.is_err() {
        // The first error is the one worth reporting.
        let _ = fs::remove_file(&scratch);
    }
    written
}

/// Writes a file that must not exist yet, and flushes it to the disk.
///
/// # Errors
///
/// [`IoError`].
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), IoError> {
    let mut file =
        OpenOptions::new().write(true).create_new(true).open(path).map_err(IoError::at("create", path))?;
    file.write_all(bytes).map_err(IoError::at("write", path))?;
    file.sync_all().map_err(IoError::at("flush", path))
}

/// Reads a whole file.
///
/// # Errors
///
/// [`IoError`].
pub fn read(path: &Path) -> Result<Vec<u8>, IoError> {
    fs::read(path).map_err(IoError::at("read", path))
}

/// Renames a file or folder within its parent folder and flushes the parent.
///
/// # Errors
///
/// [`IoError`].
pub fn rename(from: &Path, to: &Path) -> Result<(), IoError> {
    fs::rename(from, to).map_err(IoError::at("rename into place", to))?;
    match to.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_dir(parent),
        _ => sync_dir(Path::new(".")),
    }
}

/// Creates a folder and its parents.
///
/// # Errors
///
/// [`IoError`].
pub fn create_dir(path: &Path) -> Result<(), IoError> {
    fs::create_dir_all(path).map_err(IoError::at("create the folder", path))
}

/// Flushes a folder's list of names to the disk.
///
/// # Errors
///
/// [`IoError`].
pub fn sync_dir(path: &Path) -> Result<(), IoError> {
    if cfg!(unix) {
        File::open(path)
            .and_then(|folder| folder.sync_all())
            .map_err(IoError::at("flush the folder", path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_leaves_no_scratch_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_atomically(&path, b"old").unwrap();
        write_atomically(&path, b"new").unwrap();
        assert_eq!(read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn failures_name_the_path_and_leave_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        write_new(&file, b"").unwrap();
        let error = write_atomically(&file.join("below"), b"x").unwrap_err();
        assert!(error.to_string().contains("file/below"), "{error}");
        assert_eq!(write_new(&file, b"").unwrap_err().source.kind(), io::ErrorKind::AlreadyExists);
        // A folder cannot be replaced by a file: the old one stays, the scratch file goes.
        let taken = folder.path().join("taken");
        create_dir(&taken.join("inside")).unwrap();
        assert!(write_atomically(&taken, b"x").is_err());
        assert!(taken.join("inside").is_dir());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
