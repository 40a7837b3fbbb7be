//! A model over graphs: in parallel where they are prepared, in batches where they are predicted.

use super::{Bundle, PredictError, Predictions};
use crate::config::LevelKind;
use crate::model::{ModelInput, check_graph};
use crate::nn::Pass;
use burn::tensor::Tensor;
use graphminnet_data::Graph;
use graphminnet_data::spectral::{PrepareOptions, PreparedGraph, prepare_graph};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Graphs that are prepared before the first of them is predicted: bounds the memory that prepared graphs take.
const CHUNK: usize = 4096;
/// Graphs and nodes of one pass through the model, so that features of nodes stay in the cache; a larger graph forms a
/// batch of its own.
const BATCH_GRAPHS: usize = 128;
const BATCH_NODES: usize = 2048;

/// Vectors that a model gives to nodes or graphs.
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    /// Numbers per vector.
    pub width: usize,
    /// The vectors, `[rows, width]`.
    pub values: Vec<f32>,
    /// The rows of each graph.
    pub rows: Vec<Range<usize>>,
}

impl Bundle {
    /// Predictions for some graphs, in their order.
    ///
    /// Node and edge features must have the columns of the schema ([`Description::schema`](super::Description)).
    ///
    /// # Errors
    ///
    /// [`PredictError::InGraph`] for the first graph that does not fit the model; see [`Bundle::prepare`] for how to go
    /// on without it.
    pub fn predict(&self, graphs: &[Arc<Graph>]) -> Result<Predictions, PredictError> {
        let mut all = self.no_predictions();
        self.in_chunks(graphs, |prepared| {
            all.extend(self.predict_prepared(prepared)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Everything that the model wants to know of each graph, computed in parallel; an error spoils one graph only.
    pub fn prepare(&self, graphs: &[Arc<Graph>]) -> Vec<Result<PreparedGraph, PredictError>> {
        let options = PrepareOptions::from(self.description.preparation);
        graphs
            .par_iter()
            .map(|graph| {
                let prepared = prepare_graph(graph, &options)?;
                check_graph(&self.description.model, &prepared.graph)?;
                Ok(prepared)
            })
            .collect()
    }

    /// Predictions for graphs that were prepared for this model ([`Bundle::prepare`]), in their order.
    ///
    /// # Errors
    ///
    /// [`PredictError::Input`] if a graph does not fit the model.
    pub fn predict_prepared(&self, graphs: &[&PreparedGraph]) -> Result<Predictions, PredictError> {
        let node_level = self.description.model.level == LevelKind::Node;
        let mut all = self.no_predictions();
        let rows = |graph: &&PreparedGraph| if node_level { graph.graph.num_nodes() } else { 1 };
        self.for_each_batch(
            graphs,
            |input| self.model.forward(input, Pass::Eval),
            |batch, mut outputs| {
                if let Some(scaler) = &self.description.target_scaler {
                    scaler.restore(&mut outputs);
                }
                all.push(outputs, batch.iter().map(rows));
            },
        )?;
        Ok(all)
    }

    /// Vectors of nodes after the last layer, `[nodes, hidden]`; for whole graphs (`level`), pooled as before the head.
    ///
    /// # Errors
    ///
    /// As [`Bundle::predict`].
    pub fn embed(&self, graphs: &[Arc<Graph>], level: LevelKind) -> Result<Embeddings, PredictError> {
        let width = self.description.model.hidden;
        let mut all = Embeddings { width, values: Vec::new(), rows: Vec::with_capacity(graphs.len()) };
        self.in_chunks(graphs, |prepared| {
            let more = self.embed_prepared(prepared, level)?;
            let start = all.rows.last().map_or(0, |rows| rows.end);
            all.values.extend(more.values);
            all.rows.extend(more.rows.into_iter().map(|rows| start + rows.start..start + rows.end));
            Ok(())
        })?;
        Ok(all)
    }

    /// [`Bundle::embed`] for graphs that were prepared for this model.
    ///
    /// # Errors
    ///
    /// [`PredictError::Input`] if a graph does not fit the model.
    pub fn embed_prepared(
        &self,
        graphs: &[&PreparedGraph],
        level: LevelKind,
    ) -> Result<Embeddings, PredictError> {
        let width = self.description.model.hidden;
        let mut all = Embeddings { width, values: Vec::new(), rows: Vec::with_capacity(graphs.len()) };
        let mut end = 0;
        let forward = |input: &ModelInput| match level {
            LevelKind::Node => self.model.embed(input, Pass::Eval),
            LevelKind::Graph => self.model.embed_graphs(input, Pass::Eval),
        };
        self.for_each_batch(graphs, forward, |batch, values| {
            all.values.extend(values);
            for graph in batch {
                let rows = if level == LevelKind::Node { graph.graph.num_nodes() } else { 1 };
                all.rows.push(end..end + rows);
                end += rows;
            }
        })?;
        Ok(all)
    }

    /// Predictions for no graphs, to be extended.
    pub fn no_predictions(&self) -> Predictions {
        Predictions::new(self.description.answers(), self.description.model.out_dim)
    }

    fn in_chunks(
        &self,
        graphs: &[Arc<Graph>],
        mut work: impl FnMut(&[&PreparedGraph]) -> Result<(), PredictError>,
    ) -> Result<(), PredictError> {
        for (number, chunk) in graphs.chunks(CHUNK).enumerate() {
            let mut prepared = Vec::with_capacity(chunk.len());
            for (at, result) in self.prepare(chunk).into_iter().enumerate() {
                prepared.push(result.map_err(|source| PredictError::InGraph {
                    graph: number * CHUNK + at,
                    source: Box::new(source),
                })?);
            }
            work(&prepared.iter().collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Runs the model over batches, as many at a time as there are threads, and hands the results over in order.
    ///
    /// A batch per thread keeps all of them busy while batches are put together, which a single one cannot.
    fn for_each_batch(
        &self,
        graphs: &[&PreparedGraph],
        forward: impl Fn(&ModelInput) -> Tensor<2> + Sync,
        mut take: impl FnMut(&[&PreparedGraph], Vec<f32>),
    ) -> Result<(), PredictError> {
        let batches: Vec<&[&PreparedGraph]> = batches(graphs).collect();
        for some in batches.chunks(rayon::current_num_threads().max(1)) {
            let outputs: Vec<Vec<f32>> =
                some.par_iter().map(|batch| self.pass(batch, &forward)).collect::<Result<_, _>>()?;
            for (batch, outputs) in some.iter().zip(outputs) {
                take(batch, outputs);
            }
        }
        Ok(())
    }

    fn pass(
        &self,
        batch: &[&PreparedGraph],
        forward: impl FnOnce(&ModelInput) -> Tensor<2>,
    ) -> Result<Vec<f32>, PredictError> {
        let input = ModelInput::from_prepared(&self.description.model, batch, &self.device)?;
        let values = forward(&input).into_data().try_into_vec();
        Ok(values.unwrap_or_else(|_| unreachable!("the model computes with 32-bit floats")))
    }
}

/// Cuts graphs into batches, in order. What a model says about a graph does not depend on its batch.
fn batches<'a, 'b>(graphs: &'a [&'b PreparedGraph]) -> impl Iterator<Item = &'a [&'b PreparedGraph]> {
    let mut rest = graphs;
    std::iter::from_fn(move || {
        let mut nodes = 0;
        let fitting = rest.iter().take(BATCH_GRAPHS).take_while(|graph| {
            nodes += graph.graph.num_nodes();
            nodes <= BATCH_NODES
        });
        let count = fitting.count().max(1);
        let (batch, after) = rest.split_at_checked(count)?;
        rest = after;
        Some(batch)
    })
}
