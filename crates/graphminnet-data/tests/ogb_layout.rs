//! The layout of OGB: inference, options, and graphs to predict.

mod common;

use common::Scratch;
use common::layouts::{labels, said};
use graphminnet_data::{ColumnKind, Level, RULES, ReadOptions, RowReader, Task, open};
use std::path::{Path, PathBuf};

/// A folder in OGB's layout: a graph of one node for every row of features, with these labels.
fn ogb(scratch: &Scratch, name: &str, features: &[&str], labels: &[String]) -> PathBuf {
    let lines = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    scratch.write(&format!("{name}/raw/num-node-list.csv"), "1\n".repeat(features.len()));
    scratch.write(&format!("{name}/raw/num-edge-list.csv"), "0\n".repeat(features.len()));
    scratch.write(&format!("{name}/raw/edge.csv"), "");
    scratch.write(&format!("{name}/raw/node-feat.csv"), lines(features));
    if !labels.is_empty() {
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        scratch.write(&format!("{name}/raw/graph-label.csv"), lines(&labels));
    }
    scratch.path().join(name)
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn the_ogb_layout_is_inferred_as_json_lines_are() {
    let scratch = Scratch::new("ogb");
    let counts: Vec<String> = (0..40).map(|graph| (graph * 150 / 39).to_string()).collect();
    let forty = ["0.5"; 40];
    let regression = |columns| (Task::Regression, columns);
    for (at, (features, labels, earlier)) in [
        (&["0,0.5", "3,1.5", "1,2"][..], texts(&["0", "1", "0"]), (Task::Binary, [0, 2])),
        (&["2.0", "3.0"], texts(&["0.5", "1.5"]), regression([1, 0])),
        (&["7", "1"], texts(&["1", "2"]), (Task::MultiClass { classes: 3 }, [1, 0])),
        (&["7", "1"], texts(&["-1", "1"]), regression([1, 0])),
        (&["7,-1", "1,2"], texts(&["1,", "0,1"]), (Task::Binary, [0, 2])),
        (&["0.5", "1000"], texts(&["3", "4"]), (Task::MultiClass { classes: 5 }, [0, 1])),
        (&forty, counts, (Task::MultiClass { classes: 151 }, [0, 1])),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = ogb(&scratch, &format!("o{at}"), features, &labels);
        let line = |(features, label): (&&str, &String)| {
            let label = match label.split(',').map(|cell| if cell.is_empty() { "null" } else { cell }) {
                cells if label.contains(',') => format!("[{}]", cells.collect::<Vec<_>>().join(",")),
                _ => label.clone(),
            };
            format!("{{\"num_nodes\":1,\"edges\":[],\"x\":[[{features}]],\"target\":{label}}}\n")
        };
        let lines: String = features.iter().zip(&labels).map(line).collect();
        let lines = scratch.write(&format!("o{at}.jsonl"), lines);
        let [of_folder, of_lines] =
            [&folder, &lines].map(|path| open(path, &ReadOptions::default()).unwrap().dataset);
        assert_eq!(of_folder.schema, of_lines.schema, "{at}");
        let bits = |dataset: &graphminnet_data::Dataset| -> Vec<Vec<u32>> {
            let samples = dataset.samples.iter();
            samples.map(|sample| sample.targets.iter().map(|value| value.to_bits()).collect()).collect()
        };
        assert_eq!(bits(&of_folder), bits(&of_lines), "{at}");
        for (found, expected) in of_folder.samples.iter().zip(&of_lines.samples) {
            assert_eq!(found.graph, expected.graph, "{at}");
        }
        // A run of an earlier version reads its data as it did.
        let before =
            open(&folder, &ReadOptions { rules: 5, ..ReadOptions::default() }).unwrap().dataset.schema;
        let columns = [before.node_vocabulary().len(), before.node_numbers()];
        assert_eq!((before.task, columns), earlier, "{at}");
    }
}

#[test]
fn what_the_meta_file_of_the_ogb_layout_says_is_not_inferred() {
    let scratch = Scratch::new("ogb-meta");
    let folder = ogb(&scratch, "o", &["0,2", "1,3"], &texts(&["1", "2"]));
    let stated = r#"{"node_cardinality": [5, 4], "task": "multiclass classification", "num_classes": 3}"#;
    scratch.write("o/meta.json", stated);
    let [now, before] = [RULES, 5].map(|rules| {
        let read = open(&folder, &ReadOptions { rules, ..ReadOptions::default() }).unwrap();
        (read.dataset, read.report)
    });
    assert_eq!(now, before);
    assert_eq!(now.0.schema.node_vocabulary(), [5, 4]);
    assert_eq!(now.0.schema.task, Task::MultiClass { classes: 3 });
    // Where it says nothing of the labels, they are judged by what they are.
    scratch.write("o/meta.json", r#"{"node_feat": "real"}"#);
    let schema = open(&folder, &ReadOptions::default()).unwrap().dataset.schema;
    assert_eq!(
        (schema.node_numbers(), schema.task, schema.class_names),
        (2, Task::Binary, texts(&["1", "2"]))
    );
}

#[test]
fn options_of_columns_and_classes_have_their_effect_on_the_ogb_layout() {
    let scratch = Scratch::new("ogb-options");
    let folder = ogb(&scratch, "o", &["0,2", "3,7"], &texts(&["0", "1"]));
    let options = ReadOptions {
        numeric: texts(&["node_feature_0"]),
        text: texts(&["node_feature_1"]),
        positive_class: Some("0".to_owned()),
        ..ReadOptions::default()
    };
    let read = open(&folder, &options).unwrap();
    let kinds: Vec<&ColumnKind> =
        read.dataset.schema.node_columns.iter().map(|column| &column.kind).collect();
    let text = ColumnKind::Category { size: 2, names: texts(&["2", "7"]) };
    assert_eq!(kinds, [&text, &ColumnKind::Number]);
    assert_eq!(read.dataset.schema.positive_class.as_deref(), Some("0"));
    assert_eq!(labels(&read), [1.0, 0.0]);
    // Of two tables of labels one can be asked for.
    scratch.write("o/raw/node-label.csv", "0.5\n1.5\n");
    let nodes = open(&folder, &ReadOptions { level: Some(Level::Node), ..ReadOptions::default() }).unwrap();
    assert_eq!((nodes.dataset.schema.level, labels(&nodes)), (Level::Node, vec![0.5, 1.5]));
}

#[test]
fn an_option_without_effect_on_the_ogb_layout_is_refused() {
    let scratch = Scratch::new("ogb-effects");
    let folder = ogb(&scratch, "o", &["0,2", "3,7"], &texts(&["0", "1"]));
    let default = ReadOptions::default;
    let name = |name: &str| Some(name.to_owned());
    let numeric = ReadOptions { numeric: texts(&["node_feature_0"]), ..default() };
    let positive = ReadOptions { positive_class: name("0"), ..default() };
    let always = [
        (ReadOptions { targets: Some(texts(&["target"])), ..default() }, "--target"),
        (ReadOptions { id_column: name("zz"), ..default() }, "--id-column"),
        (ReadOptions { split_column: name("zz"), ..default() }, "--split-scheme"),
        (ReadOptions { level: Some(Level::Node), ..default() }, "raw/node-label.csv"),
        (ReadOptions { level: Some(Level::Edge), ..default() }, "no targets of edges"),
        (ReadOptions { numeric: texts(&["nope"]), ..default() }, "no column is called `nope` (--numeric)"),
        (ReadOptions { text: texts(&["target_7"]), ..default() }, "no column is called `target_7` (--text)"),
        (ReadOptions { positive_class: name("5"), ..default() }, "`5`"),
    ];
    for (options, expected) in &always {
        let error = said(&folder, options);
        assert!(error.contains(expected), "{error}");
    }
    // A run of an earlier version goes on with whatever it was given.
    for (options, _) in always.into_iter().chain([(numeric.clone(), ""), (positive.clone(), "")]) {
        let earlier = open(&folder, &ReadOptions { rules: 5, ..options }).unwrap().dataset;
        assert_eq!(earlier, open(&folder, &ReadOptions { rules: 5, ..default() }).unwrap().dataset);
    }
    scratch.write("o/meta.json", r#"{"node_cardinality": [4, 8], "task": "binary classification"}"#);
    for (options, expected) in [(numeric, "`--numeric node_feature_0`"), (positive, "`--positive-class 0`")] {
        let error = said(&folder, &options);
        assert!(error.contains(expected) && error.contains("meta.json"), "{error}");
    }
}

#[test]
fn graphs_of_the_ogb_layout_are_predicted_without_labels_and_with_fewer_categories() {
    let scratch = Scratch::new("ogb-new");
    let whole = ogb(&scratch, "whole", &["0,0.5", "1,1.5", "3,2.5"], &texts(&["1", "2", "1"]));
    let whole = open(&whole, &ReadOptions::default()).unwrap().dataset;
    let options = ReadOptions::with_schema(whole.schema.clone());
    let rows = |path: &Path| RowReader::open(path, &options).unwrap().next_rows(10).unwrap();
    let some = ogb(&scratch, "some", &["0,0.5", "1,1.5"], &[]);
    for (row, sample) in rows(&some).into_iter().zip(&whole.samples) {
        assert_eq!((row.id, row.graph.unwrap()), (sample.id.clone(), sample.graph.clone()));
    }
    // A value that the model does not know costs its graph the prediction, and no other one.
    let other = rows(&ogb(&scratch, "other", &["0,0.5", "9,1.5", "1,2"], &[]));
    assert_eq!(other.iter().map(|row| row.graph.is_ok()).collect::<Vec<_>>(), [true, false, true]);
    let reason = other[1].graph.as_ref().unwrap_err().to_string();
    for piece in ["node-feat.csv, line 2", "`node_feature_0`", "`9`", "a category from 0 to 3"] {
        assert!(reason.contains(piece), "{reason}");
    }
    // Labels are read by the schema, too; whoever needs some is told which files may hold them.
    let labelled = ogb(&scratch, "labelled", &["1,0.5"], &texts(&["2"]));
    assert_eq!(labels(&open(&labelled, &options).unwrap()), [1.0]);
    let error = said(&some, &ReadOptions::default());
    assert!(error.contains("raw/graph-label.csv or raw/node-label.csv is missing"), "{error}");
    assert!(!error.contains("raw/node-label.csv.gz"), "{error}");
    let error = said(&ogb(&scratch, "wide", &["1,0.5,2"], &texts(&["1"])), &options);
    assert!(error.contains("3 values") && error.contains("2 values"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_split_that_is_a_link_is_followed() {
    let scratch = Scratch::new("ogb-linked");
    let folder = ogb(&scratch, "o", &["0.5", "1.5", "2.5"], &texts(&["1", "2", "1"]));
    for (name, graph) in [("train", "1"), ("valid", "2"), ("test", "0")] {
        scratch.write(&format!("split-of-o/scaffold/{name}.csv"), format!("{graph}\n"));
    }
    std::os::unix::fs::symlink("../split-of-o", folder.join("split")).unwrap();
    let split = |rules: u32| {
        open(&folder, &ReadOptions { rules, ..ReadOptions::default() }).unwrap().dataset.official_split
    };
    use graphminnet_data::Split::{Test, Train, Valid};
    assert_eq!(split(RULES), Some(vec![Test, Train, Valid]));
    assert_eq!(split(6), None);
}
