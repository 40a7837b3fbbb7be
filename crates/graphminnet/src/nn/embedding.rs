//! Embedding tables for categories.

use super::Init;
use crate::ops::{CategoryTable, embedding_sum};
use burn::module::{Module, Param};
use burn::tensor::Tensor;

/// One table: a learned row per category.
#[derive(Module, Debug)]
pub struct Embedding {
    /// `[categories, width]`.
    pub weight: Param<Tensor<2>>,
}

impl Embedding {
    /// Rows drawn from N(0, 1).
    pub fn new(categories: usize, width: usize, init: &mut Init) -> Self {
        Self { weight: init.normal([categories, width], 1.0) }
    }

    /// The row of every item: `[items, width]`.
    pub fn forward(&self, categories: &CategoryTable) -> Tensor<2> {
        embedding_sum(self.weight.val(), categories)
    }
}

/// The sum of one embedding per categorical column.
#[derive(Module, Debug)]
pub struct SumEmbedding {
    /// One table per column.
    pub tables: Vec<Embedding>,
}

impl SumEmbedding {
    /// Tables drawn Xavier-uniform.
    pub fn new(sizes: &[usize], width: usize, init: &mut Init) -> Self {
        let table = |&size: &usize| {
            let bound = (6.0 / (size + width) as f64).sqrt();
            Embedding { weight: init.uniform([size, width], bound) }
        };
        Self { tables: sizes.iter().map(table).collect() }
    }

    /// The summed rows of every item: `[items, width]`.
    pub fn forward(&self, categories: &CategoryTable) -> Tensor<2> {
        let tables = self.tables.iter().map(|table| table.weight.val()).collect();
        embedding_sum(Tensor::cat(tables, 0), categories)
    }
}
