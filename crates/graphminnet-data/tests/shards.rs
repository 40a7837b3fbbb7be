//! A file in shards is the file: every record once, in order, with the numbers that it has in the whole.

use graphminnet_data::rng::{Stream, stream};
use graphminnet_data::{DataError, OnBadRow, ReadOptions, RowReader, Shard, open};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

const COUNTS: [u32; 6] = [1, 2, 3, 7, 40, 1000];

fn shards(count: u32) -> impl Iterator<Item = Shard> {
    (1..=count).map(move |number| Shard::new(number, count).unwrap())
}

/// Text, name, and graph or reason of every row.
fn rows(path: &Path, shard: Option<Shard>, piece: usize) -> (usize, Vec<String>) {
    let mut reader = RowReader::open(path, &ReadOptions { shard, ..ReadOptions::default() }).unwrap();
    let before = reader.records_before();
    let mut found = Vec::new();
    loop {
        let some = reader.next_rows(piece).unwrap();
        if some.is_empty() {
            return (before, found);
        }
        found.extend(some.iter().map(|row| format!("{row:?}")));
    }
}

fn check(path: &Path) {
    let (_, whole) = rows(path, None, 100);
    for count in COUNTS {
        let mut joined: Vec<String> = Vec::new();
        for shard in shards(count) {
            let (before, some) = rows(path, Some(shard), 5);
            assert_eq!(before, joined.len(), "records before shard {shard}");
            joined.extend(some);
        }
        assert_eq!(joined.len(), whole.len(), "{count} shards");
        for (found, expected) in joined.iter().zip(&whole) {
            assert_eq!(found, expected, "{count} shards");
        }
    }
}

fn file(folder: &tempfile::TempDir, name: &str, content: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// A table with everything that may be mistaken for the beginning of a record.
fn table(random: &mut Stream, separator: &str, end: &str, has_header: bool) -> String {
    let molecules = ["C", "CCO", "c1ccccc1", "not one", "C(", "", "N"];
    let notes = [
        "plain".to_owned(),
        format!("\"two{end}lines\""),
        "\"say \"\"yes\"\"\"".to_owned(),
        format!("\"{end}{end}\"\"{separator}\""),
        "in \"the\" middle".to_owned(),
        String::new(),
    ];
    let mut text = if has_header { format!("smiles{separator}\"no{end}te\"{end}") } else { String::new() };
    // Without a header the first row is known by its molecule.
    let first = format!("CC{separator}first{end}");
    text.push_str(if has_header { "" } else { &first });
    for _ in 0..random.below(30) {
        let molecule = molecules[random.below(molecules.len())];
        let note = &notes[random.below(notes.len())];
        match random.below(8) {
            0 => text.push_str(end),
            1 => text.push_str(&format!("too{separator}many{separator}fields{end}")),
            2 => text.push_str(&format!("\"{molecule}\"{end}")),
            _ => text.push_str(&format!("{molecule}{separator}{note}{end}")),
        }
    }
    if random.chance(0.3) { text.trim_end_matches(end).to_owned() } else { text }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_table_in_shards_is_the_table(seed in any::<u64>()) {
        let folder = tempfile::tempdir().unwrap();
        let random = &mut stream(seed, "table", &[]);
        let (separator, name) = [(",", "a.csv"), (";", "a.csv"), ("\t", "a.tsv")][random.below(3)];
        let end = ["\n", "\r\n"][random.below(2)];
        let has_header = random.chance(0.7);
        let mark = ["", "\u{feff}"][random.below(2)];
        let text = table(random, separator, end, has_header);
        check(&file(&folder, name, &format!("{mark}{text}")));
    }
}

#[test]
fn files_without_quotes_are_cut_at_lines() {
    let folder = tempfile::tempdir().unwrap();
    check(&file(&folder, "a.smi", "CCO ethanol\n\nC methane and \"more\nbad( name\n  \nN"));
    let graphs = "{\"num_nodes\":2,\"edges\":[[0,1]]}\n\n{\"id\":\"b\",\"num_nodes\":1,\"edges\":[]}\n{broken\n   \n\
                  {\"num_nodes\":1,\"edges\":[[0,5]]}\n{\"num_nodes\":3,\"edges\":[]}";
    check(&file(&folder, "a.jsonl", graphs));
    check(&file(&folder, "one.csv", "smiles\nC\n"));
    // A quoted empty cell is a row, a blank line is none.
    check(&file(&folder, "quoted.csv", "smiles\nC\n\"\"\n\nCC\n\"\"\n\"\"\nN\n"));
    check(&file(&folder, "headless.csv", "C\n\"\"\n\nCC\n\"\""));
    check(&file(&folder, "none.csv", "smiles\n"));
}

#[test]
fn labelled_graphs_in_shards_are_those_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let table: String =
        (0..17).map(|row| format!("{},\"n{row}\n\",{row}.5\n", "C".repeat(1 + row % 5))).collect();
    let path = file(&folder, "a.csv", &format!("smiles,id,y\n{table}bad(,x,1\n"));
    let options = ReadOptions {
        targets: Some(vec!["y".to_owned()]),
        on_bad_row: OnBadRow::Skip,
        ..ReadOptions::default()
    };
    let whole = open(&path, &options).unwrap();
    for count in COUNTS {
        let (mut samples, mut bad) = (Vec::new(), Vec::new());
        for shard in shards(count) {
            let read = open(&path, &ReadOptions { shard: Some(shard), ..options.clone() }).unwrap();
            samples.extend(read.dataset.samples);
            bad.extend(read.report.bad_rows);
        }
        assert_eq!(samples, whole.dataset.samples);
        assert_eq!(bad, whole.report.bad_rows);
    }
}

#[test]
fn what_cannot_be_cut_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let options = ReadOptions { shard: Some("1/2".parse().unwrap()), ..ReadOptions::default() };
    let refused = |path: &Path| {
        let error = RowReader::open(path, &options).err().unwrap();
        assert!(matches!(error, DataError::Schema { .. }), "{error}");
        assert_eq!(open(path, &options).unwrap_err().to_string(), error.to_string());
        error.to_string()
    };
    let compressed = refused(&file(&folder, "a.csv.gz", "not even gzip"));
    assert!(compressed.contains("decompress it first"), "{compressed}");
    assert!(refused(&file(&folder, "a.jsonl.zst", "")).contains("decompress it first"));
    assert!(refused(&file(&folder, "a.g6", "A_\n")).contains("only tables of molecules"));
    let stream = RowReader::from_stream(Box::new(std::io::empty()), "standard input", &options);
    assert!(stream.err().unwrap().to_string().contains("a stream cannot be read in shards"));
}
