//! Tree neighbours match: look up a key among the leaves of a binary tree (Alon and Yahav 2021).

use super::{PartSizes, assemble, sample_id, schema};
use crate::dataset::{Column, ColumnKind, Dataset, Level, Sample, Split, Task};
use crate::graph::{Features, Graph, GraphError};
use crate::rng::stream;
use std::sync::Arc;

/// Full binary trees whose leaves carry a key and a value each, and whose root carries the key to look up.
///
/// Node columns, both categories with 0 for "none": `key` (at leaves, and the wanted one at the root) and `value` (at
/// leaves). The target of the graph is the value at the leaf with the wanted key; all the information of `2^depth`
/// leaves has to pass through the two children of the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeNeighboursMatch {
    /// Graphs in each part.
    pub sizes: PartSizes,
    /// Edges between the root and a leaf; 2 to 8 in the literature.
    pub depth: usize,
}

impl Default for TreeNeighboursMatch {
    fn default() -> Self {
        Self { sizes: PartSizes { train: 4_000, valid: 500, test: 500 }, depth: 4 }
    }
}

impl TreeNeighboursMatch {
    /// The deepest tree that is made.
    pub const MAX_DEPTH: usize = 24;

    /// Makes the data set.
    ///
    /// # Errors
    ///
    /// [`GraphError::TooLarge`] if the depth exceeds [`TreeNeighboursMatch::MAX_DEPTH`].
    pub fn generate(&self, seed: u64) -> Result<Dataset, GraphError> {
        if self.depth > Self::MAX_DEPTH {
            let limit = 1 << Self::MAX_DEPTH;
            return Err(GraphError::TooLarge { what: "nodes", count: usize::MAX, limit });
        }
        let leaves = 1usize << self.depth;
        let kind = ColumnKind::Category { size: leaves + 1, names: Vec::new() };
        let columns = ["key", "value"].map(|name| Column::new(name, kind.clone()));
        let schema = schema(Level::Graph, Task::MultiClass { classes: leaves }, "value", columns.into());
        assemble("tree neighbours match", schema, self.sizes, |split, at| self.sample(seed, split, at))
    }

    fn sample(&self, seed: u64, split: Split, at: usize) -> Result<Sample, GraphError> {
        let mut random = stream(seed, "tree neighbours match", &[self.depth as u64, split as u64, at as u64]);
        let leaves = 1usize << self.depth;
        // Heap order: the children of node i are 2i + 1 and 2i + 2; the leaves come last.
        let nodes = 2 * leaves - 1;
        let (keys, values) = (random.permutation(leaves), random.permutation(leaves));
        let wanted = random.below(leaves);
        let mut features = vec![0u32; nodes * 2];
        for leaf in 0..leaves {
            let row = (nodes - leaves + leaf) * 2;
            features[row] = keys[leaf] as u32 + 1;
            features[row + 1] = values[leaf] as u32 + 1;
        }
        features[0] = keys[wanted] as u32 + 1;
        let edges: Vec<[u32; 2]> = (1..nodes as u32)
            .flat_map(|child| {
                let parent = (child - 1) / 2;
                [[child, parent], [parent, child]]
            })
            .collect();
        let no_edge_features = Features::none(edges.len());
        let graph = Graph::new(nodes, edges, Features::categories(nodes, 2, features)?, no_edge_features)?;
        let targets = vec![values[wanted] as f32];
        Ok(Sample { id: sample_id("tree", split, at), graph: Arc::new(graph), targets })
    }
}
