//! The training queue: what it trains, and that it can be paused, killed and started again.

mod common;

use common::Workspace;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command};

const TINY: [&str; 5] =
    ["model.hidden=24", "model.layers=2", "model.lap_dim=4", "train.epochs=3", "train.batch_size=8"];

fn entry(name: &str, more: &str) -> String {
    let set: Vec<String> = TINY.iter().map(|set| format!("\"{set}\"")).collect();
    let set = set.join(", ");
    format!("[[run]]\nname = \"{name}\"\nrecipe = \"pattern\"\ngraphs = 20\nset = [{set}{more}]\n")
}

fn weights(workspace: &Workspace, run: &str) -> Vec<u8> {
    workspace.read(&format!("{run}/seed-0/last.gmn"))
}

/// The run `whole`, trained without a queue.
fn train_alone(workspace: &Workspace) {
    let set: String = TINY.iter().map(|set| format!(" --set {set}")).collect();
    let run = workspace.run(&format!("train -q --generate pattern --graphs 20 --run-dir whole{set}"));
    assert_eq!(run.code, 0, "{run:?}");
}

fn started(workspace: &Workspace) -> (Child, BufReader<ChildStderr>) {
    let mut child = workspace.command("repro queue list.toml -o out --jobs 1").spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap());
    (child, lines)
}

fn read_until(lines: &mut BufReader<ChildStderr>, what: &str) {
    let mut said = String::new();
    loop {
        let start = said.len();
        assert_ne!(lines.read_line(&mut said).unwrap(), 0, "it ended without `{what}`: {said}");
        if said[start..].contains(what) {
            return;
        }
    }
}

#[test]
fn runs_are_trained_as_train_does_and_one_that_fails_leaves_the_others_alone() {
    let workspace = Workspace::new();
    train_alone(&workspace);
    let diverges = entry("diverges", ", \"train.learning_rate=1e30\"");
    workspace.write("list.toml", format!("{}{diverges}{}", entry("a", ""), entry("b", "")));
    let queue = workspace.run("repro queue list.toml -o out --jobs 2");
    assert_eq!(queue.code, 1, "{queue:?}");
    assert!(queue.stderr.contains("a: done") && queue.stderr.contains("b: done"), "{queue:?}");
    assert!(queue.stderr.contains("diverges: failed") && queue.stderr.contains("1 runs failed"), "{queue:?}");
    let log = String::from_utf8(workspace.read("out/diverges.log")).unwrap();
    assert!(log.contains("not finite"), "{log}");
    for run in ["out/a", "out/b"] {
        assert_eq!(weights(&workspace, run), weights(&workspace, "whole"), "{run}");
    }
    // What is done is not done again.
    workspace.write("list.toml", entry("a", ""));
    let again = workspace.run("repro queue list.toml -o out");
    assert!(again.code == 0 && !again.stderr.contains("started"), "{again:?}");
    assert!(again.stdout.contains("3/3"), "{again:?}");
}

#[test]
fn a_wrong_entry_is_named_before_anything_is_trained() {
    let workspace = Workspace::new();
    workspace.write("list.toml", format!("{}{}", entry("a", ""), entry("b", ", \"train.epoch=3\"")));
    let queue = workspace.run("repro queue list.toml -o out");
    assert!(queue.code == 2 && queue.stderr.contains("run `b` of the queue"), "{queue:?}");
    assert!(!workspace.path("out").exists());
}

#[test]
fn a_file_called_pause_holds_the_queue() {
    let workspace = Workspace::new();
    workspace.write("list.toml", entry("a", ""));
    std::fs::create_dir(workspace.path("out")).unwrap();
    workspace.write("out/pause", "");
    let (mut queue, mut lines) = started(&workspace);
    read_until(&mut lines, "paused 0 runs");
    assert!(!workspace.path("out/a").exists());
    std::fs::remove_file(workspace.path("out/pause")).unwrap();
    read_until(&mut lines, "a: done");
    assert!(queue.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_queue_that_is_ended_saves_its_runs_and_ends_with_the_same_bits() {
    let workspace = Workspace::new();
    train_alone(&workspace);
    workspace.write("list.toml", entry("a", ""));
    let (mut queue, mut lines) = started(&workspace);
    read_until(&mut lines, "a: started");
    let signal = |name: &str, queue: &Child| {
        let killed = Command::new("kill").args([name, &queue.id().to_string()]).status().unwrap();
        assert!(killed.success());
    };
    // A paused run ends too.
    signal("-USR1", &queue);
    read_until(&mut lines, "paused 1 runs");
    signal("-TERM", &queue);
    read_until(&mut lines, "interrupted");
    assert_eq!(queue.wait().unwrap().code(), Some(130));
    let again = workspace.run("repro queue list.toml -o out");
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(weights(&workspace, "out/a"), weights(&workspace, "whole"));
}

#[test]
fn a_second_queue_in_the_same_directory_is_refused() {
    let workspace = Workspace::new();
    workspace.write("list.toml", entry("first", ", \"train.epochs=200\""));
    let (mut child, mut lines) = started(&workspace);
    read_until(&mut lines, "first: started");
    let second = workspace.run("repro queue list.toml -o out --jobs 1");
    assert!(second.code == 4 && second.stderr.contains("another process works on this queue"), "{second:?}");
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_run_cannot_have_the_name_of_a_file_of_the_queue() {
    let workspace = Workspace::new();
    for name in ["pause", "lock", "graphminnet", "a.log"] {
        workspace.write("list.toml", entry(name, ""));
        let refused = workspace.run("repro queue list.toml -o out");
        assert!(refused.code == 2 && refused.stderr.contains("choose another one"), "{refused:?}");
    }
}
