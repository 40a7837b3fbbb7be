//! The tables of a single graph once more, to be hashed as a whole by someone who keeps some parts of it.

use super::edges::EdgeColumns;
use super::in_parts::{changed, directions, spoilt};
use super::node_ids::NodeIds;
use super::nodes::NodeColumns;
use super::{open_table, present};
use crate::cache::{Structure, StructureHasher};
use crate::content::{ContentHash, ContentSizes};
use crate::formats::Tree;
use crate::formats::csv::CsvReader;
use crate::graph::Features;
use crate::schema::{Collector, ColumnSet, Finisher, Table, both_ways};
use crate::{DataError, Place};

/// Rows that are turned into features at a time.
const ROWS: usize = 4096;

/// The tables once more, for those who want to see all rows and keep none.
pub(super) struct Again<'a, 'b> {
    pub(super) tree: &'a dyn Tree,
    pub(super) collector: &'a mut Collector<'b>,
    pub(super) finisher: &'a Finisher,
    pub(super) place: &'a Place,
}

impl Again<'_, '_> {
    /// The hash of all but the targets, and that of the structure.
    pub(super) fn hash(
        &mut self,
        id: &str,
        sizes: ContentSizes,
        node_ids: &NodeIds,
    ) -> Result<(ContentHash, Structure), DataError> {
        let both_ways = self.collector.is_both_ways();
        let mut content = ContentHash::default();
        content.begin(id, sizes);
        let mut structure = StructureHasher::new(sizes.nodes, sizes.edges);
        let (mut table, columns) = self.edges()?;
        let mut edges = 0;
        while let Some(row) = table.advance()? {
            row?;
            for edge in directions(columns.ends(&table, node_ids)?, both_ways) {
                edges += 1;
                content.edge(edge);
                structure.edge(edge);
            }
        }
        if edges != sizes.edges {
            return Err(changed(self.place));
        }
        // Categories of all nodes come before the numbers of the first.
        let [categories, numbers] = sizes.node_columns;
        if categories > 0 {
            self.each_node(|features| content.categories(features))?;
        }
        if numbers > 0 {
            self.each_node(|features| content.numbers(features))?;
        }
        let [categories, numbers] = sizes.edge_columns;
        if categories > 0 {
            self.each_edge(node_ids, |features| content.categories(features))?;
        }
        if numbers > 0 {
            self.each_edge(node_ids, |features| content.numbers(features))?;
        }
        Ok((content, structure.finish()))
    }

    fn table(&self, name: &str) -> Result<CsvReader, DataError> {
        open_table(self.tree, name, self.collector.options)?.ok_or_else(|| changed(self.place))
    }

    fn edges(&self) -> Result<(CsvReader, EdgeColumns), DataError> {
        let table = self.table("edges.csv")?;
        let columns = EdgeColumns::beside_nodes(&table, self.collector.options)?;
        Ok((table, columns))
    }

    /// Hands over the features of all nodes, some rows at a time.
    fn each_node(&mut self, mut take: impl FnMut(&Features)) -> Result<(), DataError> {
        let mut table = self.table("nodes.csv")?;
        let columns = NodeColumns::find(&table, self.collector.options)?;
        let mut rows = Table::default();
        loop {
            let row = table.advance()?;
            if rows.rows == ROWS || row.is_none() {
                take(&self.finisher.node_features(self.collector, &rows, self.place).map_err(spoilt)?);
                rows = Table::default();
            }
            let Some(row) = row else { return Ok(()) };
            row?;
            cells(&table, &columns.features, &mut self.collector.node_columns, &mut rows)?;
        }
    }

    /// The same of all edges, also of those that follow the written ones as their reverse.
    fn each_edge(&mut self, node_ids: &NodeIds, mut take: impl FnMut(&Features)) -> Result<(), DataError> {
        let (mut table, columns) = self.edges()?;
        let (mut rows, mut ends) = (Table::default(), Vec::new());
        loop {
            let row = table.advance()?;
            if rows.rows == ROWS || row.is_none() {
                let written =
                    self.finisher.edge_features(self.collector, &rows, self.place).map_err(spoilt)?;
                match self.collector.is_both_ways() {
                    true => take(&both_ways(&ends, &written).1),
                    false => take(&written),
                }
                (rows, ends) = (Table::default(), Vec::new());
            }
            let Some(row) = row else { return Ok(()) };
            row?;
            ends.push(columns.ends(&table, node_ids)?);
            cells(&table, &columns.features, &mut self.collector.edge_columns, &mut rows)?;
        }
    }
}

/// Adds the cells of the current row.
fn cells(
    table: &CsvReader,
    features: &[(usize, String)],
    columns: &mut ColumnSet,
    rows: &mut Table,
) -> Result<(), DataError> {
    let place = table.place();
    for (position, (column, name)) in features.iter().enumerate() {
        let text = present(table.field(*column), name, &place)?;
        rows.values.push(columns.cell(position, text, &place)?);
    }
    rows.rows += 1;
    Ok(())
}
