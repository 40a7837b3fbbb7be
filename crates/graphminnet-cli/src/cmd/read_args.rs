//! Arguments by which several commands say how a file is to be read.

use super::limit_args::LimitArguments;
use crate::failure::Failure;
use clap::Args;
use graphminnet_data::formats::Format;
use graphminnet_data::{EdgeDirection, Level, MoleculeForm, OnBadRow, ReadOptions, Task};

/// How a file is to be read, and what becomes of rows that cannot be used.
#[derive(Args, Default, PartialEq)]
pub struct Reading {
    #[command(flatten)]
    columns: Columns,
    /// What to do with rows that cannot be used, each of which is reported: error (stop), skip (leave them out; later
    /// rows move up) or null (leave them out; the rows keep their numbers in ids and split files).
    #[arg(help_heading = super::READING, long, value_name = "POLICY", default_value = "error", value_parser = policy)]
    on_bad_row: OnBadRow,
}

/// A file of one's own, read within limits.
#[derive(Args)]
pub struct FileReading {
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub limits: LimitArguments,
}

/// What the columns of a file are; everything that is not given is inferred.
#[derive(Args, Default, PartialEq)]
pub struct Columns {
    /// Target column (a field of JSON Lines, or one of target_0, target_1, …); may be repeated or a list with commas.
    #[arg(help_heading = super::READING, long = "target", value_name = "COLUMN", value_delimiter = ',')]
    targets: Vec<String>,
    /// Column with SMILES strings. Of a list with commas, such as solute,solvent, the molecules of a row are read together
    /// as one graph whose atoms know their column.
    #[arg(help_heading = super::READING, long, value_name = "COLUMN", value_delimiter = ',')]
    smiles_column: Vec<String>,
    /// The SMILES strings are reactions: reactants>agents>products.
    #[arg(help_heading = super::READING, long)]
    reactions: bool,
    /// Whether a table of molecules begins with the names of its columns: yes or no; by default found from its first row.
    #[arg(help_heading = super::READING, long, value_name = "YES/NO", value_parser = yes_no)]
    header: Option<bool>,
    /// Make every hydrogen of a molecule an atom of its graph.
    #[arg(help_heading = super::READING, long)]
    add_h: bool,
    /// Do not tell mirror images, and the two sides of double bonds, of molecules apart.
    #[arg(help_heading = super::READING, long)]
    ignore_stereo: bool,
    /// Of molecules that are several fragments, such as salts, keep the largest.
    #[arg(help_heading = super::READING, long)]
    largest_fragment: bool,
    /// Column of a table of molecules whose numbers join the graph before the head, on the scale of the training data;
    /// may be repeated or a list with commas.
    #[arg(help_heading = super::READING, long, value_name = "COLUMN", value_delimiter = ',')]
    descriptors: Vec<String>,
    /// Compute a dozen descriptors of every molecule (weight, rings, donors, …), which join its graph before the head.
    #[arg(help_heading = super::READING, long)]
    basic_descriptors: bool,
    /// Count the surroundings of atoms up to two bonds away (a Morgan fingerprint of 512 places); the counts join the
    /// graph before the head.
    #[arg(help_heading = super::READING, long)]
    morgan_counts: bool,
    /// Column with the names of the graphs.
    #[arg(help_heading = super::READING, long, value_name = "COLUMN")]
    id_column: Option<String>,
    /// Column with the parts: train, valid or test.
    #[arg(help_heading = super::READING, long, value_name = "COLUMN")]
    split_column: Option<String>,
    /// Of several split schemes of a folder (split/scaffold, split/random, …), the one to use.
    #[arg(help_heading = super::READING, long, value_name = "NAME")]
    split_scheme: Option<String>,
    /// jsonl, smiles-csv, parquet, xlsx, sdf, graph6, csv-folder, ogb, tudataset or edgelist-folder; by default found from
    /// the path.
    #[arg(help_heading = super::READING, long)]
    format: Option<Format>,
    /// Whether there is one target per graph, per node, per edge or per pair of nodes that is asked about.
    #[arg(help_heading = super::READING, long, value_parser = level)]
    level: Option<Level>,
    /// What the targets mean: regression, binary, or classes:N for N classes; by default found from their values.
    #[arg(help_heading = super::READING, long, value_parser = task)]
    task: Option<Task>,
    /// Of two classes, the one whose probability is predicted; by default the one that says yes (active, yes, true, 1,
    /// positive, toxic), or the alphabetically second.
    #[arg(help_heading = super::READING, long, value_name = "CLASS")]
    positive_class: Option<String>,
    /// Whether edges are directed as-given, or each stands for both-ways; by default the format's own rule.
    #[arg(help_heading = super::READING, long, value_parser = edges)]
    edges: Option<EdgeDirection>,
    /// Feature column that holds numbers even if it looks like categories; may be repeated or a list with commas.
    #[arg(help_heading = super::READING, long, value_name = "COLUMN", value_delimiter = ',')]
    numeric: Vec<String>,
    /// Feature column that holds text even if it looks like numbers; may be repeated or a list with commas.
    #[arg(help_heading = super::READING, long, value_name = "COLUMN", value_delimiter = ',')]
    text: Vec<String>,
}

/// Reads yes or no.
pub fn yes_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("expected yes or no".to_owned()),
    }
}

fn level(text: &str) -> Result<Level, String> {
    match text {
        "graph" => Ok(Level::Graph),
        "node" => Ok(Level::Node),
        "edge" => Ok(Level::Edge),
        "pair" => Ok(Level::Pair),
        _ => Err("expected graph, node, edge or pair".to_owned()),
    }
}

fn task(text: &str) -> Result<Task, String> {
    let classes = text.strip_prefix("classes:").and_then(|number| number.parse().ok());
    match (text, classes) {
        ("regression", _) => Ok(Task::Regression),
        ("binary" | "yes-no", _) => Ok(Task::Binary),
        (_, Some(classes)) if classes >= 2 => Ok(Task::MultiClass { classes }),
        _ => Err("expected regression, binary or classes:N".to_owned()),
    }
}

fn edges(text: &str) -> Result<EdgeDirection, String> {
    match text {
        "as-given" => Ok(EdgeDirection::AsGiven),
        "both-ways" => Ok(EdgeDirection::BothWays),
        _ => Err("expected as-given or both-ways".to_owned()),
    }
}

impl Reading {
    /// Fails if anything was said about a file where there is none to be read.
    ///
    /// # Errors
    ///
    /// A usage error.
    pub fn refuse(&self, instead: &str) -> Result<(), Failure> {
        if *self == Self::default() {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "options about columns, formats and bad rows have no effect on {instead}; they are for files of your own"
        )))
    }

    /// The library's form of it.
    pub fn options(&self) -> ReadOptions {
        self.columns.options(self.on_bad_row)
    }
}

impl FileReading {
    /// The library's form of it.
    pub fn options(&self) -> ReadOptions {
        self.limits.on(self.reading.options())
    }
}

impl Columns {
    /// The library's form of it.
    pub fn options(&self, on_bad_row: OnBadRow) -> ReadOptions {
        ReadOptions {
            format: self.format,
            on_bad_row,
            edges: self.edges,
            smiles_column: self.smiles_column.first().cloned(),
            further_smiles: self.smiles_column.iter().skip(1).cloned().collect(),
            header: self.header,
            molecules: MoleculeForm {
                add_hydrogens: self.add_h,
                ignore_stereo: self.ignore_stereo,
                largest_fragment: self.largest_fragment,
                basic_descriptors: self.basic_descriptors,
                morgan_counts: self.morgan_counts,
                reactions: self.reactions,
            },
            descriptors: self.descriptors.clone(),
            targets: (!self.targets.is_empty()).then(|| self.targets.clone()),
            id_column: self.id_column.clone(),
            split_column: self.split_column.clone(),
            split: self.split_scheme.clone(),
            level: self.level,
            task: self.task,
            positive_class: self.positive_class.clone(),
            numeric: self.numeric.clone(),
            text: self.text.clone(),
            ..ReadOptions::default()
        }
    }
}

fn policy(text: &str) -> Result<OnBadRow, String> {
    match text {
        "error" => Ok(OnBadRow::Error),
        "skip" => Ok(OnBadRow::Skip),
        "null" => Ok(OnBadRow::Null),
        _ => Err("expected error, skip or null".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_scheme_is_an_option_of_files() {
        let columns = Columns { split_scheme: Some("scaffold".to_owned()), ..Columns::default() };
        assert_eq!(columns.options(OnBadRow::Error).split.as_deref(), Some("scaffold"));
        let reading = Reading { columns, ..Reading::default() };
        assert!(reading.refuse("a benchmark").is_err());
    }

    #[test]
    fn the_older_word_for_a_binary_task_is_still_read() {
        assert_eq!(task("binary"), Ok(Task::Binary));
        assert_eq!(task("yes-no"), Ok(Task::Binary));
        assert!(task("yes").is_err());
    }
}
