//! ZINC: pickled dictionaries, one per molecule, with an adjacency matrix of bond types.

use super::graphs::{Builder, RawGraph};
use super::pickle::{Array, Document, Value};
use super::{PARTS, content, document, find_file, invalid, missing};
use crate::budget::Budget;
use crate::formats::Tree;
use crate::registry::DatasetInfo;
use crate::{DataError, Place, Read, ReadOptions};

/// Reads `{train,val,test}.pickle`; where there is an `.index` file, only the molecules it lists.
pub(super) fn read(
    tree: &dyn Tree,
    info: &DatasetInfo,
    options: &ReadOptions,
    budget: &Budget,
) -> Result<Read, DataError> {
    let mut builder = Builder::new(info, options, budget);
    let mut notes = Vec::new();
    for (split, part) in PARTS {
        let file = format!("{part}.pickle");
        let Some(name) = find_file(tree, |name| name == file)? else { return Err(missing(tree, &file)) };
        let place = tree.place(&name);
        let molecules = document(tree, &name, &options.limits, budget)?;
        let all =
            molecules.items(molecules.root()).ok_or_else(|| invalid(&place, "not a list of molecules"))?;
        let index = find_file(tree, |name| name == format!("{part}.index"))?;
        let wanted = match &index {
            Some(name) => {
                let (index, _) = content(tree, name, &options.limits, budget)?;
                read_index(&index, all.len(), &tree.place(name))?
            }
            None => {
                notes.push(format!("no {part}.index: all {} molecules of {part}.pickle are used", all.len()));
                (0..all.len()).collect()
            }
        };
        for position in wanted {
            let molecule = all.get(position).copied().unwrap_or(Value::None);
            let graph = molecule_graph(&molecules, molecule)
                .map_err(|reason| invalid(&place, format!("molecule {position}: {reason}")))?;
            builder.push(graph, split, &place)?;
        }
    }
    let mut read = builder.finish();
    read.report.notes.extend(notes);
    Ok(read)
}

/// Positions separated by commas or line ends.
fn read_index(text: &[u8], count: usize, place: &Place) -> Result<Vec<usize>, DataError> {
    let text = String::from_utf8_lossy(text);
    text.split([',', '\n', '\r', ' '])
        .filter(|field| !field.is_empty())
        .map(|field| match field.parse::<usize>() {
            Ok(position) if position < count => Ok(position),
            _ => Err(DataError::value(
                place.clone(),
                field,
                format!("a molecule from 0 to {}", count.saturating_sub(1)),
            )),
        })
        .collect()
}

fn molecule_graph(document: &Document, molecule: Value) -> Result<RawGraph, String> {
    let field = |name: &str| {
        let value = document.get(molecule, name).ok_or_else(|| format!("`{name}` is missing"))?;
        document.array(value).map_err(|reason| format!("`{name}`: {reason}"))
    };
    let (types, bonds, target) =
        (field("atom_type")?, field("bond_type")?, field("logP_SA_cycle_normalized")?);
    let count = types.values.len();
    if bonds.shape != [count, count] {
        return Err(format!("bond types of shape {:?} for {count} atoms", bonds.shape));
    }
    let (mut sources, mut targets, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
    for (row, values) in bonds.values.chunks_exact(count.max(1)).enumerate() {
        for (column, kind) in values.iter().enumerate().filter(|(_, kind)| **kind != 0.0) {
            sources.push(row as f64);
            targets.push(column as f64);
            kinds.push(*kind);
        }
    }
    let num_edges = sources.len();
    sources.extend(targets);
    Ok(RawGraph {
        nodes: Array { shape: vec![count, 1], values: types.values, is_integer: true },
        edges: Array { shape: vec![2, num_edges], values: sources, is_integer: true },
        edge_features: Some(Array { shape: vec![num_edges, 1], values: kinds, is_integer: true }),
        targets: target,
    })
}
