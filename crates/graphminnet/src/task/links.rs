//! How good scores of links are, by the definitions of OGB.
//!
//! ```
//! use graphminnet::task::links::rank;
//!
//! // One candidate is better, and one is as good: between place 2 and place 3.
//! assert_eq!(rank(0.5, [0.9, 0.5, 0.1].into_iter()), 2.5);
//! ```
//!
//! | score | a link counts against | definition |
//! |---|---|---|
//! | `roc_auc`, `average_precision` | the pairs without a link of its part | as everywhere |
//! | `hits_at_20`, `hits_at_50`, `hits_at_100` | the same | OGB: above the K-th best of these pairs |
//! | `mrr`, `hits_at_1`, `hits_at_3`, `hits_at_10` | all other nodes in the place of its second one | filtered: nodes that have a link with the first one, known or asked about, are left out, and so is the first one itself; equal scores share the mean of their places (OGB); the mean over all links |
//!
//! PCQM-Contact's own filtered MRR differs in two points: edges of the graph stay candidates, and it is the mean over graphs
//! of the mean over their links.

use super::metric::ranked;
use crate::config::MetricKind;
use graphminnet_data::links::Negatives;
use graphminnet_data::{Dataset, Graph, GraphError, Sample, Split, rng};
use serde::Serialize;
use std::sync::Arc;

/// Pairs that are scored at a time: bounds the memory.
const AT_ONCE: usize = 1 << 17;

/// How links are held against candidates.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinkQuestion {
    /// The part whose links are judged; `None` judges all.
    pub part: Option<Split>,
    /// Whether `a → b` and `b → a` are two links.
    pub directed: bool,
    /// Candidates that are drawn for each link; `None` takes all nodes.
    pub candidates: Option<usize>,
    /// Seed of the draw.
    pub seed: u64,
}

/// How good the scores of links are; `None` where a score has no value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkScores {
    /// Links that are judged.
    pub links: usize,
    /// Pairs without a link that are asked about beside them.
    pub others: usize,
    /// Most nodes that a link is ranked among.
    pub candidates: usize,
    /// Area under the ROC curve.
    pub roc_auc: Option<f64>,
    /// Average precision.
    pub average_precision: Option<f64>,
    /// OGB's hits@20.
    pub hits_at_20: Option<f64>,
    /// OGB's hits@50.
    pub hits_at_50: Option<f64>,
    /// OGB's hits@100.
    pub hits_at_100: Option<f64>,
    /// Mean reciprocal rank, filtered.
    pub mrr: Option<f64>,
    /// Share of links that are the first of their candidates.
    pub hits_at_1: Option<f64>,
    /// Share of links among the first three of their candidates.
    pub hits_at_3: Option<f64>,
    /// Share of links among the first ten of their candidates.
    pub hits_at_10: Option<f64>,
}

impl LinkScores {
    /// All scores with their names, in a fixed order.
    pub fn named(&self) -> [(&'static str, Option<f64>); 9] {
        [
            ("roc_auc", self.roc_auc),
            ("average_precision", self.average_precision),
            ("hits_at_20", self.hits_at_20),
            ("hits_at_50", self.hits_at_50),
            ("hits_at_100", self.hits_at_100),
            ("mrr", self.mrr),
            ("hits_at_1", self.hits_at_1),
            ("hits_at_3", self.hits_at_3),
            ("hits_at_10", self.hits_at_10),
        ]
    }
}

/// The place of a score among others, from 1; equal scores share the mean of their places.
pub fn rank(score: f64, others: impl Iterator<Item = f64>) -> f64 {
    let (above, equal) = others.fold((0usize, 0usize), |(above, equal), other| {
        (above + usize::from(other > score), equal + usize::from(other == score))
    });
    1.0 + above as f64 + equal as f64 / 2.0
}

/// Judges the scores that `score` gives to pairs of a graph (larger is more likely), over the pairs of a data set whose
/// target is 1 (a link) or 0. A score that is not a number, or not there, is the lowest.
///
/// # Errors
///
/// Whatever `score` fails with.
pub fn judge<E: From<GraphError>>(
    dataset: &Dataset,
    question: LinkQuestion,
    mut score: impl FnMut(usize, &Arc<Graph>, &[[u32; 2]]) -> Result<Vec<f64>, E>,
) -> Result<LinkScores, E> {
    let (mut scored, mut ranks) = (Vec::new(), Vec::new());
    for (at, sample) in dataset.samples.iter().enumerate() {
        let rows: Vec<usize> = asked(dataset, at, sample, question.part);
        let pairs: Vec<[u32; 2]> = rows.iter().map(|&row| sample.graph.pairs()[row]).collect();
        let labels = rows.iter().map(|&row| sample.targets[row] == 1.0);
        scored.extend(comparable(score(at, &sample.graph, &pairs)?, pairs.len()).zip(labels));
        let links = rows.into_iter().filter(|&row| sample.targets[row] == 1.0);
        rank_links(at, sample, links, question, &mut score, &mut ranks)?;
    }
    let links = scored.iter().filter(|(_, label)| *label).count();
    let others = scored.len() - links;
    let mut over_pairs = |kind| (links > 0 && others > 0).then(|| ranked(kind, &mut scored));
    let mean = |of: &dyn Fn(f64) -> f64| {
        (!ranks.is_empty()).then(|| ranks.iter().map(|(rank, _)| of(*rank)).sum::<f64>() / ranks.len() as f64)
    };
    let within = |k: f64| mean(&|rank| f64::from(u8::from(rank <= k)));
    Ok(LinkScores {
        links,
        others,
        candidates: ranks.iter().map(|(_, candidates)| *candidates).max().unwrap_or(0),
        roc_auc: over_pairs(MetricKind::RocAuc),
        average_precision: over_pairs(MetricKind::AveragePrecision),
        hits_at_20: over_pairs(MetricKind::HitsAt20),
        hits_at_50: over_pairs(MetricKind::HitsAt50),
        hits_at_100: over_pairs(MetricKind::HitsAt100),
        mrr: mean(&|rank| 1.0 / rank),
        hits_at_1: within(1.0),
        hits_at_3: within(3.0),
        hits_at_10: within(10.0),
    })
}

/// As many scores as there are pairs, all of which can be compared: nothing is ranked well because it is not known.
fn comparable(mut scores: Vec<f64>, pairs: usize) -> impl Iterator<Item = f64> {
    scores.resize(pairs, f64::NAN);
    scores.into_iter().map(|score| if score.is_nan() { f64::NEG_INFINITY } else { score })
}

/// The pairs of a graph that have a target and belong to the part.
fn asked(dataset: &Dataset, at: usize, sample: &Sample, part: Option<Split>) -> Vec<usize> {
    let of_rows = dataset.node_parts.as_ref().map(|parts| parts.graph(at));
    let of_graph = dataset.official_split.as_ref().and_then(|parts| parts.get(at).copied());
    let is_asked = |row: &usize| {
        let found = match of_rows {
            Some(parts) => parts.get(*row).copied().flatten(),
            None => of_graph,
        };
        !sample.targets[*row].is_nan() && (part.is_none() || found == part)
    };
    (0..sample.targets.len().min(sample.graph.pairs().len())).filter(is_asked).collect()
}

/// The place of every link among its candidates, and how many these are.
fn rank_links<E: From<GraphError>>(
    at: usize,
    sample: &Sample,
    links: impl Iterator<Item = usize>,
    question: LinkQuestion,
    score: &mut impl FnMut(usize, &Arc<Graph>, &[[u32; 2]]) -> Result<Vec<f64>, E>,
    ranks: &mut Vec<(f64, usize)>,
) -> Result<(), E> {
    let graph = &sample.graph;
    let is_link = |(_, target): &(_, &f32)| **target == 1.0;
    let known: Vec<[u32; 2]> =
        graph.pairs().iter().zip(&sample.targets).filter(is_link).map(|(pair, _)| *pair).collect();
    let known = Negatives::new(&Graph::clone(graph).with_pairs(known)?, question.directed);
    // A link comes before its candidates.
    let (mut pairs, mut sizes): (Vec<[u32; 2]>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut flush = |pairs: &mut Vec<[u32; 2]>, sizes: &mut Vec<usize>| -> Result<(), E> {
        let scores: Vec<f64> = comparable(score(at, graph, pairs)?, pairs.len()).collect();
        let mut rest = scores.as_slice();
        for size in sizes.drain(..) {
            let (one, after) = rest.split_at(size.min(rest.len()));
            if let Some((link, candidates)) = one.split_first() {
                ranks.push((rank(*link, candidates.iter().copied()), candidates.len()));
            }
            rest = after;
        }
        pairs.clear();
        Ok(())
    };
    for row in links {
        let [first, second] = graph.pairs()[row];
        let mut nodes: Vec<u32> = (0..graph.num_nodes() as u32).collect();
        if question.candidates.is_some() {
            rng::stream(question.seed, "candidates", &[at as u64, row as u64]).shuffle(&mut nodes);
        }
        let others = nodes.into_iter().filter(|node| known.is_free([first, *node]));
        let before = pairs.len();
        pairs.push([first, second]);
        pairs.extend(others.take(question.candidates.unwrap_or(usize::MAX)).map(|node| [first, node]));
        sizes.push(pairs.len() - before);
        if pairs.len() >= AT_ONCE {
            flush(&mut pairs, &mut sizes)?;
        }
    }
    if pairs.is_empty() { Ok(()) } else { flush(&mut pairs, &mut sizes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphminnet_data::{Level, NodeParts, Schema, Task};

    /// A path 0-1-2-3-4 with the links 0-3 (valid) and 1-4 (test) hidden, and 0-4 as no link of each part.
    fn path() -> Dataset {
        let edges = (0..4u32).flat_map(|a| [[a, a + 1], [a + 1, a]]).collect();
        let graph = Graph::from_edges(5, edges).unwrap().with_pairs(vec![[0, 3], [1, 4], [0, 4], [4, 0]]);
        let schema = Schema {
            level: Level::Pair,
            task: Task::Binary,
            targets: vec!["link".into()],
            class_names: vec![],
            positive_class: None,
            molecules: None,
            node_columns: vec![],
            edge_columns: vec![],
        };
        let parts = [Split::Valid, Split::Test, Split::Valid, Split::Test].map(Some).to_vec();
        Dataset {
            name: "path".into(),
            schema,
            samples: vec![Sample {
                id: "0".into(),
                graph: Arc::new(graph.unwrap()),
                targets: vec![1.0, 1.0, 0.0, 0.0],
            }],
            official_split: None,
            node_parts: Some(NodeParts::new(vec![parts])),
            qualifiers: Default::default(),
        }
    }

    #[test]
    fn a_link_is_ranked_among_nodes_without_a_link_to_its_first_end() {
        // Nodes 1 (an edge) and 3 (the link itself) are no candidates for 0-3, and neither is 0: 2 and 4 are.
        let mut seen = Vec::new();
        let question = LinkQuestion { part: Some(Split::Valid), ..LinkQuestion::default() };
        let scores = judge::<GraphError>(&path(), question, |_, _, pairs| {
            seen.push(pairs.to_vec());
            Ok(pairs.iter().map(|[_, second]| f64::from(*second)).collect())
        })
        .unwrap();
        assert_eq!(seen, [vec![[0, 3], [0, 4]], vec![[0, 3], [0, 2], [0, 4]]]);
        // 4 is better, 2 is not: place 2.
        assert_eq!((scores.links, scores.others, scores.candidates), (1, 1, 2));
        assert_eq!((scores.mrr, scores.hits_at_1, scores.hits_at_3), (Some(0.5), Some(0.0), Some(1.0)));
        assert_eq!((scores.roc_auc, scores.hits_at_20), (Some(0.0), Some(1.0)));
    }

    #[test]
    fn a_link_is_ranked_among_no_more_nodes_than_there_are() {
        let ranked = |candidates| {
            let question = LinkQuestion { part: Some(Split::Valid), candidates, ..LinkQuestion::default() };
            let scores = judge::<GraphError>(&path(), question, |_, _, pairs| Ok(vec![0.0; pairs.len()]));
            scores.unwrap().candidates
        };
        assert_eq!([None, Some(1), Some(5000)].map(ranked), [2, 1, 2]);
    }

    #[test]
    fn the_other_direction_of_a_link_is_a_candidate_only_in_a_directed_graph() {
        let candidates = |directed| {
            let mut most = 0;
            let question = LinkQuestion { part: Some(Split::Test), directed, ..LinkQuestion::default() };
            judge::<GraphError>(&path(), question, |_, _, pairs| {
                most = most.max(pairs.len());
                Ok(vec![0.0; pairs.len()])
            })
            .unwrap();
            most - 1
        };
        // 1-4 against 3 alone (0 and 2 are neighbours) whichever way links are read: the path goes both ways.
        assert_eq!((candidates(false), candidates(true)), (1, 1));
        // Equal scores share the mean of their places, and are no hits.
        let all =
            judge::<GraphError>(&path(), LinkQuestion::default(), |_, _, pairs| Ok(vec![0.0; pairs.len()]));
        let all = all.unwrap();
        assert_eq!((all.roc_auc, all.hits_at_1), (Some(0.5), Some(0.0)));
        assert_eq!(all.mrr, Some((1.0 / 2.0 + 1.0 / 1.5) / 2.0));
        // Of 0-3 among 2 and 4: what is not a number, or missing, is not the best.
        let question = LinkQuestion { part: Some(Split::Valid), ..LinkQuestion::default() };
        let unknown = |pair: &[u32; 2]| if pair[1] == 3 { f64::NAN } else { 1.0 };
        let scores =
            judge::<GraphError>(&path(), question, |_, _, pairs| Ok(pairs.iter().map(unknown).collect()));
        let scores = scores.unwrap();
        assert_eq!((scores.mrr, scores.roc_auc), (Some(1.0 / 3.0), Some(0.0)));
        let scores = judge::<GraphError>(&path(), question, |_, _, _| Ok(Vec::new())).unwrap();
        assert_eq!((scores.links, scores.others, scores.hits_at_1), (1, 1, Some(0.0)));
    }
}
