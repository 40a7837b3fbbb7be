//! Data as it was found: the graphs and their parts.

use super::data::{data_fingerprint, fingerprint_of};
use super::source::{AS_GIVEN, words};
use super::{SplitChoice, TrainError};
use crate::config::ConfigError;
use graphminnet_data::preparation::GraphInParts;
use graphminnet_data::split::{Ratios, Splits, read_text_with_groups};
use graphminnet_data::text::counted;
use graphminnet_data::{
    Column, ContentHash, Dataset, Level, RULES, Read, ReadOptions, Report, Sample, Schema, escape,
    read_stream,
};
use std::collections::HashSet;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

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
    /// The parts of the only graph that this process keeps, where it was read in parts. The graph of `dataset` then has nodes
    /// alone, with the targets of all of them.
    pub in_parts: Option<OwnParts>,
}

/// The parts of a single graph that a process keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnParts {
    /// These.
    pub graph: GraphInParts,
    /// The hash of all of the graph.
    pub content: ContentHash,
}

/// The first version of the rules under which the nodes (edges, pairs) of a graph may be split.
const BY_ROW: u32 = 3;

/// Fewer graphs than these say nothing about errors that are rare.
const MIN_CALIBRATION: usize = 20;

fn check_calibration(splits: &Splits, asked: bool) -> Result<(), TrainError> {
    let found = splits.calibration.len();
    if found >= MIN_CALIBRATION || (found == 0 && !asked) {
        return Ok(());
    }
    Err(TrainError::Config(ConfigError::Invalid {
        key: "calibrate".to_owned(),
        value: format!("{found} graphs set aside"),
        expected: format!("at least {MIN_CALIBRATION}, from a larger training part"),
    }))
}

/// The columns of features, any of which may be meant as a target.
fn columns_in_words(schema: &Schema) -> String {
    let of = |what: &str, columns: &[Column]| {
        let names: Vec<String> = columns.iter().map(|column| format!("`{}`", escape(&column.name))).collect();
        format!("columns of {what}: {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") })
    };
    format!("{}; {}", of("nodes", &schema.node_columns), of("edges", &schema.edge_columns))
}

/// What is to be said where graphs of the test part are in the training part, too. Of nodes, edges and pairs nothing: they share
/// their graph.
fn repeated(dataset: &Dataset, splits: &Splits) -> Option<String> {
    if dataset.schema.level != Level::Graph || dataset.node_parts.is_some() {
        return None;
    }
    let graph = |at: &usize| {
        let graph = Arc::clone(&dataset.samples.get(*at)?.graph);
        let mut content = ContentHash::default();
        content.add(&Sample { id: String::new(), graph, targets: Vec::new() });
        Some(content.finish())
    };
    let trained: HashSet<String> = splits.train.iter().filter_map(graph).collect();
    let known = splits.test.iter().filter_map(graph).filter(|graph| trained.contains(graph)).count();
    (known > 0).then(|| {
        format!(
            "{} of the test part {} also in the training part, feature for feature: a model may know {} by heart",
            counted(known, "graph"),
            if known == 1 { "is" } else { "are" },
            if known == 1 { "it" } else { "them" },
        )
    })
}

impl Loaded {
    /// Splits what was read, in groups where the choice asks for them, under the version of the rules by which it was read.
    pub(super) fn of(
        mut read: Read,
        groups: &[usize],
        choice: &SplitChoice,
        rules: u32,
    ) -> Result<Self, TrainError> {
        if read.dataset.schema.targets.is_empty() {
            return Err(TrainError::NoTargets { columns: columns_in_words(&read.dataset.schema) });
        }
        let ratios = Ratios::default().under(rules);
        let nodes = if rules >= BY_ROW { choice.apply_to_nodes(&read.dataset, ratios)? } else { None };
        let (splits, split_note) = match nodes {
            Some((parts, note)) => (read.dataset.split_nodes(parts), note),
            None => {
                read.dataset.node_parts = None;
                choice.apply(&read, groups, ratios)?
            }
        };
        read.report.notes.extend(repeated(&read.dataset, &splits));
        Ok(Self { dataset: read.dataset, splits, report: read.report, split_note, in_parts: None })
    }

    /// What was read, in the parts of a split file, such as the `splits.json` of a run.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if the file cannot be read, or its positions are not those of the data.
    pub fn by_file(read: Read, path: &Path) -> Result<Self, TrainError> {
        Self::of(read, &[], &SplitChoice::File { path: path.to_owned() }, RULES)
    }

    /// The hash of graphs, targets and parts; see [`data_fingerprint`].
    pub fn fingerprint(&self) -> String {
        match &self.in_parts {
            None => data_fingerprint(&self.dataset, &self.splits),
            Some(own) => fingerprint_of(own.content.clone(), &self.dataset, &self.splits),
        }
    }

    /// Splits graphs that are in memory.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if they cannot be split in this way.
    pub fn split(dataset: Dataset, choice: &SplitChoice) -> Result<Self, TrainError> {
        if let Some((by, _)) = choice.grouping() {
            return Err(TrainError::Config(ConfigError::Invalid {
                key: "split".to_owned(),
                value: words(by).0.to_owned(),
                expected: "graphs in memory have no molecules to group; give the parts".to_owned(),
            }));
        }
        Self::of(Read { dataset, report: Report::default() }, &[], choice, RULES)
    }

    /// Reads the text of a CSV table of molecules and splits it, by the rules of files; `name` is that of the data set. The
    /// options must say that it is one.
    ///
    /// # Errors
    ///
    /// [`TrainError`] if it cannot be read, or not be split in this way.
    pub fn molecules(
        text: &str,
        name: &str,
        options: &ReadOptions,
        choice: &SplitChoice,
        calibrate: bool,
    ) -> Result<Self, TrainError> {
        let options = ReadOptions { ignore_split: !choice.is_of_the_data(), ..options.clone() };
        let (read, groups) = match choice.grouping() {
            Some((by, seed)) => read_text_with_groups(text, name, &options, by, seed)?,
            None => {
                let stream = Box::new(Cursor::new(text.as_bytes().to_vec()));
                (read_stream(stream, name, &options)?, Vec::new())
            }
        };
        Self::of(read, &groups, choice, options.rules)?.with_calibration(calibrate, &groups)
    }

    /// Whether the data named its parts itself, where nobody asked for others.
    pub fn is_split_as_given(&self) -> bool {
        self.split_note.starts_with(AS_GIVEN)
    }

    /// What was read and how it is split, in one line.
    pub fn in_words(&self) -> String {
        let dataset = &self.dataset;
        let nodes = dataset.node_parts.as_ref().map(|parts| parts.nodes_by_part());
        let splits = nodes.as_ref().unwrap_or(&self.splits);
        format!(
            "{}: {}, {}{} to train, {} to validate, {} to test ({})",
            dataset.name,
            counted(dataset.samples.len(), "graph"),
            if nodes.is_some() { format!("{}s: ", dataset.schema.level) } else { String::new() },
            splits.train.len(),
            splits.valid.len(),
            splits.test.len(),
            self.split_note
        )
    }

    /// Sets graphs of the training part aside for calibration.
    ///
    /// # Errors
    ///
    /// [`TrainError::Config`] if the training part is too small for that.
    pub fn calibrated(self) -> Result<Self, TrainError> {
        self.with_calibration(true, &[])
    }

    /// The same where it is asked for and the split names no such part; graphs of one group stay together.
    pub(super) fn with_calibration(mut self, asked: bool, groups: &[usize]) -> Result<Self, TrainError> {
        if asked && self.dataset.node_parts.is_some() {
            return Err(TrainError::Config(ConfigError::Invalid {
                key: "calibrate".to_owned(),
                value: format!("true where {}s of one graph are in several parts", self.dataset.schema.level),
                expected: "needs whole graphs that are set aside; calibrate when you predict, on data that was not trained on \
                           (predict --calibrate FILE)"
                    .to_owned(),
            }));
        }
        if asked && self.splits.calibration.is_empty() {
            self.splits = match groups {
                [] => self.splits.hold_out(0),
                groups => self.splits.hold_out_groups(groups),
            };
        }
        check_calibration(&self.splits, asked)?;
        if !self.splits.calibration.is_empty() {
            self.split_note.push_str(&format!(", {} to calibrate", self.splits.calibration.len()));
        }
        Ok(self)
    }
}
