//! Models that answer for pairs of nodes: any pairs of a graph, how good they are at links, and the likeliest new ones.

use super::infer::prepare;
use super::{AnswerRow, Answers, Ensemble, PredictError};
use crate::model::ModelInput;
use crate::nn::Pass;
use crate::ops::{RowIndex, values};
use crate::task::links::{LinkQuestion, LinkScores, judge};
use burn::tensor::Tensor;
use graphminnet_data::links::Negatives;
use graphminnet_data::spectral::{NEVER, PreparedGraph, Stop, unless_stopped};
use graphminnet_data::{Dataset, Graph};
use std::sync::Arc;

/// Pairs that go through the head of a model at a time: bounds the memory.
const AT_ONCE: usize = 1 << 16;

/// Pairs of a graph beyond which the likeliest are not looked for among all of them.
const MOST_PAIRS: usize = 500_000_000;

/// A graph that went through the models of an ensemble, to be asked about any of its pairs.
#[derive(Debug)]
pub struct PairQuestions<'a> {
    ensemble: &'a Ensemble,
    num_nodes: usize,
    /// What the layers of each model make of the nodes, `[nodes, hidden]`.
    nodes: Vec<Tensor<2>>,
}

impl<'a> PairQuestions<'a> {
    /// Takes a graph through the layers of the models. Pairs that it has itself play no role.
    ///
    /// # Errors
    ///
    /// [`PredictError`] if the graph does not fit the models, or these do not answer for pairs.
    pub fn new(ensemble: &'a Ensemble, graph: &Arc<Graph>) -> Result<Self, PredictError> {
        Self::new_unless(ensemble, graph, NEVER)
    }

    /// [`PairQuestions::new`], unless it is to stop: asked before every layer and every step of a long preparation.
    ///
    /// # Errors
    ///
    /// As [`PairQuestions::new`], and [`PredictError::Stopped`].
    pub fn new_unless(
        ensemble: &'a Ensemble,
        graph: &Arc<Graph>,
        stop: Stop<'_>,
    ) -> Result<Self, PredictError> {
        ensemble.check_pairs()?;
        let bare = Arc::new(Graph::clone(graph).with_pairs(Vec::new())?);
        let mut prepared: Vec<Arc<PreparedGraph>> = Vec::with_capacity(ensemble.len());
        let mut nodes = Vec::with_capacity(ensemble.len());
        for member in ensemble.members() {
            let config = &member.description().model;
            let before = ensemble.members().zip(&prepared);
            let alike = before.into_iter().find(|(earlier, _)| earlier.description().model == *config);
            let graph = match alike {
                Some((_, graph)) => Arc::clone(graph),
                None => {
                    let found = prepare(config, None, std::slice::from_ref(&bare), stop).pop();
                    unless_stopped(stop)?;
                    Arc::new(found.ok_or(PredictError::NonFinite).flatten()?)
                }
            };
            let input = ModelInput::from_prepared(config, &[&*graph], &member.device)?;
            nodes.push(member.model.embed_unless(&input, Pass::Eval, stop)?);
            prepared.push(graph);
        }
        Ok(Self { ensemble, num_nodes: graph.num_nodes(), nodes })
    }

    /// What the models say about pairs: the answer for one graph, with a row for every pair.
    ///
    /// # Errors
    ///
    /// [`PredictError`] if a pair names a missing node, or an answer is no finite number.
    pub fn answer(&self, pairs: &[[u32; 2]]) -> Result<Answers, PredictError> {
        self.answer_unless(pairs, NEVER)
    }

    /// [`PairQuestions::answer`], unless it is to stop: asked between some pairs and the next.
    ///
    /// # Errors
    ///
    /// As [`PairQuestions::answer`], and [`PredictError::Stopped`].
    pub fn answer_unless(&self, pairs: &[[u32; 2]], stop: Stop<'_>) -> Result<Answers, PredictError> {
        Graph::from_edges(self.num_nodes, Vec::new())?.with_pairs(pairs.to_vec())?;
        let about = self.ensemble.description();
        let mut models = Vec::with_capacity(self.nodes.len());
        for (member, nodes) in self.ensemble.members().zip(&self.nodes) {
            let mut outputs = Vec::with_capacity(pairs.len() * about.model.out_dim);
            for pairs in pairs.chunks(AT_ONCE) {
                unless_stopped(stop)?;
                let end =
                    |at: usize| RowIndex::new(self.num_nodes, pairs.iter().map(|ends| ends[at]).collect());
                outputs.extend(values(member.model.predict_pairs(nodes.clone(), [&end(0), &end(1)])));
            }
            member.description().read_outputs(&mut outputs);
            if !outputs.iter().all(|output| output.is_finite()) {
                return Err(PredictError::NonFinite);
            }
            models.push(outputs);
        }
        Ok(Answers::new(about.form(), vec![Ok(0..pairs.len())], models))
    }

    /// The first value of every pair: of links, the probability.
    ///
    /// # Errors
    ///
    /// As [`PairQuestions::answer`].
    pub fn scores(&self, pairs: &[[u32; 2]]) -> Result<Vec<f64>, PredictError> {
        self.scores_unless(pairs, NEVER)
    }

    fn scores_unless(&self, pairs: &[[u32; 2]], stop: Stop<'_>) -> Result<Vec<f64>, PredictError> {
        let answers = self.answer_unless(pairs, stop)?;
        let first = |row: AnswerRow<'_>| row.values().first().copied().unwrap_or(f64::NAN);
        Ok(answers.graph(0)?.rows().map(first).collect())
    }

    /// The likeliest pairs without an edge, best first, with their scores; equal ones in the order of their nodes.
    ///
    /// # Errors
    ///
    /// As [`PairQuestions::answer`]; [`PredictError::TooManyPairs`] for a graph that is too large to look at all of them.
    pub fn likeliest(&self, graph: &Graph, count: usize) -> Result<Vec<([u32; 2], f64)>, PredictError> {
        self.likeliest_unless(graph, count, NEVER)
    }

    /// [`PairQuestions::likeliest`], unless it is to stop: asked between some pairs and the next.
    ///
    /// # Errors
    ///
    /// As [`PairQuestions::likeliest`], and [`PredictError::Stopped`].
    pub fn likeliest_unless(
        &self,
        graph: &Graph,
        count: usize,
        stop: Stop<'_>,
    ) -> Result<Vec<([u32; 2], f64)>, PredictError> {
        let nodes = graph.num_nodes();
        if nodes.saturating_mul(nodes) > MOST_PAIRS {
            return Err(PredictError::TooManyPairs { nodes });
        }
        let directed = !self.ensemble.description().model.ends_symmetric;
        let bare = graph.clone().with_pairs(Vec::new())?;
        let free = Negatives::new(&bare, directed);
        let nodes = graph.num_nodes() as u32;
        let mut best: Vec<([u32; 2], f64)> = Vec::new();
        let mut pairs = Vec::new();
        let take = |pairs: &mut Vec<[u32; 2]>, best: &mut Vec<([u32; 2], f64)>| {
            best.extend(pairs.iter().copied().zip(self.scores_unless(pairs, stop)?));
            best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            best.truncate(count);
            pairs.clear();
            Ok::<(), PredictError>(())
        };
        for first in 0..nodes {
            let start = if directed { 0 } else { first + 1 };
            pairs.extend((start..nodes).map(|second| [first, second]).filter(|pair| free.is_free(*pair)));
            if pairs.len() >= AT_ONCE {
                take(&mut pairs, &mut best)?;
            }
        }
        take(&mut pairs, &mut best)?;
        Ok(best)
    }
}

impl Ensemble {
    fn check_pairs(&self) -> Result<(), PredictError> {
        match self.description().schema.level {
            graphminnet_data::Level::Pair => Ok(()),
            level => Err(PredictError::NotOfPairs { level }),
        }
    }

    /// How good the models are at the links of a data set: pairs with the target 1 among others with 0. Whether links have a
    /// direction is the models' to say, not the question's.
    ///
    /// # Errors
    ///
    /// [`PredictError`] if a graph cannot be answered; [`PredictError::NotLinks`] unless there is one binary target.
    pub fn score_links(&self, dataset: &Dataset, question: LinkQuestion) -> Result<LinkScores, PredictError> {
        self.check_pairs()?;
        let about = self.description();
        if about.answers() != super::AnswerKind::Binary || about.schema.num_targets() != 1 {
            return Err(PredictError::NotLinks);
        }
        let mut asked: Option<(usize, PairQuestions<'_>)> = None;
        judge(
            dataset,
            LinkQuestion { directed: !about.model.ends_symmetric, ..question },
            |at, graph, pairs| {
                if asked.as_ref().is_none_or(|(graph, _)| *graph != at) {
                    asked = Some((at, PairQuestions::new(self, graph)?));
                }
                match &asked {
                    Some((_, questions)) => questions.scores(pairs),
                    None => Ok(Vec::new()),
                }
            },
        )
    }
}
