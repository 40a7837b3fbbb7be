//! The way to real data, for the tests of several crates.

use std::path::{Path, PathBuf};

/// The folder with real data sets: `GRAPHMINNET_DATA`, or `../shared/data` beside the workspace. Tests that ask for it are
/// ignored unless they are asked for, so its absence is a failure.
pub fn real_data() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let candidates = [
        std::env::var_os("GRAPHMINNET_DATA").map(PathBuf::from),
        Some(workspace.join("../shared/data")),
        Some(workspace.join("../../shared/data")),
    ];
    let mut candidates = candidates.into_iter().flatten();
    candidates
        .find(|folder| folder.join("zinc-12k").is_dir())
        .expect("set GRAPHMINNET_DATA to a folder with zinc-12k, ogbg-molhiv and the other data sets")
}
