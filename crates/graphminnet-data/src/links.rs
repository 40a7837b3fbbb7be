//! Link prediction: some links of a graph are hidden, and asked about beside pairs that are none.
//!
//! ```
//! use graphminnet_data::generate::Papers;
//! use graphminnet_data::links::HideLinks;
//!
//! let papers = Papers { nodes: 200, words: 20, ..Papers::default() }.generate(0)?;
//! let hidden = HideLinks::default().apply(&papers)?;
//! // No message goes along a hidden link, in neither direction.
//! let graph = &hidden.samples[0].graph;
//! assert!(graph.pairs().iter().all(|[a, b]| !graph.edges().contains(&[*a, *b])));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A *link* is a pair of different nodes with an edge between them; repeated edges and, in a graph whose edges all go both
//! ways, the two directions are one link. What is hidden is no edge of the graph any more, so that nothing that is made of
//! edges (messages, eigenvectors, random walks, degrees) knows of it.

use crate::dataset::{Dataset, Level, Sample, Split, Task};
use crate::graph::{Graph, GraphError};
use crate::node_parts::NodeParts;
use crate::rng::{Stream, stream};
use std::collections::HashSet;
use std::sync::Arc;

/// Name of the target of hidden links.
pub const LINK: &str = "link";

/// Why links could not be hidden, or pairs not be drawn.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// A share that is none, or shares that leave nothing.
    #[error(
        "the {what} share of the links is {value}: expected a number from 0 to 1, less than 1 in total, and more than 0 to train on"
    )]
    Share {
        /// Which share.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// Too few links to have some in every part.
    #[error(
        "graph `{id}` has {links} links between different nodes, too few to hide some for each part; give more links or other shares"
    )]
    TooFew {
        /// The graph.
        id: String,
        /// Its links.
        links: usize,
    },
    /// None of many graphs has enough links.
    #[error("none of the {graphs} graphs has two links between different nodes: there is nothing to hide")]
    NoLinks {
        /// Number of graphs.
        graphs: usize,
    },
    /// Not enough pairs are no links.
    #[error(
        "graph `{id}` has too few pairs without a link: {asked} were asked for, and there are {free} among its {nodes} nodes; ask for fewer"
    )]
    TooDense {
        /// The graph.
        id: String,
        /// Pairs that were asked for.
        asked: usize,
        /// Pairs that there are.
        free: usize,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// A graph cannot be built.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// How links are hidden.
///
/// A single graph keeps most links as edges. Shares of them are hidden to validate and to test; of the rest, a share is
/// hidden as what is trained on. Of many graphs, each hides the share that is trained on, and graphs have the parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HideLinks {
    /// Share of all links that the epoch is chosen by (one graph).
    pub valid: f64,
    /// Share of all links that are only reported on (one graph).
    pub test: f64,
    /// Share of the rest that is asked about in training.
    pub ask: f64,
    /// Pairs without a link that are drawn for every hidden link to validate and to test; of many graphs, for every one.
    /// The training part of a single graph has none: training draws its own in every epoch.
    pub negatives: usize,
    /// Seed of all draws.
    pub seed: u64,
}

impl Default for HideLinks {
    fn default() -> Self {
        Self { valid: 0.1, test: 0.1, ask: 0.3, negatives: 1, seed: 0 }
    }
}

/// A pair that is asked about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct GivenPair {
    pub(crate) ends: [u32; 2],
    /// 1 for a link, 0 for none.
    pub(crate) target: f32,
    pub(crate) part: Split,
}

impl HideLinks {
    /// The same graphs with fewer edges, and with pairs to be asked about: target 1 for a hidden link, 0 for none.
    ///
    /// # Errors
    ///
    /// [`LinkError`] if shares make no sense, a graph has too few links, or too few pairs without one.
    pub fn apply(&self, dataset: &Dataset) -> Result<Dataset, LinkError> {
        for (what, value) in [("validation", self.valid), ("test", self.test), ("training", self.ask)] {
            if !(0.0..1.0).contains(&value) {
                return Err(LinkError::Share { what, value });
            }
        }
        if self.valid + self.test >= 1.0 {
            return Err(LinkError::Share { what: "validation and test", value: self.valid + self.test });
        }
        let directed = !dataset.samples.iter().all(|sample| sample.graph.is_undirected());
        let mut samples = Vec::with_capacity(dataset.samples.len());
        let mut parts = None;
        if let [only] = dataset.samples.as_slice() {
            let (sample, rows) = self.of_one_graph(only, directed)?;
            samples.push(sample);
            parts = Some(NodeParts::new(vec![rows]));
        } else {
            for (at, sample) in dataset.samples.iter().enumerate() {
                samples.push(self.of_many(sample, at, directed)?);
            }
            if samples.iter().all(|sample| sample.graph.pairs().is_empty()) {
                return Err(LinkError::NoLinks { graphs: samples.len() });
            }
        }
        let mut schema = dataset.schema.clone();
        schema.level = Level::Pair;
        schema.task = Task::Binary;
        schema.targets = vec![LINK.to_owned()];
        schema.class_names = Vec::new();
        schema.positive_class = None;
        let official_split = dataset.official_split.clone().filter(|_| parts.is_none());
        Ok(Dataset {
            name: dataset.name.clone(),
            schema,
            samples,
            official_split,
            node_parts: parts,
            qualifiers: Default::default(),
        })
    }

    fn of_one_graph(
        &self,
        sample: &Sample,
        directed: bool,
    ) -> Result<(Sample, Vec<Option<Split>>), LinkError> {
        if self.ask == 0.0 {
            return Err(LinkError::Share { what: "training", value: self.ask });
        }
        let links = shuffled_links(&sample.graph, directed, &mut stream(self.seed, "hide links", &[0]));
        let share = |share: f64, of: usize| (share * of as f64).round() as usize;
        let (valid, test) = (share(self.valid, links.len()), share(self.test, links.len()));
        let rest = links.len().saturating_sub(valid + test);
        let ask = share(self.ask, rest);
        let asks_for = |share: f64| share > 0.0;
        let missing = [(self.valid, valid), (self.test, test), (self.ask, ask)];
        if ask == 0 || missing.iter().any(|(share, found)| asks_for(*share) && *found == 0) {
            return Err(LinkError::TooFew { id: sample.id.clone(), links: links.len() });
        }
        let negatives = Negatives::new(&sample.graph, directed);
        let (mut pairs, mut targets, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        let mut hidden = links.iter();
        for (part, count) in [(Split::Valid, valid), (Split::Test, test), (Split::Train, ask)] {
            let yes: Vec<[u32; 2]> = hidden.by_ref().take(count).flatten().copied().collect();
            let drawn = if part == Split::Train { 0 } else { yes.len().saturating_mul(self.negatives) };
            let mut random = stream(self.seed, "pairs without a link", &[part as u64]);
            let no = negatives.draw(drawn, &mut random, &sample.id)?;
            targets.extend(yes.iter().map(|_| 1f32).chain(no.iter().map(|_| 0f32)));
            parts.resize(parts.len() + yes.len() + no.len(), Some(part));
            pairs.extend(yes.into_iter().chain(no));
        }
        let hidden = links.get(..valid + test + ask).unwrap_or_default().concat();
        Ok((hide(sample, &hidden, pairs, targets)?, parts))
    }

    /// Hides the share of a graph's links that is trained on, beside pairs to validate and to test that are given.
    pub(crate) fn beside(
        &self,
        sample: &Sample,
        given: Vec<GivenPair>,
    ) -> Result<(Sample, Vec<Option<Split>>), LinkError> {
        let directed = !sample.graph.is_undirected();
        let mut links = shuffled_links(&sample.graph, directed, &mut stream(self.seed, "hide links", &[0]));
        let ask = (self.ask * links.len() as f64).round() as usize;
        if ask == 0 {
            return Err(LinkError::TooFew { id: sample.id.clone(), links: links.len() });
        }
        links.truncate(ask);
        let hidden = links.concat();
        let yes = hidden.iter().map(|&ends| GivenPair { ends, target: 1.0, part: Split::Train });
        let all: Vec<GivenPair> = yes.chain(given).collect();
        let pairs = all.iter().map(|pair| pair.ends).collect();
        let targets = all.iter().map(|pair| pair.target).collect();
        let parts = all.iter().map(|pair| Some(pair.part)).collect();
        Ok((hide(sample, &hidden, pairs, targets)?, parts))
    }

    fn of_many(&self, sample: &Sample, at: usize, directed: bool) -> Result<Sample, LinkError> {
        let mut random = stream(self.seed, "hide links", &[at as u64]);
        let links = shuffled_links(&sample.graph, directed, &mut random);
        let count = (self.ask * links.len() as f64).round() as usize;
        // A graph with fewer than two links keeps the one.
        let hidden = links.get(..count).filter(|_| links.len() > 1).unwrap_or_default().concat();
        let no = Negatives::new(&sample.graph, directed).draw(
            hidden.len().saturating_mul(self.negatives),
            &mut random,
            &sample.id,
        )?;
        let targets = hidden.iter().map(|_| 1f32).chain(no.iter().map(|_| 0f32)).collect();
        hide(sample, &hidden, hidden.iter().copied().chain(no).collect(), targets)
    }
}

/// The graph without the edges of some links, in either direction.
fn hide(
    sample: &Sample,
    hidden: &[[u32; 2]],
    pairs: Vec<[u32; 2]>,
    targets: Vec<f32>,
) -> Result<Sample, LinkError> {
    let hidden: HashSet<[u32; 2]> = hidden.iter().map(|ends| unordered(*ends)).collect();
    let edges = sample.graph.edges().iter().enumerate();
    let kept: Vec<usize> =
        edges.filter(|(_, ends)| !hidden.contains(&unordered(**ends))).map(|(at, _)| at).collect();
    let graph = sample.graph.with_edges_at(&kept)?.with_pairs(pairs)?;
    Ok(Sample { id: sample.id.clone(), graph: Arc::new(graph), targets })
}

fn unordered([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

/// The links in random order, each once. The two directions between the same nodes of a directed graph stay together: what
/// hides one of them hides the other, and each would give the other away.
fn shuffled_links(graph: &Graph, directed: bool, random: &mut Stream) -> Vec<Vec<[u32; 2]>> {
    let mut ends: Vec<[u32; 2]> = graph.edges().iter().copied().filter(|[a, b]| a != b).collect();
    if !directed {
        ends.iter_mut().for_each(|ends| *ends = unordered(*ends));
    }
    ends.sort_unstable_by_key(|ends| (unordered(*ends), *ends));
    ends.dedup();
    let together = ends.chunk_by(|a, b| unordered(*a) == unordered(*b));
    let mut links: Vec<Vec<[u32; 2]>> = together.map(<[_]>::to_vec).collect();
    random.shuffle(&mut links);
    links
}

/// Draws pairs of different nodes that are no links.
#[derive(Debug, Clone)]
pub struct Negatives {
    nodes: usize,
    directed: bool,
    taken: HashSet<[u32; 2]>,
}

impl Negatives {
    /// For a graph: no pair with an edge in it, in either direction unless the graph is directed, and none of the pairs that
    /// it asks about.
    pub fn new(graph: &Graph, directed: bool) -> Self {
        let mut found = Self { nodes: graph.num_nodes(), directed, taken: HashSet::new() };
        for &ends in graph.edges().iter().chain(graph.pairs()) {
            if ends[0] != ends[1] {
                found.taken.insert(found.key(ends));
            }
        }
        found
    }

    fn key(&self, ends: [u32; 2]) -> [u32; 2] {
        if self.directed { ends } else { unordered(ends) }
    }

    /// Whether a pair may be drawn.
    pub fn is_free(&self, ends: [u32; 2]) -> bool {
        ends[0] != ends[1] && !self.taken.contains(&self.key(ends))
    }

    /// Pairs that may be drawn.
    pub fn free(&self) -> usize {
        let ordered = self.nodes.saturating_mul(self.nodes.saturating_sub(1));
        let all = if self.directed { ordered } else { ordered / 2 };
        all.saturating_sub(self.taken.len())
    }

    /// So many different pairs.
    ///
    /// # Errors
    ///
    /// [`LinkError::TooDense`] if there are not so many; `id` is the graph's name.
    pub fn draw(&self, count: usize, random: &mut Stream, id: &str) -> Result<Vec<[u32; 2]>, LinkError> {
        let free = self.free();
        if count > free {
            return Err(LinkError::TooDense { id: id.to_owned(), asked: count, free, nodes: self.nodes });
        }
        // Most throws hit while pairs without a link are in the majority and few of them are wanted. Otherwise the graph
        // is small beside its links and what is wanted, and its pairs can be listed.
        let ordered = self.nodes.saturating_mul(self.nodes.saturating_sub(1));
        let likely = free.saturating_mul(4) > ordered && count <= free / 2;
        if !likely {
            let nodes = 0..self.nodes as u32;
            let first = |a: u32| if self.directed { 0 } else { a + 1 };
            let pairs = nodes.clone().flat_map(|a| (first(a)..self.nodes as u32).map(move |b| [a, b]));
            let mut all: Vec<[u32; 2]> = pairs.filter(|ends| self.is_free(*ends)).collect();
            random.shuffle(&mut all);
            all.truncate(count);
            return Ok(all);
        }
        let mut drawn = HashSet::with_capacity(count);
        let mut pairs = Vec::with_capacity(count);
        while pairs.len() < count {
            let ends = [random.below(self.nodes) as u32, random.below(self.nodes) as u32];
            if self.is_free(ends) && drawn.insert(self.key(ends)) {
                pairs.push(ends);
            }
        }
        Ok(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_without_a_link_are_drawn_from_dense_graphs_too_until_there_are_none_left() {
        // Complete but for the pairs 0-1 and 2-3.
        let edges = (0..6u32).flat_map(|a| (0..6u32).map(move |b| [a, b]));
        let is_gap = |ends: &[u32; 2]| [[0, 1], [2, 3]].contains(&unordered(*ends));
        let edges: Vec<[u32; 2]> = edges.filter(|ends| ends[0] != ends[1] && !is_gap(ends)).collect();
        let graph = Graph::from_edges(6, edges).unwrap();
        let negatives = Negatives::new(&graph, false);
        let mut drawn = negatives.draw(2, &mut stream(0, "test", &[]), "g").unwrap();
        drawn.sort_unstable();
        assert_eq!(drawn, [[0, 1], [2, 3]]);
        let error = negatives.draw(3, &mut stream(0, "test", &[]), "g").unwrap_err();
        assert_eq!(error, LinkError::TooDense { id: "g".into(), asked: 3, free: 2, nodes: 6 });
        // In a directed graph the reverse of a link is none.
        assert_eq!(Negatives::new(&Graph::from_edges(2, vec![[0, 1]]).unwrap(), true).free(), 1);
    }

    #[test]
    fn draws_are_a_function_of_the_seed_and_never_hit_a_link_a_loop_or_a_pair_twice() {
        let graph = Graph::from_edges(40, (0..39).map(|node| [node, node + 1]).collect()).unwrap();
        let graph = graph.with_pairs(vec![[5, 20]]).unwrap();
        let negatives = Negatives::new(&graph, false);
        let draw = |seed| negatives.draw(300, &mut stream(seed, "test", &[]), "g").unwrap();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let distinct: HashSet<[u32; 2]> = draw(1).into_iter().map(unordered).collect();
        assert_eq!(distinct.len(), 300);
        for [a, b] in distinct {
            assert!(b - a > 1 && [a, b] != [5, 20], "{a}-{b}");
        }
    }
}
