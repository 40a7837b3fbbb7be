//! The targets of a batch: rows per graph, node, edge or pair. Some of them may not count.

use super::Batch;
use crate::dataset::Level;
use crate::graph::GraphError;

/// Targets of a batch.
///
/// A value that is not known is NaN. A row that is known but must not be used now (it belongs to another part of the
/// data) is switched off by the mask.
#[derive(Debug, Clone, PartialEq)]
pub struct Targets {
    /// What a row belongs to.
    pub level: Level,
    /// Number of target columns.
    pub columns: usize,
    /// Values `[rows, columns]`; rows in the order of the batch's graphs, nodes, edges (sorted by target) or pairs.
    pub values: Vec<f32>,
    /// Which rows count, `[rows]`; `None` if all do.
    pub mask: Option<Vec<bool>>,
}

/// Targets of one graph, in its own order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TargetRows<'a> {
    /// Values `[rows, columns]`.
    pub values: &'a [f32],
    /// Which rows count, `[rows]`; `None` if all do.
    pub mask: Option<&'a [bool]>,
}

impl Targets {
    /// The values, NaN where one is not known or does not count.
    pub fn into_counted(self) -> Vec<f32> {
        let Self { columns, mut values, mask, .. } = self;
        for (row, counts) in values.chunks_mut(columns.max(1)).zip(mask.unwrap_or_default()) {
            if !counts {
                row.fill(f32::NAN);
            }
        }
        values
    }
}

impl Batch {
    /// The batch with targets, given graph by graph in the order of [`Batch::collate`].
    ///
    /// # Errors
    ///
    /// [`GraphError::Length`] unless there is a row for every graph, node, edge or pair.
    pub fn with_targets(
        mut self,
        level: Level,
        columns: usize,
        graphs: &[TargetRows<'_>],
    ) -> Result<Self, GraphError> {
        let wrong = |graph, what, found, expected| Err(GraphError::Length { graph, what, found, expected });
        let layout = &self.layout;
        if graphs.len() != layout.num_graphs() {
            return wrong(
                graphs.len().min(layout.num_graphs()),
                "targets",
                graphs.len(),
                layout.num_graphs(),
            );
        }
        let masked = graphs.iter().any(|rows| rows.mask.is_some());
        let (mut values, mut mask) = (Vec::new(), Vec::new());
        for (graph, targets) in graphs.iter().enumerate() {
            let rows = layout.rows_of(graph, level);
            if targets.values.len() != rows.saturating_mul(columns) {
                return wrong(graph, "targets", targets.values.len(), rows.saturating_mul(columns));
            }
            if let Some(found) = targets.mask.map(<[bool]>::len).filter(|&found| found != rows) {
                return wrong(graph, "masked rows", found, rows);
            }
            let counts = |row: usize| targets.mask.is_none_or(|mask| mask[row]);
            if level == Level::Edge {
                let value = |row: usize| &targets.values[row * columns..(row + 1) * columns];
                values.extend(layout.edges_of(graph).flat_map(value));
                mask.extend(layout.edges_of(graph).filter(|_| masked).map(counts));
            } else {
                values.extend_from_slice(targets.values);
                mask.extend((0..rows).filter(|_| masked).map(counts));
            }
        }
        self.targets = Some(Targets { level, columns, values, mask: masked.then_some(mask) });
        Ok(self)
    }
}
