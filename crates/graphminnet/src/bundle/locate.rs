//! Where models are: a file, the folder of a seed, or a run with several.

use super::BundleError;
use graphminnet_data::fs::IoError;
use std::path::{Path, PathBuf};

/// Extension of model files.
pub const EXTENSION: &str = "gmn";

/// The model files that a path stands for: the file itself, `best.gmn` of a seed's folder, or those of all seeds of a
/// run, in the order of the seeds.
///
/// # Errors
///
/// [`BundleError::NotFound`] if there is none, [`BundleError::Io`].
pub fn locate(path: &Path) -> Result<Vec<PathBuf>, BundleError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let best = path.join(format!("best.{EXTENSION}"));
    if best.is_file() {
        return Ok(vec![best]);
    }
    let mut found: Vec<(u64, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(IoError::at("read the folder", path))? {
        let entry = entry.map_err(IoError::at("read the folder", path))?;
        let name = entry.file_name();
        let seed = name.to_str().and_then(|name| name.strip_prefix("seed-")?.parse().ok());
        let file = entry.path().join(format!("best.{EXTENSION}"));
        if let (Some(seed), true) = (seed, file.is_file()) {
            found.push((seed, file));
        }
    }
    if found.is_empty() {
        return Err(BundleError::NotFound { path: path.to_owned() });
    }
    found.sort();
    Ok(found.into_iter().map(|(_, file)| file).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_a_seed_and_a_run_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path();
        assert!(matches!(locate(run), Err(BundleError::NotFound { .. })));
        for seed in [10, 9, 0] {
            let seed = run.join(format!("seed-{seed}"));
            std::fs::create_dir(&seed).unwrap();
            std::fs::write(seed.join("best.gmn"), "").unwrap();
        }
        std::fs::create_dir(run.join("seed-5")).unwrap();
        let found = locate(run).unwrap();
        assert_eq!(found, [0, 9, 10].map(|seed| run.join(format!("seed-{seed}/best.gmn"))));
        assert_eq!(locate(&run.join("seed-9")).unwrap(), [run.join("seed-9/best.gmn")]);
        // A file that is not there is named when it is read.
        assert_eq!(locate(&run.join("none.gmn")).unwrap(), [run.join("none.gmn")]);
    }
}
