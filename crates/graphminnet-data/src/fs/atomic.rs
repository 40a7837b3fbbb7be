//! Writes a file so that its name always refers to a complete one.
//!
//! The bytes go to a scratch file in the same folder, which is opened as new (an existing file or a planted link is
//! never followed), flushed to the disk and renamed over the target; then the folder is flushed. A process that is
//! killed leaves the old file, or none, and at most a scratch file. After a loss of power the old or the new file is
//! there, as far as the file system keeps its promises about flushing. A failure is always an error, never a silent
//! success.
//!
//! A file that is replaced keeps its permissions. A link is replaced itself, and what it points to stays as it is.
//!
//! Scratch files are called `NAME.tmp-PROCESS-RANDOM`: the random part keeps apart processes of the same number, which
//! in containers is the usual case. The owner holds a lock on its scratch file; one that is old and not locked belongs
//! to nobody any more and is removed by the next process that writes the same target.

use super::IoError;
use super::plain::{folder_of, rename};
use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A scratch file that was written to this recently is left alone: its owner may not have locked it yet.
const IN_USE: Duration = Duration::from_secs(60 * 60);

/// Where the file system knows no locks, a scratch file belongs to nobody after this time.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// Replaces the content of a file; its name refers to the old content until the new one is on the disk.
///
/// # Errors
///
/// [`IoError`]; the old content is then untouched.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), IoError> {
    write_atomically_with(path, |out| out.write_all(bytes))
}

/// Replaces the content of a file by what `fill` writes.
///
/// # Errors
///
/// [`IoError`], also for what `fill` fails with; the old content is then untouched.
pub fn write_atomically_with(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), IoError> {
    let mut file = AtomicFile::create(path)?;
    fill(&mut file).map_err(IoError::at("write", path))?;
    file.commit()
}

/// A path in the same folder that nothing has yet, for what will be renamed to `target`.
pub fn scratch_name(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_os_string();
    // Every `RandomState` has other keys, seeded by the system.
    let random = RandomState::new().build_hasher().finish();
    name.push(format!("{MARK}{}-{random:016x}", std::process::id()));
    target.with_file_name(name)
}

/// What follows the target's name in the name of a scratch file.
const MARK: &str = ".tmp-";

/// A file that gets its name only when it is complete, and is deleted again if it is dropped before.
#[derive(Debug)]
pub struct AtomicFile {
    target: PathBuf,
    scratch: PathBuf,
    file: BufWriter<File>,
    committed: bool,
}

impl AtomicFile {
    /// Opens a scratch file for a target, and removes scratch files for the same target that belong to nobody.
    ///
    /// # Errors
    ///
    /// [`IoError`] if it cannot be created, or the target is a folder or a device.
    pub fn create(target: &Path) -> Result<Self, IoError> {
        // Also behind a link: `/dev/stdout` must not become a file.
        if fs::metadata(target).is_ok_and(|metadata| !metadata.is_file()) {
            let source = io::Error::new(ErrorKind::InvalidInput, "it exists and is not a regular file");
            return Err(IoError::at("replace", target)(source));
        }
        remove_abandoned(target);
        let scratch = scratch_name(target);
        let file = open_new(&scratch, target).map_err(IoError::at("create", &scratch))?;
        // Without a lock others go by the file's age.
        let _ = file.try_lock();
        let file = BufWriter::with_capacity(1 << 16, file);
        Ok(Self { target: target.to_owned(), scratch, file, committed: false })
    }

    /// Flushes the content to the disk and gives it its name.
    ///
    /// # Errors
    ///
    /// [`IoError`]; the old file is then untouched.
    pub fn commit(mut self) -> Result<(), IoError> {
        self.file.flush().map_err(IoError::at("write", &self.target))?;
        self.file.get_ref().sync_all().map_err(IoError::at("flush", &self.target))?;
        rename(&self.scratch, &self.target)?;
        self.committed = true;
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if !self.committed {
            // The error that led here is the one worth reporting.
            let _ = fs::remove_file(&self.scratch);
        }
    }
}

/// Opens a scratch file, with the permissions of the file that it will replace.
#[cfg(unix)]
fn open_new(scratch: &Path, target: &Path) -> io::Result<File> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // Of the name itself: what a link points to is not replaced.
    let old = fs::symlink_metadata(target).ok().filter(fs::Metadata::is_file);
    let Some(old) = old else { return options.open(scratch) };
    let mode = old.mode() & 0o777;
    // From the start, so that nobody opens it who may not read the result.
    let file = options.mode(mode).open(scratch)?;
    // Another user's file does not decide who may write to ours.
    if file.metadata().is_ok_and(|own| own.uid() == old.uid()) {
        // What the umask took away. A file system without permissions has none to keep.
        let _ = file.set_permissions(fs::Permissions::from_mode(mode));
    }
    Ok(file)
}

#[cfg(not(unix))]
fn open_new(scratch: &Path, _: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(scratch)
}

/// Removes scratch files for `target` whose owners are gone. What cannot be removed does no harm and is tried again.
fn remove_abandoned(target: &Path) {
    let Some(name) = target.file_name() else { return };
    let entries = fs::read_dir(folder_of(target)).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| is_scratch_of(&entry.file_name(), name)) {
        if is_abandoned(&entry) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_scratch_of(found: &OsStr, target: &OsStr) -> bool {
    let rest = found.as_encoded_bytes().strip_prefix(target.as_encoded_bytes());
    rest.is_some_and(|rest| rest.starts_with(MARK.as_bytes()))
}

fn is_abandoned(entry: &DirEntry) -> bool {
    // Of the entry itself: a link is not followed, and not ours.
    let Some(metadata) = entry.metadata().ok().filter(fs::Metadata::is_file) else { return false };
    let age = metadata.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok());
    let Some(age) = age.filter(|age| *age > IN_USE) else { return false };
    match File::open(entry.path()).map(|file| file.try_lock()) {
        Ok(Ok(())) => true,
        Ok(Err(TryLockError::WouldBlock)) | Err(_) => false,
        Ok(Err(TryLockError::Error(_))) => age > ABANDONED,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{create_dir, read, write_new};
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_and_leaves_no_scratch_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_atomically(&path, b"old").unwrap();
        write_atomically(&path, b"new").unwrap();
        assert_eq!(read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[test]
    fn failures_name_the_path_and_leave_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        write_new(&file, b"").unwrap();
        let error = write_atomically(&file.join("below"), b"x").unwrap_err();
        assert!(error.to_string().contains("file/below"), "{error}");
        assert_eq!(write_new(&file, b"").unwrap_err().source.kind(), ErrorKind::AlreadyExists);
        // A folder cannot be replaced by a file.
        let taken = folder.path().join("taken");
        create_dir(&taken.join("inside")).unwrap();
        assert!(write_atomically(&taken, b"x").is_err());
        assert!(taken.join("inside").is_dir());
        // What was half written when something went wrong is gone, and the old content is there.
        let error = write_atomically_with(&file, |out| {
            out.write_all(b"half")?;
            Err(io::Error::from(ErrorKind::StorageFull))
        });
        assert_eq!(error.unwrap_err().source.kind(), ErrorKind::StorageFull);
        assert_eq!(read(&file).unwrap(), b"");
        assert_eq!(names(folder.path()), ["file", "taken"]);
    }

    /// A scratch file as a process leaves it, of a given age.
    fn left_behind(target: &Path, age: Duration) -> (PathBuf, File) {
        let path = scratch_name(target);
        let file = File::create(&path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
        (path, file)
    }

    #[test]
    fn a_scratch_file_of_a_process_with_the_same_number_is_not_in_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("splits.json");
        let old_form = folder.path().join(format!("splits.json.tmp-{}", std::process::id()));
        fs::write(&old_form, "half").unwrap();
        let (mine, _) = left_behind(&target, Duration::ZERO);
        write_atomically(&target, b"new").unwrap();
        assert_eq!(read(&target).unwrap(), b"new");
        assert!(old_form.exists() && mine.exists(), "they may be in use");
    }

    #[test]
    fn an_old_scratch_file_that_nobody_holds_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.jsonl");
        let (abandoned, handle) = left_behind(&target, 2 * IN_USE);
        drop(handle);
        let (held, handle) = left_behind(&target, 2 * IN_USE);
        handle.try_lock().unwrap();
        let (of_another_target, _) = left_behind(&folder.path().join("a"), 2 * IN_USE);
        write_atomically(&target, b"new").unwrap();
        assert!(!abandoned.exists());
        assert!(held.exists() && of_another_target.exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_planted_link_is_neither_followed_nor_kept() {
        let folder = tempfile::tempdir().unwrap();
        let [precious, target] = ["precious", "out.csv"].map(|name| folder.path().join(name));
        write_new(&precious, b"precious").unwrap();
        std::os::unix::fs::symlink(&precious, &target).unwrap();
        let planted = folder.path().join(format!("out.csv.tmp-{}", std::process::id()));
        std::os::unix::fs::symlink(&precious, &planted).unwrap();
        write_atomically(&target, b"new").unwrap();
        assert_eq!(read(&precious).unwrap(), b"precious");
        assert!(fs::symlink_metadata(&target).unwrap().is_file());
        assert_eq!(read(&target).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_replaced_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("private.csv");
        let mode_of = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        write_atomically(&path, b"old").unwrap();
        for mode in [0o600, 0o644, 0o666, 0o444] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let mut file = AtomicFile::create(&path).unwrap();
            assert_eq!(mode_of(&file.scratch), mode, "{mode:o}: also while it is written");
            file.write_all(b"new").unwrap();
            file.commit().unwrap();
            assert_eq!(mode_of(&path), mode, "{mode:o}");
        }
        assert_eq!(read(&path).unwrap(), b"new");
    }

    #[test]
    fn what_is_being_written_has_a_lock() {
        let folder = tempfile::tempdir().unwrap();
        let file = AtomicFile::create(&folder.path().join("file")).unwrap();
        let other = File::open(&file.scratch).unwrap();
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        drop(file);
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }
}
