//! A random graph in which every node has nearly the same number of edges and any two nodes are few steps apart.
//!
//! ```text
//! up to 10 nodes: all ordered pairs
//! else: r random permutations π; edges i → π(i) and back; taken as soon as the second smallest eigenvalue of
//!       M[u,v] = −(edges u→v), M[u,u] = all edges into u, is at least 2r − 2·√(2r − 1) − 0.1; else the best of 100
//! ```
//! Edges that occur twice stay twice, and a fixed point of a permutation stays a loop, as in the code of the authors. Theirs
//! draws from a generator that no seed reaches; here the draw depends on the seed of the run and the number of the graph.

use crate::repro::ReproError;
use graphminnet_data::rng;
use graphminnet_data::spectral::lowest_of_symmetric;

/// Name of the expander edges among the encodings of a graph.
pub(crate) const EXPANDER: &str = "expander";

/// Graphs up to this size are complete instead.
const COMPLETE: usize = 10;

/// Draws until one is good enough.
const DRAWS: u64 = 100;

/// Above this many nodes the first draw is taken without a look at its eigenvalue, which would cost too much; the larger
/// the graph, the closer a random one is to the best.
const LARGEST_CHECKED: usize = 1500;

/// The edges `[source, target]` of an expander of `2r` edges per node.
///
/// # Errors
///
/// [`ReproError::Spectral`] if an eigenvalue cannot be computed.
pub(crate) fn expander_edges(
    nodes: usize,
    r: usize,
    seed: u64,
    graph: u64,
) -> Result<Vec<[u32; 2]>, ReproError> {
    if nodes <= COMPLETE {
        let all = (0..nodes as u32).flat_map(|i| (0..nodes as u32).map(move |j| [i, j]));
        return Ok(all.filter(|[i, j]| i != j).collect());
    }
    let degree = 2.0 * r as f64;
    let enough = (degree - 2.0 * (degree - 1.0).max(0.0).sqrt() - 0.1).max(0.0);
    let mut best: Option<(f64, Vec<[u32; 2]>)> = None;
    for draw in 0..DRAWS {
        let mut random = rng::stream(seed, "expander", &[graph, draw]);
        let permutations: Vec<Vec<u32>> = (0..r)
            .map(|_| {
                let mut permutation: Vec<u32> = (0..nodes as u32).collect();
                random.shuffle(&mut permutation);
                permutation
            })
            .collect();
        let edges = edges_of(&permutations);
        if nodes > LARGEST_CHECKED {
            return Ok(edges);
        }
        let gap = spectral_gap(nodes, &edges)?;
        if best.as_ref().is_none_or(|(most, _)| gap > *most) {
            best = Some((gap, edges));
        }
        if gap >= enough {
            break;
        }
    }
    Ok(best.map(|(_, edges)| edges).unwrap_or_default())
}

/// `i → π(i)` for all permutations, then all of them backwards.
fn edges_of(permutations: &[Vec<u32>]) -> Vec<[u32; 2]> {
    let there: Vec<[u32; 2]> = permutations
        .iter()
        .flat_map(|permutation| permutation.iter().enumerate().map(|(i, &image)| [i as u32, image]))
        .collect();
    there.iter().copied().chain(there.iter().map(|[i, image]| [*image, *i])).collect()
}

/// The second smallest eigenvalue of `M`.
fn spectral_gap(nodes: usize, edges: &[[u32; 2]]) -> Result<f64, ReproError> {
    let mut matrix = vec![0.0; nodes * nodes];
    for &[from, to] in edges {
        let (from, to) = (from as usize, to as usize);
        matrix[to * nodes + to] += 1.0;
        if from != to {
            matrix[from * nodes + to] -= 1.0;
        }
    }
    let (values, _) = lowest_of_symmetric(nodes, &matrix, 2)?;
    Ok(values.get(1).copied().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_and_eigenvalue_of_given_permutations_are_the_known_ones() {
        let edges =
            edges_of(&[(0..12).map(|i| (5 * i + 1) % 12).collect(), (0..12).map(|i| 7 * i % 12).collect()]);
        assert_eq!((edges.len(), edges.iter().filter(|[i, j]| i == j).count()), (48, 12));
        assert!((spectral_gap(12, &edges).unwrap() - 0.763_932_023).abs() < 1e-9);
    }

    #[test]
    fn small_graphs_are_complete_and_others_good_expanders_that_follow_the_seed() {
        let complete = expander_edges(4, 3, 0, 0).unwrap();
        assert_eq!((complete.len(), complete[0], complete[11]), (12, [0, 1], [3, 2]));
        let edges = expander_edges(30, 3, 7, 2).unwrap();
        assert_eq!(edges.len(), 2 * 3 * 30);
        assert!(spectral_gap(30, &edges).unwrap() >= 1.427_864_045);
        assert_eq!(edges, expander_edges(30, 3, 7, 2).unwrap());
        assert_ne!(edges, expander_edges(30, 3, 8, 2).unwrap());
        assert_ne!(edges, expander_edges(30, 3, 7, 3).unwrap());
    }
}
