//! What is on the disk, and how much room is left.

use std::fs;
use std::path::{Path, PathBuf};

/// Files and bytes below a folder; links are not followed. `None` if there is no such folder.
pub fn folder_size(folder: &Path) -> Option<(u64, u64)> {
    fs::read_dir(folder).ok()?;
    let (mut files, mut bytes) = (0, 0);
    let mut pending: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        // What cannot be listed is not counted.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => pending.push(entry.path()),
                Ok(metadata) if metadata.is_file() => {
                    files += 1;
                    bytes += metadata.len();
                }
                _ => {}
            }
        }
    }
    Some((files, bytes))
}

/// Bytes that may still be written to the disk of a path, or of its nearest parent that exists.
#[cfg(unix)]
pub fn free_bytes(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let existing = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
    let status = rustix::fs::statvfs(existing).ok()?;
    Some(status.f_bavail.saturating_mul(status.f_frsize))
}

/// Bytes that may still be written: not known on this system.
#[cfg(not(unix))]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}
