//! The archives in which the benchmark data sets are published, read as they are: no Python, nothing unpacked.
//!
//! | layout | files | values |
//! |---|---|---|
//! | ZINC | `{train,val,test}.pickle` and `.index` | dictionaries with an adjacency matrix per molecule |
//! | GNN benchmark | `NAME_{train,val,test}.pt` | dictionaries or graph objects, single or collated |
//! | LRGB | `{train,val,test}.pt` or `.pickle` | tuples (node features, edge features, edges, targets) |
//! | LRGB peptides | `*.csv.gz` and `*.pickle` | SMILES with targets, and a split |
//! | OGB | `raw/*.csv.gz`, `split/…` | tables |
//! | MalNet | `*.edgelist`, `{train,val,test}.txt` | edge lists in class folders |
//!
//! Pickles go through a reader that can only build inert values (its module says how); archives are read in place, and
//! only members with the expected names are looked at.

pub(crate) mod archive;
mod graphs;
mod lrgb;
mod peptides;
pub(crate) mod pickle;
mod zinc;

use super::registry::{DatasetInfo, Layout};
use super::{DataError, EdgeDirection, Limits, Place, Read, ReadOptions, Split};
use crate::budget::{Budget, Share};
use crate::formats::{self, Format, Tree};
use crate::fs::decompress;
use archive::{Sources, Subtree};
use pickle::Document;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The parts of a split with the names that published files give them.
const PARTS: [(Split, &str); 3] = [(Split::Train, "train"), (Split::Valid, "val"), (Split::Test, "test")];

/// Imports a benchmark data set from its published files: archives, folders or single files.
///
/// # Errors
///
/// [`DataError::Missing`] if an expected file is not among the sources; whatever is wrong with them.
pub fn import(info: &DatasetInfo, sources: &[PathBuf], options: &ReadOptions) -> Result<Read, DataError> {
    let budget = Budget::new(&options.limits);
    let tree = Sources::open(sources, is_expected, &options.limits, &budget)?;
    // Readers of plain layouts count on their own, within what the archive leaves.
    let mut options = options.clone();
    options.limits.memory_bytes = Some(budget.left());
    let options = &options;
    let mut read = match info.layout {
        Layout::Zinc => zinc::read(&tree, info, options, &budget),
        Layout::GnnBenchmark => lrgb::read_benchmark(&tree, info, options, &budget),
        Layout::Lrgb => match peptides::find(&tree)? {
            Some(files) => peptides::read(&tree, &files, info, options, &budget),
            None => lrgb::read(&tree, info, options, &budget),
        },
        Layout::Ogb => read_ogb(&tree, info, options),
        Layout::Malnet => {
            // The published lists split by type and by family; the benchmark is about types.
            let split = options.split.clone().unwrap_or_else(|| "type".to_owned());
            formats::read_malnet(&tree, &ReadOptions { split: Some(split), ..options.clone() })
        }
    }?;
    read.dataset.name.clone_from(&info.name);
    Ok(read)
}

/// Members of tar archives that are kept: those with the extensions of published files.
fn is_expected(name: &str) -> bool {
    [".edgelist", ".txt", ".csv", ".csv.gz", ".pt", ".pickle", ".index", ".json"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn read_ogb(tree: &dyn Tree, info: &DatasetInfo, options: &ReadOptions) -> Result<Read, DataError> {
    let names = tree.names()?;
    let marker = "raw/num-node-list.csv";
    let found = names.iter().find_map(|name| Some(name.get(..name.find(marker)?)?.to_owned()));
    let prefix = found.ok_or_else(|| missing(tree, marker))?;
    let options = ReadOptions {
        edges: options.edges.or(Some(EdgeDirection::BothWays)),
        task: options.task.or(Some(info.task())),
        ..options.clone()
    };
    formats::read_tree(Format::Ogb, &Subtree { tree, prefix }, &options)
}

fn missing(tree: &dyn Tree, what: &str) -> DataError {
    DataError::Missing {
        path: tree.root().to_path_buf(),
        what: what.to_owned(),
        expected: "the files as they are published".to_owned(),
    }
}

/// The only file whose name, without folders, is accepted; `None` if there is none.
fn find_file(tree: &dyn Tree, accept: impl Fn(&str) -> bool) -> Result<Option<String>, DataError> {
    let names = tree.names()?;
    Ok(names.into_iter().find(|name| accept(name.rsplit('/').next().unwrap_or_default())))
}

/// The whole content of a file, with its own compression undone, and the memory that it takes.
fn content(
    tree: &dyn Tree,
    name: &str,
    limits: &Limits,
    budget: &Budget,
) -> Result<(Vec<u8>, Share), DataError> {
    let place = tree.place(name);
    let (mut content, mut held) = (Vec::new(), budget.share());
    decompress(tree.open(name)?, Path::new(name), limits)
        .take(budget.left().saturating_add(1))
        .read_to_end(&mut content)
        .map_err(DataError::stream(place.clone()))?;
    held.grow(content.len() as u64).map_err(DataError::limit(place))?;
    Ok((content, held))
}

/// Reads a pickle or a file written by `torch.save`, by its extension.
fn document(tree: &dyn Tree, name: &str, limits: &Limits, budget: &Budget) -> Result<Document, DataError> {
    let (bytes, held) = content(tree, name, limits, budget)?;
    let place = tree.place(name);
    if name.ends_with(".pt") {
        pickle::read_torch(bytes, held, &place, limits)
    } else {
        pickle::read_pickle(bytes, held, &place, limits)
    }
}

/// Pairs of nodes, `[pairs, 2]`, under a key of a dictionary in a file of PyTorch.
pub(crate) fn read_ends(
    tree: &dyn Tree,
    name: &str,
    key: &str,
    nodes: usize,
    limits: &Limits,
    budget: &Budget,
) -> Result<Vec<[u32; 2]>, DataError> {
    let place = tree.place(name);
    let document = document(tree, name, limits, budget)?;
    let value = document.get(document.root(), key).ok_or_else(|| {
        let ranked = "links with candidates of their own (`source_node`), as in ogbl-citation2, are not read";
        let is_ranked = document.get(document.root(), "source_node").is_some();
        let reason = if is_ranked { ranked.to_owned() } else { format!("there is no `{key}`") };
        invalid(&place, format!("{reason}; expected the arrays `edge` and `edge_neg`"))
    })?;
    let array = document.array(value).map_err(|reason| invalid(&place, format!("`{key}`: {reason}")))?;
    let rows = match array.rows_and_columns() {
        Some((rows, 2)) if array.is_integer => rows as u64,
        _ => {
            return Err(invalid(
                &place,
                format!("`{key}` has the shape {:?}; expected [pairs, 2] of integers", array.shape),
            ));
        }
    };
    crate::limits::within("edges_per_graph", rows, limits.edges_per_graph)
        .map_err(DataError::limit(place.clone()))?;
    let node = |value: f64| match value {
        value if value >= 0.0 && value < nodes as f64 => Ok(value as u32),
        value => {
            Err(invalid(&place, format!("`{key}` names node {value}; the graph has {nodes}, counted from 0")))
        }
    };
    let (pairs, _) = array.values.as_chunks::<2>();
    pairs.iter().map(|&[a, b]| Ok([node(a)?, node(b)?])).collect()
}

/// An error about the values in a pickle.
fn invalid(place: &Place, reason: impl Into<String>) -> DataError {
    DataError::Pickle { place: place.clone(), reason: reason.into() }
}
