//! Measuring a part of the data: whose part it is, and how to measure that of a run.

mod common;

use common::{Run, Workspace};
use graphminnet_data::rng::stream;

const TINY: &str = "--set model.hidden=8 --set model.layers=1 --set model.lap_dim=2 --set train.epochs=3 --no-cache --split random";
const OTHER: &str = "may be among those that it was trained on";

fn ok(run: Run) -> Run {
    assert_eq!(run.code, 0, "{run:?}");
    run
}

/// A metric as `evaluate` prints it, and as the run recorded it.
fn both(workspace: &Workspace, run: &str, metric: &str, data: &str) -> (f64, f64) {
    let found =
        ok(workspace.run(&format!("evaluate --model {run} {data} --part test --replicates 0 --json")));
    let metrics = found.json()["metrics"].clone();
    let own = metrics.as_array().unwrap().iter().find(|found| found["metric"] == metric);
    let result: serde_json::Value =
        serde_json::from_slice(&workspace.read(&format!("{run}/seed-0/result.json"))).unwrap();
    (own.unwrap()["value"].as_f64().unwrap(), result["best"]["test"].as_f64().unwrap())
}

#[test]
fn evaluating_a_part_says_if_it_is_not_that_of_the_training() {
    let workspace = Workspace::new();
    let part = |row: usize| ["train", "train", "train", "valid", "test"][row % 5];
    let rows =
        (0..210).map(|row| format!("{}O,{row}.5,{},{}\n", "C".repeat(1 + row % 9), part(row), 1 + row % 2));
    workspace.write("m.csv", format!("smiles,y,split,w\n{}", rows.collect::<String>()));
    // What weighs more or is set aside is still not tested.
    for (number, (split, is_other)) in [
        ("official", false),
        ("random", true),
        ("official --weight-column w", false),
        ("official --calibrate", false),
        ("random --calibrate --weight-column w", true),
    ]
    .into_iter()
    .enumerate()
    {
        let tiny = TINY.replace("--split random", &format!("--split {split}"));
        ok(workspace
            .run(&format!("train --data m.csv --target y {tiny} --threads 1 -q --run-dir r{number}")));
        let run =
            ok(workspace.run(&format!("evaluate --model r{number} --data m.csv --part test --replicates 0")));
        assert!(run.stdout.contains("rmse"), "{run:?}");
        assert_eq!(
            run.stderr.contains("may be among those that it was trained on"),
            is_other,
            "{split}: {run:?}"
        );
    }
    // The run knows its parts.
    let (found, recorded) = both(&workspace, "r1", "rmse", "--data m.csv --split r1/splits.json");
    assert!((found - recorded).abs() < 1e-6, "{found} {recorded}");
    let own = ok(workspace.run("evaluate --model r1 --data m.csv --part test --split r1/splits.json"));
    assert!(!own.stderr.contains(OTHER), "{own:?}");
    let without = workspace.run("evaluate --model r1 --data m.csv --split r1/splits.json");
    assert!(without.code == 2 && without.stderr.contains("--part"), "{without:?}");
}

#[test]
fn evaluating_a_part_of_the_nodes_says_if_it_is_not_that_of_the_training() {
    let workspace = Workspace::new();
    let mut random = stream(5, "nodes", &[]);
    let parts = ["train", "train", "valid", "test"];
    let rows = (0..120).map(|node| {
        let value = random.normal();
        let class = u8::from(value + 0.5 * random.normal() > 0.0);
        format!("{node},{value:.3},{class},{},{}\n", parts[node % 4], parts[(node / 2 + 1) % 4])
    });
    std::fs::create_dir(workspace.path("net")).unwrap();
    workspace.write("net/nodes.csv", format!("node_id,x,target,split,other\n{}", rows.collect::<String>()));
    let edges = (0..120).map(|node| format!("{node},{}\n", (node + 1) % 120));
    workspace.write("net/edges.csv", format!("source,destination\n{}", edges.collect::<String>()));
    let data = "--data net";
    for (name, split, is_other) in [
        ("own", "--split official", false),
        ("random", "--split random --split-seed 7", true),
        ("column", "--split-column other", true),
    ] {
        let tiny = TINY.replace("--split random", split);
        ok(workspace.run(&format!(
            "train {data} {tiny} --target target --level node --threads 1 -q --run-dir {name}"
        )));
        let run = ok(workspace.run(&format!("evaluate --model {name} {data} --part test --replicates 0")));
        assert_eq!(run.stderr.contains(OTHER), is_other, "{name}: {run:?}");
        let given = format!("{data} --split {name}/splits.json");
        let run = ok(workspace.run(&format!("evaluate --model {name} {given} --part test --replicates 0")));
        assert!(!run.stderr.contains(OTHER), "{name}: {run:?}");
        // Whichever metric the run was judged by.
        let run = String::from_utf8(workspace.read(&format!("{name}/run.toml"))).unwrap();
        let metric = run.lines().find_map(|line| line.strip_prefix("metric = ")).unwrap().trim_matches('"');
        let (found, recorded) = both(&workspace, name, metric, &given);
        assert!((found - recorded).abs() < 1e-6, "{name}, {metric}: {found} {recorded}");
    }
}
