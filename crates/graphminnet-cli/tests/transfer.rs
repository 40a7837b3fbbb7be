//! `train --from`: the command around runs that begin with a trained model.

mod common;

use common::{Run, Workspace};

/// Molecules with a number each, and one more element in `more`.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let molecules =
        ["CCO", "CCC", "CCCO", "CCN", "CCCC", "CCCN", "CO", "CCCCO", "CCCCC", "CN", "CCOC", "CCCCN"];
    let table = |end: &str| {
        let rows = molecules.iter().enumerate().map(|(at, smiles)| format!("{smiles}{end},{at}.5\n"));
        format!("smiles,solubility\n{}", rows.collect::<String>())
    };
    workspace.write("first.csv", table(""));
    workspace.write("second.csv", table("Cl"));
    let fields =
        "--set model.hidden=16 --set model.layers=2 --set model.pe_dim=4 --set train.epochs=2 -q --no-cache";
    ok(workspace.run(&format!("train --data first.csv {fields} --run-dir first")));
    workspace
}

fn ok(run: Run) -> Run {
    assert_eq!(run.code, 0, "{run:?}");
    run
}

#[test]
fn a_run_begins_with_a_model_and_says_what_it_took() {
    let workspace = workspace();
    let command = "train --data second.csv --from first --freeze encoders,layers.0 --from-rate 0.1 --set train.epochs=2 --no-cache";
    let run = ok(workspace.run(&format!("{command} --run-dir second")));
    assert!(run.stderr.contains("taken over from best.gmn"), "{run:?}");
    assert!(run.stderr.contains("2 layers of width 16"), "the model is the file's: {run:?}");
    let kept = String::from_utf8(workspace.read("second/run.toml")).unwrap();
    assert!(kept.contains("freeze = [\"encoders\", \"layers.0\"]") && kept.contains("rate = 0.1"), "{kept}");
    let report = String::from_utf8(workspace.read("second/report.html")).unwrap();
    assert!(report.contains("began with") && report.contains("first"), "the card says where it began");
    ok(workspace.run("predict --model second --data second.csv"));
    // The same arguments resume the run; others are another run.
    ok(workspace.run(&format!("{command} --resume second")));
    let other =
        workspace.run(&command.replace("0.1", "0.2").replace("--no-cache", "--no-cache --resume second"));
    assert!(other.code != 0 && other.stderr.contains("the model to begin with changed"), "{other:?}");
}

#[test]
fn a_head_that_read_descriptors_is_replaced_where_there_are_none() {
    let workspace = workspace();
    let command = "train --data second.csv --from first --no-descriptors --set train.epochs=1 --no-cache";
    let run = ok(workspace.run(&format!("{command} --run-dir without")));
    assert!(run.stderr.contains("its descriptors are others"), "{run:?}");
}

#[test]
fn molecules_are_read_in_the_form_of_the_model_to_begin_with() {
    let workspace = workspace();
    let fields = "--set model.hidden=16 --set model.layers=2 --set model.pe_dim=4";
    let common = "--set train.epochs=1 --no-cache";
    ok(workspace.run(&format!(
        "train --data first.csv --add-h --largest-fragment --morgan-counts {fields} {common} --run-dir full"
    )));
    let run = ok(workspace.run(&format!("train --data second.csv --from full {common} --run-dir alike")));
    assert!(!run.stderr.contains("the head is new") && !run.stderr.contains("read otherwise"), "{run:?}");
    let kept = String::from_utf8(workspace.read("alike/run.toml")).unwrap();
    for field in ["add_hydrogens = true", "largest_fragment = true", "morgan_counts = true"] {
        assert!(kept.contains(field), "{kept}");
    }
    assert!(kept.contains("ignore_stereo = false"), "{kept}");
    // What is asked for beside it is named, and the head is kept: it reads the same descriptors.
    let command =
        format!("train --data second.csv --from first --ignore-stereo --add-h {common} --run-dir other");
    let run = ok(workspace.run(&command));
    let expected = "with hydrogens as atoms (--add-h), with stereo left out (--ignore-stereo)";
    assert!(run.stderr.contains(expected) && !run.stderr.contains("the head is new"), "{run:?}");
}

#[test]
fn what_cannot_be_begun_with_is_refused_before_training() {
    let workspace = workspace();
    ok(workspace.run("train --data first.csv --set model.hidden=16 --set model.layers=1 --set model.pe_dim=4 --set train.epochs=1 --seeds 0..1 -q --no-cache --run-dir several"));
    workspace.write("text.gmn", "no model");
    for (arguments, expected) in [
        ("--data second.csv --from nothing.gmn", "nothing.gmn"),
        ("--data second.csv --from text.gmn", "text.gmn"),
        ("--data second.csv --from several", "name one of them"),
        ("--data second.csv --from several/ensemble.gmn", "2 models"),
        ("--data second.csv --from first --freeze neck", "cannot be frozen"),
        ("--data second.csv --from first --from-rate 3", "1 at most"),
        ("--data second.csv --from first --set model.hidden=32", "leave out the settings of the model"),
        ("--data second.csv --freeze encoders", "--from"),
        ("--from first", "on which data"),
        ("--resume first --from first", "stays as it was started"),
    ] {
        let run = workspace.run(
            &format!("train {arguments} --set train.epochs=1 --no-cache --run-dir refused").replace(
                "--resume first --from first --set train.epochs=1 --no-cache --run-dir refused",
                "--resume first --from first",
            ),
        );
        assert!(run.code != 0 && run.stderr.contains(expected), "{arguments}: {run:?}");
        // A wrong name does not stand in the way of the right one.
        assert!(!arguments.contains("--freeze") || !workspace.path("refused").exists(), "{arguments}");
        let _ = std::fs::remove_dir_all(workspace.path("refused"));
    }
}

#[test]
fn a_start_that_may_know_the_test_part_is_said() {
    let workspace = workspace();
    let begin = |data: &str, more: &str, name: &str| {
        let run = ok(workspace.run(&format!(
            "train --data {data} --from first --set train.epochs=1 --no-cache {more} --run-dir {name}"
        )));
        run.stderr.contains("in other parts")
    };
    assert!(!begin("first.csv", "", "same"));
    assert!(begin("first.csv", "--split random --split-seed 5", "parts"));
    assert!(!begin("second.csv", "--split random --split-seed 5", "data"));
}
