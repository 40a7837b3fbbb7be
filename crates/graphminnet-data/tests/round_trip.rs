//! What is written is read back equal, and compression, byte-order marks and line ends make no difference.

mod common;

use common::Scratch;
use flate2::write::GzEncoder;
use graphminnet_data::formats::{write_csv_folder, write_graph6, write_jsonl};
use graphminnet_data::generate::{PartSizes, RingTransfer};
use graphminnet_data::{Column, ColumnKind, Dataset, Level, ReadOptions, Sample, Schema, Split, Task, open};
use graphminnet_data::{Features, Graph};
use proptest::prelude::*;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

fn category(name: &str, size: usize, names: &[&str]) -> Column {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Column::new(name, ColumnKind::Category { size, names })
}

fn number(name: &str) -> Column {
    Column::new(name, ColumnKind::Number)
}

/// Text that is awkward in CSV and JSON.
const NAMES: [&str; 4] = ["plain", "with, comma", "with \"quotes\"", "line\nend – µ"];

fn schema(level: Level, task: Task, class_names: Vec<String>, with_features: bool) -> Schema {
    let targets = match task {
        Task::MultiClass { .. } => vec!["kind".to_owned()],
        _ => vec!["first".to_owned(), "second".to_owned()],
    };
    let (node_columns, edge_columns) = if with_features {
        (
            vec![category("element", 4, &NAMES), category("charge", 5, &[]), number("mass")],
            vec![category("order", 3, &[]), number("length")],
        )
    } else {
        (Vec::new(), Vec::new())
    };
    Schema {
        level,
        task,
        targets,
        class_names,
        positive_class: None,
        molecules: None,
        node_columns,
        edge_columns,
    }
}

fn any_schema() -> impl Strategy<Value = Schema> {
    let classes = Task::MultiClass { classes: 3 };
    let named: Vec<String> = ["a", "b, c", "d"].map(str::to_owned).to_vec();
    (
        prop_oneof![Just(Level::Graph), Just(Level::Node)],
        prop_oneof![
            Just((Task::Regression, vec![])),
            Just((Task::Binary, vec![])),
            Just((classes, vec![])),
            Just((classes, named))
        ],
        any::<bool>(),
    )
        .prop_map(|(level, (task, names), with_features)| schema(level, task, names, with_features))
}

fn any_number() -> impl Strategy<Value = f32> {
    prop_oneof![-1e6f32..1e6, Just(0.0), Just(-0.0), Just(f32::MAX), Just(f32::MIN_POSITIVE), Just(1e-42)]
}

fn any_sample(schema: Schema) -> impl Strategy<Value = (Graph, Vec<f32>)> {
    (0usize..5).prop_flat_map(move |num_nodes| {
        let edges = prop::collection::vec((0..num_nodes.max(1) as u32, 0..num_nodes.max(1) as u32), 0..8);
        let schema = schema.clone();
        edges.prop_flat_map(move |edges| {
            let edges: Vec<[u32; 2]> =
                if num_nodes == 0 { vec![] } else { edges.into_iter().map(|(a, b)| [a, b]).collect() };
            let rows = if schema.level == Level::Graph { 1 } else { num_nodes };
            let target = match schema.task {
                Task::Regression => any_number().boxed(),
                Task::Binary => (0u8..2).prop_map(f32::from).boxed(),
                Task::MultiClass { classes } => (0..classes as u16).prop_map(f32::from).boxed(),
            };
            let target = prop_oneof![4 => target, 1 => Just(f32::NAN)];
            let targets = prop::collection::vec(target, rows * schema.num_targets());
            let with_features = !schema.node_columns.is_empty();
            let count = edges.len();
            let (nodes, links) = if with_features { (num_nodes, count) } else { (0, 0) };
            let node_categories = prop::collection::vec((0u32..4, 0u32..5), nodes);
            let node_numbers = prop::collection::vec(any_number(), nodes);
            let edge_categories = prop::collection::vec(0u32..3, links);
            let edge_numbers = prop::collection::vec(any_number(), links);
            (targets, node_categories, node_numbers, edge_categories, edge_numbers).prop_map(
                move |(targets, node_categories, node_numbers, edge_categories, edge_numbers)| {
                    let (node_features, edge_features) = if with_features {
                        let flat = node_categories.into_iter().flat_map(|(a, b)| [a, b]).collect();
                        (
                            Features::mixed(num_nodes, 2, flat, 1, node_numbers).unwrap(),
                            Features::mixed(count, 1, edge_categories, 1, edge_numbers).unwrap(),
                        )
                    } else {
                        (Features::none(num_nodes), Features::none(count))
                    };
                    (Graph::new(num_nodes, edges.clone(), node_features, edge_features).unwrap(), targets)
                },
            )
        })
    })
}

fn any_dataset() -> impl Strategy<Value = Dataset> {
    any_schema().prop_flat_map(|schema| {
        let samples = prop::collection::vec(any_sample(schema.clone()), 1..6);
        (Just(schema), samples, any::<bool>()).prop_map(|(schema, samples, has_split)| {
            let parts = [Split::Train, Split::Valid, Split::Test];
            Dataset {
                name: "data".to_owned(),
                node_parts: None,
                qualifiers: Default::default(),
                official_split: has_split.then(|| (0..samples.len()).map(|at| parts[at % 3]).collect()),
                samples: samples
                    .into_iter()
                    .enumerate()
                    .map(|(at, (graph, targets))| Sample {
                        id: format!("graph \"{at}\", an awkward one"),
                        graph: Arc::new(graph),
                        targets,
                    })
                    .collect(),
                schema,
            }
        })
    })
}

/// Equal, with missing targets equal to missing targets.
fn assert_equal(found: &Dataset, expected: &Dataset) {
    assert_eq!(found.schema, expected.schema);
    assert_eq!(found.official_split, expected.official_split);
    assert_eq!(found.samples.len(), expected.samples.len());
    for (found, expected) in found.samples.iter().zip(&expected.samples) {
        assert_eq!(found.id, expected.id);
        assert_eq!(found.graph, expected.graph);
        let bits = |targets: &[f32]| -> Vec<Option<u32>> {
            targets.iter().map(|value| (!value.is_nan()).then(|| value.to_bits())).collect()
        };
        assert_eq!(bits(&found.targets), bits(&expected.targets));
    }
}

fn read_with_schema(path: &Path, dataset: &Dataset) -> Dataset {
    open(path, &ReadOptions::with_schema(dataset.schema.clone()))
        .unwrap_or_else(|error| panic!("{error}"))
        .dataset
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn json_lines_give_back_the_data_set(dataset in any_dataset()) {
        let scratch = Scratch::new("jsonl");
        let path = scratch.path().join("data.jsonl");
        write_jsonl(&dataset, &path).unwrap();
        assert_equal(&read_with_schema(&path, &dataset), &dataset);
    }

    #[test]
    fn a_csv_folder_gives_back_the_data_set(dataset in any_dataset()) {
        let scratch = Scratch::new("csv");
        let path = scratch.path().join("data");
        write_csv_folder(&dataset, &path).unwrap();
        assert_equal(&read_with_schema(&path, &dataset), &dataset);
    }

    #[test]
    fn graph6_gives_back_the_undirected_simple_graph(dataset in any_dataset()) {
        let scratch = Scratch::new("g6");
        let path = scratch.path().join("data.g6");
        write_graph6(&dataset, &path).unwrap();
        let read = open(&path, &ReadOptions::default()).unwrap().dataset;
        prop_assert_eq!(read.samples.len(), dataset.samples.len());
        for (found, expected) in read.samples.iter().zip(&dataset.samples) {
            prop_assert_eq!(found.graph.num_nodes(), expected.graph.num_nodes());
            prop_assert_eq!(found.graph.undirected_neighbours(), expected.graph.undirected_neighbours());
        }
    }

    #[test]
    fn a_schema_survives_serialisation(dataset in any_dataset()) {
        let text = serde_json::to_string(&dataset.schema).unwrap();
        prop_assert_eq!(serde_json::from_str::<Schema>(&text).unwrap(), dataset.schema);
    }
}

/// Columns by position in an order in which categories do not come first, for nodes and for edges.
const MIXED: &str = concat!(
    r#"{"id":"a","num_nodes":2,"edges":[[0,1],[1,0]],"node_features":[[0.5,"C",1.5],[2.5,"N",3.5]],"#,
    r#""edge_features":[[0.25,1,"x",4.0],[0.75,2,"y",5.0]],"target":1.5}"#,
    "\n",
);

#[test]
fn columns_keep_their_places_where_their_names_are_positions() {
    let scratch = Scratch::new("places");
    let first = open(&scratch.write("x.jsonl", MIXED), &ReadOptions::default()).unwrap().dataset;
    let names = |columns: &[Column]| columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
    assert_eq!(
        names(&first.schema.node_columns),
        ["node_feature_1", "node_feature_0", "node_feature_2"],
        "a schema has categories first"
    );
    let path = scratch.path().join("y.jsonl");
    write_jsonl(&first, &path).unwrap();
    assert_equal(&open(&path, &ReadOptions::default()).unwrap().dataset, &first);
    // As a model of the first file reads the second.
    assert_equal(&read_with_schema(&path, &first), &first);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(r#""node_features":[[0.5,"C",1.5],[2.5,"N",3.5]]"#), "{text}");
    assert!(text.contains(r#""edge_features":[[0.25,1,"x",4.0],[0.75,2,"y",5.0]]"#), "{text}");
}

/// A zstd frame with one raw block, made by hand: enough for a reader to be tested on.
fn raw_zstd(content: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0b1010_0000];
    frame.extend((content.len() as u32).to_le_bytes());
    let header = 1u32 | (content.len() as u32) << 3;
    frame.extend(&header.to_le_bytes()[..3]);
    frame.extend(content);
    frame
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compression_byte_order_marks_and_line_ends_make_no_difference() {
    let contents = [
        (
            "a.jsonl",
            "{\"id\":\"a\",\"num_nodes\":3,\"edges\":[[0,1],[1,2]],\"x\":[1,2,3],\"y\":0.5}\n{\"id\":\"b\",\"num_nodes\":1,\"edges\":[],\"x\":[0],\"y\":1.5}\n",
        ),
        ("a.csv", "smiles,solubility,name\nCCO,1.5,ethanol\n\"c1ccccc1\",,\"benz,ene\"\n"),
        ("a.g6", "DQc\n:Fa@x^\n"),
    ];
    for (name, content) in contents {
        let scratch = Scratch::new("variants");
        let crlf = content.replace('\n', "\r\n");
        let bom = format!("\u{feff}{content}");
        let unfinished = content.trim_end();
        let expected = open(&scratch.write(name, content), &ReadOptions::default()).unwrap().dataset;
        assert_eq!(expected.samples.len(), 2);
        let variants: [(String, Vec<u8>); 8] = [
            (format!("crlf/{name}"), crlf.clone().into_bytes()),
            (format!("bom/{name}"), bom.clone().into_bytes()),
            (format!("unfinished/{name}"), unfinished.as_bytes().to_vec()),
            (format!("{name}.gz"), gzip(content.as_bytes())),
            (format!("crlf/{name}.gz"), gzip(crlf.as_bytes())),
            (format!("two-members/{name}.gz"), {
                let (first, second) = content.as_bytes().split_at(content.len() / 2);
                [gzip(first), gzip(second)].concat()
            }),
            (format!("{name}.zst"), raw_zstd(content.as_bytes())),
            (format!("bom/{name}.zst"), raw_zstd(bom.as_bytes())),
        ];
        for (variant, bytes) in variants {
            let path = scratch.write(&variant, bytes);
            let read =
                open(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{variant}: {error}"));
            assert_eq!(format!("{:?}", read.dataset), format!("{expected:?}"), "{variant}");
        }
    }
}

#[test]
fn what_a_file_cannot_hold_is_refused_instead_of_lost() {
    let sizes = PartSizes { train: 2, valid: 0, test: 0 };
    let mut of_graphs = RingTransfer { sizes, ..Default::default() }.generate(0).unwrap();
    let graph = Graph::clone(&of_graphs.samples[1].graph);
    let features = Features::numbers(1, 1, vec![2.5]).unwrap();
    of_graphs.samples[1].graph = Arc::new(graph.with_graph_features(features).unwrap());
    let scratch = Scratch::new("refused");
    for result in [
        write_jsonl(&of_graphs, &scratch.path().join("a.jsonl")),
        write_csv_folder(&of_graphs, &scratch.path().join("folder")),
    ] {
        let error = std::error::Error::source(&result.unwrap_err()).unwrap().to_string();
        assert!(error.contains("features of whole graphs"), "{error}");
    }
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn texts_that_a_table_would_turn_into_something_else_are_refused() {
    let line = |feature: &str, class: &str| {
        format!("{{\"num_nodes\":1,\"edges\":[],\"node_features\":[[{feature}]],\"target\":{class}}}\n")
    };
    let scratch = Scratch::new("texts");
    for (feature, class, column, text) in [
        ("\"\"", "\"a\"", "node_feature_0", "``"),
        ("\" C\"", "\"a\"", "node_feature_0", "` C`"),
        ("\"inf\"", "\"a\"", "node_feature_0", "`inf`"),
        ("\"C\"", "\"null\"", "target", "`null`"),
        ("\"C\"", "\"NA\"", "target", "`NA`"),
        ("\"C\"", "\"\"", "target", "``"),
        ("\"C\"", "\"+1\"", "target", "`+1`"),
        ("\"C\"", "\"5\"", "target", "`5`"),
        ("\"C\\r\\nD\"", "\"a\"", "node_feature_0", "other line ends"),
        ("\"C\\u0000\"", "\"a\"", "node_feature_0", "damage"),
    ] {
        let path = scratch.write("a.jsonl", line(feature, class) + &line("\"N\"", "\"b\""));
        let dataset = open(&path, &ReadOptions::default()).unwrap().dataset;
        let folder = scratch.path().join("folder");
        let error = write_csv_folder(&dataset, &folder).unwrap_err().to_string();
        for piece in [column, text, "JSON Lines"] {
            assert!(error.contains(piece), "{feature} {class}: {error}");
        }
        assert!(!folder.exists());
        // What is said to keep them does.
        let again = scratch.path().join("again.jsonl");
        write_jsonl(&dataset, &again).unwrap();
        assert_equal(&open(&again, &ReadOptions::default()).unwrap().dataset, &dataset);
    }
    for (sample, piece) in [
        ("\"id\":\" a\"", "` a`"),
        ("\"id\":\"a\\rb\"", "line ends"),
        ("\"graph_id\":1.5", "two columns `graph_id`"),
    ] {
        let text = format!("{{{sample},\"num_nodes\":1,\"edges\":[],\"target\":1}}\n");
        let targets = sample.starts_with("\"graph").then(|| vec!["graph_id".to_owned()]);
        let read = open(&scratch.write("b.jsonl", text), &ReadOptions { targets, ..ReadOptions::default() });
        let error = write_csv_folder(&read.unwrap().dataset, &scratch.path().join("folder")).unwrap_err();
        assert!(error.to_string().contains(piece), "{sample}: {error}");
    }
    // Words for nothing are categories like any other.
    let path = scratch.write("a.jsonl", line("\"NA\"", "\"a\"") + &line("\"-\"", "\"b\""));
    let dataset = open(&path, &ReadOptions::default()).unwrap().dataset;
    let folder = scratch.path().join("folder");
    write_csv_folder(&dataset, &folder).unwrap();
    assert_equal(&open(&folder, &ReadOptions::default()).unwrap().dataset, &dataset);
}
