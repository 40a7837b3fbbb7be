//! Tables of molecules as people write them: split columns, missing labels, classes, headers, separators.

mod common;

use common::Scratch;
use graphminnet_data::{DataError, OnBadRow, Read, ReadOptions, Split, open};

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
