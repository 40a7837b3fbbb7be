//! Judges the columns of the records that were collected, and makes the data set of them.

use super::super::columns::{ColumnSet, ColumnTrace};
use super::super::finish::{Directions, Finisher, count_reversed};
use super::super::infer::Encoder;
use super::super::targets::TargetEncoder;
use super::{Collector, Record};
use crate::graph::Graph;
use crate::text::{counted, grouped, quoted_some};
use crate::{
    BadRow, Bound, Column, ColumnKind, DataError, Dataset, EdgeDirection, Level, NodeParts, OnBadRow, Place,
    Qualifiers, Read, Report, Sample, Schema, Split,
};
use std::collections::HashMap;

/// The first version of the rules under which levels and columns that are asked for must be there.
const MUST_BE_THERE: u32 = 6;

/// The first version of the rules under which edges that are read both ways must not all be listed both ways.
const LISTED_ONCE: u32 = 6;

/// What the records came to, in their order.
#[derive(Default)]
struct Placed {
    samples: Vec<Sample>,
    splits: Vec<Option<Split>>,
    node_splits: Vec<Option<Vec<Option<Split>>>>,
    weights: Vec<f32>,
    bounds: Vec<Vec<Bound>>,
    /// For every record that counts, its sample.
    rows: Vec<Option<usize>>,
    /// Edges of a file that is read both ways, and those of them that it lists in both directions.
    edges: usize,
    reversed: usize,
}

impl Collector<'_> {
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
        self.check_asked()?;
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
            let names = quoted_some(missing().map(|trace| trace.name.as_str()));
            self.notes.push(format!("`{}` is read as a missing label (in {names})", crate::escape(word)));
        }
        if known.is_none() {
            self.notes.extend(self.lost_digits());
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

    /// Says which columns 32 bits are too few for.
    fn lost_digits(&self) -> Vec<String> {
        let sets = [&self.node_columns, &self.edge_columns, &self.target_columns];
        let columns = sets.into_iter().flat_map(ColumnSet::traces).filter(|trace| trace.loses_digits());
        let say = |trace: &ColumnTrace| {
            format!(
                "`{}` loses digits: numbers are kept with seven of them, and these are all between {} and {}; subtract a constant first",
                crate::escape(&trace.name),
                trace.smallest,
                trace.largest
            )
        };
        columns.map(say).collect()
    }

    /// Fails for a level or a column that was asked for and is not there.
    fn check_asked(&self) -> Result<(), DataError> {
        let options = self.options;
        // A model says what there must be; a part of a file need not have everything that the file has.
        let matters = options.rules >= MUST_BE_THERE && options.schema.is_none() && options.shard.is_none();
        if !matters || self.slots.is_empty() {
            return Ok(());
        }
        let refuse = |reason: String| Err(DataError::Schema { place: self.place.clone(), reason });
        // Pairs may be asked about without a target.
        if let Some(level @ (Level::Node | Level::Edge)) = options.level
            && self.target_columns.len() == 0
            && !options.ignore_targets
        {
            return refuse(format!(
                "no targets of {level}s, which `--level {level}` asks for: a CSV folder has them in {level}s.csv, as columns called \
                 `target`, `target_…` or `label` or by the names that `--target` lists, JSON Lines in `{level}_target`"
            ));
        }
        let sets = [
            ("nodes have", &self.node_columns),
            ("edges have", &self.edge_columns),
            ("targets are", &self.target_columns),
        ];
        let names = |set: &ColumnSet| set.traces().iter().map(|trace| trace.name.clone()).collect::<Vec<_>>();
        let numeric = options.numeric.iter().map(|name| ("--numeric", name));
        for (option, name) in numeric.chain(options.text.iter().map(|name| ("--text", name))) {
            let shown = crate::escape(name);
            let mut found =
                sets.iter().flat_map(|(_, set)| set.traces()).filter(|trace| trace.name == *name).peekable();
            if found.peek().is_none() {
                let there = sets.map(|(what, set)| format!("{what} {}", quoted_some(names(set))));
                return refuse(format!("no column is called `{shown}` ({option}): {}", there.join("; ")));
            }
            if option != "--numeric" {
                continue;
            }
            if let Some(text) = found.find_map(|trace| trace.first_text()) {
                return refuse(format!(
                    "`{shown}` is to hold numbers (--numeric), but it holds text such as `{}`",
                    crate::escape(text)
                ));
            }
            let is_feature = |(_, set): &(_, &ColumnSet)| names(set).contains(name);
            if !sets.iter().take(2).any(is_feature) {
                return refuse(format!(
                    "`--numeric {shown}` has no effect: it is a target, whose values are numbers with `--task regression`"
                ));
            }
        }
        Ok(())
    }

    fn build(mut self, finisher: Finisher) -> Result<Read, DataError> {
        let placed = self.place_records(&finisher)?;
        if self.must_stop() {
            return Err(self.bad_rows_error());
        }
        self.judge_directions(&placed)?;
        let inferred = if self.options.schema.is_some() { Vec::new() } else { describe(&finisher.schema) };
        self.order_bad_rows();
        let Placed { samples, splits, node_splits, rows, weights, bounds, .. } = placed;
        self.notes.extend(without_nodes(&samples));
        // Without samples there is nothing that has parts.
        let official_split = if splits.is_empty() { None } else { splits.into_iter().collect() };
        let node_parts = self.node_parts(&finisher.schema, node_splits, &samples);
        if node_parts.is_some() && official_split.is_some() {
            self.notes.push(format!(
                "parts are named for {0}s and for whole graphs: those of {0}s count, those of graphs are not used",
                finisher.schema.level
            ));
        }
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

    /// Makes samples of the records that were collected; those that cannot be used are bad rows.
    fn place_records(&mut self, finisher: &Finisher) -> Result<Placed, DataError> {
        let slots = std::mem::take(&mut self.slots);
        let mut placed = Placed::default();
        let mut ids: HashMap<String, Place> = HashMap::new();
        let has_parts = self.has_parts(&slots)?;
        for (position, slot) in slots.into_iter().enumerate() {
            let Some(mut record) = slot else {
                placed.rows.push(None);
                continue;
            };
            let before = record.bytes();
            if self.infers_directions() {
                placed.edges += record.edges.len();
                placed.reversed += count_reversed(&record.edges);
                self.directions.join(Directions::of(&record.edges));
            }
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
                        "this id was already used in {earlier}; ids must be unique (in a table of molecules `--id-column` names another column)"
                    ),
                )),
                None => {
                    // Nobody asks for the ids where they may repeat.
                    let known = (!self.options.repeated_ids).then(|| (id.clone(), record.place.clone()));
                    finisher.sample(self, record, id).inspect(|_| ids.extend(known))
                }
            };
            self.held.shrink(before);
            match sample {
                Ok(sample) => {
                    self.hold(sample.bytes())?;
                    placed.rows.push(Some(placed.samples.len()));
                    placed.samples.push(sample);
                    placed.splits.push(split);
                    placed.node_splits.push(nodes);
                    placed.weights.extend(weight);
                    placed.bounds.push(of_labels);
                }
                Err(bad) => {
                    self.bad(position, bad)?;
                    if self.options.on_bad_row != OnBadRow::Skip {
                        placed.rows.push(None);
                    }
                }
            }
        }
        Ok(placed)
    }

    /// Whether edges are read both ways, and nothing that was trained before says that the file's are right so.
    fn infers_directions(&self) -> bool {
        self.options.schema.is_none() && self.is_both_ways()
    }

    /// Refuses edges that are all there twice where each is read both ways, and counts them where some are.
    fn judge_directions(&mut self, placed: &Placed) -> Result<(), DataError> {
        // A run of earlier rules has all edges twice.
        if self.infers_directions() && self.options.rules >= LISTED_ONCE {
            let refused = |BadRow { place, reason, .. }| DataError::Schema { place, reason };
            self.directions.check(&self.place).map_err(refused)?;
        }
        if placed.reversed > 0 {
            self.notes.push(format!(
                "each edge is read both ways, and {} of {} are listed in both directions, so that these are there twice (to have \
                 each once, list it once, or all in both directions with `--edges as-given`)",
                grouped(placed.reversed),
                counted(placed.edges, "edge")
            ));
        }
        Ok(())
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

    /// Whether an edge is followed by its reverse.
    pub(crate) fn is_both_ways(&self) -> bool {
        self.options.edges.unwrap_or(self.edges) == EdgeDirection::BothWays
    }

    /// One value for each row of a graph: as given or, at edge level, with nothing for edges that were not written but
    /// only follow those that were.
    pub(in crate::schema) fn at_written_edges<T: Clone>(
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

/// Says how many graphs have no nodes: most often their rows went missing.
fn without_nodes(samples: &[Sample]) -> Option<String> {
    let mut empty = samples.iter().filter(|sample| sample.graph.num_nodes() == 0);
    let first = empty.next()?;
    let count = counted(empty.count() + 1, "graph");
    Some(format!("{count} without nodes; the first is `{}`", crate::escape(&first.id)))
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
                    let values = column.seen.as_ref().map_or(*size, Vec::len);
                    format!("{} (categorical, {})", crate::escape(&column.name), counted(values, "value"))
                }
                ColumnKind::Number => format!("{} (numeric)", crate::escape(&column.name)),
            })
            .collect();
        format!("{what} features: {}", parts.join(", "))
    };
    let targets = if schema.targets.is_empty() {
        "no targets".to_owned()
    } else {
        format!("{}-level targets {} read as {}", schema.level, quoted_some(&schema.targets), schema.task)
    };
    vec![columns("node", &schema.node_columns), columns("edge", &schema.edge_columns), targets]
}
