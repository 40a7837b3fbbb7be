//! Files made to do harm, or merely damaged: each gives a typed error that names the place and the value, quickly and
//! without asking for memory that the file does not justify.

mod common;

use common::Scratch;
use flate2::write::GzEncoder;
use graphminnet_data::fs::IoError;
use graphminnet_data::import::import;
use graphminnet_data::registry::find;
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

fn assert_pieces(error: &impl std::fmt::Display, pieces: &[&str]) {
    let text = error.to_string();
    for piece in pieces {
        assert!(text.contains(piece), "`{piece}` is not in: {text}");
    }
}

#[test]
fn edges_out_of_range() {
    for (edge, pieces) in [
        ("[0,2]", &["line 1", "`edges`", "`2`", "2 nodes"][..]),
        ("[0,18446744073709551615]", &["line 1", "`edges`", "18446744073709551615"]),
        ("[-1,0]", &["line 1", "`edges`", "edge 0", "-1"]),
        ("[0,4294967296]", &["line 1", "4294967296"]),
        ("[0,0.5]", &["line 1", "0.5"]),
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

/// One member of a hand-made zip archive.
struct Member<'a> {
    name: &'a str,
    content: &'a [u8],
    declared_size: Option<u32>,
    crc: Option<u32>,
    mode: u32,
}

impl<'a> Member<'a> {
    fn new(name: &'a str, content: &'a [u8]) -> Self {
        Self { name, content, declared_size: None, crc: None, mode: 0o100_644 }
    }
}

/// A zip archive of stored members, with whatever headers are asked for.
fn zip(members: &[Member], claimed_count: Option<u16>) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        let crc = member.crc.unwrap_or_else(|| {
            let mut hasher = flate2::Crc::new();
            hasher.update(member.content);
            hasher.sum()
        });
        let size = member.declared_size.unwrap_or(member.content.len() as u32);
        let common = |bytes: &mut Vec<u8>| {
            bytes.extend([20, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            bytes.extend(crc.to_le_bytes());
            bytes.extend((member.content.len() as u32).to_le_bytes());
            bytes.extend(size.to_le_bytes());
            bytes.extend((member.name.len() as u16).to_le_bytes());
            bytes.extend([0, 0]);
        };
        let offset = out.len() as u32;
        out.extend(b"PK\x03\x04");
        common(&mut out);
        out.extend(member.name.as_bytes());
        out.extend(member.content);
        directory.extend(b"PK\x01\x02\x14\x03");
        common(&mut directory);
        directory.extend([0; 6]);
        directory.extend((member.mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(member.name.as_bytes());
    }
    let (start, size) = (out.len() as u32, directory.len() as u32);
    out.extend(directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    let count = claimed_count.unwrap_or(members.len() as u16);
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(size.to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    out
}

fn import_error(dataset: &str, name: &str, content: Vec<u8>) -> DataError {
    let scratch = Scratch::new("archive");
    let path = scratch.write(name, content);
    let mut options = ReadOptions::default();
    options.limits.memory_bytes = Some(4 << 30);
    import(find(dataset).unwrap(), &[path], &options).expect_err("a hostile archive was accepted")
}

#[test]
fn hostile_zip_archives() {
    let plain = |name| zip(&[Member::new(name, b"x")], None);
    let cases: Vec<(Vec<u8>, &[&str])> = vec![
        (plain("../evil.pt"), &["..", "evil.pt"]),
        (plain("a/../../evil.pt"), &[".."]),
        (plain("/etc/passwd"), &["/etc/passwd", "absolute"]),
        (plain("C:\\evil"), &["not portable"]),
        (
            zip(&[Member { mode: 0o120_777, ..Member::new("link", b"/etc/passwd") }], None),
            &["link", "plain files"],
        ),
        (zip(&[Member { mode: 0o020_666, ..Member::new("tty", b"") }], None), &["tty", "device"]),
        (zip(&[Member::new("a", b"1"), Member::new("a", b"2")], None), &["two members"]),
        (zip(&[Member::new("a", b"1")], Some(60_000)), &["directory does not fit"]),
        (
            zip(&[Member { declared_size: Some(4_000_000_000), ..Member::new("a.pt", b"1") }], None),
            &["ratio"],
        ),
        (zip(&[Member { crc: Some(1), ..Member::new("MNIST_train.pt", b"abc") }], None), &["checksum"]),
        (
            zip(&[Member { declared_size: Some(2), ..Member::new("MNIST_train.pt", b"abc") }], None),
            &["longer than declared"],
        ),
        (b"PK\x05\x06".to_vec(), &["end record is missing"]),
        (Vec::new(), &["end record is missing"]),
    ];
    for (content, pieces) in cases {
        let error = import_error("mnist", "MNIST_v2.zip", content);
        assert!(matches!(error, DataError::Archive { .. } | DataError::Limit { .. }), "{error:?}");
        assert_pieces(&error, pieces);
    }
    // A million members announced by a 64-bit end record.
    let mut many = b"PK\x06\x06".to_vec();
    many.extend([0; 20]);
    many.extend(1_000_000u64.to_le_bytes());
    many.extend(1_000_000u64.to_le_bytes());
    many.extend(46_000_000u64.to_le_bytes());
    many.extend(0u64.to_le_bytes());
    many.extend(b"PK\x06\x07\0\0\0\0");
    many.extend(0u64.to_le_bytes());
    many.extend(1u32.to_le_bytes());
    many.extend(b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0");
    let error = import_error("mnist", "MNIST_v2.zip", many);
    assert_pieces(&error, &["1000000", "members = 100000"]);
}

/// A tar header with a checksum.
fn tar_header(name: &str, size: &str, kind: u8) -> Vec<u8> {
    let mut block = vec![0u8; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[124..124 + size.len()].copy_from_slice(size.as_bytes());
    block[148..156].copy_from_slice(b"        ");
    block[156] = kind;
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

#[test]
fn hostile_tar_archives() {
    let cases: Vec<(Vec<u8>, &[&str])> = vec![
        (tar_header("../a.edgelist", "0", b'0'), &["..", "a.edgelist"]),
        (tar_header("/a.edgelist", "0", b'0'), &["absolute"]),
        (tar_header("a.edgelist", "0", b'2'), &["links and devices"]),
        (tar_header("a.edgelist", "0", b'1'), &["links and devices"]),
        (tar_header("a.edgelist", "0", b'3'), &["links and devices"]),
        (tar_header("a.edgelist", "77777777777", b'0'), &["4294967296 bytes of memory", "--memory"]),
        (tar_header("a.edgelist", "1000", b'0'), &["cut short"]),
        (vec![b'x'; 1024], &["checksum"]),
    ];
    for (content, pieces) in cases {
        let error = import_error("malnet-tiny", "malnet-graphs-tiny.tar", content);
        assert!(matches!(error, DataError::Archive { .. } | DataError::Limit { .. }), "{error:?}");
        assert_pieces(&error, pieces);
    }
}

/// A pickle with one list, given as the file `train.pickle` of the voc data set.
fn pickle_error(instructions: &[u8]) -> DataError {
    import_error("pascalvoc-sp", "train.pickle", instructions.to_vec())
}

#[test]
fn pickles_that_call_something() {
    for (instructions, name) in [
        (&b"cos\nsystem\n(S'true'\ntR."[..], "os.system"),
        (b"cposix\nsystem\n(S'true'\ntR.", "posix.system"),
        (b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x011\x85R.", "builtins.eval"),
        (b"c__builtin__\ngetattr\n.", "__builtin__.getattr"),
        (b"ctorch.hub\nload\n.", "torch.hub.load"),
        (b"cnumpy.f2py.diagnose\nrun\n.", "numpy.f2py.diagnose.run"),
        (b"ctorch._utils\n_rebuild_tensor_v2.__globals__\n.", "__globals__"),
    ] {
        let error = pickle_error(instructions);
        assert!(matches!(error, DataError::Pickle { .. }), "{error:?}");
        assert_pieces(&error, &[name, "not on the list", "byte"]);
    }
    for (instructions, piece) in [
        (&b"(S'true'\nios\nsystem\n."[..], "instruction 0x69"),
        (b"(cos\nsystem\no.", "os.system"),
        (b"\x82\x01.", "instruction 0x82"),
        (b"]N\x85R.", "not an allowed name is called"),
        (b"]}b.", "state is given to something that has none"),
        (b"}]a.", "not a list"),
        (b"]NNs.", "not a dictionary"),
        (b"cnumpy.core.multiarray\n_reconstruct\n(ccollections\nOrderedDict\ntR.", "not allowed"),
    ] {
        assert_pieces(&pickle_error(instructions), &[piece]);
    }
}

#[test]
fn damaged_and_boastful_pickles() {
    for (instructions, piece) in [
        (&b"](N"[..], "ends in the middle"),
        (b"]", "ends in the middle"),
        (b"", "ends in the middle"),
        (b".", "finds none"),
        (b"\x80\x09.", "protocol 9"),
        (b"B\xff\xff\xff\x7fabc.", "2147483647 bytes are declared, 4 are left"),
        (b"\x8e\xff\xff\xff\xff\xff\xff\xff\xffabc.", "bytes are declared"),
        (b"X\xff\xff\xff\x7fabc.", "bytes are declared"),
        (b"\x95\xff\xff\xff\xff\xff\xff\xff\xff.", "frame"),
        (b"h\x07.", "used before it exists"),
        (b"t.", "mark"),
        (b"S'no end", "without an end"),
    ] {
        assert_pieces(&pickle_error(instructions), &["train.pickle, byte", piece]);
    }
    let marks = vec![b'('; 100_000];
    assert_pieces(&pickle_error(&marks), &["pickle_depth = 1024"]);
}

#[test]
fn pickles_that_grow() {
    // The memo bomb: 60 levels of lists, each holding the one before ten times. It stays as small as it is written.
    let mut bomb = b"]q\0".to_vec();
    for level in 0..60u8 {
        bomb.extend([b'0', b']', b'(']);
        for _ in 0..10 {
            bomb.extend([b'h', level]);
        }
        bomb.extend([b'e', b'q', level + 1]);
    }
    bomb.push(b'.');
    let error = pickle_error(&bomb);
    assert!(matches!(error, DataError::Pickle { .. }), "{error:?}");
    // One long text turned into bytes again and again.
    let mut copies = b"c_codecs\nencode\nq\x00X\x00\x00\x10\x00".to_vec();
    copies.extend(vec![b'a'; 1 << 20]);
    copies.extend(b"q\x010X\x06\x00\x00\x00latin1q\x020h\x01h\x02\x86q\x030");
    for _ in 0..100_000 {
        copies.extend(b"h\x00h\x03R0");
    }
    copies.extend(b"].");
    assert_pieces(&pickle_error(&copies), &["repeats its content"]);
}

#[test]
fn arrays_that_are_larger_than_their_bytes() {
    let array = |shape: &[u8], data: &[u8]| {
        let mut bytes =
            b"(cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\0tS'b'\ntR(K\x01".to_vec();
        bytes.extend(shape);
        bytes.extend(b"cnumpy\ndtype\n(S'f8'\nI00\nI01\ntR(I3\nS'<'\nNNNI-1\nI-1\nI0\ntbI00\n");
        bytes.extend(data);
        // The array four times: a graph of arrays.
        bytes.extend(b"tbq\x09h\x09h\x09h\x09tq\x08]h\x08a.");
        bytes
    };
    let good_type = array(b"(I1152921504606846976\nI1152921504606846976\nt", b"C\x02ab");
    assert_pieces(&pickle_error(&good_type), &["an array of shape", "in 2 bytes"]);
    let many_axes = array(&[&b"("[..], &b"K\x01".repeat(20), b"t"].concat(), b"C\x02ab");
    assert_pieces(&pickle_error(&many_axes), &["tensor_rank = 8"]);
    let negative = array(b"(I-1\nt", b"C\x02ab");
    assert_pieces(&pickle_error(&negative), &["a negative extent"]);
}

#[test]
fn tensors_that_leave_their_storage() {
    let torch_file = |count: u8, size: &[u8], stride: &[u8], storage: &[u8]| {
        let mut description =
            b"]ctorch._utils\n_rebuild_tensor_v2\n((S'storage'\nctorch\nFloatStorage\nS'0'\nS'cpu'\nK"
                .to_vec();
        description.push(count);
        description.extend(b"tQK\0");
        description.extend(size);
        description.extend(stride);
        description.extend(b"I00\n}tRq\x01a0(h\x01h\x01h\x01h\x01tq\x02]h\x02a.");
        zip(&[Member::new("archive/data.pkl", &description), Member::new("archive/data/0", storage)], None)
    };
    let error = |content| import_error("peptides-func", "train.pt", content);
    let short = torch_file(4, b"(K\x04t", b"(K\x01t", b"\0\0\0\0");
    assert_pieces(&error(short), &["storage `0` declares 16 bytes and has 4"]);
    let outside = torch_file(1, b"(K\x01t", b"(K\x01t", b"\0\0\0\0");
    assert_pieces(&error(outside), &["expected [2, edges]"]);
    let wide = torch_file(2, b"(K\x02t", b"(K\x07t", &[0; 8]);
    assert_pieces(&error(wide), &["leaves its storage of 2 elements"]);
    let huge = torch_file(2, b"(I1152921504606846976\nt", b"(K\0t", &[0; 8]);
    assert_pieces(&error(huge), &["in a storage of 2 elements"]);
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
