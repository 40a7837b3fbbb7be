//! Rows, nodes and parts are called the same by every command: by the names of the data.

mod common;

use common::{Run, Workspace};

const TINY: &str = "--no-cache -q --threads 1 --set train.epochs=2 --set model.hidden=8 --set model.layers=1 --set model.lap_dim=2";

fn ok(run: Run) -> Run {
    assert_eq!(run.code, 0, "{run:?}");
    run
}

fn text(workspace: &Workspace, name: &str) -> String {
    String::from_utf8(workspace.read(name)).unwrap()
}

/// A ring whose nodes are called by numbers in another order than that of the rows: row r is node (7·r + 3) mod 40.
fn shuffled_ring() -> Workspace {
    let workspace = Workspace::new();
    let name = |row: usize| (7 * row + 3) % 40;
    let (mut nodes, mut edges) = (String::from("node_id,x,kind\n"), String::from("source,destination\n"));
    for row in 0..40 {
        let kind = if row % 4 < 2 { "even" } else { "odd" };
        nodes.push_str(&format!("{},{}.5,{kind}\n", name(row), row % 4));
        edges.push_str(&format!("{},{}\n", name(row), name((row + 1) % 40)));
    }
    std::fs::create_dir(workspace.path("ring")).unwrap();
    workspace.write("ring/nodes.csv", nodes);
    workspace.write("ring/edges.csv", edges);
    ok(workspace
        .run(&format!("train --data ring --level node --target kind --split random --run-dir run {TINY}")));
    workspace
}

#[test]
fn a_node_has_one_name_in_predictions_vectors_and_explanations() {
    let workspace = shuffled_ring();
    let column = |table: &str| -> Vec<String> {
        table.lines().skip(1).map(|line| line.split(',').nth(1).unwrap_or_default().to_owned()).collect()
    };
    let predicted = column(&ok(workspace.run("predict --model run --data ring")).stdout);
    let expected: Vec<String> = (0..40).map(|row| ((7 * row + 3) % 40).to_string()).collect();
    assert_eq!(predicted, expected);
    assert_eq!(column(&ok(workspace.run("embed --model run --data ring --level node")).stdout), expected);
    // Node 3 is the first row, node 0 another one.
    let explained = |node: &str, folder: &str| {
        let run = ok(workspace.run(&format!("explain --model run --data ring --node {node} -o {folder}")));
        assert!(run.stdout.contains(&format!("at node {node} ")), "{run:?}");
        let line: serde_json::Value =
            serde_json::from_str(text(&workspace, &format!("{folder}/explanations.jsonl")).trim()).unwrap();
        assert_eq!(line["node_names"], serde_json::json!(expected), "{line}");
        line["node"].as_u64().unwrap()
    };
    assert_eq!(explained("3", "first"), 0);
    assert_eq!(explained("0", "other"), expected.iter().position(|name| name == "0").unwrap() as u64);
    let unknown = workspace.run("explain --model run --data ring --node 40 -o none");
    assert!(unknown.code == 2 && unknown.stderr.contains("not the node_id of a node"), "{unknown:?}");
}

/// Chains of atoms with codes of their own and parts in columns that only options name.
fn coded_molecules() -> Workspace {
    let workspace = Workspace::new();
    let mut table = String::from("smiles,y,code,part\n");
    for row in 0..40 {
        let part = if row % 4 == 3 { ["valid", "test"][row / 4 % 2] } else { "train" };
        table.push_str(&format!("{}O,{}.5,{},{part}\n", "C".repeat(1 + row % 9), row % 9, 139 - row));
    }
    workspace.write("m.csv", table);
    ok(workspace.run(&format!(
        "train --data m.csv --target y --id-column code --split-column part --run-dir run {TINY}"
    )));
    workspace
}

#[test]
fn a_model_knows_the_columns_of_names_and_parts() {
    let workspace = coded_molecules();
    let vectors = ok(workspace.run("embed --model run --data m.csv")).stdout;
    assert!(vectors.lines().nth(1).unwrap().starts_with("139,"), "{vectors}");
    // 101 is the code of row 38; there is no row of this number.
    let explained = ok(workspace.run("explain --model run --data m.csv --graph 101 -o why")).stdout;
    assert!(explained.contains("\n101 "), "{explained}");
    let parts = ok(workspace.run("evaluate --model run --data m.csv --part test --replicates 0 --json"));
    assert_eq!(parts.json()["graphs"], 5, "{parts:?}");
    // New data has no such columns, and needs none.
    workspace.write("new.csv", "smiles\nCCO\n");
    ok(workspace.run("predict --model run --data new.csv"));
}

#[test]
fn a_column_of_parts_that_nobody_asks_for_is_not_judged() {
    let workspace = coded_molecules();
    let folds = text(&workspace, "m.csv").replace("part\n", "split\n");
    let folds = ["train", "valid", "test"].iter().fold(folds, |text, word| text.replace(word, "fold1"));
    workspace.write("folds.csv", folds);
    let lines: String = (0..30)
        .map(|row| {
            format!(
                "{{\"num_nodes\":2,\"edges\":[[0,1]],\"target\":{}.5,\"split\":\"fold{}\"}}\n",
                row % 5,
                row % 3
            )
        })
        .collect();
    workspace.write("folds.jsonl", lines);
    ok(workspace.run("evaluate --model run --data folds.csv --replicates 0"));
    ok(workspace.run(&format!("train --data folds.csv --target y --split random --run-dir again {TINY}")));
    ok(workspace.run(&format!("train --data folds.jsonl --split random --run-dir lines {TINY}")));
    let asked = workspace.run(&format!("train --data folds.csv --target y --run-dir asked {TINY}"));
    assert!(asked.code == 3 && asked.stderr.contains("fold1"), "{asked:?}");
}

#[test]
fn a_target_of_the_model_is_found_in_any_case() {
    let workspace = coded_molecules();
    workspace.write("upper.csv", text(&workspace, "m.csv").replace("smiles,y,", "SMILES,Y,"));
    let found = ok(workspace.run("evaluate --model run --data upper.csv --replicates 0 --json")).json();
    let expected = ok(workspace.run("evaluate --model run --data m.csv --replicates 0 --json")).json();
    assert_eq!(found["metrics"], expected["metrics"]);
}

#[test]
fn a_row_of_json_lines_is_judged_by_itself() {
    let workspace = Workspace::new();
    let plain =
        |id: &str| format!("{{\"id\":\"{id}\",\"num_nodes\":3,\"edges\":[[0,1],[1,2]],\"target\":1.5}}\n");
    let rows: String =
        (0..30).map(|row| plain(&format!("g{row}")).replace("1.5", &format!("{row}.5"))).collect();
    workspace.write("train.jsonl", rows);
    ok(workspace.run(&format!("train --data train.jsonl --split random --run-dir run {TINY}")));
    let odd = "{\"id\":\"odd\",\"num_nodes\":2,\"edges\":[[0,1]],\"edge_features\":[[1]]}\n";
    let predicted = |content: String| {
        workspace.write("new.jsonl", content);
        let run = ok(workspace.run("predict --model run --data new.jsonl"));
        let mut lines: Vec<String> = run.stdout.lines().skip(1).map(str::to_owned).collect();
        lines.sort();
        // Where a row stands is part of its reason.
        lines.into_iter().map(|line| line.replace("line 2", "line 1")).collect::<Vec<_>>()
    };
    let one = predicted(format!("{odd}{}", plain("fits")));
    assert_eq!(one, predicted(format!("{}{odd}", plain("fits"))));
    assert!(one[0].starts_with("fits,") && one[0].ends_with(','), "{one:?}");
    assert!(one[1].contains("0 columns"), "{one:?}");
}

#[test]
fn a_result_does_not_replace_what_it_was_made_of() {
    let workspace = coded_molecules();
    let before = workspace.read("m.csv");
    for command in ["predict", "embed"] {
        let refused = workspace.run(&format!("{command} --model run --data m.csv -o ./m.csv"));
        assert!(refused.code == 2 && refused.stderr.contains("this is the input"), "{refused:?}");
        assert!(workspace.read("m.csv") == before);
    }
    std::fs::create_dir(workspace.path("folder")).unwrap();
    for copy in ["other.csv", "folder/m.csv"] {
        workspace.write(copy, &before);
    }
    for (command, kept) in [
        ("predict --model run --data m.csv --calibrate other.csv -o other.csv", "other.csv"),
        ("predict --model run --data m.csv --pairs other.csv -o other.csv", "other.csv"),
        ("predict --model run --data folder -o folder/m.csv", "folder/m.csv"),
        ("data split m.csv --split random -o m.csv", "m.csv"),
    ] {
        let refused = workspace.run(command);
        assert!(refused.code == 2 && refused.stderr.contains("this is the input"), "{refused:?}");
        assert!(workspace.read(kept) == before, "{command}");
    }
    let refused = workspace.run("report run -o m.csv");
    assert!(
        refused.code == 2 && refused.stderr.contains(".html") && workspace.read("m.csv") == before,
        "{refused:?}"
    );
    let refused = workspace.run("predict --model run --data m.csv --threads 100000");
    assert!(refused.code == 2 && refused.stderr.contains("at most 1024"), "{refused:?}");
}

#[test]
fn settings_that_do_not_fit_the_columns_are_said_or_refused() {
    let workspace = Workspace::new();
    let row = |at: usize| {
        let word = ["red", "green"][at % 2];
        format!(
            "{{\"num_nodes\":2,\"edges\":[[0,1]],\"node_features\":[[\"{word}\",{at}.5],[\"blue\",1.5]],\"target\":\"{}\"}}\n",
            ["a", "b", "c"][at % 3]
        )
    };
    workspace.write("g.jsonl", (0..45).map(row).collect::<String>());
    let train = |more: &str| {
        workspace.run(&format!("train --data g.jsonl --split random {} {more}", TINY.replace("-q", "")))
    };
    let refused = train("--set model.out_dim=4 --run-dir four");
    assert!(refused.code == 2 && refused.stderr.contains("each of the 3 classes"), "{refused:?}");
    assert!(!workspace.path("four").exists());
    let noted = ok(train("--set model.node_encoder=linear --run-dir linear"));
    assert!(noted.stderr.contains("does not read `node_feature_0`"), "{noted:?}");
    assert!(!ok(train("--run-dir usual")).stderr.contains("does not read"));
}

#[test]
fn a_column_that_is_not_there_cannot_be_numeric_or_text() {
    let workspace = Workspace::new();
    let row = |at: usize| {
        format!(
            "{{\"num_nodes\":2,\"edges\":[[0,1]],\"node_features\":[[{},{at}],[1,2]],\"target\":{at}.5}}\n",
            at % 3
        )
    };
    workspace.write("g.jsonl", (0..30).map(row).collect::<String>());
    ok(workspace.run("data convert g.jsonl tables"));
    std::fs::create_dir(workspace.path("TU")).unwrap();
    for (name, text) in [
        ("A", "1, 2\n2, 1\n3, 4\n"),
        ("graph_indicator", "1\n1\n2\n2\n"),
        ("graph_labels", "0\n1\n"),
        ("node_labels", "0\n1\n1\n2\n"),
    ] {
        workspace.write(&format!("TU/TU_{name}.txt"), text);
    }
    for data in ["g.jsonl", "tables", "TU"] {
        ok(workspace.run(&format!("data check {data}")));
        for option in ["numeric", "text"] {
            let refused = workspace.run(&format!("data check {data} --{option} node_featur_1"));
            let said = format!("no column is called `node_featur_1` (--{option}): nodes have `node_");
            assert!(refused.code == 3 && refused.stderr.contains(&said), "{refused:?}");
        }
    }
    ok(workspace.run("data check g.jsonl --numeric node_feature_1 --text node_feature_0"));
    workspace.write(
        "words.jsonl",
        "{\"num_nodes\": 1, \"edges\": [], \"node_features\": [[\"red\"]], \"target\": 1}\n",
    );
    for (column, said) in [
        (
            "node_feature_0",
            "`node_feature_0` is to hold numbers (--numeric), but it holds text such as `red`",
        ),
        ("target", "`--numeric target` has no effect: it is a target"),
    ] {
        let refused = workspace.run(&format!("data check words.jsonl --numeric {column}"));
        assert!(refused.code == 3 && refused.stderr.contains(said), "{refused:?}");
    }
    // A line of JSON has its name in one field.
    let refused = workspace.run("data check g.jsonl --id-column name");
    assert!(refused.code == 3 && refused.stderr.contains("in the field `id`"), "{refused:?}");
    ok(workspace.run("data check g.jsonl --id-column id"));
}

#[test]
fn hashes_are_names_to_the_last_digit() {
    let workspace = Workspace::new();
    let ids = [u64::MAX, u64::MAX - 1, 1 << 63];
    let line =
        |id: &u64| format!("{{\"id\": {id}, \"num_nodes\": 2, \"edges\": [[0, 1]], \"target\": 1.5}}\n");
    workspace.write("hashes.jsonl", ids.iter().map(line).collect::<String>());
    ok(workspace.run("data convert hashes.jsonl again.jsonl"));
    let again = text(&workspace, "again.jsonl");
    assert!(
        ids.iter().zip(again.lines()).all(|(id, line)| line.contains(&format!("\"id\":\"{id}\""))),
        "{again}"
    );
}
