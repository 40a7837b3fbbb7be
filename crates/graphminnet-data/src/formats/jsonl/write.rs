//! Writes a data set as JSON Lines; reading the file with its schema gives back an equal data set.

use super::written_order;
use crate::fs::write_atomically_with;
use crate::graph::Features;
use crate::{Bound, Column, ColumnKind, DataError, Dataset, Level, Sample, Schema, Side, Split, Task};
use std::io::{self, Write};
use std::path::Path;

/// Writes a data set to a file, whole or not at all.
///
/// Categories with names and classes with names are written as text. Numbers are written with as many digits as needed
/// to read back the same 32-bit value.
///
/// # Errors
///
/// [`DataError::Io`].
pub fn write_jsonl(dataset: &Dataset, path: &Path) -> Result<(), DataError> {
    Ok(write_atomically_with(path, |out| write_jsonl_to(dataset, out))?)
}

/// Writes a data set to any sink.
///
/// # Errors
///
/// The sink's own, or that of a data set with graph features, which the format does not hold.
pub(crate) fn write_jsonl_to(dataset: &Dataset, out: &mut dyn Write) -> io::Result<()> {
    super::super::check_writable(dataset)?;
    let layout = Layout::of(&dataset.schema);
    for (position, sample) in dataset.samples.iter().enumerate() {
        let split = dataset.official_split.as_ref().and_then(|splits| splits.get(position));
        let nodes = dataset.node_parts.as_ref().map(|parts| parts.graph(position));
        let bounds = dataset.qualifiers.bounds.get(position).map_or(&[][..], Vec::as_slice);
        write_sample(sample, bounds, &layout, split.copied(), nodes, out)?;
    }
    Ok(())
}

/// What a line has, and in which order: reading it gives the same columns.
struct Layout<'a> {
    schema: &'a Schema,
    nodes: Vec<usize>,
    edges: Vec<usize>,
}

impl<'a> Layout<'a> {
    fn of(schema: &'a Schema) -> Self {
        Self {
            schema,
            nodes: written_order("node", &schema.node_columns),
            edges: written_order("edge", &schema.edge_columns),
        }
    }
}

fn write_sample(
    sample: &Sample,
    bounds: &[Bound],
    layout: &Layout<'_>,
    split: Option<Split>,
    nodes: Option<&[Option<Split>]>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (graph, schema) = (&sample.graph, layout.schema);
    write!(out, "{{\"id\":{},\"num_nodes\":{},\"edges\":[", text(&sample.id)?, graph.num_nodes())?;
    for (position, [source, target]) in graph.edges().iter().enumerate() {
        let comma = if position > 0 { "," } else { "" };
        write!(out, "{comma}[{source},{target}]")?;
    }
    out.write_all(b"]")?;
    write_features("node_features", graph.node_features(), (&schema.node_columns, &layout.nodes), out)?;
    write_features("edge_features", graph.edge_features(), (&schema.edge_columns, &layout.edges), out)?;
    if schema.level == Level::Pair {
        out.write_all(b",\"pairs\":[")?;
        for (position, [source, target]) in graph.pairs().iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            write!(out, "{comma}[{source},{target}]")?;
        }
        out.write_all(b"]")?;
    }
    if !schema.targets.is_empty() {
        write_targets(sample, bounds, schema, out)?;
    }
    match (nodes, split) {
        (Some(nodes), _) => {
            out.write_all(b",\"split\":[")?;
            for (position, part) in nodes.iter().enumerate() {
                let comma = if position > 0 { "," } else { "" };
                match part {
                    Some(part) => write!(out, "{comma}\"{part}\"")?,
                    None => write!(out, "{comma}null")?,
                }
            }
            out.write_all(b"]")?;
        }
        (None, Some(split)) => write!(out, ",\"split\":\"{split}\"")?,
        (None, None) => {}
    }
    out.write_all(b"}\n")
}

fn write_features(
    field: &str,
    features: &Features,
    (columns, order): (&[Column], &[usize]),
    out: &mut dyn Write,
) -> io::Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    write!(out, ",\"{field}\":[")?;
    for row in 0..features.rows() {
        out.write_all(if row > 0 { b",[" } else { b"[" })?;
        // Categories come before numbers in a schema and in a table of features.
        let (categories, numbers) = (features.category_row(row), features.number_row(row));
        for (position, &at) in order.iter().enumerate() {
            if position > 0 {
                out.write_all(b",")?;
            }
            match (categories.get(at), columns.get(at).map(|column| &column.kind)) {
                (Some(value), Some(ColumnKind::Category { names, .. })) if !names.is_empty() => {
                    // The reserved slot has no name; any text that is not one reads back as it.
                    let name = names.get(*value as usize).map_or("\u{0}unknown", String::as_str);
                    write!(out, "{}", text(name)?)?;
                }
                (Some(value), _) => write!(out, "{value}")?,
                (None, _) => {
                    let value = numbers.get(at - categories.len()).copied().unwrap_or_default();
                    write!(out, "{value:?}")?;
                }
            }
        }
        out.write_all(b"]")?;
    }
    out.write_all(b"]")
}

fn write_targets(sample: &Sample, bounds: &[Bound], schema: &Schema, out: &mut dyn Write) -> io::Result<()> {
    let width = schema.num_targets();
    let nested = schema.level != Level::Graph;
    let field = match schema.level {
        Level::Graph | Level::Node => "target",
        Level::Edge => "edge_target",
        Level::Pair => "pair_target",
    };
    write!(out, ",\"{field}\":{}", if nested { "[" } else { "" })?;
    for (position, row) in sample.targets.chunks_exact(width).enumerate() {
        out.write_all(if position > 0 { b",[" } else { b"[" })?;
        for (column, value) in row.iter().enumerate() {
            if column > 0 {
                out.write_all(b",")?;
            }
            match bounds.iter().find(|bound| bound.place == position * width + column) {
                Some(Bound { value, side: Side::AtLeast, .. }) => write!(out, "\">{value:?}\"")?,
                Some(Bound { value, side: Side::AtMost, .. }) => write!(out, "\"<{value:?}\"")?,
                None => write_target(*value, schema, out)?,
            }
        }
        out.write_all(b"]")?;
    }
    out.write_all(if nested { b"]" } else { b"" })
}

fn write_target(value: f32, schema: &Schema, out: &mut dyn Write) -> io::Result<()> {
    if value.is_nan() {
        return out.write_all(b"null");
    }
    match (schema.task, schema.class_names.get(value as usize)) {
        (Task::Regression, _) => write!(out, "{value:?}"),
        (_, Some(name)) => write!(out, "{}", text(name)?),
        (_, None) => write!(out, "{}", value as i64),
    }
}

fn text(value: &str) -> io::Result<String> {
    serde_json::to_string(value).map_err(io::Error::other)
}
