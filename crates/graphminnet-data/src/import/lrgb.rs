//! Pickled graphs of the GNN benchmark and of the Long Range Graph Benchmark.
//!
//! A file is a list of graphs, each a tuple (node features, edge features, edges, targets), a dictionary or a graph
//! object with `x`, `edge_index`, `edge_attr`, `y` and for superpixels `pos`; or one collated graph and, per attribute,
//! where each graph's rows begin.

use super::graphs::{Builder, RawGraph};
use super::pickle::{Array, Document, Value};
use super::{PARTS, document, find_file, invalid, missing};
use crate::budget::Budget;
use crate::formats::Tree;
use crate::registry::DatasetInfo;
use crate::{DataError, Read, ReadOptions};

/// Reads `NAME_{train,val,test}.pt`.
pub(super) fn read_benchmark(
    tree: &dyn Tree,
    info: &DatasetInfo,
    options: &ReadOptions,
    budget: &Budget,
) -> Result<Read, DataError> {
    let name = info.name.to_ascii_uppercase();
    read_parts(tree, info, options, budget, |part| vec![format!("{name}_{part}.pt")])
}

/// Reads `{train,val,test}.pt` or `.pickle`.
pub(super) fn read(
    tree: &dyn Tree,
    info: &DatasetInfo,
    options: &ReadOptions,
    budget: &Budget,
) -> Result<Read, DataError> {
    read_parts(tree, info, options, budget, |part| vec![format!("{part}.pt"), format!("{part}.pickle")])
}

fn read_parts(
    tree: &dyn Tree,
    info: &DatasetInfo,
    options: &ReadOptions,
    budget: &Budget,
    names: impl Fn(&str) -> Vec<String>,
) -> Result<Read, DataError> {
    let mut builder = Builder::new(info, options, budget);
    for (split, part) in PARTS {
        let wanted = names(part);
        let Some(name) = find_file(tree, |name| wanted.iter().any(|wanted| wanted == name))? else {
            return Err(missing(tree, &wanted.join(" or ")));
        };
        let place = tree.place(&name);
        let document = document(tree, &name, &options.limits, budget)?;
        let root = document.root();
        let items = document.items(root).ok_or_else(|| invalid(&place, "not a list of graphs"))?;
        if let [data, slices] = items
            && is_offsets(&document, *slices)
        {
            let collated =
                Collated::new(&document, *data, *slices).map_err(|reason| invalid(&place, reason))?;
            for graph in 0..collated.count() {
                let graph = collated
                    .graph(graph)
                    .map_err(|reason| invalid(&place, format!("graph {graph}: {reason}")))?;
                builder.push(graph, split, &place)?;
            }
            continue;
        }
        for (position, item) in items.iter().enumerate() {
            let graph = single(&document, *item)
                .map_err(|reason| invalid(&place, format!("graph {position}: {reason}")))?;
            builder.push(graph, split, &place)?;
        }
    }
    Ok(builder.finish())
}

/// Whether a value holds, per attribute, where each graph begins: a vector even for edges, which are a table.
fn is_offsets(document: &Document, slices: Value) -> bool {
    let offsets = document.get(slices, "edge_index").and_then(|offsets| document.array(offsets).ok());
    offsets.is_some_and(|offsets| offsets.shape.len() == 1)
}

fn single(document: &Document, item: Value) -> Result<RawGraph, String> {
    if let Some([nodes, edge_features, edges, targets]) = document.items(item) {
        return Ok(RawGraph {
            nodes: document.array(*nodes)?,
            edges: document.array(*edges)?,
            edge_features: Some(document.array(*edge_features)?),
            targets: document.array(*targets)?,
        });
    }
    let attribute = |name: &str| match document.get(item, name) {
        None | Some(Value::None) => Ok(None),
        Some(value) => document.array(value).map(Some).map_err(|reason| format!("`{name}`: {reason}")),
    };
    let required = |name: &str| attribute(name)?.ok_or_else(|| format!("`{name}` is missing"));
    Ok(RawGraph {
        nodes: beside(required("x")?, attribute("pos")?)?,
        edges: required("edge_index")?,
        edge_features: attribute("edge_attr")?,
        targets: required("y")?,
    })
}

/// Two tables side by side.
fn beside(left: Array, right: Option<Array>) -> Result<Array, String> {
    let Some(right) = right else { return Ok(left) };
    let (Some((rows, left_columns)), Some((right_rows, right_columns))) =
        (left.rows_and_columns(), right.rows_and_columns())
    else {
        return Err("features that are not tables".to_owned());
    };
    if rows != right_rows {
        return Err(format!("{rows} rows of features and {right_rows} of positions"));
    }
    let mut values = Vec::with_capacity(left.values.len() + right.values.len());
    for row in 0..rows {
        values.extend(left.values.iter().skip(row * left_columns).take(left_columns));
        values.extend(right.values.iter().skip(row * right_columns).take(right_columns));
    }
    let is_integer = left.is_integer && right.is_integer;
    Ok(Array { shape: vec![rows, left_columns + right_columns], values, is_integer })
}

/// All graphs of a part in one.
struct Collated {
    nodes: (Array, Vec<usize>),
    positions: Option<(Array, Vec<usize>)>,
    edges: (Array, Vec<usize>),
    edge_features: Option<(Array, Vec<usize>)>,
    targets: (Array, Vec<usize>),
}

impl Collated {
    fn new(document: &Document, data: Value, slices: Value) -> Result<Self, String> {
        let attribute = |name: &str| -> Result<Option<(Array, Vec<usize>)>, String> {
            let (Some(value), Some(offsets)) = (document.get(data, name), document.get(slices, name)) else {
                return Ok(None);
            };
            if value == Value::None {
                return Ok(None);
            }
            let array = document.array(value).map_err(|reason| format!("`{name}`: {reason}"))?;
            let offsets =
                document.array(offsets).map_err(|reason| format!("slices of `{name}`: {reason}"))?;
            let axis = usize::from(name == "edge_index");
            let extent = array.shape.get(axis).copied().unwrap_or(0);
            let mut checked = Vec::with_capacity(offsets.values.len());
            for value in offsets.values {
                let is_next = value >= 0.0 && value.fract() == 0.0 && value <= extent as f64;
                if !is_next || checked.last().is_some_and(|last| value < *last as f64) {
                    return Err(format!("slices of `{name}`: {value} is out of order or beyond {extent}"));
                }
                checked.push(value as usize);
            }
            Ok(Some((array, checked)))
        };
        let required = |name: &str| attribute(name)?.ok_or_else(|| format!("`{name}` is missing"));
        Ok(Self {
            nodes: required("x")?,
            positions: attribute("pos")?,
            edges: required("edge_index")?,
            edge_features: attribute("edge_attr")?,
            targets: required("y")?,
        })
    }

    fn count(&self) -> usize {
        self.nodes.1.len().saturating_sub(1)
    }

    fn graph(&self, graph: usize) -> Result<RawGraph, String> {
        let nodes = rows(&self.nodes, graph)?;
        let positions = self.positions.as_ref().map(|table| rows(table, graph)).transpose()?;
        Ok(RawGraph {
            nodes: beside(nodes, positions)?,
            edges: columns(&self.edges, graph)?,
            edge_features: self.edge_features.as_ref().map(|table| rows(table, graph)).transpose()?,
            targets: rows(&self.targets, graph)?,
        })
    }
}

fn bounds(offsets: &[usize], graph: usize) -> Result<(usize, usize), String> {
    match offsets.get(graph..graph + 2) {
        Some([start, end]) => Ok((*start, *end)),
        _ => Err("slices of different lengths".to_owned()),
    }
}

fn rows((table, offsets): &(Array, Vec<usize>), graph: usize) -> Result<Array, String> {
    let (start, end) = bounds(offsets, graph)?;
    let width: usize = table.shape.iter().skip(1).product();
    let values = table.values.get(start * width..end * width).ok_or("slices beyond the table")?.to_vec();
    let mut shape = table.shape.clone();
    if let Some(first) = shape.first_mut() {
        *first = end - start;
    }
    Ok(Array { shape, values, is_integer: table.is_integer })
}

/// The edges of a graph. Collated edges keep the node numbers of their own graph.
fn columns((table, offsets): &(Array, Vec<usize>), graph: usize) -> Result<Array, String> {
    let (start, end) = bounds(offsets, graph)?;
    let width = table.shape.get(1).copied().unwrap_or(0);
    let row = |row: usize| {
        table.values.get(row * width + start..row * width + end).ok_or("slices beyond the table")
    };
    let values = [row(0)?, row(1)?].concat();
    Ok(Array { shape: vec![2, end - start], values, is_integer: true })
}
