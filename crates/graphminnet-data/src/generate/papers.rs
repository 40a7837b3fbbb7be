//! One graph like a network of citations: papers of several fields cite mostly their own, and use some of its words.

use super::{number_columns, schema};
use crate::dataset::{Dataset, Level, Sample, Split, Task};
use crate::graph::{Features, Graph, GraphError};
use crate::node_parts::NodeParts;
use crate::rng::{Stream, stream};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A stochastic block model with sparse words as features. The default has the size of Cora and its public split: 20
/// labelled nodes of each class, 500 to validate, 1,000 to test.
#[derive(Debug, Clone, PartialEq)]
pub struct Papers {
    /// Nodes.
    pub nodes: usize,
    /// Classes.
    pub classes: usize,
    /// Mean number of neighbours.
    pub mean_degree: f64,
    /// Share of the edges that are drawn within a class; the others go anywhere.
    pub within: f64,
    /// Words, of which every class has an equal share of its own.
    pub words: usize,
    /// Words that a node draws.
    pub words_per_node: usize,
    /// Share of the words that are drawn from those of the node's class, the others being drawn from all.
    pub own_words: f64,
    /// Labelled nodes of each class.
    pub labels_per_class: usize,
    /// Nodes to choose by, and to report on.
    pub valid: usize,
    /// Nodes to report on.
    pub test: usize,
}

impl Default for Papers {
    fn default() -> Self {
        Self {
            nodes: 2_708,
            classes: 7,
            mean_degree: 4.0,
            within: 0.81,
            words: 700,
            words_per_node: 18,
            own_words: 0.25,
            labels_per_class: 20,
            valid: 500,
            test: 1_000,
        }
    }
}

impl Papers {
    /// Makes the data set: one graph with targets and parts of nodes.
    ///
    /// # Errors
    ///
    /// None in practice; the type is that of [`Graph::new`].
    pub fn generate(&self, seed: u64) -> Result<Dataset, GraphError> {
        let mut random = stream(seed, "papers", &[]);
        let classes = self.classes.max(1);
        let class: Vec<usize> = (0..self.nodes).map(|_| random.below(classes)).collect();
        let edges = self.edges(&class, &mut random);
        let features = self.words(&class, &mut random)?;
        let parts = self.parts(&class, &mut random);
        let no_edge_features = Features::none(edges.len());
        let graph = Arc::new(Graph::new(self.nodes, edges, features, no_edge_features)?);
        let targets = class.iter().map(|class| *class as f32).collect();
        let columns = number_columns((0..self.words).map(|word| format!("word_{word}")));
        Ok(Dataset {
            name: "papers".to_owned(),
            schema: schema(Level::Node, Task::MultiClass { classes }, "field", columns),
            samples: vec![Sample { id: "0".to_owned(), graph, targets }],
            official_split: None,
            node_parts: Some(NodeParts::new(vec![parts])),
            qualifiers: Default::default(),
        })
    }

    fn edges(&self, class: &[usize], random: &mut Stream) -> Vec<[u32; 2]> {
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); self.classes.max(1)];
        class.iter().enumerate().for_each(|(node, class)| members[*class].push(node));
        let mut pairs = BTreeSet::new();
        for _ in 0..(self.nodes as f64 * self.mean_degree / 2.0) as usize {
            let a = random.below(self.nodes);
            let own = &members[class[a]];
            let b = match random.chance(self.within) {
                true => own[random.below(own.len())],
                false => random.below(self.nodes),
            };
            if a != b {
                pairs.insert([a.min(b) as u32, a.max(b) as u32]);
            }
        }
        pairs.into_iter().flat_map(|[a, b]| [[a, b], [b, a]]).collect()
    }

    fn words(&self, class: &[usize], random: &mut Stream) -> Result<Features, GraphError> {
        let own = (self.words / self.classes.max(1)).max(1);
        let mut values = vec![0f32; self.nodes * self.words];
        for (row, class) in values.chunks_mut(self.words.max(1)).zip(class) {
            for _ in 0..self.words_per_node {
                let word = match random.chance(self.own_words) {
                    true => class * own + random.below(own),
                    false => random.below(self.words.max(1)),
                };
                if let Some(cell) = row.get_mut(word) {
                    *cell = 1.0;
                }
            }
        }
        Features::numbers(self.nodes, self.words, values)
    }

    fn parts(&self, class: &[usize], random: &mut Stream) -> Vec<Option<Split>> {
        let mut parts = vec![None; self.nodes];
        let mut labelled = vec![0; self.classes.max(1)];
        let mut rest = Vec::new();
        for node in random.permutation(self.nodes) {
            let labelled = &mut labelled[class[node]];
            if *labelled < self.labels_per_class {
                *labelled += 1;
                parts[node] = Some(Split::Train);
            } else {
                rest.push(node);
            }
        }
        for (at, node) in rest.into_iter().take(self.valid + self.test).enumerate() {
            parts[node] = Some(if at < self.valid { Split::Valid } else { Split::Test });
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_has_the_size_and_the_parts_of_cora() {
        let papers = Papers::default().generate(3).unwrap();
        assert_eq!(papers, Papers::default().generate(3).unwrap());
        let graph = &papers.samples[0].graph;
        assert_eq!(graph.num_nodes(), 2708);
        assert!((9_000..11_000).contains(&graph.num_edges()), "{}", graph.num_edges());
        let parts = papers.node_parts.unwrap();
        let counts = Split::ALL.map(|part| parts.count(part));
        assert_eq!(counts, [140, 500, 1000]);
    }
}
