//! Degrees: their logarithms, and the local degree profile.

use crate::graph::{Features, Graph, GraphError};

/// Columns of the local degree profile.
pub(super) const DEGREE_PROFILE_COLUMNS: usize = 5;

/// `ln(1 + degree)` of every node in the undirected simple graph underneath.
pub(super) fn log_degrees(graph: &Graph) -> Vec<f32> {
    distinct_neighbours(graph).into_iter().map(log_degree).collect()
}

/// `ln(1 + degree)`.
pub(crate) fn log_degree(degree: u32) -> f32 {
    f64::from(degree).ln_1p() as f32
}

/// Number of distinct neighbours of every node, itself not counted; in linear time, without sorting.
fn distinct_neighbours(graph: &Graph) -> Vec<u32> {
    let nodes = graph.num_nodes();
    let mut ends = vec![0u32; nodes + 1];
    for &[a, b] in graph.edges() {
        ends[a as usize] += 1;
        ends[b as usize] += 1;
    }
    let mut total = 0;
    for end in &mut ends {
        total += *end;
        *end = total;
    }
    // Filled from the back, so that `ends` become the starts of each node's part.
    let mut neighbours = vec![0u32; total as usize];
    for &[a, b] in graph.edges() {
        for (node, other) in [(a, b), (b, a)] {
            ends[node as usize] -= 1;
            neighbours[ends[node as usize] as usize] = other;
        }
    }
    let mut last_seen_by = vec![u32::MAX; nodes];
    (0..nodes as u32)
        .map(|node| {
            last_seen_by[node as usize] = node;
            let around = &neighbours[ends[node as usize] as usize..ends[node as usize + 1] as usize];
            let new = |other: &&u32| std::mem::replace(&mut last_seen_by[**other as usize], node) != node;
            around.iter().filter(new).count() as u32
        })
        .collect()
}

/// Local degree profile of every node: its out-degree, and the minimum, maximum, mean and unbiased standard deviation
/// of the out-degrees at the ends of its outgoing edges (Cai and Wang 2018).
///
/// All are 0 where there is no outgoing edge; the standard deviation is 0 where there is only one.
///
/// # Errors
///
/// None in practice; the type is that of [`Features::numbers`].
pub fn degree_profile(graph: &Graph) -> Result<Features, GraphError> {
    let nodes = graph.num_nodes();
    let mut degrees = vec![0u32; nodes];
    for [source, _] in graph.edges() {
        degrees[*source as usize] += 1;
    }
    #[derive(Clone)]
    struct Profile {
        smallest: f64,
        largest: f64,
        sum: f64,
        squares: f64,
    }
    let mut profiles = vec![Profile { smallest: f64::INFINITY, largest: 0.0, sum: 0.0, squares: 0.0 }; nodes];
    for &[source, target] in graph.edges() {
        let degree = f64::from(degrees[target as usize]);
        let profile = &mut profiles[source as usize];
        profile.smallest = profile.smallest.min(degree);
        profile.largest = profile.largest.max(degree);
        profile.sum += degree;
    }
    // Squares around the mean in a second pass: no cancellation for hubs.
    for &[source, target] in graph.edges() {
        let profile = &mut profiles[source as usize];
        let mean = profile.sum / f64::from(degrees[source as usize]);
        profile.squares += (f64::from(degrees[target as usize]) - mean).powi(2);
    }
    let values = degrees
        .iter()
        .zip(&profiles)
        .flat_map(|(&degree, profile)| {
            let count = f64::from(degree);
            let deviation = if degree > 1 { (profile.squares / (count - 1.0)).sqrt() } else { 0.0 };
            let row = match degree {
                0 => [0.0; DEGREE_PROFILE_COLUMNS],
                _ => [count, profile.smallest, profile.largest, profile.sum / count, deviation],
            };
            row.map(|value| value as f32)
        })
        .collect();
    Features::numbers(nodes, DEGREE_PROFILE_COLUMNS, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_of_a_small_call_graph_is_as_computed_by_hand() {
        // 0 calls 1, 2, 3; 1 calls 2; 2 calls 0 and 3.
        let graph = Graph::from_edges(4, vec![[0, 1], [0, 2], [0, 3], [1, 2], [2, 0], [2, 3]]).unwrap();
        let profile = degree_profile(&graph).unwrap();
        // Out-degrees 3, 1, 2, 0.
        assert_eq!(profile.number_row(0), &[3.0, 0.0, 2.0, 1.0, 1.0]);
        assert_eq!(profile.number_row(1), &[1.0, 2.0, 2.0, 2.0, 0.0]);
        assert_eq!(profile.number_row(2), &[2.0, 0.0, 3.0, 1.5, 4.5f32.sqrt()]);
        assert_eq!(profile.number_row(3), &[0.0; 5]);
    }

    #[test]
    fn log_degrees_ignore_loops_repetitions_and_directions() {
        let graph = Graph::from_edges(3, vec![[0, 1], [1, 0], [0, 1], [2, 2]]).unwrap();
        assert_eq!(log_degrees(&graph), vec![2f32.ln(), 2f32.ln(), 0.0]);
    }

    proptest::proptest! {
        #[test]
        fn degrees_are_lengths_of_neighbour_lists(
            edges in proptest::collection::vec((0u32..9, 0u32..9), 0..40),
        ) {
            let graph = Graph::from_edges(9, edges.into_iter().map(|(a, b)| [a, b]).collect()).unwrap();
            let (offsets, _) = graph.undirected_neighbours();
            let expected: Vec<u32> = offsets.windows(2).map(|range| range[1] - range[0]).collect();
            proptest::prop_assert_eq!(distinct_neighbours(&graph), expected);
        }
    }
}
