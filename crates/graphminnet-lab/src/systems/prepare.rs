//! What the systems need of every graph besides the library's own preparation, computed once before training.

use super::{Body, SystemConfig};
use crate::repro::ReproError;
use graphminnet::train::TrainingData;
use graphminnet_data::spectral::PreparedGraph;
use rayon::prelude::*;
use std::sync::Arc;

impl SystemConfig {
    /// Adds to prepared data what this system reads besides. What is random depends on the seed and on the position of a
    /// graph in the data.
    ///
    /// # Errors
    ///
    /// [`ReproError`] if a graph cannot be prepared.
    pub fn prepare(&self, data: &mut TrainingData, seed: u64) -> Result<(), ReproError> {
        if self.needs_nothing_more() {
            return Ok(());
        }
        let samples = &mut Arc::make_mut(&mut data.dataset).samples;
        samples
            .par_iter_mut()
            .enumerate()
            .try_for_each(|(at, sample)| self.prepare_graph(&mut sample.prepared, seed, at as u64))
    }

    /// The same for one graph.
    ///
    /// # Errors
    ///
    /// [`ReproError`] if it cannot be prepared.
    pub fn prepare_graph(
        &self,
        _graph: &mut PreparedGraph,
        _seed: u64,
        _number: u64,
    ) -> Result<(), ReproError> {
        match &self.system {
            Body::Grit(_) => Ok(()),
        }
    }

    fn needs_nothing_more(&self) -> bool {
        matches!(self.system, Body::Grit(_))
    }
}
