//! The eigenpairs of a graph in parts are those of one process, whoever holds which part.

use graphminnet_data::exchange::{Exchange, Threads};
use graphminnet_data::partition::Partition;
use graphminnet_data::spectral::{PrepareOptions, PreparedGraph, SpectralError, prepare_graph, prepare_part};
use graphminnet_data::{Graph, rng};
use std::sync::Arc;

/// A connected graph with few repeated eigenvalues: a path with chords.
fn graph(nodes: usize) -> Graph {
    let mut random = rng::stream(7, "chords", &[]);
    let mut edges: Vec<[u32; 2]> = (1..nodes as u32).map(|node| [node - 1, node]).collect();
    for _ in 0..nodes / 3 {
        // One way only, and some of them twice: the Laplacian knows no direction.
        edges.push([random.below(nodes) as u32, random.below(nodes) as u32]);
    }
    Graph::from_edges(nodes, edges).unwrap()
}

fn in_parts(
    whole: &PreparedGraph,
    partition: &Partition,
    options: &PrepareOptions,
) -> Vec<Result<PreparedGraph, SpectralError>> {
    std::thread::scope(|scope| {
        let ranks: Vec<_> = Threads::team(partition.parts())
            .into_iter()
            .map(|rank| {
                scope.spawn(move || {
                    let part = partition.part(whole, rank.rank()).unwrap();
                    let exchange: Arc<dyn Exchange> = Arc::new(rank);
                    prepare_part(&exchange, &part.graph, part.part.unwrap(), options)
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

#[test]
fn eigenpairs_and_degrees_are_those_of_one_process() {
    let options = PrepareOptions { eigenpairs: 6, whole_eigenspaces: true, ..Default::default() };
    // Solved densely, and by the iteration.
    for nodes in [60, 2_500] {
        let whole = prepare_graph(&Arc::new(graph(nodes)), &options).unwrap();
        let uneven: Vec<u32> = (0..nodes).map(|node| if node < nodes / 5 { 1 } else { 3 }).collect();
        let scattered: Vec<u32> = (0..nodes as u32).map(|node| node % 3).collect();
        let partitions = [
            Partition::in_order(nodes, 1),
            Partition::in_order(nodes, 2),
            Partition::in_order(nodes, 4),
            // Empty parts.
            Partition::of(&uneven, 4),
            Partition::of(&scattered, 3),
        ];
        for partition in partitions {
            let parts = in_parts(&whole, &partition, &options);
            for (number, part) in parts.into_iter().enumerate() {
                let part = part.unwrap();
                assert_eq!((part.num_eigenpairs, part.num_components), (6, 1));
                assert_eq!(part.usable_eigenpairs, whole.usable_eigenpairs);
                for (found, expected) in part.eigenvalues.iter().zip(&whole.eigenvalues) {
                    assert!(
                        (found - expected).abs() < 1e-6,
                        "{:?} {:?}",
                        part.eigenvalues,
                        whole.eigenvalues
                    );
                }
                for (row, at) in partition.numbers(number).enumerate() {
                    let node = partition.node(at);
                    assert_eq!(part.log_degree[row], whole.log_degree[node]);
                    for pair in 0..6 {
                        let (found, expected) =
                            (part.eigenvectors[6 * row + pair], whole.eigenvectors[6 * node + pair]);
                        assert!(
                            (found - expected).abs() < 1e-5,
                            "{nodes}, {number}, {row}, {pair}: {found} {expected}"
                        );
                    }
                }
            }
        }
    }
}

/// Components of several sizes, with nodes that have no edges between and after them.
#[test]
fn eigenpairs_of_a_graph_that_is_not_connected_are_those_of_its_components() {
    let nodes = 1_500;
    let mut edges = graph(nodes).edges().to_vec();
    let component = |node: u32| match node {
        0..300 => 0,
        300 => 1,
        301..900 => 2,
        900 => 4,
        901..1_490 => 3,
        _ => node,
    };
    edges.retain(|[a, b]| component(*a) == component(*b));
    let scattered: Vec<u32> = (0..nodes as u32).map(|node| node / 7 % 3).collect();
    // 15 components: more than pairs, as many, and fewer.
    for pairs in [5, 15, 24] {
        let options = PrepareOptions { eigenpairs: pairs, whole_eigenspaces: true, ..Default::default() };
        let whole =
            prepare_graph(&Arc::new(Graph::from_edges(nodes, edges.clone()).unwrap()), &options).unwrap();
        assert_eq!(whole.num_components, 15);
        for partition in
            [Partition::in_order(nodes, 1), Partition::in_order(nodes, 4), Partition::of(&scattered, 3)]
        {
            for (number, part) in in_parts(&whole, &partition, &options).into_iter().enumerate() {
                let part = part.unwrap();
                assert_eq!((part.num_eigenpairs, part.num_components), (pairs, 15));
                assert_eq!(part.usable_eigenpairs, whole.usable_eigenpairs);
                for (found, expected) in part.eigenvalues.iter().zip(&whole.eigenvalues) {
                    assert!(
                        (found - expected).abs() < 1e-6,
                        "{:?} {:?}",
                        part.eigenvalues,
                        whole.eigenvalues
                    );
                }
                // Those of the value 0 come in the order of the parts.
                let first = if partition.parts() == 3 { 15.min(pairs) } else { 0 };
                for (row, node) in partition.nodes_of(number).enumerate() {
                    for pair in first..pairs {
                        let (found, expected) =
                            (part.eigenvectors[pairs * row + pair], whole.eigenvectors[pairs * node + pair]);
                        assert!(
                            (found - expected).abs() < 1e-5,
                            "{pairs}, {node}, {pair}: {found} {expected}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn what_has_no_parts_is_refused() {
    let whole = prepare_graph(&Arc::new(graph(1_000)), &PrepareOptions::default()).unwrap();
    let partition = Partition::in_order(1_000, 3);
    let options = PrepareOptions { random_walk_steps: 4, ..Default::default() };
    for error in in_parts(&whole, &partition, &options) {
        assert!(error.unwrap_err().to_string().contains("random-walk"));
    }
}
