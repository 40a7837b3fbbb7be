//! What the systems need of every graph besides the library's own preparation, computed once before training.

use super::exphormer::{EXPANDER, expander_edges};
use super::gred::largest_distance;
use super::{Body, Positions, SystemConfig, spectrum};
use crate::repro::ReproError;
use graphminnet::train::TrainingData;
use graphminnet_data::spectral::PreparedGraph;
use graphminnet_data::{Features, Graph, Pairs};
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
        if self.normalised_pairs() == 0 && self.expander() == 0 {
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
        prepared: &mut PreparedGraph,
        seed: u64,
        number: u64,
    ) -> Result<(), ReproError> {
        if self.normalised_pairs() > 0 {
            spectrum::add_eigenpairs(prepared, self.normalised_pairs())?;
        }
        if self.expander() > 0 {
            let edges = expander_edges(prepared.graph.num_nodes(), self.expander(), seed, number)?;
            let features = Features::none(edges.len());
            prepared.encodings.pairs.insert(EXPANDER.to_owned(), Pairs::new(edges, features)?);
        }
        Ok(())
    }

    /// The configuration with what it leaves to the training graphs: the number of shells.
    #[must_use]
    pub fn fitted(mut self, training: &[&Graph]) -> Self {
        if let Body::Gred(own) = &mut self.system
            && own.shells == 0
        {
            own.shells = 1 + largest_distance(training);
        }
        self
    }

    /// Eigenpairs of the normalised Laplacian.
    fn normalised_pairs(&self) -> usize {
        match (&self.positions, &self.system) {
            (Positions::Spectrum(own), _) => own.pairs,
            (_, Body::Exphormer(own)) => own.gate_eigenvectors,
            _ => 0,
        }
    }

    /// Permutations of the expander.
    fn expander(&self) -> usize {
        match &self.system {
            Body::Exphormer(own) => own.expander,
            _ => 0,
        }
    }
}
