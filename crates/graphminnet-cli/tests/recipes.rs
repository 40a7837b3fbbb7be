//! Recipes of one's own: written, checked, and trained with on any data.

mod common;

use common::{Run, Workspace};

const MOLECULES: &str = "smiles,solubility\nCCO,1.0\nCCC,-0.5\nCCCO,0.7\nCCN,0.9\nCCCC,-0.9\nCCCN,0.6\nCO,1.2\n\
                         CCCCO,0.3\nCCCCC,-1.2\nCN,1.1\nCCOC,0.8\nCCCCN,0.2\n";

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("molecules.csv", MOLECULES);
    workspace
}

fn ok(run: Run) -> Run {
    assert_eq!(run.code, 0, "{run:?}");
    run
}

#[test]
fn a_recipe_written_for_a_file_trains_as_the_file_alone_does() {
    let workspace = workspace();
    ok(workspace.run("recipe new --data molecules.csv -o own.toml"));
    assert!(
        String::from_utf8_lossy(&workspace.read("own.toml")).contains("graph_in = 12"),
        "descriptors belong to the shape"
    );
    let checked = ok(workspace.run("recipe check own.toml"));
    assert!(checked.stdout.contains("own.toml: valid; 4 layers of width"), "{checked:?}");
    let shorter = "--set train.epochs=2 --no-cache -q";
    ok(workspace.run(&format!("train --data molecules.csv {shorter} --run-dir alone")));
    ok(workspace.run(&format!("train --data molecules.csv --config own.toml {shorter} --run-dir own")));
    assert_eq!(workspace.read("own/seed-0/last.gmn"), workspace.read("alone/seed-0/last.gmn"));
    // What exists is not written over.
    assert_ne!(workspace.run("recipe new --data molecules.csv -o own.toml").code, 0);
}

#[test]
fn a_short_recipe_changes_what_it_names() {
    let workspace = workspace();
    workspace.write(
        "own.toml",
        "[model]\nlayers = 1\nhidden = 32\n[train]\nepochs = 2\nwarmup = 1\nloss = \"huber\"\n",
    );
    let run = ok(workspace.run("train --data molecules.csv --config own.toml --no-cache --run-dir own"));
    assert!(run.stderr.contains("1 layer of width 32") && run.stderr.contains("loss huber"), "{run:?}");
    // On its own it does not say what to train on.
    let alone = workspace.run("train --config own.toml");
    assert!(alone.code == 2 && alone.stderr.contains("--data"), "{alone:?}");
}

#[test]
fn a_mistake_in_a_recipe_is_named_with_its_file() {
    let workspace = workspace();
    for (text, expected) in [
        ("[model]\nlayer = 2\n", "did you mean `layers`"),
        ("[model]\nlayers = 0\n", "must be at least 1"),
        ("[modle]\n", "modle"),
        ("[model\n", "TOML"),
        ("[model]\nlayers = \"two\"\n", "model.layers"),
    ] {
        workspace.write("own.toml", text);
        for command in
            ["recipe check own.toml", "recipe show own.toml", "train --data molecules.csv --config own.toml"]
        {
            let run = workspace.run(command);
            assert!(run.code == 2 && run.stderr.contains(expected), "{command}: {run:?}");
            // Whether a value is possible is known when the data is, which has an error of its own.
            let known_early = command.starts_with("recipe") || !expected.contains("at least");
            assert!(!known_early || run.stderr.contains("own.toml"), "{command}: {run:?}");
        }
    }
    assert!(workspace.run("recipe show zink").stderr.contains("zinc"));
}

#[test]
fn a_short_recipe_may_name_what_fits_the_data_alone() {
    let workspace = Workspace::new();
    let rows: String = (0..12).map(|at| format!("{}O,{}\n", "C".repeat(at + 1), at % 2)).collect();
    workspace.write("classes.csv", format!("smiles,active\n{rows}"));
    workspace.write("own.toml", "[train]\nmetric = \"average_precision\"\nepochs = 1\nwarmup = 0\n");
    let run = ok(workspace.run("train --data classes.csv --config own.toml --no-cache --run-dir own"));
    assert!(run.stderr.contains("metric average_precision"), "{run:?}");
    workspace.write("own.toml", "[model]\ndrop_gmn_at = \"a\"\n");
    let run = workspace.run("train --data classes.csv --config own.toml --no-cache");
    assert!(run.code == 2 && run.stderr.contains("has no effect"), "{run:?}");
}

#[cfg(feature = "benchmarks")]
#[test]
fn a_built_in_recipe_trains_on_data_of_ones_own() {
    let workspace = workspace();
    let shorter = "--set train.epochs=1 --set model.layers=2 --no-cache";
    let run = ok(workspace.run(&format!("train --recipe zinc --data molecules.csv {shorter} --run-dir own")));
    assert!(run.stderr.contains("the data decides model.") && run.stderr.contains("node_vocab"), "{run:?}");
    let listed = ok(workspace.run("recipe list"));
    assert!(listed.stdout.contains("zinc") && listed.stdout.lines().count() == 10, "{listed:?}");
    // The text of a recipe is a recipe.
    let shown = ok(workspace.run("recipe show zinc"));
    workspace.write("zinc2.toml", &shown.stdout);
    assert_eq!(ok(workspace.run("recipe show zinc2.toml")).stdout, shown.stdout);
    let missing = workspace.run("train --config zinc2.toml");
    assert!(missing.stderr.contains("ZINC") || missing.stderr.contains("zinc"), "{missing:?}");
}
