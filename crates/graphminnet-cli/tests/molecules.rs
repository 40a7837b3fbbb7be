//! What chemists do besides one training: cross-validation, descriptors, a search whose winner is trained.

mod common;

use common::{Run, Workspace};
use graphminnet_data::rng::stream;
use graphminnet_data::{ReadOptions, open};
use std::collections::BTreeSet;

const TINY: &str = "--set model.hidden=8 --set model.layers=1 --set model.lap_dim=2 --set model.pe_dim=2 --set train.epochs=2 --no-cache \
                    --threads 1";

fn ok(run: Run) -> Run {
    assert_eq!(run.code, 0, "{run:?}");
    run
}

/// Molecules of several scaffolds with a number that nothing in them tells, a class and a text.
fn table(rows: usize) -> String {
    let mut random = stream(7, "molecules", &[]);
    let mut text = String::from("smiles,weather,y,class,note\n");
    for row in 0..rows {
        let chain = "C".repeat(1 + random.below(5));
        // Forty scaffolds.
        let core =
            format!("C1{}{}1", ["C", "N", "O", "S"][random.below(4)], "C".repeat(1 + random.below(10)));
        let weather = random.normal();
        let class = ["no", "yes"][row % 2];
        text.push_str(&format!(
            "{chain}{core},{weather:.4},{:.4},{class},row {row}\n",
            3.0 * weather + 100.0
        ));
    }
    text
}

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("m.csv", table(60));
    workspace
}

fn parts(workspace: &Workspace, run: &str) -> String {
    String::from_utf8(workspace.read(&format!("{run}/splits.json"))).unwrap()
}

#[test]
fn cross_validation_tests_every_molecule_once_and_resumes_to_the_same_numbers() {
    let workspace = workspace();
    let many = workspace
        .run(&format!("cross-validate --data m.csv --target y --folds 500 {TINY} -q --run-dir many"));
    assert!(many.code == 2 && many.stderr.contains("at most as many as there are graphs"), "{many:?}");
    let command = format!("cross-validate --data m.csv --target y --folds 3 --seeds 0,1 {TINY} -q --run-dir");
    let whole = ok(workspace.run(&format!("{command} whole")));
    assert!(whole.stdout.contains("fold-3") && whole.stdout.contains("over 6 trainings"), "{whole:?}");
    assert!(whole.stdout.contains("seeds together") && whole.stdout.contains(" ± "), "{whole:?}");
    // The folds are runs; without one of them, and with half of another, the same command goes on.
    std::fs::remove_dir_all(workspace.path("whole/fold-2")).unwrap();
    std::fs::remove_dir_all(workspace.path("whole/fold-3/seed-1")).unwrap();
    let before = workspace.read("whole/cross-validation.json");
    ok(workspace.run(&format!("{command} whole")));
    let numbers = |bytes: &[u8]| -> Vec<serde_json::Value> {
        let value: serde_json::Value = serde_json::from_slice(bytes).unwrap();
        value["rounds"].as_array().unwrap().iter().map(|round| round["test"].clone()).collect()
    };
    assert_eq!(numbers(&workspace.read("whole/cross-validation.json")), numbers(&before));
    assert_eq!(numbers(&before).len(), 3);
    let mut tested = Vec::new();
    for fold in 1..=3 {
        let rows = workspace.read(&format!("whole/fold-{fold}/seed-0/test_predictions.csv"));
        let rows = String::from_utf8(rows).unwrap();
        tested.extend(rows.lines().skip(1).map(|row| row.split(',').next().unwrap().to_owned()));
    }
    assert_eq!((tested.len(), tested.iter().collect::<BTreeSet<_>>().len()), (60, 60));
    // Other settings and other splits do not belong there.
    let other = workspace.run(&format!("{command} whole --set train.learning_rate=0.5"));
    assert!(other.code == 3 && other.stderr.contains("the configuration changed"), "{other:?}");
    let other = workspace.run(&format!("{command} whole --split stratified"));
    assert!(other.code == 2 && other.stderr.contains("other data or on another split"), "{other:?}");
}

#[test]
fn replicates_have_seeds_of_their_own_for_every_way_to_split() {
    let workspace = workspace();
    for split in ["random", "stratified", "scaffold", "kmeans"] {
        let run = ok(workspace.run(&format!(
            "cross-validate --data m.csv --target y --split {split} --replicates 2 {TINY} --json --run-dir {split}"
        )));
        assert_eq!(run.json()["rounds"].as_array().unwrap().len(), 2);
    }
    let of = |run: &str| parts(&workspace, run);
    assert_ne!(of("scaffold/split-1"), of("scaffold/split-2"));
    assert_ne!(of("kmeans/split-1"), of("kmeans/split-2"));
    // The same split, asked for by its seed.
    ok(workspace.run(&format!(
        "train --data m.csv --target y --split scaffold --split-seed 1 {TINY} -q --run-dir one"
    )));
    assert_eq!(of("one"), of("scaffold/split-2"));
    ok(workspace.run("data split m.csv --target y --scheme scaffold --seed 1 -o split.json"));
    assert_eq!(String::from_utf8(workspace.read("split.json")).unwrap(), of("one"));
    ok(workspace.run("data split m.csv --target y --scheme kmeans -o split.json"));
    assert_eq!(String::from_utf8(workspace.read("split.json")).unwrap(), of("kmeans/split-1"));
}

#[test]
fn what_cannot_be_cross_validated_is_said() {
    let workspace = workspace();
    for (arguments, code, said) in [
        ("--recipe zinc", 2, "--data"),
        ("--data m.csv --target y --split official", 2, "random, stratified, scaffold or kmeans"),
        ("--data m.csv --target y --folds 2", 2, "3..=1000"),
        ("--data m.csv --target y --folds 3 --replicates 2", 2, "--replicates"),
        ("--data m.csv --target y --seeds 1,1", 2, "--seeds"),
        ("--data missing.csv", 4, "missing.csv"),
    ] {
        let run = workspace.run(&format!("cross-validate {arguments} {TINY}"));
        assert!(run.code == code && run.stderr.contains(said), "{arguments}: {run:?}");
    }
    workspace.write("g.jsonl", "{\"num_nodes\": 2, \"edges\": [[0, 1]], \"target\": 1.5}\n".repeat(9));
    let run = workspace.run(&format!("cross-validate --data g.jsonl --split kmeans {TINY}"));
    assert!(run.code != 0 && !run.stderr.contains("panicked"), "{run:?}");
}

/// The target is a function of the column, and the graphs tell nothing of it.
#[test]
fn a_descriptor_is_learnt_from_kept_and_asked_for_by_name() {
    let workspace = workspace();
    let train = |options: &str, name: &str| {
        let run = ok(workspace.run(&format!(
            "train --data m.csv --target y --no-descriptors --split random {options} --set model.hidden=8 --set model.layers=1 \
             --set model.lap_dim=2 --set train.epochs=60 --set train.learning_rate=0.01 --no-cache --threads 1 --json \
             --run-dir {name}"
        )));
        run.json()["test"]["mean"].as_f64().unwrap()
    };
    let (without, with) = (train("", "without"), train("--descriptors weather", "with"));
    assert!(with < without / 2.0, "{with} with and {without} without the column that tells the answer");
    let predicted = ok(workspace.run("predict --model with --data m.csv"));
    let rows = String::from_utf8(workspace.read("with/seed-0/test_predictions.csv")).unwrap();
    let written = rows.lines().nth(1).unwrap().split(',').nth(2).unwrap().to_owned();
    assert!(predicted.stdout.contains(&written), "{written} is not in {}", predicted.stdout);
    // A file without the column, a cell without a number, a molecule alone.
    workspace.write("without.csv", "smiles\nCCO\n");
    let missing = workspace.run("predict --model with --data without.csv");
    assert!(missing.code == 3 && missing.stderr.contains("`weather`"), "{missing:?}");
    workspace.write("cells.csv", "smiles,weather\nCCO,0.5\nCCN,\nCCC,nan\nCCCl,1e999\nCCF,wet\n");
    let cells = workspace.run("predict --model with --data cells.csv").stdout;
    let reasons = cells.lines().skip(1).filter(|line| line.contains("a finite number (a descriptor)"));
    assert_eq!(reasons.count(), 4, "{cells}");
    let alone = workspace.run("predict --model with --smiles CCO");
    assert!(alone.code == 3 && alone.stderr.contains("`weather`"), "{alone:?}");
    let training = workspace.run(&format!("train --data cells.csv --descriptors weather {TINY}"));
    assert!(training.code == 3 && training.stderr.contains("descriptor"), "{training:?}");
    for wrong in ["nothing", "weather,weather"] {
        let run = workspace.run(&format!("train --data m.csv --target y --descriptors {wrong} {TINY}"));
        assert!(run.code == 3, "{run:?}");
    }
}

#[test]
fn molecules_are_described_by_default_and_a_model_to_begin_with_decides_for_itself() {
    let workspace = workspace();
    let train = |more: &str| workspace.run(&format!("train --data m.csv --target y {TINY} {more}"));
    let described = ok(train("--run-dir described"));
    assert!(described.stderr.contains("12 descriptors join every graph"), "{}", described.stderr);
    let plain = ok(train("--no-descriptors --run-dir plain"));
    assert!(!plain.stderr.contains("descriptors join"), "{}", plain.stderr);
    ok(workspace.run("predict --model described --data m.csv"));
    // The numbers of single atoms have no place for those of molecules.
    workspace
        .write("atoms.csv", "smiles,charge\nCCO,\"[1,2,3]\"\nCO,\"[1,2]\"\nCN,\"[1,4]\"\nCCN,\"[1,1,3]\"\n");
    let atoms =
        ok(workspace
            .run(&format!("train --data atoms.csv --level node --split random {TINY} --run-dir atoms")));
    assert!(!atoms.stderr.contains("descriptors"), "{}", atoms.stderr);
    for (model, expected) in [("described", true), ("plain", false)] {
        let run = ok(workspace.run(&format!(
            "train --data m.csv --target y --from {model} --set train.epochs=1 --no-cache --run-dir from-{model}"
        )));
        assert_eq!(run.stderr.contains("12 descriptors join"), expected, "{}", run.stderr);
        assert!(!run.stderr.contains("descriptors are others"), "the head is kept: {}", run.stderr);
    }
    workspace.write("g.jsonl", "{\"num_nodes\":2,\"edges\":[[0,1]],\"target\":1.5}\n".repeat(12));
    let graphs = workspace.run(&format!("train --data g.jsonl --no-descriptors {TINY}"));
    assert!(graphs.code == 2 && graphs.stderr.contains("for tables of molecules"), "{graphs:?}");
    assert_eq!(train("--no-descriptors --basic-descriptors").code, 2);
}

#[test]
fn computed_descriptors_need_no_columns_when_predicting() {
    let workspace = workspace();
    let run = ok(workspace.run(&format!(
        "train --data m.csv --target y --basic-descriptors --morgan-counts {TINY} --run-dir run"
    )));
    assert!(run.stderr.contains("524 descriptors join every graph"), "{}", run.stderr);
    let alone = ok(workspace.run("predict --model run --smiles CCO"));
    assert!(alone.stdout.lines().nth(1).unwrap().starts_with("CCO,"), "{alone:?}");
    let rows = String::from_utf8(workspace.read("run/seed-0/test_predictions.csv")).unwrap();
    let written = rows.lines().nth(1).unwrap().split(',').nth(2).unwrap().to_owned();
    let predicted = ok(workspace.run("predict --model run --data m.csv")).stdout;
    assert!(predicted.contains(&written), "{written} is not in {predicted}");
    let other = workspace.run("data check m.csv --target y --basic-descriptors");
    assert_eq!(other.code, 0, "{other:?}");
    workspace.write("g.jsonl", "{\"num_nodes\": 2, \"edges\": [[0, 1]], \"target\": 1.5}\n".repeat(9));
    let graphs = workspace.run(&format!("train --data g.jsonl --basic-descriptors {TINY}"));
    assert!(graphs.code == 3 && graphs.stderr.contains("options of molecules"), "{graphs:?}");
}

#[test]
fn truth_is_the_same_class_however_a_program_writes_it() {
    let workspace = workspace();
    let written = |yes: &str, no: &str| {
        table(60).replace(",yes,", &format!(",{yes},")).replace(",no,", &format!(",{no},"))
    };
    workspace.write("pandas.csv", written("True", "False"));
    workspace.write("excel.csv", written("TRUE", "FALSE"));
    workspace.write("parquet.csv", written("true", "false"));
    ok(workspace.run(&format!("train --data pandas.csv --target class {TINY} -q --run-dir run")));
    let scores = |file: &str| {
        let run =
            ok(workspace.run(&format!("evaluate --model run --data {file} --replicates 0 --threads 1")));
        run.stdout
    };
    let expected = scores("pandas.csv");
    assert!(expected.contains("accuracy"), "{expected}");
    assert_eq!(scores("excel.csv"), expected);
    assert_eq!(scores("parquet.csv"), expected);
}

#[test]
fn data_split_and_train_know_the_same_words() {
    let workspace = workspace();
    let parts = |text: &str| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        ["train", "valid", "test"].map(|part| value[part].clone())
    };
    let divided = |file: &str, word: &str| {
        parts(&ok(workspace.run(&format!("data split {file} --target class --split {word}"))).stdout)
    };
    let trained = |file: &str, word: &str| {
        let run = format!("{word}-{}", file.len());
        ok(workspace
            .run(&format!("train --data {file} --target class --split {word} {TINY} -q --run-dir {run}")));
        parts(&String::from_utf8(workspace.read(&format!("{run}/splits.json"))).unwrap())
    };
    let rows = table(60);
    let own: Vec<String> = rows
        .lines()
        .zip(["split"].into_iter().chain(["train", "train", "valid", "test"].into_iter().cycle()))
        .map(|(line, part)| format!("{line},{part}"))
        .collect();
    workspace.write("own.csv", own.join("\n"));
    let column = divided("own.csv", "column");
    for word in ["official", "auto"] {
        assert_eq!(divided("own.csv", word), column, "{word}");
    }
    assert_eq!(trained("own.csv", "column"), column);
    // Without parts of its own a file is split as `train` does.
    assert_eq!(divided("m.csv", "auto"), trained("m.csv", "auto"));
    for wrong in ["auto --ratios 70,20,10", "official --split-seed 1"] {
        assert_eq!(workspace.run(&format!("data split m.csv --target class --split {wrong}")).code, 2);
    }
    let refused = workspace.run("data split m.csv --target class --split official");
    assert!(refused.code != 0 && !refused.stderr.contains("invalid value"), "{refused:?}");
}

#[test]
fn embed_takes_one_model_and_says_so() {
    let help = ok(Workspace::new().run("embed --help"));
    assert!(!help.stdout.contains("ensemble") && help.stdout.contains("with a single one"), "{help:?}");
    let help = ok(Workspace::new().run("predict --help"));
    assert!(help.stdout.contains("ensemble"), "{help:?}");
}

#[test]
fn bonds_are_trained_on_and_predicted_once_with_their_two_atoms() {
    let workspace = Workspace::new();
    let molecules = ["CCO", "CC(=O)O", "C1CC1", "CCCC", "OCCO", "CC=C", "C1CCC1O", "CN", "CCN", "COC"];
    let bonds = [2, 3, 3, 3, 3, 2, 5, 1, 2, 2];
    let mut text = String::from("smiles,length\n");
    for (smiles, bonds) in molecules.iter().zip(bonds) {
        let list: Vec<String> = (0..bonds).map(|bond| format!("{}", 1.0 + f64::from(bond) / 10.0)).collect();
        text.push_str(&format!("{smiles},\"[{}]\"\n", list.join(", ")));
    }
    workspace.write("bonds.csv", text);
    let run = ok(workspace.run(&format!("train --data bonds.csv --level edge {TINY} --run-dir run")));
    assert!(run.stderr.contains("regression per edge, 1 target column: length"), "{run:?}");
    assert!(run.stderr.contains("the answer for two nodes does not depend on their order"), "{run:?}");
    workspace.write("new.csv", "name,smiles\npropanol,OC1CC1\nmethane,C\nslip,C(\n");
    let run = workspace.run("predict --model run --data new.csv");
    let rows: Vec<Vec<&str>> = run.stdout.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], ["name", "smiles", "source", "destination", "pred_length", "reason"]);
    let ends: Vec<[&str; 3]> = rows[1..].iter().map(|row| [row[0], row[2], row[3]]).collect();
    // The bond that closes the ring is the last; methane has none.
    let expected =
        [["propanol", "0", "1"], ["propanol", "1", "2"], ["propanol", "2", "3"], ["propanol", "3", "1"]];
    assert_eq!(ends[..4], expected, "{run:?}");
    assert_eq!((ends.len(), ends[4]), (5, ["slip", "", ""]), "{run:?}");
    let run = ok(workspace.run("evaluate --model run --data bonds.csv --replicates 0"));
    assert!(run.stdout.contains("26 labels"), "{run:?}");
}

#[test]
fn several_molecules_of_a_row_are_trained_on_and_asked_for_by_name() {
    let workspace = Workspace::new();
    let solvents = ["O", "CO", "CCO", "CC#N"];
    let rows = (0..24).map(|row| {
        let solvent = solvents[row % 4];
        format!("{},{}O,{solvent}\n", row % 4, "C".repeat(1 + row % 6))
    });
    workspace.write("mix.csv", format!("y,solute,solvent\n{}", rows.collect::<String>()));
    let command =
        format!("train --data mix.csv --target y --task regression --smiles-column solute,solvent {TINY}");
    let run = ok(workspace.run(&format!("{command} --run-dir run")));
    assert!(run.stderr.contains("`solute`, `solvent` are one graph for each row"), "{run:?}");
    assert!(run.stderr.contains("10 categorical columns"), "{run:?}");
    workspace.write("new.csv", "solvent,solute\nO,CCO\nCCO,O\n,CCO\n");
    let run = workspace.run("predict --model run --data new.csv");
    let lines: Vec<&str> = run.stdout.lines().collect();
    let value = |at: usize| lines[at].split(',').nth(2).unwrap();
    assert_ne!(value(1), value(2), "which one is dissolved must matter: {run:?}");
    assert!(lines[3].contains("must not be empty") && lines[3].contains("solvent"), "{run:?}");
    let run = workspace.run("predict --model run --smiles CCO");
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("a table with the columns solute, solvent"), "{run:?}");
    workspace.write("half.csv", "solute\nCCO\n");
    let run = workspace.run("predict --model run --data half.csv");
    assert!(run.code != 0 && run.stderr.contains("a column called `solvent`"), "{run:?}");
    ok(workspace.run("explain --model run --data new.csv --graph 0 -o why"));
}

#[test]
fn reactions_are_trained_on_predicted_and_drawn() {
    let workspace = Workspace::new();
    let rows = (1..20).map(|row| {
        let chain = "C".repeat(row % 5 + 1);
        format!("{chain}[CH2:1][OH:2].Br>>{chain}[CH2:1]Br.[OH2:2],{}.5\n", row % 5)
    });
    workspace.write("reactions.csv", format!("reaction,yield\n{}", rows.collect::<String>()));
    let command = format!("train --data reactions.csv --reactions --target yield {TINY} --run-dir run");
    let run = ok(workspace.run(&command));
    assert!(run.stderr.contains("edges have 4 categorical columns"), "{run:?}");
    let run = workspace.run("predict --model run --smiles CC[OH:1]>>CC=[O:1] --smiles CCO");
    assert!(run.stdout.contains("reactants>agents>products"), "{run:?}");
    ok(workspace.run("explain --model run --smiles [CH3:1][OH:2]>>[CH2:1]=[O:2] -o why"));
    let picture = String::from_utf8(workspace.read("why/0000-0.svg")).unwrap();
    assert!(picture.contains("<svg"));
}

#[test]
fn a_search_names_no_test_score_and_prints_the_command_of_its_winner() {
    let workspace = workspace();
    let run = ok(workspace.run(&format!(
        "tune --data m.csv --target y {TINY} --search train.learning_rate=log:1e-4..1e-2 --trials 2 --run-dir search -q"
    )));
    assert!(!run.stdout.contains("test"), "{}", run.stdout);
    let command = run.stdout.lines().last().unwrap().trim().strip_prefix("graphminnet ").unwrap().to_owned();
    assert!(command.starts_with("train ") && !command.contains("--search"), "{command}");
    ok(workspace.run(&format!("{command} --run-dir winner")));
    let value = |path: &str| {
        let value: serde_json::Value = serde_json::from_slice(&workspace.read(path)).unwrap();
        value["best"]["valid"].as_f64().unwrap()
    };
    let best = |number: usize| value(&format!("search/candidate-000{number}/seed-0/result.json"));
    assert_eq!(value("winner/seed-0/result.json"), best(0).min(best(1)));
    let journal = String::from_utf8(workspace.read("search/journal.jsonl")).unwrap();
    assert!(!journal.contains("\"test\""), "{journal}");
}

#[test]
fn the_report_has_errors_in_words_and_a_roc_curve() {
    let workspace = workspace();
    ok(workspace.run(&format!("train --data m.csv --target y {TINY} -q --run-dir numbers")));
    let page = String::from_utf8(workspace.read("numbers/report.html")).unwrap();
    for word in ["RMSE ", "R² ", "mean absolute error", "predicted against true"] {
        assert!(page.to_lowercase().contains(&word.to_lowercase()), "{word}");
    }
    ok(workspace.run(&format!("train --data m.csv --target class {TINY} -q --run-dir classes")));
    let page = String::from_utf8(workspace.read("classes/report.html")).unwrap();
    assert!(page.contains("ROC curve") && page.contains("Area under the curve"), "no curve");
    let evaluated = ok(workspace.run("evaluate --model classes --data m.csv"));
    for metric in ["calibration_error", "brier"] {
        assert!(evaluated.stdout.contains(metric), "{}", evaluated.stdout);
    }
}

/// The class has nothing to do with the molecules: whatever a model says with confidence is said too surely.
#[test]
fn corrected_probabilities_are_written_and_judged() {
    let workspace = Workspace::new();
    workspace.write("m.csv", table(300));
    ok(workspace.run(&format!("train --data m.csv --target class --calibrate {TINY} -q --run-dir run")));
    let predicted = ok(workspace.run("predict --model run --data m.csv"));
    let mut rows = predicted.stdout.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = rows.next().unwrap();
    let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let (said, corrected) = (column("prob_yes"), column("cal_yes"));
    let mut pairs: Vec<(f64, f64)> =
        rows.map(|row| (row[said].parse().unwrap(), row[corrected].parse().unwrap())).collect();
    assert!(pairs.iter().all(|(_, corrected)| (0.0..=1.0).contains(corrected)));
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(pairs.is_sorted_by(|a, b| a.1 <= b.1 + 1e-12), "the order stays: {pairs:?}");
    // Another way to correct them: a rising curve, in which answers may become equal.
    let isotonic = ok(workspace.run("predict --model run --data m.csv --calibration isotonic"));
    let mut curve: Vec<(f64, f64)> = isotonic
        .stdout
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect::<Vec<_>>())
        .map(|row| (row[said].parse().unwrap(), row[corrected].parse().unwrap()))
        .collect();
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(curve.is_sorted_by(|a, b| a.1 <= b.1 + 1e-12) && curve != pairs, "{curve:?}");
    assert!(curve.iter().all(|(_, corrected)| (0.0..=1.0).contains(corrected)));
    let platt = ok(workspace.run("predict --model run --data m.csv --calibration platt"));
    assert_eq!(platt.stdout, predicted.stdout);
    // Sets are text and corrected probabilities are numbers, in Parquet too.
    ok(workspace.run("predict --model run --data m.csv --calibration isotonic -o out.parquet"));
    let sets = vec!["set_class".to_owned()];
    let options = ReadOptions { targets: Some(sets.clone()), text: sets, ..ReadOptions::default() };
    let read = open(&workspace.path("out.parquet"), &options).unwrap();
    assert!(read.dataset.samples.iter().any(|sample| !sample.targets[0].is_nan()), "sets are missing");
    let numbers = ReadOptions { targets: Some(vec!["cal_yes".to_owned()]), ..ReadOptions::default() };
    let read = open(&workspace.path("out.parquet"), &numbers).unwrap();
    assert!(read.dataset.samples.iter().all(|sample| (0.0..=1.0).contains(&sample.targets[0])));
    for (arguments, said) in [
        ("--model run --calibration temperature", "platt or isotonic"),
        ("--model numbers --calibration isotonic", "the model has none"),
        ("--model plain --calibration isotonic", "--calibrate"),
    ] {
        if !workspace.path("numbers").exists() {
            ok(workspace
                .run(&format!("train --data m.csv --target y --calibrate {TINY} -q --run-dir numbers")));
            ok(workspace.run(&format!("train --data m.csv --target class {TINY} -q --run-dir plain")));
        }
        let run = workspace.run(&format!("predict --data m.csv {arguments}"));
        assert!(run.code == 2 && run.stderr.contains(said), "{arguments}: {run:?}");
    }
    let evaluated = ok(workspace.run("evaluate --model run --data m.csv"));
    assert!(
        evaluated.stdout.contains("calibration error of corrected probabilities")
            && evaluated.stdout.contains("with --calibration isotonic"),
        "{}",
        evaluated.stdout
    );
}

#[test]
fn samples_with_dropout_say_how_unsure_a_model_is() {
    let workspace = Workspace::new();
    workspace.write("m.csv", table(300));
    // Something that is learnt: a model that says one number whatever it is asked says it with dropout too.
    let learnt = TINY.replace("hidden=8", "hidden=16").replace("epochs=2", "epochs=10");
    let train = format!("train --data m.csv --target y --descriptors weather {learnt} -q");
    ok(workspace.run(&format!("{train} --calibrate --run-dir run")));
    let predict = |more: &str| ok(workspace.run(&format!("predict --model run --data m.csv {more}")));
    let column = |run: &Run, name: &str| -> Vec<f64> {
        let mut rows = run.stdout.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let at = rows.next().unwrap().iter().position(|column| *column == name).unwrap();
        rows.map(|row| row[at].parse().unwrap()).collect()
    };
    let few = predict("--dropout-samples 5 --threads 1");
    assert!(few.stderr.contains("5 samples with dropout") && !few.stdout.contains("low_y"), "{few:?}");
    assert_eq!(few.stdout, predict("--dropout-samples 5 --threads 2").stdout, "any number of threads");
    assert_ne!(few.stdout, predict("--dropout-samples 5 --dropout-seed 1").stdout);
    let unsure = column(&few, "std_y").iter().filter(|spread| **spread > 0.0).count();
    assert!(unsure > 150, "{unsure} of 300 molecules");
    // The mean of many samples comes closer to what the model says without dropout than that of few.
    let plain = column(&predict(""), "pred_y");
    let distance = |run: &Run| -> f64 {
        let pairs = column(run, "pred_y").into_iter().zip(&plain);
        pairs.map(|(sampled, plain)| (sampled - plain).powi(2)).sum()
    };
    let many = predict("--dropout-samples 200");
    assert!(distance(&many) < distance(&predict("--dropout-samples 2")), "{}", distance(&many));
    let no_dropout = "--set model.drop_ffn=0 --set model.drop_local=0 --set model.drop_res=0";
    ok(workspace.run(&format!("{train} {no_dropout} --run-dir certain")));
    for (arguments, said) in [
        ("--model certain --dropout-samples 5", "the model has no dropout"),
        ("--model run --dropout-samples 1", "2..=1000"),
        ("--model run --dropout-samples 2000", "2..=1000"),
        ("--model run --dropout-samples x", "invalid"),
        ("--model run --dropout-samples 5 --level 0.8", "--level"),
        ("--model run --dropout-seed 5", "--dropout-samples"),
    ] {
        let run = workspace.run(&format!("predict --data m.csv {arguments}"));
        assert!(run.code == 2 && run.stderr.contains(said), "{arguments}: {run:?}");
    }
}

#[test]
fn the_parts_of_a_run_are_a_split_file_also_where_rows_were_left_out() {
    let workspace = workspace();
    let damaged = |(line, row): (usize, &str)| match line {
        4 | 11 => row.replacen('C', "C(", 1) + "\n",
        _ => format!("{row}\n"),
    };
    let text: String = table(60).lines().enumerate().map(damaged).collect();
    workspace.write("bad.csv", text);
    let train = |split: &str, run: &str| {
        let command = format!(
            "train --data bad.csv --target y --on-bad-row null --split {split} {TINY} -q --run-dir {run}"
        );
        ok(workspace.run(&command));
        parts(&workspace, run)
    };
    let first = train("random", "first");
    let split = ok(workspace.run("data split bad.csv --target y --on-bad-row null --split random"));
    assert_eq!(first, split.stdout, "a run and `data split` count alike");
    assert_eq!(train("first/splits.json", "second"), first);
    let predictions = |run: &str| workspace.read(&format!("{run}/seed-0/test_predictions.csv"));
    assert_eq!(predictions("second"), predictions("first"));
}

#[test]
fn a_split_that_cannot_be_made_says_which_ones_can() {
    let workspace = Workspace::new();
    let rows: String = (0..59).map(|row| format!("{}c1ccccc1,{row}\n", "C".repeat(row % 7))).collect();
    let others: String = (0..19).map(|row| format!("{}C1CCNCC1,{row}\n", "C".repeat(row % 7))).collect();
    workspace.write("m.csv", format!("smiles,y\n{rows}{others}"));
    let refused = |arguments: &str, code: i32, words: &[&str]| {
        let run = workspace.run(arguments);
        assert_eq!(run.code, code, "{run:?}");
        words.iter().for_each(|word| assert!(run.stderr.contains(word), "{word}: {run:?}"));
    };
    let schemes =
        ["--split scafold", "auto, random, stratified, scaffold, kmeans, column", "or a split file"];
    refused("train --data m.csv --target y --split scafold --run-dir run", 2, &schemes);
    for command in
        ["train --data m.csv --target y --split column --run-dir run", "data split m.csv --split column"]
    {
        let run = workspace.run(command);
        assert!(run.code != 0 && run.stderr.contains("no column or field `split`"), "{run:?}");
        assert!(run.stderr.contains("`--split-column NAME`") && run.stderr.contains("78"), "{run:?}");
    }
    // Two scaffolds, and a cell for each part.
    let divided = ok(workspace.run("data split m.csv --split scaffold"));
    assert!(divided.stderr.contains("note: the validation part is empty"), "{divided:?}");
    assert!(divided.stderr.contains("2 different scaffolds"), "{divided:?}");
    assert!(!divided.stderr.contains("test part is empty"), "{divided:?}");
    let wanted = ok(workspace.run("data split m.csv --split scaffold --ratios 80,0,20"));
    assert!(!wanted.stderr.contains("note:"), "{wanted:?}");
    let trained =
        ok(workspace.run(&format!("train --data m.csv --target y --split scaffold {TINY} --run-dir run")));
    assert!(trained.stderr.contains("warning: there is no validation part"), "{trained:?}");
    // A model asks for the column that it knows, and says how another one is named.
    workspace.write("other.csv", "name,canonical_smiles\na,CCO\n");
    refused(
        "predict -m run --data other.csv",
        3,
        &["the columns name, canonical_smiles, expected a column called `smiles`", "`--smiles-column NAME`"],
    );
    ok(workspace.run("predict -m run --data other.csv --smiles-column canonical_smiles"));
}

#[test]
fn cells_that_are_no_numbers_are_quoted_as_they_are_written() {
    let workspace = Workspace::new();
    workspace.write("m.csv", "smiles,y\nC,1.5\nCC,2\nCCC,1.5e400\nCCCC,>inf\nCCCCC,some\n");
    let run = workspace.run("data check m.csv --target y --task regression");
    for said in ["`1.5e400`: not a finite", "`>inf`: not a finite", "`some`: not a number", "`--text COLUMN`"]
    {
        assert!(run.stdout.contains(said), "{said}: {run:?}");
    }
}
