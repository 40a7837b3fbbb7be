//! Results of preparation on disk, found by the content they were computed from.
//!
//! ```
//! use graphminnet_data::cache::Cache;
//! use graphminnet_data::generate::CircularSkipLinks;
//! use graphminnet_data::preparation::{Origin, prepare_dataset};
//! use graphminnet_data::spectral::PrepareOptions;
//!
//! # let folder = std::env::temp_dir().join(format!("graphminnet-cache-example-{}", std::process::id()));
//! let cache = Cache::new(&folder);
//! let rings = CircularSkipLinks { nodes: 11, skips: vec![2, 3], copies: 2 }.generate(0)?;
//! let options = PrepareOptions { eigenpairs: 4, ..Default::default() };
//! prepare_dataset(&rings, &options, Some(&cache), &())?;
//! let (_, report) = prepare_dataset(&rings, &options, Some(&cache), &())?;
//! assert!(matches!(report.parts[0].1, Origin::Cached));
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The name of an entry is a hash of the graphs' structure, of the transform, its parameters and its version. Another
//! parameter is another entry, so nothing can be stale; going back to an old parameter finds the old entry. Features
//! and targets are not part of the key, because no cached transform looks at them.
//!
//! An entry is one file for a whole data set:
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `GMNCACHE` |
//! | 4 | version of this layout |
//! | 4 + n | name of the transform |
//! | 32 | key |
//! | 8 | length of the payload |
//! | … | payload |
//! | 32 | BLAKE3 hash of all bytes before it |
//!
//! It is written atomically: a reader sees a whole entry or none. A damaged entry is noticed by its hash and computed
//! again. No size is taken from a file: readers know from the graphs how many bytes to expect.

mod entry;
mod maintain;

pub(crate) use entry::OpenEntry;
pub use maintain::{CacheEntry, CheckedEntry, Collected};

use crate::fs::IoError;
use crate::graph::Graph;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Ending of the names of entries.
const EXTENSION: &str = "gmncache";

/// What went wrong with an entry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The entry is not what it should be.
    #[error("{}: damaged cache entry: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// What is to be put together is not there.
    #[error("{}: there is nothing for the graphs of shard {part}; prepare it again", path.display())]
    Missing {
        /// The folder with the parts.
        path: PathBuf,
        /// The part, counted from 1.
        part: usize,
    },
}

/// The name of a result: what was computed, how, and from what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CacheKey {
    transform: &'static str,
    hash: [u8; 32],
}

impl CacheKey {
    /// The key of a transform with its code version and parameters, applied to these graphs in this order.
    pub(crate) fn new(
        transform: &'static str,
        version: u32,
        parameters: &[u64],
        graphs: &[Arc<Graph>],
    ) -> Self {
        let mut hasher = blake3::Hasher::new();
        let mut number = |value: u64| {
            hasher.update(&value.to_le_bytes());
        };
        number(transform.len() as u64);
        number(u64::from(version));
        number(parameters.len() as u64);
        parameters.iter().for_each(|&parameter| number(parameter));
        number(graphs.len() as u64);
        hasher.update(transform.as_bytes());
        let mut bytes = Vec::new();
        for graph in graphs {
            bytes.clear();
            bytes.extend_from_slice(&(graph.num_nodes() as u64).to_le_bytes());
            bytes.extend_from_slice(&(graph.num_edges() as u64).to_le_bytes());
            bytes.extend(graph.edges().iter().flatten().flat_map(|node| node.to_le_bytes()));
            hasher.update(&bytes);
        }
        Self { transform, hash: *hasher.finalize().as_bytes() }
    }

    /// The key of what a transform gives for one of several things that these graphs are cut into; `numbers` tell them apart.
    pub(crate) fn within(&self, numbers: impl Iterator<Item = u64>) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.transform.as_bytes());
        hasher.update(&self.hash);
        numbers.for_each(|number| {
            hasher.update(&number.to_le_bytes());
        });
        Self { transform: self.transform, hash: *hasher.finalize().as_bytes() }
    }

    /// The hash in hexadecimal.
    pub(crate) fn to_hex(&self) -> String {
        blake3::Hash::from_bytes(self.hash).to_hex().to_string()
    }

    fn file_name(&self) -> String {
        format!("{}-{}.{EXTENSION}", self.transform, self.to_hex())
    }
}

/// A hash of a graph's nodes and edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Structure([u8; 32]);

impl Structure {
    /// That of a graph.
    pub(crate) fn of(graph: &Graph) -> Self {
        let mut hasher = StructureHasher::new(graph.num_nodes(), graph.num_edges());
        graph.edges().iter().for_each(|edge| hasher.edge(*edge));
        hasher.finish()
    }

    /// The key of a transform of a graph of this structure.
    pub(crate) fn key(self, transform: &'static str) -> CacheKey {
        CacheKey { transform, hash: self.0 }
    }
}

/// The same for a graph that nobody has as a whole: its edges come one by one.
pub(crate) struct StructureHasher {
    hasher: blake3::Hasher,
    /// Edges that are still to be hashed: a few at a time cost little.
    waiting: Vec<u8>,
}

impl StructureHasher {
    pub(crate) fn new(nodes: usize, edges: usize) -> Self {
        let mut hasher = blake3::Hasher::new();
        [nodes, edges].iter().for_each(|count| {
            hasher.update(&(*count as u64).to_le_bytes());
        });
        Self { hasher, waiting: Vec::new() }
    }

    pub(crate) fn edge(&mut self, ends: [u32; 2]) {
        self.waiting.extend(ends.iter().flat_map(|node| node.to_le_bytes()));
        if self.waiting.len() >= 1 << 16 {
            self.hasher.update(&self.waiting);
            self.waiting.clear();
        }
    }

    pub(crate) fn finish(mut self) -> Structure {
        self.hasher.update(&self.waiting);
        Structure(*self.hasher.finalize().as_bytes())
    }
}

/// A directory of entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    directory: PathBuf,
}

impl Cache {
    /// A cache in a directory, which is created when the first entry is written.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Where the cache is unless the user says otherwise: `GRAPHMINNET_CACHE`, or `graphminnet` in the user's cache
/// directory (`XDG_CACHE_HOME`, `LOCALAPPDATA`, or `.cache` in the home directory). `None` if none of these is set.
pub fn default_cache_dir() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("GRAPHMINNET_CACHE").or_else(|| {
        let user = set("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| set("LOCALAPPDATA"))
            .or_else(|| set("HOME").map(|home| home.join(".cache")));
        user.map(|directory| directory.join("graphminnet"))
    })
}
