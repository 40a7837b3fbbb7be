//! `nodes.csv`: a row for each node, with its features and, where nodes have them, its targets and part.

use super::super::csv::CsvReader;
use super::columns::{
    TargetColumns, are_elsewhere, is_feature, is_target_name, is_unused, note_nameless, note_unused,
};
use super::parts::PartColumns;
use super::{Graphs, ignores_targets, named_columns, present, require, unknown_graph};
use crate::budget::bytes_of;
use crate::limits::within;
use crate::schema::Collector;
use crate::{DataError, Level, ReadOptions};

/// The columns of `nodes.csv` by what they are for.
pub(super) struct NodeColumns {
    pub(super) graph: Option<usize>,
    pub(super) id: usize,
    pub(super) features: Vec<(usize, String)>,
    pub(super) targets: TargetColumns,
    /// Names of those that are neither.
    unused: Vec<String>,
    /// Numbers of those without a name, which nobody asked for.
    nameless: Vec<String>,
    parts: PartColumns,
}

impl NodeColumns {
    pub(super) fn find(table: &CsvReader, options: &ReadOptions) -> Result<Self, DataError> {
        let graph = table.column_called(&["graph_id"]);
        let id = require(table, &["node_id", "id"])?;
        let (mut features, mut targets) = (Vec::new(), Vec::new());
        let (mut unused, mut nameless) = (Vec::new(), Vec::new());
        let known = options.schema.as_ref().map_or(&[][..], |schema| &schema.node_columns);
        let parts = PartColumns::find(table, known, options)?;
        for (column, name) in named_columns(table, &[graph, Some(id)]) {
            if parts.names.contains(&name) {
                continue;
            }
            let is_target = match options.asked_targets() {
                _ if are_elsewhere(Level::Node, options) => false,
                Some(wanted) => wanted.contains(&name),
                None => is_target_name(&name),
            };
            match is_target {
                true => targets.push((column, name)),
                false if table.is_nameless(column) && !is_feature(&name, known, options) => {
                    nameless.push(name);
                }
                false if is_unused(&name, known, options) => unused.push(name),
                false => features.push((column, name)),
            }
        }
        if ignores_targets(options) {
            targets.clear();
        }
        let targets = TargetColumns::new(targets, options);
        Ok(Self { graph, id, features, targets, unused, nameless, parts })
    }
}

impl Graphs<'_> {
    /// Nodes with their features and, where graphs have no targets, their targets and parts.
    pub(super) fn read_nodes(
        &mut self,
        mut table: CsvReader,
        collector: &mut Collector<'_>,
        options: &ReadOptions,
    ) -> Result<(), DataError> {
        let NodeColumns { graph: graph_column, id, features, targets, unused, nameless, parts } =
            NodeColumns::find(&table, options)?;
        let has_graph_targets = collector.target_columns.len() > 0;
        if has_graph_targets && !targets.is_empty() {
            return Err(DataError::malformed(
                table.place(),
                "targets in nodes.csv as well as in graphs.csv",
                "one level of targets: `--level graph` takes those of graphs.csv, `--level node` those of nodes.csv",
            ));
        }
        if !targets.is_empty() {
            collector.level = Level::Node;
            collector.name_target_columns(targets.names())?;
        }
        note_unused(&unused, "nodes.csv", collector);
        note_nameless(&nameless, "nodes.csv", collector);
        collector.name_node_columns(features.iter().map(|(_, name)| name.clone()).collect())?;
        let only = if graph_column.is_none() { self.only(&table, options)? } else { String::new() };
        let label_bytes = bytes_of::<f64>(2 * targets.len() + 1);
        let feature_bytes = bytes_of::<f64>(2 * features.len());
        while let Some(row) = table.advance()? {
            let place = table.place();
            self.held.grow(label_bytes).map_err(DataError::limit(place.clone()))?;
            let name = graph_column.map_or(only.as_str(), |column| table.field(column).trim()).to_owned();
            let Some(position) = self.draft(&name, &place, options)? else {
                return Err(row.err().unwrap_or_else(|| unknown_graph(&name, place)));
            };
            let Self { drafts, held, kept, .. } = &mut *self;
            let Some(draft) = drafts.get_mut(position) else { continue };
            let result = row.and_then(|()| {
                let node = draft.node_ids.len();
                within("nodes_per_graph", u64::from(node) + 1, options.limits.nodes_per_graph)
                    .map_err(DataError::limit(place.clone()))?;
                let is_new = draft.node_ids.add(table.field(id).trim(), held);
                if !is_new.map_err(DataError::limit(place.clone()))? {
                    let place = place.clone().in_column("node_id");
                    return Err(DataError::value(place, table.field(id), "unique within its graph"));
                }
                let is_kept = kept.is_none_or(|kept| kept.has(node));
                if is_kept {
                    held.grow(feature_bytes).map_err(DataError::limit(place.clone()))?;
                }
                for (position, (column, name)) in features.iter().enumerate() {
                    let text = present(table.field(*column), name, &place)?;
                    // A column is judged by all of its cells, also by those that are not kept.
                    let value = collector.node_columns.cell(position, text, &place)?;
                    if is_kept {
                        draft.nodes.push(value);
                    }
                }
                targets.take_row(&table, collector, &place, &mut draft.targets)?;
                if parts.are_used() {
                    let part = parts.part(&table, &place)?;
                    draft.node_split.get_or_insert_default().push(part);
                }
                Ok(())
            });
            if let Err(error) = result {
                draft.spoil(error, place)?;
            }
        }
        Ok(())
    }
}
