//! Graphs made from parameters and a seed, as many and as large as you like.
//!
//! ```
//! use graphminnet_data::generate::Pattern;
//!
//! let pattern = Pattern::with_graphs(20).generate(7)?;
//! assert_eq!(pattern.samples.len(), 20);
//! assert_eq!(pattern, Pattern::with_graphs(20).generate(7)?);
//! # Ok::<(), graphminnet_data::GraphError>(())
//! ```
//!
//! Each generator is a plain struct of parameters. Its default is the published setting, and `generate(seed)` returns a
//! [`Dataset`]. The graphs depend on the parameters and the seed alone. They are made in parallel, each from a random
//! stream of its own.

mod block_model;
mod cluster;
mod csl;
mod papers;
mod pattern;
mod random_graph;
mod ring_transfer;
mod tree_neighbours_match;

pub use cluster::Cluster;
pub use csl::CircularSkipLinks;
pub use papers::Papers;
pub use pattern::Pattern;
pub use random_graph::RandomGraph;
pub use ring_transfer::RingTransfer;
pub use tree_neighbours_match::TreeNeighboursMatch;

use super::dataset::{Column, ColumnKind, Dataset, Level, Sample, Schema, Split, Task};
use crate::graph::{Features, GraphError};
use rayon::prelude::*;

/// How many graphs each part of a generated data set has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PartSizes {
    /// Graphs to train on.
    pub train: usize,
    /// Graphs to choose by.
    pub valid: usize,
    /// Graphs to report on.
    pub test: usize,
}

impl PartSizes {
    /// `total` graphs in the proportions of `self`, rounded towards training.
    pub fn scaled_to(self, total: usize) -> Self {
        let all = self.total().max(1) as u128;
        let part = |size: usize| (size as u128 * total as u128 / all) as usize;
        let (valid, test) = (part(self.valid), part(self.test));
        Self { train: total - valid - test, valid, test }
    }

    /// All graphs.
    pub fn total(self) -> usize {
        self.train + self.valid + self.test
    }

    /// Part and position within the part of every graph, in order.
    fn places(self) -> Vec<(Split, usize)> {
        [(Split::Train, self.train), (Split::Valid, self.valid), (Split::Test, self.test)]
            .into_iter()
            .flat_map(|(split, size)| (0..size).map(move |at| (split, at)))
            .collect()
    }
}

/// Makes all samples in parallel, keeping their order, and puts the data set together.
fn assemble(
    name: &str,
    schema: Schema,
    sizes: PartSizes,
    make: impl Fn(Split, usize) -> Result<Sample, GraphError> + Sync,
) -> Result<Dataset, GraphError> {
    let places = sizes.places();
    let samples = places.par_iter().map(|&(split, at)| make(split, at)).collect::<Result<_, _>>()?;
    let official_split = Some(places.into_iter().map(|(split, _)| split).collect());
    Ok(Dataset {
        name: name.to_owned(),
        schema,
        samples,
        official_split,
        node_parts: None,
        qualifiers: Default::default(),
    })
}

fn sample_id(name: &str, split: Split, at: usize) -> String {
    let part = match split {
        Split::Train => "train",
        Split::Valid => "valid",
        Split::Test => "test",
    };
    format!("{name}-{part}-{at}")
}

/// A schema without edge columns.
fn schema(level: Level, task: Task, target: &str, node_columns: Vec<Column>) -> Schema {
    Schema {
        level,
        task,
        targets: vec![target.to_owned()],
        class_names: Vec::new(),
        positive_class: None,
        molecules: None,
        node_columns,
        edge_columns: Vec::new(),
    }
}

fn number_columns(names: impl IntoIterator<Item = String>) -> Vec<Column> {
    names.into_iter().map(|name| Column::new(name, ColumnKind::Number)).collect()
}

/// A table with a one in the given column of each row.
fn one_hot(columns: usize, hot: &[usize]) -> Result<Features, GraphError> {
    let mut values = vec![0f32; hot.len() * columns];
    for (row, &column) in values.chunks_exact_mut(columns).zip(hot) {
        row[column] = 1.0;
    }
    Features::numbers(hot.len(), columns, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_keeps_the_total_and_the_proportions() {
        let sizes = PartSizes { train: 10_000, valid: 2_000, test: 2_000 };
        assert_eq!(sizes.scaled_to(2_000), PartSizes { train: 1_430, valid: 285, test: 285 });
        assert_eq!(sizes.scaled_to(1), PartSizes { train: 1, valid: 0, test: 0 });
        assert_eq!(sizes.scaled_to(0).total(), 0);
    }
}
