//! Writes `graphs.csv`, `nodes.csv` and `edges.csv`; read with the data set's schema they give back an equal one.

use super::super::csv::write_field;
use crate::fs::write_atomically;
use crate::graph::Features;
use crate::{Column, ColumnKind, DataError, Dataset, Level, Schema, Split, Task};
use std::io::{self, Write};
use std::path::Path;

/// Writes one table.
type Fill = fn(&Dataset, &mut dyn Write) -> io::Result<()>;

/// Writes a data set as three tables into a folder, which is made if need be.
///
/// # Errors
///
/// [`DataError::Io`].
pub fn write_csv_folder(dataset: &Dataset, folder: &Path) -> Result<(), DataError> {
    std::fs::create_dir_all(folder).map_err(DataError::io(folder, "create"))?;
    let tables: [(&str, Fill); 3] =
        [("graphs.csv", write_graphs), ("nodes.csv", write_nodes), ("edges.csv", write_edges)];
    for (name, fill) in tables {
        let path = folder.join(name);
        write_atomically(&path, |out| fill(dataset, out).map_err(DataError::io(&path, "write")))?;
    }
    Ok(())
}

fn write_graphs(dataset: &Dataset, out: &mut dyn Write) -> io::Result<()> {
    let schema = &dataset.schema;
    let has_targets = schema.level == Level::Graph;
    out.write_all(b"graph_id,num_nodes")?;
    if dataset.official_split.is_some() {
        out.write_all(b",split")?;
    }
    if has_targets {
        write_names(schema.targets.iter(), out)?;
    }
    out.write_all(b"\n")?;
    for (position, sample) in dataset.samples.iter().enumerate() {
        write_field(out, &sample.id)?;
        write!(out, ",{}", sample.graph.num_nodes())?;
        if let Some(splits) = &dataset.official_split {
            let name = match splits.get(position) {
                Some(Split::Train) => "train",
                Some(Split::Valid) => "valid",
                Some(Split::Test) => "test",
                None => "",
            };
            write!(out, ",{name}")?;
        }
        if has_targets {
            write_targets(&sample.targets, schema, out)?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn write_nodes(dataset: &Dataset, out: &mut dyn Write) -> io::Result<()> {
    let schema = &dataset.schema;
    let has_targets = schema.level == Level::Node;
    out.write_all(b"graph_id,node_id")?;
    write_names(schema.node_columns.iter().map(|column| &column.name), out)?;
    if has_targets {
        write_names(schema.targets.iter(), out)?;
    }
    out.write_all(b"\n")?;
    for sample in &dataset.samples {
        let width = schema.num_targets();
        for node in 0..sample.graph.num_nodes() {
            write_field(out, &sample.id)?;
            write!(out, ",{node}")?;
            write_row(sample.graph.node_features(), node, &schema.node_columns, out)?;
            if has_targets {
                let row = sample.targets.get(node * width..(node + 1) * width).unwrap_or_default();
                write_targets(row, schema, out)?;
            }
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

fn write_edges(dataset: &Dataset, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"graph_id,source,destination")?;
    write_names(dataset.schema.edge_columns.iter().map(|column| &column.name), out)?;
    out.write_all(b"\n")?;
    for sample in &dataset.samples {
        for (edge, [source, target]) in sample.graph.edges().iter().enumerate() {
            write_field(out, &sample.id)?;
            write!(out, ",{source},{target}")?;
            write_row(sample.graph.edge_features(), edge, &dataset.schema.edge_columns, out)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

fn write_names<'a>(names: impl Iterator<Item = &'a String>, out: &mut dyn Write) -> io::Result<()> {
    for name in names {
        out.write_all(b",")?;
        write_field(out, name)?;
    }
    Ok(())
}

fn write_row(features: &Features, row: usize, columns: &[Column], out: &mut dyn Write) -> io::Result<()> {
    for (value, column) in features.category_row(row).iter().zip(columns) {
        out.write_all(b",")?;
        match &column.kind {
            ColumnKind::Category { names, .. } if !names.is_empty() => {
                // The reserved slot has no name; any text that is not one reads back as it.
                let name = names.get(*value as usize).map_or("(unknown)", String::as_str);
                write_field(out, name)?;
            }
            _ => write!(out, "{value}")?,
        }
    }
    for value in features.number_row(row) {
        write!(out, ",{value:?}")?;
    }
    Ok(())
}

fn write_targets(values: &[f32], schema: &Schema, out: &mut dyn Write) -> io::Result<()> {
    for value in values {
        out.write_all(b",")?;
        match (schema.task, schema.class_names.get(*value as usize)) {
            _ if value.is_nan() => {}
            (Task::Regression, _) => write!(out, "{value:?}")?,
            (_, Some(name)) => write_field(out, name)?,
            (_, None) => write!(out, "{}", *value as i64)?,
        }
    }
    Ok(())
}
