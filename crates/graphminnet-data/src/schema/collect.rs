//! Collects records from a reader, applies the bad-row policy, and lets them be finished into a data set.

mod build;

use super::columns::{ColumnSet, Table};
use super::finish::Directions;
use super::targets::TEXT_IS_CLASSES;
use crate::budget::{Budget, Share, bytes_of};
use crate::graph::Graph;
use crate::limits::within;
use crate::{
    BadRow, Bound, Column, DataError, EdgeDirection, Level, MoleculeTable, OnBadRow, Place, ReadOptions,
    Sample, Split,
};
use std::path::Path;

/// One graph as a reader saw it.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) place: Place,
    /// Name in the source; its position is used where there is none.
    pub(crate) id: Option<String>,
    pub(crate) num_nodes: usize,
    pub(crate) edges: Vec<[u32; 2]>,
    pub(crate) nodes: Table,
    pub(crate) edge_rows: Table,
    pub(crate) targets: Table,
    pub(crate) split: Option<Split>,
    /// The part of every node (edge, pair), where these are split.
    pub(crate) node_split: Option<Vec<Option<Split>>>,
    /// Pairs of nodes that are asked about.
    pub(crate) pairs: Vec<[u32; 2]>,
    /// The finished graph, where the reader builds it itself; the tables are then not looked at.
    pub(crate) graph: Option<Graph>,
    /// How much it counts in training, where the source says so.
    pub(crate) weight: Option<f32>,
    /// What is known of labels that are missing.
    pub(crate) bounds: Vec<Bound>,
}

impl Record {
    /// Bytes that it takes.
    fn bytes(&self) -> u64 {
        let tables = [&self.nodes, &self.edge_rows, &self.targets];
        bytes_of::<Option<Self>>(1)
            + self.place.bytes()
            + self.id.as_ref().map_or(0, |id| id.len() as u64)
            + bytes_of::<[u32; 2]>(self.edges.len() + self.pairs.len())
            + bytes_of::<Bound>(self.bounds.len())
            + bytes_of::<Option<Split>>(self.node_split.as_ref().map_or(0, Vec::len))
            + tables.iter().map(|table| table.bytes()).sum::<u64>()
            + self.graph.as_ref().map_or(0, Graph::bytes)
    }
}

impl Sample {
    /// Bytes that it takes, with the entry in a list of names.
    pub(crate) fn bytes(&self) -> u64 {
        bytes_of::<(Self, String, Place)>(1)
            + 2 * self.id.len() as u64
            + bytes_of::<f32>(self.targets.len())
            + self.graph.bytes()
    }
}

/// Records on their way to a data set.
pub(crate) struct Collector<'a> {
    /// How the file is read.
    pub(crate) options: &'a ReadOptions,
    name: String,
    place: Place,
    /// Columns of node features.
    pub(crate) node_columns: ColumnSet,
    /// Columns of edge features.
    pub(crate) edge_columns: ColumnSet,
    /// Target columns.
    pub(crate) target_columns: ColumnSet,
    /// What a row of targets belongs to.
    pub(crate) level: Level,
    /// Node and edge columns, where the reader builds finished graphs itself.
    pub(crate) fixed_columns: Option<(Vec<Column>, Vec<Column>)>,
    /// How molecules were read, where the reader reads them.
    pub(crate) molecules: Option<MoleculeTable>,
    /// What the edges mean unless the options say otherwise.
    pub(crate) edges: EdgeDirection,
    /// How edges are listed that no record has.
    pub(crate) directions: Directions,
    /// Things worth telling a person.
    pub(crate) notes: Vec<String>,
    /// Memory for this reading.
    pub(crate) budget: Budget,
    held: Share,
    slots: Vec<Option<Record>>,
    bad_rows: Vec<(usize, BadRow)>,
    bad_row_count: u64,
    /// Records of the same source that came before: it is read in pieces.
    pub(crate) records_before: usize,
}

impl<'a> Collector<'a> {
    /// An empty collection for the data set at `path`.
    pub(crate) fn new(path: &Path, options: &'a ReadOptions) -> Self {
        Self::within(path, options, Budget::new(&options.limits))
    }

    /// The same, of a reading that has taken memory already.
    pub(crate) fn within(path: &Path, options: &'a ReadOptions, budget: Budget) -> Self {
        let name = crate::fs::without_compression(path);
        Self {
            options,
            name: name.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            place: Place::file(path),
            node_columns: ColumnSet::default(),
            edge_columns: ColumnSet::default(),
            target_columns: ColumnSet::default(),
            level: options.asked_level().unwrap_or(Level::Graph),
            fixed_columns: None,
            molecules: None,
            edges: EdgeDirection::AsGiven,
            directions: Directions::default(),
            notes: Vec::new(),
            held: budget.share(),
            budget,
            slots: Vec::new(),
            bad_rows: Vec::new(),
            bad_row_count: 0,
            records_before: 0,
        }
    }

    /// Names the node columns; text columns follow the schema or the options.
    pub(crate) fn name_node_columns(&mut self, names: Vec<String>) -> Result<(), DataError> {
        self.node_columns =
            self.named(names, self.options.schema.as_ref().map(|schema| &*schema.node_columns))?;
        Ok(())
    }

    /// Names the edge columns.
    pub(crate) fn name_edge_columns(&mut self, names: Vec<String>) -> Result<(), DataError> {
        self.edge_columns =
            self.named(names, self.options.schema.as_ref().map(|schema| &*schema.edge_columns))?;
        Ok(())
    }

    /// Names the target columns.
    pub(crate) fn name_target_columns(&mut self, names: Vec<String>) -> Result<(), DataError> {
        self.target_columns = self.named(names, None)?;
        let classes = self.options.schema.as_ref().map_or(&[][..], |schema| &schema.class_names);
        if classes.is_empty() && self.options.schema.is_some() && self.options.rules >= TEXT_IS_CLASSES {
            self.target_columns.follow_numbers();
        }
        self.target_columns.are_targets(classes, self.options.rules);
        if !classes.is_empty() {
            self.target_columns.follow_text();
        }
        Ok(())
    }

    fn named(&self, names: Vec<String>, known: Option<&[Column]>) -> Result<ColumnSet, DataError> {
        let mut set = ColumnSet::new(names, &self.options.text, &self.options.limits, &self.budget)
            .map_err(DataError::limit(self.place.clone()))?;
        if let Some(known) = known {
            set.follow(known);
        }
        Ok(set)
    }

    /// Takes a record, or the reason why there is none.
    ///
    /// # Errors
    ///
    /// [`DataError::BadRows`] once there are more bad rows than the limit under [`OnBadRow::Error`]; a limit.
    pub(crate) fn push(&mut self, record: Result<Record, BadRow>) -> Result<(), DataError> {
        // A place is copied only for an error: there may be millions of small graphs.
        within("graphs", self.slots.len() as u64 + 1, self.options.limits.graphs)
            .map_err(|exceeded| DataError::limit(self.place.clone())(exceeded))?;
        match record {
            Ok(record) => {
                let held = self.held.grow(record.bytes());
                held.map_err(|exceeded| DataError::limit(record.place.clone())(exceeded))?;
                self.slots.push(Some(record));
            }
            Err(bad) => {
                self.bad(self.slots.len(), bad)?;
                if self.options.on_bad_row != OnBadRow::Skip {
                    self.hold(bytes_of::<Option<Record>>(1))?;
                    self.slots.push(None);
                }
            }
        }
        Ok(())
    }

    /// Number of records so far.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Makes the bound of a record the label that it turned out to be.
    pub(crate) fn make_label(&mut self, record: usize, place: usize, label: f64) {
        let Some(record) = self.slots.get_mut(record).and_then(Option::as_mut) else { return };
        record.bounds.retain(|bound| bound.place != place);
        if let Some(value) = record.targets.values.get_mut(place) {
            *value = label;
        }
    }

    fn hold(&mut self, bytes: u64) -> Result<(), DataError> {
        self.held.grow(bytes).map_err(|exceeded| DataError::limit(self.place.clone())(exceeded))
    }

    fn bad(&mut self, position: usize, bad: BadRow) -> Result<(), DataError> {
        self.bad_row_count += 1;
        if (self.bad_rows.len() as u64) < self.options.limits.bad_rows {
            self.hold(bytes_of::<(usize, BadRow)>(1) + bad.bytes())?;
            self.bad_rows.push((position, bad));
        } else if self.options.on_bad_row == OnBadRow::Error {
            return Err(self.bad_rows_error());
        }
        Ok(())
    }

    /// Some problems are seen only when all rows are in: within one file, rows are told in the order of their lines.
    fn order_bad_rows(&mut self) {
        let first = self.bad_rows.first().map(|(_, row)| row.place.file.clone());
        if self
            .bad_rows
            .iter()
            .all(|(_, row)| Some(&row.place.file) == first.as_ref() && row.place.member.is_none())
        {
            self.bad_rows.sort_by_key(|(_, row)| row.place.line);
        }
    }

    fn bad_rows_error(&mut self) -> DataError {
        self.order_bad_rows();
        let rows = std::mem::take(&mut self.bad_rows).into_iter().map(|(_, row)| row).collect();
        DataError::BadRows { rows, total: self.bad_row_count }
    }
}
