//! Why a model said what it said: which nodes and edges a prediction rests on, and from how far away.
//!
//! Everything is measured on the **encoded** input, that is on what the first layer sees: the node features after the
//! node encoder with the positional encodings beside them, and the edge features after the edge encoder. There
//! categories have gradients too, and "nothing" has a meaning: the zero vector is the baseline.
//!
//! * [`Explainer::explain`] shares a prediction out among nodes and edges, by gradient × input or by integrated
//!   gradients. The latter is complete: the shares add up to the difference between the prediction and the one for the
//!   baseline, and [`Explanation::gap`] says how nearly.
//! * [`Explainer::range`] says from how far away a prediction's gradient comes. The gradient of a prediction with
//!   respect to the encoded features of node `v` is the sum over all nodes `u` of what passes through the last hidden
//!   features of `u`: `(∂y/∂h_u)·(∂h_u/∂x_v)`. The length of that vector is counted at the hop distance between `u`
//!   and `v`; the shares of all distances add up to 1. A model that only passes messages along edges has nothing
//!   beyond as many hops as it has layers.
//!
//! What the eigenvectors and eigenvalues contribute inside the block is part of the model here, not of the input.
//!
//! ```no_run
//! use graphminnet::Bundle;
//! use graphminnet::data::Graph;
//! use graphminnet::explain::{Explainer, Method, Target};
//! use std::sync::Arc;
//!
//! let graph = Arc::new(Graph::from_edges(3, vec![[0, 1], [1, 0], [1, 2], [2, 1]])?);
//! let bundle = Bundle::load("best.gmn".as_ref())?;
//! let explainer = Explainer::new(&bundle);
//! let graphs = explainer.prepare(&[graph]);
//! let prepared = graphs[0].as_ref().map_err(Clone::clone)?;
//! let explanation = explainer.explain(prepared, Target::default(), Method::Integrated)?;
//! println!("{} = {} + {:?}", explanation.prediction, explanation.baseline, explanation.nodes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attribution;
mod range;

pub use attribution::{Explanation, MAX_STEPS, Method, Target};
pub use range::{RangeOptions, RangeReport};

use crate::bundle::{AnswerKind, Bundle, Ensemble, MaybeGraph, PredictError, prepare};
use crate::config::{LevelKind, ModelConfig};
use crate::model::{Encoded, GraphMinNet, InputError, ModelInput};
use crate::nn::Pass;
use crate::ops::values;
use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use graphminnet_data::Schema;
use graphminnet_data::spectral::{NEVER, PreparedGraph, Stop, Stopped};
use thiserror::Error;

/// Nodes of one pass: copies of a graph are run through the model together up to this many.
const NODES_AT_ONCE: usize = 8192;

/// Why there is no explanation.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// The graph has no prediction.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// The graph does not fit the model.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The graph has no nodes, so no prediction rests on any.
    #[error("a graph without nodes has nothing to explain")]
    NoNodes,
    /// The model answers for something whose predictions are not explained.
    #[error("the model answers per {level}: only predictions for graphs and for nodes can be explained")]
    NotOfLevel {
        /// What it answers for.
        level: LevelKind,
    },
    /// A row (node) or output that does not exist.
    #[error("{what} {asked} was asked for, there are {count} (0 to {})", .count.saturating_sub(1))]
    OutOfRange {
        /// `node` or `output`.
        what: &'static str,
        /// The number that was given.
        asked: usize,
        /// How many there are.
        count: usize,
    },
    /// The model answers once per graph.
    #[error("node {node} was asked for, but the model gives one prediction per graph")]
    NoNodePrediction {
        /// The node.
        node: usize,
    },
    /// It was told to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// A prediction or a gradient is not a finite number.
    #[error("the {what} is not finite")]
    NonFinite {
        /// What.
        what: &'static str,
    },
}

/// A model that can be differentiated.
#[derive(Debug, Clone)]
pub struct Explainer {
    model: GraphMinNet,
    device: Device,
    /// Of the data that the model was trained on, where it is known.
    schema: Option<Schema>,
    /// Factor and term that bring each output to the units of the data; empty for outputs as they are.
    units: Vec<(f64, f64)>,
    /// Whether outputs are scores of classes, so that the largest is what the model says.
    answers_classes: bool,
    /// Outputs that are predictions, the first ones; others say how unsure they are.
    predictions: usize,
}

impl Explainer {
    /// For a trained model, whose weights it shares.
    pub fn new(bundle: &Bundle) -> Self {
        let about = bundle.description();
        // Gradients are taken with respect to the encoded input alone.
        let model = bundle.model().clone().no_grad().train();
        let units = about.target_scaler.as_ref().map_or_else(Vec::new, |scaler| {
            scaler.deviation.iter().copied().zip(scaler.mean.iter().copied()).collect()
        });
        let answers_classes = about.answers() == AnswerKind::Classes;
        let predictions = about.model.out_dim / about.spread().blocks();
        let (device, schema) = (bundle.device().clone().autodiff(), Some(about.schema.clone()));
        Self { model, device, schema, units, answers_classes, predictions }
    }

    /// For a model on a device that differentiates ([`Device::autodiff`]); outputs are taken as they are, and the first
    /// is explained where none is named.
    pub fn of_model(model: GraphMinNet, device: Device) -> Self {
        let predictions = model.config().out_dim;
        Self { model, device, schema: None, units: Vec::new(), answers_classes: false, predictions }
    }

    /// The configuration of the model.
    pub fn config(&self) -> &ModelConfig {
        self.model.config()
    }

    /// Everything that the model needs of each graph, computed in parallel; an error spoils one graph only.
    pub fn prepare(&self, graphs: &[impl MaybeGraph]) -> Vec<Result<PreparedGraph, PredictError>> {
        prepare(self.config(), self.schema.as_ref(), graphs, NEVER)
    }

    /// A batch of equal graphs with what the first layer sees of it.
    fn copies(&self, graph: &PreparedGraph, count: usize) -> Result<(ModelInput, Encoded), ExplainError> {
        let input = ModelInput::from_prepared(self.config(), &vec![graph; count], &self.device)?;
        let encoded = self.model.encode(&input, Pass::Eval);
        Ok((input, encoded))
    }

    /// The encoded features of one graph, as numbers: nodes, and edges in the order of the batch.
    fn encoded_values(&self, graph: &PreparedGraph) -> Result<(Vec<f32>, Option<Vec<f32>>), ExplainError> {
        let (_, encoded) = self.copies(graph, 1)?;
        Ok((values(encoded.nodes), encoded.edges.map(values)))
    }

    /// Rows of outputs that a graph has.
    fn rows(&self, graph: &PreparedGraph) -> usize {
        if self.config().level == LevelKind::Node { graph.graph.num_nodes() } else { 1 }
    }

    /// A table with the width of the hidden features.
    fn table(&self, values: Vec<f32>) -> Tensor<2> {
        let hidden = self.config().hidden;
        let rows = values.len() / hidden.max(1);
        Tensor::from_data(TensorData::new(values, [rows, hidden]), &self.device)
    }
}

/// What several models rest on when they answer together, as [`Explanation::mean`]. Of several classes the one is explained that
/// they choose together, unless the target names another. Ends early when it is to stop.
///
/// # Errors
///
/// As [`Explainer::explain_unless`]; why the graph has no prediction.
pub fn explain_together(
    ensemble: &Ensemble,
    graph: &impl MaybeGraph,
    target: Target,
    method: Method,
    stop: Stop<'_>,
) -> Result<Explanation, ExplainError> {
    let output = match target.output {
        Some(output) => Some(output),
        None => {
            let answers = ensemble.answer_unless(std::slice::from_ref(graph), stop)?;
            answers.graph(0)?.rows().nth(target.node.unwrap_or(0)).and_then(|row| row.class())
        }
    };
    let target = Target { output, ..target };
    let mut explanations = Vec::with_capacity(ensemble.len());
    for member in ensemble.members() {
        let explainer = Explainer::new(member);
        for prepared in explainer.prepare(std::slice::from_ref(graph)) {
            explanations.push(explainer.explain_unless(&prepared?, target, method, stop)?);
        }
    }
    Explanation::mean(explanations).ok_or(ExplainError::NoNodes)
}

/// How many copies of a graph go through the model together.
fn copies_at_once(graph: &PreparedGraph) -> usize {
    (NODES_AT_ONCE / graph.graph.num_nodes().max(1)).max(1)
}
