//! Inference, frozen schemas and bad rows.

mod common;

use common::Scratch;
use common::layouts::{edge_lists, labels, read, said, three_graphs, two_graphs, usable};
use graphminnet_data::{
    ColumnKind, DataError, EdgeDirection, Level, OnBadRow, RULES, ReadOptions, RowReader, Split, Task, open,
};
use std::path::Path;

#[test]
fn columns_are_categories_numbers_or_text_as_written() {
    let content = r#"{"num_nodes":2,"edges":[[0,1]],"x":[[6,0.5,"b",7],[8,1.0,"a",-1]],"edge_features":[["single"]],"y":1}
{"num_nodes":1,"edges":[],"x":[[1,2,"c",1500]],"y":0}
{"num_nodes":1,"edges":[],"x":[[1,2,"c",1500]],"y":3}"#;
    let schema = read("a.jsonl", content, &ReadOptions::default()).unwrap().dataset.schema;
    assert_eq!(schema.node_vocabulary(), [9, 3]);
    assert_eq!(schema.node_numbers(), 2);
    let names: Vec<&str> = schema.node_columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["node_feature_0", "node_feature_2", "node_feature_1", "node_feature_3"]);
    let text = ColumnKind::Category { size: 3, names: ["a", "b", "c"].map(str::to_owned).to_vec() };
    assert_eq!(schema.node_columns[1].kind, text);
    assert_eq!(
        schema.edge_columns[0].kind,
        ColumnKind::Category { size: 1, names: vec!["single".to_owned()] }
    );
    assert_eq!(schema.task, Task::MultiClass { classes: 4 });
}

#[test]
fn yes_and_no_may_be_written_with_a_decimal_point() {
    let task = |cells: [&str; 4], rules: u32| {
        let rows: String = cells.iter().map(|cell| format!("C,{cell}\n")).collect();
        let options = ReadOptions { targets: Some(vec!["y".to_owned()]), rules, ..ReadOptions::default() };
        read("a.csv", &format!("smiles,y\n{rows}"), &options).unwrap().dataset.schema.task
    };
    assert_eq!(task(["1.0", "0.0", "", "1.0"], RULES), Task::Binary);
    assert_eq!(task(["1.0", "0", "1", "0.0"], RULES), Task::Binary);
    assert_eq!(task(["1.0", "0.0", "", "1.0"], 4), Task::Regression);
    assert_eq!(task(["1.0", "0.0", "0.5", "1.0"], RULES), Task::Regression);
    assert_eq!(task(["1.0", "0.0", "", ">1"], RULES), Task::Regression, "a bound is of a measurement");
}

#[test]
fn targets_are_regression_binary_or_classes() {
    let file = |targets: [&str; 3]| -> String {
        targets
            .iter()
            .map(|target| format!("{{\"num_nodes\":1,\"edges\":[],\"target\":{target}}}\n"))
            .collect()
    };
    let task = |targets| {
        let read = read("a.jsonl", &file(targets), &ReadOptions::default()).unwrap();
        (
            read.dataset.schema.task,
            read.dataset.samples.iter().flat_map(|s| s.targets.clone()).collect::<Vec<_>>(),
        )
    };
    assert_eq!(task(["0.5", "1", "2"]).0, Task::Regression);
    assert_eq!(task(["0", "1", "1"]).0, Task::Binary);
    assert_eq!(task(["[0,1]", "[1,1]", "[0,0]"]).0, Task::Binary);
    assert_eq!(task(["[0,2]", "[1,1]", "[0,0]"]).0, Task::Regression);
    assert_eq!(task(["\"x\"", "\"y\"", "\"x\""]), (Task::Binary, vec![0.0, 1.0, 0.0]));
    let (classes, values) = task(["\"10\"", "\"9\"", "\"-1\""]);
    assert_eq!((classes, values), (Task::MultiClass { classes: 3 }, vec![2.0, 1.0, 0.0]));
    let (with_missing, values) = task(["null", "0", "2"]);
    assert_eq!(with_missing, Task::Binary);
    assert!(values[0].is_nan() && values[1..] == [0.0, 1.0]);
}

#[test]
fn integers_that_hardly_repeat_are_measurements_not_classes() {
    let task = |values: &mut dyn Iterator<Item = usize>, options: &ReadOptions| {
        let line = |value| format!("{{\"num_nodes\":1,\"edges\":[],\"target\":{value}}}\n");
        read("a.jsonl", &values.map(line).collect::<String>(), options).unwrap().dataset.schema.task
    };
    let default = ReadOptions::default();
    assert_eq!(task(&mut (0..40), &default), Task::Regression);
    assert_eq!(task(&mut (0..400).map(|at| at % 40), &default), Task::MultiClass { classes: 40 });
    assert_eq!(task(&mut (0..15), &default), Task::MultiClass { classes: 15 });
    let told = ReadOptions { task: Some(Task::Regression), ..ReadOptions::default() };
    assert_eq!(task(&mut (0..15), &told), Task::Regression);
}

#[test]
fn node_targets_come_as_rows_or_by_name() {
    for field in [r#""target":[[1],[0]]"#, r#""node_target":[1,0]"#] {
        let content = format!("{{\"num_nodes\":2,\"edges\":[],{field}}}");
        let dataset = read("a.jsonl", &content, &ReadOptions::default()).unwrap().dataset;
        assert_eq!((dataset.schema.level, dataset.samples[0].targets.clone()), (Level::Node, vec![1.0, 0.0]));
    }
    let options = ReadOptions { level: Some(Level::Node), ..ReadOptions::default() };
    let dataset = read("a.jsonl", r#"{"num_nodes":2,"edges":[],"target":[1,0]}"#, &options).unwrap().dataset;
    assert_eq!(dataset.schema.level, Level::Node);
}

#[test]
fn edges_are_directed_as_written_or_both_ways() {
    let content = r#"{"num_nodes":2,"edges":[[0,1],[1,1]],"edge_features":[5,6]}"#;
    let given = read("a.jsonl", content, &ReadOptions::default()).unwrap().dataset;
    assert_eq!(given.samples[0].graph.edges(), [[0, 1], [1, 1]]);
    let options = ReadOptions { edges: Some(EdgeDirection::BothWays), ..ReadOptions::default() };
    let both = read("a.jsonl", content, &options).unwrap().dataset;
    assert_eq!(both.samples[0].graph.edges(), [[0, 1], [1, 0], [1, 1]]);
    assert_eq!(both.samples[0].graph.edge_features().category_values(), [5, 5, 6]);
}

#[test]
fn a_frozen_schema_refuses_what_training_did_not_see() {
    let train = r#"{"num_nodes":1,"edges":[],"x":[["a",2]],"y":"yes"}
{"num_nodes":1,"edges":[],"x":[["b",0]],"y":"no"}"#;
    let schema = read("a.jsonl", train, &ReadOptions::default()).unwrap().dataset.schema;
    let options = ReadOptions::with_schema(schema.clone());
    let same = read("b.jsonl", r#"{"num_nodes":1,"edges":[],"x":[["b",0]]}"#, &options).unwrap().dataset;
    assert_eq!(same.samples[0].graph.node_features().category_values(), [1, 0]);
    assert!(same.samples[0].targets[0].is_nan(), "a file to predict on has no labels");
    for (line, column, value) in [
        (r#"{"num_nodes":1,"edges":[],"x":[["z",0]]}"#, "node_feature_0", "z"),
        (r#"{"num_nodes":1,"edges":[],"x":[["a",3]]}"#, "node_feature_1", "3"),
        (r#"{"num_nodes":1,"edges":[],"x":[["a",1]]}"#, "node_feature_1", "1"),
        (r#"{"num_nodes":1,"edges":[],"x":[["a",0]],"y":"perhaps"}"#, "target", ""),
    ] {
        let Err(DataError::BadRows { rows, total: 1 }) = read("b.jsonl", line, &options) else {
            panic!("{line}")
        };
        assert_eq!(rows[0].place.line, Some(1));
        assert_eq!(rows[0].place.column.as_deref(), Some(column));
        assert!(rows[0].value.contains(value), "{}", rows[0]);
    }
    let reserving = ReadOptions { reserve_unknown: true, ..ReadOptions::default() };
    let schema = read("a.jsonl", train, &reserving).unwrap().dataset.schema;
    assert_eq!(schema.node_vocabulary(), [3, 3]);
    let options = ReadOptions::with_schema(schema);
    let unseen = read("b.jsonl", r#"{"num_nodes":1,"edges":[],"x":[["z",2]]}"#, &options).unwrap().dataset;
    assert_eq!(unseen.samples[0].graph.node_features().category_values(), [2, 2]);
}

#[test]
fn bad_rows_stop_are_skipped_or_keep_their_place() {
    let content =
        "smiles,y,split\nCCO,1.5,train\nC(((,2.5,test\nCC,,valid\nC[Xx],0.5,test\nO,3.5,sometimes\n";
    let with = |policy| ReadOptions { on_bad_row: policy, ..ReadOptions::default() };
    let Err(DataError::BadRows { rows, total }) = read("a.csv", content, &with(OnBadRow::Error)) else {
        panic!()
    };
    assert_eq!((total, rows.len()), (3, 3));
    let lines: Vec<Option<u64>> = rows.iter().map(|row| row.place.line).collect();
    assert_eq!(lines, [Some(3), Some(5), Some(6)]);
    assert_eq!(rows[0].value, "C(((");
    assert_eq!(rows[2].place.column.as_deref(), Some("split"));
    let text = DataError::BadRows { rows, total }.to_string();
    assert!(text.contains("a.csv, line 3, column `smiles`: `C(((`"), "{text}");

    let skipped = read("a.csv", content, &with(OnBadRow::Skip)).unwrap();
    assert_eq!(skipped.dataset.samples.len(), 2);
    assert_eq!(skipped.report.rows, [Some(0), Some(1)]);
    assert_eq!(skipped.report.bad_row_count, 3);
    assert_eq!(skipped.dataset.official_split, Some(vec![Split::Train, Split::Valid]));

    let kept = read("a.csv", content, &with(OnBadRow::Null)).unwrap();
    assert_eq!(kept.report.rows, [Some(0), None, Some(1), None, None]);
    assert_eq!(kept.dataset.samples[1].id, "2", "ids are positions in the input");
    assert!(kept.dataset.samples[1].targets[0].is_nan());
}

#[test]
fn a_table_of_molecules_uses_named_or_numeric_columns() {
    let content = "name,SMILES,a,b,comment\nx,C,1,0.5,ok\ny,CC,,1.5,fine\n";
    let read_all = read("a.csv", content, &ReadOptions::default()).unwrap();
    assert_eq!(read_all.dataset.schema.targets, ["a", "b"]);
    assert_eq!(read_all.dataset.schema.task, Task::Regression);
    assert!(read_all.report.notes.iter().any(|note| note.contains("`comment` is not numeric")));
    let options = ReadOptions {
        targets: Some(vec!["comment".to_owned()]),
        id_column: Some("name".to_owned()),
        ..ReadOptions::default()
    };
    let named = read("a.csv", content, &options).unwrap().dataset;
    assert_eq!(named.schema.class_names, ["fine", "ok"]);
    assert_eq!((named.samples[0].id.as_str(), named.samples[0].targets[0]), ("x", 1.0));
    let missing = ReadOptions { targets: Some(vec!["z".to_owned()]), ..ReadOptions::default() };
    let error = read("a.csv", content, &missing).unwrap_err().to_string();
    assert!(error.contains("`z`") && error.contains("name, SMILES, a, b, comment"), "{error}");
}

#[test]
fn a_csv_folder_accepts_any_node_names_and_reports_bad_edges() {
    let scratch = Scratch::new("folder");
    scratch.write("d/graphs.csv", "graph_id,label,split\ng1,0,train\ng2,1,test\n");
    scratch.write("d/nodes.csv", "graph_id,node_id,kind\ng1,u,x\ng1,v,y\ng2,only,x\n");
    scratch.write("d/edges.csv", "graph_id,src_id,dst_id,weight\ng1,v,u,0.5\ng1,u,v,1.5\n");
    let dataset = open(&scratch.path().join("d"), &ReadOptions::default()).unwrap().dataset;
    assert_eq!(dataset.samples[0].graph.edges(), [[1, 0], [0, 1]]);
    assert_eq!(dataset.samples[0].graph.edge_features().number_values(), [0.5, 1.5]);
    assert_eq!(dataset.samples[1].graph.num_edges(), 0);
    assert_eq!((dataset.schema.task, dataset.samples[1].targets[0]), (Task::Binary, 1.0));
    scratch.write("d/edges.csv", "graph_id,src_id,dst_id\ng1,v,w\n");
    let error = open(&scratch.path().join("d"), &ReadOptions::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("edges.csv, line 2, column `destination`: `w`"), "{text}");
}

#[test]
fn a_frozen_schema_finds_mixed_columns_in_their_places_and_keeps_bad_rows_apart() {
    let content = r#"{"num_nodes":1,"edges":[],"x":[[0.5,2,-1.5,"b"]],"y":1.5}
{"num_nodes":1,"edges":[],"x":[[1.5,0,2.5,"a"]],"y":2.5}"#;
    let first = read("a.jsonl", content, &ReadOptions::default()).unwrap().dataset;
    // Categories come first in the schema, but not in the file.
    let options =
        ReadOptions { on_bad_row: OnBadRow::Null, ..ReadOptions::with_schema(first.schema.clone()) };
    let again = read("a.jsonl", content, &options).unwrap();
    assert_eq!(again.dataset.samples, first.samples);
    // A first row of another width spoils only itself.
    let wrong = format!("{}\n{content}", r#"{"num_nodes":1,"edges":[],"x":[[7]]}"#);
    let found = read("a.jsonl", &wrong, &options).unwrap();
    assert_eq!((found.report.rows, found.report.bad_positions), (vec![None, Some(0), Some(1)], vec![0]));
}

#[test]
fn a_column_of_parts_among_the_nodes_is_no_feature() {
    let scratch = Scratch::new("parts");
    scratch.write("nodes.csv", "node_id,weight,split,label\na,0.5,train,0\nb,1.5,valid,1\nc,2.5,test,0\n");
    let edges = scratch.write("edges.csv", "source,destination\na,b\nb,c\n");
    let names = |options: &ReadOptions| -> Vec<String> {
        let columns = open(edges.parent().unwrap(), options).unwrap().dataset.schema.node_columns;
        columns.into_iter().map(|column| column.name).collect()
    };
    assert_eq!(names(&ReadOptions::default()), ["weight"]);
    assert_eq!(names(&ReadOptions { text: vec!["split".into()], ..Default::default() }), ["split", "weight"]);
    // A run of an earlier version reads its data as it did.
    assert_eq!(names(&ReadOptions { rules: 2, ..Default::default() }), ["split", "weight"]);
}

#[test]
fn a_long_flat_list_as_long_as_the_graph_has_one_target_for_each_node() {
    let targets: Vec<String> = (0..100).map(|node| (node % 3).to_string()).collect();
    let line = format!("{{\"num_nodes\":100,\"edges\":[[0,1]],\"y\":[{}]}}", targets.join(","));
    let level = |options: &ReadOptions| {
        let read = read("a.jsonl", &line, options).unwrap();
        (read.dataset.schema.level, read.dataset.schema.targets.len(), read.report.notes)
    };
    let (found, columns, notes) = level(&ReadOptions::default());
    assert_eq!((found, columns), (Level::Node, 1));
    assert!(notes[0].contains("one for each node"), "{notes:?}");
    let asked = ReadOptions { level: Some(Level::Graph), ..Default::default() };
    assert_eq!((level(&asked).0, level(&asked).1), (Level::Graph, 100));
    let earlier = ReadOptions { rules: 2, ..Default::default() };
    assert_eq!(level(&earlier).0, Level::Graph);
    // A few values may be tasks: what was made of them is said.
    let line = "{\"num_nodes\":3,\"edges\":[[0,1]],\"y\":[0,1,0]}";
    let few = read("a.jsonl", line, &ReadOptions::default()).unwrap();
    assert_eq!((few.dataset.schema.level, few.dataset.schema.targets.len()), (Level::Graph, 3));
    assert!(few.report.notes[0].contains("--level node"), "{:?}", few.report.notes);
}

#[test]
fn lists_as_long_as_their_graphs_that_do_not_go_together_name_the_level_of_nodes() {
    let line = |nodes: usize, targets: usize| {
        let values = vec!["0.5"; targets].join(",");
        format!("{{\"num_nodes\":{nodes},\"edges\":[],\"y\":[{values}]}}\n")
    };
    let of_nodes = ReadOptions { level: Some(Level::Node), ..Default::default() };
    // Long lists are read as those of nodes, others as those of graphs.
    for [first, second] in [[3, 2], [100, 2], [2, 100], [100, 1]] {
        let content = line(first, first) + &line(second, second);
        let error = read("a.jsonl", &content, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("`--level node` reads them so"), "{error}");
        assert_eq!(read("a.jsonl", &content, &of_nodes).unwrap().dataset.schema.level, Level::Node);
    }
    let other = read("a.jsonl", &(line(3, 3) + &line(5, 2)), &ReadOptions::default()).unwrap_err();
    assert!(!other.to_string().contains("--level"), "{other}");
}

#[test]
fn text_can_only_be_the_only_target() {
    let scratch = Scratch::new("schema");
    let tables = two_graphs(&scratch, "graph_id,solubility,supplier\na,0.5,ACME\nb,1.5,Smith\n");
    let lines = |name: &str, first: &str, second: &str| {
        let line = |target: &str| format!("{{\"num_nodes\":1,\"edges\":[],\"target\":{target}}}\n");
        scratch.write(name, line(first) + &line(second))
    };
    let molecules = scratch.write("m.csv", "smiles,logS,supplier\nC,0.5,ACME\nCC,1.5,Smith\n");
    let named = |names: &[&str]| ReadOptions {
        targets: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        ..ReadOptions::default()
    };
    for (path, options, column) in [
        (&tables, ReadOptions::default(), "`supplier` (such as `ACME`)"),
        (&molecules, named(&["logS", "supplier"]), "`supplier` (such as `ACME`)"),
        (
            &lines("a.jsonl", "[0.5,\"sweet\"]", "[1.5,\"sour\"]"),
            ReadOptions::default(),
            "`target_1` (such as `sour`)",
        ),
        (
            &lines("b.jsonl", "[\"b\",\"x\"]", "[\"a\",\"x\"]"),
            ReadOptions::default(),
            "`target_0`, `target_1` (such as `a`)",
        ),
    ] {
        let error = said(path, &options);
        assert!(error.contains(column) && error.contains("can only be the only target"), "{error}");
        assert!(error.contains("`--target`"), "{error}");
        // A run of an earlier version goes on as it began.
        let earlier = open(path, &ReadOptions { rules: 4, ..options }).unwrap().dataset;
        assert_eq!((earlier.schema.task, earlier.schema.targets.len()), (Task::Regression, 2));
    }
    assert_eq!(labels(&open(&tables, &named(&["solubility"])).unwrap()), [0.5, 1.5]);
    let supplier = open(&tables, &named(&["supplier"])).unwrap();
    assert_eq!(supplier.dataset.schema.class_names, ["ACME", "Smith"]);
}

#[test]
fn regression_takes_the_numbers_that_labels_are_and_no_codes_of_texts() {
    let scratch = Scratch::new("schema");
    let regression = ReadOptions { task: Some(Task::Regression), ..ReadOptions::default() };
    let numbers = three_graphs(&scratch, "20\n10\n20\n");
    let folders = edge_lists(&scratch, "numbers", &["1.5", "-2"]);
    let lines = scratch.write(
        "a.jsonl",
        "{\"num_nodes\":1,\"edges\":[],\"target\":\"20\"}\n{\"num_nodes\":1,\"edges\":[],\"target\":\"10\"}\n",
    );
    for (path, expected) in
        [(&numbers, vec![20.0, 10.0, 20.0]), (&folders, vec![-2.0, 1.5]), (&lines, vec![20.0, 10.0])]
    {
        let found = open(path, &regression).unwrap();
        let schema = found.dataset.schema.clone();
        assert_eq!((schema.task, schema.class_names.len()), (Task::Regression, 0));
        assert_eq!(labels(&found), expected);
        // Whoever judges a model of them reads the same.
        assert_eq!(labels(&open(path, &ReadOptions::with_schema(schema)).unwrap()), expected);
    }
    let earlier = ReadOptions { rules: 4, ..regression.clone() };
    assert_eq!(labels(&open(&numbers, &earlier).unwrap()), [1.0, 0.0, 1.0]);

    let tables = two_graphs(&scratch, "graph_id,label\na,path\nb,cycle\n");
    let words = edge_lists(&scratch, "words", &["good", "bad"]);
    let molecules = scratch.write("m.csv", "smiles,label\nC,path\nCC,cycle\n");
    let labelled = ReadOptions { targets: Some(vec!["label".to_owned()]), ..regression.clone() };
    for (path, options, column, text) in [
        (&tables, &regression, "`label`", "`cycle`"),
        (&words, &regression, "`class`", "`bad`"),
        (&molecules, &labelled, "`label`", "`cycle`"),
    ] {
        let error = said(path, options);
        for piece in ["regression needs numbers", column, text] {
            assert!(error.contains(piece), "{error}");
        }
    }
}

#[test]
fn a_model_of_numbers_is_not_judged_by_codes_of_texts() {
    let scratch = Scratch::new("schema");
    let schema = open(&two_graphs(&scratch, "graph_id,y\na,0.5\nb,1.5\n"), &ReadOptions::default());
    let options = ReadOptions::with_schema(schema.unwrap().dataset.schema);
    let Err(DataError::BadRows { rows, total: 2 }) =
        open(&two_graphs(&scratch, "graph_id,y\na,high\nb,low\n"), &options)
    else {
        panic!("texts are no numbers")
    };
    assert_eq!((rows[0].place.line, rows[0].value.as_str()), (Some(2), "high"));
    assert!(rows[0].reason.contains("a number"), "{}", rows[0]);
}

#[test]
fn there_are_as_many_classes_as_there_are_names() {
    let scratch = Scratch::new("schema");
    let task = |task| ReadOptions { task: Some(task), ..ReadOptions::default() };
    let two = three_graphs(&scratch, "10\n20\n10\n");
    let error = said(&two, &task(Task::MultiClass { classes: 5 }));
    assert!(error.contains("the classes `10`, `20` (2 of them), expected 5 classes"), "{error}");
    assert_eq!(labels(&open(&two, &task(Task::MultiClass { classes: 2 })).unwrap()), [0.0, 1.0, 0.0]);
    let earlier = ReadOptions { rules: 4, ..task(Task::MultiClass { classes: 5 }) };
    assert_eq!(open(&two, &earlier).unwrap().dataset.schema.task, Task::MultiClass { classes: 5 });
    let three = three_graphs(&scratch, "10\n20\n30\n");
    let error = said(&three, &task(Task::Binary));
    assert!(error.contains("(3 of them), expected binary"), "{error}");
}

#[test]
fn a_class_that_is_not_known_is_shown_as_it_is_written() {
    let scratch = Scratch::new("schema");
    let train = two_graphs(&scratch, "graph_id,size\na,big\nb,small\n");
    let schema = open(&train, &ReadOptions::default()).unwrap().dataset.schema;
    let later = two_graphs(&scratch, "graph_id,size\na,small\nb,huge\n");
    let error = said(&later, &ReadOptions::with_schema(schema));
    assert!(error.contains("`huge`: not one of the classes `big`, `small`"), "{error}");
}

#[test]
fn a_target_that_is_not_there_is_an_error_that_names_those_that_are() {
    let scratch = Scratch::new("schema");
    let tables = two_graphs(&scratch, "graph_id,y\na,0.5\nb,1.5\n");
    let named = |names: &[&str]| ReadOptions {
        targets: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        ..ReadOptions::default()
    };
    for names in [&["foo"][..], &["y", "foo"]] {
        let error = said(&tables, &named(names));
        for piece in
            ["`foo`", "graphs.csv has graph_id, y", "nodes.csv has graph_id, node_id", "edges.csv has"]
        {
            assert!(error.contains(piece), "{error}");
        }
    }
    assert_eq!(labels(&open(&tables, &named(&["y"])).unwrap()), [0.5, 1.5]);
    let earlier = ReadOptions { rules: 4, ..named(&["y", "foo"]) };
    assert_eq!(open(&tables, &earlier).unwrap().dataset.schema.targets, ["y"]);
    // Where no column has a name, none can be asked for.
    let folders = edge_lists(&scratch, "folders", &["bad", "good"]);
    let graphs = scratch.write("a.g6", "DQc\n");
    for path in [&three_graphs(&scratch, "1\n2\n1\n"), &folders, &graphs] {
        let error = said(path, &named(&["y"]));
        assert!(error.contains("named"), "{error}");
        assert!(open(path, &ReadOptions { rules: 4, ..named(&["y"]) }).is_ok());
    }
}

#[test]
fn names_of_equal_numbers_have_one_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("names.jsonl");
    let names = ["1", "01", "2", "02", "3", "03", "003", "+3"];
    let row = |name: &&str| {
        format!("{{\"num_nodes\":1,\"edges\":[],\"node_features\":[[\"{name}\"]],\"target\":0.5}}\n")
    };
    std::fs::write(&path, names.iter().map(row).collect::<String>()).unwrap();
    // Every reading has a hash table of its own, and each of these its own order.
    for _ in 0..20 {
        let read = graphminnet_data::open(&path, &ReadOptions::default()).unwrap();
        let ColumnKind::Category { names, .. } = &read.dataset.schema.node_columns[0].kind else { panic!() };
        assert_eq!(*names, ["01", "1", "02", "2", "+3", "003", "03", "3"]);
    }
}

/// What reading says now, and whether a run of earlier rules reads the file.
fn refused(path: &Path, options: &ReadOptions) -> (String, bool) {
    let before = open(path, &ReadOptions { rules: 5, ..options.clone() });
    (said(path, &ReadOptions { rules: 6, ..options.clone() }), before.is_ok())
}

#[test]
fn a_level_that_targets_do_not_have_is_refused_in_every_format() {
    let scratch = Scratch::new("level");
    let at = |level| ReadOptions { level: Some(level), ..ReadOptions::default() };
    let lines = scratch.write(
        "l.jsonl",
        "{\"num_nodes\":3,\"edges\":[[0,1],[1,2]],\"target\":1.5}\n{\"num_nodes\":2,\"edges\":[],\"target\":2.5}\n",
    );
    for (level, expected) in
        [(Level::Node, "expected 3 at node level"), (Level::Edge, "expected 2 at edge level")]
    {
        let (error, is_read) = refused(&lines, &at(level));
        assert!(error.contains(expected) && is_read, "{error}");
    }
    // Nothing at all is no target of nodes or edges either.
    let bare = scratch.write("bare.jsonl", "{\"num_nodes\":2,\"edges\":[[0,1]]}\n");
    scratch.write("tables/nodes.csv", "node_id,label\n0,1\n1,0\n");
    scratch.write("tables/edges.csv", "source,destination,w\n0,1,0.5\n");
    let tables = scratch.path().join("tables");
    for (path, level) in [(&bare, Level::Node), (&bare, Level::Edge), (&tables, Level::Edge)] {
        let (error, is_read) = refused(path, &at(level));
        assert!(error.contains(&format!("no targets of {level}s")) && is_read, "{error}");
    }
    // Pairs may be asked about without a target, and whoever asks a model needs none.
    assert!(open(&bare, &at(Level::Pair)).is_ok());
    let nodes = r#"{"num_nodes":1,"edges":[],"node_target":[1.5]}"#;
    let schema = read("nodes.jsonl", nodes, &at(Level::Node)).unwrap().dataset.schema;
    assert_eq!(usable(&bare, &ReadOptions::with_schema(schema)), [true]);
}

#[test]
fn a_mask_that_is_no_list_is_refused() {
    for mask in ["\"0-29\"", "true", "{}", "1"] {
        for target in ["\"node_target\":[0,1]", "\"target\":1.5"] {
            let scratch = Scratch::new("mask");
            let line = format!("{{\"num_nodes\":2,\"edges\":[],{target},\"train_mask\":{mask}}}");
            let (error, is_read) = refused(&scratch.write("a.jsonl", line), &ReadOptions::default());
            assert!(error.contains("`train_mask`") && error.contains("a list with true or false"), "{error}");
            assert!(is_read, "{mask}");
        }
    }
    let line = r#"{"num_nodes":2,"edges":[],"node_target":[0,1],"train_mask":null,"test_mask":[true,false]}"#;
    let parts = read("a.jsonl", line, &ReadOptions::default()).unwrap().dataset.node_parts.unwrap();
    assert_eq!(parts.graph(0), [Some(Split::Test), None]);
}

#[test]
fn masks_with_several_columns_need_a_number() {
    let scratch = Scratch::new("masks");
    let mask = |cells: &str| {
        let line = format!("{{\"num_nodes\":2,\"edges\":[],\"node_target\":[0,1],\"train_mask\":{cells}}}");
        scratch.write("a.jsonl", line)
    };
    let path = mask("[[true,false],[false,true]]");
    let (error, is_read) = refused(&path, &ReadOptions::default());
    assert!(error.contains("2 masks side by side") && error.contains("--split-column 0"), "{error}");
    assert!(is_read);
    let parts = |path: &Path, column: Option<&str>| {
        let options = ReadOptions { split_column: column.map(str::to_owned), ..ReadOptions::default() };
        open(path, &options).unwrap().dataset.node_parts.unwrap().graph(0).to_vec()
    };
    assert_eq!(parts(&path, Some("0")), [Some(Split::Train), None]);
    assert_eq!(parts(&path, Some("1")), [None, Some(Split::Train)]);
    assert_eq!(parts(&mask("[[true],[false]]"), None), [Some(Split::Train), None]);
    // Whoever splits otherwise needs none.
    let otherwise = ReadOptions { ignore_split: true, ..ReadOptions::default() };
    assert_eq!(open(&path, &otherwise).unwrap().dataset.node_parts, None);
}

#[test]
fn large_numbers_in_a_column_of_text_stay_apart() {
    let line = r#"{"num_nodes":3,"edges":[],"x":[[9007199254740993],[9007199254740992],[7]],"target":1.5}"#;
    let names = |rules: u32| {
        let options =
            ReadOptions { text: vec!["node_feature_0".to_owned()], rules, ..ReadOptions::default() };
        let schema = read("a.jsonl", line, &options).unwrap().dataset.schema;
        let ColumnKind::Category { names, .. } = &schema.node_columns[0].kind else { panic!("{schema:?}") };
        names.clone()
    };
    assert_eq!(names(6), ["7", "9007199254740992", "9007199254740993"]);
    assert_eq!(names(5), ["7", "9007199254740992"]);
}

#[test]
fn targets_of_a_csv_folder_have_the_order_in_which_they_are_asked_for() {
    let scratch = Scratch::new("order");
    let graphs = |header: &str, rows: [&str; 2]| {
        let [first, second] = rows;
        two_graphs(&scratch, &format!("graph_id,{header}\na,{first}\nb,{second}\n"))
    };
    let asked = |names: &[&str], rules: u32| ReadOptions {
        targets: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        rules,
        ..ReadOptions::default()
    };
    let path = graphs("big,small", ["1000.5,0.1", "1001.5,0.2"]);
    let found = open(&path, &asked(&["small", "big"], 6)).unwrap();
    assert_eq!(found.dataset.schema.targets, ["small", "big"]);
    assert_eq!(labels(&found), [0.1, 1000.5, 0.2, 1001.5]);
    // A run of an earlier version goes on in the order of the file.
    let before = open(&path, &asked(&["small", "big"], 5)).unwrap();
    assert_eq!(before.dataset.schema.targets, ["big", "small"]);
    assert_eq!(labels(&before), [1000.5, 0.1, 1001.5, 0.2]);
    // A model knows its targets by name; one that is not there is missing in every graph.
    let model = ReadOptions::with_schema(found.dataset.schema);
    assert_eq!(labels(&open(&path, &model).unwrap()), [0.1, 1000.5, 0.2, 1001.5]);
    let without = open(&graphs("big,other", ["1000.5,7", "1001.5,8"]), &model).unwrap();
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&labels(&without)), bits(&[f32::NAN, 1000.5, f32::NAN, 1001.5]));
}

#[test]
fn a_graph_with_every_edge_in_both_directions_is_not_read_both_ways_again() {
    let scratch = Scratch::new("directions");
    let line = |edges: &str| format!("{{\"num_nodes\":3,\"edges\":{edges},\"target\":1.5}}\n");
    let both = ReadOptions { edges: Some(EdgeDirection::BothWays), ..ReadOptions::default() };
    let twice = scratch.write("twice.jsonl", line("[[0,1],[1,2],[2,2],[2,1],[1,0],[0,2],[2,0]]"));
    let (error, is_read) = refused(&twice, &both);
    assert!(
        error.contains("every edge is listed in both directions") && error.contains("as-given"),
        "{error}"
    );
    assert!(is_read);
    // Some of them may be meant, and are said.
    let some = scratch.write("some.jsonl", line("[[0,1],[1,2],[2,1]]"));
    // Of directed graphs a small one may have its only edges both ways.
    let small = scratch.write("small.jsonl", line("[[0,1],[1,0]]") + &line("[[0,1],[1,2]]"));
    assert!(open(&small, &both).is_ok());
    let notes = open(&some, &both).unwrap().report.notes;
    assert!(
        notes.iter().any(|note| note.contains("2 of 3 edges are listed in both directions")),
        "{notes:?}"
    );
    let once = scratch.write("once.jsonl", line("[[0,1],[1,2],[2,2]]"));
    let found = open(&once, &both).unwrap();
    assert!(found.report.notes.is_empty(), "{found:?}");
    assert!(open(&twice, &ReadOptions::default()).is_ok());
    // A model that reads edges both ways does so whatever it is given.
    let model = ReadOptions { edges: both.edges, ..ReadOptions::with_schema(found.dataset.schema) };
    for (path, are_usable) in
        [(&twice, &[false][..]), (&some, &[true]), (&small, &[true, true]), (&once, &[true])]
    {
        assert_eq!(usable(path, &model), are_usable);
    }
}

#[test]
fn a_missing_word_at_the_top_does_not_make_numbers_text() {
    let scratch = Scratch::new("gaps");
    scratch.write("t/edges.csv", "graph_id,source,destination\na,0,1\nb,0,1\n");
    scratch.write("t/graphs.csv", "graph_id,y\na,1\nb,2\n");
    let folder = scratch.path().join("t");
    let read = |cells: [&str; 4], options: &ReadOptions| {
        let rows = ["a,0", "a,1", "b,0", "b,1"].iter().zip(cells);
        let rows: String = rows.map(|(row, cell)| format!("{row},{cell}\n")).collect();
        scratch.write("t/nodes.csv", format!("graph_id,node_id,size\n{rows}"));
        open(&folder, options)
    };
    let numbers = ["NA", "1.5", "2.5", "-3"];
    let error = read(numbers, &ReadOptions::default()).unwrap_err().to_string();
    for piece in ["nodes.csv, line 2, column `size`", "`NA`", "--text size"] {
        assert!(error.contains(piece), "{error}");
    }
    let vocabulary =
        |read: Result<graphminnet_data::Read, DataError>| read.unwrap().dataset.schema.node_vocabulary();
    let by_request = ReadOptions { text: vec!["size".to_owned()], ..ReadOptions::default() };
    assert_eq!(vocabulary(read(numbers, &by_request)), [4]);
    assert_eq!(vocabulary(read(numbers, &ReadOptions { rules: 6, ..ReadOptions::default() })), [4]);
    assert_eq!(vocabulary(read(["NA", "small", "1", "NA"], &ReadOptions::default())), [3]);
    let lines = "{\"num_nodes\":2,\"edges\":[],\"x\":[[1,\"NA\"],[1,2.5]],\"y\":1}";
    let error = self::read("a.jsonl", lines, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("a.jsonl, line 1, column `node_feature_1`: `NA` among numbers"), "{error}");
}

#[test]
fn a_whole_number_that_did_not_come_up_is_no_category() {
    let scratch = Scratch::new("seen");
    let lines = |categories: &[u32]| -> String {
        let line = |category| format!("{{\"num_nodes\":1,\"edges\":[],\"x\":[[{category}]],\"y\":1}}\n");
        categories.iter().map(line).collect()
    };
    let trained = scratch.write("trained.jsonl", lines(&[3, 12, 3]));
    let read = open(&trained, &ReadOptions::default()).unwrap();
    let schema = read.dataset.schema;
    assert_eq!(
        (schema.node_vocabulary(), schema.node_columns[0].seen.as_deref()),
        (vec![13], Some(&[3, 12][..]))
    );
    assert!(read.report.inferred[0].contains("(categorical, 2 values)"), "{:?}", read.report.inferred);
    let asked = scratch.write("asked.jsonl", lines(&[12, 5, 13]));
    let rows =
        |schema| RowReader::open(&asked, &ReadOptions::with_schema(schema)).unwrap().next_rows(9).unwrap();
    let reasons: Vec<String> =
        rows(schema).into_iter().filter_map(|row| row.graph.err()).map(|bad| bad.to_string()).collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(reasons[0].ends_with("`5`: not among the 2 categories of training"), "{reasons:?}");
    assert!(reasons[1].ends_with("`13`: not a category from 0 to 12"), "{reasons:?}");
    let one = scratch.write("one.jsonl", lines(&[3, 3]));
    let only = rows(open(&one, &ReadOptions::default()).unwrap().dataset.schema).remove(1).graph.unwrap_err();
    assert!(only.to_string().ends_with("not a category from 0 to 3"), "{only}");
    let two = scratch.write("two.jsonl", lines(&[2]));
    let schema = open(&one, &ReadOptions::default()).unwrap().dataset.schema;
    let said = RowReader::open(&two, &ReadOptions::with_schema(schema)).unwrap().next_rows(9).unwrap();
    assert_eq!(said[0].graph.as_ref().unwrap_err().reason, "not 3, the only category of training");
    // A model of an earlier version does not know, and one that saw all needs no list.
    let earlier = open(&trained, &ReadOptions { rules: 6, ..ReadOptions::default() }).unwrap().dataset.schema;
    assert!(earlier.node_columns[0].seen.is_none());
    assert_eq!(rows(earlier).iter().filter(|row| row.graph.is_ok()).count(), 2);
    let all = scratch.write("all.jsonl", lines(&[1, 0, 2]));
    assert!(open(&all, &ReadOptions::default()).unwrap().dataset.schema.node_columns[0].seen.is_none());
}

#[test]
fn numbers_that_lose_digits_are_named() {
    let file = |first: f64, step: f64| -> String {
        let number = |row: u32| first + step * f64::from(row);
        let line = |row| {
            let [x, y] = [number(row), number(row)];
            format!("{{\"num_nodes\":1,\"edges\":[],\"x\":[[{x:?}]],\"y\":{y:?}}}\n")
        };
        (0..20).map(line).collect()
    };
    let notes = |content: &str| read("a.jsonl", content, &ReadOptions::default()).unwrap().report.notes;
    let notes_on_times = notes(&file(1.7e9, 1.0));
    assert_eq!(notes_on_times.len(), 2, "{notes_on_times:?}");
    for (note, column) in notes_on_times.iter().zip(["node_feature_0", "target"]) {
        assert!(note.starts_with(&format!("`{column}` loses digits")), "{note}");
    }
    assert_eq!(notes(&file(1e6, 1e-4)).len(), 2);
    assert_eq!(notes(&file(1e6, 100.0)), [""; 0]);
    assert_eq!(notes(&file(0.1, 0.1)), [""; 0]);
}

#[test]
fn graphs_without_nodes_are_counted() {
    let scratch = Scratch::new("empty");
    let folder = two_graphs(&scratch, "graph_id,y\na,0.5\nb,1.5\nc,3\nd,1\n");
    let read = open(&folder, &ReadOptions::default()).unwrap();
    assert_eq!(read.report.notes, ["2 graphs without nodes; the first is `c`"]);
    assert_eq!(graphminnet_data::statistics(&read.dataset).nodeless_graphs, 2);
}

#[test]
fn parts_of_graphs_beside_those_of_nodes_are_named() {
    let scratch = Scratch::new("both-parts");
    let folder = two_graphs(&scratch, "graph_id,split\na,train\nb,test\n");
    scratch.write(
        "tables/nodes.csv",
        "graph_id,node_id,target,split\na,0,0,train\na,1,1,test\nb,0,1,valid\nb,1,0,train\n",
    );
    let notes = open(&folder, &ReadOptions::default()).unwrap().report.notes;
    assert!(notes.iter().any(|note| note.contains("those of nodes count")), "{notes:?}");
}
