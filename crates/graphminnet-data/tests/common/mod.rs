//! What several test files need: temporary folders and the way to real data.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The folder with real data sets: `GRAPHMINNET_DATA`, or `../shared/data` beside the workspace.
/// Says so and returns `None` where there is none.
pub fn real_data(test: &str) -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let candidates = [
        std::env::var_os("GRAPHMINNET_DATA").map(PathBuf::from),
        Some(workspace.join("../shared/data")),
        Some(workspace.join("../../shared/data")),
    ];
    let found = candidates.into_iter().flatten().find(|folder| folder.join("zinc-12k").is_dir());
    if found.is_none() {
        eprintln!(
            "SKIPPED {test}: no real data (set GRAPHMINNET_DATA to a folder with zinc-12k, ogbg-molhiv, …)"
        );
    }
    found
}

/// A folder that is removed again.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let unique = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("graphminnet-{name}-{}-{unique}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file below the folder and gives its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
