//! What models say about graphs: numbers for each graph, or the reason why there are none.

use super::{AnswerKind, Description, PredictError};
use crate::config::Spread;
use crate::task::{class_probabilities, first_largest, probability};
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
    pub(super) form: Form,
    /// The rows of every graph, or why it has none.
    pub(super) graphs: Vec<Result<Range<usize>, PredictError>>,
    /// What the outputs of each model stand for, `[rows, columns]`.
    pub(super) models: Vec<Vec<f32>>,
}

/// What the outputs of a row are.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Form {
    pub(super) kind: AnswerKind,
    /// Outputs per row.
    pub(super) columns: usize,
    /// What is said about numbers besides the numbers themselves.
    pub(super) spread: Spread,
}

impl Form {
    /// Numbers, or probabilities, per row; the first outputs.
    pub(super) fn values(&self) -> usize {
        self.columns / self.spread.blocks()
    }
}

impl Answers {
    pub(super) fn new(
        form: Form,
        graphs: Vec<Result<Range<usize>, PredictError>>,
        models: Vec<Vec<f32>>,
    ) -> Self {
        Self { form, graphs, models }
    }

    /// What models give for the rows of a single graph.
    pub(crate) fn of_one_graph(about: &Description, rows: usize, models: Vec<Vec<f32>>) -> Self {
        let finite = models.iter().flatten().all(|output| output.is_finite());
        let place = if finite { Ok(0..rows) } else { Err(PredictError::NonFinite) };
        Self::new(about.form(), vec![place], models)
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
        self.form.kind
    }

    /// What is said about numbers besides the numbers themselves.
    pub fn spread(&self) -> &Spread {
        &self.form.spread
    }

    /// [Values](AnswerRow::values) per row.
    pub fn columns(&self) -> usize {
        self.form.values()
    }

    /// Whether [deviations](AnswerRow::deviations) say something: several models were asked, or each says how unsure it is.
    pub fn has_deviations(&self) -> bool {
        self.models.len() > 1 || self.form.spread == Spread::Normal
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
        let rows = self.models.first().map_or(0, |outputs| outputs.len() / self.form.columns.max(1));
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

    /// Everything that the first model says about all rows, `[rows, outputs]`.
    #[cfg(feature = "train")]
    pub(super) fn of_first_model(&self) -> &'a [f32] {
        let columns = self.answers.form.columns;
        let first = self.answers.models.first().map_or(&[][..], Vec::as_slice);
        first.get(self.rows.start * columns..self.rows.end * columns).unwrap_or_default()
    }
}

/// What is said about one graph as a whole, or about one of its nodes.
#[derive(Debug, Clone, Copy)]
pub struct AnswerRow<'a> {
    answers: &'a Answers,
    row: usize,
}

impl AnswerRow<'_> {
    /// What each model says: values, and whatever is said besides.
    fn models(&self) -> impl Iterator<Item = (&[f32], &[f32])> {
        let (columns, values) = (self.answers.form.columns, self.answers.form.values());
        let models = self.answers.models.iter();
        models.map(move |outputs| outputs[self.row * columns..][..columns].split_at(values))
    }

    /// Numbers in the units of the data, or probabilities (of "yes" per target, or of each class): the mean over models.
    pub fn values(&self) -> Vec<f64> {
        self.mean(|(values, _)| meaning(self.answers.form.kind, values))
    }

    /// The quantiles besides the median, of the first target, then of the second, and so on, each ascending: the mean over
    /// models. Empty unless the models say them.
    pub fn quantiles(&self) -> Vec<f64> {
        if !matches!(self.answers.form.spread, Spread::Quantiles(_)) {
            return Vec::new();
        }
        let targets = self.answers.form.values().max(1);
        self.mean(|(_, others)| {
            let of =
                |target: usize| others.iter().skip(target).step_by(targets).map(|value| f64::from(*value));
            (0..targets).flat_map(of).collect()
        })
    }

    /// The mean over models of some numbers.
    fn mean(&self, of: impl Fn((&[f32], &[f32])) -> Vec<f64>) -> Vec<f64> {
        let mut models = self.models().map(of);
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

    /// How far apart the models are: the standard deviation of [`AnswerRow::values`] (of the population, ddof = 0). Of models
    /// that say how unsure they are ([`Spread::Normal`]) it is that of the mixture of what they say: the mean of their
    /// variances and the variance of their means, together.
    pub fn deviations(&self) -> Vec<f64> {
        let mean = self.values();
        let mut squares = vec![0.0; mean.len()];
        for (values, others) in self.models() {
            let values = meaning(self.answers.form.kind, values);
            for ((square, value), mean) in squares.iter_mut().zip(values).zip(&mean) {
                *square += (value - mean).powi(2);
            }
            if self.answers.form.spread == Spread::Normal {
                let learnt = squares.iter_mut().zip(others);
                learnt.for_each(|(square, deviation)| *square += f64::from(*deviation).powi(2));
            }
        }
        squares.iter().map(|square| (square / self.answers.models.len().max(1) as f64).sqrt()).collect()
    }

    /// The most probable class (the first among equals), where rows have one.
    pub fn class(&self) -> Option<usize> {
        if self.answers.form.kind != AnswerKind::Classes {
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
            return self.models().flat_map(|(values, _)| values).copied().collect();
        }
        let values = self.values().into_iter();
        match self.answers.form.kind {
            AnswerKind::Numbers => values.map(|value| value as f32).collect(),
            // Both bounded, so that certain models do not make it infinite.
            AnswerKind::Classes => values.map(|p| p.ln().max(-1e6) as f32).collect(),
            AnswerKind::Binary => values.map(|p| ((p / (1.0 - p)).ln().clamp(-1e6, 1e6)) as f32).collect(),
        }
    }
}

/// What the outputs of one model say: numbers as they are, or probabilities.
fn meaning(kind: AnswerKind, outputs: &[f32]) -> Vec<f64> {
    match kind {
        AnswerKind::Numbers => outputs.iter().map(|output| f64::from(*output)).collect(),
        AnswerKind::Binary => outputs.iter().map(|output| probability(*output)).collect(),
        AnswerKind::Classes => class_probabilities(outputs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_belong_to_graphs_in_order_and_a_missing_graph_is_an_error() {
        let form = Form { kind: AnswerKind::Classes, columns: 2, spread: Spread::None };
        let classes = |graphs, outputs| Answers::new(form.clone(), graphs, vec![outputs]);
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

    fn numbers(spread: Spread, columns: usize, models: Vec<Vec<f32>>) -> Answers {
        Answers::new(Form { kind: AnswerKind::Numbers, columns, spread }, vec![Ok(0..1)], models)
    }

    #[test]
    fn variances_of_several_models_and_between_them_add_up() {
        // Two targets: means, then deviations.
        let one = numbers(Spread::Normal, 4, vec![vec![1.0, 2.0, 0.5, 3.0]]);
        let row = one.graph(0).unwrap().rows().next().unwrap();
        assert_eq!(
            (row.values(), row.deviations(), row.outputs()),
            (vec![1.0, 2.0], vec![0.5, 3.0], vec![1.0, 2.0])
        );
        assert!(one.has_deviations() && row.quantiles().is_empty());
        let both = numbers(Spread::Normal, 4, vec![vec![1.0, 2.0, 0.5, 3.0], vec![4.0, 2.0, 1.5, 3.0]]);
        let row = both.graph(0).unwrap().rows().next().unwrap();
        // (0.25 + 2.25)/2 of the variances, 1.5² of the means.
        assert_eq!((row.values(), row.deviations()), (vec![2.5, 2.0], vec![3.5f64.sqrt(), 3.0]));
        assert_eq!(both.columns(), 2);
    }

    #[test]
    fn quantiles_of_several_models_are_their_means_by_target() {
        // Blocks 0.5, 0.1, 0.9 of two targets.
        let spread = Spread::Quantiles(vec![0.1, 0.5, 0.9]);
        let models = vec![vec![2.0, 20.0, 1.0, 10.0, 3.0, 30.0], vec![4.0, 20.0, 1.0, 12.0, 7.0, 30.0]];
        let one = numbers(spread.clone(), 6, models[..1].to_vec());
        let row = one.graph(0).unwrap().rows().next().unwrap();
        assert_eq!((row.outputs(), row.quantiles()), (vec![2.0, 20.0], vec![1.0, 3.0, 10.0, 30.0]));
        assert!(!one.has_deviations());
        let both = numbers(spread, 6, models);
        let row = both.graph(0).unwrap().rows().next().unwrap();
        assert_eq!((row.values(), row.quantiles()), (vec![3.0, 20.0], vec![1.0, 5.0, 11.0, 30.0]));
        assert_eq!(row.deviations(), [1.0, 0.0], "how far the medians are apart");
    }
}
