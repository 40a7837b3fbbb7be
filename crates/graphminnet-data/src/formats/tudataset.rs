//! The text layout of the TUDataset collection.
//!
//! ```text
//! NAME_A.txt                 one `source, target` pair per edge, nodes counted from 1 over all graphs
//! NAME_graph_indicator.txt   the graph of every node, counted from 1
//! NAME_graph_labels.txt      one class per graph, or NAME_graph_attributes.txt: numbers per graph
//! NAME_node_labels.txt, NAME_node_attributes.txt, NAME_edge_labels.txt, NAME_edge_attributes.txt   optional
//! ```
//!
//! Labels are categories (class labels keep their original text as names), attributes are numbers. Edges are taken as
//! they are; the collection lists both directions.

use crate::budget::{Share, bytes_of};
use crate::formats::{Lines, Tree, lines_of};
use crate::limits::within;
use crate::schema::{Collector, Record, Table};
use crate::text::quoted;
use crate::{BadRow, DataError, Place, Read, ReadOptions};

/// The first version of the rules under which numbers of graphs do not skip any, and a folder is that of one data set.
const NONE_SKIPPED: u32 = 6;

/// The names before `_A.txt`, with their folders; there is none if a tree has another layout.
pub(crate) fn prefixes(names: &[String]) -> Vec<&str> {
    let mut prefixes: Vec<&str> = names
        .iter()
        .filter_map(|name| {
            let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(name);
            name.strip_suffix("_A.txt")
        })
        .collect();
    prefixes.dedup();
    prefixes
}

/// Reads the layout from a folder or archive.
pub(crate) fn read(tree: &dyn Tree, options: &ReadOptions) -> Result<Read, DataError> {
    let names = tree.names()?;
    let prefixes = prefixes(&names);
    let Some(prefix) = prefixes.first().map(|&prefix| prefix.to_owned()) else {
        return Err(DataError::Missing {
            path: tree.root().to_path_buf(),
            what: "NAME_A.txt".to_owned(),
            expected: "the TUDataset layout: NAME_A.txt, NAME_graph_indicator.txt, …".to_owned(),
        });
    };
    if prefixes.len() > 1 && options.rules >= NONE_SKIPPED {
        let reason =
            format!("there are several data sets, {}: put each into a folder of its own", quoted(&prefixes));
        return Err(DataError::Schema { place: Place::file(tree.root()), reason });
    }
    let mut collector = Collector::new(tree.root(), options);
    let mut files = Files { tree, prefix, options, held: collector.budget.share() };
    let graph_of_node = files.graph_of_node()?;
    let num_graphs = graph_of_node.iter().max().map_or(0, |&largest| largest as usize + 1);
    files.hold(bytes_of::<Parts>(num_graphs), None)?;
    let mut graphs = vec![Parts::default(); num_graphs];
    // Position of every node within its graph.
    let mut local = Vec::with_capacity(graph_of_node.len());
    for &graph in &graph_of_node {
        let Some(parts) = graphs.get_mut(graph as usize) else { continue };
        local.push(parts.num_nodes);
        parts.num_nodes += 1;
        within("nodes_per_graph", u64::from(parts.num_nodes), options.limits.nodes_per_graph).map_err(
            DataError::limit(crate::Place::file(tree.root()).in_column(format!("graph {}", graph + 1))),
        )?;
    }
    let graph_of_edge = files.edges(&graph_of_node, &local, &mut graphs)?;
    files.features(&mut collector, "node", &graph_of_node, &mut graphs)?;
    files.features(&mut collector, "edge", &graph_of_edge, &mut graphs)?;
    let labels = files.targets(&mut collector, &mut graphs)?;
    // From here on the collector counts what it takes over.
    let Files { prefix, .. } = files;
    let indicator = tree.place(&format!("{prefix}_graph_indicator.txt"));
    for (index, parts) in graphs.into_iter().enumerate() {
        collector.push(Ok(Record {
            place: indicator.clone().at_row(index as u64 + 1),
            id: None,
            num_nodes: parts.num_nodes as usize,
            nodes: Table { rows: parts.num_nodes as usize, values: parts.nodes },
            edge_rows: Table { rows: parts.edges.len(), values: parts.edge_rows },
            edges: parts.edges,
            targets: Table { rows: usize::from(!parts.targets.is_empty()), values: parts.targets },
            split: None,
            node_split: None,
            pairs: Vec::new(),
            graph: None,
            weight: None,
            bounds: Vec::new(),
        }))?;
    }
    // Values are judged when all are there; whoever has to correct one looks for it in the file that holds it.
    let found = |row: BadRow| {
        let Some(graph) = row.place.row else { return row };
        let column = row.place.column.clone().unwrap_or_default();
        let of_features = ["node_label", "node_attribute", "edge_label", "edge_attribute"]
            .into_iter()
            .find(|file| column.strip_prefix(file).is_some_and(|rest| rest.starts_with('_')));
        let place = match (of_features, &labels) {
            (Some(file), _) => tree.place(&format!("{prefix}_{file}s.txt")),
            (None, Some(Labels { file, lines })) if !column.is_empty() => {
                let line = lines.get(graph as usize - 1).copied().unwrap_or(graph);
                tree.place(&format!("{prefix}_{file}.txt")).at_line(line)
            }
            _ => return BadRow { place: indicator.clone().in_column(format!("graph {graph}")), ..row },
        };
        BadRow { place: place.in_column(column), reason: format!("{} (of graph {graph})", row.reason), ..row }
    };
    match collector.finish() {
        Ok(mut read) => {
            let rows = std::mem::take(&mut read.report.bad_rows);
            read.report.bad_rows = rows.into_iter().map(found).collect();
            Ok(read)
        }
        Err(DataError::BadRows { rows, total }) => {
            Err(DataError::BadRows { rows: rows.into_iter().map(found).collect(), total })
        }
        Err(error) => Err(error),
    }
}

/// Where the targets are.
struct Labels {
    /// `graph_labels` or `graph_attributes`.
    file: &'static str,
    /// The line of every graph.
    lines: Vec<u64>,
}

/// One graph while it is put together.
#[derive(Debug, Clone, Default)]
struct Parts {
    num_nodes: u32,
    edges: Vec<[u32; 2]>,
    nodes: Vec<f64>,
    edge_rows: Vec<f64>,
    targets: Vec<f64>,
}

struct Files<'a> {
    tree: &'a dyn Tree,
    prefix: String,
    options: &'a ReadOptions,
    /// Memory of all that is read.
    held: Share,
}

impl Files<'_> {
    fn hold(&mut self, bytes: u64, lines: Option<&Lines>) -> Result<(), DataError> {
        let place = || lines.map_or_else(|| crate::Place::file(self.tree.root()), Lines::place);
        self.held.grow(bytes).map_err(|exceeded| DataError::limit(place())(exceeded))
    }

    fn open(&self, suffix: &str) -> Result<Option<Lines>, DataError> {
        lines_of(self.tree, &format!("{}_{suffix}.txt", self.prefix), &self.options.limits)
    }

    fn require(&self, suffix: &str) -> Result<Lines, DataError> {
        self.open(suffix)?.ok_or_else(|| DataError::Missing {
            path: self.tree.root().to_path_buf(),
            what: format!("{}_{suffix}.txt", self.prefix),
            expected: "the TUDataset layout: NAME_A.txt, NAME_graph_indicator.txt, …".to_owned(),
        })
    }

    fn graph_of_node(&mut self) -> Result<Vec<u32>, DataError> {
        let max_graphs = self.options.limits.graphs;
        let mut lines = self.require("graph_indicator")?;
        let mut graphs = Vec::new();
        while lines.advance()? {
            if lines.bytes().trim_ascii().is_empty() {
                continue;
            }
            let text = lines.text()?.trim();
            let graph = one_based(&lines, text, "a graph, counted from 1")?;
            // Graphs without nodes cannot be written, so numbers cannot run ahead of the nodes.
            if graph as usize > graphs.len() {
                let expected = format!("a graph from 1 to {}: numbers do not skip any", graphs.len() + 1);
                return Err(DataError::value(lines.place(), text, expected));
            }
            within("graphs", u64::from(graph) + 1, max_graphs).map_err(DataError::limit(lines.place()))?;
            // The graph of a node and its position there, in lists that grow.
            self.hold(bytes_of::<[u32; 2]>(2), Some(&lines))?;
            graphs.push(graph);
        }
        self.check_none_is_skipped(&graphs, &lines)?;
        Ok(graphs)
    }

    /// Fails for the number of a graph that no node has. Earlier rules made it a graph without nodes.
    fn check_none_is_skipped(&self, graph_of_node: &[u32], lines: &Lines) -> Result<(), DataError> {
        let mut has_nodes =
            vec![false; graph_of_node.iter().max().map_or(0, |&largest| largest as usize + 1)];
        for &graph in graph_of_node {
            if let Some(has_nodes) = has_nodes.get_mut(graph as usize) {
                *has_nodes = true;
            }
        }
        match has_nodes.iter().position(|has_nodes| !has_nodes).filter(|_| self.options.rules >= NONE_SKIPPED)
        {
            None => Ok(()),
            Some(skipped) => Err(DataError::malformed(
                lines.file(),
                format!("no node of graph {}, and nodes of graph {}", skipped + 1, has_nodes.len()),
                "numbers of graphs that do not skip any: every graph has a node. Number the graphs anew, and leave the skipped ones \
                 out of the labels",
            )),
        }
    }

    fn edges(
        &mut self,
        graph_of_node: &[u32],
        local: &[u32],
        graphs: &mut [Parts],
    ) -> Result<Vec<u32>, DataError> {
        let mut lines = self.require("A")?;
        let mut graph_of_edge = Vec::new();
        while lines.advance()? {
            let text = lines.text()?.trim();
            if text.is_empty() {
                continue;
            }
            let Some((source, target)) = text.split_once(',') else {
                return Err(DataError::value(lines.place(), text, "`source, target`"));
            };
            let expected = format!("a node from 1 to {}", graph_of_node.len());
            let end = |text: &str| {
                let node = one_based(&lines, text.trim(), &expected)?;
                match (graph_of_node.get(node as usize), local.get(node as usize)) {
                    (Some(graph), Some(position)) => Ok((*graph, *position)),
                    _ => Err(DataError::value(lines.place(), text, expected.clone())),
                }
            };
            let (graph, source) = end(source)?;
            let (other, target) = end(target)?;
            if graph != other {
                return Err(DataError::value(lines.place(), text, "an edge within one graph"));
            }
            if let Some(parts) = graphs.get_mut(graph as usize) {
                within("edges_per_graph", parts.edges.len() as u64 + 1, self.options.limits.edges_per_graph)
                    .map_err(DataError::limit(lines.place()))?;
                parts.edges.push([source, target]);
            }
            self.hold(bytes_of::<[u32; 3]>(2), Some(&lines))?;
            graph_of_edge.push(graph);
        }
        Ok(graph_of_edge)
    }

    /// Labels (categories) and attributes (numbers) of nodes or edges, side by side.
    fn features(
        &mut self,
        collector: &mut Collector<'_>,
        what: &str,
        graph_of_row: &[u32],
        graphs: &mut [Parts],
    ) -> Result<(), DataError> {
        let mut files = [self.open(&format!("{what}_labels"))?, self.open(&format!("{what}_attributes"))?];
        if files.iter().all(Option::is_none) {
            return Ok(());
        }
        let max_columns = self.options.limits.features;
        let mut widths: Option<Vec<usize>> = None;
        for graph in graph_of_row {
            let mut texts: Vec<Vec<String>> = Vec::new();
            for lines in files.iter_mut().flatten() {
                texts.push(next_row(lines, graph_of_row.len(), max_columns)?);
            }
            if widths.is_none() {
                let names = files.iter().zip(["label", "attribute"]).filter(|(file, _)| file.is_some());
                let names = names.zip(&texts).flat_map(|((_, kind), row)| {
                    (0..row.len()).map(move |column| format!("{what}_{kind}_{column}"))
                });
                let names: Vec<String> = names.collect();
                if what == "node" {
                    collector.name_node_columns(names)?;
                } else {
                    collector.name_edge_columns(names)?;
                }
                widths = Some(texts.iter().map(Vec::len).collect());
            }
            let is_label_first = files.first().is_some_and(Option::is_some);
            let mut column = 0;
            for (file, (row, lines)) in texts.iter().zip(files.iter().flatten()).enumerate() {
                let expected = widths.as_ref().and_then(|widths| widths.get(file)).copied().unwrap_or(0);
                if row.len() != expected {
                    let found = format!("{} values", row.len());
                    return Err(DataError::malformed(lines.place(), found, format!("{expected} values")));
                }
                let is_label = is_label_first && file == 0;
                self.hold(bytes_of::<f64>(2 * row.len()), Some(lines))?;
                for text in row {
                    let columns = if what == "node" {
                        &mut collector.node_columns
                    } else {
                        &mut collector.edge_columns
                    };
                    let value = match text.parse::<f64>() {
                        Ok(value) => columns.number(column, value, is_label, &lines.place())?,
                        Err(_) => return Err(DataError::value(lines.place(), text, "a number")),
                    };
                    if let Some(parts) = graphs.get_mut(*graph as usize) {
                        if what == "node" { parts.nodes.push(value) } else { parts.edge_rows.push(value) }
                    }
                    column += 1;
                }
            }
        }
        for lines in files.iter_mut().flatten() {
            expect_end(lines, graph_of_row.len())?;
        }
        Ok(())
    }

    fn targets(
        &mut self,
        collector: &mut Collector<'_>,
        graphs: &mut [Parts],
    ) -> Result<Option<Labels>, DataError> {
        if self.options.ignore_targets {
            return Ok(None);
        }
        let (mut lines, is_label) = match (self.open("graph_labels")?, self.open("graph_attributes")?) {
            (Some(lines), attributes) => {
                if attributes.is_some() {
                    collector.notes.push(format!(
                        "the targets are {0}_graph_labels.txt; {0}_graph_attributes.txt is not used",
                        crate::escape(&self.prefix)
                    ));
                }
                (lines, true)
            }
            (None, Some(lines)) => (lines, false),
            (None, None) => return Ok(None),
        };
        let file = if is_label { "graph_labels" } else { "graph_attributes" };
        let mut labels = Labels { file, lines: Vec::with_capacity(graphs.len()) };
        let count = graphs.len();
        for (index, parts) in graphs.iter_mut().enumerate() {
            let row = next_row(&mut lines, count, self.options.limits.features)?;
            self.hold(bytes_of::<f64>(2 * row.len() + 1), Some(&lines))?;
            labels.lines.push(lines.number());
            if index == 0 {
                let names = match row.len() {
                    1 => vec![if is_label { "class" } else { "target" }.to_owned()],
                    several => (0..several).map(|column| format!("target_{column}")).collect(),
                };
                collector.name_target_columns(names)?;
                // What a schema says of them has been taken up already.
                if is_label && row.len() == 1 && self.options.schema.is_none() {
                    collector.target_columns.follow_text();
                }
            }
            if row.len() != collector.target_columns.len() {
                let expected = format!("{} values", collector.target_columns.len());
                return Err(DataError::malformed(lines.place(), format!("{} values", row.len()), expected));
            }
            for (column, text) in row.iter().enumerate() {
                let value = collector.target_columns.cell(column, text, &lines.place())?;
                parts.targets.push(value);
            }
        }
        expect_end(&mut lines, count)?;
        Ok(Some(labels))
    }
}

fn one_based(lines: &Lines, text: &str, expected: &str) -> Result<u32, DataError> {
    match text.parse::<u32>() {
        Ok(number) if number > 0 => Ok(number - 1),
        _ => Err(DataError::value(lines.place(), text, expected)),
    }
}

/// The values of the next line that is not blank.
fn next_row(lines: &mut Lines, expected_rows: usize, max_columns: u64) -> Result<Vec<String>, DataError> {
    loop {
        if !lines.advance()? {
            return Err(DataError::malformed(lines.place(), "the end", format!("{expected_rows} rows")));
        }
        let text = lines.text()?.trim();
        if !text.is_empty() {
            within("features", text.split(',').count() as u64, max_columns)
                .map_err(DataError::limit(lines.place()))?;
            return Ok(text.split(',').map(|field| field.trim().to_owned()).collect());
        }
    }
}

fn expect_end(lines: &mut Lines, expected_rows: usize) -> Result<(), DataError> {
    while lines.advance()? {
        if !lines.bytes().trim_ascii().is_empty() {
            return Err(DataError::malformed(lines.place(), "another row", format!("{expected_rows} rows")));
        }
    }
    Ok(())
}
