//! Work in shards: whatever their number, the result is that of one process, byte for byte.

mod common;

use common::{Run, Workspace};
use std::path::Path;

fn ok(run: Run) -> Run {
    assert_eq!(run.code, 0, "{run:?}");
    run
}

/// A workspace with a model and a table with quoted line ends and bad rows.
fn prepared() -> Workspace {
    let workspace = Workspace::new();
    let mut table = String::from("smiles,\"no\nte\",y,split\n");
    for row in 0..23 {
        let smiles = format!("{}{}", "C".repeat(1 + row % 6), ["O", "N", "c1ccccc1", "Cl"][row % 4]);
        let part = ["train", "train", "valid", "test"][row % 4];
        table.push_str(&format!("{smiles},\"row {row},\n\"\"quoted\"\"\",{}.25,{part}\n", row % 5));
    }
    workspace.write("train.csv", &table);
    table.push_str("\nbad(,x,1,test\nC,too few\n");
    workspace.write("input.csv", &table);
    ok(workspace.run(
        "train --data train.csv --target y --split-column split --seeds 0 --run-dir run --no-cache -q \
         --set train.epochs=1 --set model.hidden=16 --set model.layers=1 --set model.lap_dim=4 --set model.pe_dim=4",
    ));
    workspace
}

/// Runs a command for every shard, in an order that is not theirs.
fn in_shards(workspace: &Workspace, command: &str, count: u32) {
    for number in (1..=count).rev() {
        ok(workspace.run(&format!("{command} --shard {number}/{count}")));
    }
}

fn concatenated(folder: &Path, extension: &str) -> Vec<u8> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    files.iter().flat_map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn predictions_and_vectors_in_shards_are_those_of_one_process() {
    let workspace = prepared();
    ok(workspace.run("predict -m run --data input.csv -o whole.csv"));
    ok(workspace.run("embed -m run --data input.csv -o vectors.csv"));
    ok(workspace.run("embed -m run --data input.csv --level node -o nodes.npy"));
    for count in [1, 2, 3, 7, 40] {
        let folder = format!("parts-{count}");
        in_shards(&workspace, &format!("predict -m run --data input.csv -o {folder}"), count);
        let joined = ok(workspace.run(&format!("data join {folder} -o joined.csv")));
        let said = format!("{count} parts, 25 rows, 2 of them without a result");
        assert!(joined.stderr.contains(&said), "{joined:?}");
        assert_eq!(workspace.read("joined.csv"), workspace.read("whole.csv"), "{count} shards");
        assert_eq!(concatenated(&workspace.path(&folder), "csv"), workspace.read("whole.csv"));

        in_shards(&workspace, &format!("embed -m run --data input.csv -o {folder}.csv"), count);
        ok(workspace.run(&format!("data join {folder}.csv -o joined.csv")));
        assert_eq!(workspace.read("joined.csv"), workspace.read("vectors.csv"), "{count} shards");
        if count == 3 {
            in_shards(&workspace, "embed -m run --data input.csv --level node -o parts.npy", count);
            ok(workspace.run("data join parts.npy -o joined.npy"));
            assert_eq!(workspace.read("joined.npy"), workspace.read("nodes.npy"));
            let run = workspace.run("data join parts.npy -o joined.csv");
            assert_eq!(run.code, 2, "{run:?}");
        }
    }
    let manifest = String::from_utf8(workspace.read("parts-3/_manifest.json")).unwrap();
    for word in ["part-00003-of-00003.csv", "sha256", "ends_sha256", "models", "\"rows\""] {
        assert!(manifest.contains(word), "{word} is not in {manifest}");
    }
}

#[test]
fn graphs_that_are_no_molecules_come_in_shards_too() {
    let workspace = Workspace::new();
    let rings: String = (3..30)
        .map(|nodes| {
            let edges: Vec<String> =
                (0..nodes).map(|node| format!("[{node},{}]", (node + 1) % nodes)).collect();
            format!("{{\"num_nodes\":{nodes},\"edges\":[{}],\"target\":{}}}\n", edges.join(","), nodes % 2)
        })
        .collect();
    workspace.write("rings.jsonl", &rings);
    ok(workspace.run(
        "train --data rings.jsonl --seeds 0 --run-dir run --no-cache -q --set train.epochs=1 --set model.hidden=16 \
         --set model.layers=1 --set model.lap_dim=4 --set model.pe_dim=4",
    ));
    workspace.write("input.jsonl", format!("\n{rings}{{broken\n"));
    ok(workspace.run("predict -m run --data input.jsonl -o whole.csv"));
    ok(workspace.run("embed -m run --data input.jsonl -o vectors.csv"));
    for count in [2, 5] {
        in_shards(&workspace, &format!("predict -m run --data input.jsonl -o parts-{count}"), count);
        ok(workspace.run(&format!("data join parts-{count} -o joined.csv")));
        assert_eq!(workspace.read("joined.csv"), workspace.read("whole.csv"), "{count} shards");
        in_shards(&workspace, &format!("embed -m run --data input.jsonl -o vectors-{count}"), count);
        ok(workspace.run(&format!("data join vectors-{count} -o joined.csv")));
        assert_eq!(workspace.read("joined.csv"), workspace.read("vectors.csv"), "{count} shards");
    }
}

#[test]
fn an_evaluation_of_what_shards_answered_is_that_of_one_process() {
    let workspace = prepared();
    for (options, count) in [("", 1), ("", 3), ("--part test", 30)] {
        let whole = ok(workspace.run(&format!("evaluate -m run --data train.csv {options} --json"))).stdout;
        let folder = format!("answers-{count}");
        in_shards(&workspace, &format!("evaluate -m run --data train.csv {options} -o {folder}"), count);
        let joined = ok(workspace.run(&format!("evaluate -m run --join {folder} --json"))).stdout;
        assert_eq!(joined, whole, "{count} shards");
    }
    // Rows that cannot be read stop a shard as they stop the whole.
    let run = workspace.run("evaluate -m run --data input.csv -o answers --shard 3/3");
    assert_eq!(run.code, 3, "{run:?}");
    let run = workspace.run("data join answers-3 -o x.csv");
    assert!(run.code == 2 && run.stderr.contains("evaluate --model MODEL --join"), "{run:?}");
}

#[test]
fn what_shards_prepare_is_found_in_the_cache_like_that_of_one_process() {
    let workspace = prepared();
    let options = "prepare --data train.csv --target y --eigenpairs 4 --random-walk 5";
    ok(workspace.run(&format!("{options} --cache-dir whole")));
    in_shards(&workspace, &format!("{options} -o parts"), 4);
    ok(workspace.run("prepare --data train.csv --target y --join parts --cache-dir joined"));
    let entries = |folder: &str| {
        let entries = std::fs::read_dir(workspace.path(folder)).unwrap().map(|entry| entry.unwrap().path());
        let mut entries: Vec<_> = entries.map(|path| (path.file_name().unwrap().to_owned(), path)).collect();
        entries.sort();
        entries.into_iter().map(|(name, path)| (name, std::fs::read(path).unwrap())).collect::<Vec<_>>()
    };
    let whole = entries("whole");
    assert_eq!(whole.len(), 2);
    assert_eq!(entries("joined"), whole);
    let again = ok(workspace.run(&format!("{options} --cache-dir joined")));
    assert_eq!(again.stdout.matches("from the cache").count(), 2, "{again:?}");

    let refused = |arguments: &str| {
        let run = workspace.run(arguments);
        assert_eq!(run.code, 2, "{run:?}");
        run.stderr
    };
    assert!(
        refused("prepare --data train.csv --join parts").contains("the options by which the shards read")
    );
    assert!(
        refused("prepare --data train.csv --shard 1/2 -o x").contains("work in shards needs --eigenpairs")
    );
    let entry = workspace.path("parts").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let entry = entry.into_iter().find(|path| path.extension().is_some_and(|end| end == "gmncache")).unwrap();
    std::fs::remove_file(entry).unwrap();
    let run = workspace.run("prepare --data train.csv --target y --join parts --cache-dir other");
    assert!(run.code == 4 && run.stderr.contains("prepare it again"), "{run:?}");
    assert!(!workspace.path("other").exists() || entries("other").len() < 2);
}

#[test]
fn a_part_that_failed_is_done_again_alone_and_foreign_parts_are_not_mixed_in() {
    let workspace = prepared();
    ok(workspace.run("predict -m run --data input.csv -o whole.csv"));
    in_shards(&workspace, "predict -m run --data input.csv -o parts", 3);
    let join = || workspace.run("data join parts -o joined.csv");

    std::fs::remove_file(workspace.path("parts/_part-00002-of-00003.json")).unwrap();
    let run = join();
    assert!(run.code == 3 && run.stderr.contains("`--shard 2/3` again"), "{run:?}");
    assert!(!workspace.path("joined.csv").exists());

    // Killed between the file and its record: the record is of an older file.
    ok(workspace.run("predict -m run --data input.csv -o parts --shard 2/3"));
    workspace.write("parts/part-00002-of-00003.csv", "half");
    let run = join();
    assert!(run.code == 3 && run.stderr.contains("`--shard 2/3` again"), "{run:?}");
    ok(workspace.run("predict -m run --data input.csv -o parts --shard 2/3"));
    ok(join());
    assert_eq!(workspace.read("joined.csv"), workspace.read("whole.csv"));

    ok(workspace.run("predict -m run --data train.csv -o parts --shard 2/3"));
    let run = join();
    assert!(run.code == 3 && run.stderr.contains("different inputs"), "{run:?}");
    ok(workspace.run("predict -m run --data input.csv -o parts --shard 2/3"));
    ok(workspace.run("predict -m run --data input.csv -o parts --shard 2/4"));
    let run = join();
    assert!(run.code == 3 && run.stderr.contains("different numbers of shards"), "{run:?}");
}

#[test]
fn other_programs_see_nothing_but_the_table_and_folders_of_before_are_joined() {
    let workspace = prepared();
    ok(workspace.run("predict -m run --data input.csv -o whole.csv"));
    in_shards(&workspace, "predict -m run --data input.csv -o parts.parquet", 2);
    ok(workspace.run("data join parts.parquet"));
    in_shards(&workspace, "predict -m run --data input.csv -o parts", 3);
    ok(workspace.run("data join parts -o joined.csv"));
    for (folder, extension, count) in [("parts.parquet", "parquet", 2), ("parts", "csv", 3)] {
        let names = workspace.path(folder).read_dir().unwrap();
        let names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        let is_seen = |name: &&String| !name.starts_with(['_', '.']);
        assert!(names.iter().filter(is_seen).all(|name| name.ends_with(extension)), "{names:?}");
        assert_eq!((names.len(), names.iter().filter(is_seen).count()), (2 * count + 1, count), "{names:?}");
    }
    // As earlier versions left them.
    for name in
        ["part-00001-of-00003.json", "part-00002-of-00003.json", "part-00003-of-00003.json", "manifest.json"]
    {
        let path = |name: &str| workspace.path(&format!("parts/{name}"));
        std::fs::rename(path(&format!("_{name}")), path(name)).unwrap();
    }
    ok(workspace.run("data join parts -o again.csv"));
    assert_eq!(workspace.read("again.csv"), workspace.read("whole.csv"));
    ok(workspace.run("predict -m run --data input.csv -o parts --shard 2/3"));
    assert!(!workspace.path("parts/part-00002-of-00003.json").exists());
    assert!(!workspace.path("parts/manifest.json").exists());
    ok(workspace.run("data join parts -o again.csv"));
    assert_eq!(workspace.read("again.csv"), workspace.read("whole.csv"));
}

#[test]
fn what_cannot_be_done_in_shards_is_refused_with_the_reason() {
    let workspace = prepared();
    let refused = |arguments: &str, code: i32, word: &str| {
        let run = workspace.run(arguments);
        assert!(run.code == code && run.stderr.contains(word), "{arguments}: {run:?}");
    };
    refused("predict -m run --data input.csv --shard 1/2", 2, "--output FOLDER");
    refused("predict -m run --smiles C --shard 1/2 -o parts", 2, "--data FILE");
    refused("predict -m run --data - --shard 1/2 -o parts", 2, "--data FILE");
    refused("predict -m run --data input.csv --shard 3/2 -o parts", 2, "i from 1 to n");
    refused("evaluate -m run --data train.csv --shard 1/2", 2, "--output FOLDER");
    refused("evaluate -m run --data train.csv -o parts", 2, "--shard");
    workspace.write("input.csv.gz", "");
    refused("predict -m run --data input.csv.gz --shard 1/2 -o parts", 3, "decompress it first");
    workspace.write("taken", "");
    refused("predict -m run --data input.csv --shard 1/2 -o taken", 4, "taken");
}

/// The rows of a Parquet file as its own reader prints them.
fn rows(path: &Path) -> Vec<String> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().to_string()).collect()
}

#[test]
fn parquet_goes_in_and_out_in_shards_of_row_groups() {
    let workspace = prepared();
    ok(workspace.run("predict -m run --data input.csv -o table.parquet"));
    let found = rows(&workspace.path("table.parquet"));
    assert_eq!(found.len(), 25);
    assert!(found[0].contains("smiles: \"CO\"") && found[0].contains("pred_y: "), "{}", found[0]);
    assert!(found[23].contains("pred_y: null") && found[23].contains("line"), "{}", found[23]);
    let taken = workspace.run("predict -m run --data table.parquet");
    assert!(taken.code == 2 && taken.stderr.contains("already has a column `pred_y`"), "{taken:?}");

    // Vectors of a table that has a row group for every 4,096 rows.
    let many: String = (0..9000).map(|row| format!("{}\n", "C".repeat(1 + row % 5))).collect();
    workspace.write("many.csv", format!("smiles\n{many}"));
    ok(workspace.run("embed -m run --data many.csv -o ids.parquet"));
    assert_eq!(rows(&workspace.path("ids.parquet")).len(), 9000);
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../graphminnet-data/tests/fixtures/parquet/zstd.parquet");
    std::fs::copy(fixture, workspace.path("input.parquet")).unwrap();
    ok(workspace.run("predict -m run --data input.parquet -o whole.csv"));
    ok(workspace.run("embed -m run --data input.parquet -o whole.parquet"));
    for count in [2, 5] {
        in_shards(&workspace, &format!("predict -m run --data input.parquet -o parts-{count}"), count);
        ok(workspace.run(&format!("data join parts-{count} -o joined.csv")));
        assert_eq!(workspace.read("joined.csv"), workspace.read("whole.csv"), "{count} shards");
        in_shards(
            &workspace,
            &format!("embed -m run --data input.parquet -o vectors-{count}.parquet"),
            count,
        );
        ok(workspace.run(&format!("data join vectors-{count}.parquet -o joined.parquet")));
        assert_eq!(rows(&workspace.path("joined.parquet")), rows(&workspace.path("whole.parquet")));
    }
    let whole = String::from_utf8(workspace.read("whole.csv")).unwrap();
    assert!(whole.contains("input.parquet, row 3, column `smiles`"), "{whole}");
}

#[test]
fn a_spreadsheet_is_checked_and_predicted() {
    let workspace = prepared();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../graphminnet-data/tests/fixtures/sheet.xlsx");
    std::fs::copy(fixture, workspace.path("sheet.xlsx")).unwrap();
    let checked = workspace.run("data check sheet.xlsx --target activity");
    assert!(
        checked.code == 1 && checked.stdout.contains("sheet.xlsx, row 5, column `smiles`"),
        "{checked:?}"
    );
    let run = ok(workspace.run("predict -m run --data sheet.xlsx"));
    assert!(run.stdout.starts_with("id,smiles,activity,day,note,column_6,yes,pred_y,reason\n"), "{run:?}");
    assert!(run.stderr.contains("4 rows, 1 of them without a prediction"), "{run:?}");
    let refused = workspace.run("predict -m run --data sheet.xlsx --shard 1/2 -o parts");
    assert!(refused.code == 3 && refused.stderr.contains("in shards"), "{refused:?}");
}

#[test]
fn processes_that_were_started_together_but_know_nothing_of_each_other_are_warned() {
    let workspace = prepared();
    let warned = |arguments: &str, rank: &str| {
        let tasks = [("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", rank)];
        let run = ok(workspace.run_with(arguments, &tasks));
        run.stderr.contains("warning: 2 processes were started together but know nothing of each other")
    };
    let predict = "predict -m run --data train.csv -o all.csv";
    assert!(warned(predict, "0"));
    // One of them is enough.
    assert!(!warned(predict, "1"));
    // These know what they are doing.
    assert!(!warned("predict -m run --data train.csv -o parts --shard 1/2", "0"));
}
