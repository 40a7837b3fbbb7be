//! Several models that answer the same question: mean and spread of what they say. One model is an ensemble of one.

use super::{AnswerKind, Bundle, BundleError, Description, PredictError, Predictions, locate};
use crate::device::DeviceKind;
use burn::tensor::Device;
use graphminnet_data::Graph;
use graphminnet_data::spectral::PreparedGraph;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// Graphs that are prepared before the first of them is predicted: bounds the memory that prepared graphs take.
const CHUNK: usize = 4096;

/// At least one model; all have the same schema and kind of answer.
#[derive(Debug, Clone)]
pub struct Ensemble {
    first: Bundle,
    others: Vec<Bundle>,
}

impl Ensemble {
    /// Puts models together.
    ///
    /// # Errors
    ///
    /// [`BundleError::Ensemble`] if they answer different questions, [`BundleError::NoMembers`].
    pub fn new(members: Vec<Bundle>) -> Result<Self, BundleError> {
        let mut members = members.into_iter();
        let first = members.next().ok_or(BundleError::NoMembers)?;
        let others: Vec<Bundle> = members.collect();
        for other in &others {
            let (a, b) = (first.description(), other.description());
            let differs = if a.schema.targets != b.schema.targets {
                "targets"
            } else if a.answers() != b.answers() || a.model.out_dim != b.model.out_dim {
                "kinds of answer"
            } else if a.schema.class_names != b.schema.class_names {
                "classes"
            } else if a.schema.level != b.schema.level {
                "levels (graph or node)"
            } else if a.schema.node_columns != b.schema.node_columns
                || a.schema.edge_columns != b.schema.edge_columns
            {
                "columns or vocabularies"
            } else if a.edges != b.edges {
                "rules for the direction of edges"
            } else {
                continue;
            };
            let (first, other) = (first.path().to_owned(), other.path().to_owned());
            return Err(BundleError::Ensemble { first, other, what: differs });
        }
        Ok(Self { first, others })
    }

    /// Reads the models that some paths stand for (see [`locate`]), to be used on the processor.
    ///
    /// # Errors
    ///
    /// As [`Bundle::load`] and [`Ensemble::new`].
    pub fn load(paths: &[impl AsRef<Path>]) -> Result<Self, BundleError> {
        Self::load_on(paths, &DeviceKind::Cpu.open()?)
    }

    /// Reads the models that some paths stand for, to be used on a device (one without differentiation).
    ///
    /// # Errors
    ///
    /// As [`Ensemble::load`].
    pub fn load_on(paths: &[impl AsRef<Path>], device: &Device) -> Result<Self, BundleError> {
        let mut members = Vec::new();
        for path in paths {
            for file in locate(path.as_ref())? {
                members.push(Bundle::load_on(&file, device)?);
            }
        }
        Self::new(members)
    }

    /// The models.
    pub fn members(&self) -> impl Iterator<Item = &Bundle> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Number of models.
    pub fn len(&self) -> usize {
        1 + self.others.len()
    }

    /// Always false: an ensemble has members.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// What the first model says of itself; schema and kind of answer are those of all.
    pub fn description(&self) -> &Description {
        self.first.description()
    }

    /// What the models say about some graphs, in their order. A graph that cannot be predicted has the reason instead.
    ///
    /// # Errors
    ///
    /// [`PredictError`] for what is no fault of a single graph.
    pub fn answer(&self, graphs: &[Arc<Graph>]) -> Result<Answers, PredictError> {
        let members = self.members().map(Bundle::no_predictions).collect();
        let mut all = Answers { graphs: Vec::with_capacity(graphs.len()), members };
        for chunk in graphs.chunks(CHUNK) {
            all.extend(self.answer_chunk(chunk)?);
        }
        Ok(all)
    }

    fn answer_chunk(&self, graphs: &[Arc<Graph>]) -> Result<Answers, PredictError> {
        type Prepared = Rc<Vec<Result<PreparedGraph, PredictError>>>;
        let mut prepared: Vec<(&Bundle, Prepared)> = Vec::with_capacity(self.len());
        for member in self.members() {
            let alike = |(earlier, _): &&(&Bundle, Prepared)| {
                earlier.description().model == member.description().model
            };
            let shared = prepared.iter().find(alike).map(|(_, graphs)| Rc::clone(graphs));
            prepared.push((member, shared.unwrap_or_else(|| Rc::new(member.prepare(graphs)))));
        }
        let failure = |graph: usize| {
            prepared.iter().find_map(|(_, prepared)| prepared.get(graph)?.as_ref().err().cloned())
        };
        let mut predicted = 0;
        let mut places: Vec<Result<usize, PredictError>> = Vec::with_capacity(graphs.len());
        for graph in 0..graphs.len() {
            places.push(match failure(graph) {
                Some(error) => Err(error),
                None => {
                    predicted += 1;
                    Ok(predicted - 1)
                }
            });
        }
        let mut members = Vec::with_capacity(prepared.len());
        for (member, prepared) in &prepared {
            let usable = prepared.iter().zip(&places).filter(|(_, place)| place.is_ok());
            let graphs: Vec<&PreparedGraph> = usable.filter_map(|(graph, _)| graph.as_ref().ok()).collect();
            members.push(member.predict_prepared(&graphs)?);
        }
        for place in &mut places {
            let Ok(at) = *place else { continue };
            let finite = |member: &Predictions| {
                member.rows_of(at).all(|row| member.row(row).iter().all(|output| output.is_finite()))
            };
            if !members.iter().all(finite) {
                *place = Err(PredictError::NonFinite);
            }
        }
        Ok(Answers { graphs: places, members })
    }
}

/// What the members of an ensemble say about some graphs.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers {
    /// For every graph its position among those that were predicted, or why it was not.
    graphs: Vec<Result<usize, PredictError>>,
    /// What each member says about the graphs that were predicted.
    members: Vec<Predictions>,
}

impl Answers {
    /// Number of graphs, those without a prediction included.
    pub fn num_graphs(&self) -> usize {
        self.graphs.len()
    }

    /// The predictions of each member, over the graphs that have one.
    pub fn members(&self) -> &[Predictions] {
        &self.members
    }

    /// What the outputs mean.
    pub fn kind(&self) -> AnswerKind {
        self.members.first().map_or(AnswerKind::Numbers, Predictions::kind)
    }

    /// The rows of a graph.
    ///
    /// # Errors
    ///
    /// Why the graph has none.
    pub fn rows_of(&self, graph: usize) -> Result<Range<usize>, &PredictError> {
        match self.graphs.get(graph) {
            Some(Ok(at)) => Ok(self.members.first().map_or(0..0, |member| member.rows_of(*at))),
            Some(Err(error)) => Err(error),
            None => Ok(0..0),
        }
    }

    /// Mean over the members of what a row says: numbers in the units of the data, or probabilities.
    pub fn values(&self, row: usize) -> Vec<f64> {
        let Some((first, others)) = self.members.split_first() else { return Vec::new() };
        let mut sums = first.values(row);
        for other in others {
            for (sum, value) in sums.iter_mut().zip(other.values(row)) {
                *sum += value;
            }
        }
        if !others.is_empty() {
            let count = self.members.len() as f64;
            sums.iter_mut().for_each(|sum| *sum /= count);
        }
        sums
    }

    /// Standard deviation over the members (of the population, ddof = 0) of what a row says.
    pub fn deviations(&self, row: usize) -> Vec<f64> {
        let mean = self.values(row);
        let mut squares = vec![0.0; mean.len()];
        for member in &self.members {
            for ((square, value), mean) in squares.iter_mut().zip(member.values(row)).zip(&mean) {
                *square += (value - mean).powi(2);
            }
        }
        squares.iter().map(|square| (square / self.members.len().max(1) as f64).sqrt()).collect()
    }

    /// The most probable class of a row (the first among equals), where rows have one.
    pub fn class(&self, row: usize) -> Option<usize> {
        if let [only] = self.members.as_slice() {
            return only.class(row);
        }
        let values = self.values(row);
        if self.kind() != AnswerKind::Classes || values.is_empty() {
            return None;
        }
        Some((0..values.len()).fold(0, |best, at| if values[at] > values[best] { at } else { best }))
    }

    /// What metrics look at, `[columns]`: numbers, log-odds of yes, or scores of the classes.
    pub fn outputs(&self, row: usize) -> Vec<f32> {
        if let [only] = self.members.as_slice() {
            return only.row(row).to_vec();
        }
        let values = self.values(row).into_iter();
        match self.kind() {
            AnswerKind::Numbers | AnswerKind::Classes => values.map(|value| value as f32).collect(),
            // Bounded, so that certain members do not make it infinite.
            AnswerKind::YesNo => values.map(|p| ((p / (1.0 - p)).ln().clamp(-1e6, 1e6)) as f32).collect(),
        }
    }

    /// Adds the answers to more graphs by the same ensemble.
    pub fn extend(&mut self, more: Self) {
        let start = self.members.first().map_or(0, Predictions::num_graphs);
        self.graphs.extend(more.graphs.into_iter().map(|place| place.map(|at| start + at)));
        for (member, more) in self.members.iter_mut().zip(more.members) {
            member.extend(more);
        }
    }
}
