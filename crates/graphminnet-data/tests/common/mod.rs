//! What several test files need: temporary folders and the way to real data.
#![allow(dead_code, unused_imports)]

pub mod layouts;
mod molecules;
mod real_data;

pub use molecules::{CHIRAL, colours};
pub use real_data::real_data;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The error's text has all the pieces.
pub fn assert_pieces(error: &impl std::fmt::Display, pieces: &[&str]) {
    let text = error.to_string();
    for piece in pieces {
        assert!(text.contains(piece), "`{piece}` is not in: {text}");
    }
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
