//! Where the data of a run comes from, written down so that the run can find it again.

use super::loaded::OwnParts;
use super::{Loaded, TrainError};
use crate::config::{ConfigError, PartitionBy};
use graphminnet_data::exchange::{Exchange, Team};
use graphminnet_data::generate::{Cluster, Pattern, RingTransfer};
use graphminnet_data::partition::Partition;
use graphminnet_data::split::{GroupBy, Ratios, Splits, read_with_groups};
use graphminnet_data::{
    DataError, Dataset, EdgeDirection, Graph, InParts, Level, LimitChange, Limits, NodeParts, Read,
    ReadInParts, ReadOptions, Report, Task, open, open_in_parts,
};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

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

/// How the parts came about that the data itself names.
pub(super) const AS_GIVEN: &str = "as given in the data";

/// How a data set without an official split is split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
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
    /// 80/10/10 at random, in equal shares of the classes or of ranges of the target.
    Stratified {
        /// Seed of the split.
        seed: u64,
    },
    /// 80/10/10, molecules with the same Bemis–Murcko scaffold together, the largest groups to train.
    Scaffold,
    /// 80/10/10, molecules that belong together in one part; large groups train, the others go to the parts at random.
    Groups {
        /// What makes them belong together.
        by: GroupBy,
        /// Seed of the split.
        seed: u64,
    },
    /// One round of cross-validation: one fold tests, the next one validates, the others train.
    Fold {
        /// How folds are made.
        by: FoldBy,
        /// Number of folds.
        folds: usize,
        /// The fold that tests, from 0 on.
        fold: usize,
        /// Seed of the folds.
        seed: u64,
    },
    /// A split file; under [`OnBadRow::Null`](graphminnet_data::OnBadRow::Null) it counts the rows of the data
    /// file, bad ones included, otherwise the graphs.
    File {
        /// Its path.
        path: PathBuf,
    },
}

/// How the folds of cross-validation are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoldBy {
    /// At random.
    Random,
    /// At random, in equal shares of the classes or of ranges of the target.
    Stratified,
    /// Molecules that belong together in one fold.
    Groups(GroupBy),
}

/// Where data comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
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
    /// One of the benchmark data sets, by name. Without the feature `benchmarks` it is read from a run and written
    /// down, but not loaded.
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
        /// How it is read.
        read: Box<ReadOptions>,
        /// How it is split.
        split: SplitChoice,
        /// Whether graphs of the training part are set aside for calibration.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        calibrate: bool,
    },
    /// Graphs in memory, given by the program that trains. To resume, it must give them again; their fingerprint says
    /// whether they are the same.
    Given {
        /// Whether edges stand for one direction or for both in new data; `None` is the format's own rule.
        edges: Option<EdgeDirection>,
    },
}

impl DataSource {
    /// Whether edges are read as given or both ways; `None` is the format's own rule.
    pub fn edges(&self) -> Option<EdgeDirection> {
        match self {
            Self::File { read, .. } => read.edges,
            Self::Given { edges } => *edges,
            Self::Generated { .. } | Self::Registry { .. } => None,
        }
    }

    /// Whether both are the same data, read and split in the same way; how much a file may ask for does not matter.
    pub fn is_same_as(&self, other: &Self) -> bool {
        let unlimited = |source: &Self| match source.clone() {
            Self::File { path, mut read, split, calibrate } => {
                read.limits = Limits::default();
                Self::File { path, read, split, calibrate }
            }
            source => source,
        };
        unlimited(self) == unlimited(other)
    }

    /// Reads or makes the data.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if it is not there, cannot be read or cannot be split; [`TrainError::DataNotGiven`] if it was
    /// given in memory.
    pub fn load(&self) -> Result<Loaded, TrainError> {
        self.load_within(&[])
    }

    /// The same within other limits than the source's own.
    ///
    /// # Errors
    ///
    /// As [`DataSource::load`].
    pub fn load_within(&self, changes: &[LimitChange]) -> Result<Loaded, TrainError> {
        match self {
            Self::Generated { generator, seed, graphs } => {
                let dataset = generate(*generator, *seed, *graphs)?;
                official(dataset, Report::default())
            }
            Self::Registry { name, folder } => benchmark(name, folder.as_deref(), changes),
            Self::File { path, read: options, split, calibrate } => {
                let options = file_options(options, split, changes);
                let (read, groups) = match split.grouping() {
                    Some((by, seed)) => read_with_groups(path, &options, by, seed)?,
                    None => (open(path, &options)?, Vec::new()),
                };
                Loaded::of(read, &groups, split, options.rules)?.with_calibration(*calibrate, &groups)
            }
            Self::Given { .. } => Err(TrainError::DataNotGiven),
        }
    }

    /// The same for a single graph in parts, of which this process keeps its own from the beginning; all of it where the format
    /// does not allow that ([`open_in_parts`]).
    ///
    /// # Errors
    ///
    /// As [`DataSource::load`]; what is wrong with a file of parts.
    pub fn load_parts(
        &self,
        changes: &[LimitChange],
        (parts, partition): (usize, &PartitionBy),
        hosts: &dyn Exchange,
    ) -> Result<Loaded, TrainError> {
        let Self::File { path, read: options, split, calibrate } = self else {
            return self.load_within(changes);
        };
        if split.grouping().is_some() || !(hosts.size()..=Team::MOST).contains(&parts) {
            return self.load_within(changes);
        }
        let options = file_options(options, split, changes);
        let cut = |nodes: usize, structure: &dyn Fn() -> Result<Graph, DataError>| {
            partition.choose(nodes, parts, || Ok(Partition::greedy(&structure()?, parts)))
        };
        let read = open_in_parts(path, &options, &InParts { hosts, cut: &cut, hashed: true })?;
        let Some(ReadInParts { read, graph, content: Some(content) }) = read else {
            return self.load_within(changes);
        };
        let loaded = Loaded::of(read, &[], split, options.rules)?.with_calibration(*calibrate, &[])?;
        Ok(Loaded { in_parts: Some(OwnParts { graph, content }), ..loaded })
    }
}

/// How a file is read that is to be split in this way.
fn file_options(options: &ReadOptions, split: &SplitChoice, changes: &[LimitChange]) -> ReadOptions {
    let mut options = ReadOptions { ignore_split: !split.is_of_the_data(), ..options.clone() };
    options.limits.apply(changes);
    options
}

#[cfg(feature = "benchmarks")]
fn benchmark(name: &str, folder: Option<&Path>, changes: &[LimitChange]) -> Result<Loaded, TrainError> {
    let mut options = ReadOptions::default();
    options.limits.apply(changes);
    let read = graphminnet_data::registry::load(name, folder, &options)?;
    official(read.dataset, read.report)
}

#[cfg(not(feature = "benchmarks"))]
fn benchmark(name: &str, _: Option<&Path>, _: &[LimitChange]) -> Result<Loaded, TrainError> {
    Err(TrainError::NoBenchmarks { name: name.to_owned() })
}

fn official(dataset: Dataset, report: Report) -> Result<Loaded, TrainError> {
    let splits = Splits::official(&dataset)?;
    Ok(Loaded { dataset, splits, report, split_note: "official".to_owned(), in_parts: None })
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
    /// Whether the parts may be those that the data names.
    pub fn is_of_the_data(&self) -> bool {
        matches!(self, Self::Auto { .. } | Self::Official)
    }

    /// The parts of nodes (edges, pairs), where the data names them or is a single graph with targets of these.
    pub(super) fn apply_to_nodes(
        &self,
        dataset: &Dataset,
        ratios: Ratios,
    ) -> Result<Option<(NodeParts, String)>, TrainError> {
        let random = |seed: u64| -> Result<_, TrainError> {
            let note = format!("80/10/10 of the labelled {}s at random (seed {seed})", dataset.schema.level);
            Ok(NodeParts::at_random(dataset, ratios, seed)?.map(|parts| (parts, note)))
        };
        match self {
            Self::Auto { .. } | Self::Official if dataset.node_parts.is_some() => {
                Ok(dataset.node_parts.clone().map(|parts| (parts, AS_GIVEN.to_owned())))
            }
            Self::Auto { .. } if dataset.official_split.is_some() => Ok(None),
            Self::Auto { seed } | Self::Random { seed } | Self::Stratified { seed } => random(*seed),
            Self::File { path } => {
                let text = graphminnet_data::fs::read(path)?;
                let split = |nodes| Splits::from_json(&String::from_utf8_lossy(&text), nodes);
                let parts = NodeParts::of_only_graph(dataset, split)?;
                Ok(parts.map(|parts| (parts, format!("from {}", path.display()))))
            }
            Self::Official | Self::Scaffold | Self::Groups { .. } | Self::Fold { .. } => Ok(None),
        }
    }

    /// What makes molecules belong together, and the seed of clusters.
    pub(super) fn grouping(&self) -> Option<(GroupBy, u64)> {
        match self {
            Self::Scaffold => Some((GroupBy::Scaffold, 0)),
            Self::Groups { by, seed } | Self::Fold { by: FoldBy::Groups(by), seed, .. } => Some((*by, *seed)),
            _ => None,
        }
    }

    pub(super) fn apply(
        &self,
        read: &Read,
        groups: &[usize],
        ratios: Ratios,
    ) -> Result<(Splits, String), TrainError> {
        let dataset = &read.dataset;
        let samples = dataset.samples.len();
        let (splits, note) = match self {
            Self::Official => (Splits::official(dataset)?, "official".to_owned()),
            Self::Random { seed } => random(samples, *seed)?,
            Self::Stratified { seed } => (
                Splits::stratified_by_target(dataset, ratios, *seed)?,
                format!("80/10/10 at random in equal shares of the target (seed {seed})"),
            ),
            Self::Scaffold => (
                Splits::by_groups(groups, ratios)?,
                "80/10/10 by scaffold, the largest groups to train".to_owned(),
            ),
            Self::Groups { by, seed } => (
                Splits::by_groups_at_random(groups, ratios, *seed)?,
                format!("80/10/10 by {}, groups at random (seed {seed})", words(*by).1),
            ),
            Self::Fold { by, folds, fold, seed } => {
                let (things, what) = match by {
                    FoldBy::Groups(_) => (groups.iter().collect::<HashSet<_>>().len(), "groups of molecules"),
                    FoldBy::Random | FoldBy::Stratified => (samples, "graphs"),
                };
                if *folds > things {
                    return Err(TrainError::Config(ConfigError::Invalid {
                        key: "folds".to_owned(),
                        value: folds.to_string(),
                        expected: format!("at most as many as there are {what}, which is {things}"),
                    }));
                }
                let (splits, how) = match by {
                    FoldBy::Random => (Splits::k_fold(samples, *folds, *fold, *seed)?, "at random"),
                    FoldBy::Stratified => (
                        Splits::fold_by_target(dataset, *folds, *fold, *seed)?,
                        "in equal shares of the target",
                    ),
                    FoldBy::Groups(by) => (Splits::group_fold(groups, *folds, *fold, *seed)?, words(*by).2),
                };
                (splits, format!("fold {} of {folds}, {how} (seed {seed})", fold + 1))
            }
            Self::Auto { seed } => match (&dataset.official_split, class_labels(dataset)) {
                (Some(_), _) => (Splits::official(dataset)?, AS_GIVEN.to_owned()),
                (None, Some(labels)) => (
                    Splits::stratified(&labels, ratios, *seed)?,
                    format!("80/10/10 at random in equal shares of the classes (seed {seed})"),
                ),
                (None, None) => random(samples, *seed)?,
            },
            Self::File { path } => {
                let text = graphminnet_data::fs::read(path)?;
                let text = String::from_utf8_lossy(&text);
                // Without bad rows the rows are the samples.
                let rows = &read.report.rows;
                let splits = if rows.iter().any(Option::is_none) {
                    Splits::from_json(&text, rows.len())?.of_rows(rows)
                } else {
                    Splits::from_json(&text, samples)?
                };
                (splits, format!("from {}", path.display()))
            }
        };
        if let (true, Some((by, _))) = (splits.train.is_empty() && samples > 0, self.grouping()) {
            return Err(TrainError::Config(ConfigError::Invalid {
                key: "split".to_owned(),
                value: words(by).0.to_owned(),
                expected:
                    "molecules that do not all belong together: no group is left to train; choose random"
                        .to_owned(),
            }));
        }
        Ok((splits, note))
    }
}

/// A grouping as a value, as a noun and as a way.
pub(super) fn words(by: GroupBy) -> (&'static str, &'static str, &'static str) {
    match by {
        GroupBy::Scaffold => ("scaffold", "scaffold", "scaffolds together"),
        GroupBy::Fingerprint => ("kmeans", "similar fingerprints", "similar fingerprints together"),
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
