//! Spreadsheets: the first sheet is a table like any other, and a hostile one is refused.

use graphminnet_data::{DataError, LimitChange, OnBadRow, ReadOptions, RowReader, open};
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sheet.xlsx")
}

fn rows(path: &Path, options: &ReadOptions) -> Result<Vec<String>, DataError> {
    let mut reader = RowReader::open(path, options)?;
    let rows = reader.next_rows(100)?;
    let text = |graph: &Result<std::sync::Arc<graphminnet_data::Graph>, graphminnet_data::BadRow>| match graph
    {
        Ok(graph) => graph.num_nodes().to_string(),
        Err(bad) => bad.to_string(),
    };
    Ok(rows
        .iter()
        .map(|row| format!("{} -> {}", String::from_utf8_lossy(&row.text), text(&row.graph)))
        .collect())
}

#[test]
fn the_first_sheet_is_a_table_with_names_in_its_first_row() {
    let reader = RowReader::open(&fixture(), &ReadOptions::default()).unwrap();
    assert_eq!(reader.columns(), ["id", "smiles", "activity", "day", "note", "column_6", "yes"]);
    assert!(
        reader.notes().join("").contains("the first of 2 sheets is read, `Assay <1>`"),
        "{:?}",
        reader.notes()
    );
    let found = rows(&fixture(), &ReadOptions::default()).unwrap();
    assert_eq!(found[0], "a,CCO,1.5,2026-01-31,\"with, \"\"quotes\"\"\",,true -> 3");
    assert_eq!(found[1], "b,c1ccccc1,,2026-01-31T12:30:00,\"two\nlines\",,false -> 6");
    assert!(
        found[2].starts_with("c,C1CC,3,,,, -> ") && found[2].contains("sheet.xlsx, row 5, column `smiles`")
    );
    // openpyxl computes nothing: a formula that no program has opened has no value yet.
    assert_eq!(found[3], "d,N,,,größe,, -> 1");
    assert_eq!(found.len(), 4);
}

#[test]
fn targets_are_columns_as_in_a_text() {
    let options = ReadOptions {
        targets: Some(vec!["activity".to_owned()]),
        on_bad_row: OnBadRow::Skip,
        ..ReadOptions::default()
    };
    let read = open(&fixture(), &options).unwrap();
    let ids: Vec<&str> = read.dataset.samples.iter().map(|sample| sample.id.as_str()).collect();
    assert_eq!((ids, read.report.bad_row_count), (vec!["a", "b", "d"], 1));
    assert_eq!(read.dataset.samples[0].targets, [1.5]);
}

#[test]
fn a_column_that_is_missing_is_missed_in_the_row_of_the_names() {
    let row = |number: u32, cells: [String; 2]| format!(r#"<row r="{number}">{}</row>"#, cells.concat());
    let rows =
        row(3, [cell("A3", "smiles"), cell("B3", "y")]) + &row(4, [cell("A4", "CCO"), cell("B4", "1")]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xlsx");
    std::fs::write(&path, workbook(&sheet(&rows))).unwrap();
    let options = ReadOptions { targets: Some(vec!["z".to_owned()]), ..ReadOptions::default() };
    let error = open(&path, &options).unwrap_err().to_string();
    assert!(error.contains("a.xlsx, row 3") && error.contains("`z`"), "{error}");
    let twice = row(2, [cell("A2", "smiles"), cell("B2", "smiles")]);
    std::fs::write(&path, workbook(&sheet(&twice))).unwrap();
    let error = open(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("a.xlsx, row 2"), "{error}");
}

/// A workbook with one sheet of this XML.
fn workbook(sheet: &str) -> Vec<u8> {
    workbook_with(sheet, "worksheets/sheet1.xml", "<sst/>")
}

/// The same with another place of the sheet and a table of texts.
fn workbook_with(sheet: &str, target: &str, texts: &str) -> Vec<u8> {
    let types = r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>"#;
    let package = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;
    let book = r#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>"#;
    let relations = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="TARGET"/></Relationships>"#;
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in [
        ("[Content_Types].xml", types),
        ("_rels/.rels", package),
        ("xl/workbook.xml", book),
        ("xl/_rels/workbook.xml.rels", &relations.replace("TARGET", target)),
        ("xl/sharedStrings.xml", texts),
        (&format!("xl/{target}"), sheet),
    ] {
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn sheet(rows: &str) -> String {
    format!(
        "<worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><sheetData>{rows}</sheetData></worksheet>"
    )
}

fn cell(place: &str, text: &str) -> String {
    format!("<c r=\"{place}\" t=\"inlineStr\"><is><t>{text}</t></is></c>")
}

#[test]
fn a_formula_has_the_value_that_was_computed_last_and_a_huge_sheet_of_two_cells_takes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xlsx");
    let head = format!("<row r=\"1\">{}{}</row>", cell("A1", "smiles"), cell("B1", "y"));
    let row = "<row r=\"2\"><c r=\"A2\" t=\"str\"><f>UPPER(\"c\")</f><v>C</v></c><c r=\"B2\"><f>1+1</f><v>2</v></c></row>";
    let last = format!("<row r=\"1048576\">{}</row>", cell("A1048576", "CC"));
    std::fs::write(&path, workbook(&sheet(&format!("{head}{row}{last}")))).unwrap();
    assert_eq!(rows(&path, &ReadOptions::default()).unwrap(), ["C,2 -> 1", "CC, -> 2"]);
    let wide = format!("<row r=\"1\">{}</row>", cell("XFD1", "smiles"));
    std::fs::write(&path, workbook(&sheet(&wide))).unwrap();
    let error = rows(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("columns"), "{error}");
}

#[test]
fn bombs_and_damaged_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xlsx");
    let mut options = ReadOptions::default();
    options.limits.apply(&["memory_bytes=16777216".parse::<LimitChange>().unwrap()]);
    let bomb = workbook(&sheet(&" ".repeat(64 << 20)));
    assert!(bomb.len() < 1 << 20);
    std::fs::write(&path, bomb).unwrap();
    let error = rows(&path, &options).unwrap_err().to_string();
    assert!(error.contains("--memory"), "{error}");
    // A sheet of any name is a sheet.
    std::fs::write(&path, workbook_with(&sheet(&" ".repeat(64 << 20)), "worksheets/a.dat", "<sst/>"))
        .unwrap();
    let error = rows(&path, &options).unwrap_err().to_string();
    assert!(error.contains("--memory"), "{error}");
    // Texts that are announced, and for which memory would be taken at once.
    let table = format!("<row r=\"1\">{}</row>", cell("A1", "smiles"));
    for texts in [
        "<sst count='1' uniqueCount=\"1000000000000\">",
        "<!-- <sst> --><x:sst uniqueCount = '99999999999999999999'>",
    ] {
        std::fs::write(&path, workbook_with(&sheet(&table), "worksheets/sheet1.xml", texts)).unwrap();
        let error = rows(&path, &options).unwrap_err().to_string();
        assert!(error.contains("cannot hold the"), "{error}");
    }
    // Many small cells: each of them takes memory of its own.
    let many: String =
        (1..50_000).map(|row| format!("<row r=\"{row}\">{}</row>", cell(&format!("GR{row}"), "C"))).collect();
    std::fs::write(&path, workbook(&sheet(&many))).unwrap();
    let error = rows(&path, &options).unwrap_err().to_string();
    assert!(error.contains("--memory"), "{error}");

    let whole = std::fs::read(fixture()).unwrap();
    for end in (0..whole.len() - 1).step_by(61) {
        std::fs::write(&path, &whole[..end]).unwrap();
        assert!(rows(&path, &options).is_err(), "{end} bytes");
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&path, &bytes).unwrap();
        // Whatever it says, it says it.
        let _ = rows(&path, &options);
    }
    for (rows_of, word) in [("", "empty"), ("<row r=\"2\"><c", "spreadsheet")] {
        std::fs::write(&path, workbook(&sheet(rows_of))).unwrap();
        let error = rows(&path, &options).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    let sharded = ReadOptions { shard: Some("1/2".parse().unwrap()), ..ReadOptions::default() };
    assert!(rows(&fixture(), &sharded).unwrap_err().to_string().contains("shards"));
}
