//! Small files that ask for much memory: each is refused with the place and the option, in every format.

mod common;

use common::Scratch;
use flate2::write::GzEncoder;
use graphminnet_data::import::import;
use graphminnet_data::registry::find;
use graphminnet_data::{DataError, OnBadRow, ReadOptions, RowReader, open};
use std::io::Write;
use std::path::Path;

/// What a reading may take in these tests.
const MEMORY: u64 = 8 << 20;

fn within(memory: u64) -> ReadOptions {
    // The policy that forgives most does not forgive this.
    let mut options = ReadOptions { on_bad_row: OnBadRow::Skip, ..ReadOptions::default() };
    options.limits.memory_bytes = Some(memory);
    options
}

fn gzip(text: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text.as_ref()).unwrap();
    encoder.finish().unwrap()
}

/// Refused within [`MEMORY`], with a place in `file`; read with more.
fn refused(path: &Path, file: &str) {
    let error = open(path, &within(MEMORY)).expect_err(file);
    assert!(matches!(error, DataError::Limit { name: "memory_bytes", limit: MEMORY, .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(file) && text.contains("--memory"), "{text}");
    if let Err(error) = open(path, &within(1 << 30)) {
        panic!("{file}: {error}");
    }
}

#[test]
fn files_of_many_rows() {
    let scratch = Scratch::new("rows");
    let molecules = format!("smiles,y\n{}", "C,1\n".repeat(50_000));
    refused(&scratch.write("molecules.csv.gz", gzip(molecules)), "molecules.csv.gz, line ");
    let graphs = "{\"num_nodes\":2,\"edges\":[[0,1]]}\n".repeat(50_000);
    refused(&scratch.write("graphs.jsonl.gz", gzip(&graphs)), "graphs.jsonl.gz, line ");
    let zstd =
        ruzstd::encoding::compress_to_vec(graphs.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    refused(&scratch.write("graphs.jsonl.zst", zstd), "graphs.jsonl.zst, line ");
    refused(&scratch.write("graphs.g6", "A_\n".repeat(50_000)), "graphs.g6, line ");
}

#[test]
fn rows_of_many_values() {
    let scratch = Scratch::new("values");
    let features = format!("{{\"num_nodes\":1,\"edges\":[],\"x\":[[{}0]]}}\n", "0,".repeat(16_000));
    refused(&scratch.write("features.jsonl.gz", gzip(features.repeat(80))), "features.jsonl.gz, line ");
    let edges = format!("{{\"num_nodes\":1,\"edges\":[{}[0,0]]}}\n", "[0,0],".repeat(400_000));
    refused(&scratch.write("edges.jsonl.gz", gzip(edges)), "edges.jsonl.gz, line 1");
    // Dense graph6: a bit per pair; sparse6: two bits per edge.
    let (nodes, pairs) = (1_500u64, 1_500 * 1_499 / 2);
    let size = [126, 63 + (nodes >> 12) as u8, 63 + (nodes >> 6 & 63) as u8, 63 + (nodes & 63) as u8];
    let dense = [&size[..], &vec![b'~'; (pairs as usize).div_ceil(6)]].concat();
    refused(&scratch.write("dense.g6", dense), "dense.g6, line 1");
    refused(&scratch.write("sparse.s6", format!(":A{}", "?".repeat(300_000))), "sparse.s6, line 1");
    // Texts of their own in every row.
    let rows: String =
        (0..40_000).map(|row| format!("C,a category as long as a sentence, {row}\n")).collect();
    let mut options = within(MEMORY);
    options.targets = Some(vec!["y".to_owned()]);
    let path = scratch.write("texts.csv", format!("smiles,y\n{}", rows.replace(", ", "; ")));
    let error = open(&path, &options).unwrap_err();
    assert!(matches!(error, DataError::Limit { name: "memory_bytes", .. }), "{error:?}");
}

#[test]
fn folders_of_tables() {
    let scratch = Scratch::new("tables");
    let nodes: String = (0..200_000).map(|node| format!("0,n{node}\n")).collect();
    scratch.write("csv/nodes.csv.gz", gzip(format!("graph_id,node_id\n{nodes}")));
    scratch.write("csv/edges.csv", "graph_id,source,destination\n0,n0,n1\n");
    refused(&scratch.path().join("csv"), "nodes.csv.gz, line ");
    scratch.write("ogb/raw/num-node-list.csv", "200000\n");
    scratch.write("ogb/raw/num-edge-list.csv", "0\n");
    scratch.write("ogb/raw/edge.csv", "");
    scratch.write("ogb/raw/graph-label.csv", "1\n");
    scratch.write("ogb/raw/node-feat.csv.gz", gzip("0,0,0,0,0,0,0,0\n".repeat(200_000)));
    refused(&scratch.path().join("ogb"), "node-feat.csv.gz, line ");
    scratch.write("T/T_A.txt.gz", gzip("1, 1\n".repeat(500_000)));
    scratch.write("T/T_graph_indicator.txt", "1\n");
    refused(&scratch.path().join("T"), "T_A.txt.gz, line ");
    scratch.write("lists/a/one.edgelist.gz", gzip("0 1\n".repeat(600_000)));
    refused(&scratch.path().join("lists"), "one.edgelist.gz, line ");
}

#[test]
fn a_number_far_beyond_the_named_nodes() {
    let scratch = Scratch::new("gap");
    scratch.write("lists/a/one.edgelist", "0 49999999\n");
    let folder = scratch.path().join("lists");
    let error = open(&folder, &ReadOptions::default()).unwrap_err().to_string();
    for piece in ["one.edgelist", "25000000", "--read-limit numbering_gap=NUMBER"] {
        assert!(error.contains(piece), "{error}");
    }
    let mut options = ReadOptions::default();
    options.limits.apply(&["numbering_gap=25000000".parse().unwrap()]);
    assert_eq!(open(&folder, &options).unwrap().dataset.samples[0].graph.num_nodes(), 50_000_000);
    // Numbers with modest gaps are as good as ever.
    scratch.write("lists/a/one.edgelist", "0 9999\n");
    assert_eq!(open(&folder, &ReadOptions::default()).unwrap().dataset.samples[0].graph.num_nodes(), 10_000);
}

#[test]
fn nodes_that_are_only_stated_count_for_what_they_will_take() {
    let scratch = Scratch::new("stated");
    let path = scratch.write("a.jsonl", "{\"num_nodes\":1000000,\"edges\":[]}\n");
    refused(&path, "a.jsonl");
}

/// A tar archive with one member.
fn tar(name: &str, content: &[u8]) -> Vec<u8> {
    let mut block = vec![0u8; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    let size = format!("{:011o}", content.len());
    block[124..124 + size.len()].copy_from_slice(size.as_bytes());
    block[148..156].copy_from_slice(b"        ");
    block[156] = b'0';
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block.extend(content);
    block.resize(block.len().next_multiple_of(512) + 1024, 0);
    block
}

#[test]
fn archives_and_pickles() {
    let scratch = Scratch::new("archives");
    let refused = |dataset: &str, name: &str, content: &[u8]| {
        let path = scratch.write(name, content);
        let error = import(find(dataset).unwrap(), &[path], &within(MEMORY)).unwrap_err();
        assert!(matches!(error, DataError::Limit { name: "memory_bytes", .. }), "{name}: {error:?}");
    };
    // Members that are kept in memory.
    refused("zinc", "zeros.tar.gz", &gzip(tar("train.pickle", &vec![0; 9 << 20])));
    // An instruction of one byte makes a list of many; nothing of it is ever used.
    for (name, instruction) in [("lists", &b"]"[..]), ("tuples", b")"), ("nothing", b"N"), ("memo", b"N\x94")]
    {
        let pickle = [&b"\x80\x04"[..], &instruction.repeat(600_000), b"."].concat();
        refused("zinc", &format!("{name}.tar.gz"), &gzip(tar("train.pickle", &pickle)));
    }
    // Lists that grow.
    let pickle = [&b"\x80\x04]"[..], &b"Na".repeat(600_000), b"."].concat();
    refused("zinc", "grown.tar.gz", &gzip(tar("train.pickle", &pickle)));
}

#[test]
fn rows_that_are_read_some_at_a_time_may_be_many_but_not_long() {
    let scratch = Scratch::new("stream");
    let mut options = within(MEMORY);
    let path = scratch.write("many.csv.gz", gzip(format!("smiles\n{}", "CCO\n".repeat(200_000))));
    let mut reader = RowReader::open(&path, &options).unwrap();
    let mut rows = 0;
    loop {
        let some = reader.next_rows(4096).unwrap().len();
        rows += some;
        if some == 0 {
            break;
        }
    }
    assert_eq!(rows, 200_000);
    // Long rows come a few at a time, so that they never add up.
    options.limits.line_bytes = 1 << 20;
    let long = format!("{}\n", "C".repeat(1_000)).repeat(4_096);
    let path = scratch.write("long.csv.gz", gzip(format!("smiles\n{long}")));
    let some = RowReader::open(&path, &options).unwrap().next_rows(4096).unwrap().len();
    assert!((1_000..1_100).contains(&some), "{some}");
    // One that takes too much ends the reading.
    let edges = format!("{{\"num_nodes\":1,\"edges\":[{}[0,0]]}}\n", "[0,0],".repeat(400_000));
    let path = scratch.write("edges.jsonl.gz", gzip(edges));
    options.limits.line_bytes = 64 << 20;
    let error = RowReader::open(&path, &options).unwrap().next_rows(1).unwrap_err();
    assert!(matches!(error, DataError::Limit { name: "memory_bytes", .. }), "{error:?}");
}
