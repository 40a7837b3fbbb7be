//! Cells of an experiment on disk: what is computed once is not computed again.
//!
//! A cell is `cells/NAME.json` with everything that decides its value beside the value. If that differs from what is
//! asked for now, the cell is computed again.

use super::ReproError;
use graphminnet_data::fs::{self, sha256};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The folder of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// A folder, created if needed.
    ///
    /// # Errors
    ///
    /// [`ReproError::Io`].
    pub fn open(folder: &Path) -> Result<Self, ReproError> {
        fs::create_dir(folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The value of a cell: the stored one if it was made by the same `identity`, else a new one, which is stored.
    ///
    /// # Errors
    ///
    /// [`ReproError::Damaged`] if the file is not a cell, [`ReproError::Io`], or whatever computing it gives.
    pub fn cell<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        identity: &Value,
        compute: impl FnOnce() -> Result<T, ReproError>,
    ) -> Result<T, ReproError> {
        let path = self.folder.join("cells").join(format!("{}.json", slug(name)));
        let damaged = |reason: String| ReproError::Damaged { path: path.clone(), reason };
        match fs::read(&path) {
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
            Ok(bytes) => {
                let stored: Value =
                    serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
                if &stored["identity"] == identity {
                    return serde_json::from_value(stored["value"].clone())
                        .map_err(|error| damaged(error.to_string()));
                }
            }
        }
        let value = compute()?;
        if let Some(parent) = path.parent() {
            fs::create_dir(parent)?;
        }
        let object = json!({ "name": name, "identity": identity, "value": value });
        let mut text = serde_json::to_vec_pretty(&object).map_err(|error| damaged(error.to_string()))?;
        text.push(b'\n');
        fs::write_atomically(&path, &text)?;
        Ok(value)
    }

    /// The folder of a training that is decided by `identity`.
    pub fn run_folder(&self, name: &str, identity: &Value) -> PathBuf {
        let hash = sha256(identity.to_string().as_bytes());
        self.folder.join("runs").join(format!("{}-{}", slug(name), hash.get(..8).unwrap_or_default()))
    }
}

/// A name that is safe as a file name.
fn slug(name: &str) -> String {
    name.chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_computed_once_and_again_only_if_something_changed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let mut count = 0;
        for (identity, expected) in [(1, 1), (1, 1), (2, 2), (2, 2)] {
            let value = store.cell("a/b c", &json!(identity), || {
                count += 1;
                Ok(count)
            });
            assert_eq!(value.unwrap(), expected);
        }
        std::fs::write(folder.path().join("cells/a-b-c.json"), "{").unwrap();
        let error = store.cell("a/b c", &json!(2), || Ok(0)).unwrap_err();
        assert!(matches!(error, ReproError::Damaged { .. }), "{error}");
    }
}
