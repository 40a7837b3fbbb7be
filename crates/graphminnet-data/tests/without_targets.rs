//! Whoever asks a model needs no targets, in any format.

mod common;

use common::Scratch;
use common::layouts::{edge_lists, read, three_graphs, two_graphs, usable};
use graphminnet_data::{Level, OnBadRow, ReadOptions, RowReader, open};
use std::path::Path;

#[test]
fn whoever_asks_a_model_needs_no_targets_whatever_they_are() {
    let scratch = Scratch::new("schema");
    let graphs = r#"{"num_nodes":2,"edges":[[0,1]],"target":1.5}
{"num_nodes":2,"edges":[[0,1]],"target":2.5}"#;
    let schema = read("a.jsonl", graphs, &ReadOptions::default()).unwrap().dataset.schema;
    let others = r#"{"num_nodes":2,"edges":[[0,1]]}
{"num_nodes":2,"edges":[[0,1]],"node_target":[1,2]}
{"num_nodes":2,"edges":[[0,1]],"target":[[1],[2]],"split":["train","test"]}
{"num_nodes":2,"edges":[[0,1]],"edge_target":["single"],"split":["train"]}
{"num_nodes":2,"edges":[[0,1]],"target":[1,2,3]}
{"num_nodes":2,"edges":[[0,1]],"target":"high"}
{"num_nodes":2,"edges":[[0,7]],"target":1}"#;
    let path = scratch.write("b.jsonl", others);
    let options = ReadOptions::with_schema(schema);
    assert_eq!(usable(&path, &options), [true, true, true, true, true, true, false]);
    // Whoever judges it does.
    let judging = ReadOptions { on_bad_row: OnBadRow::Skip, ..options };
    assert_eq!(open(&path, &judging).unwrap().report.bad_row_count, 6);
}

#[test]
fn whoever_asks_a_model_needs_no_targets_in_folders_of_tables() {
    let scratch = Scratch::new("schema");
    let schema_of = |path: &Path| open(path, &ReadOptions::default()).unwrap().dataset.schema;
    let options = ReadOptions::with_schema(schema_of(&two_graphs(&scratch, "graph_id,y\na,x\nb,z\n")));
    for graphs in [
        "graph_id,y,split\na,?,train\nb,7,whenever\n",
        "graph_id,num_nodes\na,2\nb,2\n",
        "graph_id,y\na,\nb,x\n",
    ] {
        assert_eq!(usable(&two_graphs(&scratch, graphs), &options), [true, true], "{graphs}");
    }
    // Targets of nodes, of edges and of pairs; a target is no feature because nobody needs it.
    let one = |nodes: &str, edges: &str, pairs: Option<&str>| {
        let scratch = Scratch::new("schema");
        scratch.write("nodes.csv", nodes);
        scratch.write("edges.csv", edges);
        pairs.iter().for_each(|pairs| drop(scratch.write("pairs.csv", pairs)));
        scratch
    };
    let (nodes, edges) = ("node_id,x\n0,0.5\n1,1.5\n", "source,destination\n0,1\n");
    for (train, later) in [
        (
            one("node_id,x,label,split\n0,0.5,a,train\n1,1.5,b,test\n", edges, None),
            one("node_id,x,label,split\n0,0.5,?,never\n1,1.5,2,\n", edges, None),
        ),
        (
            one(nodes, "source,destination,label\n0,1,a\n1,0,b\n", None),
            one(nodes, "source,destination,label,split\n0,1,?,never\n1,0,,\n", None),
        ),
        (
            one(nodes, edges, Some("source,destination,y\n0,1,a\n1,0,b\n")),
            one(nodes, edges, Some("source,destination,y,split\n0,1,?,never\n1,0,,\n")),
        ),
    ] {
        let schema = schema_of(train.path());
        let (level, columns) = (schema.level, schema.node_columns.len());
        let options = ReadOptions::with_schema(schema);
        let rows = RowReader::open(later.path(), &options).unwrap().next_rows(100).unwrap();
        let graph = rows[0].graph.as_ref().unwrap_or_else(|row| panic!("{level}: {row}"));
        assert_eq!((graph.node_features().number_columns(), columns), (1, 1), "{level}");
        assert_eq!(graph.pairs().len(), if level == Level::Pair { 2 } else { 0 });
        // Whoever judges it does.
        assert!(open(later.path(), &options).is_err(), "{level}");
    }
}

#[test]
fn whoever_asks_a_model_needs_no_labels_of_a_tudataset() {
    let scratch = Scratch::new("schema");
    let schema = open(&three_graphs(&scratch, "1\n2\n1\n"), &ReadOptions::default()).unwrap().dataset.schema;
    let options = ReadOptions::with_schema(schema);
    for labels in ["1\n7\nunknown\n", "1\n"] {
        assert_eq!(usable(&three_graphs(&scratch, labels), &options), [true, true, true], "{labels}");
        assert!(open(&scratch.path().join("T"), &options).is_err());
    }
}

#[test]
fn whoever_asks_a_model_may_have_any_folders_of_edge_lists() {
    let scratch = Scratch::new("schema");
    let train = edge_lists(&scratch, "train", &["bad", "good"]);
    let schema = open(&train, &ReadOptions::default()).unwrap().dataset.schema;
    let options = ReadOptions::with_schema(schema);
    let later = edge_lists(&scratch, "later", &["good", "ugly"]);
    scratch.write("later/train.txt", "ugly/g\n");
    scratch.write("later/test.txt", "ugly/g\n");
    assert_eq!(usable(&later, &options), [true, true]);
    assert!(open(&later, &options).is_err());
}
