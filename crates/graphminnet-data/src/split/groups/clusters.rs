//! Clusters of similar fingerprints: k-means with the starting points of k-means++.

use crate::rng::stream;
use crate::smiles::Fingerprint;
use rayon::prelude::*;

/// Samples for each cluster, on average, within the limits on their number.
const SAMPLES_PER_CLUSTER: usize = 20;
const CLUSTERS: (usize, usize) = (10, 100);
/// Rounds after which hardly any sample changes its cluster.
const ROUNDS: usize = 20;

/// The cluster of every fingerprint.
pub(super) fn of(fingerprints: &[Fingerprint], seed: u64) -> Vec<usize> {
    let count = (fingerprints.len() / SAMPLES_PER_CLUSTER).clamp(CLUSTERS.0, CLUSTERS.1);
    let points: Vec<Vec<f32>> = fingerprints.par_iter().map(Fingerprint::bits).collect();
    let mut centres = starts(&points, count.min(points.len()), seed);
    let mut cluster = vec![usize::MAX; points.len()];
    for _ in 0..ROUNDS {
        let nearest: Vec<usize> = points.par_iter().map(|point| nearest(point, &centres).0).collect();
        if nearest == cluster {
            break;
        }
        cluster = nearest;
        centres = means(&points, &cluster, centres);
    }
    cluster
}

/// Points far from each other: each next one with a probability that grows with the square of its distance.
fn starts(points: &[Vec<f32>], count: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut chance = stream(seed, "clusters", &[]);
    let mut centres = Vec::with_capacity(count);
    let Some(first) = points.get(chance.below(points.len())) else { return centres };
    centres.push(first.clone());
    let mut distances: Vec<f64> = points.par_iter().map(|point| distance(point, first)).collect();
    while centres.len() < count {
        let mut left = chance.uniform() * distances.iter().sum::<f64>();
        let reached = distances.iter().position(|distance| {
            left -= distance;
            left < 0.0
        });
        // Nothing is left where all points are centres.
        let Some(centre) = reached.and_then(|at| points.get(at)) else { break };
        centres.push(centre.clone());
        distances.par_iter_mut().zip(points).for_each(|(own, point)| *own = own.min(distance(point, centre)));
    }
    centres
}

fn nearest(point: &[f32], centres: &[Vec<f32>]) -> (usize, f64) {
    let distances = centres.iter().map(|centre| distance(point, centre)).enumerate();
    distances.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    f64::from(a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f32>())
}

/// The mean of every cluster; one that has become empty stays where it was.
fn means(points: &[Vec<f32>], cluster: &[usize], mut centres: Vec<Vec<f32>>) -> Vec<Vec<f32>> {
    let mut sums: Vec<(f32, Vec<f32>)> =
        centres.iter().map(|centre| (0.0, vec![0.0; centre.len()])).collect();
    for (point, own) in points.iter().zip(cluster) {
        if let Some((count, sum)) = sums.get_mut(*own) {
            *count += 1.0;
            sum.iter_mut().zip(point).for_each(|(sum, value)| *sum += value);
        }
    }
    for (centre, (count, sum)) in centres.iter_mut().zip(sums) {
        if count > 0.0 {
            *centre = sum.into_iter().map(|sum| sum / count).collect();
        }
    }
    centres
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Featurizer, Limits, molecule_graph};

    #[test]
    fn similar_molecules_share_a_cluster_and_nothing_depends_on_chance_alone() {
        let alcohols = (4..60).map(|length| format!("{}O", "C".repeat(length)));
        let pyridines = (1..60).map(|length| format!("c1ccncc1{}", "N(C)".repeat(length)));
        let schema = crate::Schema {
            level: crate::Level::Graph,
            task: crate::Task::Regression,
            targets: vec![],
            class_names: vec![],
            positive_class: None,
            molecules: None,
            node_columns: Featurizer::Cip.node_columns(),
            edge_columns: Featurizer::Cip.edge_columns(),
        };
        let fingerprints: Vec<Fingerprint> = alcohols
            .chain(pyridines)
            .map(|smiles| molecule_graph(&smiles, Featurizer::Cip, &Limits::default()).unwrap())
            .map(|graph| Fingerprint::of(&graph, &schema).unwrap())
            .collect();
        let clusters = of(&fingerprints, 0);
        assert_eq!(clusters, of(&fingerprints, 0));
        let (alcohols, pyridines) = clusters.split_at(56);
        assert!(alcohols.iter().all(|cluster| !pyridines.contains(cluster)), "{clusters:?}");
        assert_eq!(of(&[], 0), Vec::<usize>::new());
    }
}
