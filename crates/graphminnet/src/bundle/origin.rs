//! Where a model began, if not with random weights.

use serde::{Deserialize, Serialize};

/// Where a run or a model began: what `run.toml` and a model file keep of a transfer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Name of the model file.
    pub file: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Name of the recipe or data that the model was trained for.
    pub name: String,
    /// Its seed.
    pub seed: u64,
    /// Whether a new head was asked for.
    pub new_head: bool,
    /// The parts that keep their weights.
    pub freeze: Vec<String>,
    /// Factor of the learning rate for what was taken over.
    pub rate: f64,
}

#[cfg(feature = "train")]
impl Origin {
    /// All of it that decides a number, and nothing else.
    pub(crate) fn identity(&self) -> String {
        let Self { sha256, new_head, freeze, rate, .. } = self;
        let head = if *new_head { "new head" } else { "old head" };
        format!("{sha256}, {head}, frozen {freeze:?}, rate {rate}")
    }
}
