//! OGB's link prediction (`ogbl-…`): one graph whose edges are the links to train on, and pairs to validate and to test.
//!
//! ```text
//! split/<scheme>/valid.pt, test.pt   dictionaries of arrays: `edge` [links, 2], `edge_neg` [pairs without a link, 2]
//! ```
//!
//! A share of the edges is hidden and asked about in training, as [`HideLinks`] does: a model that is asked about edges it
//! sees learns to recognise edges.

use super::edges::stored_edges;
use super::features::read_features;
use super::meta::Meta;
use super::split::{scheme_of, schemes, unnamed};
use super::{Counts, check_effects, expected_schema, missing, whole};
use crate::budget::{Budget, Share};
use crate::formats::Tree;
use crate::links::{GivenPair, HideLinks, LINK};
use crate::text::grouped;
use crate::{
    DataError, Dataset, Level, NodeParts, Place, Read, ReadOptions, Report, Sample, Schema, Split, Task,
};
use std::sync::Arc;

const PARTS: [(Split, &str); 2] = [(Split::Valid, "valid"), (Split::Test, "test")];

/// The split scheme of a folder of links; `None` for other data.
pub(super) fn scheme(
    tree: &dyn Tree,
    meta: &Meta,
    options: &ReadOptions,
) -> Result<Option<String>, DataError> {
    let asked = options.asked_level();
    let has = |name: &str| ["", ".gz", ".zst"].iter().any(|end| tree.contains(&format!("{name}{end}")));
    let has_labels = has("raw/graph-label.csv") || has("raw/node-label.csv");
    if asked.is_some_and(|level| level != Level::Pair) || asked.is_none() && has_labels {
        return Ok(None);
    }
    let has_links = |scheme: &String| tree.contains(&format!("split/{scheme}/valid.pt"));
    let scheme = scheme_of(tree, meta, options)?;
    if scheme.is_none() {
        // Without its pairs there is nothing to read, whether parts matter or not.
        let schemes = schemes(tree)?;
        if schemes.iter().any(has_links) {
            return Err(unnamed(tree, &schemes));
        }
    }
    Ok(scheme.filter(has_links))
}

/// Reads the graph and its pairs.
pub(super) fn read(
    tree: &dyn Tree,
    meta: &Meta,
    counts: &Counts,
    scheme: &str,
    options: &ReadOptions,
    budget: &Budget,
    held: &mut Share,
) -> Result<Read, DataError> {
    let mut nodes = read_features(tree, "node", &counts.nodes, meta, options, (budget, &mut *held))?;
    let tables = std::mem::take(&mut nodes.tables);
    let (edges, graphs) = stored_edges(tree, meta, counts, tables, options, (budget, held))?;
    check_effects(tree, [&nodes, &edges], Err("the targets are links"), options)?;
    let [graph] = <[_; 1]>::try_from(whole(graphs)?).map_err(|graphs: Vec<_>| {
        let place = tree.place("raw/num-node-list.csv");
        DataError::malformed(place, format!("{} graphs with links", graphs.len()), "one graph")
    })?;
    let mut given = Vec::new();
    for (part, name) in PARTS {
        let file = format!("split/{scheme}/{name}.pt");
        if !tree.contains(&file) {
            return Err(missing(tree, &file));
        }
        given.extend(read_part(tree, &file, part, graph.num_nodes(), options, budget)?);
    }
    let sample = Sample { id: "0".to_owned(), graph: Arc::new(graph), targets: Vec::new() };
    let hiding = HideLinks::default();
    let (sample, parts) = hiding.beside(&sample, given).map_err(|error| {
        DataError::malformed(Place::file(tree.root()), error.to_string(), "a graph with links to train on")
    })?;
    let parts = NodeParts::new(vec![parts]);
    let note = format!(
        "{} links ({:.0} % of the edges, drawn with seed {}) are hidden to train on; those to validate and to test are given",
        grouped(parts.count(Split::Train)),
        100.0 * hiding.ask,
        hiding.seed
    );
    let schema = Schema {
        level: Level::Pair,
        task: Task::Binary,
        targets: vec![LINK.to_owned()],
        class_names: Vec::new(),
        positive_class: None,
        molecules: None,
        node_columns: nodes.columns,
        edge_columns: edges.columns,
    };
    let dataset = Dataset {
        name: super::name(tree, meta),
        schema: expected_schema(schema, options, tree)?,
        samples: vec![sample],
        official_split: None,
        node_parts: Some(parts),
        qualifiers: Default::default(),
    };
    let report = Report { notes: vec![note], rows: vec![Some(0)], ..Report::default() };
    Ok(Read { dataset, report })
}

#[cfg(feature = "benchmarks")]
fn read_part(
    tree: &dyn Tree,
    file: &str,
    part: Split,
    nodes: usize,
    options: &ReadOptions,
    budget: &Budget,
) -> Result<Vec<GivenPair>, DataError> {
    let mut pairs = Vec::new();
    for (key, target) in [("edge", 1.0), ("edge_neg", 0.0)] {
        let ends = crate::import::read_ends(tree, file, key, nodes, &options.limits, budget)?;
        pairs.extend(ends.into_iter().map(|ends| GivenPair { ends, target, part }));
    }
    Ok(pairs)
}

#[cfg(not(feature = "benchmarks"))]
fn read_part(
    tree: &dyn Tree,
    file: &str,
    _: Split,
    _: usize,
    _: &ReadOptions,
    _: &Budget,
) -> Result<Vec<GivenPair>, DataError> {
    let expected = "a build with the feature `benchmarks`, which reads files of PyTorch";
    Err(DataError::malformed(tree.place(file), "a file of PyTorch", expected))
}
