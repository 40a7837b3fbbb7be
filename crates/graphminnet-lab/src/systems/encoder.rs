//! Features of nodes and edges as rows of numbers.

use super::gred::dense;
use super::norm::gelu;
use super::{Body, Encoder, SystemConfig};
use burn::module::Module;
use burn::tensor::{Device, Tensor, activation};
use graphminnet::model::{FeatureInput, InputError};
use graphminnet::nn::{BatchNorm, Embedding, Init, Linear, Pass, SumEmbedding};
use graphminnet::ops::{CategoryTable, l2_rows};
use graphminnet_data::Features;

/// Numbers of a local degree profile.
const PROFILE: usize = 5;

/// Deviation of GRED's tables at the start.
const GRED_DEVIATION: f64 = 0.01;

/// An encoder with its parameters.
#[derive(Module, Debug)]
pub(crate) enum FeatureEncoder {
    /// A linear map of numbers.
    Linear(Linear),
    /// One table.
    Table(Embedding),
    /// A table per column.
    Tables(SumEmbedding),
    /// The degree profile.
    Profile(ProfileEncoder),
    /// Another encoder, a gelu and a linear map, as GRED has it.
    Deep((Shallow, Linear)),
}

/// The first part of a deep encoder.
#[derive(Module, Debug)]
pub(crate) enum Shallow {
    /// A linear map of numbers.
    Linear(Linear),
    /// A table per column.
    Tables(SumEmbedding),
}

/// `l2(ReLU(BN(second(first(x)))))`.
#[derive(Module, Debug)]
pub(crate) struct ProfileEncoder {
    first: Linear,
    second: Linear,
    norm: BatchNorm,
}

impl FeatureEncoder {
    pub(crate) fn new(frame: &SystemConfig, kind: &Encoder, width: usize, init: &mut Init) -> Self {
        if matches!(frame.system, Body::Gred(_)) {
            return Self::of_gred(kind, width, init);
        }
        match kind {
            Encoder::Linear(columns) => Self::Linear(Linear::new(*columns, width, true, init)),
            Encoder::Table(rows) | Encoder::OneHot { rows, .. } => {
                Self::Table(Embedding::new(*rows, width, init))
            }
            Encoder::Tables(sizes) => Self::Tables(SumEmbedding::new(sizes, width, init)),
            Encoder::Marked => Self::Table(Embedding::new(2, width, init)),
            Encoder::Constant => Self::Table(Embedding::new(1, width, init)),
            Encoder::DegreeProfile => Self::Profile(ProfileEncoder {
                first: Linear::new(PROFILE, width, true, init),
                second: Linear::new(width, width, false, init),
                norm: BatchNorm::new(width, init),
            }),
        }
    }

    /// GRED puts a gelu and a linear map behind its encoders, but for one-hot numbers, and starts from small tables.
    fn of_gred(kind: &Encoder, width: usize, init: &mut Init) -> Self {
        let table =
            |rows: usize, init: &mut Init| Embedding { weight: init.normal([rows, width], GRED_DEVIATION) };
        let sizes: Vec<usize> = match kind {
            Encoder::OneHot { rows, .. } => return Self::Table(table(*rows, init)),
            Encoder::Linear(columns) => {
                let first = dense(*columns, width, init);
                return Self::Deep((Shallow::Linear(first), dense(width, width, init)));
            }
            Encoder::Table(rows) => vec![*rows],
            Encoder::Tables(sizes) => sizes.clone(),
            Encoder::Marked => vec![2],
            Encoder::Constant | Encoder::DegreeProfile => vec![1],
        };
        let tables = sizes.iter().map(|&rows| table(rows, init)).collect();
        Self::Deep((Shallow::Tables(SumEmbedding { tables }), dense(width, width, init)))
    }

    /// `[rows, width]`.
    pub(crate) fn forward(&self, features: &FeatureInput, pass: Pass) -> Tensor<2> {
        match (self, features) {
            (Self::Linear(linear), FeatureInput::Numbers(numbers)) => linear.forward(numbers.clone()),
            (Self::Table(table), FeatureInput::Categories(categories)) => table.forward(categories),
            (Self::Tables(tables), FeatureInput::Categories(categories)) => tables.forward(categories),
            (Self::Profile(encoder), FeatureInput::Numbers(numbers)) => {
                let mixed = encoder.second.forward(encoder.first.forward(numbers.clone()));
                l2_rows(activation::relu(encoder.norm.forward(mixed, pass)))
            }
            (Self::Deep((first, second)), features) => {
                let rows = match (first, features) {
                    (Shallow::Linear(linear), FeatureInput::Numbers(numbers)) => {
                        linear.forward(numbers.clone())
                    }
                    (Shallow::Tables(tables), FeatureInput::Categories(categories)) => {
                        tables.forward(categories)
                    }
                    _ => unreachable!("a system's input is made for its own encoders"),
                };
                second.forward(gelu(rows))
            }
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
    let same = |category: u32, rows: usize| {
        let table = CategoryTable::new(vec![category; features.rows()], &[rows]);
        FeatureInput::Categories(table.unwrap_or_else(|_| unreachable!("the table has the row")))
    };
    match kind {
        Encoder::Linear(columns) => FeatureInput::new(what, features, Some(*columns), None, device),
        Encoder::Table(rows) => FeatureInput::new(what, features, None, Some(&[*rows]), device),
        Encoder::Tables(sizes) => FeatureInput::new(what, features, None, Some(sizes), device),
        Encoder::OneHot { columns, rows } => {
            if features.number_columns() != *columns {
                let found = features.number_columns();
                return Err(InputError::ColumnCount { what: "one-hot", expected: *columns, found });
            }
            let chosen = |row: usize| {
                let numbers = features.number_row(row).iter().enumerate();
                numbers.max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(column, _)| column as u32)
            };
            let table = CategoryTable::new((0..features.rows()).map(chosen).collect(), &[*rows]);
            Ok(FeatureInput::Categories(table.unwrap_or_else(|_| unreachable!("columns are at most rows"))))
        }
        Encoder::Marked => Ok(same(1, 2)),
        Encoder::Constant => Ok(same(0, 1)),
        Encoder::DegreeProfile => FeatureInput::new(what, features, Some(PROFILE), None, device),
    }
}

/// What an encoder of edges reads for one pair that is no edge: the first category of every column.
pub(crate) fn first_category(kind: &Encoder) -> Option<FeatureInput> {
    let sizes: Vec<usize> = match kind {
        Encoder::Table(rows) => vec![*rows],
        Encoder::Tables(sizes) => sizes.clone(),
        Encoder::Marked => vec![2],
        _ => return None,
    };
    CategoryTable::new(vec![0; sizes.len()], &sizes).ok().map(FeatureInput::Categories)
}
