//! Tables of molecules as people write them: split columns, missing labels, classes, headers, separators.

mod common;

use common::Scratch;
use graphminnet_data::{DataError, EdgeDirection, Level, OnBadRow, Read, ReadOptions, Split, Task, open};

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
        assert_eq!(notes.contains("alphabetically"), ["mutagen", "good"].contains(&positive), "{notes}");
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
    // Nor was a header looked for, nor another separator, nor R and S.
    let found = read("C[C@H](N)O,y\nCC,1\n", &serde_json::from_str(r#"{"rules": 2}"#).unwrap()).unwrap();
    assert_eq!(found.dataset.samples.len(), 1);
    assert_eq!(found.dataset.schema.node_columns[1].name, "chirality");
}

fn read_as(name: &str, content: &str, options: &ReadOptions) -> Result<Read, DataError> {
    let scratch = Scratch::new("tables");
    open(&scratch.write(name, content), options)
}

fn atoms(read: &Read) -> Vec<usize> {
    read.dataset.samples.iter().map(|sample| sample.graph.num_nodes()).collect()
}

#[test]
fn a_table_without_a_header_keeps_its_first_molecule_and_says_so() {
    let found = read("CCO,0.5\nCCCO,1.5\n", &ReadOptions::default()).unwrap();
    assert_eq!((atoms(&found), targets(&found)), (vec![3, 4], vec![0.5, 1.5]));
    assert_eq!(found.dataset.schema.targets, ["column_2"]);
    let said = found.report.notes.iter().filter(|note| note.contains("no header")).count();
    assert_eq!(said, 1, "{:?}", found.report.notes);
    // The molecules need not come first.
    let found = read("a1,CCO,0.5\na2,CCCO,1.5\n", &ReadOptions::default()).unwrap();
    assert_eq!(
        (atoms(&found), found.dataset.schema.molecules.unwrap().column.as_str()),
        (vec![3, 4], "column_2")
    );
    // A model whose column has a name reads a table without names all the same.
    let schema = read("smiles,y\nC,0.5\nCC,1.5\n", &ReadOptions::default()).unwrap().dataset.schema;
    let found = read("CCO\nCCCO\n", &ReadOptions::with_schema(schema)).unwrap();
    assert_eq!(atoms(&found), [3, 4]);
}

#[test]
fn a_header_is_a_header_where_its_names_are_known_or_no_molecules_or_it_is_said() {
    for (content, options) in [
        // `NO` and `CN` are molecules, but `smiles` is a name.
        ("NO,smiles\n1,CCO\n", ReadOptions::default()),
        ("CN,y\nCCO,1\n", ReadOptions { targets: Some(vec!["y".to_owned()]), ..ReadOptions::default() }),
        ("structure,y\nCCO,1\n", ReadOptions::default()),
        ("CN,NO\nCCO,1\n", ReadOptions { header: Some(true), ..ReadOptions::default() }),
    ] {
        let found = read(content, &options).unwrap();
        assert_eq!(atoms(&found), [3], "{content}");
    }
    let options = ReadOptions { header: Some(false), ..ReadOptions::default() };
    let rows = read("structure,y\nCCO,1\n", &options);
    assert!(matches!(rows, Err(DataError::BadRows { total: 1, .. })), "a header is no molecule");
}

#[test]
fn semicolons_tabs_and_blanks_are_found_and_said() {
    let found = read("smiles;logS;note\nCCO;-0,5;\"a;b\"\nCCCO;1,25;x,y\n", &ReadOptions::default()).unwrap();
    assert_eq!((atoms(&found), targets(&found)), (vec![3, 4], vec![-0.5, 1.25]));
    assert!(found.report.notes[0].contains("semicolons"), "{:?}", found.report.notes);
    let tabs = "smiles\ty\nCCO\t0.5\nCCCO\t1.5\n";
    for name in ["a.tsv", "a.csv", "a.txt"] {
        let found = read_as(name, tabs, &ReadOptions::default()).unwrap();
        assert_eq!((atoms(&found), targets(&found)), (vec![3, 4], vec![0.5, 1.5]), "{name}");
        let said = found.report.notes.iter().any(|note| note.contains("tabs"));
        assert_eq!(said, name != "a.tsv", "{:?}", found.report.notes);
    }
}

#[test]
fn smi_files_have_molecules_with_names_that_may_hold_anything() {
    let content = "CCO ethanol, absolute\nCCCO\tpropanol\n\nC\nCC ethanol, absolute\n";
    let found = read_as("a.smi", content, &ReadOptions::default()).unwrap();
    assert_eq!(atoms(&found), [3, 4, 1, 2]);
    let names: Vec<&str> = found.dataset.samples.iter().map(|sample| sample.id.as_str()).collect();
    assert_eq!(names[..2], ["ethanol, absolute", "propanol"]);
    assert!(found.dataset.schema.targets.is_empty());
    // With a header every column has its place, and a name that is a number is a name.
    let found = read_as("b.smi", "SMILES id y\nCCO 17 0.5\nCC 18 1.5\n", &ReadOptions::default()).unwrap();
    assert_eq!((found.dataset.schema.targets[0].as_str(), targets(&found)), ("y", vec![0.5, 1.5]));
    assert_eq!(found.dataset.samples[1].id, "18");
}

#[test]
fn predictions_keep_the_cells_of_tables_with_other_separators() {
    let format = Some(graphminnet_data::formats::Format::SmilesCsv);
    let schema = read("smiles,y\nC,0.5\nCC,1.5\n", &ReadOptions::default()).unwrap().dataset.schema;
    let options = ReadOptions { format, ..ReadOptions::with_schema(schema) };
    let rows = |content: &'static str| {
        let stream = Box::new(content.as_bytes());
        let mut reader = graphminnet_data::RowReader::from_stream(stream, "input", &options).unwrap();
        let rows = reader.next_rows(10).unwrap();
        let mut texts = vec![String::from_utf8(reader.header().unwrap().to_vec()).unwrap()];
        texts.extend(rows.into_iter().map(|row| String::from_utf8(row.text).unwrap()));
        texts
    };
    assert_eq!(rows("smiles;note\nCCO;a,b\n"), ["smiles,note", "CCO,\"a,b\""]);
    assert_eq!(rows("CCO;7\nCC;8\n"), ["column_1,column_2", "CCO,7", "CC,8"]);
}

#[test]
fn cells_of_a_semicolon_table_are_written_as_they_are() {
    let content = "smiles;id;logS;dose;trust\nCCO;1,2;-0,5;0,25;1,5\nCCC;10,20;\"1,5\";2;1\nC;x;<3,5;1;1\n";
    let options = ReadOptions {
        descriptors: vec!["dose".to_owned()],
        weight_column: Some("trust".to_owned()),
        targets: Some(vec!["logS".to_owned()]),
        ..ReadOptions::default()
    };
    let found = read(content, &options).unwrap();
    let dataset = &found.dataset;
    let ids: Vec<&str> = dataset.samples.iter().map(|sample| sample.id.as_str()).collect();
    assert_eq!((ids, targets(&found)[..2].to_vec()), (vec!["1,2", "10,20", "x"], vec![-0.5, 1.5]));
    assert_eq!(dataset.samples[0].graph.graph_features().number_values().last(), Some(&0.25));
    assert_eq!((dataset.qualifiers.weights[0], dataset.qualifiers.bounds[2][0].value), (1.5, 3.5));
    // A run of earlier rules reads what it read.
    let earlier = read(content, &ReadOptions { rules: 5, ..options }).unwrap();
    assert_eq!((earlier.dataset.samples[0].id.as_str(), targets(&earlier)[0]), ("1.2", -0.5));

    let format = Some(graphminnet_data::formats::Format::SmilesCsv);
    let options = ReadOptions { format, ..ReadOptions::with_schema(found.dataset.schema) };
    let stream = Box::new(content.as_bytes());
    let mut reader = graphminnet_data::RowReader::from_stream(stream, "input", &options).unwrap();
    let texts = reader.next_rows(10).unwrap().into_iter().map(|row| String::from_utf8(row.text).unwrap());
    let expected = ["CCO,\"1,2\",\"-0,5\",\"0,25\",\"1,5\"", "CCC,\"10,20\",\"1,5\",2,1", "C,x,\"<3,5\",1,1"];
    assert_eq!(texts.collect::<Vec<_>>(), expected);

    // A list of two values has no decimal comma.
    let node = ReadOptions { level: Some(Level::Node), ..ReadOptions::default() };
    let found = read("smiles;charge\nCC;1,2\nCO;0.5,3\n", &node).unwrap();
    assert_eq!(targets(&found), [1.0, 2.0, 0.5, 3.0]);
}

#[test]
fn columns_without_a_name_are_numbered_and_are_no_targets() {
    // As spreadsheets leave them, and as pandas writes the numbers of rows.
    let trailing = "smiles,y,,\nCCO,1.5,,\nCCC,2,,\n";
    let index = ",smiles,y\n0,CCO,1.5\n1,CCC,2\n2,CCCC,2.5\n";
    for (content, numbers) in [(trailing, "`column_3`, `column_4`"), (index, "`column_1`")] {
        let found = read(content, &ReadOptions::default()).unwrap();
        assert_eq!(
            (found.dataset.schema.targets.as_slice(), targets(&found)[0]),
            (&["y".to_owned()][..], 1.5)
        );
        let notes = found.report.notes.join("; ");
        assert!(notes.contains(&format!("columns without a name were ignored: {numbers}")), "{notes}");
        let scratch = Scratch::new("tables");
        let path = scratch.write("a.csv", content);
        let reader =
            graphminnet_data::RowReader::open(&path, &ReadOptions::with_schema(found.dataset.schema));
        // What is written is what was there.
        let written = content.lines().next().map(str::as_bytes);
        assert_eq!(reader.unwrap().header(), written);
    }
    let named = |name: &str, rules| ReadOptions {
        targets: Some(vec![name.to_owned()]),
        rules,
        ..ReadOptions::default()
    };
    let found = read(index, &named("column_1", 6)).unwrap();
    assert_eq!(found.dataset.schema.targets, ["column_1"]);
    // A run or model of earlier rules that learnt such a column still has it.
    let earlier = read(index, &ReadOptions { rules: 5, ..ReadOptions::default() }).unwrap();
    assert_eq!(earlier.dataset.schema.targets, ["", "y"]);
    let again = read(index, &ReadOptions::with_schema(earlier.dataset.schema.clone())).unwrap();
    assert_eq!(targets(&again), targets(&earlier));
    assert!(read(trailing, &named("y", 5)).is_err());
}

#[test]
fn a_name_with_a_comma_is_one_column_where_the_table_has_it() {
    let content = "smiles,\"IC50, nM\",y,IC50\nCCO,1.5,2.5,7\nCCC,2,3,8\n";
    let asked = |names: &[&str]| ReadOptions {
        // As a list with commas is taken apart.
        targets: Some(names.iter().map(|&name| name.to_owned()).collect()),
        ..ReadOptions::default()
    };
    for (names, found) in [
        (&["IC50", " nM"][..], &["IC50, nM"][..]),
        (&["y", "ic50", " nM"], &["y", "IC50, nM"]),
        (&["IC50, nM", "y"], &["IC50, nM", "y"]),
        (&["IC50", "y"], &["IC50", "y"]),
    ] {
        assert_eq!(read(content, &asked(names)).unwrap().dataset.schema.targets, found, "{names:?}");
    }
    let described = ReadOptions { descriptors: asked(&["IC50", " nM"]).targets.unwrap(), ..asked(&["y"]) };
    let table = read(content, &described).unwrap().dataset.schema.molecules.unwrap();
    assert_eq!(table.descriptors, ["IC50, nM"]);
    let error = read(content, &asked(&["IC50", " mM"])).unwrap_err().to_string();
    assert!(error.contains("a column called ` mM`"), "{error}");
    // Under earlier rules the pieces are what they were.
    let two = "smiles,a,b,\"a,b\"\nC,1.5,2,3\nCC,2,3,4\n";
    let earlier = read(two, &ReadOptions { rules: 5, ..asked(&["a", "b"]) }).unwrap();
    assert_eq!(earlier.dataset.schema.targets, ["a", "b"]);
}

#[test]
fn line_ends_that_make_one_line_of_a_table_are_an_error_that_names_them() {
    for (name, content) in [
        ("a.csv", "smiles,y\rCCO,1\rCCC,2\r"),
        ("a.csv", "CCO,1\rCCC,2\r"),
        ("a.tsv", "smiles\ty\rCCO\t1\r"),
        ("a.smi", "CCO ethanol\rCCC propane\r"),
    ] {
        let error = read_as(name, content, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("line 1") && error.contains("CR alone") && error.contains("tr '"), "{error}");
    }
    // Between quotes, and at the end of a line, it is what it was.
    let found = read("smiles,\"y\rz\",w\r\r\nCCO,1.5,2\r\n", &ReadOptions::default()).unwrap();
    assert_eq!(found.dataset.schema.targets, ["y\rz", "w"]);
}

#[test]
fn true_and_false_are_found_in_any_case() {
    let options = ReadOptions { targets: Some(vec!["hit".to_owned()]), ..ReadOptions::default() };
    let table = |words: [&str; 3]| format!("smiles,hit\nC,{}\nCC,{}\nCCC,{}\n", words[0], words[1], words[2]);
    let schema = |words| read(&table(words), &options).unwrap().dataset.schema;
    // pandas, Parquet and Excel.
    for words in [["True", "False", "True"], ["true", "false", "true"], ["TRUE", "FALSE", "TRUE"]] {
        let known = ReadOptions::with_schema(schema(words));
        for others in [["True", "False", "True"], ["true", "false", "true"], ["TRUE", "FALSE", "TRUE"]] {
            assert_eq!(
                targets(&read(&table(others), &known).unwrap()),
                [1.0, 0.0, 1.0],
                "{words:?} {others:?}"
            );
        }
    }
    // Not where two classes differ by their case alone, and not other words.
    let both = ReadOptions::with_schema(schema(["True", "true", "False"]));
    assert_eq!(targets(&read(&table(["True", "true", "FALSE"]), &both).unwrap())[2], 0.0);
    assert!(read(&table(["TRUE", "true", "False"]), &both).is_err());
    let words = ReadOptions::with_schema(schema(["Yes", "No", "Yes"]));
    assert!(read(&table(["yes", "No", "Yes"]), &words).is_err());
}

#[test]
fn hydrogens_stereo_and_salts_are_as_asked_for_and_the_schema_keeps_it() {
    use graphminnet_data::{MoleculeForm, MoleculeReading};
    let with = |form: MoleculeForm| ReadOptions { molecules: form, ..ReadOptions::default() };
    let table = "smiles,y\n[Na+].CC(=O)[O-],0.5\nCl.F/C=C/F,1.5\n";
    let plain = read(table, &ReadOptions::default()).unwrap();
    assert_eq!(atoms(&plain), [5, 5]);
    let largest = MoleculeForm { largest_fragment: true, ..MoleculeForm::default() };
    let found = read(table, &with(largest)).unwrap();
    assert_eq!(atoms(&found), [4, 4]);
    let full = MoleculeForm { add_hydrogens: true, ..largest };
    assert_eq!(atoms(&read(table, &with(full)).unwrap()), [7, 6]);
    let flat = MoleculeForm { ignore_stereo: true, ..MoleculeForm::default() };
    let sides = "smiles,y\nF/C=C/F,0.5\nF/C=C\\F,1.5\nFC=CF,1.5\n";
    let found = read(sides, &with(flat)).unwrap();
    assert_eq!(found.dataset.samples[0].graph, found.dataset.samples[1].graph);
    assert_eq!(found.dataset.samples[0].graph, found.dataset.samples[2].graph);
    let told_apart = read(sides, &ReadOptions::default()).unwrap();
    assert_ne!(told_apart.dataset.samples[0].graph, told_apart.dataset.samples[1].graph);
    // A model reads new molecules as those that it was trained on.
    let schema = read(table, &with(full)).unwrap().dataset.schema;
    let text = serde_json::to_string(&schema).unwrap();
    let schema: graphminnet_data::Schema = serde_json::from_str(&text).unwrap();
    assert_eq!(MoleculeReading::of_schema(&schema).unwrap().form, full);
    assert_eq!(atoms(&read(table, &ReadOptions::with_schema(schema)).unwrap()), [7, 6]);
    // Nothing of it is for graphs that are no molecules.
    let graphs = "{\"num_nodes\": 1, \"edges\": []}\n";
    assert!(read_as("a.jsonl", graphs, &with(flat)).is_err());
}

#[test]
fn atoms_have_targets_in_lists_and_a_list_of_another_length_is_a_bad_row() {
    let at_nodes =
        |on_bad_row| ReadOptions { level: Some(Level::Node), on_bad_row, ..ReadOptions::default() };
    let table = "smiles,charge,site\nCCO,\"[0.1, -0.2, 0.3]\",no no yes\nC,,\nCO,\"[0.5,nan]\",yes no\n";
    let charge = ReadOptions { targets: Some(vec!["charge".to_owned()]), ..at_nodes(OnBadRow::Error) };
    let found = read(table, &charge).unwrap();
    assert_eq!((found.dataset.schema.level, found.dataset.schema.task), (Level::Node, Task::Regression));
    let of = |found: &Read, at: usize| found.dataset.samples[at].targets.clone();
    assert_eq!(of(&found, 0), [0.1, -0.2, 0.3]);
    assert!(of(&found, 1)[0].is_nan() && of(&found, 1).len() == 1);
    assert!(of(&found, 2)[0] == 0.5 && of(&found, 2)[1].is_nan());
    // Columns of numbers are found, and words are classes.
    assert_eq!(read(table, &at_nodes(OnBadRow::Error)).unwrap().dataset.schema.targets, ["charge"]);
    let site = ReadOptions { targets: Some(vec!["site".to_owned()]), ..at_nodes(OnBadRow::Error) };
    let found = read(table, &site).unwrap();
    assert_eq!(found.dataset.schema.positive_class.as_deref(), Some("yes"));
    assert_eq!(of(&found, 0), [0.0, 0.0, 1.0]);
    // Both at once: a row for every atom.
    let both = ReadOptions { targets: Some(vec!["charge".to_owned(), "size".to_owned()]), ..charge.clone() };
    let found = read("smiles,charge,size\nCO,1 2,3 4\n", &both).unwrap();
    assert_eq!(of(&found, 0), [1.0, 3.0, 2.0, 4.0]);

    let short = "smiles,charge\nCCO,\"[0.1, 0.2]\"\nCO,0.5 0.25\n";
    let error = read(short, &at_nodes(OnBadRow::Error)).unwrap_err().to_string();
    assert!(error.contains("each of the 3 atoms") && error.contains("it has 2"), "{error}");
    let found = read(short, &at_nodes(OnBadRow::Skip)).unwrap();
    assert_eq!((found.dataset.samples.len(), of(&found, 0)), (1, vec![0.5, 0.25]));
    let pairs = ReadOptions { level: Some(Level::Pair), ..ReadOptions::default() };
    assert!(read(short, &pairs).unwrap_err().to_string().contains("at node level"));
}

#[test]
fn bonds_have_targets_in_lists_in_the_order_of_rdkit_and_once_for_both_directions() {
    let at_bonds = |on_bad_row| ReadOptions {
        level: Some(Level::Edge),
        targets: Some(vec!["order".to_owned()]),
        on_bad_row,
        ..ReadOptions::default()
    };
    let table = "smiles,order\nCC=O,\"[1.5, 2]\"\nC,\nCCO,\nC1CC1O,\"[1, nan, 3, 4]\"\n";
    let found = read(table, &at_bonds(OnBadRow::Error)).unwrap();
    assert_eq!((found.dataset.schema.level, found.dataset.schema.task), (Level::Edge, Task::Regression));
    let labelled = |at: usize| {
        let sample = &found.dataset.samples[at];
        let edges = sample.graph.edges().iter().zip(&sample.targets);
        edges.filter(|(_, label)| !label.is_nan()).map(|(ends, label)| (*ends, *label)).collect::<Vec<_>>()
    };
    assert_eq!(labelled(0), [([0, 1], 1.5), ([1, 2], 2.0)]);
    // An empty cell says nothing, and methane has no bonds.
    assert_eq!((labelled(1), labelled(2)), (vec![], vec![]));
    // The bond that closes the ring comes after those that are written one after the other.
    assert_eq!(labelled(3), [([0, 1], 1.0), ([2, 3], 3.0), ([2, 0], 4.0)]);

    let long = "smiles,order\nCCO,\"[1, 1, 1]\"\nCO,1\nC,1\n";
    let error = read(long, &at_bonds(OnBadRow::Error)).unwrap_err().to_string();
    assert!(error.contains("each of the 2 bonds") && error.contains("it has 3"), "{error}");
    assert!(error.contains("each of the 0 bonds") && error.contains("it has 1"), "{error}");
    assert_eq!(read(long, &at_bonds(OnBadRow::Skip)).unwrap().dataset.samples.len(), 1);
    let as_given = ReadOptions { edges: Some(EdgeDirection::AsGiven), ..at_bonds(OnBadRow::Error) };
    assert!(read(table, &as_given).unwrap_err().to_string().contains("bonds go both ways"));
    // With hydrogens as atoms, their bonds have values too.
    let mut full = at_bonds(OnBadRow::Error);
    full.molecules.add_hydrogens = true;
    assert!(read("smiles,order\nO,1 2\n", &full).is_ok());
}

#[test]
fn bonds_are_in_the_order_of_rdkit_however_rings_are_closed() {
    // What RDKit 2026.09 says: `[(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in MolFromSmiles(s).GetBonds()]`.
    let known: [(&str, &[[u32; 2]]); 7] = [
        ("OC1CC1", &[[0, 1], [1, 2], [2, 3], [3, 1]]),
        ("C12CC1C2", &[[0, 1], [1, 2], [2, 3], [2, 0], [3, 0]]),
        ("C1CCC1C1CC1", &[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [3, 0], [6, 4]]),
        ("C%12CC1CC%12C1", &[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 2], [4, 0]]),
        ("C2CC1CC1C2", &[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [4, 2], [5, 0]]),
        ("N1CC1.C1CC1O", &[[0, 1], [1, 2], [3, 4], [4, 5], [5, 6], [2, 0], [5, 3]]),
        ("CC1(C)C=CC1C(=O)O", &[[0, 1], [1, 2], [1, 3], [3, 4], [4, 5], [5, 6], [6, 7], [6, 8], [5, 1]]),
    ];
    for (smiles, bonds) in known {
        let graph =
            graphminnet_data::molecule_graph(smiles, graphminnet_data::Featurizer::Cip, &Default::default());
        let graph = graph.unwrap();
        let found: Vec<[u32; 2]> = graph.edges().iter().step_by(2).copied().collect();
        assert_eq!(found, bonds, "{smiles}");
        assert!(graph.is_in_pairs());
    }
}

#[test]
fn a_quoted_empty_cell_is_a_row_and_a_blank_line_is_none() {
    let options = ReadOptions { on_bad_row: OnBadRow::Null, ..ReadOptions::default() };
    for (content, rows) in [
        ("smiles\nCCO\n\"\"\nCC\n", vec![Some(0), None, Some(1)]),
        ("smiles\nCCO\n\nCC\n", vec![Some(0), Some(1)]),
        ("smiles,y\nCCO,1\n\"\"\nCC,2\n", vec![Some(0), None, Some(1)]),
    ] {
        assert_eq!(read(content, &options).unwrap().report.rows, rows, "{content}");
    }
    let said = read("smiles\nCCO\n\"\"\nCC\n", &ReadOptions::default()).unwrap_err().to_string();
    assert!(said.contains("line 3") && said.contains("a SMILES string must not be empty"), "{said}");
    let earlier = ReadOptions { rules: 6, ..options };
    assert_eq!(read("smiles\nCCO\n\"\"\nCC\n", &earlier).unwrap().report.rows, [Some(0), Some(1)]);
}

#[test]
fn a_minus_of_a_word_processor_is_one() {
    let content = "smiles,y,dose\nC,−3,−0.5\nCC,<−2,1\nCCC,−1.5,2\nCCCC,0.5,3\nCCCCC, ≤ −4 ,4\n";
    let options = ReadOptions { descriptors: vec!["dose".to_owned()], ..ReadOptions::default() };
    let dataset = read(content, &options).unwrap().dataset;
    assert_eq!(
        (dataset.schema.task, dataset.schema.targets.as_slice()),
        (Task::Regression, &["y".to_owned()][..])
    );
    let labels: Vec<f32> = dataset.samples.iter().map(|sample| sample.targets[0]).collect();
    assert_eq!((labels[0], labels[2]), (-3.0, -1.5));
    let bounds: Vec<f32> = dataset.qualifiers.bounds.iter().flatten().map(|bound| bound.value).collect();
    assert_eq!(bounds, [-2.0, -4.0]);
    assert_eq!(dataset.samples[0].graph.graph_features().number_values().last(), Some(&-0.5));
    let semicolons = read("smiles;y\nC;−0,5\nCC;1,5\n", &ReadOptions::default()).unwrap();
    assert_eq!(targets(&semicolons), [-0.5, 1.5]);
    // What is no number keeps its text.
    let text = read(
        "smiles,y\nC,α−β\nCC,b\n",
        &ReadOptions { targets: Some(vec!["y".to_owned()]), ..ReadOptions::default() },
    );
    assert_eq!(text.unwrap().dataset.schema.class_names, ["b", "α−β"]);
    // Runs of before find no numbers, and models of before know their classes.
    let asked = |rules| ReadOptions { rules, targets: Some(vec!["y".to_owned()]), ..ReadOptions::default() };
    let signs = "smiles,y\nC,−1\nCC,+1\n";
    let earlier = read(signs, &asked(7)).unwrap().dataset;
    assert_eq!(earlier.schema.class_names, ["+1", "−1"]);
    assert_eq!(targets(&read(signs, &ReadOptions::with_schema(earlier.schema)).unwrap()), [1.0, 0.0]);
}

#[test]
fn classes_that_differ_in_case_alone_are_named() {
    let asked = ReadOptions { targets: Some(vec!["y".to_owned()]), ..ReadOptions::default() };
    let notes = |content| read(content, &asked).unwrap().report.notes.join("; ");
    let found = notes("smiles,y\nC,Active\nCC,active\nCCC,inactive\nCCCC,B\n");
    assert!(found.contains("`y` has classes that differ in case alone: `Active`, `active`"), "{found}");
    assert!(!found.contains("`inactive`") && !found.contains("`B`"), "{found}");
    let found = notes("smiles,y\nC,active\nCC,inactive\n");
    assert!(!found.contains("in case alone"), "{found}");
}
