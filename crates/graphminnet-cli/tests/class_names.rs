//! Models of classes with names: what predictions, evaluation and report call them, and which columns are read.

mod common;

use common::Workspace;
use common::molecules::{cells, molecules, ok, trained};

/// A run on molecules whose classes have names, in columns with names of their own.
fn trained_on_names() -> Workspace {
    let workspace = Workspace::new();
    let mut table = String::from("code,structure,label\n");
    for (row, smiles) in molecules(80).iter().enumerate() {
        let label = if smiles.contains('O') { "active" } else { "inactive" };
        // A code that is a molecule too, though another one.
        table.push_str(&format!("C{},{smiles},{label}\n", "C".repeat(row % 4)));
    }
    workspace.write("named.csv", table);
    let run = workspace.run(
        "train --data named.csv --target label --smiles-column structure --run-dir run --no-cache \
         --set train.epochs=2 --set model.hidden=16 --set model.layers=2 --set model.lap_dim=4 --set model.pe_dim=4",
    );
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("`active` is the positive class of `label`"), "{}", run.stderr);
    workspace
}

#[test]
fn the_positive_class_is_named_in_predictions_evaluation_and_report() {
    let workspace = trained_on_names();
    let table = ok(workspace.run("predict --model run --data named.csv")).stdout;
    assert!(table.starts_with("code,structure,label,pred_label,prob_active,reason\n"), "{table}");
    for line in table.lines().skip(1) {
        let row = cells(line);
        let probability: f64 = row[4].parse().unwrap();
        assert_eq!(row[3], if probability > 0.5 { "active" } else { "inactive" }, "{line}");
    }
    let text = ok(workspace.run("evaluate --model run --data named.csv")).stdout;
    assert!(text.contains("positive class: active"), "{text}");
    let json = ok(workspace.run("evaluate --model run --data named.csv --json")).json();
    assert_eq!(json["positive_class"], "active");
    let test = String::from_utf8(workspace.read("run/seed-0/test_predictions.csv")).unwrap();
    assert!(test.starts_with("id,label,pred_label,prob_active\n"), "{test}");
    let report = String::from_utf8(workspace.read("run/report.html")).unwrap();
    assert!(report.contains("positive class active, the other inactive"), "the card names it");
    // Average precision is that of the active ones, computed here from the table.
    let mut scored: Vec<(f64, bool)> = table
        .lines()
        .skip(1)
        .map(|line| {
            let row = cells(line);
            (row[4].parse().unwrap(), row[2] == "active")
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let positives = scored.iter().filter(|(_, active)| *active).count() as f64;
    let (mut hits, mut seen, mut expected) = (0.0, 0.0, 0.0);
    for tied in scored.chunk_by(|a, b| a.0 == b.0) {
        let new = tied.iter().filter(|(_, active)| *active).count() as f64;
        (hits, seen) = (hits + new, seen + tied.len() as f64);
        expected += new / positives * (hits / seen);
    }
    let metrics = json["metrics"].as_array().unwrap();
    let found = metrics.iter().find(|metric| metric["metric"] == "average_precision").unwrap();
    assert!((found["value"].as_f64().unwrap() - expected).abs() < 1e-6, "{found} for {expected}");
}

#[test]
fn the_column_of_the_molecules_is_kept_in_the_model() {
    let workspace = trained_on_names();
    let expected = ok(workspace.run("predict --model run --data named.csv")).stdout;
    workspace.write("moved.csv", "structure,code\nCCO,CC\n");
    let moved = ok(workspace.run("predict --model run --data moved.csv")).stdout;
    assert!(moved.starts_with("structure,code,pred_label,prob_active,reason\nCCO,CC,"), "{moved}");
    // The answer is that for ethanol, however it is asked for.
    let asked = ok(workspace.run("predict --model run --smiles CCO")).stdout;
    let probability = |table: &str| cells(table.lines().nth(1).unwrap()).iter().rev().nth(1).unwrap().clone();
    assert_eq!(probability(&asked), probability(&moved));
    assert_ne!(probability(&asked), probability(&expected));
    workspace.write("without.csv", "code,label\nCC,active\n");
    for command in ["predict", "evaluate", "embed -o vectors.npy"] {
        let run = workspace.run(&format!("{command} --model run --data without.csv"));
        assert_ne!(run.code, 0, "{command}");
        assert!(run.stderr.contains("`structure`") && run.stderr.contains("code, label"), "{}", run.stderr);
    }
    // Calibration reads its file in the same way, and as the options say.
    let run = workspace.run("predict --model run --smiles CCO --calibrate without.csv");
    assert!(run.code != 0 && run.stderr.contains("`structure`"), "{run:?}");
    let other = String::from_utf8(workspace.read("named.csv")).unwrap().replace("structure", "mol");
    workspace.write("other.csv", other);
    let run =
        ok(workspace.run("predict --model run --data other.csv --smiles-column mol --calibrate other.csv"));
    assert!(run.stderr.contains("calibrated at level 0.9 on 80 labels"), "{}", run.stderr);
    let run = workspace.run("predict --model run --smiles CCO --smiles-column mol");
    assert!(run.code == 2 && run.stderr.contains("no effect"), "{run:?}");
}

#[test]
fn a_blank_cell_in_the_split_column_stops_the_training() {
    let workspace = Workspace::new();
    let mut table = String::from("smiles,y,part\n");
    for (row, smiles) in molecules(40).iter().enumerate() {
        let part = ["train", "train", "train", "Valid", "TEST"][row % 5];
        table.push_str(&format!("{smiles},{}.5,{}\n", row % 3, if row == 7 { "" } else { part }));
    }
    workspace.write("parts.csv", table);
    let train = "train --data parts.csv --target y --split-column part --run-dir run --no-cache --set train.epochs=1 \
                 --set model.hidden=16 --set model.layers=1 --set model.lap_dim=4 --set model.pe_dim=4";
    let run = workspace.run(train);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("parts.csv, line 9, column `part`: names no part"), "{}", run.stderr);
    let run = ok(workspace.run(&format!("{train} --on-bad-row skip")));
    assert!(run.stderr.contains("39 graphs, 23 to train, 8 to validate, 8 to test"), "{}", run.stderr);
    let run = workspace.run(&format!("{train} --split random"));
    assert!(run.code == 2 && run.stderr.contains("--split-column has no effect"), "{run:?}");
    let run = workspace.run(&format!("{train} --on-bad-row skip --split-seed 1"));
    assert!(
        run.code == 2 && run.stderr.contains("--split-seed has no effect: the data names its parts"),
        "{run:?}"
    );
}

#[test]
fn an_evaluation_without_labels_is_an_error() {
    let workspace = trained();
    workspace.write("unlabelled.csv", "smiles,other\nCCO,1\nCCN,2\n");
    workspace.write("blank.csv", "smiles,y\nCCO,\nCCN,NA\n");
    for data in ["unlabelled.csv", "blank.csv"] {
        let run = workspace.run(&format!("evaluate --model run --data {data}"));
        assert!(
            run.code == 3 && run.stderr.contains("no graph has a label") && run.stderr.contains("`y`"),
            "{run:?}"
        );
        assert!(run.stdout.is_empty());
    }
}
