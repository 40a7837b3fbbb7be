//! Eigenpairs of graphs whose spectra are known in closed form, at sizes on both sides of the solver threshold.

use graphminnet_data::spectral::{
    Eigenpairs, PrepareOptions, SpectralError, lowest_eigenpairs, prepare_all, prepare_graph,
    prepare_graph_until,
};
use graphminnet_data::{Graph, Stop, Stopped};
use proptest::prelude::*;
use std::f64::consts::PI;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn undirected(nodes: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Graph {
    Graph::from_edges(nodes, edges.into_iter().map(|(a, b)| [a as u32, b as u32]).collect()).unwrap()
}

fn path(nodes: usize) -> Graph {
    undirected(nodes, (1..nodes).map(|node| (node - 1, node)))
}

fn cycle(nodes: usize) -> Graph {
    undirected(nodes, (0..nodes).map(|node| (node, (node + 1) % nodes)))
}

fn star(leaves: usize) -> Graph {
    undirected(leaves + 1, (1..=leaves).map(|leaf| (0, leaf)))
}

fn complete(nodes: usize) -> Graph {
    undirected(nodes, (0..nodes).flat_map(|a| (0..a).map(move |b| (a, b))))
}

fn hypercube(dimension: usize) -> Graph {
    let nodes = 1usize << dimension;
    undirected(nodes, (0..nodes).flat_map(|node| (0..dimension).map(move |bit| (node, node ^ (1 << bit)))))
}

fn grid(side: usize) -> Graph {
    let at = move |row: usize, column: usize| row * side + column;
    let right =
        (0..side).flat_map(move |row| (1..side).map(move |column| (at(row, column - 1), at(row, column))));
    let down =
        (1..side).flat_map(move |row| (0..side).map(move |column| (at(row - 1, column), at(row, column))));
    undirected(side * side, right.chain(down))
}

/// A random graph of mean degree 5 that contains a cycle through all nodes.
fn expander(nodes: usize) -> Graph {
    let mut random = graphminnet_data::rng::stream(5, "expander", &[]);
    let extra: Vec<_> = (0..nodes * 3 / 2).map(|_| (random.below(nodes), random.below(nodes))).collect();
    undirected(nodes, (0..nodes).map(|node| (node, (node + 1) % nodes)).chain(extra))
}

fn disjoint(graphs: &[Graph]) -> Graph {
    let mut edges = Vec::new();
    let mut first = 0u32;
    for graph in graphs {
        edges.extend(graph.edges().iter().map(|ends| ends.map(|node| node + first)));
        first += graph.num_nodes() as u32;
    }
    Graph::from_edges(first as usize, edges).unwrap()
}

fn path_value(k: usize, nodes: usize) -> f64 {
    2.0 - 2.0 * (PI * k as f64 / nodes as f64).cos()
}

fn path_spectrum(nodes: usize) -> Vec<f64> {
    (0..nodes).map(|k| path_value(k, nodes)).collect()
}

fn cycle_spectrum(nodes: usize) -> Vec<f64> {
    (0..nodes).map(|k| 2.0 - 2.0 * (2.0 * PI * k as f64 / nodes as f64).cos()).collect()
}

/// Residuals, orthonormality, order, signs and values of the lowest pairs against the whole spectrum.
fn check(name: &str, graph: &Graph, count: usize, mut spectrum: Vec<f64>) -> Eigenpairs {
    let pairs = lowest_eigenpairs(graph, count).unwrap_or_else(|error| panic!("{name}: {error}"));
    spectrum.sort_by(f64::total_cmp);
    let next = spectrum.get(count).copied();
    spectrum.truncate(count);
    assert_eq!(pairs.values.len(), spectrum.len(), "{name}");
    for (found, expected) in pairs.values.iter().zip(&spectrum) {
        let error = (found - expected).abs();
        assert!(
            error <= 1e-7 * expected + 1e-13 * pairs.spectral_bound,
            "{name}: {found:e} is not {expected:e}"
        );
    }
    match (pairs.next_value, next) {
        (Some(found), Some(next)) => assert!((found - next).abs() <= 1e-6 * next, "{name}: next {found}"),
        (None, None) => {}
        other => panic!("{name}: {other:?}"),
    }
    check_vectors(name, graph, &pairs);
    pairs
}

fn check_vectors(name: &str, graph: &Graph, pairs: &Eigenpairs) {
    let (count, nodes) = (pairs.values.len(), graph.num_nodes());
    assert!(pairs.values.is_sorted(), "{name}");
    let (offsets, neighbours) = graph.undirected_neighbours();
    for column in 0..count {
        let entry = |node: usize| pairs.vectors[node * count + column];
        let mut residual = 0.0;
        for node in 0..nodes {
            let around = &neighbours[offsets[node] as usize..offsets[node + 1] as usize];
            let sum: f64 = around.iter().map(|&other| entry(other as usize)).sum();
            residual +=
                (around.len() as f64 * entry(node) - sum - pairs.values[column] * entry(node)).powi(2);
        }
        assert!(
            residual.sqrt() <= 1e-7 * pairs.spectral_bound.max(1.0),
            "{name}: pair {column} {residual:e}"
        );
        for other in 0..=column {
            let product: f64 = (0..nodes).map(|node| entry(node) * pairs.vectors[node * count + other]).sum();
            let expected = if other == column { 1.0 } else { 0.0 };
            assert!((product - expected).abs() < 1e-7, "{name}: {other}·{column} = {product}");
        }
        let largest = (0..nodes).map(|node| entry(node).abs()).fold(0.0, f64::max);
        let first = (0..nodes).map(entry).find(|entry| entry.abs() >= largest * (1.0 - 1e-6)).unwrap();
        assert!(first > 0.0, "{name}: sign of {column}");
    }
}

#[test]
fn paths_of_every_size() {
    for nodes in [1, 2, 3, 5, 40, 64, 601, 3_000, 50_000] {
        check(&format!("path of {nodes}"), &path(nodes), 17, path_spectrum(nodes));
    }
}

#[test]
fn cycles_have_double_eigenvalues_and_the_cut_may_split_them() {
    for nodes in [3, 4, 17, 100, 1_001, 20_000] {
        let odd = check(&format!("cycle of {nodes}"), &cycle(nodes), 9.min(nodes), cycle_spectrum(nodes));
        assert!(!odd.splits_eigenspace());
    }
    for nodes in [17, 100, 1_001] {
        let even = check(&format!("cycle of {nodes}"), &cycle(nodes), 8, cycle_spectrum(nodes));
        assert!(even.splits_eigenspace());
        assert_eq!(even.num_in_whole_eigenspaces(), 7);
    }
}

#[test]
fn complete_graphs_and_stars_have_one_huge_eigenspace() {
    for nodes in [2, 5, 60, 700] {
        let mut spectrum = vec![nodes as f64; nodes];
        spectrum[0] = 0.0;
        let pairs = check(&format!("complete {nodes}"), &complete(nodes), 5, spectrum);
        assert_eq!(pairs.splits_eigenspace(), nodes > 5);
        assert_eq!(pairs.num_in_whole_eigenspaces(), if nodes > 5 { 1 } else { pairs.values.len() });
    }
    for leaves in [2, 5, 60, 5_000] {
        let mut spectrum = vec![1.0; leaves + 1];
        spectrum[0] = 0.0;
        spectrum[leaves] = leaves as f64 + 1.0;
        check(&format!("star of {leaves}"), &star(leaves), 24, spectrum);
    }
}

#[test]
fn hypercubes_have_eigenspaces_larger_than_a_block() {
    for dimension in [3, 6, 9, 10, 11, 12, 13] {
        let spectrum: Vec<f64> =
            (0..1usize << dimension).map(|node| 2.0 * f64::from(node.count_ones())).collect();
        let name = format!("hypercube {dimension}");
        let whole = check(&name, &hypercube(dimension), dimension + 1, spectrum.clone());
        assert!(!whole.splits_eigenspace());
        let cut = check(&name, &hypercube(dimension), dimension + 3, spectrum);
        assert_eq!(cut.num_in_whole_eigenspaces(), dimension + 1);
    }
}

#[test]
fn square_grids_have_double_eigenvalues() {
    for side in [3, 8, 30, 100] {
        let spectrum =
            (0..side * side).map(|at| path_value(at / side, side) + path_value(at % side, side)).collect();
        check(&format!("grid of {side}"), &grid(side), 17, spectrum);
    }
}

#[test]
fn disjoint_unions_have_a_zero_for_every_component() {
    let graph = disjoint(&[cycle(5), path(1), complete(4), path(1), cycle(5), path(900)]);
    let mut spectrum = [cycle_spectrum(5), vec![0.0], vec![0.0, 4.0, 4.0, 4.0], vec![0.0]].concat();
    spectrum.extend(cycle_spectrum(5));
    spectrum.extend(path_spectrum(900));
    spectrum.iter_mut().for_each(|value| *value = value.max(0.0));
    let pairs = check("union", &graph, 30, spectrum);
    assert_eq!(pairs.num_components, 6);
    assert!(pairs.values[..6].iter().all(|&value| value == 0.0));
    // Zero vectors are constant on one component each, in the order of their lowest nodes.
    let entry = 1.0 / 5f64.sqrt();
    assert!((0..5).all(|node| (pairs.vectors[node * 30] - entry).abs() < 1e-15));
    assert_eq!(pairs.vectors[5 * 30 + 1], 1.0);
}

#[test]
fn more_components_than_pairs_split_the_zero_eigenspace() {
    let pairs = lowest_eigenpairs(&Graph::from_edges(10, vec![[0, 1]]).unwrap(), 4).unwrap();
    assert_eq!(pairs.values, vec![0.0; 4]);
    assert!(pairs.splits_eigenspace());
    assert_eq!(pairs.num_in_whole_eigenspaces(), 0);
}

#[test]
fn small_graphs_are_padded_and_empty_ones_are_legal() {
    let options = PrepareOptions { eigenpairs: 5, random_walk_steps: 3, ..Default::default() };
    let empty = prepare_graph(&Arc::new(path(0)), &options).unwrap();
    assert_eq!((empty.eigenvalues.as_slice(), empty.num_eigenpairs), (&[0f32; 5][..], 0));
    let single = prepare_graph(&Arc::new(path(1)), &options).unwrap();
    assert_eq!((single.eigenvectors.as_slice(), single.num_eigenpairs), (&[1f32, 0.0, 0.0, 0.0, 0.0][..], 1));
    assert_eq!(single.random_walk, vec![0.0; 3]);
    let pair = prepare_graph(&Arc::new(path(2)), &options).unwrap();
    assert_eq!((pair.num_eigenpairs, pair.usable_eigenpairs, pair.splits_eigenspace), (2, 2, false));
    assert!((pair.eigenvalues[1] - 2.0).abs() < 1e-6);
}

#[test]
fn whole_eigenspaces_masks_what_the_cut_splits() {
    let ring = Arc::new(cycle(12));
    let plain = PrepareOptions { eigenpairs: 4, ..Default::default() };
    let whole = PrepareOptions { whole_eigenspaces: true, ..plain.clone() };
    let prepared = prepare_graph(&ring, &plain).unwrap();
    assert_eq!((prepared.usable_eigenpairs, prepared.splits_eigenspace), (4, true));
    let masked = prepare_graph(&ring, &whole).unwrap();
    assert_eq!((masked.usable_eigenpairs, masked.splits_eigenspace), (3, true));
    let (_, report) = prepare_all(&[ring, Arc::new(path(3))], &plain, &|_| {}).unwrap();
    assert_eq!(
        (report.split_eigenspaces, report.fewer_nodes_than_eigenpairs, report.disconnected),
        (1, 1, 0)
    );
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let mut graphs: Vec<Arc<Graph>> = [5, 30, 90, 700].map(|nodes| Arc::new(cycle(nodes))).to_vec();
    graphs.push(Arc::new(grid(60)));
    graphs.push(Arc::new(expander(20_000)));
    let options = PrepareOptions { eigenpairs: 9, random_walk_steps: 4, ..Default::default() };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| prepare_all(&graphs, &options, &|_| {}).unwrap().0)
    };
    let one = on(1);
    assert!(one == on(2) && one == on(5));
}

#[test]
fn a_large_random_graph_has_verified_pairs() {
    let graph = expander(10_000);
    let pairs = lowest_eigenpairs(&graph, 17).unwrap();
    assert_eq!(pairs.values[0], 0.0);
    check_vectors("expander", &graph, &pairs);
}

#[test]
fn a_preparation_that_nobody_waits_for_stops_at_the_next_step() {
    let options = PrepareOptions { eigenpairs: 9, random_walk_steps: 4, ..Default::default() };
    let parts = Graph::from_edges(2_000, (0..1_000).map(|edge| [2 * edge, 2 * edge + 1]).collect()).unwrap();
    for graph in [expander(5_000), parts] {
        let graph = Arc::new(graph);
        let asked = AtomicUsize::new(0);
        let count = || asked.fetch_add(1, Ordering::Relaxed);
        // As long as it is wanted, the result is the usual one; the question is asked many times on the way.
        let wanted = || count() == usize::MAX;
        let found = prepare_graph_until(&graph, &options, Stop::when(&wanted)).unwrap();
        assert_eq!(found, prepare_graph(&graph, &options).unwrap());
        let all = asked.swap(0, Ordering::Relaxed);
        assert!(all > 20, "asked only {all} times");
        for last in [0, 3, all - 1] {
            asked.store(0, Ordering::Relaxed);
            let over = || count() >= last;
            let error = prepare_graph_until(&graph, &options, Stop::when(&over)).unwrap_err();
            assert_eq!(error, SpectralError::Stopped(Stopped));
            // Walks ask side by side, once per piece; everything else stops at once.
            let walks = graph.num_nodes() / 64 + 2;
            assert!(asked.load(Ordering::Relaxed) <= last + walks, "after {last}");
        }
    }
}

fn any_graph() -> impl Strategy<Value = Graph> {
    (0usize..14).prop_flat_map(|nodes| {
        let limit = nodes.max(1) as u32;
        prop::collection::vec((0..limit, 0..limit), 0..if nodes == 0 { 1 } else { 30 }).prop_map(
            move |edges| Graph::from_edges(nodes, edges.into_iter().map(|(a, b)| [a, b]).collect()).unwrap(),
        )
    })
}

proptest! {
    #[test]
    fn pairs_of_random_graphs_are_verified_and_complete(graph in any_graph(), count in 1usize..16) {
        let pairs = lowest_eigenpairs(&graph, count).unwrap();
        prop_assert_eq!(pairs.values.len(), count.min(graph.num_nodes()));
        check_vectors("random", &graph, &pairs);
        // The whole spectrum sums up to the trace; the lowest pairs do not depend on how many are asked for.
        let all = lowest_eigenpairs(&graph, graph.num_nodes()).unwrap();
        let trace = graph.undirected_neighbours().1.len() as f64;
        prop_assert!((all.values.iter().sum::<f64>() - trace).abs() < 1e-9 * trace.max(1.0));
        for (few, many) in pairs.values.iter().zip(&all.values) {
            prop_assert!((few - many).abs() < 1e-9);
        }
    }

    #[test]
    fn renumbering_the_nodes_renumbers_the_heat_kernel(graph in any_graph(), seed in 0u64..1000) {
        let nodes = graph.num_nodes();
        let order = graphminnet_data::rng::stream(seed, "permutation", &[]).permutation(nodes);
        let edges = graph.edges().iter().map(|ends| ends.map(|node| order[node as usize] as u32)).collect();
        let renumbered = Graph::from_edges(nodes, edges).unwrap();
        let (a, b) = (lowest_eigenpairs(&graph, nodes).unwrap(), lowest_eigenpairs(&renumbered, nodes).unwrap());
        // exp(−L), put together from all pairs, is one number per pair of nodes whatever basis was chosen.
        let heat = |pairs: &Eigenpairs, u: usize, v: usize| -> f64 {
            let product = |k: usize| pairs.vectors[u * nodes + k] * pairs.vectors[v * nodes + k];
            (0..nodes).map(|k| (-pairs.values[k]).exp() * product(k)).sum()
        };
        for u in 0..nodes {
            for v in 0..nodes {
                prop_assert!((heat(&a, u, v) - heat(&b, order[u], order[v])).abs() < 1e-9);
            }
        }
    }
}
