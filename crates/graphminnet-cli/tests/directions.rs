//! Graphs that a model reads both ways.

mod common;

use common::Workspace;
use common::molecules::{cells, ok};

/// Rings of four to nine nodes, every edge once or in both directions, and their number of nodes to learn.
fn rings(in_both_directions: bool) -> String {
    let line = |graph: usize| {
        let nodes = 4 + graph % 6;
        let edge = |node: usize| {
            let next = (node + 1) % nodes;
            let reverse = if in_both_directions { format!(",[{next},{node}]") } else { String::new() };
            format!("[{node},{next}]{reverse}")
        };
        let edges: Vec<String> = (0..nodes).map(edge).collect();
        format!("{{\"num_nodes\":{nodes},\"edges\":[{}],\"target\":{nodes}.5}}\n", edges.join(","))
    };
    (0..30).map(line).collect()
}

const RINGS: &str = "--run-dir run --no-cache -q --threads 1 --set train.epochs=1 --set model.hidden=8 \
                     --set model.layers=1 --set model.lap_dim=2 --set model.pe_dim=2";

#[test]
fn edges_in_both_directions_are_refused_where_a_model_reads_each_both_ways() {
    let workspace = Workspace::new();
    workspace.write("once.jsonl", rings(false));
    workspace.write("twice.jsonl", rings(true));
    let train = |data: &str| workspace.run(&format!("train --data {data} --edges both-ways {RINGS}"));
    let refused = train("twice.jsonl");
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.stderr.contains("every edge is listed in both directions"), "{refused:?}");
    ok(train("once.jsonl"));
    ok(workspace.run("data convert once.jsonl rings.g6"));
    let rows = |data: &str| -> Vec<Vec<String>> {
        let run = workspace.run(&format!("predict --model run --data {data}"));
        run.stdout.lines().skip(1).map(cells).collect()
    };
    let once = rows("once.jsonl");
    assert!(once.iter().all(|row| !row[1].is_empty() && row[2].is_empty()), "{once:?}");
    assert_eq!(rows("rings.g6"), once);
    let twice = rows("twice.jsonl");
    assert_eq!(twice.len(), once.len());
    for (at, row) in twice.iter().enumerate() {
        assert!(row[1].is_empty(), "{row:?}");
        let place = format!("line {}, column `edges`", at + 1);
        assert!(row[2].contains(&place) && row[2].contains("list each once"), "{row:?}");
    }
}

#[test]
fn a_model_of_edges_in_both_directions_warns_of_edges_in_one() {
    let workspace = Workspace::new();
    workspace.write("once.jsonl", rings(false));
    workspace.write("twice.jsonl", rings(true));
    let train = |data: &str, run: &str| {
        ok(workspace.run(&format!(
            "train --data {data} {}",
            RINGS.replace("--run-dir run", &format!("--run-dir {run}"))
        )));
    };
    train("twice.jsonl", "both");
    train("once.jsonl", "one");
    for (model, data, warns) in
        [("both", "once", true), ("both", "twice", false), ("one", "once", false), ("one", "twice", false)]
    {
        for command in ["predict", "evaluate", "embed -o vectors.csv"] {
            let model =
                if command.starts_with("embed") { format!("{model}/seed-0") } else { model.to_owned() };
            let run = ok(workspace.run(&format!("{command} --model {model} --data {data}.jsonl")));
            let said = "30 of 30 graphs have edges without their reverse";
            assert_eq!(run.stderr.contains(said), warns, "{command} {model} {data}: {run:?}");
        }
    }
}

#[test]
fn a_misspelt_field_is_no_graph_without_edges() {
    let workspace = Workspace::new();
    workspace.write("rings.jsonl", rings(true));
    ok(workspace.run(&format!("train --data rings.jsonl {RINGS}")));
    let edges = rings(true).replace("\"edges\"", "\"edge_list\"");
    workspace.write("new.jsonl", edges + "{\"num_nodes\":3}\n{\"num_nodes\":3,\"edges\":[]}\n");
    let run = ok(workspace.run("predict --model run --data new.jsonl"));
    let rows: Vec<Vec<String>> = run.stdout.lines().skip(1).map(cells).collect();
    for row in &rows[..30] {
        assert!(row[1].is_empty() && row[2].contains("`edges`") && row[2].contains("`edge_list`"), "{row:?}");
    }
    assert!(rows[30][1].is_empty() && rows[30][2].contains("[] for a graph without edges"), "{rows:?}");
    assert!(!rows[31][1].is_empty() && rows[31][2].is_empty(), "{rows:?}");
}
