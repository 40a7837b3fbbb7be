//! The way from graphs to answers: in parallel where graphs are prepared, in batches where models see them.

use super::answers::{Answers, Form, MaybeGraph};
use super::{AnswerKind, Bundle, DropoutSamples, PredictError};
use crate::config::{LevelKind, ModelConfig, Spread};
use crate::model::{InputError, ModelInput, check_graph};
use crate::nn::Pass;
use crate::ops::values;
use graphminnet_data::batch::BatchLimit;
use graphminnet_data::spectral::{NEVER, PreparedGraph, Stop, Stopped, prepare_graph_unless, unless_stopped};
use graphminnet_data::{Level, Schema};
use rayon::prelude::*;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// Graphs that are prepared before the first of them is answered: bounds the memory that prepared graphs take.
const CHUNK: usize = 4096;
/// Graphs and nodes of one pass through the model, so that features of nodes stay in the cache; a larger graph forms a
/// batch of its own.
const BATCH: BatchLimit = BatchLimit { graphs: 128, nodes: 2048, edges: usize::MAX };

/// What is asked about each graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Question {
    /// What the model was trained to say.
    Prediction,
    /// The same several times, with dropout.
    Samples(DropoutSamples),
    /// The vectors of nodes after the last layer, or of graphs before the head.
    Vectors(LevelKind),
}

impl Question {
    fn form(self, bundle: &Bundle) -> Form {
        match self {
            Self::Prediction | Self::Samples(_) => bundle.description.form(),
            Self::Vectors(_) => Form {
                kind: AnswerKind::Numbers,
                columns: bundle.description.model.hidden,
                spread: Spread::None,
            },
        }
    }

    fn rows(self, bundle: &Bundle, graph: &PreparedGraph) -> usize {
        let level = match self {
            Self::Prediction | Self::Samples(_) => bundle.description.model.level,
            Self::Vectors(level) => level,
        };
        Level::from(level).rows(&graph.graph)
    }

    /// How often every model is asked.
    fn times(self) -> usize {
        match self {
            Self::Samples(samples) => samples.samples,
            Self::Prediction | Self::Vectors(_) => 1,
        }
    }

    /// The pass in which a model is asked about the batch that begins with a graph.
    fn pass(self, model: usize, time: usize, graph: usize) -> Pass {
        match self {
            Self::Samples(samples) => samples.pass(model, time, graph),
            Self::Prediction | Self::Vectors(_) => Pass::Eval,
        }
    }

    /// The same about graphs that come after so many others.
    fn after(self, graphs: usize) -> Self {
        match self {
            Self::Samples(samples) => {
                Self::Samples(DropoutSamples { before: samples.before + graphs as u64, ..samples })
            }
            other => other,
        }
    }
}

/// Everything that a model needs of each graph, computed in parallel; an error spoils one graph only. Molecules that were given
/// as graphs get the descriptors that data of this schema has.
pub(crate) fn prepare(
    config: &ModelConfig,
    schema: Option<&Schema>,
    graphs: &[impl MaybeGraph],
    stop: Stop<'_>,
) -> Vec<Result<PreparedGraph, PredictError>> {
    let options = config.prepare_options();
    graphs
        .par_iter()
        .map(|graph| {
            let graph = graph.graph()?;
            let described = schema.and_then(|schema| schema.described(graph)).map(Arc::new);
            let prepared = prepare_graph_unless(described.as_ref().unwrap_or(graph), &options, stop)?;
            check_graph(config, &prepared.graph)?;
            Ok(prepared)
        })
        .collect()
}

/// Asks models about graphs, unless it is to stop. The first model's kind of answer and number of
/// outputs are those of all.
pub(super) fn ask(
    first: &Bundle,
    others: &[Bundle],
    graphs: &[impl MaybeGraph],
    question: Question,
    stop: Stop<'_>,
) -> Result<Answers, Stopped> {
    let mut all = none(first, (1 + others.len()) * question.times(), question);
    for (number, chunk) in graphs.chunks(CHUNK).enumerate() {
        // Models with the same configuration want to know the same of a graph.
        let mut prepared: Vec<(&Bundle, Rc<Vec<_>>)> = Vec::with_capacity(1 + others.len());
        for model in std::iter::once(first).chain(others) {
            let about = &model.description;
            let is_alike = |earlier: &Bundle| {
                let earlier = &earlier.description;
                earlier.model == about.model && earlier.schema.molecules == about.schema.molecules
            };
            let alike = prepared.iter().find(|(earlier, _)| is_alike(earlier));
            let graphs = alike.map(|(_, graphs)| Rc::clone(graphs));
            prepared.push((
                model,
                graphs.unwrap_or_else(|| Rc::new(prepare(&about.model, Some(&about.schema), chunk, stop))),
            ));
        }
        unless_stopped(stop)?;
        let given: Vec<_> = prepared
            .iter()
            .map(|(model, graphs)| (*model, graphs.iter().map(Result::as_ref).collect()))
            .collect();
        all.extend(ask_prepared(&given, question.after(number * CHUNK), stop)?);
    }
    Ok(all)
}

/// Work that nothing stops.
pub(super) fn unstopped<T>(work: impl FnOnce(Stop<'_>) -> Result<T, Stopped>) -> T {
    work(NEVER).unwrap_or_else(|Stopped| unreachable!("nobody stops it"))
}

/// The answers of a number of models to no graphs.
fn none(first: &Bundle, models: usize, question: Question) -> Answers {
    Answers::new(question.form(first), Vec::new(), vec![Vec::new(); models])
}

/// A model with the graphs that were prepared for it, or why they could not be.
type Given<'a> = (&'a Bundle, Vec<Result<&'a PreparedGraph, &'a PredictError>>);

/// Asks models about graphs that were prepared for each of them.
fn ask_prepared(given: &[Given<'_>], question: Question, stop: Stop<'_>) -> Result<Answers, Stopped> {
    let Some((first, graphs)) = given.first() else {
        let nothing = Form { kind: AnswerKind::Numbers, columns: 0, spread: Spread::None };
        return Ok(Answers::new(nothing, vec![], vec![]));
    };
    let form = question.form(first);
    let columns = form.columns;
    let mut end = 0;
    let mut places: Vec<Result<Range<usize>, PredictError>> = Vec::with_capacity(graphs.len());
    for (at, graph) in graphs.iter().enumerate() {
        let failed = given.iter().find_map(|(_, graphs)| graphs.get(at)?.err());
        places.push(match (failed, *graph) {
            (Some(error), _) | (None, Err(error)) => Err(error.clone()),
            (None, Ok(graph)) => {
                let start = end;
                end += question.rows(first, graph);
                Ok(start..end)
            }
        });
    }
    let usable: Vec<usize> = (0..places.len()).filter(|&at| places[at].is_ok()).collect();
    let mut models = Vec::with_capacity(given.len() * question.times());
    let asked = given.iter().enumerate();
    let asked = asked.flat_map(|given| (0..question.times()).map(move |time| (given, time)));
    for ((number, (model, graphs)), time) in asked {
        let graphs: Vec<&PreparedGraph> = usable.iter().filter_map(|&at| graphs[at].ok()).collect();
        let mut outputs = Vec::with_capacity(end * columns);
        let pass = |graph: usize| question.pass(number, time, graph);
        model.for_each_batch(&graphs, question, pass, stop, |batch, found| match found {
            Ok(values) => outputs.extend(values),
            Err(error) => {
                let rows: usize = graphs[batch.clone()].iter().map(|graph| question.rows(first, graph)).sum();
                outputs.resize(outputs.len() + rows * columns, f32::NAN);
                usable[batch].iter().for_each(|&at| places[at] = Err(error.clone().into()));
            }
        })?;
        models.push(outputs);
    }
    for place in &mut places {
        let Ok(rows) = place else { continue };
        let numbers = rows.start * columns..rows.end * columns;
        let finite = |outputs: &Vec<f32>| outputs[numbers.clone()].iter().all(|output| output.is_finite());
        if !models.iter().all(finite) {
            *place = Err(PredictError::NonFinite);
        }
    }
    Ok(Answers::new(form, places, models))
}

/// Asks models for predictions about graphs that were prepared for all of them.
#[cfg(feature = "train")]
pub(super) fn ask_same<'a>(
    models: impl Iterator<Item = &'a Bundle>,
    graphs: &[&'a PreparedGraph],
    stop: Stop<'_>,
) -> Result<Answers, Stopped> {
    let given: Vec<Given<'_>> =
        models.map(|model| (model, graphs.iter().map(|graph| Ok(*graph)).collect())).collect();
    ask_prepared(&given, Question::Prediction, stop)
}

impl Bundle {
    /// What the model says about some graphs, in their order: an [ensemble](super::Ensemble) of one.
    ///
    /// Node and edge features must have the columns of the schema ([`Description::schema`](super::Description)). A graph
    /// that cannot be answered keeps its place and has a reason ([`Answers::graph`]).
    pub fn predict(&self, graphs: &[impl MaybeGraph]) -> Answers {
        unstopped(|stop| ask(self, &[], graphs, Question::Prediction, stop))
    }

    /// [`Bundle::predict`] for graphs that were prepared for this model, unless it is to stop.
    #[cfg(feature = "train")]
    pub(crate) fn predict_prepared(
        &self,
        graphs: &[&PreparedGraph],
        stop: Stop<'_>,
    ) -> Result<Answers, Stopped> {
        ask_same(std::iter::once(self), graphs, stop)
    }

    /// Vectors of nodes after the last layer, `[nodes, hidden]`; for whole graphs (`level`), pooled as before the head. Edges
    /// and pairs have none but those of their ends.
    ///
    /// A vector is a row of [outputs](super::AnswerRow::outputs). A graph without one keeps its place and has a reason.
    pub fn embed(&self, graphs: &[impl MaybeGraph], level: LevelKind) -> Answers {
        let level = if level == LevelKind::Graph { level } else { LevelKind::Node };
        unstopped(|stop| ask(self, &[], graphs, Question::Vectors(level), stop))
    }

    /// Runs the model over batches, as many at a time as there are threads, and hands the results over in order.
    ///
    /// A batch per thread keeps all of them busy while batches are put together, which a single one cannot.
    fn for_each_batch(
        &self,
        graphs: &[&PreparedGraph],
        question: Question,
        pass_of: impl Fn(usize) -> Pass + Sync,
        stop: Stop<'_>,
        mut take: impl FnMut(Range<usize>, Result<Vec<f32>, InputError>),
    ) -> Result<(), Stopped> {
        let sizes = graphs.iter().map(|graph| (graph.graph.num_nodes(), graph.graph.num_edges()));
        // What a model says about a graph does not depend on its batch, unless there is dropout.
        let batches = BATCH.cut(sizes);
        for some in batches.chunks(rayon::current_num_threads().max(1)) {
            let pass = |batch: &Range<usize>| {
                self.pass(&graphs[batch.clone()], question, pass_of(batch.start), stop)
            };
            let outputs: Vec<_> = some.par_iter().map(pass).collect::<Result<_, _>>()?;
            for (batch, outputs) in some.iter().zip(outputs) {
                take(batch.clone(), outputs);
            }
        }
        Ok(())
    }

    /// What the model says about a batch, or why the batch cannot be put together.
    pub(super) fn pass(
        &self,
        batch: &[&PreparedGraph],
        question: Question,
        pass: Pass,
        stop: Stop<'_>,
    ) -> Result<Result<Vec<f32>, InputError>, Stopped> {
        let input = match ModelInput::from_prepared(&self.description.model, batch, &self.device) {
            Ok(input) => input,
            Err(error) => return Ok(Err(error)),
        };
        let nodes = self.model.embed_unless(&input, pass, stop)?;
        let tensor = match question {
            Question::Prediction | Question::Samples(_) => self.model.predict(nodes, &input),
            Question::Vectors(LevelKind::Graph) => self.model.pooled(nodes, &input),
            Question::Vectors(_) => nodes,
        };
        let mut values = values(tensor);
        let is_prediction = !matches!(question, Question::Vectors(_));
        if is_prediction && self.description.model.level == LevelKind::Edge {
            let topology = input.structure.topology();
            values = topology.in_given_order(&values, self.description.model.out_dim);
        }
        if is_prediction {
            self.description.read_outputs(&mut values);
        }
        Ok(Ok(values))
    }
}
