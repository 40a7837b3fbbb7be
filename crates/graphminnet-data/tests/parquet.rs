//! Parquet files: read as tables of molecules, by shards, and never trusted.

use graphminnet_data::formats::parquet::{ParquetColumn, ParquetKind, ParquetWriter, join_files};
use graphminnet_data::{
    DataError, LimitChange, OnBadRow, Read, ReadOptions, RowReader, Shard, Split, Task, open,
};
use std::path::{Path, PathBuf};

/// Files that pyarrow and polars wrote of the same table, in three row groups.
const FIXTURES: [&str; 7] = ["snappy", "zstd", "gzip", "plain", "second", "second-zstd", "polars"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/parquet/{name}.parquet"))
}

fn rows(path: &Path, options: &ReadOptions) -> Result<(usize, Vec<String>, Vec<String>), DataError> {
    let mut reader = RowReader::open(path, options)?;
    let (before, columns) = (reader.records_before(), reader.columns().to_vec());
    let mut found = Vec::new();
    loop {
        let some = reader.next_rows(2)?;
        if some.is_empty() {
            return Ok((before, columns, found));
        }
        found.extend(some.iter().map(|row| {
            let graph = row.graph.as_ref().map(|graph| graph.num_nodes()).map_err(ToString::to_string);
            format!("{} {graph:?}", String::from_utf8_lossy(&row.text))
        }));
    }
}

#[test]
fn what_common_programs_write_is_the_same_table() {
    for name in FIXTURES {
        let (before, columns, found) = rows(&fixture(name), &ReadOptions::default()).unwrap();
        assert_eq!(columns, ["smiles", "y", "count", "big", "flag", "split", "half"], "{name}");
        assert_eq!((before, found.len()), (0, 7), "{name}");
        assert_eq!(found[0], "CCO,1.5,1,9223372036854775809,true,train,0.5 Ok(3)", "{name}");
        assert_eq!(found[1], "c1ccccc1,,2,0,false,train,0.5 Ok(6)", "{name}");
        assert!(found[2].starts_with("C1CC,0.25,,1,,valid,0.5 Err("), "{name}: {}", found[2]);
        assert!(
            found[2].contains(&format!("{name}.parquet, row 3, column `smiles`")),
            "{name}: {}",
            found[2]
        );
        assert!(found[3].starts_with(",3.0,4,2,true,valid,0.5 Err("), "{name}: {}", found[3]);
        assert_eq!(found[4], "N,,5,3,true,test,0.5 Ok(1)", "{name}: no number is a missing one");
        assert_eq!(found[6], "CCCCCCCCCCCC,0.001,7,5,false,train,0.5 Ok(12)", "{name}");
    }
    let reader = RowReader::open(&fixture("snappy"), &ReadOptions::default()).unwrap();
    let note = reader.notes().join("\n");
    assert!(note.contains("`day`, `list`") && !note.contains("smiles"), "{note}");
    assert_eq!(reader.header(), Some(&b"smiles,y,count,big,flag,split,half"[..]));
}

#[test]
fn targets_and_parts_come_from_columns_as_in_a_text() {
    let options = ReadOptions {
        targets: Some(vec!["y".to_owned()]),
        on_bad_row: OnBadRow::Skip,
        ..ReadOptions::default()
    };
    let read = open(&fixture("zstd"), &options).unwrap();
    let targets: Vec<f32> = read.dataset.samples.iter().map(|sample| sample.targets[0]).collect();
    assert_eq!(targets.iter().map(|y| y.is_nan()).collect::<Vec<_>>(), [false, true, true, false, false]);
    assert_eq!((targets[0], targets[3]), (1.5, -2.0));
    let split = read.dataset.official_split.unwrap();
    assert_eq!(split, [Split::Train, Split::Train, Split::Test, Split::Test, Split::Train]);
}

#[test]
fn shards_are_row_groups() {
    for name in FIXTURES {
        let (_, _, whole) = rows(&fixture(name), &ReadOptions::default()).unwrap();
        for count in [1, 2, 3, 7] {
            let mut joined = Vec::new();
            for number in 1..=count {
                let shard = Some(Shard::new(number, count).unwrap());
                let (before, _, some) =
                    rows(&fixture(name), &ReadOptions { shard, ..ReadOptions::default() }).unwrap();
                assert_eq!(before, joined.len(), "{name} {number}/{count}");
                joined.extend(some);
            }
            assert_eq!(joined, whole, "{name}, {count} shards");
        }
    }
}

#[test]
fn what_is_not_read_is_named() {
    let refused = |path: &Path, options: &ReadOptions| rows(path, options).unwrap_err().to_string();
    let error = refused(&fixture("brotli"), &ReadOptions::default());
    assert!(error.contains("BROTLI") && error.contains("zstd"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, content) in
        [("a.parquet", &b""[..]), ("b.parquet", b"PAR1"), ("c.parquet", b"smiles\nCCO\nand more\n")]
    {
        std::fs::write(path(name), content).unwrap();
        let error = refused(&path(name), &ReadOptions::default());
        assert!(error.contains(name) && error.contains("Parquet"), "{error}");
    }
    std::fs::write(path("d.parquet.gz"), b"").unwrap();
    assert!(refused(&path("d.parquet.gz"), &ReadOptions::default()).contains("decompress this one first"));
    let headed = ReadOptions { header: Some(true), ..ReadOptions::default() };
    assert!(refused(&fixture("plain"), &headed).contains("header"));
}

/// Every prefix, every bit: an error or a table, never a panic.
#[test]
fn damaged_files_are_refused_or_read_but_end_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.parquet");
    let mut options = ReadOptions::default();
    options.limits.apply(&["memory_bytes=67108864".parse::<LimitChange>().unwrap()]);
    for name in ["plain", "second", "second-zstd"] {
        let whole = std::fs::read(fixture(name)).unwrap();
        for end in (0..whole.len()).step_by(7) {
            std::fs::write(&path, &whole[..end]).unwrap();
            assert!(rows(&path, &options).is_err(), "{name}: {end} bytes");
        }
        let mut accepted = 0;
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(&path, &bytes).unwrap();
            accepted += usize::from(rows(&path, &options).is_ok());
        }
        assert!(accepted < whole.len(), "{name}: no flipped bit is noticed");
    }
}

/// A table with one column of text and one of numbers, in groups of so many rows.
fn written(groups: &[&[&str]]) -> Vec<u8> {
    let columns = [("smiles".to_owned(), ParquetKind::Text), ("y".to_owned(), ParquetKind::Number)];
    let mut writer = ParquetWriter::new(Vec::new(), &columns).unwrap();
    for group in groups {
        let numbers = (0..group.len()).map(|row| (row % 2 == 0).then_some(row as f64)).collect();
        writer.write(&[ParquetColumn::Text(group.to_vec()), ParquetColumn::Numbers(numbers)]).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn what_is_written_is_read_back_and_files_are_joined_by_groups() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("a.parquet"), written(&[&["C", "CC"], &["CCC"]])).unwrap();
    std::fs::write(path("none.parquet"), written(&[])).unwrap();
    std::fs::write(path("b.parquet"), written(&[&["N", "NN"]])).unwrap();
    let files = ["a", "none", "b"].map(|name| std::fs::File::open(path(&format!("{name}.parquet"))));
    std::fs::write(path("joined.parquet"), join_files(files, Vec::new()).unwrap()).unwrap();
    let (_, _, found) = rows(&path("joined.parquet"), &ReadOptions::default()).unwrap();
    assert_eq!(found, ["C,0.0 Ok(1)", "CC, Ok(2)", "CCC,0.0 Ok(3)", "N,0.0 Ok(1)", "NN, Ok(2)"]);
    assert_eq!(rows(&path("none.parquet"), &ReadOptions::default()).unwrap().2, [] as [String; 0]);
    let other =
        ParquetWriter::new(Vec::new(), &[("x".to_owned(), ParquetKind::Float)]).unwrap().finish().unwrap();
    std::fs::write(path("other.parquet"), other).unwrap();
    let files = ["a", "other"].map(|name| std::fs::File::open(path(&format!("{name}.parquet"))));
    assert!(join_files(files, Vec::new()).unwrap_err().to_string().contains("different columns"));
}

#[test]
fn a_short_file_cannot_take_much_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.parquet");
    // A megabyte of the same letter takes some hundred bytes.
    let long = "C".repeat(8 << 20);
    let bytes = written(&[&[&long]]);
    assert!(bytes.len() < 1 << 20, "{} bytes", bytes.len());
    std::fs::write(&path, bytes).unwrap();
    let mut options = ReadOptions::default();
    options.limits.apply(&["memory_bytes=4194304".parse::<LimitChange>().unwrap()]);
    let error = rows(&path, &options).unwrap_err().to_string();
    assert!(error.contains("--memory"), "{error}");
}

/// A table with a column of floating-point numbers, as CSV from pandas and as Parquet.
fn both(numbers: &[Option<f64>]) -> [(&'static str, Vec<u8>); 2] {
    let molecules: Vec<String> = (1..=numbers.len()).map(|length| "C".repeat(length)).collect();
    let mut text = "smiles,y\n".to_owned();
    for (smiles, number) in molecules.iter().zip(numbers) {
        text += &format!("{smiles},{}\n", number.map_or_else(String::new, |number| format!("{number:?}")));
    }
    let columns = [("smiles".to_owned(), ParquetKind::Text), ("y".to_owned(), ParquetKind::Number)];
    let mut writer = ParquetWriter::new(Vec::new(), &columns).unwrap();
    let molecules = molecules.iter().map(String::as_str).collect();
    writer.write(&[ParquetColumn::Text(molecules), ParquetColumn::Numbers(numbers.to_vec())]).unwrap();
    [("a.csv", text.into_bytes()), ("a.parquet", writer.finish().unwrap())]
}

fn read_both(numbers: &[Option<f64>], options: &ReadOptions) -> [Result<Read, DataError>; 2] {
    let folder = tempfile::tempdir().unwrap();
    both(numbers).map(|(name, content)| {
        std::fs::write(folder.path().join(name), content).unwrap();
        open(&folder.path().join(name), options)
    })
}

#[test]
fn one_frame_is_one_task_in_parquet_and_in_csv() {
    let asked = |task| ReadOptions { task, ..ReadOptions::default() };
    let three = Some(Task::MultiClass { classes: 3 });
    let (grades, yes) = ([Some(1.0), Some(2.0), None, Some(3.0), Some(1.0)], [Some(0.0), Some(1.0), None]);
    for (numbers, options, task, targets) in [
        (&grades[..], asked(None), Task::Regression, &[1.0, 2.0, f32::NAN, 3.0, 1.0][..]),
        (&grades, asked(three), Task::MultiClass { classes: 3 }, &[0.0, 1.0, f32::NAN, 2.0, 0.0]),
        (&yes, asked(None), Task::Binary, &[0.0, 1.0, f32::NAN]),
        (&[Some(4.0), Some(9.0)], asked(Some(Task::Binary)), Task::Binary, &[0.0, 1.0]),
    ] {
        for read in read_both(numbers, &options) {
            let dataset = read.unwrap().dataset;
            let found: Vec<f32> = dataset.samples.iter().map(|sample| sample.targets[0]).collect();
            assert_eq!(dataset.schema.task, task);
            assert_eq!(format!("{found:?}"), format!("{targets:?}"), "{numbers:?}");
        }
    }
    // Many rows with few whole numbers may be classes, and are said to be.
    let many: Vec<_> = (0..40).map(|row| Some(f64::from(row % 3 + 1))).collect();
    for read in read_both(&many, &ReadOptions::default()) {
        let notes = read.unwrap().report.notes.join("; ");
        assert!(notes.contains("`--task classes:3` makes them classes"), "{notes}");
    }
    let positive = ReadOptions { positive_class: Some("0".to_owned()), ..ReadOptions::default() };
    for read in read_both(&yes, &positive) {
        assert_eq!(read.unwrap().dataset.schema.class_names, ["1", "0"]);
    }
    // Runs of before read integers in Parquet.
    let [text, parquet] = read_both(&grades, &ReadOptions { rules: 7, ..ReadOptions::default() });
    assert_eq!(text.unwrap().dataset.schema.task, Task::Regression);
    assert_eq!(parquet.unwrap().dataset.schema.class_names, ["1", "2", "3"]);
}

#[test]
fn a_model_knows_its_classes_with_a_decimal_point() {
    let numbers = [Some(4.0), Some(5.0), Some(6.0), None];
    let [_, before] = read_both(&numbers, &ReadOptions { rules: 7, ..ReadOptions::default() });
    let schema = before.unwrap().dataset.schema;
    assert_eq!(schema.class_names, ["4", "5", "6"]);
    for read in read_both(&numbers, &ReadOptions::with_schema(schema.clone())) {
        let samples = read.unwrap().dataset.samples;
        assert_eq!(
            samples.iter().map(|sample| sample.targets[0]).take(3).collect::<Vec<_>>(),
            [0.0, 1.0, 2.0]
        );
    }
    for read in read_both(&[Some(4.5)], &ReadOptions::with_schema(schema)) {
        let error = read.unwrap_err().to_string();
        assert!(error.contains("not one of the classes"), "{error}");
    }
}
