use super::*;
use crate::{ColumnKind, OnBadRow, Task};

fn two_graphs() -> GraphTables {
    GraphTables {
        nodes: vec![3, 2],
        edges: vec![2, 2],
        edge_index: [vec![0, 1, 0, 1], vec![1, 2, 1, 0]],
        node_columns: vec![
            TableColumns::new(1, Cells::Integers(vec![6, 6, 8, 6, 7])),
            TableColumns::new(2, Cells::Numbers((0..10).map(f64::from).collect())),
        ],
        edge_columns: vec![TableColumns::new(
            1,
            Cells::Text(["single", "double", "single", "single"].map(|text| Some(text.into())).to_vec()),
        )],
        targets: vec![TableColumns::new(1, Cells::Numbers(vec![0.5, f64::NAN]))],
        parts: Some(vec![Split::Train, Split::Valid]),
        ..GraphTables::default()
    }
}

#[test]
fn tables_are_read_as_the_same_graphs_written_as_json_lines_are() {
    let text = concat!(
        r#"{"num_nodes":3,"edges":[[0,1],[1,2]],"node_features":[[6,0.0,1.0],[6,2.0,3.0],[8,4.0,5.0]],"edge_features":[["single"],["double"]],"target":0.5,"split":"train"}"#,
        "\n",
        r#"{"num_nodes":2,"edges":[[0,1],[1,0]],"node_features":[[6,6.0,7.0],[7,8.0,9.0]],"edge_features":[["single"],["single"]],"target":null,"split":"valid"}"#,
        "\n",
    );
    let options = ReadOptions { format: Some(crate::formats::Format::Jsonl), ..Default::default() };
    let written = crate::read_stream(Box::new(text.as_bytes()), "graphs", &options).unwrap();
    let read = two_graphs().read("graphs", &ReadOptions::default()).unwrap();
    // NaN is not equal to itself.
    assert_eq!(format!("{:?}", read.dataset), format!("{:?}", written.dataset));
    assert_eq!(read.dataset.schema.task, Task::Regression);
}

#[test]
fn targets_may_belong_to_nodes_and_columns_have_their_names() {
    let mut tables = two_graphs();
    tables.node_columns.truncate(1);
    tables.node_columns[0].names = Some(vec!["element".to_owned()]);
    let classes = ["a", "b", "a", "c", "b"].map(|text| Some(text.to_owned()));
    tables.targets = vec![TableColumns::new(1, Cells::Text(classes.to_vec()))];
    let options = ReadOptions { level: Some(Level::Node), ..ReadOptions::default() };
    let read = tables.read("graphs", &options).unwrap();
    let schema = &read.dataset.schema;
    assert_eq!((schema.level, schema.task), (Level::Node, Task::MultiClass { classes: 3 }));
    assert_eq!(schema.node_columns[0].name, "element");
    assert_eq!(schema.node_columns[0].kind, ColumnKind::Category { size: 9, names: vec![] });
    assert_eq!(read.dataset.samples[1].targets, [2.0, 1.0]);
}

#[test]
fn parts_of_nodes_are_those_of_the_same_graph_written_as_json_lines() {
    let text = r#"{"num_nodes":3,"edges":[[0,1],[1,2]],"target":[0,1,1],"split":["train",null,"test"]}"#;
    let options = ReadOptions {
        format: Some(crate::formats::Format::Jsonl),
        level: Some(Level::Node),
        ..Default::default()
    };
    let written = crate::read_stream(Box::new(text.as_bytes()), "graphs", &options).unwrap();
    let mut tables = GraphTables {
        nodes: vec![3],
        edges: vec![2],
        edge_index: [vec![0, 1], vec![1, 2]],
        targets: vec![TableColumns::new(1, Cells::Integers(vec![0, 1, 1]))],
        node_parts: Some(vec![Some(Split::Train), None, Some(Split::Test)]),
        ..GraphTables::default()
    };
    let options = ReadOptions { level: Some(Level::Node), ..ReadOptions::default() };
    let read = tables.read("graphs", &options).unwrap();
    assert!(read.dataset.node_parts.is_some());
    assert_eq!(read.dataset, written.dataset);
    tables.node_parts = Some(vec![None; 2]);
    let error = tables.read("graphs", &options).unwrap_err().to_string();
    assert!(error.contains("2 parts of nodes, edges or pairs") && error.contains('3'), "{error}");
}

#[test]
fn a_graph_that_makes_no_sense_is_a_bad_row_with_its_number() {
    let mut tables = two_graphs();
    tables.edge_index[1][3] = 2;
    let error = tables.read("graphs", &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("graph 1, column `edge_index`: `2`"), "{error}");
    let options = ReadOptions { on_bad_row: OnBadRow::Skip, ..ReadOptions::default() };
    assert_eq!(tables.read("graphs", &options).unwrap().dataset.samples.len(), 1);
    let schema = two_graphs().read("graphs", &ReadOptions::default()).unwrap().dataset.schema;
    tables.targets.clear();
    let rows = tables.rows(&ReadOptions::with_schema(schema)).unwrap();
    assert!(rows[0].graph.is_ok() && rows[1].graph.is_err());
}

#[test]
fn tables_that_do_not_fit_each_other_are_refused() {
    let mut short = two_graphs();
    short.node_columns[1].width = 3;
    let error = short.read("graphs", &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("column `x`") && error.contains("5 rows"), "{error}");
    let mut short = two_graphs();
    short.edge_index[0].pop();
    let error = short.read("graphs", &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("3 sources in `edge_index`"), "{error}");
    let mut short = two_graphs();
    short.parts = Some(vec![Split::Test]);
    assert!(short.read("graphs", &ReadOptions::default()).is_err());
}

#[test]
fn molecules_keep_their_places() {
    let smiles = ["CCO", "C1CC", "c1ccccc1"].map(str::to_owned);
    let rows = molecule_rows(&smiles, &ReadOptions::default()).unwrap();
    let nodes: Vec<_> = rows.iter().map(|row| row.graph.as_ref().ok().map(|g| g.num_nodes())).collect();
    assert_eq!(nodes, [Some(3), None, Some(6)]);
    let reason = rows[1].graph.as_ref().unwrap_err().to_string();
    assert!(reason.starts_with("row 1: `C1CC`: not a SMILES string"), "{reason}");
    let schema = two_graphs().read("graphs", &ReadOptions::default()).unwrap().dataset.schema;
    assert!(molecule_rows(&smiles, &ReadOptions::with_schema(schema)).is_err());
}

#[test]
fn pairs_are_those_of_the_same_graphs_written_as_json_lines() {
    let text = concat!(
        r#"{"num_nodes":3,"edges":[[0,1],[1,2]],"pairs":[[0,2],[2,0]],"pair_target":[1,0]}"#,
        "\n",
        r#"{"num_nodes":2,"edges":[],"pairs":[[1,0]],"pair_target":[1]}"#,
        "\n",
    );
    let options = ReadOptions { format: Some(crate::formats::Format::Jsonl), ..Default::default() };
    let written = crate::read_stream(Box::new(text.as_bytes()), "graphs", &options).unwrap();
    let mut tables = GraphTables {
        nodes: vec![3, 2],
        edges: vec![2, 0],
        edge_index: [vec![0, 1], vec![1, 2]],
        pairs: vec![2, 1],
        pair_index: [vec![0, 2, 1], vec![2, 0, 0]],
        targets: vec![TableColumns::new(1, Cells::Integers(vec![1, 0, 1]))],
        ..GraphTables::default()
    };
    let options = ReadOptions { level: Some(Level::Pair), ..ReadOptions::default() };
    let read = tables.read("graphs", &options).unwrap();
    assert_eq!(read.dataset, written.dataset);
    tables.pair_index[1][0] = 3;
    let error = tables.read("graphs", &options).unwrap_err().to_string();
    assert!(error.contains("graph 0, column `pair_index`: `3`"), "{error}");
    tables.pair_index[1].pop();
    let error = tables.read("graphs", &options).unwrap_err().to_string();
    assert!(error.contains("2 targets in `pair_index`"), "{error}");
    // Targets of graphs have no use for them.
    tables.pair_index[1] = vec![2, 0, 0];
    tables.targets = vec![TableColumns::new(1, Cells::Numbers(vec![0.5, 1.5]))];
    let read = tables.read("graphs", &ReadOptions::default()).unwrap();
    assert!(read.dataset.samples.iter().all(|sample| sample.graph.pairs().is_empty()));
}

#[test]
fn parts_may_be_those_of_edges() {
    let tables = GraphTables {
        nodes: vec![3],
        edges: vec![2],
        edge_index: [vec![0, 1], vec![1, 2]],
        targets: vec![TableColumns::new(1, Cells::Numbers(vec![0.5, 1.5]))],
        node_parts: Some(vec![Some(Split::Train), None]),
        ..GraphTables::default()
    };
    let options = ReadOptions { level: Some(Level::Edge), ..ReadOptions::default() };
    let parts = tables.read("graphs", &options).unwrap().dataset.node_parts.unwrap();
    assert_eq!(parts.graph(0), [Some(Split::Train), None]);
}
