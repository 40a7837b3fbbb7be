//! Collects records from a reader, applies the bad-row policy, and lets them be finished into a [`Dataset`].

use super::columns::{ColumnSet, Table};
use super::finish::Finisher;
use super::infer::{Encoder, list};
use super::targets::{TEXT_IS_CLASSES, TargetEncoder};
use crate::budget::{Budget, Share, bytes_of};
use crate::graph::Graph;
use crate::limits::within;
use crate::{
    BadRow, Bound, Column, ColumnKind, DataError, Dataset, EdgeDirection, Level, MoleculeTable, NodeParts,
    OnBadRow, Place, Qualifiers, Read, ReadOptions, Report, Sample, Schema, Split,
};
use std::collections::HashMap;
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
            level: options
                .schema
                .as_ref()
                .map(|schema| schema.level)
                .or(options.level)
                .unwrap_or(Level::Graph),
            fixed_columns: None,
            molecules: None,
            edges: EdgeDirection::AsGiven,
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

    /// Whether every row must name its part: one does, and the parts matter.
    fn has_parts(&self, slots: &[Option<Record>]) -> Result<bool, DataError> {
        if self.options.ignore_split || self.options.rules < 2 {
            return Ok(false);
        }
        let mut records = slots.iter().flatten().peekable();
        let is_empty = records.peek().is_none();
        let has_nodes = slots.iter().flatten().any(|record| record.node_split.is_some());
        match (&self.options.split_column, records.any(|record| record.split.is_some())) {
            (Some(column), false) if !is_empty && !has_nodes => Err(DataError::malformed(
                self.place.clone().in_column(column),
                "no part in any row",
                "train, valid or test in every row",
            )),
            (_, has_parts) => Ok(has_parts),
        }
    }

    fn without_part(&self, place: Place) -> BadRow {
        let column = self.options.split_column.as_deref().unwrap_or("split");
        BadRow::new(
            place.in_column(column),
            "",
            "names no part, but other rows do: expected train, valid or test",
        )
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

    /// Judges the columns and builds the data set.
    ///
    /// # Errors
    ///
    /// [`DataError::BadRows`] under [`OnBadRow::Error`]; [`DataError::Schema`] if the file does not fit the schema.
    pub(crate) fn finish(self) -> Result<Read, DataError> {
        self.finish_beside(|_, _| Ok(())).map(|(read, ())| read)
    }

    /// The same for a reader that keeps tables beside the records: `make` gets what turns cells into features.
    ///
    /// # Errors
    ///
    /// As [`Collector::finish`], and those of `make`.
    pub(crate) fn finish_beside<T>(
        mut self,
        make: impl FnOnce(&mut Self, &Finisher) -> Result<T, DataError>,
    ) -> Result<(Read, T), DataError> {
        match self.judge() {
            Ok(finisher) => {
                let made = make(&mut self, &finisher)?;
                Ok((self.build(finisher)?, made))
            }
            // What is wrong with rows may be why the columns make no sense.
            Err(_) if self.must_stop() => Err(self.bad_rows_error()),
            Err(error) => Err(error),
        }
    }

    fn must_stop(&self) -> bool {
        self.options.on_bad_row == OnBadRow::Error && self.bad_row_count > 0
    }

    fn judge(&mut self) -> Result<Finisher, DataError> {
        let known = self.options.schema.as_ref();
        let is_fixed = self.fixed_columns.is_some();
        let known_columns =
            |pick: fn(&Schema) -> &Vec<Column>| known.filter(|_| !is_fixed).map(pick).map(Vec::as_slice);
        let (nodes, mut node_columns) = Encoder::new(
            &self.node_columns,
            known_columns(|schema| &schema.node_columns),
            self.options,
            &self.place,
        )?;
        let (edges, mut edge_columns) = Encoder::new(
            &self.edge_columns,
            known_columns(|schema| &schema.edge_columns),
            self.options,
            &self.place,
        )?;
        if let Some(fixed) = self.fixed_columns.take() {
            (node_columns, edge_columns) = fixed;
        }
        let targets = TargetEncoder::new(&self.target_columns, self.options, &self.place)?;
        self.notes.extend(targets.notes.iter().cloned());
        let missing = || self.target_columns.traces().iter().filter(|trace| trace.missing_word.is_some());
        if let Some(word) = missing().next().and_then(|trace| trace.missing_word.as_ref()) {
            let names = list(missing().map(|trace| trace.name.as_str()));
            self.notes.push(format!("`{}` is read as a missing label (in {names})", crate::escape(word)));
        }
        let schema = match known {
            Some(schema) => schema.clone(),
            None => Schema {
                level: self.level,
                task: targets.task,
                targets: self.target_columns.traces().iter().map(|trace| trace.name.clone()).collect(),
                class_names: targets.class_names.clone(),
                positive_class: targets.positive_class.clone(),
                molecules: self.molecules.take(),
                node_columns,
                edge_columns,
            },
        };
        Ok(Finisher { nodes, edges, targets, schema })
    }

    fn build(mut self, finisher: Finisher) -> Result<Read, DataError> {
        let slots = std::mem::take(&mut self.slots);
        let mut samples: Vec<Sample> = Vec::with_capacity(slots.len());
        let mut splits: Vec<Option<Split>> = Vec::with_capacity(slots.len());
        let mut node_splits: Vec<Option<Vec<Option<Split>>>> = Vec::with_capacity(slots.len());
        let mut rows = Vec::with_capacity(slots.len());
        let mut weights = Vec::new();
        let mut bounds = Vec::with_capacity(slots.len());
        let mut ids: HashMap<String, Place> = HashMap::new();
        let has_parts = self.has_parts(&slots)?;
        for (position, slot) in slots.into_iter().enumerate() {
            let Some(mut record) = slot else {
                rows.push(None);
                continue;
            };
            let before = record.bytes();
            let id = record.id.take().unwrap_or_else(|| (self.records_before + position).to_string());
            let split = record.split;
            let nodes = record.node_split.take();
            let weight = record.weight;
            let of_labels = std::mem::take(&mut record.bounds);
            let sample = match ids.get(&id) {
                _ if has_parts && split.is_none() => Err(self.without_part(record.place)),
                Some(earlier) => Err(BadRow::new(
                    record.place,
                    &id,
                    format!(
                        "this id was already used in {earlier}; ids must be unique (another column with names: --id-column)"
                    ),
                )),
                None => {
                    // Nobody asks for the ids where they may repeat.
                    let known = (!self.options.repeated_ids).then(|| (id.clone(), record.place.clone()));
                    finisher.sample(&self, record, id).inspect(|_| ids.extend(known))
                }
            };
            self.held.shrink(before);
            match sample {
                Ok(sample) => {
                    self.hold(sample.bytes())?;
                    rows.push(Some(samples.len()));
                    samples.push(sample);
                    splits.push(split);
                    node_splits.push(nodes);
                    weights.extend(weight);
                    bounds.push(of_labels);
                }
                Err(bad) => {
                    self.bad(position, bad)?;
                    if self.options.on_bad_row != OnBadRow::Skip {
                        rows.push(None);
                    }
                }
            }
        }
        if self.must_stop() {
            return Err(self.bad_rows_error());
        }
        let inferred = if self.options.schema.is_some() { Vec::new() } else { describe(&finisher.schema) };
        self.order_bad_rows();
        // Without samples there is nothing that has parts.
        let official_split = if splits.is_empty() { None } else { splits.into_iter().collect() };
        let node_parts = self.node_parts(&finisher.schema, node_splits, &samples);
        let (name, schema) = (self.name, finisher.schema);
        let qualifiers = Qualifiers::new(weights, bounds);
        if let Some(column) = &self.options.weight_column {
            self.notes.extend(qualifiers.describe_weights(column));
        }
        self.notes.extend(qualifiers.describe_bounds(&schema.targets, &samples));
        let dataset = Dataset { name, schema, samples, official_split, node_parts, qualifiers };
        let (bad_positions, bad_rows): (Vec<usize>, Vec<BadRow>) = self.bad_rows.into_iter().unzip();
        let report = Report {
            bad_positions: if self.options.on_bad_row == OnBadRow::Skip { Vec::new() } else { bad_positions },
            notes: self.notes,
            inferred,
            bad_rows,
            bad_row_count: self.bad_row_count,
            rows,
            ..Report::default()
        };
        Ok(Read { dataset, report })
    }
}

impl Collector<'_> {
    /// The parts of the nodes, where any graph names them and they matter.
    fn node_parts(
        &mut self,
        schema: &Schema,
        parts: Vec<Option<Vec<Option<Split>>>>,
        samples: &[Sample],
    ) -> Option<NodeParts> {
        if self.options.ignore_split || parts.iter().all(Option::is_none) {
            return None;
        }
        if schema.level == Level::Graph {
            self.notes
                .push("parts of nodes have no meaning for targets of graphs, and are not used".to_owned());
            return None;
        }
        let all = parts.into_iter().zip(samples);
        Some(NodeParts::new(
            all.map(|(parts, sample)| {
                let rows = schema.level.rows(&sample.graph);
                self.at_written_edges(schema, &sample.graph, parts.unwrap_or_default(), rows)
            })
            .collect(),
        ))
    }
}

impl Collector<'_> {
    /// Whether an edge is followed by its reverse.
    pub(crate) fn is_both_ways(&self) -> bool {
        self.options.edges.unwrap_or(self.edges) == EdgeDirection::BothWays
    }

    /// One value for each row of a graph: as given or, at edge level, with nothing for edges that were not written but
    /// only follow those that were.
    pub(super) fn at_written_edges<T: Clone>(
        &self,
        schema: &Schema,
        graph: &Graph,
        values: Vec<Option<T>>,
        rows: usize,
    ) -> Vec<Option<T>> {
        let mut all = vec![None; rows];
        if schema.level == Level::Edge {
            for (at, value) in graph.written_edges(self.is_both_ways()).into_iter().zip(values) {
                all[at] = value;
            }
        } else {
            all.iter_mut().zip(values).for_each(|(slot, value)| *slot = value);
        }
        all
    }
}

/// What was inferred, in words.
fn describe(schema: &Schema) -> Vec<String> {
    let columns = |what: &str, columns: &[Column]| {
        if columns.is_empty() {
            return format!("no {what} features");
        }
        let parts: Vec<String> = columns
            .iter()
            .map(|column| match &column.kind {
                ColumnKind::Category { size, .. } => {
                    format!("{} (categorical, {size} values)", crate::escape(&column.name))
                }
                ColumnKind::Number => format!("{} (numeric)", crate::escape(&column.name)),
            })
            .collect();
        format!("{what} features: {}", parts.join(", "))
    };
    let targets = if schema.targets.is_empty() {
        "no targets".to_owned()
    } else {
        format!("{}-level targets {} read as {}", schema.level, list(schema.targets.iter()), schema.task)
    };
    vec![columns("node", &schema.node_columns), columns("edge", &schema.edge_columns), targets]
}
