//! Intervals: of a calibration beside the model, and of one that training set aside.

mod common;

use common::Workspace;
use common::molecules::{cells, molecules, ok, trained};
use graphminnet_data::rng::stream;

#[test]
fn calibrated_predictions_have_intervals_and_too_few_labels_say_so() {
    let workspace = trained();
    let run =
        ok(workspace.run("predict --model run/seed-0 --data train.csv --calibrate train.csv --level 0.8"));
    assert!(run.stdout.starts_with("smiles,note,y,pred_y,low_y,high_y,reason\n"));
    let inside = run.stdout.lines().skip(1).filter(|line| {
        let [y, low, high] = [2, 4, 5].map(|at| cells(line)[at].parse::<f64>().unwrap());
        low <= y && y <= high
    });
    // On the calibration data itself, ⌈81·0.8⌉ of 80 are inside.
    assert_eq!(inside.count(), 65);
    assert!(
        run.stderr.contains("hold less than they promise"),
        "it is what the model was trained on: {run:?}"
    );
    let table = workspace.read("train.csv");
    workspace.write("others.csv", table);
    let run = ok(workspace.run("predict --model run/seed-0 --data train.csv --calibrate others.csv"));
    assert!(!run.stderr.contains("hold less than they promise"), "{run:?}");
    workspace.write("few.csv", "smiles,y\nCCO,1.0\nCCC,2.0\n");
    let failed = workspace.run("predict --model run/seed-0 --data train.csv --calibrate few.csv");
    assert_eq!(failed.code, 3, "{failed:?}");
    assert!(
        failed.stderr.contains("2 labels are too few") && failed.stderr.contains("at least 9"),
        "{failed:?}"
    );
}

/// Molecules whose target is their length, with noise that grows with it.
fn noisy(count: usize, seed: u64) -> String {
    let mut random = stream(seed, "noise", &[]);
    let mut table = String::from("smiles,y\n");
    for smiles in molecules(count) {
        let size = smiles.len() as f64 / 10.0;
        table.push_str(&format!("{smiles},{}\n", size + 0.3 * size * random.normal()));
    }
    table
}

#[test]
fn a_calibrated_run_predicts_with_intervals_that_were_tested() {
    let workspace = Workspace::new();
    workspace.write("train.csv", noisy(400, 1));
    let train = "train --data train.csv --target y --seeds 0,1 --calibrate --run-dir run --no-cache \
                 --set train.epochs=3 --set model.hidden=16 --set model.layers=1 --set model.lap_dim=4 \
                 --set model.pe_dim=4";
    let run = ok(workspace.run(train));
    assert!(run.stderr.contains("280 to train, 40 to validate, 40 to test"), "{}", run.stderr);
    assert!(run.stderr.contains("40 to calibrate"), "{}", run.stderr);
    assert!(run.stdout.contains("y: intervals or sets at level 0.9 held"), "{}", run.stdout);
    let splits: serde_json::Value = serde_json::from_slice(&workspace.read("run/splits.json")).unwrap();
    assert!(splits["calibration"].is_string());
    let result: serde_json::Value =
        serde_json::from_slice(&workspace.read("run/seed-0/result.json")).unwrap();
    assert_eq!(result["coverage"][0]["labels"], 40);

    workspace.write("new.csv", noisy(400, 2));
    let table = ok(workspace.run("predict --model run --data new.csv"));
    assert!(table.stdout.starts_with("smiles,y,pred_y,std_y,low_y,high_y,reason\n"), "{}", table.stdout);
    assert!(
        table.stderr.contains("calibrated at level 0.9 on 40 labels that were set aside"),
        "{}",
        table.stderr
    );
    let rows: Vec<Vec<f64>> = table
        .stdout
        .lines()
        .skip(1)
        .map(|line| cells(line)[1..6].iter().map(|cell| cell.parse().unwrap()).collect())
        .collect();
    let held = rows.iter().filter(|row| row[3] <= row[0] && row[0] <= row[4]).count();
    assert!(held >= 320, "{held} of 400 at level 0.9, calibrated on 40");
    // Two models: intervals are wider where they disagree more.
    let width = |row: &Vec<f64>| row[4] - row[3];
    let widest = rows.iter().max_by(|a, b| width(a).total_cmp(&width(b))).unwrap();
    let narrowest = rows.iter().min_by(|a, b| width(a).total_cmp(&width(b))).unwrap();
    assert!(width(widest) > 1.05 * width(narrowest) && widest[2] > narrowest[2], "{widest:?} {narrowest:?}");
    let surer = ok(workspace.run("predict --model run --data new.csv --level 0.95")).stdout;
    assert_ne!(surer, table.stdout);
    let text = ok(workspace.run("evaluate --model run --data new.csv")).stdout;
    assert!(text.contains(&format!("held {:.1} % of 400 labels", held as f64 / 4.0)), "{text}");
    // A model that was not calibrated has no level.
    let plain = trained().run("predict --model run --smiles CCO --level 0.9");
    assert!(plain.code == 2 && plain.stderr.contains("--calibrate"), "{plain:?}");
}

#[test]
fn graphs_unlike_those_of_the_calibration_are_warned_about() {
    let workspace = trained();
    let alike = ok(workspace.run("predict --model run --data train.csv --calibrate train.csv"));
    assert!(!alike.stderr.contains("warning"), "{}", alike.stderr);
    // Far longer chains than any before.
    let long: String = (0..60).map(|at| format!("{}O,0\n", "C".repeat(20 + at))).collect();
    workspace.write("long.csv", format!("smiles,y\n{long}"));
    let other = ok(workspace.run("predict --model run --data long.csv --calibrate train.csv"));
    assert!(other.stderr.contains("not like those of the calibration"), "{}", other.stderr);
}

#[test]
fn too_few_graphs_are_not_set_aside() {
    let workspace = Workspace::new();
    workspace.write("few.csv", noisy(40, 1));
    let run = workspace.run("train --data few.csv --target y --calibrate --run-dir run --no-cache");
    assert!(
        run.code == 2 && run.stderr.contains("calibrate") && run.stderr.contains("at least 20"),
        "{run:?}"
    );
    let run = workspace.run("train --generate ring-transfer --calibrate --run-dir run");
    assert!(run.code == 2 && run.stderr.contains("files of your own"), "{run:?}");
}
