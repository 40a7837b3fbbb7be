//! Targets of JSON Lines by name, and the names of lines that cannot be used.

mod common;

use common::Scratch;
use graphminnet_data::{DataError, Level, OnBadRow, Read, ReadOptions, RowReader, Schema, open};

fn asked(names: &[&str]) -> ReadOptions {
    let targets = Some(names.iter().map(|name| (*name).to_owned()).collect());
    ReadOptions { targets, rules: 5, ..ReadOptions::default() }
}

fn with(schema: &Schema) -> ReadOptions {
    ReadOptions { rules: 5, ..ReadOptions::with_schema(schema.clone()) }
}

/// Graphs of three nodes with these fields.
fn lines(fields: &[&str]) -> String {
    fields.iter().map(|fields| format!("{{\"num_nodes\":3,\"edges\":[[0,1],[1,2]],{fields}}}\n")).collect()
}

fn read(fields: &[&str], options: &ReadOptions) -> Result<Read, DataError> {
    let scratch = Scratch::new("jsonl-targets");
    open(&scratch.write("a.jsonl", lines(fields)), options)
}

/// The targets of all graphs; `None` is missing.
fn targets(read: &Read) -> Vec<Option<f32>> {
    let all = read.dataset.samples.iter().flat_map(|sample| &sample.targets);
    all.map(|value| (!value.is_nan()).then_some(*value)).collect()
}

fn error(fields: &[&str], options: &ReadOptions) -> String {
    read(fields, options).unwrap_err().to_string()
}

const TWO: [&str; 2] = [r#""target":3.5,"logP":1000.4,"mass":18"#, r#""target":4.5,"logP":1001.5,"mass":19"#];

#[test]
fn a_field_of_the_name_is_the_target() {
    let found = read(&TWO, &asked(&["logP"])).unwrap();
    assert_eq!(found.dataset.schema.targets, ["logP"]);
    assert_eq!(targets(&found), [Some(1000.4), Some(1001.5)]);
    let notes = found.report.notes.join("\n");
    assert!(
        notes.contains("the targets are those of `logP`") && !notes.contains("ignored: `logP`"),
        "{notes}"
    );
    let several = read(&TWO, &asked(&["mass", "target", "logP"])).unwrap();
    assert_eq!(several.dataset.schema.targets, ["mass", "target", "logP"]);
    assert_eq!(targets(&several)[..3], [Some(18.0), Some(3.5), Some(1000.4)]);
    // Text is classes, as that of `target` is, and a field may be missing or null.
    let classes =
        read(&[r#""kind":"a""#, r#""kind":"b""#, r#""kind":null"#, r#""id":"d""#], &asked(&["kind"]));
    let classes = classes.unwrap();
    assert_eq!(classes.dataset.schema.class_names, ["a", "b"]);
    assert_eq!(targets(&classes), [Some(0.0), Some(1.0), None, None]);
    // Of two usual fields the one that was asked for.
    for fields in [r#""y":1.5,"target":2.5"#, r#""target":2.5,"y":1.5"#] {
        assert_eq!(targets(&read(&[fields], &asked(&["y"])).unwrap()), [Some(1.5)]);
        assert_eq!(targets(&read(&[fields], &asked(&["target"])).unwrap()), [Some(2.5)]);
    }
    let both = [r#""target":2.5,"node_target":[1,0,1]"#];
    assert_eq!(targets(&read(&both, &asked(&["target"])).unwrap()), [Some(2.5)]);
    assert_eq!(targets(&read(&both, &asked(&["node_target"])).unwrap()).len(), 3);
}

#[test]
fn earlier_rules_only_rename() {
    let earlier = ReadOptions { rules: 4, ..asked(&["logP"]) };
    let found = read(&TWO, &earlier).unwrap();
    assert_eq!(
        (found.dataset.schema.targets.as_slice(), targets(&found)[0]),
        (&["logP".to_owned()][..], Some(3.5))
    );
    let earlier = ReadOptions { rules: 4, ..asked(&["target_1"]) };
    assert_eq!(targets(&read(&[r#""target":[1.5,2.5]"#], &earlier).unwrap()).len(), 2);
}

#[test]
fn names_choose_among_several_targets_or_name_them_all() {
    let list = [r#""target":[1.5,2.5,3.5]"#, r#""target":[4.5,null,6.5]"#];
    let one = read(&list, &asked(&["target_1"])).unwrap();
    assert_eq!(
        (one.dataset.schema.targets.as_slice(), targets(&one)),
        (&["target_1".to_owned()][..], vec![Some(2.5), None])
    );
    let two = read(&list, &asked(&["target_2", "target_0"])).unwrap();
    assert_eq!(targets(&two), [Some(3.5), Some(1.5), Some(6.5), Some(4.5)]);
    let named = read(&list, &asked(&["a", "b", "c"])).unwrap();
    assert_eq!((named.dataset.schema.targets.len(), targets(&named).len()), (3, 6));
    assert_eq!(read(&[TWO[0]], &asked(&["boiling"])).unwrap().dataset.schema.targets, ["boiling"]);
    // Of nodes as well.
    let nodes = [r#""node_target":[[1.5,2.5],[3.5,4.5],[5.5,6.5]]"#];
    assert_eq!(targets(&read(&nodes, &asked(&["target_1"])).unwrap()), [Some(2.5), Some(4.5), Some(6.5)]);
}

#[test]
fn lists_of_named_fields_are_targets_of_nodes() {
    let fields = [r#""charge":[0.5,1.5,2.5],"spin":[1.5,null,2.5]"#, r#""charge":[3.5,4.5,5.5],"spin":null"#];
    let found = read(&fields, &asked(&["spin", "charge"])).unwrap();
    assert_eq!(found.dataset.schema.level, Level::Node);
    assert_eq!(targets(&found)[..6], [Some(1.5), Some(0.5), None, Some(1.5), Some(2.5), Some(2.5)]);
    assert_eq!(targets(&found)[6..8], [None, Some(3.5)]);
    let edges = ReadOptions { level: Some(Level::Edge), ..asked(&["order"]) };
    assert_eq!(targets(&read(&[r#""order":[1.5,2.5]"#], &edges).unwrap()), [Some(1.5), Some(2.5)]);
    let wrong = error(&[r#""charge":[0.5,1.5]"#], &asked(&["charge"]));
    assert!(wrong.contains("column `charge`") && wrong.contains("each of the 3 nodes"), "{wrong}");
}

#[test]
fn names_that_fit_nothing_are_refused_with_what_there_is() {
    let list = [r#""target":[1.5,2.5],"mass":18"#];
    let found = error(&list, &asked(&["logP"]));
    assert!(found.contains("`logP`") && found.contains("`target_0`, `target_1`"), "{found}");
    assert!(found.contains("`mass`") && !found.contains("bad row"), "{found}");
    let partly = error(&TWO, &asked(&["logP", "boiling"]));
    assert!(
        partly.contains("`boiling`") && !partly.contains("name: `logP`") && partly.contains("`mass`"),
        "{partly}"
    );
    let nothing = error(&[r#""mass":18"#], &asked(&["logP"]));
    assert!(nothing.contains("`logP`") && nothing.contains("`mass`"), "{nothing}");
    let late = error(&[r#""target":1.5"#, r#""target":2.5,"logP":3.5"#], &asked(&["logP"]));
    assert!(late.contains("line 2, column `logP`") && late.contains("null"), "{late}");
    for name in ["num_nodes", "x"] {
        let structure = error(&TWO, &asked(&[name]));
        assert!(structure.contains(name) && structure.contains("cannot be a target"), "{structure}");
    }
    // A model may have such a name from a table, and the field is still what it says.
    let mut schema = read(&TWO, &asked(&["logP"])).unwrap().dataset.schema;
    schema.targets = vec!["x".to_owned()];
    schema.node_columns =
        read(&[r#""x":[0.5,1.5,2.5]"#], &ReadOptions::default()).unwrap().dataset.schema.node_columns;
    assert_eq!(targets(&read(&[r#""x":[0.5,1.5,2.5],"target":7.5"#], &with(&schema)).unwrap()), [Some(7.5)]);
}

#[test]
fn a_model_finds_the_field_that_it_was_trained_on() {
    let schema = read(&TWO, &asked(&["logP"])).unwrap().dataset.schema;
    assert_eq!(targets(&read(&TWO, &with(&schema)).unwrap()), [Some(1000.4), Some(1001.5)]);
    // Where no line has it, the name was a label of `target`.
    assert_eq!(targets(&read(&[r#""target":2.5"#], &with(&schema)).unwrap()), [Some(2.5)]);
    let list = [r#""target":[1.5,2.5,3.5]"#];
    let chosen = read(&list, &asked(&["target_1"])).unwrap().dataset.schema;
    assert_eq!(targets(&read(&list, &with(&chosen)).unwrap()), [Some(2.5)]);
    let refused = error(&list, &with(&schema));
    assert!(refused.contains("the model has targets that are not here: `logP`"), "{refused}");
    // A model of nodes calls its targets `target`, whichever field has them.
    let nodes = [r#""node_target":[1.5,2.5,3.5],"target":9.5"#];
    let plain = ReadOptions { rules: 5, ..ReadOptions::default() };
    let schema = read(&nodes, &plain).unwrap().dataset.schema;
    assert_eq!(targets(&read(&nodes, &with(&schema)).unwrap()), [Some(1.5), Some(2.5), Some(3.5)]);
}

#[test]
fn prediction_looks_at_no_targets() {
    let scratch = Scratch::new("jsonl-targets");
    let schema = read(&TWO, &asked(&["logP"])).unwrap().dataset.schema;
    let path = scratch.write("new.jsonl", lines(&[r#""target":{"any":[1]}"#, r#""logP":"?","id":"b""#]));
    let mut rows = RowReader::open(&path, &with(&schema)).unwrap();
    let rows = rows.next_rows(10).unwrap();
    assert_eq!(rows.len(), 2);
    assert!(rows[1].graph.is_ok());
}

#[test]
fn a_row_that_cannot_be_used_keeps_its_id() {
    let scratch = Scratch::new("jsonl-ids");
    let good = r#"{"id":"1","num_nodes":1,"edges":[],"node_features":[["C"]],"target":1.5}"#;
    let schema = open(&scratch.write("a.jsonl", good), &ReadOptions::default()).unwrap().dataset.schema;
    let bad = [
        // Wrong before the id, after it, in what it holds, as an unseen category, and without an id.
        r#"{"num_nodes":-1,"id":"first","edges":[]}"#,
        r#"{"id":"second","num_nodes":1,"edges":[[0,1"#,
        r#"{"edges":[[0,7]],"num_nodes":1,"node_features":[["C"]],"id":3}"#,
        r#"{"id":"fourth","num_nodes":1,"edges":[],"node_features":[["Xe"]]}"#,
        r#"{"num_nodes":1}"#,
    ];
    let text = format!("{good}\n{}\n", bad.join("\n"));
    let path = scratch.write("b.jsonl", text);
    let mut reader = RowReader::open(&path, &ReadOptions::with_schema(schema.clone())).unwrap();
    let rows = reader.next_rows(10).unwrap();
    assert!(rows.iter().skip(1).all(|row| row.graph.is_err()));
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["1", "first", "second", "3", "fourth", "5"]);
    let skipping = ReadOptions { on_bad_row: OnBadRow::Skip, ..ReadOptions::with_schema(schema) };
    let found = open(&path, &skipping).unwrap().report.bad_rows;
    let ids: Vec<Option<&str>> = found.iter().map(|row| row.id.as_deref()).collect();
    assert_eq!(ids[..4], ["first", "second", "3", "fourth"].map(Some));
}

#[test]
fn a_misspelt_name_is_none_for_the_usual_target() {
    let now = |names: &[&str]| ReadOptions { rules: graphminnet_data::RULES, ..asked(names) };
    let fields = [r#""target":3.5,"cls":1,"two":2"#, r#""target":4.5,"cls":0,"two":2"#];
    let said = error(&fields, &now(&["clss"]));
    assert!(said.contains("the name `clss`; did you mean `cls`?"), "{said}");
    assert_eq!(targets(&read(&fields, &asked(&["clss"])).unwrap()), [Some(3.5), Some(4.5)]);
    let renamed = read(&fields, &now(&["gap"])).unwrap();
    assert_eq!(renamed.dataset.schema.targets, ["gap"]);
    let note = "no line has the field `gap`: the targets in `target` (or `y`) get this name";
    assert!(renamed.report.notes.iter().any(|said| said == note), "{:?}", renamed.report.notes);
}

#[test]
fn a_list_in_y_is_one_target_as_in_a_field_of_any_other_name() {
    let line = |field: &str| {
        format!(r#""{field}":[0,1,1],"train_mask":[true,false,false],"test_mask":[false,true,true]"#)
    };
    let of = |field: &str| {
        read(&[&line(field)], &ReadOptions { rules: graphminnet_data::RULES, ..asked(&[field]) })
    };
    for field in ["lab", "y", "target"] {
        let read = of(field).unwrap();
        assert_eq!(
            (read.dataset.schema.level, targets(&read)),
            (Level::Node, vec![Some(0.0), Some(1.0), Some(1.0)])
        );
    }
}
