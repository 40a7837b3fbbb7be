//! Where the data of a run comes from, written down so that the run can find it again.

use super::TrainError;
use graphminnet_data::data::generate::{Cluster, Pattern, RingTransfer};
use graphminnet_data::data::split::{Ratios, Splits};
use graphminnet_data::data::{Dataset, Level, OnBadRow, ReadOptions, Report, Task, open, registry};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A generator of data sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Generator {
    /// Carry a class across a ring of 16 to 24 nodes.
    RingTransfer,
    /// Find a planted pattern in a random graph.
    Pattern,
    /// Find the communities of a random graph.
    Cluster,
}

/// How a data set without an official split is split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitChoice {
    /// The data's own split; without one, 80/10/10 at random (in equal shares of the classes where there are some).
    Auto {
        /// Seed of the random split.
        seed: u64,
    },
    /// The data's own split.
    Official,
    /// 80/10/10 at random.
    Random {
        /// Seed of the split.
        seed: u64,
    },
    /// A split file.
    File {
        /// Its path.
        path: PathBuf,
    },
}

/// Where data comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum DataSource {
    /// Made by a generator.
    Generated {
        /// Which.
        generator: Generator,
        /// Its seed.
        seed: u64,
        /// Number of graphs; the published number if not set.
        graphs: Option<usize>,
    },
    /// One of the benchmark data sets, by name.
    Registry {
        /// Its name.
        name: String,
        /// The folder with the data sets.
        folder: Option<PathBuf>,
    },
    /// A file or folder of the user's.
    File {
        /// Its path.
        path: PathBuf,
        /// Target columns; the format's own rule if empty.
        targets: Vec<String>,
        /// Column with SMILES strings.
        smiles_column: Option<String>,
        /// Column with the names of the graphs.
        id_column: Option<String>,
        /// Column with the part of the split.
        split_column: Option<String>,
        /// Whether rows that cannot be used are left out instead of being an error.
        skip_bad_rows: bool,
        /// How it is split.
        split: SplitChoice,
    },
}

/// Data as it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The graphs.
    pub dataset: Dataset,
    /// Their parts.
    pub splits: Splits,
    /// What was noticed while reading.
    pub report: Report,
    /// How the parts came about, in words.
    pub split_note: String,
}

impl DataSource {
    /// Reads or makes the data.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if it is not there, cannot be read or cannot be split.
    pub fn load(&self) -> Result<Loaded, TrainError> {
        match self {
            Self::Generated { generator, seed, graphs } => {
                let dataset = generate(*generator, *seed, *graphs)?;
                official(dataset, Report::default())
            }
            Self::Registry { name, folder } => {
                let read = registry::load(name, folder.as_deref(), &ReadOptions::default())?;
                official(read.dataset, read.report)
            }
            Self::File { path, targets, smiles_column, id_column, split_column, skip_bad_rows, split } => {
                let options = ReadOptions {
                    targets: (!targets.is_empty()).then(|| targets.clone()),
                    smiles_column: smiles_column.clone(),
                    id_column: id_column.clone(),
                    split_column: split_column.clone(),
                    on_bad_row: if *skip_bad_rows { OnBadRow::Skip } else { OnBadRow::Error },
                    ..ReadOptions::default()
                };
                let read = open(path, &options)?;
                let (splits, split_note) = split.apply(&read.dataset)?;
                Ok(Loaded { dataset: read.dataset, splits, report: read.report, split_note })
            }
        }
    }
}

fn official(dataset: Dataset, report: Report) -> Result<Loaded, TrainError> {
    let splits = Splits::official(&dataset)?;
    Ok(Loaded { dataset, splits, report, split_note: "official".to_owned() })
}

fn generate(generator: Generator, seed: u64, graphs: Option<usize>) -> Result<Dataset, TrainError> {
    Ok(match generator {
        Generator::RingTransfer => {
            // As in the literature: one node shows a class, and the answer is read at the marked node.
            let mut settings =
                RingTransfer { level: Level::Node, distractors: false, ..RingTransfer::default() };
            if let Some(graphs) = graphs {
                settings.sizes = settings.sizes.scaled_to(graphs);
            }
            settings.generate(seed)?
        }
        Generator::Pattern => graphs.map_or_else(Pattern::default, Pattern::with_graphs).generate(seed)?,
        Generator::Cluster => graphs.map_or_else(Cluster::default, Cluster::with_graphs).generate(seed)?,
    })
}

impl SplitChoice {
    fn apply(&self, dataset: &Dataset) -> Result<(Splits, String), TrainError> {
        let samples = dataset.samples.len();
        Ok(match self {
            Self::Official => (Splits::official(dataset)?, "official".to_owned()),
            Self::Random { seed } => random(samples, *seed)?,
            Self::Auto { seed } => match (&dataset.official_split, class_labels(dataset)) {
                (Some(_), _) => (Splits::official(dataset)?, "as given in the data".to_owned()),
                (None, Some(labels)) => (
                    Splits::stratified(&labels, Ratios::default(), *seed)?,
                    format!("80/10/10 at random in equal shares of the classes (seed {seed})"),
                ),
                (None, None) => random(samples, *seed)?,
            },
            Self::File { path } => {
                let text = crate::io::read(path)?;
                let text = String::from_utf8_lossy(&text);
                (Splits::from_json(&text, samples)?, format!("from {}", path.display()))
            }
        })
    }
}

fn random(samples: usize, seed: u64) -> Result<(Splits, String), TrainError> {
    let splits = Splits::random(samples, Ratios::default(), seed)?;
    Ok((splits, format!("80/10/10 at random (seed {seed})")))
}

/// The class of every graph, where each has one.
fn class_labels(dataset: &Dataset) -> Option<Vec<u32>> {
    let schema = &dataset.schema;
    let classes = matches!(schema.task, Task::MultiClass { .. } | Task::Binary);
    if !classes || schema.level != Level::Graph || schema.num_targets() != 1 {
        return None;
    }
    // A missing label is a group of its own.
    let label = |value: &f32| if value.is_nan() { u32::MAX } else { *value as u32 };
    Some(dataset.samples.iter().map(|sample| sample.targets.first().map_or(u32::MAX, label)).collect())
}
