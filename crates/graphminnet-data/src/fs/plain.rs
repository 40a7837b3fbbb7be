//! The operations of the file system that this project uses, with errors that name the path.

use super::IoError;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// Reads a whole file.
///
/// # Errors
///
/// [`IoError`].
pub fn read(path: &Path) -> Result<Vec<u8>, IoError> {
    fs::read(path).map_err(IoError::at("read", path))
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

/// Renames a file or folder within its parent folder and flushes the parent.
///
/// # Errors
///
/// [`IoError`].
pub fn rename(from: &Path, to: &Path) -> Result<(), IoError> {
    fs::rename(from, to).map_err(IoError::at("rename into place", to))?;
    sync_dir(folder_of(to))
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

/// The folder that a path lies in.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
