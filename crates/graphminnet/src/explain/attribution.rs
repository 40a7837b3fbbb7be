//! Gradient × input and integrated gradients.

use super::{ExplainError, Explainer, copies_at_once};
use crate::bundle::{AnswerKind, Description};
use crate::config::LevelKind;
use crate::model::Encoded;
use crate::nn::Pass;
use crate::ops::values;
use crate::task::first_largest;
use graphminnet_data::spectral::{NEVER, PreparedGraph, Stop, unless_stopped};
use std::fmt;
use std::str::FromStr;

/// Steps with which integrated gradients begin, and the most they go to.
const FIRST_STEPS: usize = 32;
/// The most steps that integrated gradients take.
pub const MAX_STEPS: usize = 1024;
/// Steps are doubled until the gap is below this.
const TOLERANCE: f64 = 0.01;

/// How a prediction is shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// The gradient times the input: fast, exact for a linear model.
    Gradient,
    /// The mean gradient on the straight way from the baseline, times the input: complete.
    #[default]
    Integrated,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 2] = [Self::Gradient, Self::Integrated];
}

impl fmt::Display for Method {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Self::Gradient => "gradient",
            Self::Integrated => "integrated",
        })
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|method| method.to_string() == word);
        found.ok_or_else(|| format!("`{}` is not one of gradient, integrated", word.escape_debug()))
    }
}

/// Which number of a prediction is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Target {
    /// The node, for models that answer per node (default: 0).
    pub node: Option<usize>,
    /// The output column; without it the largest of several classes' scores, or the first.
    pub output: Option<usize>,
}

/// A prediction shared out among nodes and edges.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The method.
    pub method: Method,
    /// The node that the prediction is about, for models that answer per node.
    pub node: Option<usize>,
    /// The output column.
    pub output: usize,
    /// The prediction: a number in the units of the data, or a score (logit).
    pub prediction: f64,
    /// What the model says about the same graph with all encoded features zero.
    pub baseline: f64,
    /// The share of every node.
    pub nodes: Vec<f64>,
    /// The share of every directed edge, in the order of the graph; empty for models without edge features.
    pub edges: Vec<f64>,
    /// Gradients that were computed.
    pub steps: usize,
}

impl Explanation {
    /// What several models rest on when they are asked the same about the same graph: the mean of every number. As
    /// exact as its parts, since shares are linear in the prediction. `None` of none, and of explanations of different numbers.
    pub fn mean(explanations: Vec<Self>) -> Option<Self> {
        let count = explanations.len() as f64;
        let about = |one: &Self| (one.method, one.node, one.output);
        if explanations.windows(2).any(|pair| about(&pair[0]) != about(&pair[1])) {
            return None;
        }
        let add = |sums: &mut Vec<f64>, values: &[f64]| {
            // A model without edge features says nothing of edges.
            sums.resize(sums.len().max(values.len()), 0.0);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        };
        let mut mean = explanations.into_iter().reduce(|mut sum, next| {
            add(&mut sum.nodes, &next.nodes);
            add(&mut sum.edges, &next.edges);
            sum.prediction += next.prediction;
            sum.baseline += next.baseline;
            sum.steps += next.steps;
            sum
        })?;
        mean.prediction /= count;
        mean.baseline /= count;
        mean.nodes.iter_mut().chain(&mut mean.edges).for_each(|share| *share /= count);
        Some(mean)
    }

    /// The number that is explained, in words: a target or the score of a class, and the node where there is one.
    pub fn subject(&self, about: &Description) -> String {
        self.subject_at(about, |node| node.to_string())
    }

    /// The same where nodes have names.
    pub fn subject_at(&self, about: &Description, name: impl FnOnce(usize) -> String) -> String {
        let column = match about.answers() {
            AnswerKind::Classes => format!("score of class {}", about.class_name(self.output)),
            AnswerKind::Binary if about.ranked_class().is_some() => {
                format!("score of class {}", about.ranked_class().unwrap_or_default())
            }
            kind => {
                let name = about.schema.targets.get(self.output).cloned().unwrap_or_default();
                if kind == AnswerKind::Binary { format!("score of {name}") } else { name }
            }
        };
        match self.node {
            Some(node) => format!("{column} at node {}", name(node)),
            None => column,
        }
    }

    /// The sum of all shares.
    pub fn total(&self) -> f64 {
        self.nodes.iter().chain(&self.edges).sum()
    }

    /// How far the shares are from adding up to `prediction − baseline`, relative to the larger of that difference and
    /// a thousandth of the size of the prediction and the baseline.
    pub fn gap(&self) -> f64 {
        let difference = self.prediction - self.baseline;
        let size = self.prediction.abs().max(self.baseline.abs());
        (self.total() - difference).abs() / difference.abs().max(1e-3 * size).max(1e-12)
    }
}

/// What one kind of pass gives: outputs of the copies, and sums of gradients over them.
struct Pieces {
    outputs: Vec<f64>,
    nodes: Vec<f64>,
    edges: Vec<f64>,
}

impl Explainer {
    /// Shares a prediction out among the nodes and edges of a graph.
    ///
    /// Integrated gradients take as many steps (a power of two times 32, up to [`MAX_STEPS`]) as it needs to bring the
    /// gap below 1 %.
    ///
    /// # Errors
    ///
    /// [`ExplainError`] if the graph does not fit, is empty, or the target does not exist.
    pub fn explain(
        &self,
        graph: &PreparedGraph,
        target: Target,
        method: Method,
    ) -> Result<Explanation, ExplainError> {
        self.explain_unless(graph, target, method, NEVER)
    }

    /// [`Explainer::explain`], unless it is to stop: asked before every pass through the model.
    ///
    /// # Errors
    ///
    /// As [`Explainer::explain`], and [`ExplainError::Stopped`].
    pub fn explain_unless(
        &self,
        graph: &PreparedGraph,
        target: Target,
        method: Method,
        stop: Stop<'_>,
    ) -> Result<Explanation, ExplainError> {
        let nodes = graph.graph.num_nodes();
        if nodes == 0 {
            return Err(ExplainError::NoNodes);
        }
        let row = self.row(graph, target)?;
        let output = self.output(graph, target, row)?;
        let (factor, term) = self.units.get(output).copied().unwrap_or((1.0, 0.0));
        let ends = self.pieces(graph, row, output, &[0.0, 1.0], stop)?;
        let &[at_zero, at_input] = ends.outputs.as_slice() else { return Err(ExplainError::NoNodes) };
        let mut explanation = Explanation {
            method,
            node: (self.config().level == LevelKind::Node).then_some(row),
            output,
            prediction: at_input * factor + term,
            baseline: at_zero * factor + term,
            nodes: Vec::new(),
            edges: Vec::new(),
            steps: 0,
        };
        let mut steps = if method == Method::Gradient { 1 } else { FIRST_STEPS };
        loop {
            let points: Vec<f64> = match method {
                Method::Gradient => vec![1.0],
                Method::Integrated => (0..steps).map(|at| (at as f64 + 0.5) / steps as f64).collect(),
            };
            let pieces = self.pieces(graph, row, output, &points, stop)?;
            let share = |sum: &f64| sum * factor / steps as f64;
            explanation.nodes = pieces.nodes.iter().map(share).collect();
            explanation.edges = in_graph_order(graph, pieces.edges.iter().map(share).collect());
            explanation.steps = steps;
            if method == Method::Gradient || explanation.gap() < TOLERANCE || steps >= MAX_STEPS {
                break;
            }
            steps *= 2;
        }
        let all = explanation.nodes.iter().chain(&explanation.edges);
        if !all.chain([&explanation.prediction, &explanation.baseline]).all(|value| value.is_finite()) {
            return Err(ExplainError::NonFinite { what: "attribution" });
        }
        Ok(explanation)
    }

    fn row(&self, graph: &PreparedGraph, target: Target) -> Result<usize, ExplainError> {
        let count = self.rows(graph);
        match (self.config().level, target.node) {
            (LevelKind::Graph, Some(node)) => Err(ExplainError::NoNodePrediction { node }),
            (LevelKind::Graph, None) => Ok(0),
            (level @ (LevelKind::Edge | LevelKind::Pair), _) => Err(ExplainError::NotOfLevel { level }),
            (LevelKind::Node, node) => match node.unwrap_or(0) {
                asked if asked < count => Ok(asked),
                asked => Err(ExplainError::OutOfRange { what: "node", asked, count }),
            },
        }
    }

    /// The output that is asked for, or the largest of the row.
    pub(super) fn output(
        &self,
        graph: &PreparedGraph,
        target: Target,
        row: usize,
    ) -> Result<usize, ExplainError> {
        let count = self.predictions;
        if let Some(asked) = target.output {
            return if asked < count {
                Ok(asked)
            } else {
                Err(ExplainError::OutOfRange { what: "output", asked, count })
            };
        }
        if !self.answers_classes {
            return Ok(0);
        }
        let (input, encoded) = self.copies(graph, 1)?;
        let hidden = self.model.embed_encoded(encoded, &input, Pass::Eval);
        let outputs = values(self.model.predict(hidden, &input));
        let outputs = outputs.get(row * count..(row + 1) * count).unwrap_or_default();
        Ok(first_largest(outputs).unwrap_or(0))
    }

    /// Outputs at `point · input` and the sums over the points of input × gradient, per node and per edge of the batch.
    fn pieces(
        &self,
        graph: &PreparedGraph,
        row: usize,
        output: usize,
        points: &[f64],
        stop: Stop<'_>,
    ) -> Result<Pieces, ExplainError> {
        let (node_values, edge_values) = self.encoded_values(graph)?;
        let (rows, columns, hidden) = (self.rows(graph), self.config().out_dim, self.config().hidden);
        let (nodes, edges) = (graph.graph.num_nodes(), graph.graph.num_edges());
        let mut pieces = Pieces {
            outputs: Vec::with_capacity(points.len()),
            nodes: vec![0.0; nodes],
            edges: vec![0.0; if edge_values.is_some() { edges } else { 0 }],
        };
        for some in points.chunks(copies_at_once(graph)) {
            unless_stopped(stop)?;
            let (input, _) = self.copies(graph, some.len())?;
            let scaled = |values: &[f32]| -> Vec<f32> {
                some.iter().flat_map(|point| values.iter().map(move |value| value * *point as f32)).collect()
            };
            let x = self.table(scaled(&node_values)).require_grad();
            // The edges of a batch of copies are those of the first copy, then those of the second, and so on.
            let e = edge_values.as_ref().map(|values| self.table(scaled(values)).require_grad());
            let encoded = Encoded { nodes: x.clone(), edges: e.clone() };
            let last = self.model.embed_encoded(encoded, &input, Pass::Eval);
            let outputs = self.model.predict(last, &input).narrow(1, output, 1).reshape([some.len(), rows]);
            let chosen = outputs.narrow(1, row, 1);
            pieces.outputs.extend(values(chosen.clone()).into_iter().map(f64::from));
            let gradients = chosen.sum().backward();
            let add = |sums: &mut [f64], gradient: Vec<f32>, given: &[f32]| {
                for copy in gradient.chunks(given.len().max(1)) {
                    for ((sum, slopes), features) in
                        sums.iter_mut().zip(copy.chunks(hidden)).zip(given.chunks(hidden))
                    {
                        let products =
                            slopes.iter().zip(features).map(|(a, b)| f64::from(*a) * f64::from(*b));
                        *sum += products.sum::<f64>();
                    }
                }
            };
            if let Some(gradient) = x.grad(&gradients) {
                add(&mut pieces.nodes, values(gradient), &node_values);
            }
            if let (Some(gradient), Some(given)) = (e.and_then(|e| e.grad(&gradients)), &edge_values) {
                add(&mut pieces.edges, values(gradient), given);
            }
        }
        debug_assert!(columns > output);
        Ok(pieces)
    }
}

/// From the order of a batch (by target, otherwise as given) to the order of the graph.
fn in_graph_order(graph: &PreparedGraph, by_target: Vec<f64>) -> Vec<f64> {
    let edges = graph.graph.edges();
    let mut order: Vec<usize> = (0..edges.len()).collect();
    order.sort_by_key(|&at| edges[at][1]);
    let mut given = vec![0.0; by_target.len()];
    for (at, value) in order.into_iter().zip(by_target) {
        if let Some(place) = given.get_mut(at) {
            *place = value;
        }
    }
    given
}
