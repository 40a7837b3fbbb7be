//! What models say about graphs: numbers for each graph, or the reason why there are none.

use super::{AnswerKind, Description, PredictError};
use crate::task::probability;
use graphminnet_data::{Graph, InputRow};
use std::ops::Range;
use std::sync::Arc;

/// Something that a model may be asked about: a graph, or a row of a file that may not hold one.
pub trait MaybeGraph: Sync {
    /// The graph.
    ///
    /// # Errors
    ///
    /// Why there is none.
    fn graph(&self) -> Result<&Arc<Graph>, PredictError>;
}

impl MaybeGraph for Arc<Graph> {
    fn graph(&self) -> Result<&Arc<Graph>, PredictError> {
        Ok(self)
    }
}

impl MaybeGraph for InputRow {
    fn graph(&self) -> Result<&Arc<Graph>, PredictError> {
        self.graph.as_ref().map_err(|bad| PredictError::Unusable { reason: bad.to_string() })
    }
}

/// What one model or several say about some graphs, in the order in which they were given.
///
/// A graph that could not be answered keeps its place and has a reason; whatever is answered is finite.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers {
    kind: AnswerKind,
    pub(super) columns: usize,
    /// The rows of every graph, or why it has none.
    pub(super) graphs: Vec<Result<Range<usize>, PredictError>>,
    /// The outputs of each model, `[rows, columns]`.
    pub(super) models: Vec<Vec<f32>>,
}

impl Answers {
    pub(super) fn new(
        kind: AnswerKind,
        columns: usize,
        graphs: Vec<Result<Range<usize>, PredictError>>,
        models: Vec<Vec<f32>>,
    ) -> Self {
        Self { kind, columns, graphs, models }
    }

    /// What models give for the rows of a single graph.
    pub(crate) fn of_one_graph(about: &Description, rows: usize, models: Vec<Vec<f32>>) -> Self {
        let finite = models.iter().flatten().all(|output| output.is_finite());
        let place = if finite { Ok(0..rows) } else { Err(PredictError::NonFinite) };
        Self::new(about.answers(), about.model.out_dim, vec![place], models)
    }

    /// Number of graphs, those without an answer included.
    pub fn len(&self) -> usize {
        self.graphs.len()
    }

    /// Whether nothing was asked.
    pub fn is_empty(&self) -> bool {
        self.graphs.is_empty()
    }

    /// What the outputs mean; vectors are numbers.
    pub fn kind(&self) -> AnswerKind {
        self.kind
    }

    /// Outputs per row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of models that were asked.
    pub fn num_models(&self) -> usize {
        self.models.len()
    }

    /// What is said about one graph.
    ///
    /// # Errors
    ///
    /// Why nothing is said; [`PredictError::NoSuchGraph`] beyond the last graph.
    pub fn graph(&self, graph: usize) -> Result<Answer<'_>, PredictError> {
        match self.graphs.get(graph) {
            Some(Ok(rows)) => Ok(Answer { answers: self, rows: rows.clone() }),
            Some(Err(error)) => Err(error.clone()),
            None => Err(PredictError::NoSuchGraph { graph, graphs: self.len() }),
        }
    }

    /// What is said about each graph, as [`Answers::graph`].
    pub fn iter(&self) -> impl Iterator<Item = Result<Answer<'_>, PredictError>> {
        (0..self.len()).map(|graph| self.graph(graph))
    }

    /// Adds what the same models say about more graphs.
    pub(super) fn extend(&mut self, more: Self) {
        let rows = self.models.first().map_or(0, |outputs| outputs.len() / self.columns.max(1));
        let moved = |range: Range<usize>| rows + range.start..rows + range.end;
        self.graphs.extend(more.graphs.into_iter().map(|place| place.map(moved)));
        for (outputs, more) in self.models.iter_mut().zip(more.models) {
            outputs.extend(more);
        }
    }
}

/// What is said about one graph: one row, or a row per node from models that answer per node.
#[derive(Debug, Clone)]
pub struct Answer<'a> {
    answers: &'a Answers,
    rows: Range<usize>,
}

impl<'a> Answer<'a> {
    /// Number of rows.
    pub fn num_rows(&self) -> usize {
        self.rows.len()
    }

    /// The rows.
    pub fn rows(&self) -> impl Iterator<Item = AnswerRow<'a>> + use<'a> {
        let answers = self.answers;
        self.rows.clone().map(move |row| AnswerRow { answers, row })
    }

    /// [`AnswerRow::values`] of all rows, one after the other.
    pub fn values(&self) -> Vec<f64> {
        self.rows().flat_map(|row| row.values()).collect()
    }

    /// [`AnswerRow::outputs`] of all rows, one after the other.
    pub fn outputs(&self) -> Vec<f32> {
        self.rows().flat_map(|row| row.outputs()).collect()
    }
}

/// What is said about one graph as a whole, or about one of its nodes.
#[derive(Debug, Clone, Copy)]
pub struct AnswerRow<'a> {
    answers: &'a Answers,
    row: usize,
}

impl AnswerRow<'_> {
    /// The outputs of each model.
    fn models(&self) -> impl Iterator<Item = &[f32]> {
        let columns = self.answers.columns;
        self.answers.models.iter().map(move |outputs| &outputs[self.row * columns..][..columns])
    }

    /// Numbers in the units of the data, or probabilities (of "yes" per target, or of each class): the mean over models.
    pub fn values(&self) -> Vec<f64> {
        let mut models = self.models().map(|outputs| meaning(self.answers.kind, outputs));
        let mut sums = models.next().unwrap_or_default();
        for other in models {
            sums.iter_mut().zip(other).for_each(|(sum, value)| *sum += value);
        }
        let count = self.answers.models.len();
        if count > 1 {
            sums.iter_mut().for_each(|sum| *sum /= count as f64);
        }
        sums
    }

    /// How far apart the models are: the standard deviation of [`AnswerRow::values`] (of the population, ddof = 0).
    pub fn deviations(&self) -> Vec<f64> {
        let mean = self.values();
        let mut squares = vec![0.0; mean.len()];
        for outputs in self.models() {
            let values = meaning(self.answers.kind, outputs);
            for ((square, value), mean) in squares.iter_mut().zip(values).zip(&mean) {
                *square += (value - mean).powi(2);
            }
        }
        squares.iter().map(|square| (square / self.answers.models.len().max(1) as f64).sqrt()).collect()
    }

    /// The most probable class (the first among equals), where rows have one.
    pub fn class(&self) -> Option<usize> {
        if self.answers.kind != AnswerKind::Classes {
            return None;
        }
        // Scores of one model are finer than the probabilities that they round to.
        match self.answers.models.as_slice() {
            [_] => first_largest(&self.outputs()),
            _ => first_largest(&self.values()),
        }
    }

    /// What metrics look at: numbers, log-odds of yes, or scores of the classes; as they are from a single model.
    pub fn outputs(&self) -> Vec<f32> {
        if self.answers.models.len() == 1 {
            return self.models().flatten().copied().collect();
        }
        let values = self.values().into_iter();
        match self.answers.kind {
            AnswerKind::Numbers | AnswerKind::Classes => values.map(|value| value as f32).collect(),
            // Bounded, so that certain models do not make it infinite.
            AnswerKind::Binary => values.map(|p| ((p / (1.0 - p)).ln().clamp(-1e6, 1e6)) as f32).collect(),
        }
    }
}

fn first_largest<T: PartialOrd + Copy>(values: &[T]) -> Option<usize> {
    (0..values.len()).reduce(|best, at| if values[at] > values[best] { at } else { best })
}

/// What the outputs of one model say: numbers as they are, or probabilities.
fn meaning(kind: AnswerKind, outputs: &[f32]) -> Vec<f64> {
    match kind {
        AnswerKind::Numbers => outputs.iter().map(|output| f64::from(*output)).collect(),
        AnswerKind::Binary => outputs.iter().map(|output| probability(*output)).collect(),
        AnswerKind::Classes => softmax(outputs),
    }
}

/// Probabilities of the classes.
fn softmax(outputs: &[f32]) -> Vec<f64> {
    let largest = outputs.iter().fold(f32::NEG_INFINITY, |max, value| max.max(*value));
    let powers: Vec<f64> = outputs.iter().map(|value| f64::from(value - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_sum_to_one_even_of_scores_that_are_far_apart() {
        assert_eq!(softmax(&[1000.0, 1000.0, -1000.0]), [0.5, 0.5, 0.0]);
    }

    #[test]
    fn rows_belong_to_graphs_in_order_and_a_missing_graph_is_an_error() {
        let classes = |graphs, outputs| Answers::new(AnswerKind::Classes, 2, graphs, vec![outputs]);
        let lost = PredictError::NonFinite;
        let mut answers = classes(
            vec![Ok(0..2), Ok(2..2), Err(lost.clone()), Ok(2..3)],
            vec![0.0, 1.0, 2.0, 2.0, 5.0, 4.0],
        );
        answers.extend(classes(vec![Ok(0..1)], vec![1.0, 1.5]));
        let said = |graph| -> Result<Vec<_>, _> {
            answers.graph(graph).map(|answer| answer.rows().map(|row| row.class()).collect())
        };
        assert_eq!(said(0), Ok(vec![Some(1), Some(0)]));
        assert_eq!(said(1), Ok(vec![]), "a graph without nodes");
        assert_eq!(said(2), Err(lost));
        assert_eq!((said(3), said(4)), (Ok(vec![Some(0)]), Ok(vec![Some(1)])));
        assert_eq!(said(5), Err(PredictError::NoSuchGraph { graph: 5, graphs: 5 }));
    }
}
