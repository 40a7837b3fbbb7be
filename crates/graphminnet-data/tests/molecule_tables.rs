//! Tables of molecules as people write them: split columns, missing labels, classes, headers, separators.

mod common;

use common::Scratch;
use graphminnet_data::{DataError, OnBadRow, Read, ReadOptions, Split, Task, open};

fn read(content: &str, options: &ReadOptions) -> Result<Read, DataError> {
    let scratch = Scratch::new("tables");
    open(&scratch.write("a.csv", content), options)
}

fn targets(read: &Read) -> Vec<f32> {
    read.dataset.samples.iter().flat_map(|sample| sample.targets.clone()).collect()
}

const PARTLY_SPLIT: &str = "smiles,y,part\nC,0.5,train\nCC,1.5,\nCCC,2.5,valid\nCCCC,3.5,test\n";

#[test]
fn a_row_without_a_part_is_a_bad_row_and_the_policy_decides() {
    let with = |on_bad_row| ReadOptions {
        split_column: Some("part".to_owned()),
        on_bad_row,
        targets: Some(vec!["y".to_owned()]),
        ..ReadOptions::default()
    };
    let Err(DataError::BadRows { rows, total: 1 }) = read(PARTLY_SPLIT, &with(OnBadRow::Error)) else {
        panic!("the blank cell must be an error");
    };
    assert_eq!((rows[0].place.line, rows[0].place.column.as_deref()), (Some(3), Some("part")));
    assert!(rows[0].reason.contains("names no part"), "{}", rows[0]);
    let skipped = read(PARTLY_SPLIT, &with(OnBadRow::Skip)).unwrap();
    assert_eq!(skipped.dataset.official_split, Some(vec![Split::Train, Split::Valid, Split::Test]));
    assert_eq!(targets(&skipped), [0.5, 2.5, 3.5]);
    let kept = read(PARTLY_SPLIT, &with(OnBadRow::Null)).unwrap();
    assert_eq!(kept.report.rows, [Some(0), None, Some(1), Some(2)]);
}

#[test]
fn parts_that_do_not_matter_may_be_blank() {
    let options =
        ReadOptions { split_column: Some("part".to_owned()), ignore_split: true, ..ReadOptions::default() };
    let found = read(PARTLY_SPLIT, &options).unwrap();
    assert_eq!((found.dataset.samples.len(), found.dataset.official_split), (4, None));
}

#[test]
fn a_split_column_that_names_no_part_at_all_is_an_error() {
    let options = ReadOptions { split_column: Some("part".to_owned()), ..ReadOptions::default() };
    let error = read("smiles,y,part\nC,0.5,\nCC,1.5,\n", &options).unwrap_err().to_string();
    assert!(error.contains("column `part`") && error.contains("no part in any row"), "{error}");
}

#[test]
fn parts_are_named_in_any_case_and_in_full() {
    let content = "smiles,y,split\nC,0.5,Train\nCC,1.5,VALIDATION\nCCC,2.5,TEST\nCCCC,3.5,Training\n";
    let found = read(content, &ReadOptions::default()).unwrap();
    let parts = [Split::Train, Split::Valid, Split::Test, Split::Train];
    assert_eq!(found.dataset.official_split, Some(parts.to_vec()));
    let error = read(
        "smiles,y,part\nC,1,Trian\n",
        &ReadOptions { split_column: Some("part".to_owned()), ..ReadOptions::default() },
    );
    let error = error.unwrap_err().to_string();
    assert!(error.contains("column `part`: `Trian`"), "{error}");
}

#[test]
fn words_for_no_value_are_missing_labels_and_it_is_said_once() {
    for word in ["NA", "NaN", "nan", "null", "None", "-", "N/A", "#N/A", ""] {
        let content = format!("smiles,y\nC,0.5\nCC,{word}\nCCC,2.5\nCCCC,{word}\n");
        let found = read(&content, &ReadOptions::default()).unwrap();
        let targets = targets(&found);
        assert_eq!((targets[0], targets[2]), (0.5, 2.5), "{word}");
        assert!(targets[1].is_nan() && targets[3].is_nan(), "{word}");
        let notes = found.report.notes.iter().filter(|note| note.contains("missing label")).count();
        assert_eq!(notes, usize::from(!word.is_empty()), "{word}: {:?}", found.report.notes);
    }
}

#[test]
fn a_word_for_no_value_is_a_class_where_the_column_is_text_by_request() {
    let content = "smiles,grade\nC,none\nCC,mild\nCCC,none\n";
    let named = |text: &[&str]| ReadOptions {
        targets: Some(vec!["grade".to_owned()]),
        text: text.iter().map(|&name| name.to_owned()).collect(),
        ..ReadOptions::default()
    };
    let found = read(content, &named(&["grade"])).unwrap();
    assert_eq!(found.dataset.schema.class_names, ["mild", "none"]);
    // The model that comes of it reads the word in the same way.
    let again = read(content, &ReadOptions::with_schema(found.dataset.schema)).unwrap();
    assert_eq!(targets(&again), [1.0, 0.0, 1.0]);
    let missing = read(content, &named(&[])).unwrap();
    assert_eq!(missing.dataset.schema.class_names, ["mild"]);
}

#[test]
fn a_column_without_any_value_is_no_target() {
    let found = read("smiles,y,z\nC,0.5,\nCC,1.5,NA\n", &ReadOptions::default()).unwrap();
    assert_eq!(found.dataset.schema.targets, ["y"]);
    assert!(
        found.report.notes.iter().any(|note| note.contains("`z` has no values")),
        "{:?}",
        found.report.notes
    );
}

#[test]
fn classes_are_the_integers_that_occur_where_they_do_not_begin_with_zero() {
    let classes = |values: &[&str], options: &ReadOptions| {
        let rows: String = values.iter().map(|value| format!("C,{value}\n")).collect();
        let found = read(&format!("smiles,y\n{rows}"), options).unwrap();
        let (targets, notes) = (targets(&found), found.report.notes.join("; "));
        (found.dataset.schema, targets, notes)
    };
    let default = ReadOptions::default();
    let (schema, labels, notes) = classes(&["1", "2", "2", "1"], &default);
    assert_eq!(
        (schema.task, schema.class_names.as_slice()),
        (Task::Binary, &["1".to_owned(), "2".to_owned()][..])
    );
    assert_eq!(labels, [0.0, 1.0, 1.0, 0.0]);
    assert!(notes.contains("the classes of `y` are the numbers 1, 2"), "{notes}");
    // The frozen schema reads them in the same way, and nothing else.
    let frozen = ReadOptions::with_schema(schema);
    assert_eq!(classes(&["2", "1"], &frozen).1, [1.0, 0.0]);
    assert!(read("smiles,y\nC,0\n", &frozen).is_err());

    let (schema, labels, _) = classes(&["3", "1", "2", "3"], &default);
    assert_eq!(
        (schema.task, labels.as_slice()),
        (Task::MultiClass { classes: 3 }, &[2.0, 0.0, 1.0, 2.0][..])
    );
    let (schema, labels, _) = classes(&["-1", "1", "-1"], &default);
    assert_eq!((schema.task, labels.as_slice()), (Task::Binary, &[0.0, 1.0, 0.0][..]));
    // Numbers of classes stay what they are, also where one of them does not occur.
    let (schema, labels, notes) = classes(&["0", "1", "3"], &default);
    assert_eq!((schema.task, labels.as_slice()), (Task::MultiClass { classes: 4 }, &[0.0, 1.0, 3.0][..]));
    assert!(schema.class_names.is_empty() && notes.is_empty(), "{notes}");
    let told = ReadOptions { task: Some(Task::Regression), ..ReadOptions::default() };
    assert_eq!(classes(&["1", "2"], &told).1, [1.0, 2.0]);
}

#[test]
fn of_two_classes_the_one_that_says_yes_is_positive() {
    for (first, second, positive) in [
        ("active", "inactive", "active"),
        ("Yes", "no", "Yes"),
        ("TRUE", "FALSE", "TRUE"),
        ("toxic", "safe", "toxic"),
        ("positive", "negative", "positive"),
        ("-1", "1", "1"),
        ("1", "2", "2"),
        ("mutagen", "clean", "mutagen"),
        ("good", "bad", "good"),
    ] {
        let options = ReadOptions { targets: Some(vec!["label".to_owned()]), ..ReadOptions::default() };
        let content = format!("smiles,label\nC,{first}\nCC,{second}\nCCC,{first}\n");
        let found = read(&content, &options).unwrap();
        let schema = &found.dataset.schema;
        assert_eq!(schema.task, Task::Binary, "{first}");
        assert_eq!(schema.positive_class.as_deref(), Some(positive), "{first}, {second}");
        assert_eq!(schema.class_names[1], positive);
        let expected = f32::from(u8::from(first == positive));
        assert_eq!(targets(&found), [expected, 1.0 - expected, expected]);
        let notes = found.report.notes.join("; ");
        assert!(notes.contains(&format!("`{positive}` is the positive class of `label`")), "{notes}");
        assert_eq!(notes.contains("by the alphabet"), ["mutagen", "good"].contains(&positive), "{notes}");
    }
}

#[test]
fn the_positive_class_can_be_chosen_and_must_be_one_of_two() {
    let options = |positive: &str| ReadOptions {
        targets: Some(vec!["label".to_owned()]),
        positive_class: Some(positive.to_owned()),
        ..ReadOptions::default()
    };
    let table =
        |labels: [&str; 3]| format!("smiles,label\nC,{}\nCC,{}\nCCC,{}\n", labels[0], labels[1], labels[2]);
    let found = read(&table(["active", "inactive", "active"]), &options("inactive")).unwrap();
    assert_eq!(found.dataset.schema.class_names, ["active", "inactive"]);
    assert_eq!(targets(&found), [0.0, 1.0, 0.0]);
    let found = read(&table(["0", "1", "1"]), &options("0")).unwrap();
    assert_eq!((found.dataset.schema.task, targets(&found)), (Task::Binary, vec![1.0, 0.0, 0.0]));
    for (labels, positive, piece) in [
        (["a", "b", "a"], "c", "not one of the classes `a`, `b`"),
        (["a", "b", "c"], "a", "no meaning among the 3 classes"),
        (["0.5", "1.5", "2"], "1", "takes one target column with two classes"),
    ] {
        let error = read(&table(labels), &options(positive)).unwrap_err().to_string();
        assert!(error.contains(piece), "{error}");
    }
}

#[test]
fn the_column_of_the_molecules_is_kept_and_missing_is_an_error() {
    let train = "name,structure,y\nC11,CCO,0.5\nC12,CCN,1.5\n";
    let named = ReadOptions {
        smiles_column: Some("structure".to_owned()),
        targets: Some(vec!["y".to_owned()]),
        ..ReadOptions::default()
    };
    let schema = read(train, &named).unwrap().dataset.schema;
    let options = ReadOptions::with_schema(schema);
    // Another order, another case: still the molecules.
    let found = read("Structure,name\nCCO,C11\n", &options).unwrap();
    assert_eq!(found.dataset.samples[0].graph.num_nodes(), 3);
    let error = read("name,y\nC11,0.5\n", &options).unwrap_err().to_string();
    assert!(error.contains("`structure`") && error.contains("name, y"), "{error}");
    let rows = graphminnet_data::RowReader::from_stream(
        Box::new("id,mol\nC,CCO\n".as_bytes()),
        "input",
        &ReadOptions { format: Some(graphminnet_data::formats::Format::SmilesCsv), ..options },
    );
    let error = rows.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("`structure`"), "{error}");
}

#[test]
fn options_of_earlier_versions_read_as_those_did() {
    let earlier: ReadOptions = serde_json::from_str(r#"{"targets": ["label"]}"#).unwrap();
    assert_eq!(earlier.rules, 1);
    let found = read("smiles,label\nC,active\nCC,inactive\n", &earlier).unwrap();
    assert_eq!((found.dataset.schema.class_names[1].as_str(), targets(&found)), ("inactive", vec![0.0, 1.0]));
    assert_eq!(found.dataset.schema.positive_class, None);
    let found = read("smiles,label\nC,1\nCC,2\n", &earlier).unwrap();
    assert_eq!(found.dataset.schema.task, Task::MultiClass { classes: 3 });
    assert!(read("smiles,label\nC,1\nCC,NA\n", &earlier).is_err());
    assert_eq!(ReadOptions::default().rules, graphminnet_data::RULES);
}
