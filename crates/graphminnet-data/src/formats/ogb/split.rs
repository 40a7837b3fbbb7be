//! The official split: `split/<scheme>/{train,valid,test}.csv`, each a list of graph numbers, or of node numbers where the
//! data is one graph with targets of nodes.

use super::meta::Meta;
use super::missing;
use super::table::read_column;
use crate::budget::Share;
use crate::formats::{Tree, lines_of};
use crate::text::quoted;
use crate::{DataError, Place, ReadOptions, Split, escape};

/// The first version of the rules under which one of several schemes must be named.
const NAMED_SCHEME: u32 = 5;

/// Reads the split that the options, `meta.json` or the only folder name; `None` if there is none.
pub(super) fn read_split(
    tree: &dyn Tree,
    meta: &Meta,
    (count, what): (usize, &str),
    options: &ReadOptions,
    held: &mut Share,
) -> Result<Option<Vec<Option<Split>>>, DataError> {
    if options.ignore_split {
        return Ok(None);
    }
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
///
/// # Errors
///
/// [`DataError::Schema`] for a scheme that is not there, and for several of which none is named: to choose one, or to draw
/// parts at random, would be to say nothing of the others.
pub(super) fn scheme_of(
    tree: &dyn Tree,
    meta: &Meta,
    options: &ReadOptions,
) -> Result<Option<String>, DataError> {
    let Some(scheme) = options.split.as_ref().or(meta.split.as_ref()) else {
        let mut schemes = schemes(tree)?;
        if schemes.len() > 1 && options.rules >= NAMED_SCHEME && !options.ignore_split {
            return Err(unnamed(tree, &schemes));
        }
        return Ok(if schemes.len() == 1 { schemes.pop() } else { None });
    };
    if scheme.contains(['/', '\\']) || scheme.starts_with('.') {
        return Err(DataError::value(
            tree.place("meta.json").in_column("split"),
            scheme,
            "the name of a folder",
        ));
    }
    let schemes = schemes(tree)?;
    if options.split.is_some() && !schemes.contains(scheme) {
        let reason = format!("there is no split scheme `{}`; there are {}", escape(scheme), quoted(&schemes));
        return Err(DataError::Schema { place: Place::file(tree.root()), reason });
    }
    Ok(Some(scheme.clone()))
}

/// What is wrong with several schemes of which none is named.
pub(super) fn unnamed(tree: &dyn Tree, schemes: &[String]) -> DataError {
    let reason = format!(
        "there are several split schemes, {}: name the one to use (`--split-scheme`, or `split` in meta.json), or split otherwise",
        quoted(schemes)
    );
    DataError::Schema { place: Place::file(tree.root()), reason }
}

/// The names of the split schemes.
pub(super) fn schemes(tree: &dyn Tree) -> Result<Vec<String>, DataError> {
    let mut schemes: Vec<String> = tree
        .names()?
        .iter()
        .filter_map(|name| name.strip_prefix("split/")?.split_once('/').map(|(scheme, _)| scheme.to_owned()))
        .collect();
    schemes.dedup();
    Ok(schemes)
}
