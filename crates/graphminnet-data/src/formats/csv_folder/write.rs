//! Writes `graphs.csv`, `nodes.csv` and `edges.csv`; read with the data set's schema they give back an equal one.

use super::super::csv::CsvWriter;
use crate::fs::{IoError, create_dir, write_atomically_with};
use crate::graph::Features;
use crate::schema::is_missing;
use crate::{Column, ColumnKind, DataError, Dataset, Level, Place, Schema, Split, Task, escape};
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

type Table<'a> = CsvWriter<&'a mut dyn Write>;

/// Writes one table.
type Fill = fn(&Dataset, &mut Table<'_>) -> io::Result<()>;

/// Writes a data set as three tables into a folder, which is made if need be.
///
/// # Errors
///
/// [`DataError::Io`], also for graph features, which the format does not hold; [`DataError::Schema`] for a text that would be
/// read as something else.
pub fn write_csv_folder(dataset: &Dataset, folder: &Path) -> Result<(), DataError> {
    super::super::check_writable(dataset).map_err(DataError::io(folder, "write"))?;
    check_texts(dataset, folder)?;
    create_dir(folder)?;
    let tables: [(&str, Fill); 4] = [
        ("graphs.csv", write_graphs),
        ("nodes.csv", write_nodes),
        ("edges.csv", write_edges),
        ("pairs.csv", write_pairs),
    ];
    let has_pairs = dataset.schema.level == Level::Pair;
    if !has_pairs {
        // That of another data set would be read as a part of this one.
        let path = folder.join("pairs.csv");
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(IoError::at("remove", &path)(error).into());
            }
            _ => {}
        }
    }
    for (name, fill) in tables.into_iter().filter(|(name, _)| has_pairs || *name != "pairs.csv") {
        write_atomically_with(&folder.join(name), |out| fill(dataset, &mut CsvWriter::new(out)))?;
    }
    Ok(())
}

/// Fails for texts and names that tables cannot hold: better no folder than one that says something else, or that cannot be read.
fn check_texts(dataset: &Dataset, folder: &Path) -> Result<(), DataError> {
    let schema = &dataset.schema;
    let refused = |column: &str, text: &str, why: &str| {
        let reason = format!(
            "the text `{}` cannot be written to a table, where it {why}; JSON Lines (a name that ends in `.jsonl`) keep it",
            escape(text)
        );
        Err(DataError::Schema { place: Place::file(folder).in_column(column), reason })
    };
    let changed = |text: &str| match text.trim() {
        trimmed if trimmed != text => Some("would lose the blanks around it"),
        _ if text.contains('\r') => Some("would get other line ends"),
        _ => text.contains('\0').then_some("would be damage"),
    };
    let lost = |text: &str| match text.parse::<f64>() {
        _ if text.trim().is_empty() => Some("would be an empty cell"),
        // `nan` and `inf` are numbers of no use.
        Ok(number) if !number.is_finite() => Some("would be a number that is not finite"),
        _ => changed(text),
    };
    for sample in &dataset.samples {
        if let Some(why) = changed(&sample.id) {
            return refused("graph_id", &sample.id, why);
        }
    }
    for column in schema.node_columns.iter().chain(&schema.edge_columns) {
        let ColumnKind::Category { names, .. } = &column.kind else { continue };
        if let Some((text, why)) = names.iter().find_map(|name| Some((name, lost(name)?))) {
            return refused(&column.name, text, why);
        }
    }
    let are_numbers = schema.class_names.iter().all(|name| name.parse::<f64>().is_ok());
    let class = schema.class_names.iter().find_map(|name| {
        let why = match name.parse::<f64>() {
            _ if is_missing(name) => "would be a missing label",
            Ok(number) if number.is_finite() && (!are_numbers || number.to_string() != *name) => {
                "would be a number"
            }
            _ => lost(name)?,
        };
        Some((name, why))
    });
    if let Some((text, why)) = class {
        return refused(&schema.targets.join(", "), text, why);
    }
    let nothing: &[Column] = &[];
    let ends = ["graph_id", "source", "destination", "split"];
    for (level, own, columns) in [
        (Level::Graph, &["graph_id", "num_nodes", "split"][..], nothing),
        (Level::Node, &["graph_id", "node_id", "split"], &schema.node_columns),
        (Level::Edge, &ends, &schema.edge_columns),
        (Level::Pair, &ends, nothing),
    ] {
        let mut names: HashSet<&str> = own.iter().copied().collect();
        let targets = schema.targets.iter().filter(|_| schema.level == level);
        let mut columns = columns.iter().map(|column| &column.name).chain(targets);
        if let Some(name) = columns.find(|name| !names.insert(name)) {
            let reason = format!(
                "the table of {level}s would have two columns `{}`; call this one otherwise",
                escape(name)
            );
            return Err(DataError::Schema { place: Place::file(folder).in_column(name), reason });
        }
    }
    Ok(())
}

fn write_graphs(dataset: &Dataset, table: &mut Table<'_>) -> io::Result<()> {
    let schema = &dataset.schema;
    let has_targets = schema.level == Level::Graph;
    let split = dataset.official_split.as_ref();
    let targets = schema.targets.iter().filter(|_| has_targets).map(String::as_str);
    table.row(["graph_id", "num_nodes"].into_iter().chain(split.map(|_| "split")).chain(targets))?;
    for (position, sample) in dataset.samples.iter().enumerate() {
        table.field(&sample.id)?;
        table.field(sample.graph.num_nodes())?;
        if let Some(split) = split {
            table.field(split.get(position).map_or_else(String::new, Split::to_string))?;
        }
        if has_targets {
            write_targets(&sample.targets, schema, table)?;
        }
        table.end_row()?;
    }
    Ok(())
}

fn write_nodes(dataset: &Dataset, table: &mut Table<'_>) -> io::Result<()> {
    let schema = &dataset.schema;
    let has_targets = schema.level == Level::Node;
    let features = schema.node_columns.iter().map(|column| column.name.as_str());
    let targets = schema.targets.iter().filter(|_| has_targets).map(String::as_str);
    let parts = dataset.node_parts.as_ref().filter(|_| has_targets);
    let split = parts.map(|_| "split");
    table.row(["graph_id", "node_id"].into_iter().chain(features).chain(targets).chain(split))?;
    for (position, sample) in dataset.samples.iter().enumerate() {
        let width = schema.num_targets();
        for node in 0..sample.graph.num_nodes() {
            table.field(&sample.id)?;
            table.field(node)?;
            write_features(sample.graph.node_features(), node, &schema.node_columns, table)?;
            if has_targets {
                let row = sample.targets.get(node * width..(node + 1) * width).unwrap_or_default();
                write_targets(row, schema, table)?;
            }
            if let Some(parts) = parts {
                let part = parts.graph(position).get(node).copied().flatten();
                table.field(part.map_or_else(String::new, |part| part.to_string()))?;
            }
            table.end_row()?;
        }
    }
    Ok(())
}

fn write_edges(dataset: &Dataset, table: &mut Table<'_>) -> io::Result<()> {
    let columns = &dataset.schema.edge_columns;
    let features = columns.iter().map(|column| column.name.as_str());
    let labels = Labels::of(dataset, Level::Edge);
    table.row(["graph_id", "source", "destination"].into_iter().chain(features).chain(labels.header()))?;
    for (position, sample) in dataset.samples.iter().enumerate() {
        for (edge, [source, target]) in sample.graph.edges().iter().enumerate() {
            table.field(&sample.id)?;
            table.field(source)?;
            table.field(target)?;
            write_features(sample.graph.edge_features(), edge, columns, table)?;
            labels.write(position, edge, table)?;
            table.end_row()?;
        }
    }
    Ok(())
}

fn write_pairs(dataset: &Dataset, table: &mut Table<'_>) -> io::Result<()> {
    let labels = Labels::of(dataset, Level::Pair);
    table.row(["graph_id", "source", "destination"].into_iter().chain(labels.header()))?;
    for (position, sample) in dataset.samples.iter().enumerate() {
        for (pair, [source, target]) in sample.graph.pairs().iter().enumerate() {
            table.field(&sample.id)?;
            table.field(source)?;
            table.field(target)?;
            labels.write(position, pair, table)?;
            table.end_row()?;
        }
    }
    Ok(())
}

/// Targets and parts of edges or pairs, where the data has such.
struct Labels<'a> {
    dataset: &'a Dataset,
    is_level: bool,
}

impl<'a> Labels<'a> {
    fn of(dataset: &'a Dataset, level: Level) -> Self {
        Self { dataset, is_level: dataset.schema.level == level }
    }

    fn header(&self) -> impl Iterator<Item = &'a str> {
        let targets = self.dataset.schema.targets.iter().map(String::as_str);
        let split = self.dataset.node_parts.as_ref().map(|_| "split");
        let is_level = self.is_level;
        targets.chain(split).filter(move |_| is_level)
    }

    fn write(&self, graph: usize, row: usize, table: &mut Table<'_>) -> io::Result<()> {
        if !self.is_level {
            return Ok(());
        }
        let schema = &self.dataset.schema;
        let width = schema.num_targets();
        let targets = self.dataset.samples.get(graph).map_or(&[][..], |sample| &sample.targets);
        write_targets(targets.get(row * width..(row + 1) * width).unwrap_or_default(), schema, table)?;
        if let Some(parts) = &self.dataset.node_parts {
            let part = parts.graph(graph).get(row).copied().flatten();
            table.field(part.map_or_else(String::new, |part| part.to_string()))?;
        }
        Ok(())
    }
}

fn write_features(
    features: &Features,
    row: usize,
    columns: &[Column],
    table: &mut Table<'_>,
) -> io::Result<()> {
    for (value, column) in features.category_row(row).iter().zip(columns) {
        match &column.kind {
            ColumnKind::Category { names, .. } if !names.is_empty() => {
                // The reserved slot has no name; any text that is not one reads back as it.
                table.field(names.get(*value as usize).map_or("(unknown)", String::as_str))?;
            }
            _ => table.field(value)?,
        }
    }
    features.number_row(row).iter().try_for_each(|value| table.field(format_args!("{value:?}")))
}

fn write_targets(values: &[f32], schema: &Schema, table: &mut Table<'_>) -> io::Result<()> {
    for value in values {
        match (schema.task, schema.class_names.get(*value as usize)) {
            _ if value.is_nan() => table.field("")?,
            (Task::Regression, _) => table.field(format_args!("{value:?}"))?,
            (_, Some(name)) => table.field(name)?,
            (_, None) => table.field(*value as i64)?,
        }
    }
    Ok(())
}
