//! A set of files below one root, be it a folder or an archive: what a reader of a multi-file layout works on.

use super::Lines;
use crate::fs::{self, decompress};
use crate::{DataError, Limits, Place, ReadOptions, escape};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

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

    /// What [`Tree::names`] leaves out, with the reason.
    fn left_out(&self) -> Result<Vec<String>, DataError> {
        Ok(Vec::new())
    }

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

/// The first version of the rules under which links to files and folders are followed.
const FOLLOWED: u32 = 7;

/// Folders within folders that are looked into.
const MAX_DEPTH: usize = 8;

/// The files below a folder.
pub(crate) struct Folder {
    root: PathBuf,
    max_files: u64,
    rules: u32,
    /// What the last listing left out.
    left_out: OnceLock<Vec<String>>,
}

/// A folder that is still to be listed.
struct Pending {
    /// Its name below the root, with a `/` at the end.
    prefix: String,
    depth: usize,
    /// Folders on the way to it by which a link could lead in a circle.
    way: Vec<PathBuf>,
}

impl Folder {
    /// A folder; nothing is read yet.
    pub(crate) fn new(root: &Path, limits: &Limits) -> Self {
        let (root, max_files) = (root.to_path_buf(), limits.members);
        Self { root, max_files, rules: crate::RULES, left_out: OnceLock::new() }
    }

    /// The same, as the rules of the options have it.
    pub(crate) fn by_rules(root: &Path, options: &ReadOptions) -> Self {
        Self { rules: options.rules, ..Self::new(root, &options.limits) }
    }

    /// The names of all files, and what is left out.
    fn list(&self) -> Result<(Vec<String>, Vec<String>), DataError> {
        let (mut names, mut left_out) = (Vec::new(), Vec::new());
        let mut pending = vec![Pending { prefix: String::new(), depth: 0, way: Vec::new() }];
        while let Some(Pending { prefix, depth, way }) = pending.pop() {
            let folder = self.root.join(&prefix);
            for entry in std::fs::read_dir(&folder).map_err(DataError::io(&folder, "list"))? {
                let entry = entry.map_err(DataError::io(&folder, "list"))?;
                let mut kind = entry.file_type().map_err(DataError::io(&folder, "list"))?;
                let mut without = |why: &str| {
                    let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
                    left_out.push(format!("`{}` ({why})", escape(&name)));
                };
                let Some(name) = entry.file_name().to_str().map(|name| format!("{prefix}{name}")) else {
                    without("its name is not UTF-8");
                    continue;
                };
                let mut links = Vec::new();
                if kind.is_symlink() && self.rules >= FOLLOWED {
                    match std::fs::metadata(entry.path()) {
                        Ok(target) => kind = target.file_type(),
                        Err(_) => without("a link to nothing"),
                    }
                    if kind.is_dir() {
                        let whole = |path: &Path| path.canonicalize().map_err(DataError::io(path, "open"));
                        let (here, target) = (whole(&folder)?, whole(&entry.path())?);
                        if way.iter().chain([&here]).any(|folder| folder.starts_with(&target)) {
                            without("a link to a folder that it is in");
                            continue;
                        }
                        links.extend([here, target]);
                    }
                }
                if kind.is_dir() && depth == MAX_DEPTH {
                    without("more than 8 folders deep");
                } else if kind.is_dir() {
                    let way = way.iter().cloned().chain(links).collect();
                    pending.push(Pending { prefix: format!("{name}/"), depth: depth + 1, way });
                } else if kind.is_file() {
                    names.push(name);
                }
                crate::limits::within("members", (names.len() + left_out.len()) as u64, self.max_files)
                    .map_err(DataError::limit(Place::file(&self.root)))?;
            }
        }
        names.sort_unstable();
        left_out.sort_unstable();
        Ok((names, left_out))
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
        let (names, left_out) = self.list()?;
        // There may be a million files, and whoever asks for both lists them once.
        self.left_out.get_or_init(|| left_out);
        Ok(names)
    }

    fn left_out(&self) -> Result<Vec<String>, DataError> {
        match self.left_out.get() {
            Some(left_out) => Ok(left_out.clone()),
            None => Ok(self.list()?.1),
        }
    }

    fn place(&self, name: &str) -> Place {
        Place::file(self.root.join(name))
    }
}
