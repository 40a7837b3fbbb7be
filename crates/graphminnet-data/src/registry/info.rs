//! The table of data sets.

use crate::{DataError, Level, Task, escape};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

const TABLE: &str = include_str!("datasets.toml");

/// One benchmark data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DatasetInfo {
    /// Name by which it is asked for.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// Name of its folder in a data folder.
    pub folder: String,
    /// Other folders that hold a sample or an earlier form of it.
    #[serde(default)]
    pub other_folders: Vec<String>,
    /// Graph-level or node-level targets.
    pub level: Level,
    task: TaskName,
    classes: Option<usize>,
    /// Names of the classes, where they have some.
    #[serde(default)]
    pub class_names: Vec<String>,
    /// Name of the metric that is reported.
    pub metric: String,
    /// Names of the target columns.
    pub targets: Vec<String>,
    /// The official split: name, and sizes of train, valid and test.
    pub split: String,
    /// Features of nodes and edges, in words.
    pub features: String,
    /// Names of the node columns, where they differ from the reader's.
    #[serde(default)]
    pub node_columns: Vec<String>,
    /// Names of the edge columns, where they differ from the reader's.
    #[serde(default)]
    pub edge_columns: Vec<String>,
    /// Numbers of categories of the node columns, where the published files do not tell.
    #[serde(default)]
    pub node_sizes: Vec<usize>,
    /// Numbers of categories of the edge columns, where the published files do not tell.
    #[serde(default)]
    pub edge_sizes: Vec<usize>,
    /// The layout of the published files.
    pub(crate) layout: Layout,
    /// Licence of the data.
    pub licence: String,
    /// What to cite.
    pub citation: String,
    /// What the paper's table says.
    pub paper: PaperRow,
    /// Published files.
    #[serde(rename = "file")]
    pub files: Vec<PublishedFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TaskName {
    Regression,
    Binary,
    Multiclass,
}

/// Layouts of published files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Layout {
    /// Pickles of dictionaries with an adjacency matrix per molecule, and index files.
    Zinc,
    /// `NAME_train.pt`, `NAME_val.pt`, `NAME_test.pt`.
    GnnBenchmark,
    /// `train.pt` or `train.pickle` (tuples), or a CSV file with SMILES and a pickled split.
    Lrgb,
    /// Raw CSV files.
    Ogb,
    /// Edge lists in class folders, and lists of paths.
    Malnet,
}

/// A row of the paper's table of data sets, as printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperRow {
    /// Number of graphs.
    pub graphs: u64,
    /// Mean number of nodes, with the printed digits.
    pub nodes: String,
    /// Mean number of edges, with the printed digits.
    pub edges: String,
    /// How edges are counted.
    pub edges_are: EdgeCount,
}

/// How edges are counted in a statistic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeCount {
    /// Every stored direction counts.
    Directed,
    /// A pair of opposite directions counts once.
    Undirected,
}

/// A file that can be downloaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedFile {
    /// Name under which it is stored.
    pub name: String,
    /// Addresses, best first.
    pub urls: Vec<String>,
    /// Number of bytes, where known.
    pub size: Option<u64>,
    /// SHA-256 in lower-case hexadecimal, where known.
    pub sha256: Option<String>,
}

impl DatasetInfo {
    /// What the targets mean.
    pub fn task(&self) -> Task {
        match (self.task, self.classes) {
            (TaskName::Regression, _) => Task::Regression,
            (TaskName::Multiclass, Some(classes)) => Task::MultiClass { classes },
            (TaskName::Binary | TaskName::Multiclass, _) => Task::Binary,
        }
    }
}

/// All data sets, in the order of the paper's table.
pub fn datasets() -> &'static [DatasetInfo] {
    #[derive(Deserialize)]
    struct Table {
        dataset: Vec<DatasetInfo>,
    }
    static DATASETS: OnceLock<Vec<DatasetInfo>> = OnceLock::new();
    // The table is part of the program; a test reads it.
    DATASETS.get_or_init(|| toml::from_str::<Table>(TABLE).map(|table| table.dataset).unwrap_or_default())
}

/// The data set of a name or alias, whatever its case.
///
/// # Errors
///
/// [`DataError::UnknownDataset`] with all names.
pub fn find(name: &str) -> Result<&'static DatasetInfo, DataError> {
    let wanted = name.trim().to_ascii_lowercase().replace('_', "-");
    datasets().iter().find(|info| info.name == wanted || info.aliases.contains(&wanted)).ok_or_else(|| {
        DataError::UnknownDataset {
            name: escape(name),
            known: datasets().iter().map(|info| info.name.as_str()).collect::<Vec<_>>().join(", "),
        }
    })
}

/// Whether a text that may be a path or a name is the name of a data set. Anything with a separator or a dot is a path.
pub fn is_name(text: &str) -> bool {
    !text.contains(['/', '\\', '.']) && find(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_ten_data_sets_of_the_paper() {
        assert_eq!(datasets().len(), 10);
        for info in datasets() {
            assert!(
                !info.files.is_empty() && !info.licence.is_empty() && !info.citation.is_empty(),
                "{}",
                info.name
            );
            assert_eq!(find(&info.name).unwrap().name, info.name);
            for alias in &info.aliases {
                assert_eq!(find(alias).unwrap().name, info.name);
            }
            let is_multiclass = matches!(info.task(), Task::MultiClass { .. });
            assert!(!is_multiclass || info.targets.len() == 1, "{}", info.name);
        }
        assert_eq!(find("MalNet").unwrap().task(), Task::MultiClass { classes: 5 });
        assert!(find("zink").unwrap_err().to_string().contains("known are zinc, ogbg-molhiv"));
    }
}
