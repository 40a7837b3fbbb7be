//! The operations of the file system that this project uses, with errors that name the path.

use super::IoError;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// Opens a file for reading. A pipe, a device or a folder is refused: opening a pipe that nobody writes to would wait
/// for ever. Pipes that the shell hands over (`/dev/stdin`, `/dev/fd/…`) are open already, so they may be read.
///
/// # Errors
///
/// [`IoError`].
pub fn open(path: &Path) -> Result<File, IoError> {
    let at = || IoError::at("open", path);
    let kind = fs::metadata(path).map_err(at())?.file_type();
    let is_handed_over = path == Path::new("/dev/stdin")
        || ["/dev/fd", "/proc/self/fd"].iter().any(|folder| path.starts_with(folder));
    if !kind.is_file() && !is_handed_over {
        let what = if kind.is_dir() { "a folder" } else { "a pipe or a device" };
        let reason = format!("it is {what}, expected a regular file");
        return Err(at()(io::Error::new(io::ErrorKind::InvalidInput, reason)));
    }
    File::open(path).map_err(at())
}

/// Reads a whole file.
///
/// # Errors
///
/// [`IoError`].
pub fn read(path: &Path) -> Result<Vec<u8>, IoError> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map_err(IoError::at("read", path))?;
    Ok(bytes)
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
