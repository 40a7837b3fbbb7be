//! Cells such as `>3.5` in target columns of tables of molecules, and texts such as `">3.5"` in JSON Lines.

mod common;

use common::Scratch;
use graphminnet_data::{Bound, DataError, OnBadRow, Read, ReadOptions, Side, Task, open};

fn read(content: &str, options: &ReadOptions) -> Result<Read, DataError> {
    let scratch = Scratch::new("bounds");
    open(&scratch.write("a.csv", content), options)
}

fn labels(read: &Read) -> Vec<Option<f32>> {
    let labels = read.dataset.samples.iter().flat_map(|sample| sample.targets.clone());
    labels.map(|label| (!label.is_nan()).then_some(label)).collect()
}

fn targets(names: &[&str]) -> ReadOptions {
    let targets = Some(names.iter().map(|name| (*name).to_owned()).collect());
    ReadOptions { targets, ..ReadOptions::default() }
}

const TABLE: &str = "smiles,y\nC,1\nCC,>3\nCCC,<= -2\nCCCC,\nCCCCC,2\nCCCCCC,≥4\n";

#[test]
fn a_bound_is_a_missing_label_of_which_something_is_known_and_it_is_said() {
    for options in [ReadOptions::default(), targets(&["y"])] {
        let read = read(TABLE, &options).unwrap();
        assert_eq!(read.dataset.schema.task, Task::Regression, "integers and bounds are no classes");
        assert_eq!(labels(&read), [Some(1.0), None, None, None, Some(2.0), None]);
        let bound = |value: f32, side| vec![Bound { place: 0, value, side }];
        let expected = [
            vec![],
            bound(3.0, Side::AtLeast),
            bound(-2.0, Side::AtMost),
            vec![],
            vec![],
            bound(4.0, Side::AtLeast),
        ];
        assert_eq!(read.dataset.qualifiers.bounds, expected);
        let notes = read.report.notes.join("\n");
        assert!(notes.contains("3 of the 5 labels of `y` are bounds, such as >3"), "{notes}");
    }
    let plain = read("smiles,y\nC,1.5\nCC,2.5\n", &ReadOptions::default()).unwrap();
    assert!(plain.dataset.qualifiers.bounds.is_empty() && plain.report.notes.is_empty());
}

#[test]
fn a_bound_may_have_a_decimal_comma_where_columns_have_semicolons() {
    let read = read("smiles;y\nC;1,5\nCC;>3,25\nCCC;<= -2,5\n", &ReadOptions::default()).unwrap();
    let values: Vec<f32> = read.dataset.qualifiers.bounds.iter().flatten().map(|bound| bound.value).collect();
    assert_eq!((labels(&read)[0], values), (Some(1.5), vec![3.25, -2.5]));
}

#[test]
fn every_target_column_has_its_own_bounds() {
    let read = read("smiles,y,z\nC,0.5,>1\nCC,<2,3\n", &ReadOptions::default()).unwrap();
    let places: Vec<Vec<usize>> = read
        .dataset
        .qualifiers
        .bounds
        .iter()
        .map(|list| list.iter().map(|bound| bound.place).collect())
        .collect();
    assert_eq!(places, [[1], [0]]);
    assert_eq!(labels(&read), [Some(0.5), None, None, Some(3.0)]);
    assert_eq!(read.report.notes.iter().filter(|note| note.contains("are bounds")).count(), 2);
}

#[test]
fn what_looks_like_a_bound_and_is_none_is_what_it_was() {
    // Names of classes.
    let classes = "smiles,age\nC,<5\nCC,>=5\nCCC,<5\n";
    let found = read(classes, &targets(&["age"])).unwrap();
    assert_eq!((found.dataset.schema.task, found.dataset.qualifiers.num_bounds()), (Task::Binary, 0));
    // Unless it is said that they are numbers.
    let regression = ReadOptions { task: Some(Task::Regression), ..targets(&["age"]) };
    assert_eq!(read(classes, &regression).unwrap().dataset.qualifiers.num_bounds(), 3);
    let text = ReadOptions { text: vec!["y".to_owned()], ..targets(&["y"]) };
    assert_eq!(read(TABLE, &text).unwrap().dataset.qualifiers.num_bounds(), 0);
    // A column of remarks is ignored as before.
    let found = read("smiles,y,remark\nC,1.5,>3\nCC,2.5,see page 3\n", &ReadOptions::default()).unwrap();
    assert_eq!(found.dataset.schema.targets, ["y"]);
    // So it is in a run that was written down before bounds were known.
    let earlier = ReadOptions { rules: 3, ..ReadOptions::default() };
    let found = read("smiles,z,y\nC,0.5,1.5\nCC,0.5,>3\n", &earlier).unwrap();
    assert_eq!(
        (found.dataset.schema.targets, found.dataset.qualifiers.bounds),
        (vec!["z".to_owned()], vec![])
    );
}

#[test]
fn a_wrong_bound_is_a_bad_row_and_others_keep_theirs() {
    let regression = ReadOptions { task: Some(Task::Regression), ..targets(&["y"]) };
    for wrong in [">", "<>3", ">inf", "<1e39", ">x", "> nan"] {
        let text = format!("smiles,y\nC,0.5\nCC,>3\nCCC,{wrong}\nCCCC,<1\n");
        let Err(DataError::BadRows { rows, total: 1 }) = read(&text, &regression) else {
            panic!("{wrong} is no bound");
        };
        assert_eq!((rows[0].place.line, rows[0].place.column.as_deref()), (Some(4), Some("y")), "{wrong}");
        let skipping = ReadOptions { on_bad_row: OnBadRow::Skip, ..regression.clone() };
        let counts: Vec<usize> =
            read(&text, &skipping).unwrap().dataset.qualifiers.bounds.iter().map(Vec::len).collect();
        assert_eq!(counts, [0, 1, 1], "{wrong}");
    }
}

#[test]
fn a_model_of_numbers_reads_bounds_even_where_there_is_nothing_else() {
    let schema = read("smiles,y\nC,0.5\nCC,1.5\n", &ReadOptions::default()).unwrap().dataset.schema;
    let later = read("smiles,y\nC,>3\n", &ReadOptions::with_schema(schema)).unwrap();
    assert_eq!((labels(&later), later.dataset.qualifiers.num_bounds()), (vec![None], 1));
}

/// JSON Lines of graphs without edges, with these targets.
fn lines(targets: &[&str]) -> String {
    let line = |target: &&str| format!("{{\"num_nodes\": 2, \"edges\": [], \"target\": {target}}}\n");
    targets.iter().map(line).collect()
}

fn read_lines(targets: &[&str], options: &ReadOptions) -> Result<Read, DataError> {
    let scratch = Scratch::new("bounds");
    open(&scratch.write("a.jsonl", lines(targets)), options)
}

#[test]
fn a_text_among_the_numbers_of_json_lines_is_a_bound_wherever_it_stands() {
    let regression = ReadOptions { task: Some(Task::Regression), ..ReadOptions::default() };
    let orders = [["1", "2", "\">3\"", "\"<= -2.5\"", "null"], ["\">3\"", "\"<= -2.5\"", "null", "1", "2"]];
    for (targets, at) in orders.into_iter().zip([2, 0]) {
        for options in [&ReadOptions::default(), &regression] {
            let read = read_lines(&targets, options).unwrap();
            assert_eq!(read.dataset.schema.task, Task::Regression, "integers and bounds are no classes");
            let found: Vec<Bound> = read.dataset.qualifiers.bounds.concat();
            let bound = |value: f32, side| Bound { place: 0, value, side };
            assert_eq!(found, [bound(3.0, Side::AtLeast), bound(-2.5, Side::AtMost)]);
            assert_eq!(read.dataset.qualifiers.bounds[at].len(), 1);
            assert_eq!(labels(&read).iter().flatten().count(), 2);
            assert!(read.report.notes.join("\n").contains("2 of the 4 labels of `target` are bounds"));
        }
    }
    // Columns of their own.
    let two = read_lines(&["[0.5, \">1\"]", "[\"<2\", 3]"], &ReadOptions::default()).unwrap();
    let places: Vec<usize> =
        two.dataset.qualifiers.bounds.iter().flatten().map(|bound| bound.place).collect();
    assert_eq!((places, labels(&two)), (vec![1, 0], vec![Some(0.5), None, None, Some(3.0)]));
}

#[test]
fn texts_of_json_lines_without_a_number_among_them_are_names_of_classes() {
    let classes = ["\"<5\"", "\">=5\"", "\"<5\""];
    let found = read_lines(&classes, &ReadOptions::default()).unwrap();
    assert_eq!((found.dataset.schema.task, found.dataset.qualifiers.num_bounds()), (Task::Binary, 0));
    assert_eq!(labels(&found).iter().flatten().count(), 3);
    let with_a_word = read_lines(&["\"<5\"", "\"old\"", "\">=5\""], &ReadOptions::default()).unwrap();
    assert_eq!(with_a_word.dataset.schema.task, Task::MultiClass { classes: 3 });
    assert_eq!(with_a_word.dataset.qualifiers.num_bounds(), 0);
    assert_eq!(labels(&with_a_word).iter().flatten().count(), 3);
}

#[test]
fn a_text_among_numbers_that_is_no_bound_is_a_bad_row() {
    for wrong in ["\">high\"", "\">1e99\"", "\"3.5\""] {
        let Err(DataError::BadRows { rows, .. }) = read_lines(&["1.5", wrong], &ReadOptions::default())
        else {
            panic!("{wrong}");
        };
        assert!(rows[0].to_string().contains("a number, as the column's other values are"), "{}", rows[0]);
    }
}

#[test]
fn bounds_are_written_to_json_lines_and_read_back() {
    let scratch = Scratch::new("bounds");
    let before = read(TABLE, &ReadOptions::default()).unwrap().dataset;
    let path = scratch.path().join("a.jsonl");
    graphminnet_data::formats::write_jsonl(&before, &path).unwrap();
    let after = open(&path, &ReadOptions::with_schema(before.schema.clone())).unwrap().dataset;
    assert_eq!(after.qualifiers, before.qualifiers);
}
