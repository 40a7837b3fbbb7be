//! What a hostile or unlucky surrounding does to the real command: nobody who listens, leftovers, damaged and bloated
//! files, pipes that nobody writes to, a user who has seen enough.
#![cfg(target_os = "linux")]

mod common;

use common::Workspace;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

/// A workspace with rings to train on, and the arguments of a training of two epochs.
fn with_rings() -> (Workspace, &'static str) {
    let workspace = Workspace::new();
    let made = workspace.run("data synth ring-transfer --graphs 40 -o rings.jsonl");
    assert_eq!(made.code, 0, "{made:?}");
    let training = "train --data rings.jsonl --no-cache --run-dir run --set train.epochs=2 \
                    --set model.hidden=16 --set model.layers=1 --set model.lap_dim=4 --set model.pe_dim=4";
    (workspace, training)
}

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

/// A pipe whose reader is gone, as after `| head`.
fn unread() -> Stdio {
    std::io::pipe().unwrap().1.into()
}

#[test]
fn training_goes_on_when_its_words_cannot_be_written() {
    for (stdout, stderr, code) in [(unread(), unread(), 0), (full(), full(), 4), (Stdio::null(), full(), 0)] {
        let (workspace, training) = with_rings();
        let status = workspace.command(training).stdout(stdout).stderr(stderr).status().unwrap();
        assert_eq!(status.code(), Some(code));
        for file in ["run/summary.json", "run/report.html", "run/seed-0/result.json", "run/seed-0/best.gmn"] {
            assert!(workspace.path(file).is_file(), "{file}");
        }
    }
}

#[test]
fn every_command_survives_a_full_standard_error() {
    let (workspace, training) = with_rings();
    assert_eq!(workspace.run(training).code, 0);
    for (arguments, code) in [
        ("data check rings.jsonl", 0),
        ("data convert rings.jsonl rings.g6", 0),
        ("data split rings.jsonl --split random -o splits.json", 0),
        ("prepare --data rings.jsonl", 0),
        ("predict --model run --data rings.jsonl -o predicted.csv", 0),
        ("explain --model run --data rings.jsonl --limit 1 -o explained", 0),
        ("cache ls", 0),
        ("data check missing.jsonl", 4),
        ("train --data rings.jsonl --threads 0", 2),
    ] {
        let status = workspace.command(arguments).stdout(Stdio::null()).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{arguments}");
    }
}

#[test]
fn what_a_killed_process_left_behind_is_removed_and_in_nobodys_way() {
    let (workspace, _) = with_rings();
    let old = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    for (name, age) in [("splits.json.tmp-1", old), ("splits.json.tmp-1-0123456789abcdef", SystemTime::now())]
    {
        workspace.write(name, "half");
        File::options().write(true).open(workspace.path(name)).unwrap().set_modified(age).unwrap();
    }
    let run = workspace.run("data split rings.jsonl --split random -o splits.json");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(workspace.path("splits.json").is_file());
    assert!(!workspace.path("splits.json.tmp-1").exists());
    assert!(workspace.path("splits.json.tmp-1-0123456789abcdef").exists(), "it may be in use");
}

#[test]
fn results_go_to_devices_and_never_through_links() {
    let (workspace, training) = with_rings();
    assert_eq!(workspace.run(training).code, 0);
    let predict =
        |output: &str| workspace.run(&format!("predict --model run --data rings.jsonl -o {output}"));
    assert_eq!(predict("/dev/null").code, 0);
    assert!(!Path::new("/dev/null").is_file());
    let run = predict("/dev/stdout");
    assert_eq!((run.code, run.stdout.lines().count() > 40), (0, true), "{run:?}");
    workspace.write("precious", "precious");
    std::os::unix::fs::symlink(workspace.path("precious"), workspace.path("out.csv")).unwrap();
    assert_eq!(predict("out.csv").code, 0);
    assert_eq!(workspace.read("precious"), b"precious");
    assert!(workspace.path("out.csv").symlink_metadata().unwrap().is_file());
}

#[test]
fn a_pipe_that_nobody_writes_to_is_refused_at_once() {
    let (workspace, training) = with_rings();
    assert_eq!(workspace.run(training).code, 0);
    for name in ["pipe.jsonl", "pipe.csv", "pipe.g6", "pipe.gmn", "pipe.toml"] {
        let made = Command::new("mkfifo").arg(workspace.path(name)).status().unwrap();
        assert!(made.success());
    }
    // A command that waits for a writer is ended by `timeout`, with 124.
    for (arguments, code) in [
        ("data check pipe.jsonl", 4),
        ("data check pipe.csv", 4),
        ("data check pipe.g6", 4),
        ("train --data pipe.jsonl", 4),
        ("train --data rings.jsonl --split pipe.jsonl", 4),
        ("predict --model run --data pipe.jsonl", 4),
        ("predict --model pipe.gmn --data rings.jsonl", 4),
        ("inspect --config pipe.toml", 2),
    ] {
        let mut command = Command::new("timeout");
        command.arg("20").arg(env!("CARGO_BIN_EXE_graphminnet")).args(arguments.split_whitespace());
        let output = command.current_dir(workspace.path("")).stdin(Stdio::null()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments}: {stderr}");
        assert!(
            stderr.contains("it is a pipe or a device, expected a regular file"),
            "{arguments}: {stderr}"
        );
    }
}

#[test]
fn a_pipe_that_the_shell_hands_over_is_read() {
    let (workspace, _) = with_rings();
    let graphmin = env!("CARGO_BIN_EXE_graphminnet");
    let script = format!("cat rings.jsonl | {graphmin} data check --format jsonl /dev/stdin");
    let output = Command::new("sh").args(["-c", &script]).current_dir(workspace.path("")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("graphs      40"));
}

#[test]
fn a_file_without_graphs_is_not_sound() {
    let workspace = Workspace::new();
    workspace.write("empty.jsonl", "");
    workspace.write("blank.jsonl", "\n\n");
    workspace.write("header.csv", "smiles,y\n");
    workspace.write("empty.g6", "");
    for file in ["empty.jsonl", "blank.jsonl", "header.csv", "empty.g6"] {
        let run = workspace.run(&format!("data check {file}"));
        assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{run:?}");
        assert!(run.stderr.contains(&format!("{file}: found no graphs, expected at least one")), "{run:?}");
    }
}

/// Interrupts a process as Ctrl-C does, and gives its exit code and the rest of what it says.
fn interrupted(mut child: Child, mut stderr: impl Read) -> (Option<i32>, String) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let mut text = String::new();
    stderr.read_to_string(&mut text).unwrap();
    (child.wait().unwrap().code(), text)
}

#[test]
fn an_interrupt_while_reading_ends_the_command_at_once() {
    let (workspace, _) = with_rings();
    for arguments in [
        "train --data /dev/stdin --format jsonl --run-dir run",
        "tune --data /dev/stdin --format jsonl --run-dir run --search model.layers=1..2",
        "prepare --data /dev/stdin --format jsonl",
    ] {
        let mut child = workspace.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let (mut input, stderr) = (child.stdin.take().unwrap(), child.stderr.take().unwrap());
        // More than a pipe holds: once it is written, the command is reading.
        let line = [b'\n'; 1 << 20];
        input.write_all(&line).unwrap();
        let (code, text) = interrupted(child, stderr);
        assert_eq!((code, text.as_str()), (Some(130), "interrupted\n"), "{arguments}");
        assert!(!workspace.path("run").exists());
    }
}

#[test]
fn an_interrupt_during_preparation_is_answered_before_training_begins() {
    let workspace = Workspace::new();
    // A ring with far chords, whose eigenpairs take a while, among triangles.
    let nodes = 20_000u64;
    let edges: Vec<String> = (0..nodes)
        .flat_map(|node| [(node + 1) % nodes, node * 7919 % nodes].map(|other| format!("[{node},{other}]")))
        .collect();
    let mut lines = format!("{{\"num_nodes\":{nodes},\"edges\":[{}],\"target\":0.5}}\n", edges.join(","));
    for number in 0..9 {
        lines += &format!("{{\"num_nodes\":3,\"edges\":[[0,1],[1,2],[2,0]],\"target\":{number}.5}}\n");
    }
    workspace.write("large.jsonl", lines);
    let training = "train --data large.jsonl --no-cache --run-dir run --set model.lap_dim=60";
    let mut child = workspace.command(training).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    // The last thing that is said before the graphs are prepared.
    while !said.contains("  model: ") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
    }
    let (code, text) = interrupted(child, stderr);
    assert_eq!(code, Some(130), "{said}{text}");
    assert!(text.contains("interrupted") && !workspace.path("run/seed-0").exists(), "{said}{text}");
}

/// Commands that read data, and their sub-commands.
const READERS: [&str; 14] = [
    "train",
    "tune",
    "predict",
    "evaluate",
    "embed",
    "explain",
    "report",
    "prepare",
    "data check",
    "data convert",
    "data links",
    "data split",
    "data stats",
    "data import",
];

#[test]
fn every_command_that_reads_can_be_given_more_memory_and_other_limits() {
    let workspace = Workspace::new();
    for command in READERS {
        let help = workspace.run(&format!("{command} --help")).stdout;
        assert!(help.contains("--memory <SIZE>") && help.contains("--read-limit <NAME=NUMBER>"), "{command}");
    }
    let wrong = workspace.run("data check a.jsonl --read-limit patience=1");
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.stderr.contains("unknown field `patience`, expected one of `nodes_per_graph`"),
        "{wrong:?}"
    );
}

#[test]
fn the_error_names_an_option_that_helps() {
    let (workspace, training) = with_rings();
    assert_eq!(workspace.run(training).code, 0);
    for command in [
        "data check rings.jsonl",
        "data convert rings.jsonl other.jsonl --force",
        "prepare --data rings.jsonl",
        "evaluate --model run --data rings.jsonl",
        "predict --model run --data rings.jsonl -o out.csv",
        "embed --model run --data rings.jsonl -o out.csv",
        "train --data rings.jsonl --run-dir other --set train.epochs=1 --set model.hidden=16 --set model.pe_dim=4",
    ] {
        let refused = workspace.run(&format!("{command} --memory 10kB"));
        assert_eq!(refused.code, 3, "{command}: {refused:?}");
        assert!(refused.stderr.contains("--memory gives it more"), "{command}: {refused:?}");
        let refused = workspace.run(&format!("{command} --read-limit line_bytes=100"));
        assert_eq!(refused.code, 3, "{command}: {refused:?}");
        assert!(refused.stderr.contains("--read-limit line_bytes=NUMBER"), "{command}: {refused:?}");
        let read = workspace.run(&format!("{command} --memory 1GiB --read-limit line_bytes=10000"));
        assert_eq!(read.code, 0, "{command}: {read:?}");
    }
    // A run remembers what it was given, and can be given more.
    let run = std::fs::read_to_string(workspace.path("other/run.toml")).unwrap();
    assert!(run.contains("memory_bytes = 1073741824") && run.contains("line_bytes = 10000"), "{run}");
}

fn gzip(piece: &[u8], times: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..times {
        encoder.write_all(piece).unwrap();
    }
    encoder.finish().unwrap()
}

/// A tar archive with one member of so many equal bytes.
fn tar(name: &str, byte: u8, count: usize) -> Vec<u8> {
    let mut block = vec![0u8; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[124..135].copy_from_slice(format!("{count:011o}").as_bytes());
    block[148..156].copy_from_slice(b"        ");
    block[156] = b'0';
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block.resize(512 + count, byte);
    gzip(&block, 1)
}

#[test]
fn small_files_cannot_take_much_memory() {
    let workspace = Workspace::new();
    std::fs::create_dir_all(workspace.path("lists/a")).unwrap();
    workspace.write("lists/a/one.edgelist", "0 49999999\n");
    workspace.write("rows.csv.gz", [gzip(b"smiles,y\n", 1), gzip(&b"C,1\n".repeat(1 << 18), 100)].concat());
    let cells = format!("{{\"num_nodes\":1,\"edges\":[],\"x\":[[{}0]]}}\n", "0,".repeat(16_000));
    workspace.write("cells.jsonl.gz", gzip(cells.as_bytes(), 5_000));
    let graphs = "{\"num_nodes\":1,\"edges\":[]}\n".repeat(1 << 15);
    workspace.write("graphs.jsonl.gz", gzip(graphs.as_bytes(), 100));
    workspace.write("lists.tar.gz", tar("train.pickle", b']', 50_000_000));
    for (arguments, piece) in [
        ("data check lists", "--read-limit numbering_gap=NUMBER"),
        ("data check rows.csv.gz --memory 256MiB", "--memory gives it more"),
        ("data check cells.jsonl.gz --memory 256MiB", "--memory gives it more"),
        ("data check graphs.jsonl.gz --memory 256MiB", "--memory gives it more"),
        ("data import zinc --from lists.tar.gz --data-dir data --memory 256MiB", "--read-limit ratio=NUMBER"),
        (
            "data import zinc --from lists.tar.gz --data-dir data --memory 256MiB --read-limit ratio=10000",
            "--memory gives it more",
        ),
    ] {
        // An allocation beyond this aborts the process.
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -v 2000000 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_graphminnet")]);
        command.args(arguments.split_whitespace()).current_dir(workspace.path(""));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let code = if arguments == "data check lists" { 1 } else { 3 };
        assert_eq!(output.status.code(), Some(code), "{arguments}: {stderr}");
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stderr.contains(piece) || stdout.contains(piece), "{arguments}: {stdout}{stderr}");
    }
}

#[test]
fn a_file_on_which_a_decoder_panics_is_refused_like_any_damaged_one() {
    let workspace = Workspace::new();
    workspace.copy_fixture("dictionary_without_values.parquet");
    let run = workspace.run("data check dictionary_without_values.parquet");
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("not a sound Parquet file") && !run.stderr.contains("panicked"), "{run:?}");
}
