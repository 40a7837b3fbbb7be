//! What a model says about graphs, and how it is written into a table.

use super::{AnswerKind, Description};
use std::ops::Range;

/// Outputs of a model for some graphs, row by row: one row per graph, or per node at node level.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    kind: AnswerKind,
    columns: usize,
    outputs: Vec<f32>,
    /// Rows of all graphs up to and including each.
    ends: Vec<usize>,
}

impl Predictions {
    /// No predictions yet.
    pub(super) fn new(kind: AnswerKind, columns: usize) -> Self {
        Self { kind, columns: columns.max(1), outputs: Vec::new(), ends: Vec::new() }
    }

    /// Adds the outputs of graphs that have the given numbers of rows.
    pub(super) fn push(&mut self, outputs: Vec<f32>, rows: impl IntoIterator<Item = usize>) {
        self.outputs.extend(outputs);
        for rows in rows {
            let end = self.ends.last().copied().unwrap_or(0) + rows;
            self.ends.push(end);
        }
        debug_assert_eq!(self.ends.last().copied().unwrap_or(0), self.num_rows());
    }

    /// Adds the predictions of more graphs by the same model.
    pub fn extend(&mut self, more: Self) {
        let start = self.ends.last().copied().unwrap_or(0);
        self.outputs.extend(more.outputs);
        self.ends.extend(more.ends.into_iter().map(|end| start + end));
    }

    /// What the outputs mean.
    pub fn kind(&self) -> AnswerKind {
        self.kind
    }

    /// Outputs per row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of graphs.
    pub fn num_graphs(&self) -> usize {
        self.ends.len()
    }

    /// Number of rows.
    pub fn num_rows(&self) -> usize {
        self.outputs.len() / self.columns
    }

    /// The rows of a graph; empty if there is no such graph.
    pub fn rows_of(&self, graph: usize) -> Range<usize> {
        let Some(&end) = self.ends.get(graph) else { return 0..0 };
        let start = graph.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        start..end
    }

    /// All outputs, `[rows, columns]`: numbers in the units of the data, or logits.
    pub fn outputs(&self) -> &[f32] {
        &self.outputs
    }

    /// The outputs of a row; empty if there is no such row.
    pub fn row(&self, row: usize) -> &[f32] {
        self.outputs.get(row * self.columns..(row + 1) * self.columns).unwrap_or_default()
    }

    /// What a row says: numbers in the units of the data, or probabilities (of "yes" per target, or of each class).
    pub fn values(&self, row: usize) -> Vec<f64> {
        let outputs = self.row(row);
        match self.kind {
            AnswerKind::Numbers => outputs.iter().map(|output| f64::from(*output)).collect(),
            AnswerKind::YesNo => {
                outputs.iter().map(|output| 1.0 / (1.0 + (-f64::from(*output)).exp())).collect()
            }
            AnswerKind::Classes => softmax(outputs),
        }
    }

    /// The most probable class of a row (the first among equals), where rows have one.
    pub fn class(&self, row: usize) -> Option<usize> {
        let outputs = self.row(row);
        if self.kind != AnswerKind::Classes || outputs.is_empty() {
            return None;
        }
        Some((0..outputs.len()).fold(0, |best, at| if outputs[at] > outputs[best] { at } else { best }))
    }
}

/// Probabilities of the classes.
fn softmax(outputs: &[f32]) -> Vec<f64> {
    let largest = outputs.iter().fold(f32::NEG_INFINITY, |max, value| max.max(*value));
    let powers: Vec<f64> = outputs.iter().map(|value| f64::from(value - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

/// The cells that hold predictions in a table.
///
/// Numbers and yes/no answers (as the probability of yes) have a column `pred_<target>` each; a class has one such
/// column with its name, and the probability of every class in `prob_<class>`.
impl Description {
    /// Names of the columns.
    pub fn prediction_columns(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.schema.targets.iter().map(|target| format!("pred_{target}")).collect();
        if self.answers() == AnswerKind::Classes {
            names.extend((0..self.model.out_dim).map(|class| format!("prob_{}", self.class_name(class))));
        }
        names
    }

    /// The cells of one row.
    pub fn prediction_cells(&self, predictions: &Predictions, row: usize) -> Vec<String> {
        match predictions.kind() {
            // As they are: the shortest text that gives the same 32-bit number.
            AnswerKind::Numbers => predictions.row(row).iter().map(f32::to_string).collect(),
            AnswerKind::YesNo => predictions.values(row).iter().map(f64::to_string).collect(),
            AnswerKind::Classes => {
                let class = predictions.class(row).map(|class| self.class_name(class));
                let probabilities = predictions.values(row);
                class.into_iter().chain(probabilities.iter().map(f64::to_string)).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_sum_to_one() {
        let probabilities = softmax(&[1000.0, 1000.0, -1000.0]);
        assert_eq!(probabilities, vec![0.5, 0.5, 0.0]);
    }

    #[test]
    fn rows_belong_to_graphs_in_order() {
        let mut predictions = Predictions::new(AnswerKind::Classes, 2);
        predictions.push(vec![0.0, 1.0, 2.0, 2.0, 5.0, 4.0], [2, 0, 1]);
        let mut more = Predictions::new(AnswerKind::Classes, 2);
        more.push(vec![1.0, 0.0], [1]);
        predictions.extend(more);
        let rows: Vec<_> = (0..5).map(|graph| predictions.rows_of(graph)).collect();
        assert_eq!(rows, [0..2, 2..2, 2..3, 3..4, 0..0]);
        let classes: Vec<_> = (0..5).map(|row| predictions.class(row)).collect();
        assert_eq!(classes, [Some(1), Some(0), Some(0), Some(0), None]);
        assert_eq!((predictions.num_graphs(), predictions.num_rows()), (4, 4));
    }
}
