//! What is known about labels besides their values: how much rows and target columns count.

mod common;

use common::{Run, Workspace};
use graphminnet_data::rng::stream;

const TINY: &str = "--set model.hidden=8 --set model.layers=1 --set model.lap_dim=2 --set train.epochs=3 --no-cache --split random";

fn ok(run: Run) -> Run {
    assert_eq!(run.code, 0, "{run:?}");
    run
}

/// Chains with two numbers that their length tells, and three columns of weights: alike, different, none.
fn table(rows: usize) -> String {
    let mut random = stream(3, "labels", &[]);
    let mut text = String::from("smiles,y,z,alike,trust,nothing\n");
    for row in 0..rows {
        let length = 1 + random.below(9);
        let (y, z) = (length as f64 + 0.1 * random.normal(), 3.0 - length as f64);
        text.push_str(&format!("{}O,{y:.3},{z:.3},2,{},0\n", "C".repeat(length), row % 4));
    }
    text
}

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("m.csv", table(60));
    workspace
}

/// The hash of the weights that a training ends with.
fn weights(workspace: &Workspace, run: &str) -> String {
    let result = workspace.read(&format!("{run}/seed-0/result.json"));
    let result: serde_json::Value = serde_json::from_slice(&result).unwrap();
    result["last_weights_sha256"].as_str().unwrap().to_owned()
}

#[test]
fn weights_of_rows_act_on_the_training_loss_alone() {
    let workspace = workspace();
    let train = |more: &str, name: &str| {
        ok(workspace.run(&format!("train --data m.csv --target y {TINY} -q {more} --run-dir {name}")));
        weights(&workspace, name)
    };
    let plain = train("--threads 1", "plain");
    assert_eq!(train("--weight-column alike --threads 1", "alike"), plain, "weights of 2 are weights of 1");
    let weighted = train("--weight-column trust --threads 1", "weighted");
    assert_ne!(weighted, plain);
    assert_eq!(train("--weight-column trust --threads 2", "threads"), weighted);
    // A run that is resumed reads the weights again.
    std::fs::remove_file(workspace.path("weighted/seed-0/result.json")).unwrap();
    ok(workspace.run("train --resume weighted -q --threads 2 --no-cache"));
    assert_eq!(weights(&workspace, "weighted"), weighted);
    // A model does not ask for them.
    workspace.write("new.csv", "smiles\nCCO\n");
    ok(workspace.run("predict --model weighted --data new.csv"));
    let evaluated = ok(workspace.run("evaluate --model weighted --data m.csv"));
    assert!(!evaluated.stdout.contains("trust"), "{evaluated:?}");
}

#[test]
fn weights_are_said_and_wrong_ones_are_errors() {
    let workspace = workspace();
    let run =
        ok(workspace.run(&format!("train --data m.csv --target y --weight-column trust {TINY} --run-dir a")));
    assert!(run.stderr.contains("`trust` weighs rows in the training loss, from 0 to 3"), "{run:?}");
    for (arguments, code, said) in [
        ("--data m.csv --target y --weight-column missing", 3, "a column called `missing`"),
        ("--data m.csv --target y --weight-column nothing", 2, "0 for all 48 graphs of the training part"),
        ("--data m.csv --target y --weight-column smiles", 3, "as something else"),
        ("--generate ring-transfer --weight-column w", 2, "--data"),
        ("--data m.csv --target y,z --task-weights 1", 2, "there are 2: y, z"),
        ("--data m.csv --target y --task-weights 1,2", 2, "there is 1: y"),
        ("--data m.csv --target y,z --task-weights 0,0", 2, "not all 0"),
        ("--data m.csv --target y,z --task-weights 1,-2", 2, "not negative"),
        ("--data m.csv --target y,z --task-weights 1,x", 2, "invalid"),
        ("--data m.csv --target y,z --set train.task_weights=[nan,1]", 2, "finite numbers"),
        ("--data m.csv --target y,z --set train.task_weights=3", 2, "train.task_weights"),
        ("--resume a --task-weights 1", 2, "--task-weights"),
        ("--resume a --weight-column trust", 2, "--data"),
    ] {
        let own = if arguments.contains("--data") { TINY } else { "" };
        let run = workspace.run(&format!("train {arguments} {own}"));
        assert!(run.code == code && run.stderr.contains(said), "{arguments}: {run:?}");
    }
}

/// Appends a row whose `z` is that of the row before.
fn swap((mut text, before): (String, String), row: &str) -> (String, String) {
    let mut cells: Vec<&str> = row.split(',').collect();
    let own = cells[2].to_owned();
    if own != "z" && before != "z" {
        cells[2] = &before;
    }
    text.push_str(&(cells.join(",") + "\n"));
    (text, own)
}

#[test]
fn a_target_column_that_counts_nothing_is_not_learnt() {
    let workspace = workspace();
    let train = |more: &str, name: &str| {
        let command =
            format!("train --data m.csv --target y,z {TINY} -q --threads 1 {more} --run-dir {name}");
        ok(workspace.run(&command));
        weights(&workspace, name)
    };
    let plain = train("", "plain");
    assert_eq!(train("--task-weights 3,3", "alike"), plain);
    let one = train("--task-weights 1,0", "one");
    assert_ne!(one, plain);
    assert_eq!(train("--set train.task_weights=[1,0]", "set"), one, "two ways to say the same");
    // The labels of a column that counts nothing may be anything, as long as they are scaled alike.
    let swapped: String = table(60).lines().fold((String::new(), String::new()), swap).0;
    workspace.write("m.csv", swapped);
    assert_eq!(train("--task-weights 1,0 --set train.target_scaling=none", "swapped"), {
        workspace.write("m.csv", table(60));
        train("--task-weights 1,0 --set train.target_scaling=none", "unscaled")
    });
}

/// The table with every large `y` known by a bound only.
fn bounded(bound: &str) -> String {
    let table = table(240);
    let rows = table.lines().map(|row| {
        let mut cells: Vec<String> = row.split(',').map(str::to_owned).collect();
        if cells[1].parse::<f64>().is_ok_and(|y| y > 6.0) {
            cells[1] = bound.to_owned();
        }
        cells.join(",") + "\n"
    });
    rows.collect()
}

#[test]
fn bounds_are_learnt_from_and_judged_by_nothing() {
    let workspace = workspace();
    let longer = TINY.replace("train.epochs=3", "train.epochs=40");
    let train = |bound: &str, more: &str, name: &str| {
        workspace.write("b.csv", bounded(bound));
        let command = format!(
            "train --data b.csv --target y --no-descriptors {longer} --calibrate {more} --run-dir {name}"
        );
        let run = ok(workspace.run(&command));
        assert_eq!(bound.is_empty(), !run.stderr.contains("labels of `y` are bounds"), "{run:?}");
        weights(&workspace, name)
    };
    // The last epoch, because bounds do not choose the best one. Of long chains the model is told that they are far above all others, or nothing.
    let known = train(">20", "--threads 1", "known");
    assert_eq!(train("> 20", "--threads 2", "spaces"), known);
    train("", "--threads 1", "unknown");
    workspace.write("long.csv", "smiles,y\nCCCCCCCCCO,9\n");
    let said = |run: &str| -> f64 {
        let table =
            ok(workspace.run(&format!("predict --model {run}/seed-0/last.gmn --data long.csv"))).stdout;
        let mut rows = table.lines().map(|row| row.split(',').map(str::to_owned).collect::<Vec<_>>());
        let at = rows.next().unwrap().iter().position(|name| name == "pred_y").unwrap();
        rows.next().unwrap()[at].parse().unwrap()
    };
    assert!(said("known") > said("unknown") + 0.5, "{} and {}", said("known"), said("unknown"));
    // No metric counts them.
    workspace.write("b.csv", bounded(">20"));
    let evaluated = ok(workspace.run("evaluate --model known --data b.csv --json"));
    let exact = bounded(">20").lines().skip(1).filter(|row| !row.contains('>')).count();
    assert_eq!(evaluated.json()["labels"], exact, "{evaluated:?}");
    let said = format!("{} labels are bounds", 240 - exact);
    assert!(evaluated.stderr.contains(&said), "{evaluated:?}");
    // JSON Lines keep them, a folder of tables cannot.
    ok(workspace.run("data convert b.csv b.jsonl --target y"));
    let lines = String::from_utf8(workspace.read("b.jsonl")).unwrap();
    assert_eq!(lines.matches("\"target\":[\">20.0\"]").count(), 240 - exact, "{lines}");
    let converted = ok(workspace.run("data convert b.csv folder --target y"));
    assert!(
        converted.stderr.contains("are bounds, which only tables of molecules and JSON Lines can have"),
        "{converted:?}"
    );
    // Neither does the table of the test part.
    let table = String::from_utf8(workspace.read("known/seed-0/test_predictions.csv")).unwrap();
    assert!(table.lines().any(|row| row.split(',').nth(1) == Some("")), "{table}");
}

#[test]
fn bounds_that_make_no_sense_are_errors() {
    let workspace = workspace();
    for (bound, arguments, code, said) in [
        (">high", "--target y", 3, "`>high`"),
        (">1e99", "--target y", 3, "a finite 32-bit number"),
        (">20", "--target y --task binary", 3, "not 0, 1 or blank"),
        (">20", "--target y --level node", 3, "not a list"),
    ] {
        // The first value says that the column holds numbers.
        workspace.write("b.csv", bounded(bound).replacen('\n', "\nCO,1.5,2,2,1,0\n", 1));
        let run = workspace.run(&format!("train --data b.csv {arguments} {TINY}"));
        assert!(run.code == code && run.stderr.contains(said), "{bound} {arguments}: {run:?}");
    }
}

#[test]
fn a_target_is_found_in_any_case_and_is_a_column_of_its_own() {
    let workspace = workspace();
    let train = |more: &str| workspace.run(&format!("train --data m.csv {TINY} --threads 1 {more}"));
    ok(train("--target y -q --run-dir as-written"));
    let other = ok(train("--target Y --run-dir other-case"));
    assert!(
        other.stdout.contains("1 target column: y") || other.stderr.contains("1 target column: y"),
        "{other:?}"
    );
    assert_eq!(weights(&workspace, "other-case"), weights(&workspace, "as-written"));
    for (asked, said) in [
        ("--target y --descriptors y", "`y` as a target and as something else"),
        ("--target y,Y", "`Y` as a target twice"),
        ("--target smiles", "`smiles` as a target and as something else"),
    ] {
        let refused = train(&format!("{asked} --run-dir refused"));
        assert!(refused.code == 3 && refused.stderr.contains(said), "{asked}: {refused:?}");
    }
}

#[test]
fn targets_from_which_nothing_can_be_learnt_are_said_before_training() {
    let workspace = Workspace::new();
    let rows = (0..60).map(|row| {
        format!(
            "{}O,{},{:.4},,7\n",
            "C".repeat(1 + row % 9),
            row % 5,
            -40_000.0 + f64::from(row as u32 % 9) / 1000.0
        )
    });
    workspace.write("m.csv", format!("smiles,y,energy,empty,same\n{}", rows.collect::<String>()));
    let trained = ok(workspace.run(&format!(
        "train --data m.csv --target y,energy,empty,same --task regression {TINY} --threads 1 --run-dir run"
    )));
    let said = format!("{}{}", trained.stdout, trained.stderr);
    for doubt in [
        "target `energy` differs little around -39999.99",
        "target `empty` has no label in the training part",
        "target `same` does not vary in the training part",
    ] {
        assert!(said.contains(doubt), "{doubt}: {trained:?}");
    }
    assert!(!said.contains("target `y`"), "{trained:?}");
    // As many classes as rows are no classes.
    let named = (0..40).map(|row| format!("{}O,{row}.5 mg\n", "C".repeat(1 + row % 9)));
    workspace.write("text.csv", format!("smiles,dose\n{}", named.collect::<String>()));
    let classes =
        workspace.run(&format!("train --data text.csv --target dose {TINY} --threads 1 --run-dir text"));
    let said = format!("{}{}", classes.stdout, classes.stderr);
    assert!(said.contains("there are 40 classes for 32 labels"), "{classes:?}");
}

#[test]
fn what_cannot_be_learnt_from_is_said_before_training() {
    let workspace = Workspace::new();
    let line = |at: usize, feature: &str, target: &str| {
        format!("{{\"num_nodes\":2,\"edges\":[[0,1]],\"node_features\":[[{feature}],[{at}.5]]{target}}}\n")
    };
    for (feature, target, code, expected) in [
        ("1e30", ",\"target\":0.5", 3, "column `node_feature_0` holds 1e30"),
        ("0.5", ",\"target\":\"yes\"", 3, "of one class, so there is nothing to tell apart"),
        ("0.5", "", 2, "the data has no targets: name a column with --target"),
    ] {
        workspace.write("g.jsonl", (0..40).map(|at| line(at, feature, target)).collect::<String>());
        let run = workspace.run(&format!("train --data g.jsonl {TINY} -q"));
        assert!(run.code == code && run.stderr.contains(expected), "{run:?}");
    }
    let target = |at: usize| format!(",\"target\":{at}.5");
    let far = (0..40).map(|at| {
        let number = 1_000_000 + at;
        format!("{{\"num_nodes\":1,\"edges\":[],\"node_features\":[[{number}.5]]{}}}\n", target(at))
    });
    workspace.write("far.jsonl", far.collect::<String>());
    let run = ok(workspace.run(&format!("train --data far.jsonl {TINY} --run-dir far")));
    assert!(run.stderr.contains("column `node_feature_0` differs little around 10000"), "{run:?}");
}

#[test]
fn a_narrow_model_has_narrow_positions_unless_they_are_asked_for() {
    let workspace = Workspace::new();
    let rows = (0..40).map(|row| format!("{}O,{}\n", "C".repeat(1 + row % 9), row % 2));
    workspace.write("m.csv", format!("smiles,y\n{}", rows.collect::<String>()));
    let train =
        |more: &str| workspace.run(&format!("train --data m.csv --target y {TINY} --threads 1 -q {more}"));
    ok(train("--run-dir narrow"));
    let run = String::from_utf8(workspace.read("narrow/run.toml")).unwrap();
    assert!(run.contains("pe_dim = 4"), "{run}");
    let refused = train("--set model.pe_dim=28 --run-dir wide");
    assert!(refused.code == 2 && refused.stderr.contains("`model.pe_dim` = 28"), "{refused:?}");
}

#[test]
fn graphs_that_are_tested_and_trained_on_are_counted() {
    let workspace = Workspace::new();
    // Rows 0 to 9 test; the molecule of row 3 is written in another way in row 20, and that of row 5 again in row 30.
    let smiles = |row: usize| match row {
        20 => "OCCCC".to_owned(),
        30 => format!("{}O", "C".repeat(6)),
        row => format!("{}O", "C".repeat(1 + row)),
    };
    let part = |row: usize| {
        if row < 10 {
            "test"
        } else if row < 20 {
            "valid"
        } else {
            "train"
        }
    };
    let rows = (0..40).map(|row| format!("{},{row}.5,{}\n", smiles(row), part(row)));
    workspace.write("m.csv", format!("smiles,y,split\n{}", rows.collect::<String>()));
    let tiny = TINY.replace("--split random", "");
    let run = ok(workspace.run(&format!("train --data m.csv --target y {tiny} --run-dir run")));
    assert!(run.stderr.contains("1 graph of the test part is also in the training part"), "{run:?}");
}

#[test]
fn a_row_that_weighs_nothing_changes_nothing() {
    let workspace = workspace();
    let table = String::from_utf8(workspace.read("m.csv")).unwrap();
    let parts = |row: usize| ["train", "train", "train", "valid", "test"][row % 5];
    let with = |first: &str| -> String {
        let rows = table.lines().skip(1).enumerate().map(|(row, line)| {
            let cells: Vec<&str> = line.split(',').collect();
            let (y, weight) = if row == 0 { (first, 0) } else { (cells[1], 1) };
            format!("{},{y},{weight},{}\n", cells[0], parts(row))
        });
        format!("smiles,y,w,split\n{}", rows.collect::<String>())
    };
    let tiny = TINY.replace("--split random", "");
    let hash = |first: &str, name: &str| {
        workspace.write(&format!("{name}.csv"), with(first));
        ok(workspace.run(&format!(
            "train --data {name}.csv --target y --weight-column w {tiny} -q --run-dir {name}"
        )));
        weights(&workspace, name)
    };
    assert_eq!(hash("1.0", "usual"), hash("9999", "absurd"));
}

#[test]
fn two_equal_models_of_classes_are_evaluated_as_one() {
    let workspace = Workspace::new();
    let row =
        |at: usize| format!("{}O,{}\n", "C".repeat(1 + at % 9), ["short", "middle", "long"][at % 9 / 3]);
    workspace.write("m.csv", format!("smiles,y\n{}", (0..60).map(row).collect::<String>()));
    ok(workspace.run(&format!("train --data m.csv --target y {TINY} -q --run-dir run")));
    workspace.write("copy.gmn", workspace.read("run/seed-0/best.gmn"));
    for (models, is_twice) in [("run copy.gmn", true), ("run", false)] {
        let run = ok(workspace.run(&format!("predict --model {models} --data m.csv")));
        assert_eq!(
            run.stderr.contains("copy.gmn is among the models before it: it counts twice"),
            is_twice,
            "{run:?}"
        );
    }
    let metrics = |models: &str| {
        let run = ok(workspace.run(&format!("evaluate {models} --data m.csv --replicates 0 --json")));
        serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap()["metrics"].clone()
    };
    fn numbers(value: &serde_json::Value, found: &mut Vec<f64>) {
        match value {
            serde_json::Value::Array(values) => values.iter().for_each(|value| numbers(value, found)),
            serde_json::Value::Object(values) => values.values().for_each(|value| numbers(value, found)),
            value => found.extend(value.as_f64()),
        }
    }
    let (mut one, mut both) = (Vec::new(), Vec::new());
    numbers(&metrics("--model run"), &mut one);
    numbers(&metrics("--model run --model copy.gmn"), &mut both);
    assert!(one.len() == both.len() && one.len() > 3, "{one:?} {both:?}");
    assert!(one.iter().zip(&both).all(|(one, both)| (one - both).abs() < 1e-6), "{one:?} {both:?}");
}

#[test]
fn models_of_other_columns_are_no_ensemble_unless_one_is_named() {
    let workspace = Workspace::new();
    let rows =
        (0..40).map(|row| format!("{}O,{}N,{row}.5\n", "C".repeat(1 + row % 9), "C".repeat(1 + row % 7)));
    workspace.write("m.csv", format!("drug,solvent,y\n{}", rows.collect::<String>()));
    for column in ["drug", "solvent"] {
        ok(workspace.run(&format!(
            "train --data m.csv --target y --smiles-column {column} {TINY} -q --run-dir {column}"
        )));
    }
    for command in ["predict", "evaluate"] {
        let both = format!("{command} --model drug --model solvent --data m.csv");
        let refused = workspace.run(&both);
        assert!(refused.code == 2 && refused.stderr.contains("`drug` and `solvent`"), "{refused:?}");
        ok(workspace.run(&format!("{both} --smiles-column drug")));
    }
    ok(workspace.run("predict --model drug --model solvent --smiles CCO"));
}

/// Writes a folder of tables with forty small graphs, of which `table` has these columns of targets.
fn write_tables(workspace: &Workspace, folder: &str, table: &str, columns: &[&str]) {
    let target = |column: &str, row: usize| match column {
        "target_big" => format!("{}.5", 1000 + row),
        _ => format!("0.{}", 10 + row % 80),
    };
    let write = |name: &str, header: &str, rows: Vec<String>| {
        let columns = if name == table { columns } else { &[] };
        let header = [&[header], columns].concat().join(",");
        let cells = |(row, line): (usize, String)| {
            let targets = columns.iter().map(|column| target(column, row));
            std::iter::once(line).chain(targets).collect::<Vec<_>>().join(",") + "\n"
        };
        let rows: String = rows.into_iter().enumerate().map(cells).collect();
        workspace.write(&format!("{folder}/{name}.csv"), format!("{header}\n{rows}"));
    };
    std::fs::create_dir(workspace.path(folder)).unwrap();
    let each = |count: usize, row: &dyn Fn(usize, usize) -> String| -> Vec<String> {
        (0..40)
            .flat_map(|graph| (0..count).map(move |at| (graph, at)))
            .map(|(graph, at)| row(graph, at))
            .collect()
    };
    write("graphs", "graph_id", each(1, &|graph, _| graph.to_string()));
    write("nodes", "graph_id,node_id,x", each(3, &|graph, at| format!("{graph},{at},{at}.{graph}")));
    write("edges", "graph_id,source,destination", each(2, &|graph, at| format!("{graph},{at},{}", at + 1)));
    if table == "pairs" {
        write(table, "graph_id,source,destination", each(2, &|graph, at| format!("{graph},{},{at}", 2 - at)));
    }
}

#[test]
fn targets_of_a_csv_folder_are_known_by_name_in_any_order_and_may_be_missing() {
    for table in ["graphs", "nodes", "edges", "pairs"] {
        let workspace = Workspace::new();
        write_tables(&workspace, "a", table, &["target_big", "target_small"]);
        write_tables(&workspace, "b", table, &["target_small", "target_big"]);
        write_tables(&workspace, "c", table, &["target_small"]);
        ok(workspace.run(&format!("train --data a {TINY} --threads 1 -q --run-dir run")));
        let judged = |folder: &str| {
            let run =
                ok(workspace.run(&format!("evaluate --model run --data {folder} --replicates 0 --json")));
            run.json()["breakdown"]["rows"].as_array().unwrap().clone()
        };
        let expected = judged("a");
        let names: Vec<&str> = expected.iter().map(|row| row["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["target_big", "target_small"], "{table}");
        assert_eq!(judged("b"), expected, "{table}");
        let without = judged("c");
        let small = without.iter().find(|row| row["name"] == "target_small").unwrap();
        assert_eq!(*small, expected[1], "{table}");
        let big = without.iter().find(|row| row["name"] == "target_big");
        assert!(big.is_none_or(|row| row["labels"] == 0), "{table}: {without:?}");
    }
}

/// Paths in lines of JSON whose nodes have a number and these fields.
fn paths(fields: impl Fn(usize, usize) -> String) -> String {
    let line = |graph: usize| {
        let nodes = 3 + graph % 4;
        let edges: Vec<String> = (1..nodes).map(|node| format!("[{},{node}]", node - 1)).collect();
        let x: Vec<String> = (0..nodes).map(|node| format!("[{}.5]", (graph * 7 + node) % 5)).collect();
        let (edges, x, fields) = (edges.join(","), x.join(","), fields(graph, nodes));
        format!("{{\"num_nodes\":{nodes},\"edges\":[{edges}],\"node_features\":[{x}],{fields}}}\n")
    };
    (0..40).map(line).collect()
}

#[test]
fn targets_are_learnt_in_the_order_in_which_they_are_asked_for_in_both_formats() {
    let workspace = Workspace::new();
    workspace
        .write("m.jsonl", paths(|graph, nodes| format!("\"target\":[{nodes}.5,{}.25,0.{graph}]", graph % 7)));
    ok(workspace.run("data convert m.jsonl tables"));
    let train = |data: &str, run: &str| {
        let tiny = format!("{TINY} --threads 1 -q --run-dir {run}");
        let order = "--target target_2,target_1,target_0 --task-weights 100,1,1";
        ok(workspace.run(&format!("train --data {data} {order} {tiny}")));
        weights(&workspace, run)
    };
    assert_eq!(train("tables", "of-tables"), train("m.jsonl", "of-lines"));
}

#[test]
fn a_target_that_nobody_asks_for_is_no_feature() {
    let workspace = Workspace::new();
    let rows = |graph: usize, nodes: usize| {
        let rows: Vec<String> =
            (0..nodes).map(|node| (graph + node) % 2).map(|yes| format!("[{yes},{yes}]")).collect();
        format!("\"target\":[{}]", rows.join(","))
    };
    workspace.write("n.jsonl", paths(rows));
    ok(workspace.run("data convert n.jsonl n"));
    let train = |data: &str, run: &str| {
        ok(workspace
            .run(&format!("train --data {data} --target target_0 {TINY} --threads 1 --run-dir {run}")))
    };
    let said = train("n", "of-tables").stderr;
    assert!(said.contains("nobody asked for these targets of nodes.csv: `target_1`"), "{said}");
    train("n.jsonl", "of-lines");
    assert_eq!(weights(&workspace, "of-tables"), weights(&workspace, "of-lines"));

    std::fs::create_dir(workspace.path("e")).unwrap();
    workspace.write("e/nodes.csv", "node_id,w,label\n0,0.5,1\n1,1.5,0\n2,2.5,1\n");
    workspace
        .write("e/edges.csv", "source,destination,len,target_0,target_1\n0,1,0.5,1,2.5\n1,2,1.5,0,3.5\n");
    let check = |more: &str| ok(workspace.run(&format!("data check e {more}")));
    for level in ["edge --target target_0", "pair"] {
        let run = check(&format!("--level {level}"));
        let features: Vec<&str> = run.stdout.lines().filter(|line| line.ends_with("numbers")).collect();
        assert_eq!(features.len(), 2, "{run:?}");
        assert!(features[0].starts_with("w ") && features[1].starts_with("len "), "{run:?}");
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains("targets of nodes.csv: `label`"), "{run:?}");
        assert!(said.contains("targets of edges.csv: ") && said.contains("`target_1`"), "{run:?}");
    }
    let kept = check("--level edge --target target_0 --numeric target_1");
    assert!(kept.stdout.contains("target_1  edge    numbers"), "{kept:?}");
}

#[test]
fn two_classes_are_ranked_as_evaluate_ranks_them_and_three_not_at_all() {
    let workspace = Workspace::new();
    let rows = |classes: usize| -> String {
        let part = |at: usize| ["train", "valid", "test"][(at / 9) % 3];
        let row =
            |at: usize| format!("{}O,{},{}\n", "C".repeat(1 + at % 9), (at % 9) * classes / 9, part(at));
        format!("smiles,y,split\n{}", (0..90).map(row).collect::<String>())
    };
    workspace.write("two.csv", rows(2));
    workspace.write("three.csv", rows(3));
    let small = "--set model.hidden=8 --set model.layers=1 --no-cache -q";
    let fields = "--set train.loss=cross_entropy --set model.out_dim=2 --set train.metric=roc_auc --set train.epochs=5";
    ok(workspace.run(&format!("train --data two.csv {small} {fields} --run-dir two")));
    let json = |bytes: &[u8]| -> serde_json::Value { serde_json::from_slice(bytes).unwrap() };
    let test = json(&workspace.read("two/seed-0/result.json"))["best"]["test"].as_f64().unwrap();
    assert!(test > 0.5, "what was learnt is not upside down: {test}");
    let judged = ok(workspace.run("evaluate --model two --data two.csv --part test --json"));
    let found = json(judged.stdout.as_bytes());
    assert!(found.to_string().contains(&format!("\"value\":{test}")), "{test}: {found}");
    let run = workspace.run(&format!("train --data three.csv --set train.metric=roc_auc {small}"));
    assert!(run.code != 0 && run.stderr.contains("train.metric"), "{run:?}");
    assert!(run.stderr.contains("yes/no targets or two classes"), "{run:?}");
}
