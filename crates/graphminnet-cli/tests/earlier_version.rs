//! Files that version 0.1 wrote stay of use: its model predicts, and its run that was killed half way ends, with the
//! same bits as in that version.
//!
//! `fixtures/version-0.1` was written by that version: `model.gmn`, `killed` (a run that got SIGKILL in its seventh
//! epoch of twelve) and, under `expected`, what that version predicted and what the same run gave undisturbed.

mod common;

use common::Workspace;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/version-0.1").join(name)
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn version_0_1() -> Workspace {
    let workspace = Workspace::new();
    copy_folder(&fixture("."), &workspace.path("."));
    workspace
}

#[test]
fn a_model_of_version_0_1_predicts_the_same_bits() {
    let run = version_0_1().run("predict --model model.gmn --data molecules.csv");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.stdout, fs::read_to_string(fixture("expected/predictions.csv")).unwrap());
}

#[test]
fn a_run_of_version_0_1_that_was_killed_resumes_to_the_same_bits() {
    let workspace = version_0_1();
    let resumed = workspace.run("train --resume killed --no-cache");
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let run = workspace.path("killed");

    let (now, then) = (json(&run.join("seed-0/result.json")), json(&fixture("expected/result.json")));
    for weights in ["best_weights_sha256", "last_weights_sha256"] {
        assert!(then[weights].is_string());
        assert_eq!(now[weights], then[weights], "{weights}");
    }
    assert_eq!(
        fs::read_to_string(run.join("seed-0/test_predictions.csv")).unwrap(),
        fs::read_to_string(fixture("expected/test_predictions.csv")).unwrap()
    );
    let lines = |path: &Path| -> Vec<Value> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let now = lines(&run.join("seed-0/metrics.jsonl"));
    let then = lines(&fixture("expected/metrics.jsonl"));
    assert_eq!(now.len(), then.len());
    for (now, then) in now.iter().zip(&then) {
        for (key, value) in then.as_object().unwrap() {
            if !["seconds", "graphs_per_second"].contains(&key.as_str()) {
                assert_eq!(&now[key], value, "{key} of {then}");
            }
        }
    }
}
