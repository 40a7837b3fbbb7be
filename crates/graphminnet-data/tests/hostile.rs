//! Files made to do harm, or merely damaged: each gives a typed error that names the place and the value, quickly and
//! without asking for memory that the file does not justify.

mod common;

use common::{Scratch, assert_pieces};
use flate2::write::GzEncoder;
use graphminnet_data::fs::IoError;
use graphminnet_data::{
    DataError, Featurizer, Limits, OnBadRow, ReadOptions, SmilesError, molecule_graph, open, scaffold_key,
};
use std::io::Write;

fn error_of(name: &str, content: impl AsRef<[u8]>) -> DataError {
    let scratch = Scratch::new("hostile");
    match open(&scratch.write(name, content), &ReadOptions::default()) {
        Ok(_) => panic!("{name} was accepted"),
        Err(error) => error,
    }
}

/// The error is one bad row; its text has all the pieces.
fn assert_bad_row(name: &str, content: impl AsRef<[u8]>, pieces: &[&str]) {
    let error = error_of(name, content);
    assert!(matches!(error, DataError::BadRows { total: 1, .. }), "{error:?}");
    assert_pieces(&error, pieces);
}

#[test]
fn edges_out_of_range() {
    for (edge, pieces) in [
        ("[0,2]", &["line 1", "`edges`", "`2`", "2 nodes"][..]),
        ("[0,18446744073709551615]", &["line 1", "`edges`", "18446744073709551615"]),
        ("[-1,0]", &["line 1", "`edges`", "edge 0", "-1"]),
        ("[0,4294967296]", &["line 1", "4294967296"]),
        ("[0,0.5]", &["line 1", "0.5"]),
        ("[0.0,1.0]", &["line 1", "node 0.0, which is not an integer"]),
        ("[0]", &["line 1", "1 values for edge 0"]),
        ("[0,1,2]", &["line 1", "3 values for edge 0"]),
        ("0", &["line 1", "1 values for edge 0"]),
    ] {
        assert_bad_row("a.jsonl", format!("{{\"num_nodes\":2,\"edges\":[{edge}]}}"), pieces);
    }
}

#[test]
fn counts_that_nothing_backs() {
    assert_bad_row(
        "a.jsonl",
        r#"{"num_nodes":1152921504606846976,"edges":[[0,1],[1,2],[2,3]]}"#,
        &["line 1", "`num_nodes`", "1152921504606846976", "nodes_per_graph = 50000000"],
    );
    assert_bad_row("a.jsonl", r#"{"num_nodes":-3,"edges":[]}"#, &["`num_nodes`", "-3", "negative"]);
    assert_bad_row("a.jsonl", r#"{"edges":[[0,1]]}"#, &["`num_nodes`", "never guessed"]);
    assert_bad_row(
        "a.jsonl",
        r#"{"num_nodes":2,"edges":[],"x":[1]}"#,
        &["`node_features`", "1 rows", "2 rows"],
    );
    // graph6: "~~" announces 2^36 − 1 nodes in nine bytes.
    assert_bad_row("a.g6", "~~~~~~~~", &["line 1", "68719476735", "nodes_per_graph"]);
    assert_bad_row("a.s6", ":~~~~~~~~", &["line 1", "68719476735"]);
    let scratch = Scratch::new("counts");
    scratch.write("o/raw/num-node-list.csv", "1152921504606846976\n");
    scratch.write("o/raw/num-edge-list.csv", "0\n");
    let error = open(&scratch.path().join("o"), &ReadOptions::default()).unwrap_err();
    assert_pieces(&error, &["num-node-list.csv, line 1", "1152921504606846976", "nodes_per_graph"]);
    // Fifty million nodes are allowed, but their features have to be there.
    scratch.write("o/raw/num-node-list.csv", "50000000\n");
    scratch.write("o/raw/graph-label.csv", "1\n");
    scratch.write("o/raw/node-feat.csv", "1,2\n");
    scratch.write("o/raw/edge.csv", "");
    let error = open(&scratch.path().join("o"), &ReadOptions::default()).unwrap_err();
    assert_pieces(&error, &["node-feat.csv", "the end after 1 rows", "50000000"]);
}

#[test]
fn deep_and_long_text() {
    let deep = format!("{{\"num_nodes\":1,\"edges\":{}", "[".repeat(1_000_000));
    assert_bad_row("a.jsonl", deep, &["line 1", "json_depth = 64"]);
    let ignored =
        format!("{{\"num_nodes\":1,\"edges\":[],\"other\":{}{}}}", "[".repeat(100), "]".repeat(100));
    assert_bad_row("a.jsonl", ignored, &["line 1", "json_depth = 64"]);
    // A gigabyte on one line, in a megabyte of gzip: refused for its expansion or for the line.
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let megabyte = vec![b'a'; 1 << 20];
    for _ in 0..1024 {
        encoder.write_all(&megabyte).unwrap();
    }
    let error = error_of("a.jsonl.gz", encoder.finish().unwrap());
    assert!(matches!(error, DataError::Limit { name: "line_bytes" | "ratio", .. }), "{error}");
    let columns = "c,".repeat(5_000);
    assert_pieces(&error_of("a.csv", columns), &["line 1", "columns = 4096"]);
}

#[test]
fn damaged_csv() {
    assert_bad_row("a.csv", "smiles,y\nC,1\nCC\n", &["line 3", "1 fields", "2 fields"]);
    assert_bad_row("a.csv", "smiles,y\nC,1,2\n", &["line 2", "3 fields"]);
    assert_pieces(
        &error_of("a.csv", "smiles,y\nC,1\n\"CC,2\nO,3\n"),
        &["line 3", "a quote that is never closed"],
    );
    assert_bad_row("a.csv", "smiles,y\nC\0C,1\n", &["line 2", "`smiles`", "NUL"]);
    assert_bad_row("a.csv", b"smiles,y\nC\xff,1\n", &["line 2", "`smiles`", "UTF-8", "byte 1"]);
    assert_bad_row(
        "a.jsonl",
        b"{\"num_nodes\":1,\"edges\":[],\"id\":\"\xc3\"}",
        &["line 1", "byte 32", "UTF-8"],
    );
    assert_pieces(&error_of("a.csv", ""), &["an empty file", "header"]);
    assert_pieces(&error_of("a.csv", "smiles,smiles\n"), &["this column twice"]);
}

#[test]
fn names_cannot_speak_to_the_terminal() {
    let error = error_of("a.csv", "smiles,y\nC\u{1b}[2J,1\n");
    assert!(!error.to_string().contains('\u{1b}'));
    assert_pieces(&error, &["\\u{1b}"]);
}

#[test]
fn duplicate_ids() {
    let line = r#"{"id":"same","num_nodes":1,"edges":[]}"#;
    assert_bad_row(
        "a.jsonl",
        format!("{line}\n{line}\n"),
        &["line 2", "`same`", "already used in", "line 1"],
    );
    assert_bad_row("a.jsonl", r#"{"id":1,"id":2,"num_nodes":1,"edges":[]}"#, &["`id`", "twice"]);
}

#[test]
fn labels_outside_their_domain() {
    let train = "smiles,y\nC,0\nCC,1\nCCC,2\n";
    let scratch = Scratch::new("labels");
    let schema = open(&scratch.write("a.csv", train), &ReadOptions::default()).unwrap().dataset.schema;
    for (value, is_fine) in [("5", false), ("-1", false), ("0.5", false), ("", true), ("2", true)] {
        let path = scratch.write("b.csv", format!("smiles,y\nC,{value}\n"));
        let result = open(&path, &ReadOptions::with_schema(schema.clone()));
        assert_eq!(result.is_ok(), is_fine, "{value}");
        if let Err(error) = result {
            assert_pieces(&error, &["line 2", "`y`", value, "a class from 0 to 2, or blank"]);
        }
    }
}

#[test]
fn features_that_are_not_finite() {
    for value in ["1e400", "-1e400", "1e39"] {
        let content = format!("{{\"num_nodes\":1,\"edges\":[],\"x\":[[0.5,{value}]]}}");
        let error = error_of("a.jsonl", content);
        assert!(matches!(error, DataError::BadRows { .. }), "{error}");
        assert_pieces(&error, &["line 1"]);
    }
    let scratch = Scratch::new("nan");
    for value in ["nan", "inf", "1e400"] {
        scratch.write("d/nodes.csv", format!("graph_id,node_id,x\n0,0,0.5\n0,1,{value}\n"));
        scratch.write("d/edges.csv", "graph_id,source,destination\n");
        let error = open(&scratch.path().join("d"), &ReadOptions::default()).unwrap_err();
        assert_pieces(&error, &["nodes.csv, line 3, column `x`", "finite"]);
    }
}

#[test]
fn loops_repeated_and_one_way_edges_are_legal() {
    let scratch = Scratch::new("odd");
    let path = scratch.write("a.jsonl", r#"{"num_nodes":2,"edges":[[0,0],[0,1],[0,1]]}"#);
    assert_eq!(open(&path, &ReadOptions::default()).unwrap().dataset.samples[0].graph.num_edges(), 3);
}

#[test]
fn strings_that_are_no_molecules() {
    let limits = Limits::default();
    let long = "(".repeat(100_000);
    let nested = format!("{}C{}", "C(".repeat(900), ")".repeat(900));
    for smiles in [
        "C(((((",
        "[Xx]",
        "C1CC",
        "C%(999)",
        "C%",
        "",
        "   ",
        &long,
        &nested,
        "C)",
        "C==C",
        "[C",
        "]",
        "C[",
        "é",
        "C\0",
        "C1CC2",
        "c1ccccc",
        "[CH999]",
        "[999999999999C]",
        "[C+999]",
        "%%%%",
        "....",
        "C~1",
        "@",
        "[[C]]",
        "C:1:C:1:",
        "C(C)(C)(C)(C)C",
        "1",
        "[C@@@@@H]",
    ] {
        for featurizer in [Featurizer::Ogb, Featurizer::Zinc] {
            // An error, or a molecule that the grammar allows; never a panic.
            let _ = molecule_graph(smiles, featurizer, &limits);
        }
        let _ = scaffold_key(smiles, &limits);
    }
    for (smiles, is_molecule) in [
        ("*", true),
        ("C.O", true),
        ("C[N+](C)(C)[O-]", true),
        ("[O-][n+]1ccccc1", true),
        ("C(((((", false),
        ("[Xx]", false),
        ("C1CC", false),
        ("C(C)(C)(C)(C)C", false),
    ] {
        assert_eq!(molecule_graph(smiles, Featurizer::Ogb, &limits).is_ok(), is_molecule, "{smiles}");
    }
    let too_large = |error: SmilesError| matches!(error, SmilesError::TooLarge { .. });
    assert!(too_large(molecule_graph(&long, Featurizer::Ogb, &limits).unwrap_err()));
    assert!(too_large(molecule_graph(&nested, Featurizer::Ogb, &limits).unwrap_err()));
    assert!(too_large(scaffold_key(&"C".repeat(2_001), &limits).unwrap_err()));
    assert!(too_large(molecule_graph(&"C".repeat(10_001), Featurizer::Ogb, &limits).unwrap_err()));
    assert_bad_row("a.csv", "smiles,y\nC1CC,1\n", &["line 2", "`smiles`", "`C1CC`"]);
}

/// Telling rings apart takes a time that grows with the third power of their number; twenty kilobytes took a minute.
#[test]
fn a_molecule_with_thousands_of_rings_is_refused_before_they_are_told_apart() {
    // Two independent rings, and a third one of the same size, which has to be recognised as dependent.
    let cage = "C12CCC(CC1)CC2";
    let limits = Limits::default();
    let rings = |error: SmilesError| match error {
        SmilesError::TooLarge { what, found, limit } if what.starts_with("rings") => (found, limit),
        other => panic!("{other}"),
    };
    let many = cage.repeat(1200);
    assert!(many.len() < 20_000);
    assert_eq!(rings(molecule_graph(&many, Featurizer::Ogb, &limits).unwrap_err()), (2400, 500));
    assert_eq!(rings(molecule_graph(&many, Featurizer::Zinc, &limits).unwrap_err()), (2400, 500));
    assert_eq!(rings(scaffold_key(&many, &limits).unwrap_err()), (2400, 500));
    // Parts that are not connected are looked at one by one.
    let parts = vec![cage; 300].join(".");
    assert!(molecule_graph(&parts, Featurizer::Ogb, &limits).is_ok());
    let mut strict = limits.clone();
    strict.molecule_rings = 3;
    assert!(molecule_graph(&format!("{cage}CC1CC1"), Featurizer::Ogb, &strict).is_ok());
    let error = molecule_graph(&format!("{cage}CC1CC1C1CC1"), Featurizer::Ogb, &strict).unwrap_err();
    assert_eq!(rings(error), (4, 3));
}

/// Any of the wildcards in a ring with an aromatic bond may have a double bond or not: thirty of them have a thousand million ways.
#[test]
fn wildcards_whose_double_bonds_would_be_guessed_for_ever_are_refused() {
    let limits = Limits::default();
    let ring = |wildcards: usize| format!("B1:{}1", "*".repeat(wildcards));
    for smiles in
        [ring(13), ring(30), "B*****B***********#****3*****B*****B**B*****BB:**************3".to_owned()]
    {
        for made in [
            molecule_graph(&smiles, Featurizer::Ogb, &limits).map(|_| ()),
            molecule_graph(&smiles, Featurizer::Zinc, &limits).map(|_| ()),
            scaffold_key(&smiles, &limits).map(|_| ()),
        ] {
            let error = made.unwrap_err().to_string();
            assert!(error.contains("wildcards") && error.contains("12"), "{smiles}: {error}");
        }
    }
    // As many as a person draws are fine, and without aromatic bonds there is nothing to guess.
    for smiles in [ring(12), "*".repeat(40), "*c1c(*)c(*)c(*)c(*)c1*".to_owned()] {
        assert!(
            !matches!(molecule_graph(&smiles, Featurizer::Ogb, &limits), Err(SmilesError::TooLarge { .. })),
            "{smiles}"
        );
    }
}

#[test]
fn skipping_policies_survive_hostile_rows() {
    let scratch = Scratch::new("skip");
    let path = scratch.write("a.jsonl", "{\n[]\n{\"num_nodes\":1,\"edges\":[]}\nnull\n");
    let options = ReadOptions { on_bad_row: OnBadRow::Null, ..ReadOptions::default() };
    let read = open(&path, &options).unwrap();
    assert_eq!(read.report.rows, [None, None, Some(0), None]);
}

#[test]
fn unknown_and_missing_files() {
    let scratch = Scratch::new("unknown");
    let error = open(&scratch.write("a.xyz", ""), &ReadOptions::default()).unwrap_err();
    assert_pieces(&error, &["extension `xyz`", "`.jsonl`", "NAME_A.txt"]);
    let error = open(&scratch.path().join("none.jsonl"), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, DataError::Io(IoError { action: "open", .. })), "{error}");
    let error = open(scratch.path(), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, DataError::UnknownFormat { .. }), "{error}");
    let damaged = scratch.write("b.jsonl.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\0not deflate");
    let error = open(&damaged, &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, DataError::Archive { .. }), "{error:?}");
}

#[test]
fn damage_is_damage_whatever_the_compression() {
    let text: String =
        (0..50).map(|row| format!("{{\"num_nodes\":3,\"edges\":[[0,1],[1,2]],\"y\":{row}.5}}\n")).collect();
    let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(text.as_bytes()).unwrap();
    let zstd =
        ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    let scratch = Scratch::new("flips");
    let read = |name: &str, bytes: &[u8]| open(&scratch.write(name, bytes), &ReadOptions::default());
    let expected = read("a.jsonl", text.as_bytes()).unwrap().dataset;
    for (name, bytes) in [("a.jsonl.gz", gzip.finish().unwrap()), ("a.jsonl.zst", zstd)] {
        assert_eq!(read(name, &bytes).unwrap().dataset, expected);
        for (position, cut) in [(0, false), (bytes.len() / 2, false), (bytes.len() - 3, false), (7, true)] {
            let mut damaged = bytes.clone();
            damaged[position] ^= 0x10;
            damaged.truncate(if cut { position } else { bytes.len() });
            let error = read(name, &damaged).unwrap_err();
            assert!(matches!(error, DataError::Archive { .. }), "{name}, byte {position}: {error:?}");
            assert_pieces(&error, &[name, "the compressed data is damaged"]);
        }
    }
}

/// What reading a line of JSON now says, and whether a run of earlier rules reads it.
fn refused_line(line: &str) -> (String, bool) {
    let scratch = Scratch::new("hostile");
    let path = scratch.write("a.jsonl", line);
    let is_read = |rules| open(&path, &ReadOptions { rules, ..ReadOptions::default() });
    (is_read(6).map_or_else(|error| error.to_string(), |_| String::new()), is_read(5).is_ok())
}

#[test]
fn a_line_without_edges_is_a_bad_row_and_an_empty_list_is_a_graph() {
    for (line, pieces) in [
        (r#"{"num_nodes":2,"y":1.5}"#, &["line 1", "`edges`", "nothing", "[] for a graph without edges"][..]),
        (r#"{"num_nodes":2,"edge_list":[[0,1]],"y":1.5}"#, &["`edges`", "nothing, but `edge_list`"]),
    ] {
        let (error, is_read) = refused_line(line);
        assert_pieces(&error, pieces);
        assert!(is_read, "{line}");
    }
    assert_eq!(refused_line(r#"{"num_nodes":2,"edges":[],"y":1.5}"#), (String::new(), true));
}

#[test]
fn a_thing_with_two_names_is_given_once() {
    let nodes = r#""num_nodes":2,"edges":[[0,1]]"#;
    for (others, one, other) in [
        (r#""num_nodes":2,"y":1"#, r#""edges":[[0,1]]"#, r#""edge_index":[[0],[1]]"#),
        (nodes, r#""node_features":[[1],[2]]"#, r#""x":[[1],[2]]"#),
        (nodes, r#""edge_features":[[1]]"#, r#""edge_attr":[[1]]"#),
        (
            r#""num_nodes":2,"edges":[],"pair_target":[1]"#,
            r#""pairs":[[0,1]]"#,
            r#""edge_label_index":[[0],[1]]"#,
        ),
        (r#""num_nodes":2,"edges":[],"pairs":[[0,1]]"#, r#""pair_target":[1]"#, r#""edge_label":[1]"#),
        (
            r#""num_nodes":2,"edges":[],"node_target":[0,1]"#,
            r#""valid_mask":[true,false]"#,
            r#""val_mask":[false,true]"#,
        ),
    ] {
        for fields in [[one, other], [other, one]] {
            let (error, is_read) = refused_line(&format!("{{{others},{}}}", fields.join(",")));
            assert_pieces(&error, &["line 1", "as well, which is the same thing"]);
            assert!(is_read, "{fields:?}");
        }
        assert_eq!(refused_line(&format!("{{{others},{other}}}")), (String::new(), true));
    }
}
