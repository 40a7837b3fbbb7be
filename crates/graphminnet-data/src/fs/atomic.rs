//! Writes a file so that its name always refers to a complete one.
//!
//! The bytes go to a scratch file in the same folder, which is opened as new (an existing file or planted link is
//! refused), flushed to the disk and renamed over the target; then the folder is flushed. A process that is killed
//! leaves the old file, or none, and at most a scratch file. After a loss of power the old or the new file is there,
//! as far as the file system keeps its promises about flushing. A failure is always an error, never a silent success.

use crate::DataError;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes `path` through `fill`; the name refers to the old content until the new one is complete.
///
/// # Errors
///
/// [`DataError::Io`] for the file system's errors; whatever `fill` returns. In both cases the old file is untouched.
pub fn write_atomically(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), DataError>,
) -> Result<(), DataError> {
    let scratch = Scratch::create(path)?;
    let mut writer = BufWriter::with_capacity(1 << 16, &scratch.file);
    fill(&mut writer)?;
    writer.flush().map_err(DataError::io(path, "write"))?;
    drop(writer);
    scratch.file.sync_all().map_err(DataError::io(path, "flush"))?;
    fs::rename(&scratch.path, path).map_err(DataError::io(path, "rename into place"))?;
    scratch.keep();
    sync_folder(path)
}

/// A file that is deleted again unless it was kept.
struct Scratch {
    path: PathBuf,
    file: File,
    kept: bool,
}

impl Scratch {
    fn create(target: &Path) -> Result<Self, DataError> {
        let mut name = target.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".tmp-{}", std::process::id()));
        let path = target.with_file_name(name);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(DataError::io(&path, "create"))?;
        Ok(Self { path, file, kept: false })
    }

    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.kept {
            // The error that led here is the one worth reporting.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(unix)]
fn sync_folder(path: &Path) -> Result<(), DataError> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(DataError::io(folder, "flush"))
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> Result<(), DataError> {
    Ok(())
}
