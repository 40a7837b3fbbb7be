//! One entry point per reader that takes arbitrary bytes: what the fuzzer and the smoke test run.
//!
//! Layouts of several files are given as one text in which a line `=== NAME` starts a file.

mod smoke;

pub use smoke::smoke;

use super::formats::{self, Format};
use super::import::archive::{Bytes, InMemory, Zip, read_tar};
use super::import::pickle;
use super::smiles::{Featurizer, molecule_graph, scaffold_key};
use super::{DataError, Limits, OnBadRow, Place, ReadOptions, open};
use crate::budget::{Budget, Share};
use crate::formats::Lines;
use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::Arc;

/// A name and what runs one input; the outcome does not matter as long as there is one.
pub type Target = (&'static str, fn(&[u8]));

/// Runs one of the targets. A panic of somebody else's code that a reader contains is no finding.
pub fn run(target: &str, bytes: &[u8]) {
    super::foreign::hush_contained_panics();
    for (_, run) in TARGETS.iter().filter(|(name, _)| *name == target) {
        run(bytes);
    }
}

/// All targets.
pub const TARGETS: [Target; 15] = [
    ("jsonl", jsonl),
    ("smiles_csv", smiles_csv),
    ("parquet", parquet),
    ("sdf", sdf),
    ("xlsx", xlsx),
    ("graph6", graph6),
    ("csv_folder", csv_folder),
    ("ogb", ogb),
    ("tudataset", tudataset),
    ("edgelist_folder", edgelist_folder),
    ("smiles", smiles),
    ("pickle", plain_pickle),
    ("torch", torch),
    ("zip", zip),
    ("tar", tar),
];

/// The limits of production. The one that depends on the machine is that of one with 2 GiB, so that a finding is the same
/// everywhere.
fn limits() -> Limits {
    Limits { memory_bytes: Some(512 << 20), ..Limits::default() }
}

fn options() -> ReadOptions {
    ReadOptions { on_bad_row: OnBadRow::Null, limits: limits(), ..ReadOptions::default() }
}

fn lines(bytes: &[u8]) -> Lines {
    Lines::new(Box::new(Cursor::new(bytes.to_vec())), Path::new("fuzz"), None, &limits())
}

fn jsonl(bytes: &[u8]) {
    let _ = formats::read_jsonl_lines(&mut lines(bytes), Path::new("fuzz.jsonl"), &options());
}

fn smiles_csv(bytes: &[u8]) {
    let _ = formats::read_smiles_lines(lines(bytes), Path::new("fuzz.csv"), &options());
}

fn parquet(bytes: &[u8]) {
    let _ = formats::read_parquet_bytes(bytes.to_vec(), Path::new("fuzz.parquet"), &options());
}

/// Readers that open a file by its path.
fn on_disk(format: Format, bytes: &[u8]) {
    let path =
        std::env::temp_dir().join(format!("graphminnet-fuzz-{}.{}", std::process::id(), format.name()));
    if std::fs::write(&path, bytes).is_ok() {
        let _ = open(&path, &ReadOptions { format: Some(format), ..options() });
    }
    let _ = std::fs::remove_file(path);
}

fn sdf(bytes: &[u8]) {
    on_disk(Format::Sdf, bytes);
}

/// The files of a workbook, so that what is changed is what is in them and not their checksums.
fn xlsx(bytes: &[u8]) {
    let mut archive = ::zip::ZipWriter::new(Cursor::new(Vec::new()));
    let how = ::zip::write::SimpleFileOptions::default();
    for (name, content) in files(bytes) {
        if archive.start_file(name, how).and_then(|()| Ok(archive.write_all(&content)?)).is_err() {
            return;
        }
    }
    if let Ok(workbook) = archive.finish() {
        on_disk(Format::Xlsx, workbook.get_ref());
    }
}

fn graph6(bytes: &[u8]) {
    let _ = formats::read_graph6_lines(&mut lines(bytes), Path::new("fuzz.g6"), &options());
}

/// Files from bytes in which a line `=== NAME` starts one; the end of the line before it belongs to neither.
pub fn files(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut members: Vec<(String, Vec<u8>)> = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match (line.strip_prefix(b"=== "), members.last_mut()) {
            (Some(name), before) => {
                before.map(|(_, content)| content.pop());
                members.push((String::from_utf8_lossy(name).trim().to_owned(), Vec::new()));
            }
            (None, Some((_, content))) => content.extend_from_slice(line),
            (None, None) => {}
        }
    }
    members
}

fn layout(format: Format, bytes: &[u8]) {
    let _ = formats::read_tree(format, &InMemory::new(Path::new("fuzz"), files(bytes)), &options());
}

fn csv_folder(bytes: &[u8]) {
    layout(Format::CsvFolder, bytes);
}

fn ogb(bytes: &[u8]) {
    layout(Format::Ogb, bytes);
}

fn tudataset(bytes: &[u8]) {
    layout(Format::TuDataset, bytes);
}

fn edgelist_folder(bytes: &[u8]) {
    layout(Format::EdgelistFolder, bytes);
}

fn smiles(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for featurizer in [Featurizer::Ogb, Featurizer::Zinc] {
        let _ = molecule_graph(&text, featurizer, &limits());
    }
    let _ = scaffold_key(&text, &limits());
}

fn share() -> Share {
    Budget::new(&limits()).share()
}

fn use_document(document: &pickle::Document) {
    let root = document.root();
    for value in document.items(root).unwrap_or_default().iter().copied().chain([root]).take(1_000) {
        let _ = document.array(value);
        let _ = document.get(value, "edge_index");
    }
}

fn plain_pickle(bytes: &[u8]) {
    if let Ok(document) = pickle::read_pickle(bytes.to_vec(), share(), &Place::file("fuzz.pickle"), &limits())
    {
        use_document(&document);
    }
}

fn torch(bytes: &[u8]) {
    if let Ok(document) = pickle::read_torch(bytes.to_vec(), share(), &Place::file("fuzz.pt"), &limits()) {
        use_document(&document);
    }
}

fn zip(bytes: &[u8]) {
    let read_all = || -> Result<(), DataError> {
        let limits = limits();
        let source = Bytes::Memory(Arc::new(bytes.to_vec()));
        let zip = Zip::open(source, Place::file("fuzz.zip"), limits.members, &limits)?;
        let names: Vec<String> = zip.member_names().map(str::to_owned).collect();
        for name in names {
            zip.content(&name, &mut share())?;
        }
        Ok(())
    };
    let _ = read_all();
}

fn tar(bytes: &[u8]) {
    let _ = read_tar(Box::new(Cursor::new(bytes.to_vec())), &limits());
}
