//! Models that learn how unsure they are, by the command: columns, evaluation, ensembles, what is refused.

mod common;

use common::server::{Server, trained_on};
use common::{Run, Workspace};
use graphminnet_data::rng::stream;
use serde_json::Value;
use std::collections::HashMap;

const TINY: &str = "--set model.hidden=8 --set model.layers=1 --set model.lap_dim=2 --set train.epochs=3 --no-cache --split random -q --threads 1";
const NORMAL: &str = "--set train.loss=mean_variance";
const QUANTILES: &str = "--set train.loss=quantile --set train.quantiles=[0.025,0.1,0.5,0.9]";

fn ok(run: Run) -> Run {
    assert_eq!(run.code, 0, "{run:?}");
    run
}

/// Chains with two numbers that their length tells, some of the first missing, and an answer.
fn workspace() -> Workspace {
    workspace_of(120)
}

fn workspace_of(rows: usize) -> Workspace {
    let mut random = stream(3, "uncertainty", &[]);
    let mut text = String::from("smiles,y,z,long\n");
    for row in 0..rows {
        let length = 1 + random.below(9);
        let y = length as f64 + 0.1 * length as f64 * random.normal();
        let y = if row % 10 == 3 { String::new() } else { format!("{y:.3}") };
        let long = u8::from(length > 5);
        text.push_str(&format!("{}O,{y},{:.3},{long}\n", "C".repeat(length), 30.0 - 5.0 * length as f64));
    }
    let workspace = Workspace::new();
    workspace.write("m.csv", text);
    workspace.write("new.csv", "smiles\nCCO\nCCCCCO\nC1C\n");
    workspace
}

fn train(workspace: &Workspace, more: &str) -> Run {
    ok(workspace.run(&format!("train --data m.csv {TINY} {more}")))
}

/// The columns of a table, by name; a cell that is no number is NaN.
fn columns(table: &str) -> HashMap<String, Vec<f64>> {
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mut columns: HashMap<String, Vec<f64>> = HashMap::new();
    for line in lines {
        for (name, cell) in names.iter().zip(line.split(',')) {
            columns.entry((*name).to_owned()).or_default().push(cell.parse().unwrap_or(f64::NAN));
        }
    }
    columns
}

fn header(table: &str) -> &str {
    table.lines().next().unwrap()
}

fn predict(workspace: &Workspace, more: &str) -> String {
    ok(workspace.run(&format!("predict --data new.csv {more}"))).stdout
}

#[test]
fn deviations_are_a_column_and_several_models_add_theirs_up() {
    let workspace = workspace();
    let said = ok(workspace.run(&format!(
        "train --data m.csv {} {NORMAL} --target y,z --seeds 0,1 --run-dir run",
        TINY.replace(" -q", "")
    )));
    assert!(said.stderr.contains("learns how unsure it is"), "{said:?}");
    let table = predict(&workspace, "--model run/seed-0");
    assert_eq!(header(&table), "smiles,pred_y,pred_z,std_y,std_z,reason");
    assert!(table.lines().last().unwrap().starts_with("C1C,,,,,\""), "{table}");
    let both = columns(&predict(&workspace, "--model run"));
    let [one, two] =
        ["0", "1"].map(|seed| columns(&predict(&workspace, &format!("--model run/seed-{seed}"))));
    for target in ["y", "z"] {
        let (mean, deviation) = (format!("pred_{target}"), format!("std_{target}"));
        for row in 0..2 {
            let [a, b] = [&one, &two].map(|table| (table[&mean][row], table[&deviation][row]));
            assert!(a.1 > 0.0 && b.1 > 0.0);
            let middle = (a.0 + b.0) / 2.0;
            let variance =
                (a.1.powi(2) + b.1.powi(2) + (a.0 - middle).powi(2) + (b.0 - middle).powi(2)) / 2.0;
            assert!((both[&mean][row] - middle).abs() < 1e-4 * middle.abs().max(1.0));
            assert!(
                (both[&deviation][row] - variance.sqrt()).abs() < 1e-4 * variance.sqrt(),
                "{target} {row}"
            );
        }
    }
    // The mean is what metrics look at, and the table of the test part has the same cells.
    let tested = String::from_utf8(workspace.read("run/seed-0/test_predictions.csv")).unwrap();
    assert_eq!(header(&tested), "id,y,pred_y,z,pred_z,std_y,std_z");
    // Samples with dropout are such models, too.
    let samples = predict(&workspace, "--model run/seed-0 --dropout-samples 5");
    assert_eq!(header(&samples), header(&table));
    assert_ne!(columns(&samples)["std_y"][0], one["std_y"][0]);
}

#[test]
fn quantiles_are_columns_in_their_order() {
    let workspace = workspace();
    train(&workspace, &format!("--target y {QUANTILES} --seeds 0,1 --run-dir run"));
    let table = predict(&workspace, "--model run/seed-0");
    assert_eq!(header(&table), "smiles,pred_y,q02.5_y,q10_y,q90_y,reason");
    for table in [table, predict(&workspace, "--model run")] {
        let table = columns(&table);
        for row in [0, 1] {
            let cells = ["q02.5_y", "q10_y", "pred_y", "q90_y"].map(|name| table[name][row]);
            assert!(cells.is_sorted(), "{cells:?}");
        }
    }
    assert_eq!(header(&predict(&workspace, "--model run")), "smiles,pred_y,q02.5_y,q10_y,q90_y,std_y,reason");
    ok(workspace.run("predict --model run --data new.csv -o out.parquet"));
    let evaluated = ok(workspace.run("evaluate --model run --data m.csv --replicates 0"));
    assert!(evaluated.stdout.contains("quantile of y  of 108 labels below  pinball loss"), "{evaluated:?}");
}

#[test]
fn evaluation_says_how_likely_labels_are_and_how_many_intervals_hold() {
    let workspace = workspace();
    train(&workspace, &format!("--target y,z {NORMAL} --run-dir run"));
    let evaluate =
        |more: &str| ok(workspace.run(&format!("evaluate --model run --data m.csv --replicates 0 {more}")));
    let text = evaluate("").stdout;
    assert!(text.contains("negative log-likelihood  in 50 %  in 80 %  in 90 %  in 95 %"), "{text}");
    let found = evaluate("--json").json();
    let [y, z] = [0, 1].map(|at| found["deviations"][at].clone());
    assert_eq!((&y["labels"], &z["labels"]), (&Value::from(108), &Value::from(120)));
    // The same from the table of predictions.
    let said = columns(&ok(workspace.run("predict --model run --data m.csv")).stdout);
    let labels = || (0..120).filter(|row| !said["y"][*row].is_nan());
    let z_of = |row: usize| (said["y"][row] - said["pred_y"][row]) / said["std_y"][row];
    let cost = |row: usize| {
        0.5 * (2.0 * std::f64::consts::PI).ln() + said["std_y"][row].ln() + 0.5 * z_of(row).powi(2)
    };
    let expected = labels().map(cost).sum::<f64>() / 108.0;
    assert!((y["negative_log_likelihood"].as_f64().unwrap() - expected).abs() < 1e-4, "{y}");
    let held = labels().filter(|row| z_of(*row).abs() <= 1.644_853_626_951_472_2).count() as f64 / 108.0;
    assert_eq!(
        (y["intervals"][2]["level"].as_f64(), y["intervals"][2]["held"].as_f64()),
        (Some(0.9), Some(held))
    );
    // Shards know as much.
    for shard in ["1/2", "2/2"] {
        ok(workspace.run(&format!("evaluate --model run --data m.csv --shard {shard} -o parts")));
    }
    let joined = ok(workspace.run("evaluate --model run --join parts --replicates 0 --json")).json();
    assert_eq!(joined["deviations"], found["deviations"]);
}

#[test]
fn calibrated_intervals_are_as_wide_as_a_single_model_is_unsure() {
    let workspace = workspace_of(240);
    let longer = TINY.replace("train.epochs=3", "train.epochs=20");
    ok(workspace.run(&format!("train --data m.csv {longer} --target y {NORMAL} --calibrate --run-dir run")));
    let table = columns(&predict(&workspace, "--model run --level 0.8"));
    let width = |row: usize| table["high_y"][row] - table["low_y"][row];
    assert!((width(0) - width(1)).abs() > 1e-3, "{table:?}");
    assert_eq!(width(0) > width(1), table["std_y"][0] > table["std_y"][1], "{table:?}");
    // Quantiles are calibrated around their median.
    train(&workspace, &format!("--target y {QUANTILES} --calibrate --run-dir quantiles"));
    let table = columns(&predict(&workspace, "--model quantiles --level 0.8"));
    let middle = (table["high_y"][0] + table["low_y"][0]) / 2.0;
    assert!((middle - table["pred_y"][0]).abs() < 1e-4, "{table:?}");
}

#[test]
fn a_run_that_is_resumed_ends_as_one_that_was_not_stopped() {
    let workspace = workspace();
    for (loss, name) in [(NORMAL, "normal"), (QUANTILES, "quantiles")] {
        train(&workspace, &format!("--target y {loss} --run-dir {name}"));
        let weights = || -> Value {
            let result = workspace.read(&format!("{name}/seed-0/result.json"));
            serde_json::from_slice::<Value>(&result).unwrap()["last_weights_sha256"].clone()
        };
        let before = weights();
        std::fs::remove_file(workspace.path(&format!("{name}/seed-0/result.json"))).unwrap();
        ok(workspace.run(&format!("train --resume {name} -q --threads 2 --no-cache")));
        assert_eq!(weights(), before);
    }
}

#[test]
fn another_kind_of_outputs_gets_a_new_head_and_answers_no_ensemble() {
    let workspace = workspace();
    train(&workspace, "--target y --run-dir plain");
    train(&workspace, &format!("--target y {NORMAL} --run-dir normal"));
    train(&workspace, &format!("--target y {QUANTILES} --run-dir quantiles"));
    let own = "train --data m.csv --target y --set train.epochs=2 --split random --no-cache --threads 1";
    let run = ok(workspace.run(&format!("{own} {NORMAL} --from plain --run-dir a")));
    assert!(run.stderr.contains("its outputs are others"), "{run:?}");
    let run = ok(workspace.run(&format!("{own} {NORMAL} --from normal --run-dir b")));
    assert!(!run.stderr.contains("its outputs are others"), "{run:?}");
    for other in ["plain", "quantiles"] {
        let run = workspace.run(&format!("predict --model normal --model {other} --data new.csv"));
        assert!(run.code != 0 && run.stderr.contains("kinds of answer"), "{run:?}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let workspace = workspace();
    for (fields, said) in [
        ("--set train.quantiles=[0.1,0.5]", "`train.quantiles` has no effect: loss is not quantile"),
        ("--set train.loss=quantile --set train.quantiles=[0.1,0.9]", "with 0.5 among them"),
        ("--set train.loss=quantile --set train.quantiles=[0.5,0.1]", "ascending"),
        ("--set train.loss=quantile --set train.quantiles=[0,0.5]", "train.quantiles"),
        ("--set train.loss=quantile --set train.quantiles=0.5", "train.quantiles"),
        ("--set train.loss=quantile --set train.quantiles=[]", "with 0.5 among them"),
        (
            "--set train.loss=mean_variance --set train.target_scaling=none",
            "must be standard with the loss mean_variance",
        ),
        ("--set train.loss=mean_variance --set model.out_dim=3", "two outputs per target column"),
        ("--set train.loss=quantile --set train.metric=accuracy", "mae and rmse"),
        ("--target long --set model.pe_dim=4 --set train.loss=quantile", "train.metric"),
        ("--set train.loss=evidential", "mean_variance, quantile"),
    ] {
        let target = if fields.contains("--target") { "" } else { "--target y" };
        let run = workspace.run(&format!("train --data m.csv {target} {TINY} {fields}"));
        assert!(run.code != 0 && run.stderr.contains(said), "{fields}: {run:?}");
    }
}

#[test]
fn a_server_says_what_was_learnt_beside_the_values() {
    let rows: Vec<String> = (1..40).map(|length| format!("{},{length}.5", "C".repeat(length))).collect();
    let data = format!("smiles,size\n{}\n", rows.join("\n"));
    let small = ["train.epochs=1", "model.hidden=16", "model.layers=1"];
    let ask = |fields: &[&str]| -> Value {
        let settings: Vec<&str> = small.iter().chain(fields).copied().collect();
        let server = Server::serve(trained_on("m.csv", &data, "0", &settings), &[]);
        let (status, answer) = server.predict(&serde_json::json!({ "smiles": ["CCO"] }));
        assert_eq!(status, 200, "{answer}");
        answer["predictions"][0].clone()
    };
    let normal = ask(&["train.loss=mean_variance"]);
    assert!(normal["deviations"]["size"].as_f64().unwrap() > 0.0, "{normal}");
    let quantiles = ask(&["train.loss=quantile", "train.quantiles=[0.1,0.5,0.9]"]);
    let at = |level: &str| quantiles["quantiles"]["size"][level].as_f64().unwrap();
    let median = quantiles["values"]["size"].as_f64().unwrap();
    assert!(at("0.1") <= median && median <= at("0.9"), "{quantiles}");
    assert!(quantiles.get("deviations").is_none() && normal.get("quantiles").is_none());
}

#[test]
fn nodes_that_are_split_one_by_one_are_not_calibrated_while_training() {
    let workspace = Workspace::new();
    let graph = |at: usize| {
        format!(
            "{{\"id\":\"g{at}\",\"num_nodes\":3,\"edges\":[[0,1],[1,2]],\"target\":[[0.5],[1.5],[{at}.5]],\"split\":[\"train\",\"valid\",\"test\"]}}\n"
        )
    };
    workspace.write("graphs.jsonl", (0..60).map(graph).collect::<String>());
    let refused =
        workspace.run("train --data graphs.jsonl --level node --calibrate --no-cache -q --run-dir run");
    assert!(refused.code == 2 && refused.stderr.contains("needs whole graphs"), "{refused:?}");
    let nodes: String = (0..9).map(|node| format!("{node},0.{node}\n")).collect();
    std::fs::create_dir(workspace.path("one")).unwrap();
    workspace.write("one/nodes.csv", format!("node_id,y\n{nodes}"));
    workspace.write("one/edges.csv", "source,destination\n0,1\n1,2\n");
    workspace.write("parts.json", r#"{"train": "0-4", "valid": "5", "test": "6", "calibration": "7-8"}"#);
    let refused = workspace
        .run("train --data one --level node --target y --split parts.json --no-cache -q --run-dir run");
    assert!(
        refused.code != 0 && refused.stderr.contains("`calibration` part is for whole graphs"),
        "{refused:?}"
    );
}

#[test]
fn a_target_with_few_calibration_labels_costs_no_training() {
    let workspace = Workspace::new();
    let row = |at: usize| {
        let rare = if at.is_multiple_of(9) { format!("{}", at % 7) } else { String::new() };
        format!("{}O{},{}.5,{rare}\n", "C".repeat(1 + at % 12), "C".repeat(at / 12), at % 12)
    };
    workspace.write("m.csv", format!("smiles,a,b\n{}", (0..220).map(row).collect::<String>()));
    let trained = workspace.run(&format!(
        "train --data m.csv --target a,b --calibrate --run-dir run {}",
        TINY.replace(" -q", "")
    ));
    assert!(trained.code == 0 && trained.stdout.contains("without an end"), "{trained:?}");
    let predicted = workspace.run("predict --model run --data m.csv");
    assert!(predicted.code == 0, "{predicted:?}");
    assert!(
        predicted.stderr.contains("b: ") && predicted.stderr.contains("are too few to calibrate"),
        "{predicted:?}"
    );
    for again in ["evaluate --model run --data m.csv", "train --resume run --no-cache", "report run"] {
        let run = workspace.run(again);
        assert_eq!(run.code, 0, "{again}: {run:?}");
    }
}

#[test]
fn models_that_were_calibrated_on_other_graphs_say_that_there_are_no_intervals() {
    let workspace = Workspace::new();
    // One yes in twelve: the labels of two calibrations are often equal.
    let row = |at: usize| {
        format!("{}O{},{}\n", "C".repeat(1 + at % 12), "C".repeat(at / 12), usize::from(at % 12 == 5))
    };
    workspace.write("m.csv", format!("smiles,y\n{}", (0..220).map(row).collect::<String>()));
    for seed in [0, 1] {
        let run = workspace.run(&format!(
            "train --data m.csv --target y --split-seed {seed} --calibrate --run-dir run{seed} {TINY}"
        ));
        assert_eq!(run.code, 0, "{run:?}");
    }
    let alone = workspace.run("predict --model run0 --smiles CCO");
    assert!(alone.code == 0 && alone.stdout.contains("set_"), "{alone:?}");
    let both = workspace.run("predict --model run0 --model run1 --smiles CCO");
    assert!(both.code == 0 && !both.stdout.contains("set_"), "{both:?}");
    assert!(both.stderr.contains("not all on the same graphs"), "{both:?}");
}
