//! Runs that are started, found and resumed by the command, whatever state they were left in.

mod common;

use common::{Run, Workspace};
use std::fs;
use std::path::Path;

const TINY: &str = "--set model.hidden=8 --set model.layers=2 --set model.lap_dim=4 --set model.pe_dim=2 \
                    --set train.epochs=2 --set train.batch_size=8 --no-cache --threads 1";

fn rings(arguments: &str) -> String {
    format!("train --generate ring-transfer --graphs 24 {TINY} {arguments}")
}

fn ok(run: Run) -> Run {
    assert_eq!(run.code, 0, "{run:?}");
    run
}

fn weights(workspace: &Workspace, run: &str) -> Vec<u8> {
    workspace.read(&format!("{run}/seed-0/last.gmn"))
}

#[test]
fn what_is_prepared_may_stay_on_disk_and_the_weights_are_the_same() {
    let workspace = Workspace::new();
    let walks = "-q --set model.node_pe=rwse --set model.rwse_steps=5 --seeds 0,1";
    ok(workspace.run(&rings(&format!("{walks} --run-dir memory"))));
    let cached = rings("").replace("--no-cache", "--prepared-on-disk");
    ok(workspace.run(&format!("{cached} {walks} --run-dir disk")));
    assert_eq!(weights(&workspace, "disk"), weights(&workspace, "memory"));
    for file in ["seed-0/test_predictions.csv", "ensemble.json"] {
        assert_eq!(
            workspace.read(&format!("disk/{file}")),
            workspace.read(&format!("memory/{file}")),
            "{file}"
        );
    }
    // A run does not remember it.
    ok(workspace.run(&format!("{cached} {walks} --set train.epochs=1 --run-dir begun")));
    ok(workspace.run("train -q --resume begun"));
    let refused = workspace.run(&rings(&format!("{walks} --prepared-on-disk")));
    assert!(refused.code == 2 && refused.stderr.contains("--no-cache"), "{refused:?}");
    let parts = workspace.run(&format!("{cached} --set train.pieces=2 --run-dir pieces"));
    assert!(parts.code != 0 && parts.stderr.contains("train.pieces"), "{parts:?}");
}

/// What a process leaves behind that is killed, or out of space, before its directory is a run.
fn left_behind(workspace: &Workspace, name: &str) {
    fs::create_dir(workspace.path(name)).unwrap();
    for file in ["lock", "splits.json", "data.json", "run.toml.tmp-77"] {
        workspace.write(&format!("{name}/{file}"), "");
    }
}

#[test]
fn a_directory_that_holds_no_run_yet_is_simply_started() {
    let workspace = Workspace::new();
    ok(workspace.run(&rings("-q --run-dir whole")));
    left_behind(&workspace, "first");
    ok(workspace.run(&rings("-q --run-dir first")));
    assert_eq!(weights(&workspace, "first"), weights(&workspace, "whole"));
    // The same line starts a run and resumes it.
    left_behind(&workspace, "second");
    for _ in 0..2 {
        ok(workspace.run(&rings("-q --resume second")));
        assert_eq!(weights(&workspace, "second"), weights(&workspace, "whole"));
    }
    let other = workspace.run(&rings("-q --resume second --set train.learning_rate=0.5"));
    assert!(other.code == 3 && other.stderr.contains("the configuration changed"), "{other:?}");
    assert!(other.stderr.contains("now train.learning_rate = 0.5"), "{other:?}");
    // Without the arguments nobody knows what to start.
    left_behind(&workspace, "third");
    let unknown = workspace.run("train --resume third");
    assert!(unknown.code == 2 && unknown.stderr.contains("holds no run"), "{unknown:?}");
    assert!(unknown.stderr.contains("--run-dir"), "{unknown:?}");
}

#[test]
fn a_run_that_ended_before_its_data_was_prepared_goes_on() {
    let workspace = Workspace::new();
    ok(workspace.run(&rings("-q --run-dir whole")));
    fs::create_dir(workspace.path("early")).unwrap();
    for file in ["run.toml", "started.json"] {
        fs::copy(workspace.path("whole").join(file), workspace.path("early").join(file)).unwrap();
    }
    ok(workspace.run("train -q --no-cache --resume early"));
    assert_eq!(weights(&workspace, "early"), weights(&workspace, "whole"));
    assert_eq!(workspace.read("early/data.json"), workspace.read("whole/data.json"));
}

/// A limit of nothing makes the first byte fail that is written, as a full disk does.
#[cfg(unix)]
#[test]
fn a_disk_that_is_full_from_the_start_leaves_nothing_in_the_way() {
    let workspace = Workspace::new();
    let command = workspace.command(&rings("-q --run-dir run"));
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""]).arg(command.get_program());
    let output = limited.args(command.get_args()).current_dir(workspace.path("")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(!workspace.path("run/run.toml").exists());
    ok(workspace.run(&rings("-q --run-dir run")));
}

#[test]
fn a_model_of_a_run_that_is_not_over_is_used_with_a_warning() {
    let workspace = Workspace::new();
    ok(workspace.run(&format!("{} --seeds 0..1", rings("--run-dir run"))));
    ok(workspace.run("data synth ring-transfer -o rings.jsonl --graphs 10"));
    let said = |model: &str| ok(workspace.run(&format!("predict --model {model} --data rings.jsonl"))).stderr;
    assert!(!said("run").contains("not finished") && !said("run/seed-1").contains("not finished"));
    std::fs::remove_file(workspace.path("run/seed-1/result.json")).unwrap();
    assert!(said("run").contains("run is not finished (no result of seed 1)"), "{}", said("run"));
    assert!(said("run/seed-1").contains("the training in run/seed-1 is not finished"));
    assert!(!said("run/seed-0").contains("not finished"));
}

#[test]
fn a_directory_with_something_else_in_it_is_left_alone() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.path("taken")).unwrap();
    workspace.write("taken/thesis.txt", "");
    let refused = workspace.run(&rings("-q --run-dir taken"));
    assert!(refused.code == 2 && refused.stderr.contains("thesis.txt"), "{refused:?}");
    assert_eq!(fs::read_dir(workspace.path("taken")).unwrap().count(), 1);
}

#[test]
fn the_parent_of_several_runs_resumes_all_that_are_not_done() {
    let workspace = Workspace::new();
    for run in ["runs/a", "runs/b", "runs/c"] {
        ok(workspace.run(&rings(&format!("-q --run-dir {run}"))));
    }
    let expected = weights(&workspace, "runs/a");
    // One was never begun, one lost its end.
    fs::remove_dir_all(workspace.path("runs/b/seed-0")).unwrap();
    fs::remove_file(workspace.path("runs/c/seed-0/result.json")).unwrap();
    fs::remove_file(workspace.path("runs/c/seed-0/last.gmn")).unwrap();
    let resumed = ok(workspace.run("train --no-cache --resume runs"));
    assert!(resumed.stderr.contains("resuming runs/b") && resumed.stderr.contains("resuming runs/c"));
    assert!(!resumed.stderr.contains("resuming runs/a"), "{resumed:?}");
    assert_eq!(resumed.stdout.matches("run: runs/").count(), 3, "{resumed:?}");
    for run in ["runs/b", "runs/c"] {
        assert_eq!(weights(&workspace, run), expected, "{run}");
    }
    // One that cannot go on is told, and the others do.
    fs::remove_file(workspace.path("runs/a/seed-0/result.json")).unwrap();
    fs::write(workspace.path("runs/a/seed-0/state/CURRENT"), "nowhere").unwrap();
    for state in fs::read_dir(workspace.path("runs/a/seed-0/state")).unwrap().flatten() {
        let _ = fs::remove_file(state.path().join("model.safetensors"));
    }
    fs::remove_file(workspace.path("runs/b/seed-0/result.json")).unwrap();
    let failed = workspace.run("train --no-cache --resume runs");
    assert!(failed.code == 4 && failed.stderr.contains("runs/a"), "{failed:?}");
    assert!(workspace.path("runs/b/seed-0/result.json").is_file(), "{failed:?}");
    fs::create_dir(workspace.path("empty")).unwrap();
    assert_eq!(workspace.run("train --resume empty").code, 2);
}

#[test]
fn what_a_run_that_goes_on_cannot_take_is_refused() {
    let workspace = Workspace::new();
    ok(workspace.run(&rings("-q --run-dir run")));
    for argument in ["--set train.epochs=9", "--seeds 0..4", "--split random"] {
        let refused = workspace.run(&format!("train --resume run {argument}"));
        assert_eq!(refused.code, 2, "{argument}: {refused:?}");
    }
}

/// Paths whose edges are written once.
fn write_paths(path: &Path) {
    let mut text = String::new();
    for graph in 0..40 {
        let nodes = 3 + graph % 5;
        let edges: Vec<String> = (1..nodes).map(|node| format!("[{},{node}]", node - 1)).collect();
        let features: Vec<String> =
            (0..nodes).map(|node| format!("[{}.5]", (node * 7 + graph) % 4)).collect();
        text.push_str(&format!(
            "{{\"num_nodes\":{nodes},\"edges\":[{}],\"node_features\":[{}],\"target\":{}.25}}\n",
            edges.join(","),
            features.join(","),
            graph % 3
        ));
    }
    fs::write(path, text).unwrap();
}

#[test]
fn a_tuned_model_reads_new_data_as_a_trained_one_of_the_same_settings_does() {
    let workspace = Workspace::new();
    write_paths(&workspace.path("paths.jsonl"));
    let both = format!("--data paths.jsonl --edges both-ways -q {TINY} --set model.hidden=32");
    ok(workspace.run(&format!("train {both} --run-dir trained --set train.learning_rate=0.002")));
    let search = "--search train.learning_rate=[0.002] --trials 1";
    ok(workspace.run(&format!("tune {both} --run-dir search {search}")));
    // The finished search says the same to people and to programs: candidate 1 of 1.
    let shown = ok(workspace.run(&format!("tune {both} --run-dir search {search}"))).stdout;
    assert_eq!(shown.lines().nth(2).unwrap().split_whitespace().next(), Some("1"), "{shown}");
    let told = ok(workspace.run(&format!("tune {both} --run-dir search {search} --json"))).json();
    assert_eq!(told[0]["number"], 1, "{told}");
    let predicted =
        |model: &str| ok(workspace.run(&format!("predict --model {model} --data paths.jsonl"))).stdout;
    let expected = predicted("trained");
    let distinct: std::collections::HashSet<&str> =
        expected.lines().filter_map(|line| line.split(',').nth(1)).collect();
    assert!(distinct.len() > 10, "a model that says the same of all graphs tells nothing: {expected}");
    assert_eq!(predicted("search/candidate-0000"), expected);
    // A candidate is a run like any other.
    assert!(
        String::from_utf8(workspace.read("search/candidate-0000/started.json")).unwrap().contains("tune")
    );
}

#[test]
fn a_search_says_what_is_wrong_with_it() {
    let workspace = Workspace::new();
    write_paths(&workspace.path("paths.jsonl"));
    let small = "--set model.hidden=8 --set train.epochs=1 --no-cache";
    let tune = |more: &str| workspace.run(&format!("tune --data paths.jsonl -q {small} --trials 2 {more}"));
    for (more, expected) in [
        ("--search model.layers=1.5..2 --run-dir a", "none of 2 candidates could be trained"),
        ("--search model.layers=1..2 --search model.layers=2..3 --run-dir b", "every field once"),
        ("--search model.layers=1..2 --set model.layers=1 --run-dir c", "--set and searched by --search"),
    ] {
        let run = tune(more);
        assert!(run.code == 2 && run.stderr.contains(expected), "{more}: {run:?}");
    }
    ok(tune("--search model.layers=1..2 --run-dir d"));
    let run = tune("--search model.layers=1..3 --run-dir d");
    assert!(run.code != 0 && run.stderr.contains("model.layers=1..2"), "{run:?}");
    assert!(run.stderr.len() < 400, "what differs, and not all that is alike: {run:?}");
}

#[test]
fn without_a_validation_part_patience_ends_nothing() {
    let workspace = Workspace::new();
    let rows = (0..24)
        .map(|row| format!("{}O,{}.5,{}\n", "C".repeat(1 + row % 5), row % 5, ["train", "test"][row % 2]));
    workspace.write("m.csv", format!("smiles,y,split\n{}", rows.collect::<String>()));
    ok(workspace.run(&format!(
        "train --data m.csv --target y -q {TINY} --set train.epochs=5 --set train.patience=1 --run-dir run"
    )));
    let result: serde_json::Value =
        serde_json::from_slice(&workspace.read("run/seed-0/result.json")).unwrap();
    assert_eq!(result["epochs"], 5, "{result}");
}

#[test]
fn an_ensemble_of_split_nodes_is_measured_on_their_part() {
    let workspace = Workspace::new();
    let (mut features, mut labels) = (Vec::new(), Vec::new());
    for node in 0..60u32 {
        features.push(format!("[{}.5]", node * 7 % 5));
        labels.push(format!("[{}]", (node * 7 % 5 + node % 2) % 3));
    }
    let edges: Vec<String> = (0..60).map(|node| format!("[{node},{}]", (node + 1) % 60)).collect();
    workspace.write(
        "graph.jsonl",
        format!(
            "{{\"id\":\"g\",\"num_nodes\":60,\"edges\":[{}],\"node_features\":[{}],\"target\":[{}]}}\n",
            edges.join(","),
            features.join(","),
            labels.join(",")
        ),
    );
    ok(workspace.run(&format!(
        "train --data graph.jsonl --level node -q {TINY} --set train.epochs=15 --ensemble 2 --run-dir run"
    )));
    let table = |seed: usize| -> Vec<Vec<f64>> {
        let text =
            String::from_utf8(workspace.read(&format!("run/seed-{seed}/test_predictions.csv"))).unwrap();
        let numbers = |line: &str| line.split(',').skip(2).map(|cell| cell.parse().unwrap()).collect();
        text.lines().skip(1).map(numbers).collect()
    };
    // The label, the prediction, then the probabilities.
    let (one, other) = (table(0), table(1));
    let right = one.iter().zip(&other).filter(|(one, other)| {
        let sums: Vec<f64> = one[2..].iter().zip(&other[2..]).map(|(one, other)| one + other).collect();
        let largest = (0..sums.len()).max_by(|a, b| sums[*a].total_cmp(&sums[*b])).unwrap();
        largest as f64 == one[0]
    });
    let expected = right.count() as f64 / one.len() as f64;
    let found: serde_json::Value = serde_json::from_slice(&workspace.read("run/ensemble.json")).unwrap();
    assert_eq!(found["test"].as_f64().unwrap(), expected, "{found}");
}
