//! From a training run to predictions elsewhere: the commands that use a model file.

mod common;

use common::{Run, Workspace};
use graphminnet::Bundle;
use graphminnet_data::rng::{Stream, stream};
use std::collections::HashMap;
use std::io::Write;
use std::process::Stdio;

/// Chains and rings with an oxygen or a nitrogen somewhere; all are molecules.
fn molecules(count: usize) -> Vec<String> {
    let mut random = stream(5, "molecules", &[]);
    (0..count)
        .map(|_| {
            let chain = "C".repeat(1 + random.below(6));
            let end = ["O", "N", "Cl", "c1ccccc1", "C(=O)O", "C1CCCC1"][random.below(6)];
            format!("{}{chain}{end}", ["", "N", "OC", "C(C)"][random.below(4)])
        })
        .collect()
}

/// A workspace with `train.csv` (text with commas and quotes in it) and a finished run of two seeds.
fn trained() -> Workspace {
    let workspace = Workspace::new();
    let mut table = String::from("smiles,note,y\n");
    for (row, smiles) in molecules(80).iter().enumerate() {
        let y = smiles.len() as f64 / 10.0 + (row % 7) as f64 / 100.0;
        table.push_str(&format!("{smiles},\"row {row}, \"\"quoted\"\"\",{y}\n"));
    }
    workspace.write("train.csv", table);
    let run = workspace.run(
        "train --data train.csv --target y --seeds 0,1 --run-dir run --no-cache -q \
         --set train.epochs=2 --set model.hidden=16 --set model.layers=2 --set model.lap_dim=4 --set model.pe_dim=4",
    );
    assert_eq!(run.code, 0, "{run:?}");
    workspace
}

/// The cells of a table; every field of these tests' outputs is understood by this.
fn cells(line: &str) -> Vec<String> {
    let (mut found, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => cell.push(letters.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => found.push(std::mem::take(&mut cell)),
            letter => cell.push(letter),
        }
    }
    found.push(cell);
    found
}

fn ok(run: Run) -> Run {
    assert_eq!(run.code, 0, "{run:?}");
    run
}

/// The prediction of every SMILES string in the table, as text.
fn predictions(table: &str) -> HashMap<String, String> {
    let header = cells(table.lines().next().unwrap());
    let at = header.iter().position(|name| name == "pred_y").unwrap();
    table.lines().skip(1).map(|line| (cells(line)[0].clone(), cells(line)[at].clone())).collect()
}

#[test]
fn a_moved_model_predicts_what_training_wrote_down_bit_for_bit() {
    let workspace = trained();
    std::fs::create_dir(workspace.path("elsewhere")).unwrap();
    std::fs::rename(workspace.path("run/seed-0/best.gmn"), workspace.path("elsewhere/best.gmn")).unwrap();
    let expected = String::from_utf8(workspace.read("run/seed-0/test_predictions.csv")).unwrap();
    std::fs::remove_dir_all(workspace.path("run")).unwrap();
    ok(workspace.run("predict --model elsewhere/best.gmn --data train.csv -o out.csv"));
    let found = String::from_utf8(workspace.read("out.csv")).unwrap();
    let input = String::from_utf8(workspace.read("train.csv")).unwrap();
    assert!(found.starts_with("smiles,note,y,pred_y,reason\n"), "{found}");
    for (line, input) in found.lines().zip(input.lines()) {
        assert!(line.starts_with(&format!("{input},")), "{line} does not keep {input}");
    }
    let rows: Vec<&str> = found.lines().skip(1).collect();
    assert_eq!(expected.lines().next(), Some("id,y,pred_y"));
    for line in expected.lines().skip(1) {
        let [id, _, prediction] = cells(line).try_into().unwrap();
        assert_eq!(cells(rows[id.parse::<usize>().unwrap()])[3], prediction);
    }
}

#[test]
fn rows_keep_their_places_shuffled_duplicated_or_invalid() {
    let workspace = trained();
    let alone = ok(workspace.run("predict --model run/seed-0 --data train.csv")).stdout;
    let known = predictions(&alone);
    let good: Vec<String> = known.keys().cloned().collect();
    let bad = ["not a molecule", "C(", "\"\"", "c1cc", "[Xx]", "C,too,many,fields", "\"C\nC\""];
    for case in 0..6 {
        let mut random: Stream = stream(case, "rows", &[]);
        let mut input = String::from("id,smiles,again\n");
        let mut expected = Vec::new();
        for _ in 0..40 + random.below(40) {
            // The same id all the time: it is the user's business what ids mean.
            if random.chance(0.3) {
                let text = bad[random.below(bad.len())];
                input.push_str(&format!("same,{text},\"x, {case}\"\n"));
                expected.push(None);
            } else {
                let smiles = &good[random.below(good.len())];
                input.push_str(&format!("same,{smiles},\"x, {case}\"\n"));
                expected.push(Some(smiles.clone()));
            }
        }
        workspace.write("input.csv", &input);
        let run = ok(workspace.run("predict --model run/seed-0/best.gmn --data input.csv"));
        // A record with a line end in quotes is one row.
        let out = run.stdout.replace("\"C\nC\"", "\"C C\"");
        let rows: Vec<Vec<String>> = out.lines().skip(1).map(cells).collect();
        assert_eq!(rows.len(), expected.len());
        for (row, expected) in rows.iter().zip(&expected) {
            assert_eq!(row.len(), 5, "{row:?}");
            match expected {
                Some(smiles) => {
                    assert_eq!((&row[1], &row[3], row[4].as_str()), (smiles, &known[smiles], ""));
                }
                None => assert!(row[3].is_empty() && !row[4].is_empty(), "{row:?}"),
            }
        }
        assert!(run.stderr.contains("without a prediction"), "{}", run.stderr);
    }
}

#[test]
fn streams_and_single_molecules_give_the_same_numbers() {
    let workspace = trained();
    let smiles = molecules(3);
    let arguments: Vec<String> = smiles.iter().map(|smiles| format!("--smiles {smiles}")).collect();
    let run = ok(workspace.run(&format!("predict --model run/seed-0 {}", arguments.join(" "))));
    let known = predictions(&ok(workspace.run("predict --model run/seed-0 --data train.csv")).stdout);
    assert_eq!(predictions(&run.stdout).len(), smiles.iter().collect::<std::collections::HashSet<_>>().len());
    for (smiles, prediction) in predictions(&run.stdout) {
        assert_eq!(prediction, known[&smiles]);
    }
    let mut child = workspace
        .command("predict --model run/seed-0 --data -")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(format!("smiles\n{}\n", smiles.join("\n")).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), run.stdout);
    // JSON Lines are known by their first byte.
    ok(workspace.run("data convert train.csv train.jsonl --target y"));
    let expected = workspace.run("predict --model run/seed-0 --data train.jsonl");
    assert!(expected.stdout.starts_with("id,pred_y,reason\n") && expected.stdout.lines().count() == 81);
    let mut child = workspace
        .command("predict --model run/seed-0 --data -")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = [b"\n  ".to_vec(), workspace.read("train.jsonl")].concat();
    child.stdin.take().unwrap().write_all(&lines).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(expected.code), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected.stdout);
    let failed = workspace.run("predict --model run/seed-0 --smiles not-a-molecule");
    assert_eq!(failed.code, 1, "nothing could be predicted: {failed:?}");
}

#[test]
fn the_seeds_of_a_run_form_an_ensemble_with_mean_and_deviation() {
    let workspace = trained();
    let table = |model: &str| ok(workspace.run(&format!("predict --model {model} --data train.csv"))).stdout;
    let (a, b) = (predictions(&table("run/seed-0")), predictions(&table("run/seed-1")));
    let both = table("run");
    assert!(both.starts_with("smiles,note,y,pred_y,std_y,reason\n"), "{both}");
    assert_eq!(both, table("run/seed-0/best.gmn run/seed-1"));
    for line in both.lines().skip(1) {
        let row = cells(line);
        let [a, b, mean, std] =
            [&a[&row[0]], &b[&row[0]], &row[3], &row[4]].map(|text| text.parse::<f64>().unwrap());
        assert!((mean - (a + b) / 2.0).abs() < 1e-6 && (std - (a - b).abs() / 2.0).abs() < 1e-6, "{line}");
    }
}

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
    workspace.write("few.csv", "smiles,y\nCCO,1.0\nCCC,2.0\n");
    let failed = workspace.run("predict --model run/seed-0 --data train.csv --calibrate few.csv");
    assert_eq!(failed.code, 3, "{failed:?}");
    assert!(
        failed.stderr.contains("2 labels are too few") && failed.stderr.contains("at least 9"),
        "{failed:?}"
    );
}

#[test]
fn evaluation_agrees_with_training_and_has_intervals() {
    let workspace = trained();
    let input = String::from_utf8(workspace.read("train.csv")).unwrap();
    let lines: Vec<&str> = input.lines().collect();
    let test = String::from_utf8(workspace.read("run/seed-0/test_predictions.csv")).unwrap();
    let rows = test.lines().skip(1).map(|line| {
        let row: usize = cells(line)[0].parse().unwrap();
        format!("{}\n", lines[1 + row])
    });
    workspace.write("test.csv", format!("{}\n{}", lines[0], rows.collect::<String>()));
    let summary: serde_json::Value =
        serde_json::from_slice(&workspace.read("run/seed-0/result.json")).unwrap();
    let arguments = "evaluate --model run/seed-0 --data test.csv --replicates 200";
    let found = ok(workspace.run(&format!("{arguments} --json"))).json();
    let rmse = &found["metrics"][1];
    assert_eq!((rmse["metric"].as_str(), &rmse["value"]), (Some("rmse"), &summary["best"]["test"]));
    let (low, high) = (rmse["low"].as_f64().unwrap(), rmse["high"].as_f64().unwrap());
    assert!(low <= rmse["value"].as_f64().unwrap() && rmse["value"].as_f64().unwrap() <= high && low < high);
    assert_eq!(found, ok(workspace.run(&format!("{arguments} --json --threads 1"))).json());
    let text = ok(workspace.run(arguments)).stdout;
    assert!(text.contains("95 % interval") && text.contains("rmse") && text.contains("target"), "{text}");
}

#[test]
fn vectors_are_the_same_in_every_format() {
    let workspace = trained();
    for (level, rows) in [("graph", 80), ("node", 0)] {
        let embed = |name: &str| {
            ok(workspace.run(&format!("embed --model run/seed-1 --data train.csv --level {level} -o {name}")))
        };
        let said = embed("out.csv").stderr;
        embed("out.npy");
        embed("out.parquet");
        let table = String::from_utf8(workspace.read("out.csv")).unwrap();
        let skipped = if level == "node" { 2 } else { 1 };
        let rows = if rows == 0 { table.lines().count() - 1 } else { rows };
        let done = if level == "node" {
            format!("80 graphs, {rows} rows written; ")
        } else {
            "80 rows; ".to_owned()
        };
        assert!(said.contains(&done), "{said}");
        assert_eq!(
            (table.lines().count() - 1, table.lines().next().unwrap().split(',').count()),
            (rows, 16 + skipped)
        );
        let numbers: Vec<f32> = table
            .lines()
            .skip(1)
            .flat_map(|line| {
                line.split(',').skip(skipped).map(|text| text.parse().unwrap()).collect::<Vec<f32>>()
            })
            .collect();
        let npy = workspace.read("out.npy");
        assert!(String::from_utf8_lossy(&npy[8..128]).contains(&format!("({rows}, 16)")), "shape");
        let values: Vec<f32> =
            npy[128..].as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        assert_eq!(values, numbers);
        let parquet = workspace.read("out.parquet");
        assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
        assert_eq!(floats(&workspace.path("out.parquet"), skipped), numbers);
    }
    let wrong = workspace.run("embed --model run/seed-1 --data train.csv -o out.txt");
    assert!(wrong.code == 2 && wrong.stderr.contains(".parquet"), "{wrong:?}");
    let several = workspace.run("embed --model run --data train.csv");
    assert!(several.code == 2 && several.stderr.contains("2 models"), "{several:?}");
}

/// The numbers of a Parquet file, row by row, after so many other columns, as its own reader gives them.
fn floats(path: &std::path::Path, skipped: usize) -> Vec<f32> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    rows.flat_map(|row| (skipped..row.len()).map(move |at| row.get_float(at).unwrap()).collect::<Vec<_>>())
        .collect()
}

#[test]
fn nodes_have_a_row_each_and_unseen_values_a_reason() {
    let workspace = Workspace::new();
    ok(workspace.run("data synth ring-transfer --graphs 40 --node-level -o rings.jsonl"));
    ok(workspace.run(
        "train --data rings.jsonl --run-dir run --no-cache -q --set train.epochs=1 --set model.hidden=8 \
         --set model.layers=2 --set model.lap_dim=4 --set model.pe_dim=2",
    ));
    let text = String::from_utf8(workspace.read("rings.jsonl")).unwrap();
    let first = text.lines().next().unwrap().to_owned();
    let graph: serde_json::Value = serde_json::from_str(&first).unwrap();
    let nodes = graph["num_nodes"].as_u64().unwrap() as usize;
    // Damaged in the first, fine in the middle, one node too many in the last.
    let mut broken = graph.clone();
    broken["num_nodes"] = (nodes + 1).into();
    workspace.write("new.jsonl", format!("{{\"num_nodes\": 1}}}}\n\n{first}\n{first}\n{broken}\n"));
    let run = ok(workspace.run("predict --model run --data new.jsonl"));
    let rows: Vec<Vec<String>> = run.stdout.lines().skip(1).map(cells).collect();
    assert!(run.stdout.starts_with("id,node,pred_target,prob_0,"), "{}", run.stdout);
    assert_eq!(rows.len(), 2 * nodes + 2);
    let done = format!("4 graphs, 2 of them without a prediction, {} rows written; ", rows.len());
    assert!(run.stderr.contains(&done) && run.stderr.contains(" graphs/s"), "{}", run.stderr);
    assert!(rows[0][2].is_empty() && !rows[0].last().unwrap().is_empty(), "{:?}", rows[0]);
    // A row that cannot be read has its number for a name, the other one its own.
    let id = graph["id"].as_str().unwrap();
    assert_eq!((rows[0][0].as_str(), rows[2 * nodes + 1][0].as_str()), ("0", id));
    assert_eq!(rows[1..=nodes], rows[nodes + 1..=2 * nodes], "the same graph twice");
    assert!(rows.last().unwrap().last().unwrap().contains("line 5"), "{:?}", rows.last());
    for row in &rows[1..=nodes] {
        let sum: f64 = row[3..row.len() - 1].iter().map(|text| text.parse::<f64>().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9);
    }
}

#[test]
fn an_ogb_folder_is_predicted_without_labels_and_with_fewer_categories() {
    let workspace = Workspace::new();
    let write = |folder: &str, categories: &[usize], labels: bool| {
        let lines = |line: &dyn Fn(usize) -> String| -> String {
            categories.iter().map(|category| line(*category) + "\n").collect()
        };
        std::fs::create_dir_all(workspace.path(&format!("{folder}/raw"))).unwrap();
        let write = |name: &str, text: String| workspace.write(&format!("{folder}/raw/{name}.csv"), text);
        write("num-node-list", lines(&|_| "2".to_owned()));
        write("num-edge-list", lines(&|_| "1".to_owned()));
        write("edge", lines(&|_| "0,1".to_owned()));
        write("node-feat", lines(&|category| format!("{category},0.5\n{},1.5", category / 2)));
        if labels {
            write("graph-label", lines(&|category| (1 + category % 2).to_string()));
        }
    };
    let categories: Vec<usize> = (0..40).map(|graph| (graph * 7 + 3) % 4).collect();
    write("whole", &categories, true);
    ok(workspace.run(
        "train --data whole --run-dir run --no-cache -q --set train.epochs=1 --set model.hidden=8 \
         --set model.layers=2 --set model.lap_dim=4 --set model.pe_dim=2",
    ));
    let rows = |folder: &str| -> Vec<Vec<String>> {
        let run = ok(workspace.run(&format!("predict --model run --data {folder}")));
        run.stdout.lines().map(cells).collect()
    };
    let all = rows("whole");
    assert!(all[0].contains(&"prob_2".to_owned()), "{:?}", all[0]);
    // None of them has the largest category.
    write("some", &[0], false);
    let same = 1 + categories.iter().position(|category| *category == 0).unwrap();
    assert_eq!(rows("some")[1][1..], all[same][1..]);
    write("other", &[0, 9], false);
    let other = rows("other");
    assert_eq!(other[1][1..], all[same][1..]);
    let reason = other[2].last().unwrap();
    assert!(reason.contains("node-feat.csv, line 3") && reason.contains("`9`"), "{reason}");
}

#[test]
fn files_that_are_no_models_are_refused_by_what_they_are() {
    let workspace = trained();
    let whole = workspace.read("run/seed-0/best.gmn");
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    // The version of a newer program, with the header's own check sum.
    let mut newer = whole.clone();
    let next = graphminnet::bundle::FORMAT_VERSION + 1;
    newer[8..12].copy_from_slice(&next.to_le_bytes());
    use sha2::Digest;
    let check = sha2::Sha256::digest(&newer[..28]);
    newer[28..36].copy_from_slice(&check[..8]);
    let cases: [(&str, &[u8], &str); 5] = [
        ("damaged.gmn", &damaged, "the model is damaged"),
        ("short.gmn", &whole[..whole.len() - 7], "the model is truncated"),
        ("foreign.gmn", b"PK\x03\x04 something else that is long enough", "not a GraphMinNet model"),
        ("newer.gmn", &newer, &format!("format version {next}")),
        ("empty.gmn", b"", "the file is empty"),
    ];
    for (name, bytes, expected) in cases {
        workspace.write(name, bytes);
        let run = workspace.run(&format!("predict --model {name} --smiles CCO"));
        assert_eq!(run.code, 3, "{run:?}");
        assert!(run.stderr.contains(expected) && run.stderr.contains(name), "{run:?}");
        assert!(run.stdout.is_empty());
    }
    for model in ["none.gmn", "."] {
        let run = workspace.run(&format!("predict --model {model} --smiles CCO"));
        assert_eq!(run.code, 2, "{run:?}");
    }
}

#[test]
fn a_model_cannot_steer_the_terminal_by_its_names() {
    let workspace = trained();
    let bundle = Bundle::load(&workspace.path("run/seed-0/best.gmn")).unwrap();
    let mut about = bundle.description().clone();
    about.name = "\u{1b}]0;title\u{7}\u{1b}[2J".to_owned();
    about.schema.targets = vec!["\u{1b}[31my".to_owned()];
    let weights = graphminnet::weights::to_bytes(bundle.model()).unwrap();
    workspace.write("odd.gmn", Bundle::pack(&about, &weights).unwrap());
    let run = ok(workspace.run("predict --model odd.gmn --smiles CCO -o out.csv"));
    assert!(run.stderr.contains("\\u{1b}]0;title") && !run.stderr.contains('\u{1b}'), "{run:?}");
    let input = String::from_utf8(workspace.read("train.csv")).unwrap();
    workspace.write("odd.csv", input.replacen(",y", ",\u{1b}[31my", 1));
    let run = ok(workspace.run("evaluate --model odd.gmn --data odd.csv --replicates 0"));
    assert!(run.stdout.contains("\\u{1b}[31my"), "{run:?}");
    assert!(!run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'), "{run:?}");
}

#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let workspace = trained();
    workspace.write("taken.csv", "smiles,pred_y\nCCO,1\n");
    let run = workspace.run("predict --model run/seed-0 --data taken.csv -o out.csv");
    assert!(run.code == 2 && run.stderr.contains("`pred_y`"), "{run:?}");
    workspace.write("open.csv", "smiles\nCCO\n\"CC");
    let run = workspace.run("predict --model run/seed-0 --data open.csv -o out.csv");
    assert!(run.code == 3 && run.stderr.contains("never closed"), "{run:?}");
    let left: Vec<_> = std::fs::read_dir(workspace.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("out.csv"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_table_is_not_written_under_the_name_of_another_format() {
    let workspace = trained();
    for name in ["out.xlsx", "out.json", "out.JSONL", "out.sdf", "out.npy", "out.csv.gz"] {
        let run = workspace.run(&format!("predict --model run/seed-0 --smiles CCO -o {name}"));
        assert!(run.code == 2 && run.stderr.contains("CSV (.csv) or Parquet (.parquet)"), "{run:?}");
        assert!(!workspace.path(name).exists());
    }
    for name in ["out.txt", "out", "out.parquet"] {
        ok(workspace.run(&format!("predict --model run/seed-0 --smiles CCO -o {name}")));
        assert_eq!(workspace.read(name).starts_with(b"PAR1"), name == "out.parquet");
    }
}

/// A run on molecules whose classes have names, in columns with names of their own.
fn trained_on_names() -> Workspace {
    let workspace = Workspace::new();
    let mut table = String::from("code,structure,label\n");
    for (row, smiles) in molecules(80).iter().enumerate() {
        let label = if smiles.contains('O') { "active" } else { "inactive" };
        // A code that is a molecule too, though another one.
        table.push_str(&format!("C{},{smiles},{label}\n", "C".repeat(row % 4)));
    }
    workspace.write("named.csv", table);
    let run = workspace.run(
        "train --data named.csv --target label --smiles-column structure --run-dir run --no-cache \
         --set train.epochs=2 --set model.hidden=16 --set model.layers=2 --set model.lap_dim=4 --set model.pe_dim=4",
    );
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("`active` is the positive class of `label`"), "{}", run.stderr);
    workspace
}

#[test]
fn the_positive_class_is_named_in_predictions_evaluation_and_report() {
    let workspace = trained_on_names();
    let table = ok(workspace.run("predict --model run --data named.csv")).stdout;
    assert!(table.starts_with("code,structure,label,pred_label,prob_active,reason\n"), "{table}");
    for line in table.lines().skip(1) {
        let row = cells(line);
        let probability: f64 = row[4].parse().unwrap();
        assert_eq!(row[3], if probability > 0.5 { "active" } else { "inactive" }, "{line}");
    }
    let text = ok(workspace.run("evaluate --model run --data named.csv")).stdout;
    assert!(text.contains("positive class: active"), "{text}");
    let json = ok(workspace.run("evaluate --model run --data named.csv --json")).json();
    assert_eq!(json["positive_class"], "active");
    let test = String::from_utf8(workspace.read("run/seed-0/test_predictions.csv")).unwrap();
    assert!(test.starts_with("id,label,pred_label,prob_active\n"), "{test}");
    let report = String::from_utf8(workspace.read("run/report.html")).unwrap();
    assert!(report.contains("positive class active, the other inactive"), "the card names it");
    // Average precision is that of the active ones, computed here from the table.
    let mut scored: Vec<(f64, bool)> = table
        .lines()
        .skip(1)
        .map(|line| {
            let row = cells(line);
            (row[4].parse().unwrap(), row[2] == "active")
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let positives = scored.iter().filter(|(_, active)| *active).count() as f64;
    let (mut hits, mut seen, mut expected) = (0.0, 0.0, 0.0);
    for tied in scored.chunk_by(|a, b| a.0 == b.0) {
        let new = tied.iter().filter(|(_, active)| *active).count() as f64;
        (hits, seen) = (hits + new, seen + tied.len() as f64);
        expected += new / positives * (hits / seen);
    }
    let metrics = json["metrics"].as_array().unwrap();
    let found = metrics.iter().find(|metric| metric["metric"] == "average_precision").unwrap();
    assert!((found["value"].as_f64().unwrap() - expected).abs() < 1e-6, "{found} for {expected}");
}

#[test]
fn the_column_of_the_molecules_is_kept_in_the_model() {
    let workspace = trained_on_names();
    let expected = ok(workspace.run("predict --model run --data named.csv")).stdout;
    workspace.write("moved.csv", "structure,code\nCCO,CC\n");
    let moved = ok(workspace.run("predict --model run --data moved.csv")).stdout;
    assert!(moved.starts_with("structure,code,pred_label,prob_active,reason\nCCO,CC,"), "{moved}");
    // The answer is that for ethanol, however it is asked for.
    let asked = ok(workspace.run("predict --model run --smiles CCO")).stdout;
    let probability = |table: &str| cells(table.lines().nth(1).unwrap()).iter().rev().nth(1).unwrap().clone();
    assert_eq!(probability(&asked), probability(&moved));
    assert_ne!(probability(&asked), probability(&expected));
    workspace.write("without.csv", "code,label\nCC,active\n");
    for command in ["predict", "evaluate", "embed -o vectors.npy"] {
        let run = workspace.run(&format!("{command} --model run --data without.csv"));
        assert_ne!(run.code, 0, "{command}");
        assert!(run.stderr.contains("`structure`") && run.stderr.contains("code, label"), "{}", run.stderr);
    }
    // Calibration reads its file in the same way, and as the options say.
    let run = workspace.run("predict --model run --smiles CCO --calibrate without.csv");
    assert!(run.code != 0 && run.stderr.contains("`structure`"), "{run:?}");
    let other = String::from_utf8(workspace.read("named.csv")).unwrap().replace("structure", "mol");
    workspace.write("other.csv", other);
    let run =
        ok(workspace.run("predict --model run --data other.csv --smiles-column mol --calibrate other.csv"));
    assert!(run.stderr.contains("calibrated at level 0.9 on 80 labels"), "{}", run.stderr);
    let run = workspace.run("predict --model run --smiles CCO --smiles-column mol");
    assert!(run.code == 2 && run.stderr.contains("no effect"), "{run:?}");
}

#[test]
fn a_blank_cell_in_the_split_column_stops_the_training() {
    let workspace = Workspace::new();
    let mut table = String::from("smiles,y,part\n");
    for (row, smiles) in molecules(40).iter().enumerate() {
        let part = ["train", "train", "train", "Valid", "TEST"][row % 5];
        table.push_str(&format!("{smiles},{}.5,{}\n", row % 3, if row == 7 { "" } else { part }));
    }
    workspace.write("parts.csv", table);
    let train = "train --data parts.csv --target y --split-column part --run-dir run --no-cache --set train.epochs=1 \
                 --set model.hidden=16 --set model.layers=1 --set model.lap_dim=4 --set model.pe_dim=4";
    let run = workspace.run(train);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("parts.csv, line 9, column `part`: names no part"), "{}", run.stderr);
    let run = ok(workspace.run(&format!("{train} --on-bad-row skip")));
    assert!(run.stderr.contains("39 graphs, 23 to train, 8 to validate, 8 to test"), "{}", run.stderr);
    let run = workspace.run(&format!("{train} --split random"));
    assert!(run.code == 2 && run.stderr.contains("--split-column has no effect"), "{run:?}");
}

#[test]
fn an_evaluation_without_labels_is_an_error() {
    let workspace = trained();
    workspace.write("unlabelled.csv", "smiles,other\nCCO,1\nCCN,2\n");
    workspace.write("blank.csv", "smiles,y\nCCO,\nCCN,NA\n");
    for data in ["unlabelled.csv", "blank.csv"] {
        let run = workspace.run(&format!("evaluate --model run --data {data}"));
        assert!(
            run.code == 3 && run.stderr.contains("no graph has a label") && run.stderr.contains("`y`"),
            "{run:?}"
        );
        assert!(run.stdout.is_empty());
    }
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

#[test]
fn a_prediction_does_not_depend_on_the_writing_where_the_cut_runs_through_an_eigenspace() {
    let workspace = Workspace::new();
    let row = |at: usize| format!("c1ccccc1{}O,{at}.5\n", "C".repeat(1 + at % 12));
    workspace.write("m.csv", format!("smiles,y\n{}", (0..40).map(row).collect::<String>()));
    let run = workspace.run(
        "train --data m.csv --target y --split random --set model.hidden=16 --set model.layers=2 --set train.epochs=1 -q \
         --no-cache --run-dir run",
    );
    assert_eq!(run.code, 0, "{run:?}");
    // The 16th and 17th eigenvalue are both 3.
    workspace.write(
        "two.csv",
        "smiles\nC1=NC=CN=C1N(C3CCN(CCC2=CC=CC=C2)CC3)C(C4=CC=CO4)=O\nc1cccc(CCN2CCC(N(C(=O)c3ccco3)c3cnccn3)CC2)c1\n",
    );
    let run = workspace.run("predict --model run --data two.csv");
    let answers: Vec<f64> =
        run.stdout.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    assert!((answers[0] - answers[1]).abs() < 1e-5, "{answers:?}");
}

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
