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
    let run = ok(workspace.run(&format!("explain {model} --smiles CCO --smiles CC(=O)Oc1ccccc1C(=O)O -o out --range --beside run/seed-1/best.gmn")));
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
