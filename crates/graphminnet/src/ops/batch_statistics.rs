//! Means and variances of batch normalisation: where they come from, and how they come back from an operation.

use super::engine::{Array, Operand};
use burn::tensor::{Device, Tensor, TensorData};
use graphminnet_kernels::batch_norm::{self as statistics, NORM_EPSILON};
use graphminnet_kernels::others::Others;
use std::sync::{Arc, Mutex, PoisonError};

/// Which mean and variance to normalise with.
#[derive(Debug, Clone)]
pub enum Statistics {
    /// Those of the rows at hand.
    Batch,
    /// Those of the rows at hand and of the other parts of a graph; on the processor alone.
    Parts(Arc<dyn Others>),
    /// Given ones (the running estimates), `[columns]` each.
    Given {
        /// Mean of every column.
        mean: Tensor<1>,
        /// Variance of every column.
        variance: Tensor<1>,
    },
}

/// Mean and biased variance of the rows that were normalised, detached from differentiation.
#[derive(Debug, Clone)]
pub struct BatchStatistics {
    /// Mean of every column.
    pub mean: Tensor<1>,
    /// Biased variance of every column.
    pub variance: Tensor<1>,
}

/// Where a kernel leaves the statistics of its batch; `None` for given statistics.
///
/// An operation has one output, so the statistics come back on the side.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    place: Option<Arc<Mutex<[Vec<f32>; 2]>>>,
    /// Who has more rows.
    others: Option<Arc<dyn Others>>,
}

impl Measured {
    /// The operands for mean and variance (absent for batch statistics) and the place for measured ones.
    pub(super) fn prepare(statistics: &Statistics) -> (Operand, Operand, Self) {
        match statistics {
            Statistics::Batch | Statistics::Parts(_) => {
                let others =
                    if let Statistics::Parts(others) = statistics { Some(others.clone()) } else { None };
                (Operand::absent(), Operand::absent(), Self { place: Some(Arc::default()), others })
            }
            Statistics::Given { mean, variance } => {
                (mean.clone().into(), variance.clone().into(), Self { place: None, others: None })
            }
        }
    }

    pub(super) fn is_of_batch(&self) -> bool {
        self.place.is_some()
    }

    /// Who has more rows that count.
    pub(super) fn others(&self) -> Option<&dyn Others> {
        self.others.as_deref()
    }

    /// Runs `compute` with batch statistics to fill or given ones to use; returns the mean and variance used.
    pub(super) fn with(
        &self,
        columns: usize,
        given: [&Array; 2],
        compute: impl FnOnce(statistics::Statistics<'_>),
    ) -> [Array; 2] {
        let Some(place) = &self.place else {
            let [mean, variance] = given;
            compute(statistics::Statistics::Given { mean: mean.values(), variance: variance.values() });
            return given.map(Array::clone);
        };
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        *place = [vec![0.0; columns], vec![0.0; columns]];
        let [mean, variance] = &mut *place;
        compute(statistics::Statistics::Batch { mean, variance, others: self.others() });
        place.each_ref().map(|values| Array::new(values.clone(), [columns]))
    }

    /// What was measured, as tensors.
    pub(super) fn take(self, device: &Device) -> Option<BatchStatistics> {
        let mut place = self.place.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let tensor = |values: Vec<f32>| {
            let columns = values.len();
            Tensor::<1>::from_data(TensorData::new(values, [columns]), device)
        };
        let [mean, variance] = std::mem::take(&mut *place);
        Some(BatchStatistics { mean: tensor(mean), variance: tensor(variance) })
    }
}

/// The statistics a forward pass used, for its kernel's backward pass.
pub(super) fn used<'a>(
    [mean, variance]: &'a [Array; 2],
    measured: &'a Measured,
) -> statistics::UsedStatistics<'a> {
    statistics::UsedStatistics {
        mean: mean.values(),
        variance: variance.values(),
        from_batch: measured.is_of_batch(),
        others: measured.others(),
    }
}

/// `BN(rows)` of the generic bodies, with the statistics of the batch if those were used.
pub(super) fn normalise(
    rows: Tensor<2>,
    scale: Tensor<1>,
    shift: Tensor<1>,
    statistics: Statistics,
) -> (Tensor<2>, Option<BatchStatistics>) {
    let [count, columns] = rows.dims();
    if count == 0 {
        return (rows, None);
    }
    let (mean, variance, measured) = match statistics {
        Statistics::Given { mean, variance } => (mean.unsqueeze(), variance.unsqueeze(), None),
        Statistics::Parts(_) => {
            unreachable!("a graph in parts is refused on other devices than the processor")
        }
        Statistics::Batch => {
            let mean = rows.clone().mean_dim(0);
            let variance = (rows.clone() - mean.clone()).powi_scalar(2).mean_dim(0);
            let measured = BatchStatistics {
                mean: mean.clone().detach().reshape([columns]),
                variance: variance.clone().detach().reshape([columns]),
            };
            (mean, variance, Some(measured))
        }
    };
    let normalised = (rows - mean) / (variance + NORM_EPSILON).sqrt() * scale.unsqueeze() + shift.unsqueeze();
    (normalised, measured)
}
