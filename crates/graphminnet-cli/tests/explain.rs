//! From a training run to a report and to explanations: the files are there, say what they should, and look right in a
//! real browser where one is installed.

#[path = "../../graphminnet-report/tests/common/browser.rs"]
mod browser;
mod common;

use common::{Run, Workspace};
use serde_json::Value;

const SMALL: &str =
    "--no-cache -q --set train.epochs=2 --set model.hidden=16 --set model.layers=2 --set model.lap_dim=4";

fn ok(run: Run) -> Run {
    assert_eq!(run.code, 0, "{run:?}");
    run
}

/// A run of two seeds on molecules, called `<run>` in the folder.
fn molecules() -> Workspace {
    let workspace = Workspace::new();
    let mut table = String::from("smiles,<y>\n");
    for row in 0..60 {
        let smiles = format!("{}{}", "C".repeat(1 + row % 9), ["O", "N", "c1ccccc1", "C(=O)O"][row % 4]);
        table.push_str(&format!("{smiles},{}\n", smiles.len() as f64 / 10.0));
    }
    workspace.write("molecules.csv", table);
    ok(workspace.run(&format!(
        "train --data molecules.csv --target <y> --seeds 0,1 --run-dir run {SMALL} --set model.pe_dim=4"
    )));
    workspace
}

fn text(workspace: &Workspace, name: &str) -> String {
    String::from_utf8(workspace.read(name)).unwrap()
}

#[test]
fn a_run_ends_with_a_report_that_says_how_to_get_it_again() {
    let workspace = molecules();
    let html = text(&workspace, "run/report.html");
    for part in [
        "Results",
        "Learning curves",
        "predicted against true",
        "The worst predictions",
        "Range",
        "Model card",
        "Reproduce this run",
    ] {
        assert!(html.contains(part), "{part}");
    }
    // The command is that of the run, and names from the data stay text.
    assert!(
        html.contains("graphminnet train --data molecules.csv --target &#39;&lt;y&gt;&#39; --seeds 0,1"),
        "{html}"
    );
    assert!(!html.contains("<y>") && !html.contains("<script"));
    // The mean over both seeds is that of the summary.
    let summary: Value = serde_json::from_str(&text(&workspace, "run/summary.json")).unwrap();
    let test = &summary["test"];
    let mean =
        format!("{:.4} ± {:.4}", test["mean"].as_f64().unwrap(), test["population_std"].as_f64().unwrap());
    assert!(html.contains(&mean), "{mean}");
    // The command gives the same page again; several runs are compared; without the data it says so.
    ok(workspace.run("report run -o again.html"));
    assert_eq!(text(&workspace, "again.html"), html);
    ok(workspace.run("report run run -o both.html"));
    assert!(text(&workspace, "both.html").contains("2 runs"));
    // How a copy of the data differs from the published one is on the card.
    let mut data: Value = serde_json::from_str(&text(&workspace, "run/data.json")).unwrap();
    assert_eq!(data["deviations"], serde_json::json!([]));
    data["deviations"] = serde_json::json!(["The order of the rows is not the <published> one."]);
    workspace.write("run/data.json", data.to_string());
    ok(workspace.run("report run -o deviating.html"));
    assert!(
        text(&workspace, "deviating.html")
            .contains("The order of the rows is not the &lt;published&gt; one.")
    );
    std::fs::remove_file(workspace.path("molecules.csv")).unwrap();
    ok(workspace.run("report run -o without.html"));
    assert!(text(&workspace, "without.html").contains("the data could not be read again"));
    assert_eq!(workspace.run("report nowhere").code, 4);
}

#[test]
fn data_that_is_only_called_like_a_benchmark_has_no_published_result_beside_it() {
    // `molhiv` is a recipe whose published result is in per cent.
    let workspace = Workspace::new();
    let rows: String = (1..40).map(|row| format!("{}O,{}\n", "C".repeat(row), row % 2)).collect();
    workspace.write("molhiv.csv", format!("smiles,y\n{rows}"));
    ok(workspace.run(&format!(
        "train --data molhiv.csv --target y --task yes-no --run-dir run {SMALL} --set model.pe_dim=4"
    )));
    let html = text(&workspace, "run/report.html");
    let result: Value = serde_json::from_str(&text(&workspace, "run/seed-0/result.json")).unwrap();
    let unscaled = format!(">{:.4}<", result["best"]["test"].as_f64().unwrap());
    assert!(html.contains(&unscaled), "{unscaled}");
    assert!(!html.contains("published"));
    assert!(html.contains("The settings are not those of a recipe"));
    // The same run on the benchmark itself has the paper's result beside it, in the paper's unit.
    let run = text(&workspace, "run/run.toml");
    let (before, after) = (run.find("[data]").unwrap(), run.find("[model]").unwrap());
    let registry = "[data]\nsource = \"registry\"\nname = \"ogbg-molhiv\"\n\n";
    workspace.write("run/run.toml", format!("{}{registry}{}", &run[..before], &run[after..]));
    ok(workspace.run("report run -o benchmark.html"));
    let html = text(&workspace, "benchmark.html");
    let scaled = format!(">{:.2}<", 100.0 * result["best"]["test"].as_f64().unwrap());
    for part in ["published", "(paper)", "Differences from the recipe", &scaled] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("The settings are not those of a recipe"));
}

#[test]
fn a_report_that_cannot_be_written_does_not_spoil_the_run() {
    let workspace = Workspace::new();
    workspace.write(
        "molecules.csv",
        "smiles,y\nCCO,1\nCCN,2\nCCC,3\nCCCC,4\nCCCO,5\nCO,6\nCN,7\nCC,8\nC,9\nN,10\n",
    );
    // Where the report goes there is a folder already: it is made while the run is going on, by a first report.
    let train = format!("train --data molecules.csv --target y --run-dir run {SMALL} --set model.pe_dim=4");
    ok(workspace.run(&train));
    std::fs::remove_file(workspace.path("run/report.html")).unwrap();
    std::fs::remove_file(workspace.path("run/summary.json")).unwrap();
    std::fs::create_dir(workspace.path("run/report.html")).unwrap();
    let resumed = ok(workspace.run("train --resume run --no-cache"));
    assert!(resumed.stderr.contains("warning: no report"), "{resumed:?}");
    assert!(workspace.path("run/summary.json").is_file());
}

#[test]
fn explanations_add_up_and_come_with_pictures_and_a_range() {
    let workspace = molecules();
    let model = "--model run/seed-0/best.gmn";
    let run = ok(workspace.run(&format!(
        "explain {model} --smiles CCO --smiles CC(=O)Oc1ccccc1C(=O)O -o out --range --beside run/seed-1"
    )));
    assert!(run.stdout.contains("strongest nodes") && run.stdout.contains("even spread"), "{run:?}");
    let lines = text(&workspace, "out/explanations.jsonl");
    assert_eq!(lines.lines().count(), 2);
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let number = |name: &str| line[name].as_f64().unwrap();
        let shares = |name: &str| {
            line[name].as_array().unwrap().iter().map(|share| share.as_f64().unwrap()).sum::<f64>()
        };
        assert!((shares("nodes") + shares("edge_attributions") - number("sum")).abs() < 1e-9);
        assert!(number("gap") < 0.05, "{line}");
        assert_eq!(
            line["edges"].as_array().unwrap().len(),
            line["edge_attributions"].as_array().unwrap().len()
        );
    }
    assert!(text(&workspace, "out/0000-0.svg").contains(">OH<"));
    assert!(text(&workspace, "out/range.svg").starts_with("<svg"));
    let range: Value = serde_json::from_str(&text(&workspace, "out/range.json")).unwrap();
    let shares = range[0]["range"]["shares"].as_array().unwrap();
    assert!((shares.iter().map(|share| share.as_f64().unwrap()).sum::<f64>() - 1.0).abs() < 1e-6);
    // The prediction that is explained is the one that `predict` gives.
    let predicted = ok(workspace.run(&format!("predict {model} --smiles CCO")));
    let cell: f64 = predicted.stdout.lines().nth(1).unwrap().split(',').nth(1).unwrap().parse().unwrap();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert!(
        (first["prediction"].as_f64().unwrap() - cell).abs() < 1e-4 * cell.abs().max(1.0),
        "{cell} {first}"
    );
    let several = workspace.run(&format!("explain {model} --smiles CCO -o none --range --beside run"));
    assert!(several.code == 2 && !workspace.path("none").exists(), "said before the work: {several:?}");
    // One graph of a table; what is not there is said.
    ok(workspace.run(&format!("explain {model} --data molecules.csv --graph 3 --method gradient -o one")));
    assert_eq!(text(&workspace, "one/explanations.jsonl").lines().count(), 1);
    assert_eq!(
        workspace.run(&format!("explain {model} --data molecules.csv --graph nobody -o none")).code,
        2
    );
    assert_eq!(workspace.run(&format!("explain {model} --smiles CCO --target 7 -o none")).code, 2);
    assert_eq!(workspace.run(&format!("explain {model} --smiles CCO --node 0 -o none")).code, 2);
}

/// What a call of `explain` wrote, line by line.
fn explained(workspace: &Workspace, arguments: &str, folder: &str) -> Vec<Value> {
    ok(workspace.run(&format!("explain --method gradient {arguments} -o {folder}")));
    let lines = text(workspace, &format!("{folder}/explanations.jsonl"));
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn rows_are_called_by_their_names_before_their_numbers() {
    let workspace = molecules();
    let model = "--model run/seed-0";
    // The first has the number of the third, and the last has no name.
    workspace.write("ids.csv", "smiles,ID\nCCO,2\nCCCN,\"a, b\"\nCCCCC,0\nCC,\n");
    let found = |asked: &str, folder: &str| {
        let lines = explained(&workspace, &format!("{model} --data ids.csv {asked}"), folder);
        let line =
            |line: &Value| (line["id"].as_str().unwrap().to_owned(), line["nodes"].as_array().unwrap().len());
        lines.iter().map(line).collect::<Vec<_>>()
    };
    let row = |id: &str, atoms: usize| (id.to_owned(), atoms);
    assert_eq!(found("", "all"), [row("2", 3), row("a, b", 4), row("0", 5), row("3", 2)]);
    assert_eq!(found("--graph 2", "called"), [row("2", 3)]);
    assert_eq!(found("--graph 1 --graph 0", "numbered"), [row("a, b", 4), row("0", 5)]);
    // Vectors have the same names.
    let vectors = ok(workspace.run(&format!("embed {model} --data ids.csv"))).stdout;
    for (line, name) in vectors.lines().zip(["id,", "2,", "\"a, b\",", "0,", "3,"]) {
        assert!(line.starts_with(name), "{line}");
    }
    workspace.write(
        "ethane.sdf",
        "ethane\n\n\n  2  1  0  0  0  0  0  0  0  0999 V2000\n    0.0000    0.0000    0.0000 C   0  0\n    \
         1.5000    0.0000    0.0000 C   0  0\n  1  2  1  0\nM  END\n$$$$\n",
    );
    let lines = explained(&workspace, &format!("{model} --data ethane.sdf --graph ethane"), "sdf");
    assert_eq!((lines.len(), &lines[0]["id"]), (1, &Value::from("ethane")));

    // All that are asked for must be there, and nothing is written otherwise.
    let run =
        workspace.run(&format!("explain {model} --data ids.csv --graph 2 --graph nosuch --graph 9 -o half"));
    assert!(run.code == 2 && run.stderr.contains("no graph is called `nosuch` or `9`"), "{run:?}");
    assert!(!workspace.path("half").exists());
}

#[test]
fn explanations_of_two_calls_are_not_mixed() {
    let workspace = molecules();
    let explain =
        |smiles: &str| workspace.run(&format!("explain --model run/seed-0 --smiles {smiles} -o why"));
    ok(explain("CCO"));
    let before = text(&workspace, "why/explanations.jsonl");
    let run = explain("CCN");
    assert!(run.code == 2 && run.stderr.contains("holds explanations already"), "{run:?}");
    assert_eq!(text(&workspace, "why/explanations.jsonl"), before);
    std::fs::remove_dir_all(workspace.path("why")).unwrap();
    ok(explain("CCN"));
}

#[test]
fn a_graph_without_nodes_is_left_out_and_the_others_are_explained() {
    let workspace = Workspace::new();
    let graph = |id: &str, nodes: usize| {
        let edges: Vec<[usize; 2]> = (1..nodes).map(|node| [node, node / 2]).collect();
        serde_json::json!({ "id": id, "num_nodes": nodes, "edges": edges, "target": nodes as f64 + 0.5 })
            .to_string()
    };
    let graphs: Vec<String> = (4..30).map(|nodes| graph(&format!("g{nodes}"), nodes)).collect();
    workspace.write("trees.jsonl", graphs.join("\n"));
    ok(workspace.run(&format!("train --data trees.jsonl --run-dir run {SMALL} --set model.pe_dim=4")));
    workspace.write("new.jsonl", [graph("first", 3), graph("empty", 0), graph("last", 4)].join("\n"));
    let run = ok(workspace.run("explain --model run --data new.jsonl --method gradient --range -o why"));
    assert!(run.stderr.contains("left out: graph empty: a graph without nodes"), "{run:?}");
    assert_eq!(text(&workspace, "why/explanations.jsonl").lines().count(), 2);
    assert!(workspace.path("why/0000-first.svg").is_file() && workspace.path("why/0001-last.svg").is_file());
    let run = workspace.run("explain --model run --data new.jsonl --graph empty -o none");
    assert!(run.code == 2 && run.stderr.contains("there is no graph to explain"), "{run:?}");
    assert!(!workspace.path("none").exists());
}

#[test]
fn targets_and_classes_are_explained_by_their_names() {
    let workspace = Workspace::new();
    let (mut numbers, mut classes) = (String::from("smiles,t1,t2\n"), String::from("smiles,label\n"));
    for row in 0..60 {
        let smiles = format!("{}{}", "C".repeat(1 + row % 9), ["O", "N", "c1ccccc1"][row % 3]);
        numbers.push_str(&format!("{smiles},{},{}.5\n", smiles.len() as f64 / 10.0, row % 7));
        classes.push_str(&format!("{smiles},{}\n", ["low", "mid", "2"][row % 3]));
    }
    workspace.write("numbers.csv", numbers);
    workspace.write("classes.csv", classes);
    for (data, targets) in [("numbers", "t1,t2"), ("classes", "label")] {
        let train = format!("train --data {data}.csv --target {targets} --run-dir {data} {SMALL}");
        ok(workspace.run(&format!("{train} --set model.pe_dim=4")));
    }
    let subject = |model: &str, target: &str| {
        let asked = format!("--model {model} --smiles CCO --target {target}");
        let lines = explained(&workspace, &asked, &format!("why-{model}-{target}"));
        lines[0]["explained"].as_str().unwrap().to_owned()
    };
    for (target, expected) in [("t1", "t1"), ("t2", "t2"), ("1", "t2")] {
        assert_eq!(subject("numbers", target), expected);
    }
    // The class that is called 2 is the first.
    for (target, expected) in [("mid", "mid"), ("2", "2"), ("0", "2"), ("1", "low")] {
        assert_eq!(subject("classes", target), format!("score of class {expected}"));
    }
    assert!(subject("classes", "label").starts_with("score of class "));
    let range = "explain --model numbers --smiles CCO --target t2 --range -o range";
    ok(workspace.run(range));
    let run = workspace.run("explain --model numbers --smiles CCO --target t3 -o none");
    assert!(
        run.code == 2 && run.stderr.contains("--target t3: neither a number nor one of t1, t2"),
        "{run:?}"
    );
}

#[test]
#[ignore = "needs Chromium"]
fn a_report_looks_right_in_a_browser() {
    let browser = browser::browser();
    let molecules = molecules();
    let rings = Workspace::new();
    ok(rings.run(&format!(
        "train --generate ring-transfer --graphs 60 --run-dir rings {SMALL} --set model.pe_dim=4"
    )));
    for html in [text(&molecules, "run/report.html"), text(&rings, "rings/report.html")] {
        for (width, dark) in [(1280, false), (400, true)] {
            let found = browser::problems(&browser, &html, width, dark);
            assert!(found.is_empty(), "at {width} pixels: {found:#?}");
        }
    }
}
