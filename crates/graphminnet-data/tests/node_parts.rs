//! One graph, some nodes known: parts of nodes in every format that can name them.

mod common;

use common::Scratch;
use graphminnet_data::Split::{Test, Train, Valid};
use graphminnet_data::generate::Papers;
use graphminnet_data::split::Ratios;
use graphminnet_data::{DataError, Dataset, NodeParts, ReadOptions, Split, formats, open};

const EXPECTED: [Option<Split>; 4] = [Some(Train), Some(Valid), None, Some(Test)];

fn line(fields: &str) -> String {
    format!("{{\"num_nodes\":4,\"edges\":[[0,1],[1,2],[2,3]],\"node_target\":[0,1,0,1],{fields}}}\n")
}

fn read(fields: &str, options: &ReadOptions) -> Result<Dataset, DataError> {
    let scratch = Scratch::new("node-parts");
    open(&scratch.write("one.jsonl", line(fields)), options).map(|read| read.dataset)
}

fn parts(dataset: &Dataset) -> Vec<Option<Split>> {
    dataset.node_parts.as_ref().unwrap().graph(0).to_vec()
}

fn column(name: &str) -> ReadOptions {
    ReadOptions { split_column: Some(name.to_owned()), ..ReadOptions::default() }
}

#[test]
fn json_lines_name_parts_or_have_masks_one_or_several() {
    let default = ReadOptions::default();
    let split = r#""split":["train","val",null,"test"]"#;
    assert_eq!(parts(&read(split, &default).unwrap()), EXPECTED);
    let masks =
        r#""train_mask":[true,false,false,false],"val_mask":[0,1,0,0],"test_mask":[false,false,false,true]"#;
    assert_eq!(parts(&read(masks, &default).unwrap()), EXPECTED);
    let several = r#""split":["test","test","test","test"],"split_1":["train","valid",null,"test"]"#;
    assert_eq!(parts(&read(several, &column("split_1")).unwrap()), EXPECTED);
    let columns = r#""train_mask":[[0,1],[0,0],[1,0],[0,0]],"valid_mask":[[0,0],[0,1],[0,0],[0,0]],"test_mask":[[1,0],[0,0],[0,0],[0,1]]"#;
    assert_eq!(parts(&read(columns, &column("1")).unwrap()), EXPECTED);
    let earlier = ReadOptions { rules: 5, ..ReadOptions::default() };
    assert_eq!(parts(&read(columns, &earlier).unwrap())[0], Some(Test), "the first of them");
    let ignored = ReadOptions { ignore_split: true, ..ReadOptions::default() };
    assert_eq!(read(split, &ignored).unwrap().node_parts, None);
}

#[test]
fn parts_that_make_no_sense_are_refused_with_their_place() {
    for (fields, expected) in [
        (r#""split":["train","valid"]"#, "2 entries"),
        (r#""split":["train","valid","late","test"]"#, "late"),
        (r#""split":[1,2,3,4]"#, "a list of one of these"),
        (r#""train_mask":[1,1,0,0],"test_mask":[0,1,0,0]"#, "one part for each node"),
        (r#""train_mask":[2,0,0,0]"#, "true or false"),
        (r#""train_mask":[1,0]"#, "2 entries"),
    ] {
        let error = read(fields, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{fields}: {error}");
    }
}

#[test]
fn tables_of_nodes_have_a_column_several_or_masks() {
    let read = |header: &str, rows: [&str; 4], options: &ReadOptions| {
        let scratch = Scratch::new("node-parts");
        let rows: Vec<String> =
            rows.iter().enumerate().map(|(at, row)| format!("{at},{},0.5,{row}", at % 2)).collect();
        scratch.write("nodes.csv", format!("node_id,label,weight,{header}\n{}\n", rows.join("\n")));
        let edges = scratch.write("edges.csv", "source,destination\n0,1\n1,2\n2,3\n");
        open(edges.parent().unwrap(), options).map(|read| read.dataset)
    };
    let default = ReadOptions::default();
    let one = read("split", ["train", "valid", "", "test"], &default).unwrap();
    assert_eq!(parts(&one), EXPECTED);
    assert_eq!(one.schema.node_columns.len(), 1, "{:?}", one.schema.node_columns);
    let several = ["test,train", "test,valid", "test,", "test,test"];
    let several = read("split_0,split_1", several, &column("split_1")).unwrap();
    assert_eq!(parts(&several), EXPECTED);
    assert_eq!(several.schema.node_columns.len(), 1, "{:?}", several.schema.node_columns);
    let masks = ["1,0,0", "0,true,0", "0,0,0", "0,0,1"];
    assert_eq!(parts(&read("train_mask,val_mask,test_mask", masks, &default).unwrap()), EXPECTED);
    let error = read("train_mask", ["1", "0", "maybe", "0"], &default).unwrap_err().to_string();
    assert!(error.contains("maybe") && error.contains("train_mask"), "{error}");
    let error = read("split", ["train", "valid", "", "test"], &column("fold")).unwrap_err().to_string();
    assert!(error.contains("fold"), "{error}");
}

#[test]
fn ogb_counts_nodes_where_there_is_one_graph_with_targets_of_nodes() {
    let scratch = Scratch::new("node-parts");
    let files = [
        ("raw/num-node-list.csv", "4\n"),
        ("raw/num-edge-list.csv", "3\n"),
        ("raw/edge.csv", "0,1\n1,2\n2,3\n"),
        ("raw/node-feat.csv", "0.5\n1.5\n2.5\n3.5\n"),
        ("raw/node-label.csv", "0\n1\n0\n1\n"),
        ("split/time/train.csv", "0\n"),
        ("split/time/valid.csv", "1\n"),
        ("split/time/test.csv", "3\n"),
    ];
    let mut root = None;
    for (name, content) in files {
        root = scratch
            .write(name, content)
            .parent()
            .and_then(|folder| folder.parent())
            .map(|root| root.to_owned());
    }
    // split/time lies one folder deeper than raw.
    let root = root.unwrap().parent().unwrap().to_owned();
    let dataset = open(&root, &ReadOptions::default()).unwrap().dataset;
    assert_eq!((parts(&dataset), dataset.official_split), (EXPECTED.to_vec(), None));
}

#[test]
fn parts_of_nodes_survive_writing_and_reading() {
    let papers =
        Papers { nodes: 40, words: 14, valid: 10, test: 10, labels_per_class: 2, ..Papers::default() };
    let papers = papers.generate(1).unwrap();
    let scratch = Scratch::new("node-parts");
    for name in ["papers.jsonl", "papers"] {
        let path = scratch.write("unused", "").with_file_name(name);
        formats::write(&papers, &path).unwrap();
        let again = open(&path, &ReadOptions::with_schema(papers.schema.clone())).unwrap().dataset;
        assert_eq!(again.node_parts, papers.node_parts, "{name}");
    }
}

#[test]
fn of_several_schemes_of_ogb_one_must_be_named() {
    let scratch = Scratch::new("schemes");
    for (name, content) in [
        ("raw/num-node-list.csv", "2\n2\n2\n"),
        ("raw/num-edge-list.csv", "1\n1\n1\n"),
        ("raw/edge.csv", "0,1\n0,1\n0,1\n"),
        ("raw/graph-label.csv", "0\n1\n0\n"),
        ("split/random/train.csv", "0\n"),
        ("split/random/valid.csv", "1\n"),
        ("split/random/test.csv", "2\n"),
        ("split/scaffold/train.csv", "2\n"),
        ("split/scaffold/valid.csv", "1\n"),
        ("split/scaffold/test.csv", "0\n"),
    ] {
        scratch.write(name, content);
    }
    let read = |options: &ReadOptions| open(scratch.path(), options).map(|read| read.dataset.official_split);
    let now = ReadOptions { rules: 5, ..ReadOptions::default() };
    let error = read(&now).unwrap_err().to_string();
    assert!(error.contains("several split schemes, `random`, `scaffold`"), "{error}");
    assert!(error.contains("--split-scheme"), "{error}");
    let named = |name: &str| ReadOptions { split: Some(name.to_owned()), ..now.clone() };
    assert_eq!(read(&named("scaffold")).unwrap(), Some(vec![Test, Valid, Train]));
    assert_eq!(read(&named("random")).unwrap(), Some(vec![Train, Valid, Test]));
    let error = read(&named("time")).unwrap_err().to_string();
    assert!(error.contains("no split scheme `time`; there are `random`, `scaffold`"), "{error}");
    // Whoever splits otherwise needs none, and a run of earlier rules reads what it read.
    assert_eq!(read(&ReadOptions { ignore_split: true, ..now.clone() }).unwrap(), None);
    assert_eq!(read(&ReadOptions { rules: 4, ..now.clone() }).unwrap(), None);

    let elsewhere = scratch.write("one.jsonl", line("\"id\":\"a\""));
    let error = open(&elsewhere, &named("random")).unwrap_err().to_string();
    assert!(error.contains("split schemes to choose from"), "{error}");
}

#[test]
fn nodes_of_the_only_graph_are_split_in_any_shares() {
    let dataset = read("\"id\":\"a\"", &ReadOptions::default()).unwrap();
    let halves = Ratios { train: 1.0, valid: 0.0, test: 1.0, ..Ratios::default() };
    let parts = NodeParts::at_random(&dataset, halves, 0).unwrap().unwrap();
    assert_eq!([Train, Valid, Test].map(|part| parts.count(part)), [2, 0, 2]);
    let classes = |part: Split| -> f32 {
        let rows = parts.graph(0).iter().zip(&dataset.samples[0].targets);
        rows.filter(|(found, _)| **found == Some(part)).map(|(_, class)| class).sum()
    };
    assert_eq!([classes(Train), classes(Test)], [1.0, 1.0], "equal shares of the classes");
    let none = Ratios { train: 0.0, valid: 0.0, test: 0.0, ..Ratios::default() };
    assert!(NodeParts::at_random(&dataset, none, 0).is_err());
}
