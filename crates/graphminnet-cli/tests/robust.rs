//! What a hostile or unlucky surrounding does to the real command: nobody who listens, leftovers, damaged and bloated
//! files, pipes that nobody writes to, a user who has seen enough.
#![cfg(target_os = "linux")]

mod common;

use common::Workspace;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
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
        ("data split rings.jsonl --scheme random -o splits.json", 0),
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
    let run = workspace.run("data split rings.jsonl --scheme random -o splits.json");
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
