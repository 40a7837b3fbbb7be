//! A set of files below one root, be it a folder or an archive: what a reader of a multi-file layout works on.

use super::Lines;
use crate::fs::{self, decompress};
use crate::{DataError, Limits, Place};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Files with relative, `/`-separated names.
pub(crate) trait Tree: Sync {
    /// The folder or archive, for messages.
    fn root(&self) -> &Path;

    /// Whether there is a file of exactly this name.
    fn contains(&self, name: &str) -> bool;

    /// Opens a file that [`Tree::contains`] said is there; its own compression is not undone.
    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>, DataError>;

    /// Names of all files, sorted.
    fn names(&self) -> Result<Vec<String>, DataError>;

    /// Where a file is, for messages.
    fn place(&self, name: &str) -> Place;
}

/// The lines of `name`, `name.gz` or `name.zst`, whichever is there first; `None` if none is.
pub(crate) fn lines_of(tree: &dyn Tree, name: &str, limits: &Limits) -> Result<Option<Lines>, DataError> {
    for suffix in ["", ".gz", ".zst"] {
        let full = format!("{name}{suffix}");
        if tree.contains(&full) {
            let stream = decompress(tree.open(&full)?, Path::new(&full), limits);
            let place = tree.place(&full);
            return Ok(Some(Lines::new(stream, &place.file, place.member.clone(), limits)));
        }
    }
    Ok(None)
}

/// The files below a folder.
pub(crate) struct Folder {
    root: PathBuf,
    max_files: u64,
}

impl Folder {
    /// A folder; nothing is read yet.
    pub(crate) fn new(root: &Path, limits: &Limits) -> Self {
        Self { root: root.to_path_buf(), max_files: limits.members }
    }
}

impl Tree for Folder {
    fn root(&self) -> &Path {
        &self.root
    }

    fn contains(&self, name: &str) -> bool {
        self.root.join(name).is_file()
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>, DataError> {
        Ok(Box::new(fs::open(&self.root.join(name))?))
    }

    fn names(&self) -> Result<Vec<String>, DataError> {
        const MAX_DEPTH: usize = 8;
        let mut names = Vec::new();
        let mut pending = vec![(String::new(), 0)];
        while let Some((prefix, depth)) = pending.pop() {
            let folder = self.root.join(&prefix);
            for entry in std::fs::read_dir(&folder).map_err(DataError::io(&folder, "list"))? {
                let entry = entry.map_err(DataError::io(&folder, "list"))?;
                let kind = entry.file_type().map_err(DataError::io(&folder, "list"))?;
                let Some(name) = entry.file_name().to_str().map(|name| format!("{prefix}{name}")) else {
                    continue;
                };
                // Links are not followed: a folder is read, nothing around it.
                if kind.is_dir() && depth < MAX_DEPTH {
                    pending.push((format!("{name}/"), depth + 1));
                } else if kind.is_file() {
                    names.push(name);
                }
                crate::limits::within("members", names.len() as u64, self.max_files)
                    .map_err(DataError::limit(Place::file(&self.root)))?;
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn place(&self, name: &str) -> Place {
        Place::file(self.root.join(name))
    }
}
