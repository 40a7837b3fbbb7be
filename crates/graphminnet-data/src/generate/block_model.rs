//! Adjacency matrices of stochastic block models, and their edge lists.

use crate::rng::Stream;

/// Sizes of communities are uniform in this range (both ends included), as in the published generators.
pub(super) const COMMUNITY_SIZES: std::ops::RangeInclusive<usize> = 5..=34;

/// A symmetric 0/1 matrix without diagonal.
pub(super) struct Adjacency {
    nodes: usize,
    entries: Vec<bool>,
}

impl Adjacency {
    pub(super) fn empty(nodes: usize) -> Self {
        Self { nodes, entries: vec![false; nodes * nodes] }
    }

    pub(super) fn nodes(&self) -> usize {
        self.nodes
    }

    pub(super) fn connect(&mut self, a: usize, b: usize) {
        self.entries[a * self.nodes + b] = true;
        self.entries[b * self.nodes + a] = true;
    }

    pub(super) fn has(&self, a: usize, b: usize) -> bool {
        self.entries[a * self.nodes + b]
    }

    /// Connects each pair of the nodes `range` with a probability that depends on the pair.
    pub(super) fn connect_randomly(
        &mut self,
        range: std::ops::Range<usize>,
        random: &mut Stream,
        probability: impl Fn(usize, usize) -> f64,
    ) {
        for a in range.clone() {
            for b in range.start..a {
                if random.chance(probability(a, b)) {
                    self.connect(a, b);
                }
            }
        }
    }

    /// Both directions of every edge in row-major order, node `a` having become `renumbered[a]`.
    pub(super) fn edges(&self, renumbered: &[usize]) -> Vec<[u32; 2]> {
        let mut original = vec![0usize; self.nodes];
        for (from, &to) in renumbered.iter().enumerate() {
            original[to] = from;
        }
        let mut edges = Vec::new();
        for (a, &from_a) in original.iter().enumerate() {
            let row = &self.entries[from_a * self.nodes..(from_a + 1) * self.nodes];
            edges.extend(
                original.iter().enumerate().filter(|&(_, &b)| row[b]).map(|(b, _)| [a as u32, b as u32]),
            );
        }
        edges
    }
}

/// The community of every node, communities one after the other with random sizes.
pub(super) fn random_communities(count: usize, random: &mut Stream) -> Vec<usize> {
    (0..count)
        .flat_map(|community| std::iter::repeat_n(community, random.in_range(COMMUNITY_SIZES)))
        .collect()
}
