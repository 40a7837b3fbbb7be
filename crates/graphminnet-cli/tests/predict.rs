//! From a training run to predictions elsewhere: the commands that use a model file.

mod common;

use common::Workspace;
use common::molecules::{cells, molecules, ok, predictions, trained};
use graphminnet::Bundle;
use graphminnet_data::rng::{Stream, stream};
use std::io::Write;
use std::process::Stdio;

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
    // Compression, too.
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&lines).unwrap();
    workspace.write("packed", packed.finish().unwrap());
    let packed = std::fs::File::open(workspace.path("packed")).unwrap();
    let output = workspace.command("predict --model run/seed-0 --data -").stdin(packed).output().unwrap();
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
fn a_file_in_the_place_of_a_run_is_called_so() {
    let workspace = Workspace::new();
    workspace.write("train.csv", "smiles,y\nC,1.5\nCC,2.5\nCCC,3.5\n");
    workspace.write("file", "");
    let run = workspace.run("train --data train.csv --target y --run-dir file");
    assert_eq!(run.code, 2, "{run:?}");
    assert!(
        run.stderr.contains("file is a file, and a run is a folder; give another name"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("--resume"), "{}", run.stderr);
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
