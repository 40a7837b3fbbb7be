//! Features of nodes and edges as rows of numbers.

use super::Encoder;
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use graphminnet::model::{FeatureInput, InputError};
use graphminnet::nn::{Embedding, Init, Linear, SumEmbedding};
use graphminnet::ops::CategoryTable;
use graphminnet_data::Features;

/// An encoder with its parameters.
#[derive(Module, Debug)]
pub(crate) enum FeatureEncoder {
    /// A linear map of numbers.
    Linear(Linear),
    /// One table.
    Table(Embedding),
    /// A table per column.
    Tables(SumEmbedding),
}

impl FeatureEncoder {
    pub(crate) fn new(kind: &Encoder, width: usize, init: &mut Init) -> Self {
        match kind {
            Encoder::Linear(columns) => Self::Linear(Linear::new(*columns, width, true, init)),
            Encoder::Table(rows) => Self::Table(Embedding::new(*rows, width, init)),
            Encoder::Tables(sizes) => Self::Tables(SumEmbedding::new(sizes, width, init)),
            Encoder::Constant => Self::Table(Embedding::new(1, width, init)),
        }
    }

    /// `[rows, width]`.
    pub(crate) fn forward(&self, features: &FeatureInput) -> Tensor<2> {
        match (self, features) {
            (Self::Linear(linear), FeatureInput::Numbers(numbers)) => linear.forward(numbers.clone()),
            (Self::Table(table), FeatureInput::Categories(categories)) => table.forward(categories),
            (Self::Tables(tables), FeatureInput::Categories(categories)) => tables.forward(categories),
            _ => unreachable!("a system's input is made for its own encoders"),
        }
    }
}

/// What an encoder reads of the features of nodes (`what` is `node`) or edges (`edge`).
pub(crate) fn features(
    kind: &Encoder,
    what: &'static str,
    features: Features,
    device: &Device,
) -> Result<FeatureInput, InputError> {
    match kind {
        Encoder::Linear(columns) => FeatureInput::new(what, features, Some(*columns), None, device),
        Encoder::Table(rows) => FeatureInput::new(what, features, None, Some(&[*rows]), device),
        Encoder::Tables(sizes) => FeatureInput::new(what, features, None, Some(sizes), device),
        Encoder::Constant => {
            let same = CategoryTable::new(vec![0; features.rows()], &[1]);
            Ok(FeatureInput::Categories(same.unwrap_or_else(|_| unreachable!("the table has a row 0"))))
        }
    }
}
