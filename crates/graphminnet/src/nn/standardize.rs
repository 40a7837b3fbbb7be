//! Numeric input columns on a common scale.

use super::{Init, Running};
use burn::module::Module;
use burn::tensor::Tensor;
use graphminnet_data::exchange::{Alone, Exchange};

/// Deviations below this count as a column that does not vary.
const SMALLEST_DEVIATION: f64 = 1e-12;

/// `(x − mean) / deviation` per column, with the statistics of the training data. They are stored with the weights, so
/// that new data is treated alike, but gradients do not change them.
///
/// The names are those of a normalisation's statistics because they are the same thing: kept, not trained.
#[derive(Module, Debug)]
pub struct Standardize {
    running_mean: Running,
    running_var: Running,
}

impl Standardize {
    /// Leaves `columns` columns as they are until [`Standardize::fit`].
    pub fn new(columns: usize, init: &Init) -> Self {
        Self { running_mean: init.running(columns, 0.0), running_var: init.running(columns, 1.0) }
    }

    /// Takes mean and variance of the rows, one after the other in double precision; a column that does not vary is
    /// only centred.
    pub fn fit<'a>(&self, rows: impl Iterator<Item = &'a [f32]> + Clone) {
        self.fit_among(rows, &Alone);
    }

    /// The same over the rows of all ranks of an exchange, those of a rank after those of the ranks before it.
    pub(crate) fn fit_among<'a>(
        &self,
        rows: impl Iterator<Item = &'a [f32]> + Clone,
        exchange: &dyn Exchange,
    ) {
        let columns = self.running_mean.value().dims()[0];
        // Count, mean and sum of squared deviations of every column.
        let mut moments = vec![[0.0f64; 3]; columns];
        exchange.chain(&mut moments, |from, moments| {
            for row in rows.clone() {
                for (value, [count, mean, square]) in row[from.min(row.len())..].iter().zip(&mut *moments) {
                    *count += 1.0;
                    let before = f64::from(*value) - *mean;
                    *mean += before / *count;
                    *square += before * (f64::from(*value) - *mean);
                }
            }
        });
        let variance = |[count, _, square]: &[f64; 3]| {
            let variance = square / count.max(1.0);
            if variance.sqrt() > SMALLEST_DEVIATION { variance as f32 } else { 1.0 }
        };
        let device = self.running_mean.value().device();
        let means: Vec<f32> = moments.iter().map(|[_, mean, _]| *mean as f32).collect();
        let variances: Vec<f32> = moments.iter().map(variance).collect();
        self.running_mean.set(Tensor::from_floats(means.as_slice(), &device));
        self.running_var.set(Tensor::from_floats(variances.as_slice(), &device));
    }

    /// `[rows, columns]`.
    pub fn forward(&self, numbers: Tensor<2>) -> Tensor<2> {
        let (mean, variance) = (self.running_mean.value(), self.running_var.value());
        (numbers - mean.unsqueeze()) / variance.sqrt().unsqueeze()
    }
}
