//! Archives, pickles and arrays made to do harm, or merely damaged: as `hostile.rs`, of what is imported.

mod common;

use common::{Scratch, assert_pieces};
use graphminnet_data::import::import;
use graphminnet_data::registry::find;
use graphminnet_data::{DataError, ReadOptions};

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
