//! JSON Lines: one graph per line.
//!
//! ```json
//! {"id": "g1", "num_nodes": 3, "edges": [[0, 1], [1, 2]], "node_features": [[6, 0.5], [6, 0.1], [8, 0.2]],
//!  "edge_features": [["single"], ["double"]], "target": 1.5, "split": "train"}
//! ```
//!
//! (on one line). Only `edges` and `num_nodes` are needed; `num_nodes` may be left out where `node_features` gives one
//! row per node, and is never guessed from the edges. A flat list of features is one column. `target` is a number, a
//! text, `null` (missing), or a list of these (several tasks); a text such as `">3.5"` among numbers is a bound. For one target per node, `target` is a list of lists, or
//! `node_target` a list of values. Edges are directed as written unless the options say otherwise. `x`, `edge_index`
//! (two rows), `edge_attr` and `y` are understood as other names. Unknown fields are reported and ignored.
//!
//! Where nodes and not graphs are split, `split` is a list with a part (or `null`) for every node, or `train_mask`,
//! `valid_mask` (or `val_mask`) and `test_mask` are lists of true and false.
//!
//! Targets of edges are in `edge_target`, one value or row for each of `edges`. A model can also be asked about pairs of
//! nodes that are no edges: `pairs` lists them, `pair_target` has a value or row for each. (`edge_label_index`, two rows,
//! and `edge_label` are understood as other names.) `split` and masks then have an entry for every edge or pair.
//!
//! Targets that are asked for by name are the fields of these names, where lines have such, with a value for the graph or a
//! list with one for each node (edge, pair). Else the names choose among `target_0`, `target_1`, … or, if there are as many,
//! are those of the targets.

mod bounds;
mod parse;
mod parts;
mod targets;
mod write;

pub use write::write_jsonl;
pub(crate) use write::write_jsonl_to;

use crate::formats::Lines;
use crate::limits::within;
use crate::schema::{Collector, Record, Table};
use crate::{BadRow, Column, DataError, Level, Limits, Place, Read, ReadOptions};
use bounds::{Said, Undecided};
use parse::{Asked, Cell, Line, Rows};
use parts::{Parts, split_field, weight_field, weight_of};
use std::collections::HashMap;
use std::path::Path;
use targets::{Found, TargetFields, asked_level, quoted, target_names};

/// Reads a file of JSON Lines.
pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<Read, DataError> {
    read_lines(&mut open_lines(path, options)?, path, options)
}

/// Opens a file of JSON Lines, or the shard of it that is wanted.
pub(crate) fn open_lines(path: &Path, options: &ReadOptions) -> Result<Lines, DataError> {
    let part = options.shard.map(|shard| shard.bytes_of(path)).transpose()?;
    let lines = Lines::open(path, &options.limits)?;
    match part {
        Some(part) => lines.only(&part),
        None => Ok(lines),
    }
}

/// Reads JSON Lines from any stream of lines.
pub(crate) fn read_lines(lines: &mut Lines, path: &Path, options: &ReadOptions) -> Result<Read, DataError> {
    let mut collector = Collector::new(path, options);
    collector.records_before = lines.records_before();
    let mut shape = Shape::new(TargetFields::new(path, options)?);
    if let Some(schema) = &options.schema {
        // The schema, not the first graph, says how many columns there are.
        collector.name_node_columns(names("node", schema.node_columns.len(), options))?;
        collector.name_edge_columns(names("edge", schema.edge_columns.len(), options))?;
        shape.node = Some(schema.node_columns.len());
        shape.edge = Some(schema.edge_columns.len());
    }
    let mut ignored: Vec<String> = Vec::new();
    let asked = Asked {
        split: split_field(options),
        weight: weight_field(options),
        targets: shape.targets.fields(options),
        preferred: shape.targets.preferred(),
    };
    while lines.advance_to_record()? {
        if lines.bytes().trim_ascii().is_empty() {
            continue;
        }
        // Freed with the line.
        let mut held = collector.budget.share();
        let record = lines.text().and_then(|text| {
            let line = parse::line(text, &asked, &lines.place(), &options.limits, &mut held)?;
            for name in &line.unknown {
                if ignored.len() < 20 && !ignored.contains(name) {
                    ignored.push(name.clone());
                }
            }
            record(line, &lines.place(), &mut shape, &mut collector, options)
        });
        match record {
            Ok(record) => collector.push(Ok(record))?,
            // That is about all lines, whichever it was noticed at.
            Err(error @ DataError::Schema { .. }) => return Err(error),
            Err(error) => {
                let id = lines.text().ok().and_then(parse::id);
                collector.push(Err(BadRow { id, ..error.into_bad_row(lines.place())? }))?;
            }
        }
    }
    if !ignored.is_empty() {
        let names = quoted(ignored.iter());
        collector.notes.push(format!("fields that are not understood were ignored: {names}"));
    }
    collector.notes.extend(shape.targets.note());
    shape.undecided.settle(&mut collector)?;
    let read = collector.finish()?;
    // A part of a file need not have everything that the file has.
    if options.shard.is_none() && !read.dataset.samples.is_empty() {
        shape.targets.check(&ignored, path)?;
    }
    Ok(read)
}

/// What graphs have in common: numbers of columns, fixed by the first graph that has rows.
struct Shape<'a> {
    node: Option<usize>,
    edge: Option<usize>,
    target: Option<usize>,
    targets: TargetFields<'a>,
    undecided: Undecided,
}

impl<'a> Shape<'a> {
    fn new(targets: TargetFields<'a>) -> Self {
        Self { node: None, edge: None, target: None, targets, undecided: Undecided::default() }
    }
}

fn record(
    mut line: Line,
    place: &Place,
    shape: &mut Shape<'_>,
    collector: &mut Collector<'_>,
    options: &ReadOptions,
) -> Result<Record, DataError> {
    let limits = &options.limits;
    let num_nodes = num_nodes(&line, place, limits)?;
    within("edges_per_graph", line.edges.len() as u64, limits.edges_per_graph)
        .map_err(DataError::limit(place.clone()))?;
    check_edges("edges", "edge", &line.edges, num_nodes, place)?;

    let (num_edges, num_pairs) = (line.edges.len(), line.pairs.as_ref().map_or(0, Vec::len));
    let asked = asked_level(options).or(shape.target.map(|_| collector.level));
    let (is_flat, (level, targets)) = match shape.targets.of_line(&mut line, num_nodes, asked, place)? {
        Found::Named(level, rows) => (false, (level, rows)),
        Found::Usual(fields) => (fields.is_flat(), fields.targets(num_nodes, num_edges, options)),
    };
    let pairs = line.pairs.filter(|_| level == Level::Pair).unwrap_or_default();
    check_edges("pairs", "pair", &pairs, num_nodes, place)?;
    let parts = match level {
        // Parts are those of targets.
        _ if options.ignore_targets => Parts::default(),
        Level::Edge => Parts::read(&line.parts, num_edges, "edge", options, place)?,
        Level::Pair => Parts::read(&line.parts, num_pairs, "pair", options, place)?,
        _ => Parts::read(&line.parts, num_nodes, "node", options, place)?,
    };

    let weight = match weight_field(options) {
        Some(field) => Some(weight_of(line.weight.as_ref(), field, place)?),
        None => None,
    };

    let nodes = line.node_features.unwrap_or_default();
    if fix(&mut shape.node, &nodes, "node_features", place)? {
        collector.name_node_columns(names("node", nodes.columns, options))?;
    }
    check_rows(&nodes, num_nodes, "node_features", "node", shape.node, place)?;
    let edge_rows = line.edge_features.unwrap_or_default();
    if fix(&mut shape.edge, &edge_rows, "edge_features", place)? {
        collector.name_edge_columns(names("edge", edge_rows.columns, options))?;
    }
    check_rows(&edge_rows, line.edges.len(), "edge_features", "edge", shape.edge, place)?;

    if let Some(targets) = &targets
        && shape.target.is_none()
    {
        if is_flat && options.level.is_none() && options.schema.is_none() && num_nodes > 1 {
            let note = match level {
                Level::Node => format!(
                    "`target` has {num_nodes} values, one for each node: targets of nodes (`--level graph` reads them as targets of the graph)"
                ),
                _ if targets.columns == num_nodes => format!(
                    "`target` has as many values as the first graph has nodes, and is read as {num_nodes} targets of the graph (`--level node` reads one for each node)"
                ),
                _ => String::new(),
            };
            collector.notes.extend(Some(note).filter(|note| !note.is_empty()));
        }
        collector.level = level;
        let names = shape.targets.name(targets.columns, &line.unknown, options, place)?;
        collector.name_target_columns(names)?;
    }
    if targets.is_none() && shape.target.is_none() && level == Level::Pair {
        collector.level = level;
    }
    if let Some(targets) = &targets {
        fix(&mut shape.target, targets, "target", place)?;
        if level != collector.level {
            let place = place.clone().in_column("target");
            return Err(DataError::malformed(
                place,
                format!("{level:?}-level targets"),
                format!("{:?} level, as before", collector.level),
            ));
        }
    }
    let targets = shape.targets.chosen(targets.unwrap_or_default());
    let num_targets = targets.rows;
    let (mut bounds, mut undecided) = (Vec::new(), Vec::new());
    let record = Record {
        place: place.clone(),
        id: line.id,
        num_nodes,
        edges: line.edges,
        nodes: features(nodes, num_nodes, place, |column, cell, place| match cell {
            Cell::Text(text) => collector.node_columns.text(column, &text, place),
            cell => {
                let (value, is_integer) = number(&cell, place, "node_features")?;
                collector.node_columns.number(column, value, is_integer, place)
            }
        })?,
        edge_rows: features(edge_rows, num_edges, place, |column, cell, place| match cell {
            Cell::Text(text) => collector.edge_columns.text(column, &text, place),
            cell => {
                let (value, is_integer) = number(&cell, place, "edge_features")?;
                collector.edge_columns.number(column, value, is_integer, place)
            }
        })?,
        targets: features(targets, num_targets, place, |column, cell, place| match cell {
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
            cell => {
                let (value, is_integer) = number(&cell, place, "target")?;
                collector.target_columns.number(column, value, is_integer, place)
            }
        })?,
        split: parts.graph,
        node_split: parts.nodes,
        pairs,
        graph: None,
        weight,
        bounds,
    };
    shape.undecided.add(undecided, collector, place);
    Ok(record)
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

/// Fixes the number of columns at the first table with rows; true if this one did.
fn fix(slot: &mut Option<usize>, rows: &Rows, field: &str, place: &Place) -> Result<bool, DataError> {
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
            format!("{expected} columns, as in the model's data or in earlier graphs"),
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

fn features(
    rows: Rows,
    num_rows: usize,
    place: &Place,
    mut encode: impl FnMut(usize, Cell, &Place) -> Result<f64, DataError>,
) -> Result<Table, DataError> {
    let columns = rows.columns.max(1);
    let mut values = Vec::with_capacity(rows.cells.len());
    for (position, cell) in rows.cells.into_iter().enumerate() {
        values.push(encode(position % columns, cell, place)?);
    }
    Ok(Table { rows: num_rows, values })
}

fn number(cell: &Cell, place: &Place, field: &str) -> Result<(f64, bool), DataError> {
    match cell {
        Cell::Integer(value) => Ok((*value as f64, true)),
        Cell::Number(value) => Ok((*value, false)),
        Cell::Text(_) | Cell::Null => {
            Err(DataError::value(place.clone().in_column(field), "null", "a number or text"))
        }
    }
}

/// Names of so many columns of a `node`, an `edge` or a `target`.
pub(crate) fn names(what: &str, columns: usize, options: &ReadOptions) -> Vec<String> {
    if what == "target" {
        return target_names(columns, options);
    }
    let schema = options.schema.as_ref();
    let known = schema.map(|schema| if what == "node" { &schema.node_columns } else { &schema.edge_columns });
    match known {
        Some(known) if known.len() == columns => {
            written_order(what, known).into_iter().map(|column| known[column].name.clone()).collect()
        }
        _ => (0..columns).map(|column| by_position(what, column)).collect(),
    }
}

fn by_position(what: &str, column: usize) -> String {
    format!("{what}_feature_{column}")
}

/// The columns of a `node` or an `edge` in the order in which a line has them. A schema lists categories before numbers; names
/// that are positions say where each really is.
fn written_order(what: &str, columns: &[Column]) -> Vec<usize> {
    let places: HashMap<&str, usize> =
        columns.iter().enumerate().map(|(at, column)| (column.name.as_str(), at)).collect();
    let by_position =
        (0..columns.len()).map(|column| places.get(by_position(what, column).as_str()).copied());
    by_position.collect::<Option<Vec<usize>>>().unwrap_or_else(|| (0..columns.len()).collect())
}
