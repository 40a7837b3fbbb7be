//! How a file is to be read.

use crate::formats::Format;
use crate::{Featurizer, Level, Limits, MoleculeForm, Schema, Shard, Task};
use serde::{Deserialize, Serialize};

/// What to do with a record that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnBadRow {
    /// Stop, after collecting bad rows up to the limit, with [`DataError::BadRows`](crate::DataError::BadRows).
    #[default]
    Error,
    /// Leave the row out; it is reported, and later rows move up.
    Skip,
    /// Leave the row out but keep its place: [`Report::rows`](super::Report::rows) has `None` there.
    Null,
}

/// Whether each edge of the file stands for one direction or for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeDirection {
    /// Edges are directed and kept as they are written.
    AsGiven,
    /// Every edge that is not a loop is followed by its reverse with the same features.
    BothWays,
}

/// How a file is to be read. The default infers everything.
///
/// | field | default | meaning |
/// |---|---|---|
/// | `format` | by extension or layout | the reader |
/// | `schema` | inferred | columns, vocabularies and task of an earlier data set; the file must fit |
/// | `on_bad_row` | `error` | policy for unusable records |
/// | `edges` | the format's own rule | directed as given, or both ways |
/// | `smiles_column` | `smiles`, or the first column | column of a CSV file with the molecules |
/// | `further_smiles` | none | further columns, whose molecules join those of `smiles_column` in one graph per row |
/// | `featurizer` | the schema's, or [`Featurizer::Cip`] | columns that molecules get |
/// | `molecules` | as they are written | what is done to molecules before they become graphs; with a schema, the schema's |
/// | `describe_molecules` | false | gives a table of molecules their basic descriptors, where targets are those of whole molecules |
/// | `header` | found | whether a table of molecules begins with the names of its columns |
/// | `targets` | all numeric columns (SMILES); the format's own elsewhere | target columns by name |
/// | `id_column` | row number | column with the names of the graphs |
/// | `split_column` | none (`split` where the format has it) | column with `train`, `valid`, `test` |
/// | `weight_column` | none | column that says how much a graph counts in training |
/// | `ignore_split` | false | the parts that the data names are not needed: rows without one are fine |
/// | `ignore_targets` | false | the targets are not needed: they may be anything |
/// | `task` | inferred | overrides the inferred task |
/// | `level` | the format's own rule | what a row of targets belongs to |
/// | `split` | the data set's own | name of the split scheme, where a layout has several |
/// | `numeric`, `text` | none | feature columns to be taken as numbers, or as text categories |
/// | `category_limit` | 1,000 | an integer column with larger values is numeric |
/// | `reserve_unknown` | false | gives text vocabularies one more slot for unseen text |
/// | `repeated_ids` | false | accepts several graphs of the same name |
/// | `positive_class` | the one that says yes | of two named classes, the one whose probability is predicted |
/// | `rules` | [`RULES`] | version of the rules by which columns are understood |
/// | `shard` | the whole file | the part of the file that is read |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadOptions {
    /// The reader; by default found from the path.
    pub format: Option<Format>,
    /// Schema that the file must fit; by default inferred from the file.
    pub schema: Option<Schema>,
    /// Policy for unusable records.
    pub on_bad_row: OnBadRow,
    /// Directed as given or both ways; by default the format's own rule.
    pub edges: Option<EdgeDirection>,
    /// Column with SMILES strings.
    pub smiles_column: Option<String>,
    /// Further columns with SMILES strings: the molecules of a row are one graph, whose atoms know their column.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub further_smiles: Vec<String>,
    /// Columns that molecules get.
    pub featurizer: Option<Featurizer>,
    /// What is done to molecules before they become graphs.
    pub molecules: MoleculeForm,
    /// Whether a table of molecules gets their basic descriptors where nothing was said about them and its targets are those of
    /// whole molecules; other files have none, and are read all the same.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub describe_molecules: bool,
    /// Columns of a table of molecules whose numbers join the graphs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub descriptors: Vec<String>,
    /// Whether a table of molecules begins with the names of its columns; by default found from its first row.
    pub header: Option<bool>,
    /// Target columns by name.
    pub targets: Option<Vec<String>>,
    /// Column with the names of the graphs.
    pub id_column: Option<String>,
    /// Column with the part of the split.
    pub split_column: Option<String>,
    /// Column that says how much a graph counts in training: a number from 0 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_column: Option<String>,
    /// Accepts rows that name no part of the split. Otherwise they are bad rows as soon as another row names one.
    pub ignore_split: bool,
    /// Leaves the targets out, whatever they are, and their parts: for models that are asked what they say. It is not written down, since
    /// whoever trains or evaluates needs them.
    #[serde(skip)]
    pub ignore_targets: bool,
    /// What the targets mean.
    pub task: Option<Task>,
    /// What a row of targets belongs to.
    pub level: Option<Level>,
    /// Name of the split scheme.
    pub split: Option<String>,
    /// Feature columns that hold numbers even if they look like categories.
    pub numeric: Vec<String>,
    /// Feature columns that hold text even if they look like numbers.
    pub text: Vec<String>,
    /// Integer columns with values from here on are numeric.
    pub category_limit: u64,
    /// Whether text vocabularies get a slot for unseen text.
    pub reserve_unknown: bool,
    /// Whether several graphs may have the same name.
    pub repeated_ids: bool,
    /// Of two named classes, the one whose probability is predicted.
    pub positive_class: Option<String>,
    /// Version of the rules by which columns are understood. Options that were written down before there were versions
    /// have version 1, so that a run reads its data again as it did: no names of integer classes, no positive class,
    /// blank cells alone are missing labels, a split with gaps is ignored.
    ///
    /// Under versions 1 and 2 a column `split` of the nodes is a feature, and a flat list of targets is never one for
    /// each node; molecules have OGB's columns, and tables of them have commas and a header.
    ///
    /// Under versions 1 to 3 a cell such as `>3.5` is text.
    ///
    /// Under versions 1 to 4 texts that are targets beside others, or where numbers are asked for, are numbers from 0 in the
    /// order in which they come up; more classes than there are names may be asked for; and targets are left out that were
    /// asked for by a name that no column has. Columns of 0.0 and 1.0 are
    /// numbers; names of targets in JSON Lines only rename `target`; of several split schemes of an OGB folder none is used.
    ///
    /// Under versions 1 to 5 an OGB folder without `meta.json` has categories or numbers in all columns of a table, classes
    /// that begin with 0, and takes no notice of options that say nothing about it; a TUDataset may skip numbers of graphs; and
    /// lists of parts in a folder of edge lists may have names of no file or of several. CSV folders have their targets in the
    /// order of the file, and columns of nodes and edges with the name of a target that is not asked for are features. In JSON
    /// Lines edges may be missing, of two fields that mean the same the last one counts, masks that are no lists are passed over
    /// and of several side by side the first is taken, levels that a list of targets does not fit are ignored, and whole numbers
    /// in a column of text are those of the nearest `f64`. A level or a column that is asked for need not be there, and a graph
    /// that is read both ways may list every edge both ways.
    ///
    /// Under versions 1 to 6 random splits are those of [`Ratios::rules`](crate::split::Ratios::rules). Molecules that differ in stereo
    /// marks, isotopes, map numbers or brackets alone may have different scaffolds. In SD files silicon, germanium, arsenic, selenium,
    /// tin, antimony and tellurium have the hydrogens alone that are written, mass differences in lines of atoms are passed over,
    /// bytes that are not UTF-8 are replaced, and any line such as `>5 <10>` begins a property. In a CSV table a record of one
    /// quoted empty cell is a blank line, which is no row. Files and folders that a folder has links to are passed over, unless a
    /// layout says their names, and so is `.EDGELIST`. A word such as `NA` that comes first makes a column of numbers one of text. Of
    /// categories that are whole numbers nobody remembers which came up. In JSON Lines a name that is almost that of a field is
    /// one for `target`; `id_column` and `smiles_column` may name anything where a format has no such column; and in a CSV folder of
    /// several graphs rows without `graph_id` are those of the graph `0`.
    ///
    /// Under versions 1 to 7 a column without a name in a CSV folder is a feature or a target as any other, and columns of graphs
    /// and of nodes are targets by their names, whichever of the two levels is asked for. The largest fragment of molecules that
    /// have a stereo centre is refused, and numbers that map atoms have a part in what is R, S, E and Z. Whole numbers of a column
    /// of floating-point numbers in Parquet are integers, and where classes are asked for, 1.0, 2.0 and 3.0 do not name them. In a
    /// table a number with the minus sign of word processors (U+2212) is text.
    #[serde(default = "first_rules")]
    pub rules: u32,
    /// Upper bounds on everything.
    pub limits: Limits,
    /// The part of the file that is read; it may hold no graphs. It says nothing about how a file is read, so it is not
    /// written down with the rest.
    #[serde(skip)]
    pub shard: Option<Shard>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            schema: None,
            on_bad_row: OnBadRow::Error,
            edges: None,
            smiles_column: None,
            further_smiles: Vec::new(),
            featurizer: None,
            molecules: MoleculeForm::default(),
            describe_molecules: false,
            descriptors: Vec::new(),
            header: None,
            targets: None,
            id_column: None,
            split_column: None,
            weight_column: None,
            ignore_split: false,
            ignore_targets: false,
            task: None,
            level: None,
            split: None,
            numeric: Vec::new(),
            text: Vec::new(),
            category_limit: 1_000,
            reserve_unknown: false,
            repeated_ids: false,
            positive_class: None,
            rules: RULES,
            limits: Limits::default(),
            shard: None,
        }
    }
}

/// The version of the rules by which columns are understood now; see [`ReadOptions::rules`].
pub const RULES: u32 = 8;

fn first_rules() -> u32 {
    1
}

impl ReadOptions {
    /// Options that read a new file exactly as an earlier one was: with its schema.
    pub fn with_schema(schema: Schema) -> Self {
        Self { schema: Some(schema), ..Self::default() }
    }

    /// Columns that molecules get where no schema says so.
    pub(crate) fn molecule_columns(&self) -> Featurizer {
        let usual = if self.rules < 3 { Featurizer::Ogb } else { Featurizer::Cip };
        self.featurizer.unwrap_or(usual)
    }

    /// The level of targets that a schema or the caller asks for.
    pub(crate) fn asked_level(&self) -> Option<Level> {
        self.schema.as_ref().map(|schema| schema.level).or(self.level)
    }

    /// The names of targets that a schema or the caller asks for.
    pub(crate) fn asked_targets(&self) -> Option<&[String]> {
        self.schema.as_ref().map(|schema| &schema.targets).or(self.targets.as_ref()).map(Vec::as_slice)
    }

    /// What a schema or the caller says that targets mean.
    pub(crate) fn asked_task(&self) -> Option<Task> {
        self.schema.as_ref().map(|schema| schema.task).or(self.task)
    }
}
