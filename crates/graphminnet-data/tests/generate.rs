//! Generated data: published statistics, planted structure, determinism.

use graphminnet_data::generate::{
    CircularSkipLinks, Cluster, PartSizes, Pattern, RandomGraph, RingTransfer, TreeNeighboursMatch,
};
use graphminnet_data::spectral::lowest_eigenpairs;
use graphminnet_data::{Dataset, Level, Split, Task};

/// Variance of U{5..34}.
const SIZE_VARIANCE: f64 = (30.0 * 30.0 - 1.0) / 12.0;

fn mean(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64;
    (mean, variance)
}

fn nodes_and_edges(dataset: &Dataset) -> [(f64, f64); 2] {
    let samples = &dataset.samples;
    [
        mean(samples.iter().map(|sample| sample.graph.num_nodes() as f64)),
        mean(samples.iter().map(|sample| sample.graph.num_edges() as f64 / 2.0)),
    ]
}

#[test]
fn cluster_has_the_published_means() {
    let dataset = Cluster::with_graphs(2_000).generate(0).unwrap();
    let published = [117.2, 2_150.9];
    for ((mean, variance), published) in nodes_and_edges(&dataset).into_iter().zip(published) {
        // Our 2,000 graphs and the published 12,000 both scatter.
        let error = (variance / 2_000.0 + variance / 12_000.0).sqrt();
        assert!((mean - published).abs() <= 3.0 * error, "{mean} ± {error} is not {published}");
    }
    assert_eq!((dataset.schema.node_numbers(), dataset.schema.level), (7, Level::Node));
}

#[test]
fn pattern_has_the_published_means() {
    let dataset = Pattern::with_graphs(2_000).generate(0).unwrap();
    let published = [118.9, 3_039.3];
    // All graphs of one pattern share its size, so the mean over 100 patterns scatters by the pattern's part, in our
    // sample and in the published one.  An edge count has derivative (base · ½ + pattern · ½) by the pattern's size.
    let slope = [1.0, 97.5 * 0.5 + 19.5 * 0.5];
    for (((mean, variance), published), slope) in
        nodes_and_edges(&dataset).into_iter().zip(published).zip(slope)
    {
        let between = slope * slope * SIZE_VARIANCE / 100.0;
        let error = (variance / 2_000.0 + variance / 14_000.0 + 2.0 * between).sqrt();
        assert!((mean - published).abs() <= 3.0 * error, "{mean} ± {error} is not {published}");
    }
    assert_eq!((dataset.schema.node_numbers(), dataset.schema.task), (3, Task::Binary));
}

#[test]
fn edge_densities_are_those_of_the_parameters() {
    let dataset = Cluster::with_graphs(60).generate(3).unwrap();
    let (mut inside, mut across) = ([0f64; 2], [0f64; 2]);
    for sample in &dataset.samples {
        let nodes = sample.graph.num_nodes();
        for a in 0..nodes {
            for b in 0..nodes {
                let pairs = if sample.targets[a] == sample.targets[b] { &mut inside } else { &mut across };
                pairs[1] += if a == b { 0.0 } else { 1.0 };
            }
        }
        for &[a, b] in sample.graph.edges() {
            let same = sample.targets[a as usize] == sample.targets[b as usize];
            (if same { &mut inside } else { &mut across })[0] += 1.0;
        }
        assert!(sample.graph.edges().is_sorted(), "edges are in row-major order");
        // One node of each community shows its number.
        for community in 0..6 {
            let shown: Vec<usize> = (0..nodes)
                .filter(|&node| sample.graph.node_features().number_row(node)[community + 1] == 1.0)
                .collect();
            assert_eq!(shown.len(), 1);
            assert_eq!(sample.targets[shown[0]], community as f32);
        }
    }
    assert!((inside[0] / inside[1] - 0.55).abs() < 0.01, "{inside:?}");
    assert!((across[0] / across[1] - 0.25).abs() < 0.01, "{across:?}");
}

#[test]
fn graphs_of_one_pattern_share_its_size() {
    let generator = Pattern { patterns: 3, sizes: PartSizes { train: 6, valid: 3, test: 0 } };
    let dataset = generator.generate(1).unwrap();
    let planted: Vec<f32> = dataset.samples.iter().map(|sample| sample.targets.iter().sum()).collect();
    assert_eq!(planted[..3], planted[3..6]);
    assert_eq!(planted[..3], planted[6..]);
    let split = dataset.official_split.unwrap();
    assert_eq!(split.iter().filter(|&&part| part == Split::Valid).count(), 3);
}

#[test]
fn random_graphs_have_the_mean_degree_and_no_loops() {
    let dataset = RandomGraph { nodes: 1_000, ..Default::default() }.generate(0).unwrap();
    let graph = &dataset.samples[0].graph;
    assert_eq!((graph.num_nodes(), graph.num_edges()), (1_000, 5_000));
    assert!(graph.edges().iter().all(|[a, b]| a != b));
    assert_eq!(graph.node_features().number_columns(), 16);
    let single = RandomGraph { nodes: 1, ..Default::default() }.generate(0).unwrap();
    assert_eq!(single.samples[0].graph.num_edges(), 0);
}

#[test]
fn the_class_of_a_ring_is_shown_at_the_opposite_node_only() {
    for distractors in [true, false] {
        let generator = RingTransfer { distractors, ..Default::default() };
        let dataset = generator.generate(0).unwrap();
        let mut by_neighbour = [[0usize; 4]; 4];
        for sample in &dataset.samples {
            let (graph, class) = (&sample.graph, sample.targets[0] as usize);
            let (nodes, features) = (graph.num_nodes(), graph.node_features());
            assert!((16..=24).contains(&nodes) && nodes % 2 == 0);
            let marked: Vec<usize> = (0..nodes).filter(|&node| features.number_row(node)[0] == 1.0).collect();
            assert_eq!(marked.len(), 1);
            let shown =
                |node: usize| features.number_row(node % nodes)[1..].iter().position(|&value| value == 1.0);
            assert_eq!(shown(marked[0] + nodes / 2), Some(class));
            assert_eq!(shown(marked[0]), None);
            if let Some(neighbour) = shown(marked[0] + 1) {
                by_neighbour[class][neighbour] += 1;
            }
        }
        // A neighbour's class says nothing: 3,000 rings, each cell 187 ± 13.
        let cells = by_neighbour.as_flattened();
        assert!(
            cells.iter().all(|&count| if distractors { count.abs_diff(187) < 70 } else { count == 0 }),
            "{cells:?}"
        );
    }
    let node_level = RingTransfer { level: Level::Node, ..Default::default() }.generate(0).unwrap();
    let labelled = node_level.samples[0].targets.iter().filter(|target| !target.is_nan()).count();
    assert_eq!(labelled, 1);
}

#[test]
fn the_root_of_a_tree_asks_for_the_value_at_the_matching_leaf() {
    let dataset = TreeNeighboursMatch { depth: 3, ..Default::default() }.generate(0).unwrap();
    for sample in &dataset.samples {
        let features = sample.graph.node_features();
        assert_eq!((sample.graph.num_nodes(), sample.graph.num_edges()), (15, 28));
        let wanted = features.category_row(0)[0];
        let leaf = (7..15).find(|&leaf| features.category_row(leaf)[0] == wanted).unwrap();
        assert_eq!(features.category_row(leaf)[1] as f32 - 1.0, sample.targets[0]);
        assert!((1..7).all(|node| features.category_row(node) == [0, 0]));
    }
    assert!(TreeNeighboursMatch { depth: 60, ..Default::default() }.generate(0).is_err());
}

#[test]
fn circular_skip_links_are_regular_and_differ_in_their_spectra() {
    let dataset = CircularSkipLinks::default().generate(0).unwrap();
    assert_eq!(dataset.samples.len(), 150);
    let mut spectra: Vec<Vec<i64>> = Vec::new();
    for sample in &dataset.samples {
        let (offsets, _) = sample.graph.undirected_neighbours();
        assert!(offsets.windows(2).all(|range| range[1] - range[0] == 4));
        let values = lowest_eigenpairs(&sample.graph, 41).unwrap().values;
        spectra.push(values.iter().map(|value| (value * 1e6).round() as i64).collect());
    }
    for (at, spectrum) in spectra.iter().enumerate() {
        for (other, second) in spectra.iter().enumerate() {
            let close = spectrum.iter().zip(second).all(|(a, b)| a.abs_diff(*b) <= 1);
            assert_eq!(close, dataset.samples[at].targets == dataset.samples[other].targets, "{at} {other}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_data_and_another_seed_other_data() {
    let small = |seed| Pattern::with_graphs(12).generate(seed).unwrap();
    assert_eq!(small(4), small(4));
    assert_ne!(small(4).samples, small(5).samples);
    let first_eight = RingTransfer { sizes: PartSizes { train: 8, valid: 0, test: 0 }, ..Default::default() };
    let first_four = RingTransfer { sizes: PartSizes { train: 4, valid: 0, test: 0 }, ..Default::default() };
    assert_eq!(first_eight.generate(0).unwrap().samples[..4], first_four.generate(0).unwrap().samples[..]);
    let _: Dataset = small(1);
}
