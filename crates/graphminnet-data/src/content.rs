//! A hash of all that samples hold, by which a run knows its data again.

use crate::dataset::Sample;
use crate::graph::Features;
use sha2::{Digest, Sha256};

/// SHA-256 over ids, structure, features and targets of samples, one after the other; it may be fed piece by piece by whoever
/// has no sample as a whole.
#[derive(Debug, Clone, Default)]
pub struct ContentHash {
    hasher: Sha256,
    /// What is still to be hashed, so that single numbers cost little.
    waiting: Vec<u8>,
}

/// How much of everything a sample has; comes before all of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContentSizes {
    pub(crate) nodes: usize,
    pub(crate) edges: usize,
    /// Columns of categories and of numbers.
    pub(crate) node_columns: [usize; 2],
    pub(crate) edge_columns: [usize; 2],
    pub(crate) targets: usize,
}

impl ContentHash {
    const PIECE: usize = 1 << 16;

    /// Adds a sample.
    pub fn add(&mut self, sample: &Sample) {
        let graph = &sample.graph;
        let (nodes, edges) = (graph.node_features(), graph.edge_features());
        self.begin(
            &sample.id,
            ContentSizes {
                nodes: graph.num_nodes(),
                edges: graph.num_edges(),
                node_columns: [nodes.category_columns(), nodes.number_columns()],
                edge_columns: [edges.category_columns(), edges.number_columns()],
                targets: sample.targets.len(),
            },
        );
        graph.edges().iter().for_each(|edge| self.edge(*edge));
        // Features of whole graphs count where there are any, so that data without them keeps its hash.
        for features in [nodes, edges, graph.graph_features()] {
            self.categories(features);
            self.numbers(features);
        }
        // So do pairs that are asked about.
        graph.pairs().iter().for_each(|pair| self.edge(*pair));
        self.targets(&sample.targets);
    }

    /// Begins a sample, of which edges, categories and numbers of nodes, those of edges, and targets follow.
    pub(crate) fn begin(&mut self, id: &str, sizes: ContentSizes) {
        let ContentSizes { nodes, edges, node_columns, edge_columns, targets } = sizes;
        let [node_categories, node_numbers] = node_columns;
        let [edge_categories, edge_numbers] = edge_columns;
        for count in
            [id.len(), nodes, edges, node_categories, node_numbers, edge_categories, edge_numbers, targets]
        {
            self.update(&(count as u64).to_le_bytes());
        }
        self.update(id.as_bytes());
    }

    pub(crate) fn edge(&mut self, ends: [u32; 2]) {
        ends.iter().for_each(|node| self.update(&node.to_le_bytes()));
    }

    pub(crate) fn categories(&mut self, features: &Features) {
        features.category_values().iter().for_each(|value| self.update(&value.to_le_bytes()));
    }

    pub(crate) fn numbers(&mut self, features: &Features) {
        features.number_values().iter().for_each(|value| self.update(&value.to_bits().to_le_bytes()));
    }

    pub(crate) fn targets(&mut self, targets: &[f32]) {
        // Missing is missing, whatever the bits of the NaN.
        let known = |value: f32| if value.is_nan() { f32::NAN } else { value };
        targets.iter().for_each(|value| self.update(&known(*value).to_bits().to_le_bytes()));
    }

    /// Adds whatever else belongs to the data.
    pub fn update(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= Self::PIECE {
            self.hasher.update(&self.waiting);
            self.waiting.clear();
        }
    }

    /// The hash in hexadecimal.
    pub fn finish(mut self) -> String {
        self.hasher.update(&self.waiting);
        self.hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Of the same content so far.
impl PartialEq for ContentHash {
    fn eq(&self, other: &Self) -> bool {
        self.clone().finish() == other.clone().finish()
    }
}
