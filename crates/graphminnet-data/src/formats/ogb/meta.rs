//! `meta.json`: what the tables of an OGB-style folder mean.

use crate::formats::Tree;
use crate::fs::decompress;
use crate::{DataError, Level, Limits, Place, Task};
use serde::Deserialize;
use std::io::Read;
use std::path::Path;

/// Largest `meta.json` that is read.
const MAX_META_BYTES: u64 = 1 << 20;

/// The fields of `meta.json` that change how a folder is read; others are ignored.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Meta {
    pub(super) name: Option<String>,
    /// Edge rows are undirected and stored once.
    pub(super) add_inverse_edge: Option<bool>,
    /// Name of the split scheme.
    pub(super) split: Option<String>,
    /// `categorical` or `real`.
    pub(super) node_feat: Option<String>,
    /// `categorical` or `real`.
    pub(super) edge_feat: Option<String>,
    /// Number of values of each categorical node column.
    pub(super) node_cardinality: Option<Vec<u64>>,
    /// Number of values of each categorical edge column.
    pub(super) edge_cardinality: Option<Vec<u64>>,
    /// Edges are not stored but computed.
    pub(super) edges: Option<EdgeRule>,
    /// `graph` or `node`.
    pub(super) level: Option<String>,
    pub(super) task: Option<String>,
    pub(super) num_classes: Option<u64>,
    pub(super) num_graphs: Option<u64>,
    /// Class names.
    pub(super) classes: Option<Vec<String>>,
    /// How this copy differs from the published data set, for the report; the key keeps the word of older files.
    pub(super) deviations: Option<Vec<String>>,
}

/// How edges are computed where they are not stored.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct EdgeRule {
    pub(super) rule: String,
    pub(super) coords: [usize; 2],
    pub(super) k: usize,
}

impl Meta {
    /// Reads `meta.json`; its absence is no error.
    pub(super) fn read(tree: &dyn Tree, limits: &Limits) -> Result<Option<Self>, DataError> {
        let name = "meta.json";
        if !tree.contains(name) {
            return Ok(None);
        }
        let place = tree.place(name);
        let mut text = Vec::new();
        decompress(tree.open(name)?, Path::new(name), limits)
            .take(MAX_META_BYTES)
            .read_to_end(&mut text)
            .map_err(DataError::io(&place.file, "read"))?;
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
        serde_json::from_slice(text).map(Some).map_err(|error| {
            let line = error.line() as u64;
            DataError::malformed(
                place.at_line(line),
                error.to_string(),
                "a JSON object that describes the folder",
            )
        })
    }

    /// Whether it says what the labels mean.
    pub(super) fn states_labels(&self, limits: &Limits, place: &Place) -> Result<bool, DataError> {
        Ok(self.classes.is_some() || self.task(limits, place)?.is_some())
    }

    /// Graph level or node level, if stated.
    pub(super) fn level(&self, place: &Place) -> Result<Option<Level>, DataError> {
        match self.level.as_deref() {
            None => Ok(None),
            Some("graph") => Ok(Some(Level::Graph)),
            Some("node") => Ok(Some(Level::Node)),
            Some(other) => {
                Err(DataError::value(place.clone().in_column("level"), other, "`graph` or `node`"))
            }
        }
    }

    /// The task, if stated. Two classes in one column are binary.
    pub(super) fn task(&self, limits: &Limits, place: &Place) -> Result<Option<Task>, DataError> {
        let Some(task) = self.task.as_deref() else { return Ok(None) };
        if task.contains("regression") {
            return Ok(Some(Task::Regression));
        }
        if task.contains("binary") || task.contains("multilabel") {
            return Ok(Some(Task::Binary));
        }
        match self.num_classes {
            Some(2) => Ok(Some(Task::Binary)),
            Some(classes) => {
                crate::limits::within("categories", classes, limits.categories)
                    .map_err(DataError::limit(place.clone().in_column("num_classes")))?;
                Ok(Some(Task::MultiClass { classes: classes as usize }))
            }
            None => Ok(None),
        }
    }
}
