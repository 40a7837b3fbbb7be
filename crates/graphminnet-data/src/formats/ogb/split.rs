//! The official split: `split/<scheme>/{train,valid,test}.csv`, each a list of graph numbers, or of node numbers where the
//! data is one graph with targets of nodes.

use super::meta::Meta;
use super::missing;
use super::table::read_column;
use crate::budget::Share;
use crate::formats::{Tree, lines_of};
use crate::{DataError, ReadOptions, Split};

/// Reads the split that the options, `meta.json` or the only folder name; `None` if there is none.
pub(super) fn read_split(
    tree: &dyn Tree,
    meta: &Meta,
    (count, what): (usize, &str),
    options: &ReadOptions,
    held: &mut Share,
) -> Result<Option<Vec<Option<Split>>>, DataError> {
    let Some(scheme) = scheme_of(tree, meta, options)? else { return Ok(None) };
    let mut parts: Vec<Option<Split>> = vec![None; count];
    for (part, name) in [(Split::Train, "train"), (Split::Valid, "valid"), (Split::Test, "test")] {
        let file = format!("split/{scheme}/{name}.csv");
        let Some(mut lines) = lines_of(tree, &file, &options.limits)? else {
            return Err(missing(tree, &file));
        };
        let indices: Vec<u32> = read_column(&mut lines, options.limits.graphs.max(count as u64), held)?;
        for (row, index) in indices.into_iter().enumerate() {
            let place = || tree.place(&file).at_line(row as u64 + 1);
            match parts.get_mut(index as usize) {
                Some(slot @ None) => *slot = Some(part),
                Some(Some(_)) => {
                    return Err(DataError::value(
                        place(),
                        index.to_string(),
                        "listed once in train, valid and test",
                    ));
                }
                None => {
                    let expected = format!("a {what} from 0 to {}", count.saturating_sub(1));
                    return Err(DataError::value(place(), index.to_string(), expected));
                }
            }
        }
    }
    match parts.iter().position(Option::is_none).filter(|_| what == "graph") {
        None => Ok(Some(parts)),
        Some(graph) => Err(DataError::malformed(
            tree.place(&format!("split/{scheme}")),
            format!("no part for graph {graph}"),
            "every graph in exactly one of train, valid and test",
        )),
    }
}

/// The split scheme that the options or `meta.json` name, or the only one.
pub(super) fn scheme_of(
    tree: &dyn Tree,
    meta: &Meta,
    options: &ReadOptions,
) -> Result<Option<String>, DataError> {
    let Some(scheme) = options.split.as_ref().or(meta.split.as_ref()) else { return only_scheme(tree) };
    if scheme.contains(['/', '\\']) || scheme.starts_with('.') {
        return Err(DataError::value(
            tree.place("meta.json").in_column("split"),
            scheme,
            "the name of a folder",
        ));
    }
    Ok(Some(scheme.clone()))
}

/// The split scheme, if the folder has exactly one.
fn only_scheme(tree: &dyn Tree) -> Result<Option<String>, DataError> {
    let mut schemes: Vec<String> = tree
        .names()?
        .iter()
        .filter_map(|name| name.strip_prefix("split/")?.split_once('/').map(|(scheme, _)| scheme.to_owned()))
        .collect();
    schemes.dedup();
    Ok(if schemes.len() == 1 { schemes.pop() } else { None })
}
