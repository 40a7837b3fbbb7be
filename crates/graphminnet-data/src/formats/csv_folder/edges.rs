//! `edges.csv` and `pairs.csv`: rows that name two nodes.

use super::super::csv::CsvReader;
use super::columns::{
    TargetColumns, is_feature, is_target_name, is_unused, note_nameless, note_unused, wanted_targets,
};
use super::in_parts::Keeping;
use super::node_ids::NodeIds;
use super::parts::PartColumns;
use super::{Draft, Graphs, ignores_targets, named_columns, present, require, unknown_graph};
use crate::budget::bytes_of;
use crate::limits::within;
use crate::schema::Collector;
use crate::{DataError, Level, Place, ReadOptions};

const SOURCE: [&str; 3] = ["source", "src_id", "src"];
const DESTINATION: [&str; 3] = ["destination", "dst_id", "dst"];

impl Draft {
    /// The node that a cell names.
    fn end(&self, text: &str, has_nodes: bool, place: Place) -> Result<u32, DataError> {
        let text = text.trim();
        if has_nodes {
            return named_node(&self.node_ids, text, place);
        }
        let Some(count) = self.num_nodes else {
            let expected = "a node: how many the graph has is not said (`nodes.csv` lists them, or the column `num_nodes` of \
                            `graphs.csv` counts them)";
            return Err(DataError::value(place, text, expected));
        };
        match text.parse::<u32>() {
            Ok(node) if u64::from(node) < count => Ok(node),
            _ => Err(DataError::value(place, text, format!("a node: the graph has {count}, counted from 0"))),
        }
    }
}

/// The node that a text names.
fn named_node(node_ids: &NodeIds, text: &str, place: Place) -> Result<u32, DataError> {
    node_ids.get(text).ok_or_else(|| DataError::value(place, text, "a node_id of this graph"))
}

/// The columns of a table whose rows name two nodes.
struct Ends {
    graph: Option<usize>,
    source: usize,
    destination: usize,
}

impl Ends {
    fn find(table: &CsvReader) -> Result<Self, DataError> {
        Ok(Self {
            graph: table.column_called(&["graph_id"]),
            source: require(table, &SOURCE)?,
            destination: require(table, &DESTINATION)?,
        })
    }

    fn special(&self) -> [Option<usize>; 3] {
        [self.graph, Some(self.source), Some(self.destination)]
    }

    /// The nodes that the current row names.
    fn read(
        &self,
        table: &CsvReader,
        draft: &Draft,
        has_nodes: bool,
        place: &Place,
    ) -> Result<[u32; 2], DataError> {
        let end = |column: usize, what: &str| {
            draft.end(table.field(column), has_nodes, place.clone().in_column(what))
        };
        Ok([end(self.source, "source")?, end(self.destination, "destination")?])
    }
}

/// The columns of `edges.csv` by what they are for.
pub(super) struct EdgeColumns {
    ends: Ends,
    pub(super) features: Vec<(usize, String)>,
    targets: TargetColumns,
    /// Names of those that are neither.
    unused: Vec<String>,
    /// Numbers of those without a name, which nobody asked for.
    nameless: Vec<String>,
    parts: PartColumns,
    /// Whether rows have targets, or are to have them.
    has_targets: bool,
}

impl EdgeColumns {
    /// `level` is that of the targets, unless the caller asks for those of another.
    fn find(table: &CsvReader, level: Level, options: &ReadOptions) -> Result<Self, DataError> {
        let ends = Ends::find(table)?;
        let asked = options.asked_level();
        let level = asked.unwrap_or(level);
        // Columns of these names have always been features where graphs or nodes have targets.
        let may_be_unused = matches!(level, Level::Edge | Level::Pair);
        let wanted = options.asked_targets();
        let is_target = |name: &String| {
            level == Level::Edge
                && match wanted {
                    Some(wanted) => wanted.contains(name),
                    None => is_target_name(name),
                }
        };
        let has_targets = asked == Some(Level::Edge)
            || named_columns(table, &ends.special()).any(|(_, name)| is_target(&name));
        let known = options.schema.as_ref().map_or(&[][..], |schema| &schema.edge_columns);
        let parts = PartColumns::find(table, known, options)?;
        let (mut features, mut targets) = (Vec::new(), Vec::new());
        let (mut unused, mut nameless) = (Vec::new(), Vec::new());
        for (column, name) in named_columns(table, &ends.special()) {
            if is_target(&name) {
                targets.push((column, name));
            } else if table.is_nameless(column) && !is_feature(&name, known, options) {
                nameless.push(name);
            } else if may_be_unused && is_unused(&name, known, options) {
                unused.push(name);
            } else if !(has_targets && parts.names.contains(&name)) {
                features.push((column, name));
            }
        }
        if ignores_targets(options) {
            targets.clear();
        }
        let targets = TargetColumns::new(targets, options);
        Ok(Self { ends, features, targets, unused, nameless, parts, has_targets })
    }

    /// Those of a graph whose nodes have the targets.
    pub(super) fn beside_nodes(table: &CsvReader, options: &ReadOptions) -> Result<Self, DataError> {
        Self::find(table, Level::Node, options)
    }

    /// The nodes that the current row names.
    pub(super) fn ends(&self, table: &CsvReader, node_ids: &NodeIds) -> Result<[u32; 2], DataError> {
        let end = |column: usize, what: &str| {
            named_node(node_ids, table.field(column).trim(), table.place().in_column(what))
        };
        Ok([end(self.ends.source, "source")?, end(self.ends.destination, "destination")?])
    }
}

impl Graphs<'_> {
    /// Edges with their features and, where no targets were found so far, their targets and parts.
    pub(super) fn read_edges(
        &mut self,
        mut table: CsvReader,
        has_pairs: bool,
        collector: &mut Collector<'_>,
        options: &ReadOptions,
    ) -> Result<(), DataError> {
        let level = match collector.target_columns.len() {
            0 if has_pairs => Level::Pair,
            0 => Level::Edge,
            _ => collector.level,
        };
        let EdgeColumns { ends, features, targets, unused, nameless, parts, has_targets } =
            EdgeColumns::find(&table, level, options)?;
        note_unused(&unused, "edges.csv", collector);
        note_nameless(&nameless, "edges.csv", collector);
        if has_targets {
            collector.level = Level::Edge;
            collector.name_target_columns(targets.names())?;
        }
        collector.name_edge_columns(features.iter().map(|(_, name)| name.clone()).collect())?;
        let has_nodes = self.has_nodes;
        let [whole, bare] = [features.len() + targets.len(), 0]
            .map(|cells| bytes_of::<[u32; 2]>(2) + bytes_of::<f64>(2 * cells + 1));
        let only = if ends.graph.is_none() { self.only(&table, options)? } else { String::new() };
        while let Some(row) = table.advance()? {
            let place = table.place();
            let name = ends.graph.map_or(only.as_str(), |column| table.field(column).trim()).to_owned();
            let Some(position) = self.draft(&name, &place, options)? else {
                return Err(row.err().unwrap_or_else(|| unknown_graph(&name, place)));
            };
            let Self { drafts, held, kept, .. } = &mut *self;
            let Some(draft) = drafts.get_mut(position) else { continue };
            let result = row.and_then(|()| {
                let edge = ends.read(&table, draft, has_nodes, &place)?;
                draft.num_edges += 1;
                draft.directions.add(edge);
                within("edges_per_graph", draft.num_edges, options.limits.edges_per_graph)
                    .map_err(DataError::limit(place.clone()))?;
                let keeping = kept.map_or(Keeping::Whole, |kept| kept.keeping(edge));
                let bytes = match keeping {
                    Keeping::Whole => whole,
                    Keeping::Bare => bare,
                    Keeping::Nothing => 0,
                };
                held.grow(bytes).map_err(DataError::limit(place.clone()))?;
                match keeping {
                    Keeping::Whole => draft.edges.push(edge),
                    Keeping::Bare => draft.bare_edges.push(edge),
                    Keeping::Nothing => {}
                }
                for (position, (column, name)) in features.iter().enumerate() {
                    let text = present(table.field(*column), name, &place)?;
                    let value = collector.edge_columns.cell(position, text, &place)?;
                    if keeping == Keeping::Whole {
                        draft.edge_rows.push(value);
                    }
                }
                draft.take_labels(&table, &targets, has_targets.then_some(&parts), collector, &place)
            });
            if let Err(error) = result {
                draft.spoil(error, place)?;
            }
        }
        Ok(())
    }

    /// Pairs of nodes that a model is asked about, with their targets and parts.
    pub(super) fn read_pairs(
        &mut self,
        mut table: CsvReader,
        collector: &mut Collector<'_>,
        options: &ReadOptions,
    ) -> Result<(), DataError> {
        let asked = options.asked_level();
        if asked.is_some_and(|asked| asked != Level::Pair) {
            collector.notes.push("pairs.csv is not used: targets are read at another level".to_owned());
            return Ok(());
        }
        if collector.target_columns.len() > 0 {
            return Err(DataError::malformed(
                table.place(),
                format!("pairs.csv beside targets of another level ({})", collector.level),
                "one level of targets; `--level pair` takes those of pairs.csv",
            ));
        }
        let ends = Ends::find(&table)?;
        let parts = PartColumns::find(&table, &[], options)?;
        let wanted = options.asked_targets();
        let special = ends.special();
        let columns = named_columns(&table, &special)
            .filter(|(_, name)| !parts.names.contains(name) && !ignores_targets(options));
        let (targets, nameless) = wanted_targets(columns, &table, wanted);
        note_nameless(&nameless, "pairs.csv", collector);
        let targets = TargetColumns::new(targets, options);
        collector.level = Level::Pair;
        collector.name_target_columns(targets.names())?;
        let has_nodes = self.has_nodes;
        let cells = bytes_of::<[u32; 2]>(2) + bytes_of::<f64>(2 * targets.len() + 1);
        let only = if ends.graph.is_none() { self.only(&table, options)? } else { String::new() };
        while let Some(row) = table.advance()? {
            let place = table.place();
            self.held.grow(cells).map_err(DataError::limit(place.clone()))?;
            let name = ends.graph.map_or(only.as_str(), |column| table.field(column).trim()).to_owned();
            let Some(&position) = self.by_id.get(&name) else {
                return Err(row.err().unwrap_or_else(|| unknown_graph(&name, place)));
            };
            let Some(draft) = self.drafts.get_mut(position) else { continue };
            let result = row.and_then(|()| {
                let pair = ends.read(&table, draft, has_nodes, &place)?;
                within("edges_per_graph", draft.pairs.len() as u64 + 1, options.limits.edges_per_graph)
                    .map_err(DataError::limit(place.clone()))?;
                draft.pairs.push(pair);
                draft.take_labels(&table, &targets, Some(&parts), collector, &place)
            });
            if let Err(error) = result {
                draft.spoil(error, place)?;
            }
        }
        Ok(())
    }
}

impl Draft {
    /// The targets of the current row, and its part where rows have one.
    fn take_labels(
        &mut self,
        table: &CsvReader,
        targets: &TargetColumns,
        parts: Option<&PartColumns>,
        collector: &mut Collector<'_>,
        place: &Place,
    ) -> Result<(), DataError> {
        targets.take_row(table, collector, place, &mut self.targets)?;
        if let Some(parts) = parts.filter(|parts| parts.are_used()) {
            let part = parts.part(table, place)?;
            self.row_split.get_or_insert_default().push(part);
        }
        Ok(())
    }
}
