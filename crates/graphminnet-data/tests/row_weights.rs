//! A column that says how much rows count in training: who has it, what it may hold, who refuses it.

mod common;

use common::Scratch;
use graphminnet_data::{DataError, OnBadRow, Read, ReadOptions, open};

fn options(column: &str) -> ReadOptions {
    ReadOptions { weight_column: Some(column.to_owned()), ..ReadOptions::default() }
}

fn read(name: &str, content: &str, options: &ReadOptions) -> Result<Read, DataError> {
    let scratch = Scratch::new("weights");
    open(&scratch.write(name, content), options)
}

const TABLE: &str = "smiles,y,trust\nC,0.5,1\nCC,1.5,2.5\nCCC,2.5,0\n";

#[test]
fn a_table_of_molecules_has_weights_that_are_no_targets() {
    for column in ["trust", "TRUST"] {
        let read = read("a.csv", TABLE, &options(column)).unwrap();
        assert_eq!(read.dataset.qualifiers.weights, [1.0, 2.5, 0.0]);
        assert_eq!(read.dataset.schema.targets, ["y"]);
        let note = read.report.notes.join("\n");
        assert!(note.contains("weighs rows in the training loss, from 0 to 2.5"), "{note}");
    }
    let plain = read("a.csv", TABLE, &ReadOptions::default()).unwrap();
    assert!(plain.dataset.qualifiers.weights.is_empty());
    assert_eq!(plain.dataset.schema.targets, ["y", "trust"]);
}

#[test]
fn a_weight_that_is_none_is_a_bad_row_and_the_policy_decides() {
    let mut text = TABLE.to_owned();
    for wrong in ["", "-1", "nan", "inf", "1e39", "heavy", "NA"] {
        text.push_str(&format!("CCCC,3.5,{wrong}\n"));
    }
    let Err(DataError::BadRows { rows, total: 7 }) = read("a.csv", &text, &options("trust")) else {
        panic!("all of these rows are bad");
    };
    for (row, bad) in rows.iter().enumerate() {
        assert_eq!((bad.place.line, bad.place.column.as_deref()), (Some(row as u64 + 5), Some("trust")));
        assert!(bad.reason.contains("a finite number from 0 on"), "{bad}");
    }
    let skipping = ReadOptions { on_bad_row: OnBadRow::Skip, ..options("trust") };
    let skipped = read("a.csv", &text, &skipping).unwrap();
    assert_eq!(skipped.dataset.qualifiers.weights, [1.0, 2.5, 0.0]);
    assert_eq!(skipped.report.bad_row_count, 7);
    // A row that is bad for another reason takes its weight along.
    let read = read("a.csv", "smiles,y,trust\nC,1,1\n?,2,2\nCC,4,4\n", &skipping).unwrap();
    assert_eq!(read.dataset.qualifiers.weights, [1.0, 4.0]);
}

#[test]
fn the_column_must_be_there_and_be_nothing_else() {
    let error = |options: &ReadOptions| read("a.csv", TABLE, options).unwrap_err().to_string();
    assert!(error(&options("nothing")).contains("a column called `nothing`"));
    for taken in ["smiles", "y"] {
        let both = ReadOptions { targets: Some(vec!["y".to_owned()]), ..options(taken) };
        assert!(error(&both).contains("as something else"), "{taken}");
    }
    let both = ReadOptions { descriptors: vec!["trust".to_owned()], ..options("trust") };
    assert!(error(&both).contains("as something else"));
}

#[test]
fn a_schema_is_for_predicting_where_no_weights_are_needed() {
    let schema = read("a.csv", TABLE, &options("trust")).unwrap().dataset.schema;
    let later = ReadOptions { schema: Some(schema), ..options("trust") };
    let read = read("a.csv", "smiles\nC\n", &later).unwrap();
    assert!(read.dataset.qualifiers.weights.is_empty());
}

#[test]
fn json_lines_and_csv_folders_have_weights_too() {
    let line = |weight: &str| format!("{{\"num_nodes\":2,\"edges\":[[0,1]],\"target\":1.5{weight}}}\n");
    let lines = line(",\"w\":1") + &line(",\"w\":0.25");
    let found = read("a.jsonl", &lines, &options("w")).unwrap();
    assert_eq!(found.dataset.qualifiers.weights, [1.0, 0.25]);
    assert!(!found.report.notes.iter().any(|note| note.contains("not understood")), "{:?}", found.report);
    for wrong in ["", ",\"w\":null", ",\"w\":-1", ",\"w\":\"2\"", ",\"w\":1e39"] {
        let error = read("a.jsonl", &(lines.clone() + &line(wrong)), &options("w")).unwrap_err().to_string();
        assert!(error.contains("a finite number from 0 on") && error.contains("line 3"), "{wrong}: {error}");
    }

    let folder = Scratch::new("weights");
    folder.write("edges.csv", "graph_id,source,destination\na,0,1\nb,0,1\n");
    folder.write("nodes.csv", "graph_id,node_id,kind\na,0,1\na,1,2\nb,0,1\nb,1,1\n");
    let error = open(folder.path(), &options("w")).unwrap_err().to_string();
    assert!(error.contains("graphs.csv") && error.contains("`w`"), "{error}");
    folder.write("graphs.csv", "graph_id,y,w\na,0.5,3\nb,1.5,0\n");
    let read = open(folder.path(), &options("w")).unwrap();
    assert_eq!(read.dataset.qualifiers.weights, [3.0, 0.0]);
    assert_eq!(read.dataset.schema.targets, ["y"]);
}

#[test]
fn a_reader_that_has_no_weights_says_so() {
    let error = read("a.g6", "C~\n", &options("w")).unwrap_err().to_string();
    assert!(error.contains("only tables of molecules, JSON Lines and CSV folders"), "{error}");
}
