//! The way to real data, for the tests of several crates.

use std::path::{Path, PathBuf};

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
