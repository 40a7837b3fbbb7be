//! A folder of edge lists, one file per graph, one sub-folder per class: the layout of MalNet.
//!
//! ```text
//! adware/…/a.edgelist    benign/…/b.edgelist    …    train.txt, val.txt, test.txt (optional, anywhere)
//! ```
//!
//! The class is the first folder that differs between files; for a model, which knows its classes, the first that is one of them where
//! that folder is none. A file holds one `source target` pair per line, separated
//! by blanks, tabs or a comma; lines that start with `#` are comments. Files carry no node count, so **this format's
//! rule is: number of nodes = largest index + 1**; nodes that no edge names and that come last cannot be expressed, and
//! a number far beyond the nodes that edges name is refused ([`Limits::numbering_gap`]). The
//! split files name graphs by their path, with or without the leading folders and the extension; a name is that of one file.

use crate::budget::{Budget, Share, bytes_of};
use crate::formats::{Lines, Tree, lines_of};
use crate::limits::within;
use crate::schema::{Collector, Record, Table};
use crate::text::{counted, quoted, quoted_some};
use crate::{DataError, Limits, Place, Read, ReadOptions, Split, escape};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap};

/// How nodes are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// Indices are kept; the number of nodes is the largest one plus 1.
    AsGiven,
    /// Indices are renumbered without gaps, ascending; the number of nodes is the number of distinct indices.
    #[cfg_attr(
        not(feature = "benchmarks"),
        expect(dead_code, reason = "only the published MalNet is counted so")
    )]
    WithoutGaps,
}

/// The first version of the rules under which a name in a split file is that of one graph, and that of a split scheme is the
/// name of folders of split files.
const ONE_EACH: u32 = 6;

/// The first version of the rules under which `.EDGELIST` is an edge list, too.
const ANY_CASE: u32 = 7;

/// Number of nodes, edges, and the memory that they take.
type EdgeList = (usize, Vec<[u32; 2]>, Share);

/// Reads the layout from a folder or archive.
pub(crate) fn read(tree: &dyn Tree, numbering: Numbering, options: &ReadOptions) -> Result<Read, DataError> {
    let all = tree.names()?;
    let is_list = |name: &str| {
        stem(name).is_some_and(|stem| options.rules >= ANY_CASE || name[stem.len()..].starts_with(ENDING))
    };
    let files: Vec<&String> = all.iter().filter(|name| is_list(name)).collect();
    let skipped = common_folders(&files);
    let splits = match options.ignore_targets {
        // Parts are those of targets.
        true => HashMap::new(),
        false => read_splits(tree, &all, options)?,
    };
    // The published lists of MalNet are taken as they are, and parts that are not asked for may be anything.
    if numbering == Numbering::AsGiven && options.rules >= ONE_EACH && !options.ignore_split {
        check_names(tree, &all, &splits, &files)?;
    }
    let mut collector = Collector::new(tree.root(), options);
    collector.notes.extend(left_out(tree, options)?);
    let class_of = |file: &'_ str| class_of(file, skipped, options).map(str::to_owned);
    let has_classes = !options.ignore_targets && files.iter().any(|file| class_of(file).is_some());
    if has_classes {
        collector.name_target_columns(vec!["class".to_owned()])?;
        if options.schema.is_none() {
            collector.target_columns.follow_text();
        }
    }
    let mut outside = files.iter().filter(|file| has_classes && class_of(file).is_none());
    if let Some(first) = outside.next() {
        let graphs = counted(outside.count() + 1, "graph");
        collector
            .notes
            .push(format!("{graphs} in no class folder, without a label; the first is {}", escape(first)));
    }
    let budget = collector.budget.clone();
    let mut smallest: Option<u32> = None;
    for chunk in files.chunks(256) {
        let graphs: Vec<Result<EdgeList, DataError>> =
            chunk.par_iter().map(|name| read_file(tree, name, numbering, options, &budget)).collect();
        for (name, graph) in chunk.iter().zip(graphs) {
            let place = tree.place(name);
            let record = graph.and_then(|(num_nodes, edges, _)| {
                smallest = edges.iter().flatten().copied().chain(smallest).min();
                let values = match class_of(name).filter(|_| has_classes) {
                    Some(class) => vec![collector.target_columns.text(0, &class, &place)?],
                    None => Vec::new(),
                };
                Ok(Record {
                    place: place.clone(),
                    id: stem(name).map(str::to_owned),
                    num_nodes,
                    edge_rows: Table { rows: edges.len(), values: Vec::new() },
                    edges,
                    nodes: Table { rows: num_nodes, values: Vec::new() },
                    targets: Table { rows: values.len(), values },
                    split: stem(name).and_then(|stem| Some(splits.get(named(&splits, stem)?)?.part)),
                    node_split: None,
                    pairs: Vec::new(),
                    graph: None,
                    weight: None,
                    bounds: Vec::new(),
                })
            });
            match record {
                Ok(record) => collector.push(Ok(record))?,
                Err(error) => collector.push(Err(error.into_bad_row(place)?))?,
            }
        }
    }
    if numbering == Numbering::AsGiven && smallest == Some(1) {
        collector.notes.push(NUMBERED_FROM_1.to_owned());
    }
    collector.finish()
}

/// What a person should know whose nodes are numbered from 1.
const NUMBERED_FROM_1: &str = "the smallest node number in all files is 1, but nodes are counted from 0: every graph with \
                               edges has a node 0 without any (write all numbers one smaller if there is no such node)";

/// How the names of edge lists end.
const ENDING: &str = ".edgelist";

/// The path without `.edgelist`, in any case, and compression; `None` for other files.
fn stem(name: &str) -> Option<&str> {
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(name);
    let (stem, ending) = name.split_at_checked(name.len().checked_sub(ENDING.len())?)?;
    ending.eq_ignore_ascii_case(ENDING).then_some(stem)
}

/// What the folder holds and is not read, in words.
fn left_out(tree: &dyn Tree, options: &ReadOptions) -> Result<Option<String>, DataError> {
    let all = match options.rules {
        ANY_CASE.. => tree.left_out()?,
        _ => Vec::new(),
    };
    let [first, rest @ ..] = all.as_slice() else { return Ok(None) };
    let more = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
    Ok(Some(format!("left out of the folder: {first}{more}")))
}

/// The folder of a file that says its class.
fn class_of<'a>(file: &'a str, skipped: usize, options: &ReadOptions) -> Option<&'a str> {
    let differs = folder_at(file, skipped);
    let Some(schema) = &options.schema else { return differs };
    let is_known = |folder: &&str| schema.class_names.iter().any(|class| class == folder);
    let (folders, _) = file.rsplit_once('/')?;
    differs.filter(|folder| is_known(folder)).or(folders.split('/').find(is_known)).or(differs)
}

/// The folder at a depth, if the file is below it.
fn folder_at(name: &str, depth: usize) -> Option<&str> {
    let mut parts = name.split('/').skip(depth);
    let folder = parts.next();
    parts.next().and(folder)
}

/// Number of leading folders that all files share.
fn common_folders(files: &[&String]) -> usize {
    let Some(first) = files.first() else { return 0 };
    let folders: Vec<&str> = first.split('/').collect();
    let folders = folders.split_last().map_or(&[][..], |(_, folders)| folders);
    let mut shared = folders.len();
    for file in files {
        let same = file.split('/').zip(folders).take_while(|(a, b)| a == *b).count();
        shared = shared.min(same);
    }
    shared
}

fn read_file(
    tree: &dyn Tree,
    name: &str,
    numbering: Numbering,
    options: &ReadOptions,
    budget: &Budget,
) -> Result<EdgeList, DataError> {
    let (limits, mut held) = (&options.limits, budget.share());
    let Some(mut lines) = lines_of(tree, name, limits)? else {
        return Err(DataError::malformed(tree.place(name), "no file", "an edge list"));
    };
    let mut edges = Vec::new();
    while lines.advance()? {
        let line = lines.bytes().trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        within("edges_per_graph", edges.len() as u64 + 1, limits.edges_per_graph)
            .map_err(DataError::limit(lines.place()))?;
        // A list that grows takes twice what is in it.
        held.grow(bytes_of::<[u32; 2]>(2)).map_err(DataError::limit(lines.place()))?;
        edges.push(parse_edge(&lines)?);
    }
    let num_nodes = match numbering {
        Numbering::AsGiven => {
            let num_nodes = edges.iter().flatten().max().map_or(0, |&largest| u64::from(largest) + 1);
            if num_nodes > Limits::GAP_FREE_NODES {
                let gap = num_nodes.div_ceil(named_nodes(&edges).len() as u64);
                within("numbering_gap", gap, limits.numbering_gap)
                    .map_err(DataError::limit(tree.place(name)))?;
            }
            num_nodes
        }
        Numbering::WithoutGaps => renumber(&mut edges),
    };
    within("nodes_per_graph", num_nodes, limits.nodes_per_graph)
        .map_err(DataError::limit(tree.place(name)))?;
    Ok((num_nodes as usize, edges, held))
}

fn parse_edge(lines: &Lines) -> Result<[u32; 2], DataError> {
    let mut fields = lines
        .bytes()
        .split(|byte| byte.is_ascii_whitespace() || *byte == b',')
        .filter(|field| !field.is_empty());
    let node = |field: Option<&[u8]>| {
        let text = String::from_utf8_lossy(field.unwrap_or_default()).into_owned();
        text.parse::<u32>().ok().filter(|&node| node < u32::MAX).ok_or_else(|| {
            DataError::value(lines.place(), text, "a node number (two per line: source and target)")
        })
    };
    let edge = [node(fields.next())?, node(fields.next())?];
    match fields.next() {
        None => Ok(edge),
        Some(field) if field.starts_with(b"{") => Err(DataError::malformed(
            lines.place(),
            "attributes, as NetworkX writes them",
            "two per line: source and target (`write_edgelist(graph, file, data=False)` leaves attributes out)",
        )),
        Some(_) => {
            Err(DataError::malformed(lines.place(), "a third value", "two per line: source and target"))
        }
    }
}

/// The nodes that edges name, ascending.
fn named_nodes(edges: &[[u32; 2]]) -> Vec<u32> {
    let mut nodes: Vec<u32> = edges.iter().flatten().copied().collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Renumbers nodes without gaps and returns how many there are.
fn renumber(edges: &mut [[u32; 2]]) -> u64 {
    let nodes = named_nodes(edges);
    for end in edges.iter_mut().flatten() {
        *end = nodes.binary_search(end).unwrap_or_default() as u32;
    }
    nodes.len() as u64
}

/// Where a split file names a graph, and its part.
struct Named {
    part: Split,
    /// Position of the split file among all files, and line there.
    file: usize,
    line: u64,
}

/// Part of every path that a split file names.
fn read_splits(
    tree: &dyn Tree,
    all: &[String],
    options: &ReadOptions,
) -> Result<HashMap<String, Named>, DataError> {
    let mut splits: HashMap<String, Named> = HashMap::new();
    let (mut folders, mut is_there) = (BTreeSet::new(), options.split.is_none());
    for (file, name) in all.iter().enumerate() {
        let (folder, name_in_it) = name.rsplit_once('/').unwrap_or(("", name));
        let part = match name_in_it {
            "train.txt" => Split::Train,
            "val.txt" | "valid.txt" => Split::Valid,
            "test.txt" => Split::Test,
            _ => continue,
        };
        folders.insert(folder);
        if let Some(scheme) = &options.split {
            let wanted = match options.rules {
                ONE_EACH.. => format!("/{folder}/").contains(&format!("/{scheme}/")),
                _ => name.contains(&format!("{scheme}/")),
            };
            if !wanted {
                continue;
            }
            is_there = true;
        }
        let Some(mut lines) = lines_of(tree, name, &options.limits)? else { continue };
        while lines.advance()? {
            let text = lines.text()?.trim();
            let key = stem(text).unwrap_or(text).trim_start_matches("./").to_owned();
            if key.is_empty() {
                continue;
            }
            within("graphs", splits.len() as u64 + 1, options.limits.graphs)
                .map_err(DataError::limit(lines.place()))?;
            let named = Named { part, file, line: lines.number() };
            if let Some(earlier) = splits.insert(key.clone(), named).filter(|earlier| earlier.part != part) {
                let expected = format!("in one part only (it is also in {:?})", earlier.part);
                return Err(DataError::value(lines.place(), key, expected));
            }
        }
    }
    if !is_there && options.rules >= ONE_EACH && !options.ignore_split {
        let scheme = escape(options.split.as_deref().unwrap_or_default());
        let reason = match folders.is_empty() {
            true => format!("there is no split scheme `{scheme}`, and no split file"),
            false => format!(
                "there is no split scheme `{scheme}`; there are split files in the folders {}",
                quoted(folders.into_iter().collect::<Vec<_>>())
            ),
        };
        return Err(DataError::Schema { place: Place::file(tree.root()), reason });
    }
    Ok(splits)
}

/// The name of a file in the split files: its full path or the longest tail of it that is there.
fn named<'a>(splits: &HashMap<String, Named>, stem: &'a str) -> Option<&'a str> {
    let mut tail = stem;
    loop {
        if splits.contains_key(tail) {
            return Some(tail);
        }
        tail = tail.split_once('/')?.1;
    }
}

/// Fails for a name that is not that of exactly one file.
fn check_names(
    tree: &dyn Tree,
    all: &[String],
    splits: &HashMap<String, Named>,
    files: &[&String],
) -> Result<(), DataError> {
    let mut files_of: HashMap<&str, Vec<&str>> = HashMap::new();
    for stem in files.iter().filter_map(|name| stem(name)) {
        if let Some(name) = named(splits, stem) {
            files_of.entry(name).or_default().push(stem);
        }
    }
    let files_of = |name: &str| files_of.get(name).map_or(&[][..], Vec::as_slice);
    let wrong = splits.iter().filter(|(name, _)| files_of(name).len() != 1);
    let Some((name, at)) = wrong.min_by_key(|(_, named)| (named.file, named.line)) else { return Ok(()) };
    let expected = match files_of(name) {
        [] => "the name of a file (without `.edgelist`): correct it, or leave the line out".to_owned(),
        several => {
            format!("the name of one file alone: {} have it. Write the folder, too", quoted_some(several))
        }
    };
    let place = all.get(at.file).map_or_else(|| Place::file(tree.root()), |file| tree.place(file));
    Err(DataError::value(place.at_line(at.line), name, expected))
}

/// Whether a tree looks like this layout.
pub(crate) fn recognises(names: &[String]) -> bool {
    names.iter().any(|name| stem(name).is_some())
}
