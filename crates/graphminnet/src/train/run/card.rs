//! `data.json`: what a run knows of its data.

use crate::train::TrainingData;
use graphminnet_data::Schema;
use serde::{Deserialize, Serialize};

/// The content of `data.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DataCard {
    pub(crate) name: String,
    pub(crate) fingerprint: String,
    pub(crate) graphs: usize,
    pub(crate) nodes: usize,
    pub(crate) edges: usize,
    pub(crate) train: usize,
    pub(crate) valid: usize,
    pub(crate) test: usize,
    pub(crate) schema: Schema,
    /// How the copy differs from the published data; runs of earlier versions did not record it.
    #[serde(default, rename = "deviations")]
    pub(crate) differences: Vec<String>,
}

impl DataCard {
    pub(in crate::train) fn of(data: &TrainingData) -> Self {
        let samples = &data.dataset.samples;
        let parts = data.positions();
        Self {
            name: data.dataset.name.clone(),
            fingerprint: data.fingerprint.clone(),
            graphs: samples.len(),
            nodes: samples.iter().map(|sample| sample.prepared.graph.num_nodes()).sum(),
            edges: samples.iter().map(|sample| sample.prepared.graph.num_edges()).sum(),
            train: parts.train.len(),
            valid: parts.valid.len(),
            test: parts.test.len(),
            schema: data.dataset.schema.clone(),
            differences: data.differences.clone(),
        }
    }
}
