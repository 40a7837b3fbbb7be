//! JSON Lines: one graph per line.
//!
//! ```json
//! {"id": "g1", "num_nodes": 3, "edges": [[0, 1], [1, 2]], "node_features": [[6, 0.5], [6, 0.1], [8, 0.2]],
//!  "edge_features": [["single"], ["double"]], "target": 1.5, "split": "train"}
//! ```
//!
//! (on one line). Only `edges` (`[]` where there are none) and `num_nodes` are needed; `num_nodes` may be left out where `node_features` gives one
//! row per node, and is never guessed from the edges. A flat list of features is one column. `target` is a number, a
//! text, `null` (missing), or a list of these (several tasks); a text such as `">3.5"` among numbers is a bound. For one target per node, `target` is a list of lists, or
//! `node_target` a list of values. Edges are directed as written unless the options say otherwise. `x`, `edge_index`
//! (two rows), `edge_attr` and `y` are understood as other names; a line has one of the two. Unknown fields are reported and ignored.
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
mod record;
mod targets;
mod values;
mod write;

pub use write::write_jsonl;
pub(crate) use write::write_jsonl_to;

use crate::formats::Lines;
use crate::schema::Collector;
use crate::text::quoted;
use crate::{BadRow, Column, DataError, Place, Read, ReadOptions, escape};
use bounds::Undecided;
use parse::Asked;
use parts::{split_field, weight_field};
use record::record;
use std::collections::HashMap;
use std::path::Path;
use targets::{TargetFields, target_names};

/// The first version of the rules under which a line without edges, a thing that is given twice, and a level, a mask or a column of
/// names that is not there are errors; and under which whole numbers in a column of text are the texts that they are.
const AS_SAID: u32 = 6;

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
    if let Some(column) = options
        .id_column
        .as_ref()
        .filter(|column| *column != "id" && options.rules >= AS_SAID && options.schema.is_none())
    {
        let place = Place::file(path);
        let reason = format!(
            "`--id-column {}` has no effect: JSON Lines name a graph in the field `id`",
            escape(column)
        );
        return Err(DataError::Schema { place, reason });
    }
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
        both_names: options.rules < AS_SAID,
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
            record(line, &lines.place(), &mut shape, &mut collector)
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
        let names = quoted(&ignored);
        collector.notes.push(format!("fields that are not understood were ignored: {names}"));
    }
    collector.notes.extend(shape.targets.note());
    shape.undecided.settle(&mut collector)?;
    let read = collector.finish()?;
    // A part of a file need not have everything that the file has.
    if options.shard.is_none() && !read.dataset.samples.is_empty() {
        shape.targets.check_all_found(&ignored, path)?;
    }
    Ok(read)
}

/// What graphs have in common: numbers of columns, fixed by the first graph that has rows.
struct Shape<'a> {
    node: Option<usize>,
    edge: Option<usize>,
    target: Option<usize>,
    /// Whether the first list of targets, which nobody said the level of, is as long as its graph has nodes.
    is_one_per_node: bool,
    targets: TargetFields<'a>,
    undecided: Undecided,
}

impl<'a> Shape<'a> {
    fn new(targets: TargetFields<'a>) -> Self {
        Self {
            node: None,
            edge: None,
            target: None,
            is_one_per_node: false,
            targets,
            undecided: Undecided::default(),
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
