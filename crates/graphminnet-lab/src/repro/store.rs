//! Cells of an experiment on disk: what is computed once is not computed again.
//!
//! A cell is `cells/NAME.json` with everything that decides its value beside the value. If that differs from what is
//! asked for now, the cell is computed again.

use super::ReproError;
use graphminnet::config::{ModelConfig, TrainConfig, distinguishing_keys};
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
                if canonical(&stored["identity"]) == canonical(identity) {
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

/// An identity in which a model and a protocol are named by the keys that distinguish them, so that a key that came
/// after the cell was computed makes no difference until it is set.
fn canonical(identity: &Value) -> Value {
    let mut identity = identity.clone();
    let read = |key: &str| identity.get(key).cloned().unwrap_or_default();
    let model: Option<ModelConfig> = serde_json::from_value(read("model")).ok();
    let train: Option<TrainConfig> = serde_json::from_value(read("train")).ok();
    let mut named =
        distinguishing_keys(&model.clone().unwrap_or_default(), &train.clone().unwrap_or_default());
    for (key, is_there) in [("model", model.is_some()), ("train", train.is_some())] {
        if is_there {
            identity[key] = named[key].take();
        }
    }
    identity
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

    #[test]
    fn a_cell_of_a_version_that_knew_fewer_keys_is_found() {
        let (model, train) = (ModelConfig { hidden: 8, ..ModelConfig::default() }, TrainConfig::default());
        let now = json!({ "model": model, "train": train, "threads": 2 });
        let mut earlier = now.clone();
        for (section, key) in [("model", "standardize"), ("train", "recompute_layers")] {
            earlier[section].as_object_mut().unwrap().remove(key).unwrap();
        }
        assert_eq!(canonical(&earlier), canonical(&now));
        for (section, key, value) in [("model", "hidden", 9), ("train", "epochs", 9)] {
            let mut other = now.clone();
            other[section][key] = value.into();
            assert_ne!(canonical(&other), canonical(&now));
        }
        assert_ne!(canonical(&json!({ "model": model })), canonical(&now));
        assert_eq!(canonical(&json!({ "nodes": 3 })), json!({ "nodes": 3 }));
    }
}
