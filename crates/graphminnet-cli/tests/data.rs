//! The data side of the real command, on small files that the tests make: what goes where, exit codes, texts.

mod common;

use common::{Run, Workspace, real_data};
use serde_json::Value;

/// Every command that this file is about.
const COMMANDS: [&str; 18] = [
    "data",
    "data list",
    "data info",
    "data get",
    "data import",
    "data stats",
    "data synth",
    "data check",
    "data links",
    "data split",
    "data convert",
    "prepare",
    "cache",
    "cache ls",
    "cache verify",
    "cache gc",
    "doctor",
    "inspect",
];

const KINDS: [&str; 6] = ["pattern", "cluster", "random", "ring-transfer", "tree-neighbours-match", "csl"];

#[test]
fn every_command_explains_itself_and_is_listed_by_its_parent() {
    let workspace = Workspace::new();
    for command in COMMANDS {
        let run = workspace.run(&format!("{command} --help"));
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{command}");
        assert!(run.stdout.contains("Usage: graphminnet"), "{command}");
        let first = run.stdout.lines().next().unwrap_or_default();
        assert!(first.len() > 15 && !first.starts_with("Usage"), "{command} has no description: {first}");
        let (parent, name) = command.rsplit_once(' ').unwrap_or(("", command));
        let parent_help = workspace.run(&format!("{parent} --help")).stdout;
        assert!(
            parent_help.lines().any(|line| line.trim_start().starts_with(name)),
            "{command} is not listed"
        );
    }
}

#[test]
fn the_report_on_twelve_kinds_of_damage_is_this() {
    let workspace = Workspace::new();
    workspace.copy_fixture("damaged.jsonl");
    let run = workspace.run("data check damaged.jsonl");
    assert_eq!(run.code, 1);
    run.matches_snapshot("damaged.check");
    let run = workspace.run("data convert damaged.jsonl sound.jsonl");
    assert_eq!((run.code, run.stdout.as_str()), (3, ""));
    run.matches_snapshot("damaged.convert");
    assert!(!workspace.path("sound.jsonl").exists());
    let run = workspace.run("data convert damaged.jsonl sound.jsonl --on-bad-row skip");
    assert_eq!((run.code, run.stdout.as_str()), (0, "sound.jsonl\n"));
    assert_eq!(run.stderr.matches("left out: ").count(), 12);
    assert_eq!(workspace.run("data check sound.jsonl").code, 0);
}

#[test]
fn under_null_rows_keep_their_numbers() {
    let workspace = Workspace::new();
    // Row 1 is bad: under `skip` the later rows move up, under `null` they stay where they are.
    workspace.write("m.csv", "smiles,y\nCC,1\nC1C,2\nCCC,3\nCCCC,4\nCCO,5\n");
    let ids = |policy: &str| {
        let run = workspace.run(&format!("data convert m.csv {policy}.jsonl --on-bad-row {policy}"));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let text = String::from_utf8(workspace.read(&format!("{policy}.jsonl"))).unwrap();
        let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].to_string();
        text.lines().map(id).collect::<Vec<_>>().join(" ").replace('"', "")
    };
    assert_eq!(ids("skip"), "0 1 2 3");
    assert_eq!(ids("null"), "0 2 3 4");
    let split = |policy: &str| {
        let command = "data split m.csv --split random --ratios 1,0,0 --on-bad-row";
        workspace.run(&format!("{command} {policy}")).json()["train"].to_string()
    };
    assert_eq!((split("skip").as_str(), split("null").as_str()), ("\"0-3\"", "\"0,2-4\""));
    // Training reads such a split file with the same policy.
    workspace.write("split.json", r#"{"train": "0-2", "valid": "3", "test": "4"}"#);
    let train = "train --data m.csv --split split.json --set train.epochs=1 --run-dir run --on-bad-row";
    let run = workspace.run(&format!("{train} null"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("4 graphs, 2 to train, 1 to validate, 1 to test"), "{}", run.stderr);
    let predictions = String::from_utf8(workspace.read("run/seed-0/test_predictions.csv")).unwrap();
    assert!(predictions.lines().nth(1).unwrap().starts_with("4,5,"), "{predictions}");
    let refused = workspace.run(&format!("{train}s null"));
    assert_eq!(refused.code, 2);
}

#[test]
fn options_about_files_are_refused_where_there_is_no_file() {
    let workspace = Workspace::new();
    for command in [
        "data stats --all --target y",
        "prepare --recipe zinc --on-bad-row skip",
        "train --recipe zinc --target y",
    ] {
        let run = workspace.run(command);
        assert_eq!(run.code, 2, "{command}: {}", run.stderr);
        assert!(run.stderr.contains("files of your own"), "{}", run.stderr);
    }
}

#[test]
fn damage_is_reported_as_json_with_line_and_column() {
    let workspace = Workspace::new();
    workspace.copy_fixture("damaged.jsonl");
    let run = workspace.run("data check damaged.jsonl --json");
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    let object = run.json();
    assert_eq!((&object["sound"], &object["bad_row_count"]), (&Value::from(false), &Value::from(12)));
    assert_eq!(object["bad_rows"][1]["line"], 3);
    assert_eq!(object["bad_rows"][1]["column"], "edges");
    assert_eq!(object["schema"]["task"], "regression");
}

#[test]
fn text_from_files_cannot_reach_the_terminal_raw() {
    let workspace = Workspace::new();
    workspace.copy_fixture("damaged.jsonl");
    workspace.write("evil.csv", "smiles,\u{1b}[2Jname,other\nCC,1,x\nC\u{1b}]0;t\u{7}C,0,y\n");
    for command in
        ["data check damaged.jsonl", "data check evil.csv", "data stats evil.csv --on-bad-row skip"]
    {
        let run = workspace.run(command);
        assert!(!run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'), "{command}: {run:?}");
    }
}

#[test]
fn generated_files_are_sound_and_a_function_of_the_seed() {
    let workspace = Workspace::new();
    for kind in KINDS {
        let size = if kind == "random" { "--graphs 10 --nodes 30" } else { "--graphs 10" };
        let run = workspace.run(&format!("data synth {kind} {size} --seed 3 -o {kind}.jsonl"));
        assert_eq!((run.code, run.stdout), (0, format!("{kind}.jsonl\n")), "{}", run.stderr);
        assert!(run.stderr.contains("10 graphs generated with seed 3"));
        let again = workspace.run(&format!("data synth {kind} {size} --seed 3 -o again-{kind}.jsonl"));
        assert_eq!(again.code, 0);
        assert_eq!(workspace.read(&format!("{kind}.jsonl")), workspace.read(&format!("again-{kind}.jsonl")));
        let checked = workspace.run(&format!("data check {kind}.jsonl --json"));
        assert_eq!(checked.code, 0, "{}", checked.stdout);
        assert_eq!(checked.json()["card"]["statistics"]["graphs"], 10);
    }
    // A column of nodes is a feature unless it is named, and somebody has to say so.
    let folder = workspace.run("data synth ring-transfer --graphs 10 --node-level -o rings");
    let hint = "--level node --target class";
    assert!(folder.stderr.contains(hint), "{}", folder.stderr);
    let checked = workspace.run(&format!("data check rings {hint} --json"));
    assert_eq!((checked.code, &checked.json()["schema"]["level"]), (0, &"node".into()), "{}", checked.stdout);
    let refused = workspace.run("data synth csl --graphs 10 -o csl.jsonl");
    assert_eq!(refused.code, 2, "an existing file is not replaced");
    assert_eq!(workspace.run("data synth csl --graphs 20 -o csl.jsonl --force").code, 0);
    assert_eq!(workspace.run("data synth csl --graphs 7 -o other.jsonl").code, 2);
    assert_eq!(workspace.run("data synth csl --depth 2 -o other.jsonl").code, 2, "an option without effect");
}

#[test]
fn exit_codes_say_whose_fault_it_is() {
    let workspace = Workspace::new();
    workspace.write("graphs.xyz", "?");
    workspace.write("empty.csv", "");
    for (command, code, expected) in [
        ("data info zink", 2, "known are zinc, ogbg-molhiv"),
        ("data stats nowhere.jsonl", 4, "cannot open nowhere.jsonl"),
        ("data check graphs.xyz", 3, "not a known graph format"),
        ("data check empty.csv", 3, "empty.csv"),
        ("data stats zinc", 3, "SHA-256"),
        ("data get zinc", 2, "--data-dir"),
        ("data frobnicate", 2, "unrecognized subcommand"),
        ("prepare", 2, "--recipe"),
        ("prepare --recipe zink", 2, "zinc"),
        ("cache gc --max-size 1parsec", 2, "500MB"),
    ] {
        let run = workspace.run(command);
        assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{command}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{command}: {}", run.stderr);
    }
}

#[test]
fn without_a_network_the_message_says_what_to_get_and_where_to_put_it() {
    let workspace = Workspace::new();
    // A proxy that refuses every connection.
    let run = workspace.run_with("data get molhiv --data-dir data", &[("ALL_PROXY", "http://127.0.0.1:9")]);
    assert_eq!(run.stdout, "");
    assert!([3, 4].contains(&run.code), "{}", run.stderr);
    for part in ["hiv.zip", "https://snap.stanford.edu/ogb", "data/ogbg-molhiv"] {
        assert!(run.stderr.contains(part), "{part} is not in: {}", run.stderr);
    }
    let run = workspace.run("data stats molhiv --data-dir data");
    assert_eq!(run.code, 3);
}

#[test]
fn the_registry_is_listed_and_described() {
    let workspace = Workspace::new();
    let run = workspace.run("data list");
    assert_eq!((run.code, run.stdout.lines().count()), (0, 12));
    assert!(run.stderr.contains("GRAPHMINNET_DATA"));
    assert_eq!(workspace.run("data list --json").json()["datasets"].as_array().map(Vec::len), Some(10));
    let run = workspace.run("data info peptides-func");
    for part in
        ["CC BY-NC 4.0", "Long Range Graph Benchmark", "peptidesfunc.zip", "15,535", "average_precision"]
    {
        assert!(run.stdout.contains(part), "{part} is not in: {}", run.stdout);
    }
    assert_eq!(workspace.run("data info voc --json").json()["dataset"]["name"], "pascalvoc-sp");
}

#[test]
fn an_imported_archive_is_found_again_and_equal() {
    let workspace = Workspace::new();
    let archive = common::published_fixture("hiv.zip");
    std::fs::create_dir_all(workspace.path("published/ogbg-molhiv")).unwrap();
    std::fs::copy(&archive, workspace.path("published/ogbg-molhiv/hiv.zip")).unwrap();
    let run = workspace.run("data import molhiv --from published/ogbg-molhiv/hiv.zip --data-dir data");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.stdout, "data/ogbg-molhiv/graphs.jsonl.gz\n");
    let stats = |folder: &str| workspace.run(&format!("data stats molhiv --json --data-dir {folder}")).json();
    let (published, imported) = (stats("published"), stats("data"));
    assert_eq!(published, imported);
    assert_eq!(imported["datasets"][0]["statistics"]["graphs"], 3);
    assert_eq!(imported["datasets"][0]["agrees"], false);
}

#[test]
fn parts_are_disjoint_and_repeatable() {
    let workspace = Workspace::new();
    workspace.run("data synth csl --graphs 50 -o csl.jsonl");
    let run = workspace.run("data split csl.jsonl --split stratified --split-seed 1 -o splits.json");
    assert_eq!((run.code, run.stdout.as_str()), (0, "splits.json\n"), "{}", run.stderr);
    assert!(run.stderr.contains("train 40, valid 5, test 5"), "{}", run.stderr);
    let printed = workspace.run("data split csl.jsonl --split stratified --split-seed 1");
    assert_eq!(printed.stdout.as_bytes(), workspace.read("splits.json"));
    let run = workspace.run("data split csl.jsonl --split random --ratios 1,1,2");
    assert!(
        run.stderr.contains("train 13, valid 12, test 25")
            || run.stderr.contains("train 12, valid 13, test 25")
    );
    assert_eq!(workspace.run("data split csl.jsonl --split random --ratios 0,0,0").code, 2);
    for (split, words) in [("scaffold", "a scaffold split"), ("kmeans", "a k-means split")] {
        let run = workspace.run(&format!("data split csl.jsonl --split {split}"));
        assert_eq!(run.code, 3, "no SMILES to see scaffolds in");
        assert!(run.stderr.contains(words) && run.stderr.contains("this is JSON Lines"), "{}", run.stderr);
    }
    assert_eq!(workspace.run("data split csl.jsonl --split column").code, 3, "no column");
    assert_eq!(workspace.run("data split csl.jsonl --split column --split-seed 1").code, 2);
}

#[test]
fn nodes_of_a_single_graph_are_split_as_training_splits_them() {
    let workspace = Workspace::new();
    let targets: Vec<String> = (0..20).map(|node| (node % 2).to_string()).collect();
    let line = |more: &str| {
        format!(
            "{{\"num_nodes\":20,\"edges\":[[0,1],[1,2]],\"node_target\":[{}]{more}}}\n",
            targets.join(",")
        )
    };
    workspace.write("one.jsonl", line(""));
    let run = workspace.run("data split one.jsonl --split random --ratios 2,1,1 -o nodes.json");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("nodes: train 10, valid 5, test 5"), "{}", run.stderr);
    // The file's own parts, as `data check` and `data split` say them.
    let mut parts = vec!["\"train\""; 20];
    (parts[3], parts[4], parts[5]) = ("\"valid\"", "\"test\"", "null");
    let parts = format!(",\"split\":[{}]", parts.join(","));
    workspace.write("parts.jsonl", line(&parts));
    let run = workspace.run("data split parts.jsonl --split column");
    assert!(run.stderr.contains("nodes: train 17, valid 1, test 1"), "{}", run.stderr);
    assert!(run.stdout.contains("\"train\": \"0-2,6-19\""), "{}", run.stdout);
    let run = workspace.run("data check parts.jsonl");
    assert!(run.stdout.contains("split       nodes: train 17, valid 1, test 1"), "{}", run.stdout);
    let card = &workspace.run("data check parts.jsonl --json").json()["card"];
    assert_eq!((&card["parts"], &card["parts_of"]), (&serde_json::json!([17, 1, 1]), &"node".into()));
    workspace.write("two.jsonl", line(&parts).repeat(2));
    let run = workspace.run("data split two.jsonl --split column");
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("parts of the nodes of several graphs"), "{}", run.stderr);
}

#[test]
fn one_of_several_split_schemes_is_named() {
    let workspace = Workspace::new();
    for folder in ["ogb/raw", "ogb/split/random", "ogb/split/scaffold"] {
        std::fs::create_dir_all(workspace.path(folder)).unwrap();
    }
    for (name, content) in [
        ("num-node-list", "2\n2\n2\n"),
        ("num-edge-list", "1\n1\n1\n"),
        ("edge", "0,1\n0,1\n0,1\n"),
        ("graph-label", "0\n1\n0\n"),
    ] {
        workspace.write(&format!("ogb/raw/{name}.csv"), content);
    }
    for (scheme, [train, valid, test]) in
        [("random", ["0\n", "1\n", "2\n"]), ("scaffold", ["0\n1\n", "", "2\n"])]
    {
        for (part, content) in [("train", train), ("valid", valid), ("test", test)] {
            workspace.write(&format!("ogb/split/{scheme}/{part}.csv"), content);
        }
    }
    let run = workspace.run("data check ogb");
    assert_eq!(run.code, 3, "{}", run.stdout);
    assert!(
        run.stderr.contains("`random`, `scaffold`") && run.stderr.contains("--split-scheme"),
        "{}",
        run.stderr
    );
    let run = workspace.run("data check ogb --split-scheme scaffold");
    assert!(run.stdout.contains("train 2, valid 0, test 1"), "{}", run.stdout);
    let run = workspace.run("data split ogb --split column --split-scheme random");
    assert!(run.stderr.contains("train 1, valid 1, test 1"), "{}", run.stderr);
    assert_eq!(workspace.run("data split ogb --split random --split-scheme random").code, 2);
    assert_eq!(workspace.run("data split ogb --split random").code, 0, "no scheme is needed");
}

#[test]
fn molecules_with_one_scaffold_stay_together() {
    let workspace = Workspace::new();
    // Rows 0 to 5 are benzenes, 6 and 7 cyclohexanes, 8 and 9 have no ring.
    workspace.write(
        "molecules.csv",
        "smiles,y\nc1ccccc1,1\nCc1ccccc1,2\nOc1ccccc1,1\nNc1ccccc1,2\nFc1ccccc1,1\nClc1ccccc1,3\n\
         C1CCCCC1,2\nCC1CCCCC1,1\nCCO,2\nCCC,3\n",
    );
    let run = workspace.run("data split molecules.csv --split scaffold --ratios 60,20,20");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let splits: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(splits["train"], "0-5");
    let mut rest = [splits["valid"].as_str().unwrap(), splits["test"].as_str().unwrap()];
    rest.sort_unstable();
    assert_eq!(rest, ["6-7", "8-9"]);
}

#[test]
fn conversion_keeps_the_graphs() {
    let workspace = Workspace::new();
    workspace.run("data synth ring-transfer --graphs 20 -o rings.jsonl");
    for (from, to) in [("rings.jsonl", "folder"), ("folder", "back.jsonl.gz"), ("back.jsonl.gz", "rings.g6")]
    {
        let run = workspace.run(&format!("data convert {from} {to}"));
        assert_eq!((run.code, run.stdout), (0, format!("{to}\n")), "{}", run.stderr);
    }
    let stats = |file: &str| workspace.run(&format!("data stats {file} --json")).json()["statistics"].clone();
    assert_eq!(stats("rings.jsonl"), stats("back.jsonl.gz"));
    assert_eq!(stats("rings.jsonl")["mean_undirected_edges"], stats("rings.g6")["mean_undirected_edges"]);
    assert_eq!(workspace.run("data convert rings.jsonl rings.parquet").code, 3);
    assert_eq!(workspace.run("data convert rings.jsonl back.jsonl.gz").code, 2, "not replaced");
}

#[test]
fn preparation_is_kept_and_damage_is_noticed() {
    let workspace = Workspace::new();
    workspace.run("data synth ring-transfer --graphs 30 -o rings.jsonl");
    let prepare = |options: &str| {
        workspace.run(&format!("prepare --data rings.jsonl --cache-dir cache --json {options}"))
    };
    let origins = |run: &Run| -> Vec<String> {
        let object = run.json();
        let parts = object["parts"].as_array().unwrap();
        parts.iter().map(|part| part["origin"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(origins(&prepare("")), ["computed", "computed"]);
    assert_eq!(origins(&prepare("")), ["from the cache", "from the cache"]);
    assert_eq!(
        origins(&prepare("--random-walk 5")),
        ["from the cache", "computed"],
        "only what depends on it"
    );
    assert_eq!(workspace.run("cache verify --cache-dir cache").code, 0);
    let listed = workspace.run("cache ls --cache-dir cache --json").json();
    let entries = listed["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 3);
    let path =
        entries.iter().find(|entry| entry["transform"] == "eigenpairs").unwrap()["path"].as_str().unwrap();
    let bytes = workspace.read(path);
    std::fs::write(workspace.path(path), &bytes[..bytes.len() / 2]).unwrap();
    let run = workspace.run("cache verify --cache-dir cache");
    assert_eq!(run.code, 1);
    assert_eq!(run.stdout.matches("DAMAGED").count(), 1, "{}", run.stdout);
    let run = prepare("");
    assert_eq!(origins(&run), ["computed again", "from the cache"]);
    assert!(run.stderr.contains("damaged"), "{}", run.stderr);
    let run = workspace.run("prepare --data rings.jsonl --cache-dir cache");
    assert!(run.stdout.contains("graphs of several components"), "{}", run.stdout);
    assert!(workspace.run("cache gc --max-size 0 --cache-dir cache").stdout.starts_with("removed 3 entries"));
    assert!(workspace.run("cache ls --cache-dir cache").stderr.starts_with("0 entries"));
}

#[test]
fn the_doctor_describes_program_and_machine() {
    let workspace = Workspace::new();
    let object = workspace.run("doctor --json --data-dir . --cache-dir cache").json();
    assert_eq!(object["version"], env!("CARGO_PKG_VERSION"));
    assert!(object["threads"].as_u64().unwrap() > 0);
    assert_eq!(object["devices"][0], serde_json::json!({"kind": "cpu", "names": ["cpu"]}));
    assert_eq!(object["devices"].as_array().unwrap().len(), 4);
    assert_eq!(
        (&object["data"]["exists"], &object["cache"]["exists"]),
        (&Value::from(true), &Value::from(false))
    );
    let run = workspace.run("doctor");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.starts_with("version     graphminnet "));
    assert!(run.stdout.contains("\ndevices     cpu "), "{}", run.stdout);
}

#[cfg(not(feature = "rocm"))]
#[test]
fn a_device_that_was_not_built_in_is_refused_by_name() {
    let workspace = Workspace::new();
    for command in ["train --device rocm", "bench --shape zinc --device rocm"] {
        let run = workspace.run(command);
        let error = "error: this build cannot use `rocm`; build it with `--features rocm`\n";
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (2, "", error), "{command}");
    }
}

#[test]
fn bench_prints_rates_that_follow_from_its_times() {
    let workspace = Workspace::new();
    let object = workspace.run("bench --shape zinc --seconds 0.01 --json").json();
    let number = |key: &str| object[key].as_f64().unwrap_or_else(|| panic!("no number `{key}` in {object}"));
    assert_eq!((&object["shape"], number("graphs")), (&Value::from("zinc"), 32.0));
    for (rate, time) in [
        ("train_graphs_per_second", "train_step_seconds"),
        ("inference_graphs_per_second", "inference_seconds"),
        ("preparation_graphs_per_second", "preparation_seconds"),
    ] {
        let expected = 32.0 / number(time);
        assert!((number(rate) - expected).abs() <= 1e-9 * expected, "{rate}: {object}");
    }
    assert!(
        (number("gflops") * number("train_step_seconds") / number("gflop") - 1.0).abs() < 1e-9,
        "{object}"
    );
    assert!(number("executed_gflop") <= number("gflop") && number("peak_bytes") > 0.0, "{object}");
    let table = workspace.run("bench --shape zinc --seconds 0.01").stdout;
    let rates: Vec<&str> = table.lines().filter(|line| line.trim_start().starts_with("graphs/s")).collect();
    assert_eq!(rates.len(), 3, "{table}");
    let is_count = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == ',');
    assert!(
        rates.iter().all(|line| is_count(line.trim_start().trim_start_matches("graphs/s").trim())),
        "{table}"
    );
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_failure() {
    let workspace = Workspace::new();
    let mut child = workspace.command("data list").stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
#[ignore = "needs the benchmark data: GRAPHMINNET_DATA"]
fn real_copies_agree_with_the_paper() {
    let data = real_data();
    let workspace = Workspace::new();
    let folder = data.to_string_lossy();
    for name in ["zinc", "ogbg-molhiv", "peptides-func"] {
        let object = workspace.run(&format!("data stats {name} --json --data-dir {folder}")).json();
        assert_eq!(object["datasets"][0]["agrees"], true, "{name}: {object}");
    }
    let run = workspace.run(&format!("data stats zinc --data-dir {folder}"));
    assert!(run.stdout.contains("how the local copy differs from the published one"), "{}", run.stdout);
    assert!(run.stdout.contains("agrees"), "{}", run.stdout);
}

#[test]
fn a_check_says_which_categories_and_how_many_empty_graphs_there_are() {
    let workspace = Workspace::new();
    let line = |nodes: usize, category: u32| {
        let rows = vec![format!("[{category}]"); nodes].join(",");
        format!("{{\"num_nodes\":{nodes},\"edges\":[],\"x\":[{rows}],\"y\":{nodes}.5}}\n")
    };
    workspace.write("a.jsonl", line(1, 3) + &line(2, 12) + &line(0, 0));
    let run = workspace.run("data check a.jsonl");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("graphs without nodes: 1"), "{}", run.stdout);
    assert!(run.stdout.contains("2 categories: 3, 12"), "{}", run.stdout);
}
