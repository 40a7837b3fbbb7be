//! What the model answered while an epoch trained it. The training metric is that of these answers: each by the weights of its
//! moment, with dropout, so it costs no pass of its own, and it lags behind an evaluation of the same graphs.

use super::evaluate::gather;
use super::{TargetScaler, TrainError};
use crate::bundle::read_outputs;
use crate::config::TrainConfig;
use crate::task::{Rows, metric};
use crate::weights::{self, NamedTensor};
use graphminnet_data::exchange::Exchange;

const OUTPUTS: &str = "outputs";
const TARGETS: &str = "targets";

/// The answers of an epoch so far and the targets of the same rows, both as in the loss but for the targets' scale.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Seen {
    outputs: Vec<f32>,
    targets: Vec<f32>,
}

impl Seen {
    /// Adds the rows of a batch.
    pub(super) fn add(&mut self, outputs: &[f32], targets: &[f32]) {
        self.outputs.extend_from_slice(outputs);
        self.targets.extend_from_slice(targets);
    }

    /// How much there is, for [`Self::gather`].
    pub(super) fn mark(&self) -> (usize, usize) {
        (self.outputs.len(), self.targets.len())
    }

    /// Puts what all ranks added since a mark in the place of this rank's own: ranks have consecutive batches, so that they are
    /// in the order of one process.
    pub(super) fn gather(&mut self, (outputs, targets): (usize, usize), exchange: &dyn Exchange) {
        let added = gather(exchange, &self.outputs.split_off(outputs));
        self.outputs.extend(added);
        let added = gather(exchange, &self.targets.split_off(targets));
        self.targets.extend(added);
    }

    /// The metric in the units of the data; `None` where it has no value.
    pub(super) fn score(
        mut self,
        train: &TrainConfig,
        columns: usize,
        target_columns: usize,
        scaler: Option<&TargetScaler>,
    ) -> Option<f64> {
        let spread = train.spread();
        read_outputs(&spread, scaler, &mut self.outputs, columns);
        let outputs = spread.points(self.outputs, columns);
        let columns = columns / spread.blocks();
        let rows = Rows { outputs: &outputs, columns, targets: &self.targets, target_columns };
        metric::evaluate(train.metric, rows).ok().map(|score| score.value)
    }

    /// For a saved state in the middle of an epoch.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, TrainError> {
        let tensor = |name: &str, values: &[f32]| NamedTensor {
            name: name.to_owned(),
            shape: vec![values.len()],
            values: values.to_vec(),
        };
        let tensors = [tensor(OUTPUTS, &self.outputs), tensor(TARGETS, &self.targets)];
        Ok(weights::tensors_to_bytes(&tensors)?)
    }

    /// From a saved state; `None` unless it holds rows of these widths.
    pub(super) fn from_bytes(
        bytes: &[u8],
        columns: usize,
        target_columns: usize,
    ) -> Result<Option<Self>, TrainError> {
        let mut tensors = weights::tensors_of_bytes(bytes)?;
        let mut take = |name| tensors.remove(name).map(|tensor| tensor.values).unwrap_or_default();
        let (outputs, targets): (Vec<f32>, Vec<f32>) = (take(OUTPUTS), take(TARGETS));
        let fits = outputs.len() * target_columns == targets.len() * columns;
        Ok(fits.then_some(Self { outputs, targets }))
    }
}
