//! Targets of edges and of pairs in the formats that hold them, and links that are hidden.

mod common;

use common::Scratch;
use graphminnet_data::generate::{Papers, PartSizes, RingTransfer};
use graphminnet_data::links::{HideLinks, LinkError};
use graphminnet_data::spectral::{PrepareOptions, prepare_graph};
use graphminnet_data::split::Ratios;
use graphminnet_data::{
    DataError, Dataset, EdgeDirection, Graph, Level, NodeParts, ReadOptions, Sample, Split, Task, formats,
    open,
};
use std::collections::HashSet;
use std::sync::Arc;

fn read(name: &str, content: &str, options: &ReadOptions) -> Result<Dataset, DataError> {
    let scratch = Scratch::new("links");
    open(&scratch.write(name, content), options).map(|read| read.dataset)
}

fn folder(files: &[(&str, &str)], options: &ReadOptions) -> Result<Dataset, DataError> {
    let scratch = Scratch::new("links");
    for (name, content) in files {
        scratch.write(name, content);
    }
    open(scratch.path(), options).map(|read| read.dataset)
}

fn of_level(level: Level) -> ReadOptions {
    ReadOptions { level: Some(level), ..ReadOptions::default() }
}

/// Values with `None` for a missing one.
fn known(values: &[f32]) -> Vec<Option<f32>> {
    values.iter().map(|value| Some(*value).filter(|value| !value.is_nan())).collect()
}

fn parts(dataset: &Dataset) -> Vec<Option<Split>> {
    dataset.node_parts.as_ref().unwrap().graph(0).to_vec()
}

const EDGES: &str =
    "source,destination,length,target,split\n0,1,0.5,1.5,train\n1,2,0.25,,valid\n2,2,1.5,2.5,test\n";
const NODES: &str = "node_id,x\n0,0.5\n1,1.5\n2,2.5\n";

#[test]
fn edges_have_targets_and_parts_in_both_formats() {
    let line = r#"{"num_nodes":3,"edges":[[0,1],[1,2],[2,2]],"edge_features":[[0.5],[0.25],[1.5]],"edge_target":[1.5,null,2.5],"split":["train","valid","test"]}"#;
    let expected = [Some(1.5), None, Some(2.5)];
    for dataset in [
        read("one.jsonl", line, &ReadOptions::default()).unwrap(),
        folder(&[("nodes.csv", NODES), ("edges.csv", EDGES)], &ReadOptions::default()).unwrap(),
    ] {
        assert_eq!((dataset.schema.level, dataset.schema.task), (Level::Edge, Task::Regression));
        assert_eq!(known(&dataset.samples[0].targets), expected);
        assert_eq!(dataset.schema.edge_columns.len(), 1, "neither the target nor the part is a feature");
        assert_eq!(parts(&dataset), [Split::Train, Split::Valid, Split::Test].map(Some));
    }
    // Several columns, text as classes, and another name for the field.
    let rows = r#"{"num_nodes":2,"edges":[[0,1],[1,0]],"target":[[1,0],[null,1]]}"#;
    let dataset = read("two.jsonl", rows, &of_level(Level::Edge)).unwrap();
    assert_eq!((dataset.schema.targets.len(), dataset.schema.task), (2, Task::Binary));
    let classes = "source,destination,kind\n0,1,calls\n1,0,reads\n0,0,writes\n";
    let asked = ReadOptions { targets: Some(vec!["kind".to_owned()]), ..of_level(Level::Edge) };
    let dataset = folder(&[("nodes.csv", NODES), ("edges.csv", classes)], &asked).unwrap();
    assert_eq!(dataset.schema.task, Task::MultiClass { classes: 3 });
}

#[test]
fn an_edge_that_is_read_both_ways_has_its_label_once() {
    let both = ReadOptions { edges: Some(EdgeDirection::BothWays), ..ReadOptions::default() };
    let dataset = folder(&[("nodes.csv", NODES), ("edges.csv", EDGES)], &both).unwrap();
    assert_eq!(dataset.samples[0].graph.edges(), [[0, 1], [1, 0], [1, 2], [2, 1], [2, 2]]);
    assert_eq!(known(&dataset.samples[0].targets), [Some(1.5), None, None, None, Some(2.5)]);
    assert_eq!(parts(&dataset), [Some(Split::Train), None, Some(Split::Valid), None, Some(Split::Test)]);
    assert_eq!(dataset.samples[0].graph.written_edges(true), [0, 2, 4]);
}

#[test]
fn names_of_targets_on_edges_stay_features_where_graphs_or_nodes_have_targets() {
    let nodes = "node_id,x,label\n0,0.5,1\n1,1.5,0\n2,2.5,1\n";
    let edges = "source,destination,label,split\n0,1,2,4\n1,2,0,5\n";
    let dataset = folder(&[("nodes.csv", nodes), ("edges.csv", edges)], &ReadOptions::default()).unwrap();
    assert_eq!(dataset.schema.level, Level::Node);
    let names: Vec<&str> = dataset.schema.edge_columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["label", "split"]);
}

const PAIRS: &str = "source,destination,contact,split\n0,2,1,train\n2,0,0,\n1,1,,test\n";

#[test]
fn pairs_have_targets_and_parts_in_both_formats_and_are_no_edges() {
    let edges = "source,destination\n0,1\n";
    let line = r#"{"num_nodes":3,"edges":[[0,1]],"pairs":[[0,2],[2,0],[1,1]],"pair_target":[1,0,null],"split":["train",null,"test"]}"#;
    let pyg = r#"{"num_nodes":3,"edges":[[0,1]],"edge_label_index":[[0,2,1],[2,0,1]],"edge_label":[1,0,null],"split":["train",null,"test"]}"#;
    for dataset in [
        read("one.jsonl", line, &ReadOptions::default()).unwrap(),
        read("pyg.jsonl", pyg, &ReadOptions::default()).unwrap(),
        folder(&[("nodes.csv", NODES), ("edges.csv", edges), ("pairs.csv", PAIRS)], &ReadOptions::default())
            .unwrap(),
    ] {
        assert_eq!((dataset.schema.level, dataset.schema.task), (Level::Pair, Task::Binary));
        let sample = &dataset.samples[0];
        assert_eq!(
            (sample.graph.edges(), sample.graph.pairs()),
            (&[[0, 1]][..], &[[0, 2], [2, 0], [1, 1]][..])
        );
        assert_eq!(known(&sample.targets), [Some(1.0), Some(0.0), None]);
        assert_eq!(parts(&dataset), [Some(Split::Train), None, Some(Split::Test)]);
    }
    // A line that a graph's target stands in is read as before, whatever else it has.
    let other = r#"{"num_nodes":3,"edges":[[0,1]],"target":2.5,"edge_label":[1,0],"pairs":[[0,2]]}"#;
    let dataset = read("graph.jsonl", other, &ReadOptions::default()).unwrap();
    assert_eq!(dataset.schema.level, Level::Graph);
    assert!(dataset.samples[0].graph.pairs().is_empty());
}

#[test]
fn pairs_and_labels_that_make_no_sense_are_refused_with_their_place() {
    let line = |fields: &str| format!("{{\"num_nodes\":3,\"edges\":[[0,1]],{fields}}}");
    for (fields, expected) in [
        (r#""pairs":[[0,3]],"pair_target":[1]"#, "a node of pair 0: the graph has 3 nodes"),
        (r#""pairs":[[0,-1]],"pair_target":[1]"#, "out of range"),
        (r#""pairs":[[0,1]],"pair_target":[1,0]"#, "expected 1 at pair level"),
        (r#""pairs":[[0,1,2]],"pair_target":[1]"#, "3 values for edge 0, expected 2"),
        (r#""edge_target":[1,2]"#, "expected 1 at edge level"),
        (r#""edge_target":[1.5],"split":["train","test"]"#, "1, one for each edge"),
        (r#""edge_label_index":[[0],[1,2]],"edge_label":[1]"#, "2 values in row 1, 1 in the rows before"),
    ] {
        let error = read("bad.jsonl", &line(fields), &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{fields}: {error}");
    }
    for (pairs, expected) in [
        ("source,destination,contact\n0,7,1\n", "a node_id of this graph"),
        ("source,contact\n0,1\n", "a column called destination"),
        ("graph_id,source,destination,contact\nx,0,1,1\n", "a graph_id of graphs.csv"),
    ] {
        let files = [("nodes.csv", NODES), ("edges.csv", "source,destination\n0,1\n"), ("pairs.csv", pairs)];
        let error = folder(&files, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{pairs}: {error}");
    }
    let two_levels = [
        ("nodes.csv", "node_id,label\n0,1\n1,0\n"),
        ("edges.csv", "source,destination\n0,1\n"),
        ("pairs.csv", "source,destination,contact\n0,1,1\n"),
    ];
    let error = folder(&two_levels, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("one level of targets; `--level pair`"), "{error}");
    assert_eq!(folder(&two_levels, &of_level(Level::Pair)).unwrap().schema.level, Level::Pair);
    assert_eq!(folder(&two_levels, &of_level(Level::Node)).unwrap().schema.level, Level::Node);
}

#[test]
fn targets_of_edges_and_pairs_are_read_back_as_they_were_written() {
    let sizes = PartSizes { train: 3, valid: 1, test: 1 };
    let rings =
        |level| RingTransfer { sizes, smallest: 4, largest: 8, level, ..Default::default() }.generate(4);
    let papers = Papers { nodes: 60, words: 7, ..Papers::default() }.generate(1).unwrap();
    let links = HideLinks::default().apply(&papers).unwrap();
    for dataset in [rings(Level::Edge).unwrap(), rings(Level::Pair).unwrap(), links] {
        for name in ["data.jsonl", "folder"] {
            let scratch = Scratch::new("links");
            let path = scratch.path().join(name);
            formats::write(&dataset, &path).unwrap();
            let back = open(&path, &ReadOptions::with_schema(dataset.schema.clone())).unwrap().dataset;
            // Names differ; a missing target is equal to a missing target.
            assert_eq!(format!("{:?}", back.samples), format!("{:?}", dataset.samples), "{name}");
            assert_eq!((&back.node_parts, &back.schema), (&dataset.node_parts, &dataset.schema), "{name}");
        }
    }
}

fn unordered([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

fn one_graph(graph: Graph) -> Dataset {
    let mut dataset = Papers { nodes: 3, words: 1, ..Papers::default() }.generate(0).unwrap();
    dataset.samples = vec![Sample { id: "g".into(), graph: Arc::new(graph), targets: vec![] }];
    dataset.node_parts = None;
    dataset
}

#[test]
fn a_hidden_link_is_no_edge_in_either_direction_and_leaves_no_trace_in_what_is_prepared() {
    let papers = Papers { nodes: 150, words: 5, ..Papers::default() }.generate(2).unwrap();
    let hidden = HideLinks { seed: 5, ..HideLinks::default() }.apply(&papers).unwrap();
    assert_eq!(hidden, HideLinks { seed: 5, ..HideLinks::default() }.apply(&papers).unwrap());
    assert_ne!(hidden, HideLinks { seed: 6, ..HideLinks::default() }.apply(&papers).unwrap());
    let (whole, sample) = (&papers.samples[0].graph, &hidden.samples[0]);
    let edges: HashSet<[u32; 2]> = sample.graph.edges().iter().map(|ends| unordered(*ends)).collect();
    let all: HashSet<[u32; 2]> = whole.edges().iter().map(|ends| unordered(*ends)).collect();
    let mut seen = HashSet::new();
    for (pair, target) in sample.graph.pairs().iter().zip(&sample.targets) {
        assert!(!edges.contains(&unordered(*pair)) && pair[0] != pair[1]);
        assert_eq!(all.contains(&unordered(*pair)), *target == 1.0, "{pair:?}");
        assert!(seen.insert(unordered(*pair)), "{pair:?} is asked about twice");
    }
    let links = sample.targets.iter().filter(|target| **target == 1.0).count();
    assert_eq!(edges.len() + links, all.len(), "every link is an edge or asked about");
    // The training part has links alone; the others have as many pairs without.
    let counts = Split::ALL.map(|part| hidden.node_parts.as_ref().unwrap().count(part));
    let tenth = (all.len() as f64 / 10.0).round() as usize;
    let ask = (0.3 * (all.len() - 2 * tenth) as f64).round() as usize;
    assert_eq!(counts, [ask, 2 * tenth, 2 * tenth]);

    // As if the hidden links had never been there.
    let options =
        PrepareOptions { eigenpairs: 8, random_walk_steps: 6, degree_profile: true, ..Default::default() };
    let prepared = prepare_graph(&sample.graph, &options).unwrap();
    let kept = whole.edges().iter().copied().filter(|ends| edges.contains(&unordered(*ends))).collect();
    let never = Graph::from_edges(150, kept).unwrap();
    let never = prepare_graph(&Arc::new(never), &options).unwrap();
    assert_eq!(prepared.eigenvectors, never.eigenvectors);
    assert_eq!(prepared.random_walk, never.random_walk);
    assert_eq!(prepared.log_degree, never.log_degree);
    assert_eq!(prepared.graph.node_features(), never.graph.node_features());
}

#[test]
fn the_two_directions_between_two_nodes_are_hidden_together_and_in_one_part() {
    // Directed: some pairs of nodes have both directions, one edge is repeated, and one node has a loop.
    let mut edges: Vec<[u32; 2]> = (0..60u32).map(|node| [node, (node * 7 + 3) % 60]).collect();
    edges.extend((0..30u32).map(|node| [(node * 7 + 3) % 60, node]));
    edges.extend([[0, 3], [9, 9]]);
    let dataset = one_graph(Graph::from_edges(60, edges).unwrap());
    let hidden = HideLinks { ask: 0.5, ..HideLinks::default() }.apply(&dataset).unwrap();
    let graph = &hidden.samples[0].graph;
    let (edges, rows) = (graph.edges(), hidden.node_parts.as_ref().unwrap().graph(0));
    assert!(edges.contains(&[9, 9]), "a loop is no link, and stays");
    let place = |pair: [u32; 2]| graph.pairs().iter().position(|found| *found == pair);
    let mut both = 0;
    for (row, &[a, b]) in graph.pairs().iter().enumerate() {
        let is_link = hidden.samples[0].targets[row] == 1.0;
        assert!(!edges.contains(&[a, b]));
        assert!(!is_link || !edges.contains(&[b, a]));
        if is_link && dataset.samples[0].graph.edges().contains(&[b, a]) {
            let other = place([b, a]).expect("the other direction is hidden too");
            assert_eq!(rows[row], rows[other]);
            both += 1;
        }
    }
    assert!(both > 4);
}

#[test]
fn graphs_with_too_few_links_or_too_many_are_refused_in_words() {
    let refused = |graph: Graph, hide: HideLinks| hide.apply(&one_graph(graph)).unwrap_err();
    let none = refused(Graph::from_edges(9, vec![[1, 1]]).unwrap(), HideLinks::default());
    assert_eq!(none, LinkError::TooFew { id: "g".into(), links: 0 });
    assert!(none.to_string().contains("0 links between different nodes"), "{none}");
    let complete: Vec<[u32; 2]> =
        (0..12u32).flat_map(|a| (0..12u32).filter(move |b| *b != a).map(move |b| [a, b])).collect();
    let dense = refused(Graph::from_edges(12, complete).unwrap(), HideLinks::default());
    assert!(
        dense.to_string().contains("too few pairs without a link: 7 were asked for, and there are 0"),
        "{dense}"
    );
    for (valid, test, ask) in
        [(0.6, 0.5, 0.1), (-0.1, 0.1, 0.1), (0.1, f64::NAN, 0.1), (0.1, 0.1, 1.0), (0.1, 0.1, 0.0)]
    {
        let path = Graph::from_edges(30, (0..29).map(|node| [node, node + 1]).collect()).unwrap();
        let error = refused(path, HideLinks { valid, test, ask, ..HideLinks::default() });
        assert!(matches!(error, LinkError::Share { .. }), "{error}");
    }
    let empty = Dataset { samples: vec![], ..one_graph(Graph::from_edges(1, vec![]).unwrap()) };
    assert_eq!(HideLinks::default().apply(&empty).unwrap_err(), LinkError::NoLinks { graphs: 0 });
}

#[test]
fn many_graphs_hide_a_share_each_and_keep_their_parts() {
    let sizes = PartSizes { train: 6, valid: 2, test: 2 };
    let rings = RingTransfer { sizes, smallest: 10, largest: 14, ..Default::default() }.generate(0).unwrap();
    let hidden = HideLinks { ask: 0.2, negatives: 2, ..HideLinks::default() }.apply(&rings).unwrap();
    assert_eq!((hidden.schema.level, &hidden.official_split), (Level::Pair, &rings.official_split));
    for (before, after) in rings.samples.iter().zip(&hidden.samples) {
        let links = after.targets.iter().filter(|target| **target == 1.0).count();
        assert_eq!(links, (0.2 * before.graph.num_nodes() as f64).round() as usize);
        assert_eq!(after.targets.len(), 3 * links);
        assert_eq!(after.graph.num_edges() + 2 * links, before.graph.num_edges());
    }
}

#[test]
fn a_random_split_of_edges_keeps_the_directions_of_one_together() {
    let edges: Vec<[u32; 2]> = (0..50u32).flat_map(|node| [[node, node + 1], [node + 1, node]]).collect();
    let mut dataset = one_graph(Graph::from_edges(51, edges.clone()).unwrap());
    dataset.schema.level = Level::Edge;
    dataset.schema.task = Task::Regression;
    dataset.samples[0].targets = (0..100).map(|edge| if edge < 4 { f32::NAN } else { edge as f32 }).collect();
    let parts = NodeParts::at_random(&dataset, Ratios::default(), 3).unwrap().unwrap();
    let rows = parts.graph(0);
    assert!(rows[..4].iter().all(Option::is_none));
    assert!(rows.chunks(2).all(|both| both[0] == both[1]));
    assert_eq!(Split::ALL.map(|part| parts.count(part)).iter().sum::<usize>(), 96);
    assert!(Split::ALL.iter().all(|part| parts.count(*part) >= 8));
}

/// A ring of ten nodes in OGB's layout, with files of PyTorch that name pairs.
#[cfg(feature = "benchmarks")]
fn ogbl(pairs: [&str; 2], options: &ReadOptions) -> Result<graphminnet_data::Read, DataError> {
    let scratch = Scratch::new("ogbl");
    let ring: String = (0..10).map(|node| format!("{node},{}\n", (node + 1) % 10)).collect();
    let features: String = (0..10).map(|node| format!("0.5,{node}.25\n")).collect();
    for (name, content) in [
        ("raw/num-node-list.csv", "10\n"),
        ("raw/num-edge-list.csv", "10\n"),
        ("raw/edge.csv", ring.as_str()),
        ("raw/node-feat.csv", features.as_str()),
    ] {
        scratch.write(name, content);
    }
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/import");
    for (part, name) in ["valid", "test"].into_iter().zip(pairs) {
        let path = scratch.write(&format!("split/time/{part}.pt"), "");
        std::fs::copy(fixtures.join(name), path).unwrap();
    }
    open(scratch.path(), options)
}

#[cfg(feature = "benchmarks")]
#[test]
fn links_of_ogb_are_read_with_their_pairs_and_hide_some_to_train_on() {
    let both_ways = ReadOptions { edges: Some(EdgeDirection::BothWays), ..ReadOptions::default() };
    let files = ["ogbl_valid.pt", "ogbl_test.pt"];
    let read = ogbl(files, &both_ways).unwrap();
    let dataset = &read.dataset;
    assert_eq!((dataset.schema.level, dataset.schema.task), (Level::Pair, Task::Binary));
    assert_eq!(dataset.schema.targets, ["link"]);
    assert_eq!(dataset.schema.node_columns.len(), 2);
    let graph = &dataset.samples[0].graph;
    let (parts, targets) = (parts(dataset), &dataset.samples[0].targets);
    let of = |part: Split, target: f32| -> Vec<[u32; 2]> {
        let rows = (0..parts.len()).filter(|&row| parts[row] == Some(part) && targets[row] == target);
        rows.map(|row| graph.pairs()[row]).collect()
    };
    assert_eq!((of(Split::Valid, 1.0), of(Split::Valid, 0.0)), (vec![[0, 5], [1, 6]], vec![[0, 9], [2, 8]]));
    assert_eq!(of(Split::Test, 1.0), [[3, 7]]);
    assert_eq!(of(Split::Test, 0.0), [[4, 9], [0, 7], [2, 9]]);
    // Three tenths of the ten links are asked about, and are no edges any more.
    let asked = of(Split::Train, 1.0);
    assert_eq!((asked.len(), graph.num_edges()), (3, 14));
    assert!(asked.iter().all(|&[a, b]| !graph.edges().contains(&[a, b]) && !graph.edges().contains(&[b, a])));
    assert!(read.report.notes[0].starts_with("3 links (30 % of the edges"), "{:?}", read.report.notes);
    // Read again as a model of links reads it.
    let again = ReadOptions { schema: Some(dataset.schema.clone()), ..both_ways.clone() };
    let again = ogbl(files, &again).unwrap().dataset;
    assert_eq!((&again.samples, &again.node_parts), (&dataset.samples, &dataset.node_parts));

    let refused = |files| ogbl(files, &both_ways).unwrap_err().to_string();
    let ranked = refused(["ogbl_ranked.pt", "ogbl_test.pt"]);
    assert!(ranked.contains("ogbl-citation2, are not read") && ranked.contains("`edge_neg`"), "{ranked}");
    let no_torch = refused(["ogbl_valid.pt", "molecules.zip"]);
    assert!(no_torch.contains("test.pt") && no_torch.contains("data.pkl"), "{no_torch}");
}
