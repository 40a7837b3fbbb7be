//! A parsed line to a record: held to itself and to what graphs have in common, its cells turned into numbers.

use super::bounds::{self, Said};
use super::parse::Line;
use super::parts::{Parts, weight_field, weight_of};
use super::targets::Found;
use super::values::{Cell, Rows};
use super::{AS_SAID, Shape, names};
use crate::limits::within;
use crate::schema::{Collector, ColumnSet, Record, Table};
use crate::text::quoted_some;
use crate::{Bound, DataError, Level, Limits, Place, ReadOptions};
use serde_json::Value;

/// The record of a line; the first graph with rows says what graphs have in common.
pub(super) fn record(
    mut line: Line,
    place: &Place,
    shape: &mut Shape<'_>,
    collector: &mut Collector<'_>,
) -> Result<Record, DataError> {
    let options = collector.options;
    let num_nodes = num_nodes(&line, place, &options.limits)?;
    let edges = edges(&mut line, place, options)?;
    check_edges("edges", "edge", &edges, num_nodes, place)?;

    let (num_edges, num_pairs) = (edges.len(), line.pairs.as_ref().map_or(0, Vec::len));
    let asked = options.asked_level().or(shape.target.map(|_| collector.level));
    let (is_flat, (level, rows)) = match shape.targets.of_line(&mut line, num_nodes, asked, place)? {
        Found::Named(level, rows) => (false, (level, rows)),
        Found::Usual(fields) => (fields.is_flat(), fields.targets(num_nodes, num_edges, options)),
    };
    let targets = LineTargets { level, rows, is_flat };
    let pairs = line.pairs.filter(|_| level == Level::Pair).unwrap_or_default();
    check_edges("pairs", "pair", &pairs, num_nodes, place)?;
    let parts = parts(&line.parts, level, [num_nodes, num_edges, num_pairs], options, place)?;
    let weight =
        weight_field(options).map(|field| weight_of(line.weight.as_ref(), field, place)).transpose()?;

    let nodes = line.node_features.unwrap_or_default();
    if fix(&mut shape.node, &nodes, "node_features", "", place)? {
        collector.name_node_columns(names("node", nodes.columns, options))?;
    }
    check_rows(&nodes, num_nodes, "node_features", "node", shape.node, place)?;
    let edge_rows = line.edge_features.unwrap_or_default();
    if fix(&mut shape.edge, &edge_rows, "edge_features", "", place)? {
        collector.name_edge_columns(names("edge", edge_rows.columns, options))?;
    }
    check_rows(&edge_rows, num_edges, "edge_features", "edge", shape.edge, place)?;
    shape.learn_targets(&targets, num_nodes, &line.unknown, collector, place)?;

    let nodes = features(nodes, num_nodes, "node_features", &mut collector.node_columns, options, place)?;
    let edge_rows =
        features(edge_rows, num_edges, "edge_features", &mut collector.edge_columns, options, place)?;
    let targets = shape.targets.chosen(targets.rows.unwrap_or_default());
    let Labels { table: targets, bounds, undecided } = labels(targets, collector, place)?;
    shape.undecided.add(undecided, collector, place);
    Ok(Record {
        place: place.clone(),
        id: line.id,
        num_nodes,
        edges,
        nodes,
        edge_rows,
        targets,
        split: parts.graph,
        node_split: parts.nodes,
        pairs,
        graph: None,
        weight,
        bounds,
    })
}

/// The targets of a line before their cells are understood.
struct LineTargets {
    level: Level,
    /// `None` if the line has none.
    rows: Option<Rows>,
    /// Whether they are a list of values, which may be those of the graph or one for each node.
    is_flat: bool,
}

impl Shape<'_> {
    /// Learns level and names of the targets from the first graph that has some, and holds the others to them; `others` are
    /// fields that nobody asked for.
    fn learn_targets(
        &mut self,
        found: &LineTargets,
        num_nodes: usize,
        others: &[String],
        collector: &mut Collector<'_>,
        place: &Place,
    ) -> Result<(), DataError> {
        let (options, level) = (collector.options, found.level);
        let is_first = self.target.is_none();
        let Some(rows) = &found.rows else {
            if is_first && level == Level::Pair {
                collector.level = level;
            }
            return Ok(());
        };
        if is_first {
            if found.is_flat && options.level.is_none() && options.schema.is_none() && num_nodes > 1 {
                collector.notes.extend(note_on_flat(level, rows.columns, num_nodes));
                self.is_one_per_node = rows.cells.len() == num_nodes;
            }
            collector.level = level;
            collector.name_target_columns(self.targets.names_for(rows.columns, others, options, place)?)?;
        }
        let hint = match self.is_one_per_node && found.is_flat && rows.cells.len() == num_nodes {
            true => ONE_PER_NODE,
            false => "",
        };
        fix(&mut self.target, rows, "target", hint, place)?;
        if level != collector.level {
            let place = place.clone().in_column("target");
            return Err(DataError::malformed(
                place,
                format!("{level:?}-level targets"),
                format!("{:?} level, as before{hint}", collector.level),
            ));
        }
        Ok(())
    }
}

/// What helps where lists that are as long as their graphs have nodes do not go together.
const ONE_PER_NODE: &str =
    " (this list and the first one have a value for each node of their graphs: `--level node` reads them so)";

/// What a person should know of a list of values who did not say what these belong to.
fn note_on_flat(level: Level, columns: usize, num_nodes: usize) -> Option<String> {
    match level {
        Level::Node => Some(format!(
            "`target` has {num_nodes} values, one for each node: targets of nodes (`--level graph` reads them as targets of the graph)"
        )),
        _ if columns == num_nodes => Some(format!(
            "`target` has as many values as the first graph has nodes, and is read as {num_nodes} targets of the graph (`--level node` reads one for each node)"
        )),
        _ => None,
    }
}

/// The parts that the fields of a line name: those of its targets.
fn parts(
    fields: &[(String, Value)],
    level: Level,
    [num_nodes, num_edges, num_pairs]: [usize; 3],
    options: &ReadOptions,
    place: &Place,
) -> Result<Parts, DataError> {
    let (rows, what) = match level {
        _ if options.ignore_targets => return Ok(Parts::default()),
        Level::Edge => (num_edges, "edge"),
        Level::Pair => (num_pairs, "pair"),
        _ => (num_nodes, "node"),
    };
    Parts::read(fields, rows, what, options, place)
}

fn num_nodes(line: &Line, place: &Place, limits: &Limits) -> Result<usize, DataError> {
    let found = match (line.num_nodes, &line.node_features) {
        (Some(found), _) => found,
        (None, Some(rows)) => rows.rows as u64,
        (None, None) => {
            return Err(DataError::malformed(
                place.clone().in_column("num_nodes"),
                "nothing",
                "the number of nodes (it is never guessed from the edges)",
            ));
        }
    };
    within("nodes_per_graph", found, limits.nodes_per_graph)
        .map_err(DataError::limit(place.clone().in_column("num_nodes")))?;
    Ok(found as usize)
}

fn edges(line: &mut Line, place: &Place, options: &ReadOptions) -> Result<Vec<[u32; 2]>, DataError> {
    let edges = match line.edges.take() {
        Some(edges) => edges,
        None if options.rules < AS_SAID => Vec::new(),
        None => {
            let (found, expected) = match line.unknown.as_slice() {
                [] => ("nothing".to_owned(), ""),
                unknown => {
                    (format!("nothing, but {}", quoted_some(unknown)), ", which no field of another name has")
                }
            };
            return Err(DataError::malformed(
                place.clone().in_column("edges"),
                found,
                format!("a list of [source, target]{expected}; [] for a graph without edges"),
            ));
        }
    };
    within("edges_per_graph", edges.len() as u64, options.limits.edges_per_graph)
        .map_err(DataError::limit(place.clone()))?;
    Ok(edges)
}

fn check_edges(
    field: &str,
    what: &str,
    edges: &[[u32; 2]],
    num_nodes: usize,
    place: &Place,
) -> Result<(), DataError> {
    for (edge, ends) in edges.iter().enumerate() {
        if let Some(node) = ends.iter().find(|node| **node as usize >= num_nodes) {
            return Err(DataError::value(
                place.clone().in_column(field),
                node.to_string(),
                format!("a node of {what} {edge}: the graph has {num_nodes} nodes, counted from 0"),
            ));
        }
    }
    Ok(())
}

/// Fixes the number of columns at the first table with rows; true if this one did. `hint` is what helps if it has another one.
fn fix(
    slot: &mut Option<usize>,
    rows: &Rows,
    field: &str,
    hint: &str,
    place: &Place,
) -> Result<bool, DataError> {
    if rows.rows == 0 {
        return Ok(false);
    }
    match *slot {
        None => {
            *slot = Some(rows.columns);
            Ok(true)
        }
        Some(expected) if expected == rows.columns => Ok(false),
        Some(expected) => Err(DataError::malformed(
            place.clone().in_column(field),
            format!("{} columns", rows.columns),
            format!("{expected} columns, as in the model's data or in earlier graphs{hint}"),
        )),
    }
}

fn check_rows(
    rows: &Rows,
    expected: usize,
    field: &str,
    what: &str,
    columns: Option<usize>,
    place: &Place,
) -> Result<(), DataError> {
    let absent_everywhere = rows.rows == 0 && columns.unwrap_or(0) == 0;
    if rows.rows == expected || absent_everywhere {
        return Ok(());
    }
    Err(DataError::malformed(
        place.clone().in_column(field),
        format!("{} rows", rows.rows),
        format!("{expected} rows, one per {what}"),
    ))
}

/// The features of nodes or edges as numbers.
fn features(
    rows: Rows,
    num_rows: usize,
    field: &str,
    columns: &mut ColumnSet,
    options: &ReadOptions,
    place: &Place,
) -> Result<Table, DataError> {
    encoded(rows, num_rows, |column, cell| match cell {
        Cell::Text(text) => columns.text(column, &text, place),
        cell => number(&cell, column, columns, field, options, place),
    })
}

/// Targets as numbers.
struct Labels {
    table: Table,
    /// What is known of labels that are missing.
    bounds: Vec<Bound>,
    /// Those of them that may be names of classes.
    undecided: Vec<(Bound, String)>,
}

fn labels(rows: Rows, collector: &mut Collector<'_>, place: &Place) -> Result<Labels, DataError> {
    let (mut bounds, mut undecided) = (Vec::new(), Vec::new());
    let options = collector.options;
    let num_rows = rows.rows;
    let table = encoded(rows, num_rows, |column, cell| match cell {
        Cell::Null => Ok(f64::NAN),
        Cell::Text(text) => match bounds::read(column, &text, collector, place)? {
            Said::Text => collector.target_columns.text(column, &text, place),
            Said::Bound(bound) => {
                bounds.push(bound);
                Ok(f64::NAN)
            }
            Said::Either(bound) => {
                bounds.push(bound);
                undecided.push((bound, text));
                Ok(f64::NAN)
            }
        },
        cell => number(&cell, column, &mut collector.target_columns, "target", options, place),
    })?;
    Ok(Labels { table, bounds, undecided })
}

/// Cells as numbers, one after the other.
fn encoded(
    rows: Rows,
    num_rows: usize,
    mut encode: impl FnMut(usize, Cell) -> Result<f64, DataError>,
) -> Result<Table, DataError> {
    let columns = rows.columns.max(1);
    let mut values = Vec::with_capacity(rows.cells.len());
    for (position, cell) in rows.cells.into_iter().enumerate() {
        values.push(encode(position % columns, cell)?);
    }
    Ok(Table { rows: num_rows, values })
}

/// A number of a column. Among texts a whole number is its digits; earlier rules took those of the nearest `f64`.
fn number(
    cell: &Cell,
    column: usize,
    columns: &mut ColumnSet,
    field: &str,
    options: &ReadOptions,
    place: &Place,
) -> Result<f64, DataError> {
    match cell {
        Cell::Integer(value) if options.rules >= AS_SAID && columns.holds_text(column) == Some(true) => {
            columns.text(column, &value.to_string(), place)
        }
        Cell::Integer(value) => columns.number(column, *value as f64, true, place),
        Cell::Number(value) => columns.number(column, *value, false, place),
        Cell::Text(_) | Cell::Null => {
            Err(DataError::value(place.clone().in_column(field), "null", "a number or text"))
        }
    }
}
