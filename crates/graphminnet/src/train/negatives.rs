//! Link prediction: pairs without a link, drawn anew in every epoch.

use super::{TrainError, TrainingData};
use crate::config::ConfigError;
use graphminnet_data::links::Negatives;
use graphminnet_data::preparation::{PreparedDataset, PreparedSample};
use graphminnet_data::spectral::PreparedGraph;
use graphminnet_data::{Graph, Level, Split, Task, rng};
use std::sync::Arc;

impl TrainingData {
    /// Fails if pairs are to be drawn for data that is not about links.
    pub(super) fn check_negatives(&self, negatives: usize) -> Result<(), TrainError> {
        let schema = &self.dataset.schema;
        let fits = schema.level == Level::Pair && schema.task == Task::Binary && schema.num_targets() == 1;
        if negatives == 0 || fits {
            return Ok(());
        }
        Err(TrainError::Config(ConfigError::Invalid {
            key: "train.negatives".to_owned(),
            value: negatives.to_string(),
            expected: "0, or one binary target of pairs: pairs without a link are drawn for these only"
                .to_owned(),
        }))
    }

    /// The graphs as an epoch trains on them: beside the links of the training part, so many times as many pairs without
    /// one. A pure function of seed and epoch.
    ///
    /// A pair is never drawn that has an edge in it, nor one that is asked about in any part.
    pub(super) fn with_negatives(
        &self,
        negatives: usize,
        seed: u64,
        epoch: usize,
    ) -> Result<Arc<PreparedDataset>, TrainError> {
        if negatives == 0 {
            return Ok(Arc::clone(&self.dataset));
        }
        let dataset = &self.dataset;
        let mut samples: Vec<PreparedSample> = dataset.samples.clone();
        for &at in &self.splits.train {
            let Some(sample) = samples.get_mut(at) else { continue };
            let graph = &sample.prepared.graph;
            let asked = sample.targets.iter().enumerate();
            let links = asked.filter(|(row, target)| **target == 1.0 && self.counts(Split::Train, at, *row));
            let count = links.count().saturating_mul(negatives);
            let random = &mut rng::stream(seed, "negatives", &[epoch as u64, at as u64]);
            let drawn = Negatives::new(graph, !graph.is_undirected()).draw(count, random, &sample.id)?;
            let pairs = graph.pairs().iter().copied().chain(drawn).collect();
            let graph = Arc::new(Graph::clone(graph).with_pairs(pairs)?);
            sample.targets.resize(sample.targets.len() + count, 0.0);
            sample.prepared = PreparedGraph { graph, ..sample.prepared.clone() };
        }
        let mut dataset = PreparedDataset::clone(dataset);
        dataset.samples = samples;
        Ok(Arc::new(dataset))
    }
}
