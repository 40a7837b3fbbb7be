//! Every experiment from end to end on tiny data: its table is compared with a stored one, with what depends on time
//! or on the machine's rounding masked.

mod common;

use common::{Run, Workspace};

/// Replaces the cells of some columns of all tables by `#`, and numbers in notes that state what was measured.
fn masked(text: &str, columns: &[&str]) -> String {
    let mut hidden: Vec<bool> = Vec::new();
    let mut previous_is_table = false;
    let mut result = String::new();
    for line in text.lines() {
        let is_table = line.starts_with('|');
        if is_table {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            if !previous_is_table {
                hidden = cells.iter().map(|cell| columns.contains(cell)).collect();
            }
            let is_rule = cells
                .iter()
                .all(|cell| cell.trim_matches([':', '-', '|', ' ']).is_empty() && !cell.is_empty());
            let is_header = !previous_is_table;
            let shown: Vec<String> = cells
                .iter()
                .enumerate()
                .map(|(at, cell)| {
                    let mask = hidden.get(at) == Some(&true) && !is_header && !is_rule;
                    let has_number = cell.chars().any(|letter| letter.is_ascii_digit());
                    if is_rule {
                        "-".to_owned()
                    } else if mask && has_number {
                        "#".to_owned()
                    } else {
                        (*cell).to_owned()
                    }
                })
                .collect();
            result.push_str(&format!("| {} |\n", shown.join(" | ")));
        } else if line.contains("order as found") || line.contains("Fitted exponents") {
            let start = line.split(':').next().unwrap_or_default();
            result.push_str(&format!("{start}: #\n"));
        } else {
            result.push_str(&format!("{line}\n"));
        }
        previous_is_table = is_table;
    }
    result
}

/// Runs an experiment twice: the second time everything is found done, and the table is the same.
fn experiment(what: &str, name: &str, columns: &[&str]) -> Workspace {
    let workspace = Workspace::new();
    let command = format!("repro {what} --smoke -o out");
    let first = workspace.run(&command);
    assert_eq!(first.code, 0, "{}", first.stderr);
    let table = Run { code: 0, stdout: masked(&first.stdout, columns), stderr: String::new() };
    table.matches_snapshot(&format!("repro.{name}"));
    let second = workspace.run(&command);
    assert_eq!(second.code, 0, "{}", second.stderr);
    assert_eq!(second.stdout, first.stdout);
    assert!(!second.stderr.contains("epoch"), "trained again: {}", second.stderr);
    assert!(!second.stderr.contains("measuring"), "measured again: {}", second.stderr);
    for ending in ["md", "csv", "tex"] {
        let file = String::from_utf8(workspace.read(&format!("out/{name}.{ending}"))).unwrap();
        assert!(file.lines().count() > 2, "{name}.{ending}");
    }
    workspace
}

#[test]
fn parameter_counts() {
    experiment("params", "params", &[]);
}

#[test]
fn data_sets() {
    experiment("datasets", "datasets", &[]);
}

#[test]
fn results() {
    let workspace = experiment("table1", "table1", &["ours", "s/epoch"]);
    // A finished run is taken instead of training; nothing else is trained.
    let runs: Vec<String> = std::fs::read_dir(workspace.path("out/runs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("zinc-graphminnet"))
        .collect();
    // Trainings of an experiment are runs like any other: with a start time, a command and a summary.
    let file = |name: &str| {
        String::from_utf8(workspace.read(&format!("out/runs/{}/{name}", runs.first().unwrap()))).unwrap()
    };
    assert!(file("run.toml").contains("started = \"20"), "{}", file("run.toml"));
    assert!(file("started.json").contains("graphminnet repro table1 --smoke"), "{}", file("started.json"));
    assert!(file("summary.json").contains("\"seeds\""));
    let run = workspace.run(&format!(
        "repro table1 --collect --run out/runs/{} --datasets zinc -o collected",
        runs.first().unwrap()
    ));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let row = |system: &str| run.stdout.lines().find(|line| line.contains(&format!("| {system} "))).unwrap();
    assert!(row("GraphMinNet").contains("shortened"), "{}", run.stdout);
    assert!(row("GCN").contains("not run: not asked for"), "{}", run.stdout);
    assert!(!run.stderr.contains("epoch"));
}

#[test]
fn time_per_epoch() {
    experiment(
        "runtime",
        "runtime",
        &["seconds", "training graphs/s", "training step", "against GraphMinNet"],
    );
}

#[test]
fn scalability() {
    let columns = ["inference", "GFLOP/s", "training step", "tensors", "peak memory", "eigenpairs"];
    let workspace = experiment("scalability", "scalability", &columns);
    let picture = String::from_utf8(workspace.read("out/scalability-flops.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("<title>"), "{picture}");
}

#[test]
fn scalability_of_all_systems() {
    let columns = ["inference", "training step", "tensors", "peak memory"];
    experiment("scalability --systems all", "scalability-systems", &columns);
    let workspace = Workspace::new();
    let run = workspace.run("repro scalability --smoke --systems grit,gred --max-memory 0.001 -o out");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("not run: pairs of nodes alone need"), "{}", run.stdout);
    assert!(run.stdout.contains("| GRED "), "{}", run.stdout);
}

#[test]
fn robustness() {
    experiment("robustness", "robustness", &["mean ± std", "against no noise"]);
}

#[test]
fn what_the_block_does() {
    experiment("block", "block", &["share of the block", "inputs bounded", "training", "validation", "test"]);
}

#[test]
fn a_finished_run_is_looked_at_on_its_own_data_and_judged_by_its_own_settings() {
    let workspace = Workspace::new();
    let run = workspace.run(
        "train --generate cluster --graphs 20 --set train.epochs=1 --set model.layers=2 --no-cache -q --run-dir run",
    );
    assert_eq!(run.code, 0, "{run:?}");
    let result: serde_json::Value =
        serde_json::from_slice(&workspace.read("run/seed-0/result.json")).unwrap();
    let block = workspace.run("repro block --run run --no-cache -o block");
    assert_eq!(block.code, 0, "{block:?}");
    let all = block.stdout.lines().find(|line| line.contains("| all ")).unwrap();
    let test = format!("{:.4}", 100.0 * result["best"]["test"].as_f64().unwrap());
    assert!(all.trim_end_matches(['|', ' ']).ends_with(&test), "{all}, not {test}");
    let collected = workspace.run("repro table1 --collect --run run --datasets cluster -o table");
    assert_eq!(collected.code, 0, "{collected:?}");
    for said in ["20 generated graphs", "other settings (model.layers = 2)", "our own draw"] {
        assert!(collected.stdout.contains(said), "{said}: {}", collected.stdout);
    }
}

#[test]
fn every_ablation() {
    let columns = ["test", "validation", "last train loss", "worst error"];
    for name in [
        "self-term",
        "aggregate",
        "dropout",
        "local",
        "nonlinear-wb",
        "projection",
        "input-norm",
        "inner-product",
        "degree-scaling",
    ] {
        experiment(&format!("ablation {name}"), &format!("ablation-{name}"), &columns);
    }
}

#[test]
fn gradient_against_distance() {
    let columns = [
        "local",
        "near half",
        "far half",
        "far / near",
        "far end / near",
        "accuracy",
        "J(1)",
        "J(3)",
        "J(4)",
        "J(7)",
        "J(opposite)",
        "opposite / J(1)",
    ];
    experiment("long-range", "long-range", &columns);
}

#[test]
fn graphs_told_apart() {
    let workspace = experiment("expressiveness", "expressiveness", &["rounding", "accuracy", "worst fold"]);
    // Graphs of one's own: a path, a star and the same path again, once all pairs and once a listed one.
    workspace.write("mine.g6", "ChCK\nCF\nCR\n");
    let run = workspace.run("repro expressiveness --graphs mine.g6 -o mine");
    assert_eq!(run.code, 3, "{}", run.stdout);
    workspace.write("mine.g6", "Ch\nCF\nCh\n");
    let run = workspace.run("repro expressiveness --graphs mine.g6 -o mine");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let refined = run.stdout.lines().find(|line| line.contains("1-WL")).unwrap();
    assert!(refined.contains("|     3 |") && refined.contains("66.67 %"), "{refined}");
    // Other graphs under the same name are looked at again.
    workspace.write("mine.g6", "Ch\nCh\nCh\n");
    let run = workspace.run("repro expressiveness --graphs mine.g6 -o mine --out pairs-out.csv");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let alone = run.stdout.lines().find(|line| line.contains("GINE alone")).unwrap();
    assert!(alone.contains("|     3 |") && alone.contains("0.00 %"), "{alone}");
    let table = std::fs::read_to_string(workspace.path("pairs-out.csv")).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(
        lines[0].starts_with("first,second,1-WL distinguished,GINE alone: difference,GINE alone: renumbered")
    );
    assert_eq!(lines.len(), 4, "{table}");
    assert!(lines[1].starts_with("0,1,false,") && lines[1].contains(",false"), "{table}");
    workspace.write("mine.g6", "Ch\nCF\nCh\n");
    workspace.write("pairs.csv", "0,1\n");
    let run = workspace.run("repro expressiveness --graphs mine.g6 --pairs pairs.csv -o mine");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout.lines().any(|line| line.contains("1-WL") && line.contains("100.00 %")),
        "{}",
        run.stdout
    );
    workspace.write("pairs.csv", "0,7\n");
    let run = workspace.run("repro expressiveness --graphs mine.g6 --pairs pairs.csv -o mine");
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.stderr.contains("line 1"), "{}", run.stderr);
}

#[test]
fn stability() {
    let columns = ["constant", "against size 1", "smallest λ", "node features", "output"];
    let workspace = Workspace::new();
    let run = workspace.run("repro stability --smoke -o out");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let table = Run { code: 0, stdout: masked(&run.stdout, &columns), stderr: String::new() };
    table.matches_snapshot("repro.stability");
}

#[test]
fn wrong_requests_are_refused_with_what_is_known() {
    let workspace = Workspace::new();
    for (command, expected) in [
        ("repro table1 --smoke --systems sann -o out", "gcn, gin, gat"),
        ("repro scalability --smoke --systems grid -o out", "exphormer, grit"),
        ("repro ablation colour -o out", "self-term"),
        ("repro datasets --datasets zink --smoke -o out", "zinc, molhiv"),
        ("repro expressiveness --families trees --smoke -o out", "csl, exp"),
        ("repro long-range --lengths 2 -o out", "at least 12"),
        ("repro table1 --epochs 0 --smoke -o out", "at least 1"),
    ] {
        let run = workspace.run(command);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{command}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{command}: {}", run.stderr);
    }
}

#[test]
fn every_experiment_explains_itself_and_is_listed() {
    let workspace = Workspace::new();
    let listed = workspace.run("repro --help").stdout;
    for name in [
        "params",
        "datasets",
        "table1",
        "runtime",
        "scalability",
        "robustness",
        "ablation",
        "long-range",
        "expressiveness",
        "nodes",
        "links",
        "stability",
    ] {
        assert!(listed.lines().any(|line| line.trim_start().starts_with(name)), "{name} is not listed");
        let run = workspace.run(&format!("repro {name} --help"));
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{name}");
        assert!(run.stdout.contains("--smoke") && run.stdout.contains("--output"), "{name}: {}", run.stdout);
    }
}
