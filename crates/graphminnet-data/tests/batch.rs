//! Everything that can be attached to a graph is found again in a batch, and what does not go together is refused.

use graphminnet_data::batch::{BatchLimit, TargetRows};
use graphminnet_data::spectral::{PrepareOptions, PreparedGraph, prepare_graph};
use graphminnet_data::{Batch, Features, Graph, GraphError, Level, Pairs, Part};
use std::sync::Arc;

const OPTIONS: PrepareOptions =
    PrepareOptions { eigenpairs: 3, whole_eigenspaces: false, random_walk_steps: 2, degree_profile: false };

fn prepared(graph: Graph) -> PreparedGraph {
    prepare_graph(&Arc::new(graph), &OPTIONS).unwrap()
}

/// Edges 2→1, 0→1, 1→0: in the order of a batch 1→0, 2→1, 0→1.
fn small() -> Graph {
    Graph::from_edges(3, vec![[2, 1], [0, 1], [1, 0]]).unwrap()
}

fn numbers(rows: usize, values: &[f32]) -> Features {
    Features::numbers(rows, values.len() / rows, values.to_vec()).unwrap()
}

#[test]
fn graphs_keep_features_of_their_own() {
    let with = |values: &[f32]| prepared(small().with_graph_features(numbers(1, values)).unwrap());
    let batch = Batch::collate(&[&with(&[1.0, 2.0]), &with(&[3.0, 4.0])]).unwrap();
    assert_eq!(batch.graph_features, numbers(2, &[1.0, 2.0, 3.0, 4.0]));
    let error = Batch::collate(&[&with(&[1.0]), &prepared(small())]).unwrap_err();
    assert_eq!(error, GraphError::ColumnMismatch { graph: 1, what: "graph", found: 0, expected: 1 });
    let error = small().with_graph_features(numbers(2, &[1.0, 2.0])).unwrap_err();
    assert_eq!(error, GraphError::RowCount { what: "graph", found: 2, expected: 1 });
}

#[test]
fn targets_of_edges_follow_the_edges_and_masks_follow_the_targets() {
    let [first, second] = [prepared(small()), prepared(small())];
    let rows = [
        TargetRows { values: &[21.0, 1.0, 10.0], mask: None },
        TargetRows { values: &[121.0, 101.0, 110.0], mask: Some(&[true, false, true]) },
    ];
    let batch = Batch::collate(&[&first, &second]).unwrap().with_targets(Level::Edge, 1, &rows).unwrap();
    let targets = batch.targets.unwrap();
    assert_eq!(targets.values, [10.0, 21.0, 1.0, 110.0, 121.0, 101.0]);
    assert_eq!(targets.mask, Some(vec![true, true, true, true, true, false]));
    // The same through the edges: 10·source + target, 100 more in the second graph.
    let topology = batch.layout.topology();
    for (edge, value) in targets.values.iter().enumerate() {
        let [from, to] = [topology.source[edge], topology.target[edge]];
        let code = if from < 3 { 10 * from + to } else { 100 + 10 * (from - 3) + to - 3 };
        assert_eq!(*value, code as f32);
    }
    let counted = targets.into_counted();
    assert_eq!(counted[..5], [10.0, 21.0, 1.0, 110.0, 121.0]);
    assert!(counted[5].is_nan());
}

#[test]
fn targets_without_a_row_for_each_are_refused() {
    let graph = prepared(small());
    let with = |level, columns, values: &[f32], mask: Option<&[bool]>| {
        let rows = [TargetRows { values, mask }];
        Batch::collate(&[&graph]).unwrap().with_targets(level, columns, &rows).map(|batch| batch.targets)
    };
    assert!(with(Level::Graph, 2, &[1.0, f32::NAN], Some(&[true])).is_ok());
    for (error, what, found, expected) in [
        (with(Level::Graph, 2, &[1.0], None), "targets", 1, 2),
        (with(Level::Node, 1, &[1.0, 2.0], None), "targets", 2, 3),
        (with(Level::Edge, 2, &[1.0; 4], None), "targets", 4, 6),
        (with(Level::Node, 1, &[1.0; 3], Some(&[true])), "masked rows", 1, 3),
    ] {
        assert_eq!(error.unwrap_err(), GraphError::Length { graph: 0, what, found, expected });
    }
    let error = Batch::collate(&[&graph]).unwrap().with_targets(Level::Graph, 1, &[]).unwrap_err();
    assert!(error.to_string().contains("0 targets, expected 1"), "{error}");
}

#[test]
fn named_encodings_of_nodes_pairs_and_graphs_are_joined_by_name() {
    let encoded = |base: f32, ends: Vec<[u32; 2]>| {
        let mut graph = prepared(small());
        let weights: Vec<f32> = (0..ends.len()).map(|at| base + at as f32).collect();
        let pairs = Pairs::new(ends, Features::numbers(weights.len(), 1, weights).unwrap()).unwrap();
        graph.encodings.nodes.insert("colour".into(), Features::categories(3, 1, vec![0, 1, 2]).unwrap());
        graph.encodings.pairs.insert("walks".into(), pairs);
        graph.encodings.graphs.insert("size".into(), numbers(1, &[base]));
        graph
    };
    let graphs = [encoded(10.0, vec![[0, 2], [2, 2]]), encoded(20.0, vec![]), encoded(30.0, vec![[1, 0]])];
    let batch = Batch::collate(&graphs.iter().collect::<Vec<_>>()).unwrap();
    let encodings = &batch.encodings;
    assert_eq!(encodings.nodes["colour"].category_values(), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!(encodings.graphs["size"], numbers(3, &[10.0, 20.0, 30.0]));
    let pairs = &encodings.pairs["walks"];
    assert_eq!(pairs.ends(), [[0, 2], [2, 2], [7, 6]]);
    assert_eq!(pairs.offsets(), [0, 2, 2, 3]);
    assert_eq!(pairs.features().number_values(), [10.0, 11.0, 30.0]);
    assert!(Batch::collate(&[&prepared(small())]).unwrap().encodings.is_empty());
}

#[test]
fn encodings_that_do_not_go_together_are_refused_by_graph_and_name() {
    let plain = prepared(small());
    let change = |change: fn(&mut PreparedGraph)| {
        let mut graph = plain.clone();
        change(&mut graph);
        graph
    };
    let narrow = change(|graph| drop(graph.encodings.nodes.insert("a".into(), numbers(3, &[0.0; 3]))));
    let wide = change(|graph| drop(graph.encodings.nodes.insert("a".into(), numbers(3, &[0.0; 6]))));
    let short = change(|graph| drop(graph.encodings.nodes.insert("a".into(), numbers(2, &[0.0; 2]))));
    let outside = change(|graph| {
        let pairs = Pairs::new(vec![[0, 3]], Features::none(1)).unwrap();
        graph.encodings.pairs.insert("a".into(), pairs);
    });
    for (graphs, at, says) in [
        (vec![&plain, &narrow], 0, "does not have it"),
        (vec![&narrow, &wide], 1, "2 columns, the first graph has 1"),
        (vec![&narrow, &short], 1, "2 rows, expected 3"),
        (vec![&outside], 0, "node 3, but the graph has 3 nodes"),
    ] {
        let error = Batch::collate(&graphs).unwrap_err();
        assert!(matches!(&error, GraphError::Encoding { graph, name, .. } if *graph == at && name == "a"));
        assert!(error.to_string().contains(says), "{error}");
    }
    assert!(Pairs::new(vec![[0, 1]], Features::none(2)).is_err());
}

#[test]
fn a_part_of_a_graph_keeps_its_border() {
    let mut part = prepared(small());
    part.part = Some(Part { own_nodes: 2, whole_numbers: vec![70_000_000_000, 5, 9], others: None });
    let whole = prepared(small());
    assert!(Batch::collate(&[&whole]).unwrap().parts.is_empty());
    let batch = Batch::collate(&[&whole, &part]).unwrap();
    assert_eq!(
        batch.parts,
        [Part { own_nodes: 3, whole_numbers: vec![0, 1, 2], others: None }, part.part.clone().unwrap()]
    );
    part.part = Some(Part { own_nodes: 4, whole_numbers: vec![0, 1, 2], others: None });
    let error = Batch::collate(&[&part]).unwrap_err();
    assert_eq!(error, GraphError::Length { graph: 0, what: "own nodes", found: 4, expected: 3 });
}

#[test]
fn graphs_that_were_prepared_differently_do_not_batch() {
    let graph = prepared(small());
    let other = |eigenpairs, random_walk_steps| {
        let options = PrepareOptions { eigenpairs, random_walk_steps, ..OPTIONS };
        prepare_graph(&Arc::new(small()), &options).unwrap()
    };
    for (other, what, found, expected) in
        [(other(4, 2), "eigenvalues", 4, 3), (other(3, 5), "return probabilities", 15, 6)]
    {
        let error = Batch::collate(&[&graph, &other]).unwrap_err();
        assert_eq!(error, GraphError::Length { graph: 1, what, found, expected });
    }
    // A graph without nodes fits any preparation.
    let empty = prepare_graph(&Arc::new(Graph::from_edges(0, vec![]).unwrap()), &OPTIONS).unwrap();
    let batch = Batch::collate(&[&empty, &graph]).unwrap();
    assert_eq!(batch.num_eigenpairs, [0, 3]);
    assert_eq!(batch.random_walk, graph.random_walk);
}

#[test]
fn a_row_of_graphs_is_cut_where_the_next_would_be_too_many() {
    let limit = BatchLimit { graphs: 3, nodes: 10, edges: 100 };
    let sizes = [(4, 0), (4, 0), (4, 0), (1, 0), (1, 0), (1, 0), (99, 0), (1, 99), (1, 2)];
    assert_eq!(limit.cut(sizes.into_iter()), [0..2, 2..5, 5..6, 6..7, 7..8, 8..9]);
    assert!(limit.cut(std::iter::empty()).is_empty());
}
