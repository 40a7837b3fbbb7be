//! Several published files as one tree: zips and tars are looked into, folders listed, other files taken as they are.

use super::{Bytes, Zip, tar};
use crate::budget::{Budget, Share};
use crate::formats::{Folder, Tree};
use crate::fs;
use crate::{DataError, Limits, Place};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of several sources; where two have the same name the first counts.
pub(crate) struct Sources {
    trees: Vec<Box<dyn Tree + Send>>,
    root: PathBuf,
}

impl Sources {
    /// Opens all sources. Of tar archives, only members that are `wanted` are kept.
    pub(crate) fn open(
        paths: &[PathBuf],
        wanted: fn(&str) -> bool,
        limits: &Limits,
        budget: &Budget,
    ) -> Result<Self, DataError> {
        let mut trees: Vec<Box<dyn Tree + Send>> = Vec::new();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
            let is_tar = [".tar", ".tar.gz", ".tgz", ".tar.zst"].iter().any(|suffix| name.ends_with(suffix));
            if path.is_dir() {
                trees.push(Box::new(Folder::new(path, limits)));
            } else if is_tar {
                let mut held = budget.share();
                let members = tar::read(path, wanted, limits, &mut held)?;
                trees.push(Box::new(InMemory { path: path.clone(), members, _held: Some(held) }));
            } else if name.ends_with(".zip") {
                let place = Place::file(path);
                trees.push(Box::new(Zip::open(Bytes::File(path.clone()), place, limits.members, limits)?));
            } else {
                trees.push(Box::new(OneFile::new(path)?));
            }
        }
        Ok(Self { trees, root: paths.first().cloned().unwrap_or_default() })
    }

    fn tree_with(&self, name: &str) -> Option<&(dyn Tree + Send)> {
        self.trees.iter().find(|tree| tree.contains(name)).map(Box::as_ref)
    }
}

impl Tree for Sources {
    fn root(&self) -> &Path {
        &self.root
    }

    fn contains(&self, name: &str) -> bool {
        self.tree_with(name).is_some()
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>, DataError> {
        match self.tree_with(name) {
            Some(tree) => tree.open(name),
            None => Err(DataError::Archive { place: self.place(name), reason: "no such member".to_owned() }),
        }
    }

    fn names(&self) -> Result<Vec<String>, DataError> {
        let mut names = Vec::new();
        for tree in &self.trees {
            names.extend(tree.names()?);
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn place(&self, name: &str) -> Place {
        self.tree_with(name).map_or_else(|| Place::file(&self.root).in_member(name), |tree| tree.place(name))
    }
}

/// Files in memory.
pub(crate) struct InMemory {
    path: PathBuf,
    members: BTreeMap<String, Arc<Vec<u8>>>,
    /// The memory that they take, where it is counted.
    _held: Option<Share>,
}

impl InMemory {
    /// Files with their names and content.
    pub(crate) fn new(path: &Path, members: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let members = members.into_iter().map(|(name, content)| (name, Arc::new(content))).collect();
        Self { path: path.to_path_buf(), members, _held: None }
    }
}

impl Tree for InMemory {
    fn root(&self) -> &Path {
        &self.path
    }

    fn contains(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>, DataError> {
        struct Shared(Arc<Vec<u8>>);
        impl AsRef<[u8]> for Shared {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }
        match self.members.get(name) {
            Some(content) => Ok(Box::new(std::io::Cursor::new(Shared(Arc::clone(content))))),
            None => Err(DataError::Archive { place: self.place(name), reason: "no such member".to_owned() }),
        }
    }

    fn names(&self) -> Result<Vec<String>, DataError> {
        Ok(self.members.keys().cloned().collect())
    }

    fn place(&self, name: &str) -> Place {
        Place::file(&self.path).in_member(name)
    }
}

/// A single file.
struct OneFile {
    path: PathBuf,
    name: String,
}

impl OneFile {
    fn new(path: &Path) -> Result<Self, DataError> {
        std::fs::metadata(path).map_err(DataError::io(path, "open"))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { path: path.to_path_buf(), name })
    }
}

impl Tree for OneFile {
    fn root(&self) -> &Path {
        &self.path
    }

    fn contains(&self, name: &str) -> bool {
        self.name == name
    }

    fn open(&self, _: &str) -> Result<Box<dyn Read + Send>, DataError> {
        Ok(Box::new(fs::open(&self.path)?))
    }

    fn names(&self) -> Result<Vec<String>, DataError> {
        Ok(vec![self.name.clone()])
    }

    fn place(&self, _: &str) -> Place {
        Place::file(&self.path)
    }
}

/// The files of a tree below a folder, with the folder taken off their names.
pub(crate) struct Subtree<'a> {
    pub(crate) tree: &'a dyn Tree,
    /// Ends in `/`, or is empty.
    pub(crate) prefix: String,
}

impl Tree for Subtree<'_> {
    fn root(&self) -> &Path {
        self.tree.root()
    }

    fn contains(&self, name: &str) -> bool {
        self.tree.contains(&format!("{}{name}", self.prefix))
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>, DataError> {
        self.tree.open(&format!("{}{name}", self.prefix))
    }

    fn names(&self) -> Result<Vec<String>, DataError> {
        let names = self.tree.names()?;
        Ok(names.iter().filter_map(|name| name.strip_prefix(&self.prefix)).map(str::to_owned).collect())
    }

    fn place(&self, name: &str) -> Place {
        self.tree.place(&format!("{}{name}", self.prefix))
    }
}
