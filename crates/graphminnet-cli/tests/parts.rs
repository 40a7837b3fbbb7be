//! One graph in parts through the command, and eigenpairs that another program computed. Several ranks are tested by
//! `scripts/test-mpi`; here the parts are threads of one process.

mod common;

use common::{Run, Workspace};
use graphminnet_data::spectral::lowest_eigenpairs;
use graphminnet_data::{Graph, rng};

fn ok(run: Run) -> Run {
    assert_eq!(run.code, 0, "{run:?}");
    run
}

/// Paths with chords that share no eigenvalue, of so many nodes each.
fn graph(sizes: &[usize]) -> Graph {
    let mut random = rng::stream(1, "chords", &[]);
    let (mut edges, mut first) = (Vec::new(), 0);
    for &nodes in sizes {
        edges.extend((1..nodes).map(|node| [first + node - 1, first + node]));
        edges.extend((0..nodes / 3).map(|_| [first + random.below(nodes), first + random.below(nodes)]));
        first += nodes;
    }
    let both = edges.into_iter().flat_map(|[a, b]| [[a as u32, b as u32], [b as u32, a as u32]]);
    Graph::from_edges(first, both.collect()).unwrap()
}

/// The graph as a file, with a number for every node and a class that depends on it and on a neighbour's.
fn write(workspace: &Workspace, name: &str, graph: &Graph) {
    let mut random = rng::stream(2, "features", &[]);
    let numbers: Vec<f64> = (0..graph.num_nodes()).map(|_| (random.normal() * 1e3).round() / 1e3).collect();
    let next = |node: usize| numbers[(node + 1) % numbers.len()];
    let target: Vec<u8> = (0..numbers.len()).map(|node| u8::from(numbers[node] + next(node) > 0.0)).collect();
    let features: Vec<[f64; 1]> = numbers.iter().map(|&number| [number]).collect();
    let line = serde_json::json!({
        "num_nodes": graph.num_nodes(), "edges": graph.edges(), "node_features": features, "target": target,
    });
    workspace.write(name, format!("{line}\n"));
}

const MODEL: &str = "--level node --split random --threads 2 --set model.hidden=16 --set model.layers=2 \
                     --set model.lap_dim=6 --set model.pe_dim=4 --set model.encoder_hops=0 --set train.epochs=3 \
                     --set train.warmup=1";

fn weights(workspace: &Workspace, run: &str) -> String {
    let result = workspace.read(&format!("{run}/seed-0/result.json"));
    let result: serde_json::Value = serde_json::from_slice(&result).unwrap();
    result["last_weights_sha256"].as_str().unwrap().to_owned()
}

/// The probabilities in a table of predictions, with what stands before them.
fn predicted(workspace: &Workspace, file: &str) -> Vec<(String, f64)> {
    let text = String::from_utf8(workspace.read(file)).unwrap();
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let header = cells(text.lines().next().unwrap());
    let at = header.iter().position(|name| name.starts_with("pred_")).unwrap();
    let rows = text.lines().skip(1).map(cells);
    rows.map(|row| (row[..at].join(","), row[at].parse().unwrap())).collect()
}

#[test]
fn a_graph_is_trained_predicted_and_evaluated_in_parts() {
    let workspace = Workspace::new();
    let nodes = 900;
    write(&workspace, "graph.jsonl", &graph(&[nodes]));
    let train = format!("train --data graph.jsonl {MODEL} --parts 3");
    let said = ok(workspace.run(&format!("{train} --run-dir run"))).stderr;
    assert!(said.contains("eigenpairs (by iteration, each rank on its parts): computed"), "{said}");
    assert!(said.contains("3 parts: "), "{said}");
    let said = ok(workspace.run(&format!("{train} --run-dir again"))).stderr;
    assert!(said.contains("each rank on its parts): from the cache"), "{said}");
    assert_eq!(weights(&workspace, "run"), weights(&workspace, "again"));
    assert_eq!(
        workspace.read("run/seed-0/test_predictions.csv"),
        workspace.read("again/seed-0/test_predictions.csv")
    );
    let card: serde_json::Value = serde_json::from_slice(&workspace.read("run/data.json")).unwrap();
    assert_eq!((&card["nodes"], &card["edges"]), (&nodes.into(), &graph(&[nodes]).num_edges().into()));

    ok(workspace.run("predict -m run --data graph.jsonl -o whole.csv"));
    let whole = predicted(&workspace, "whole.csv");
    assert_eq!(whole.len(), nodes);
    let file: String = (0..nodes).map(|node| format!("{}\n", node * 7 % 3)).collect();
    workspace.write("scattered.part.3", &file);
    let mut in_order = Vec::new();
    for partition in ["--partition greedy", "--partition scattered.part.3", "--partition order"] {
        ok(workspace.run(&format!("predict -m run --data graph.jsonl --parts 3 {partition} -o parts.csv")));
        let parts = predicted(&workspace, "parts.csv");
        assert_eq!(parts.len(), nodes);
        for (found, expected) in parts.iter().zip(&whole) {
            assert_eq!(found.0, expected.0);
            assert!((found.1 - expected.1).abs() < 1e-3, "{partition}: {found:?} is not {expected:?}");
        }
        in_order = parts;
    }
    // The model's own predictions for the test part are among those of the same parts, to the bit.
    let test = predicted(&workspace, "run/seed-0/test_predictions.csv");
    assert!(test.len() > nodes / 20 && test.len() < nodes / 5, "{}", test.len());
    for (place, value) in &test {
        let node: usize = place.split(',').nth(1).unwrap().parse().unwrap();
        assert_eq!(*value, in_order[node].1, "{place}");
    }

    let evaluate = |options: &str| {
        let run = ok(workspace.run(&format!("evaluate -m run --data graph.jsonl --json {options}"))).json();
        let metrics = run["metrics"].as_array().unwrap().clone();
        let value = |metric: &serde_json::Value| (metric["metric"].clone(), metric["value"].as_f64());
        metrics.iter().map(value).collect::<Vec<_>>()
    };
    for (found, expected) in evaluate("--parts 2").into_iter().zip(evaluate("")) {
        assert_eq!(found.0, expected.0);
        let difference = found.1.unwrap_or(0.0) - expected.1.unwrap_or(0.0);
        assert!(difference.abs() < 5e-3, "{found:?} is not {expected:?}");
    }
}

/// A folder of CSV files is read in parts, JSON Lines as a whole: everything that comes of it is the same.
#[test]
fn tables_that_are_read_in_parts_give_what_the_whole_graph_gives() {
    let workspace = Workspace::new();
    write(&workspace, "graph.jsonl", &graph(&[500, 400]));
    ok(workspace.run("data convert graph.jsonl tables --level node"));
    let scattered: String = (0..900).map(|node| format!("{}\n", node * 7 % 3)).collect();
    workspace.write("scattered.part.3", &scattered);
    for (number, how) in ["order", "greedy", "scattered.part.3"].into_iter().enumerate() {
        let model = format!("{MODEL} --set model.node_pe=lappe --parts 3 --partition {how}");
        let train = |input: &str, name: &str| {
            let run = format!("{name}-{number}");
            let run = ok(workspace.run(&format!("train --data {input} {model} --run-dir {run}")));
            run.stderr.lines().find(|line| line.starts_with("3 parts: ")).map(str::to_owned).unwrap()
        };
        let cut = train("graph.jsonl", "whole");
        assert_eq!(train("tables --target target", "tables"), cut);
        let [whole, tables] = ["whole", "tables"].map(|name| format!("{name}-{number}"));
        let predictions = |run: &str| workspace.read(&format!("{run}/seed-0/test_predictions.csv"));
        assert_eq!(predictions(&tables), predictions(&whole), "{how}");
        assert_eq!(weights(&workspace, &tables), weights(&workspace, &whole), "{how}");
        let card = |run: &str| -> serde_json::Value {
            serde_json::from_slice(&workspace.read(&format!("{run}/data.json"))).unwrap()
        };
        let (of_tables, of_whole) = (card(&tables), card(&whole));
        for field in ["fingerprint", "nodes", "edges", "train", "valid", "test"] {
            assert_eq!(of_tables[field], of_whole[field], "{how}: {field}");
        }
    }
    let predict = |input: &str, options: &str| {
        ok(workspace.run(&format!("predict -m tables-0 --data {input} --parts 3 -o out.csv {options}")));
        workspace.read("out.csv")
    };
    let evaluate = |input: &str, options: &str| {
        ok(workspace.run(&format!("evaluate -m tables-0 --data {input} --parts 2 {options}"))).stdout
    };
    for options in ["", "--partition greedy", "--partition scattered.part.3"] {
        assert_eq!(predict("tables", options), predict("graph.jsonl", options), "{options}");
    }
    assert_eq!(evaluate("tables", ""), evaluate("graph.jsonl", ""));
    // What another program computed is checked on the whole graph, and random walks are computed on it.
    let walks = format!("{MODEL} --set model.node_pe=rwse --set model.rwse_steps=4 --parts 3 -q");
    ok(workspace.run(&format!("train --data tables --target target {walks} --run-dir walks")));
    ok(workspace.run(&format!("train --data graph.jsonl {walks} --run-dir walks-whole")));
    assert_eq!(weights(&workspace, "walks"), weights(&workspace, "walks-whole"));
    let predicted = ["tables", "graph.jsonl"].map(|input| {
        ok(workspace.run(&format!("predict -m walks --data {input} --parts 3 -o out.csv")));
        workspace.read("out.csv")
    });
    assert_eq!(predicted[0], predicted[1]);
}

#[test]
fn names_of_nodes_and_wrong_rows_are_those_of_the_tables() {
    let workspace = Workspace::new();
    write(&workspace, "graph.jsonl", &graph(&[60]));
    ok(workspace.run("data convert graph.jsonl tables --level node"));
    let named = |text: Vec<u8>, columns: std::ops::Range<usize>| -> String {
        let text = String::from_utf8(text).unwrap();
        let row = |(line, row): (usize, &str)| {
            let cells =
                row.split(',').enumerate().map(|(at, cell)| match line > 0 && columns.contains(&at) {
                    true => format!("n{cell}"),
                    false => cell.to_owned(),
                });
            cells.collect::<Vec<_>>().join(",") + "\n"
        };
        text.lines().enumerate().map(row).collect()
    };
    let (nodes, edges) = (workspace.read("tables/nodes.csv"), workspace.read("tables/edges.csv"));
    let (nodes, edges) = (named(nodes, 1..2), named(edges, 1..3));
    std::fs::write(workspace.path("tables/nodes.csv"), &nodes).unwrap();
    std::fs::write(workspace.path("tables/edges.csv"), &edges).unwrap();
    let train = format!("train --data tables --target target {MODEL} --set model.node_pe=lappe --parts 2 -q");
    ok(workspace.run(&format!("{train} --run-dir run")));
    ok(workspace.run("predict -m run --data tables --parts 3 -o out.csv"));
    let rows = predicted(&workspace, "out.csv");
    assert_eq!((rows.len(), rows[7].0.as_str()), (60, "0,n7"));
    let wrong = nodes.lines().enumerate().map(|(line, row)| match line {
        41 => row.replacen(',', ",x", 1) + ",1\n",
        _ => format!("{row}\n"),
    });
    std::fs::write(workspace.path("tables/nodes.csv"), wrong.collect::<String>()).unwrap();
    for command in [
        &format!("{train} --run-dir wrong"),
        "predict -m run --data tables --parts 3",
        "evaluate -m run --data tables --parts 3",
    ] {
        let run = workspace.run(command);
        assert!(run.code == 3 && run.stderr.contains("nodes.csv, line 42"), "{command}: {run:?}");
    }
}

#[test]
fn the_eigensolver_is_chosen_by_the_graph_and_named() {
    let workspace = Workspace::new();
    for (sizes, expected) in [
        (&[60][..], "eigenpairs (densely: the graph is small): computed"),
        (&[500, 400], "eigenpairs (by iteration, each rank on its parts): computed"),
    ] {
        write(&workspace, "graph.jsonl", &graph(sizes));
        let run = format!("train --data graph.jsonl {MODEL} --parts 2 --run-dir run-{}", sizes.len());
        let said = ok(workspace.run(&run)).stderr;
        assert!(said.contains(expected), "{said}");
        ok(workspace.run(&format!("predict -m run-{} --data graph.jsonl --parts 4 -o out.csv", sizes.len())));
    }
}

#[test]
fn what_cannot_be_predicted_in_parts_is_refused() {
    let workspace = Workspace::new();
    write(&workspace, "graph.jsonl", &graph(&[40]));
    ok(workspace.run(&format!("train --data graph.jsonl {MODEL} --run-dir run -q")));
    let other = MODEL.replace("encoder_hops=0", "encoder_hops=2");
    ok(workspace.run(&format!("train --data graph.jsonl {other} --run-dir hops -q")));
    let line = String::from_utf8(workspace.read("graph.jsonl")).unwrap();
    workspace.write("two.jsonl", line.repeat(2));
    workspace.write("short.part", "0\n1\n");
    for (command, expected) in [
        ("-m run --data two.jsonl --parts 2", "a single graph"),
        ("-m run --data graph.jsonl --parts 0", "--parts 0: expected at least 1"),
        ("-m run --data graph.jsonl --parts 500", "at most 181"),
        (
            "-m run --data graph.jsonl --parts 2 --partition short.part",
            "found 2 lines, expected a line for each of the 40",
        ),
        ("-m run --data graph.jsonl --parts 2 --shard 1/2", "in one way or the other"),
        ("-m run --data graph.jsonl --partition greedy", "--parts"),
        ("-m hops --data graph.jsonl --parts 2", "model.encoder_hops"),
    ] {
        for name in ["predict -o out.csv", "evaluate"] {
            let run = workspace.run(&format!("{name} {command}"));
            assert!(run.code != 0 && run.stderr.contains(expected), "{name} {command}: {run:?}");
        }
        assert!(!workspace.path("out.csv").exists(), "{command}");
    }
}

#[test]
fn a_graph_with_few_labels_can_be_trained_in_parts_without_a_word() {
    let workspace = Workspace::new();
    ok(workspace.run("data synth papers -o papers.jsonl"));
    let small =
        "--set model.hidden=8 --set model.layers=1 --set model.lap_dim=2 --set train.epochs=1 --no-cache";
    let run = ok(workspace.run(&format!("train --data papers.jsonl --parts 2 {small} --run-dir parts")));
    assert!(run.stderr.contains("not averaged over hops, which a graph in parts does not allow"), "{run:?}");
}

/// A `.npy` file of doubles, as NumPy writes it.
fn npy(shape: &str, numbers: impl IntoIterator<Item = f64>) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(numbers.into_iter().flat_map(f64::to_le_bytes));
    bytes
}

#[test]
fn eigenpairs_of_another_program_are_used_if_they_are_those_of_the_graph() {
    let workspace = Workspace::new();
    let (nodes, columns) = (50, 20);
    let graph = graph(&[nodes]);
    write(&workspace, "graph.jsonl", &graph);
    let found = lowest_eigenpairs(&graph, columns).unwrap();
    std::fs::create_dir(workspace.path("pairs")).unwrap();
    let store =
        |name: &str, bytes: Vec<u8>| std::fs::write(workspace.path("pairs").join(name), bytes).unwrap();
    let shape = format!("({nodes}, {columns})");
    let vectors = |entry: &dyn Fn(usize, usize) -> f64| {
        npy(
            &shape,
            (0..nodes)
                .flat_map(|node| (0..columns).map(move |column| (node, column)))
                .map(|(n, c)| entry(n, c)),
        )
    };
    let at = |node: usize, column: usize| found.vectors[node * columns + column];
    store("eigenvalues.npy", npy(&format!("({columns},)"), found.values.clone()));
    store("eigenvectors.npy", vectors(&at));
    // The same weights as with eigenpairs of this program, of a whole graph and of one in parts.
    for (name, options) in [("whole", ""), ("parts", "--parts 3")] {
        let train = format!("train --data graph.jsonl {MODEL} -q {options}");
        ok(workspace.run(&format!("{train} --run-dir {name}-own")));
        ok(workspace.run(&format!("{train} --run-dir {name}-given --set train.eigenpairs=pairs")));
        let hashes = ["own", "given"].map(|which| weights(&workspace, &format!("{name}-{which}")));
        assert_eq!(hashes[0], hashes[1], "{name}");
    }

    let refused = |options: &str| {
        let train =
            format!("train --data graph.jsonl {MODEL} -q --run-dir refused --set train.eigenpairs=pairs");
        let run = workspace.run(&format!("{train} {options}"));
        assert!(run.code != 0, "{run:?}");
        let _ = std::fs::remove_dir_all(workspace.path("refused"));
        run.stderr
    };
    let few = npy("(30, 20)", found.vectors[..600].iter().copied());
    for (file, bytes, expected) in [
        ("eigenvectors.npy", few, "the shape [30, 20]"),
        (
            "eigenvectors.npy",
            vectors(&|node, column| 2.0 * at(node, column)),
            "orthogonal columns of length 1",
        ),
        // Another program's order of the nodes.
        (
            "eigenvectors.npy",
            vectors(&|node, column| at(nodes - 1 - node, column)),
            "in the order of the data",
        ),
        ("eigenvectors.npy", b"text".to_vec(), "a .npy file of NumPy"),
        ("eigenvalues.npy", npy("(3,)", [0.0, 0.1, 0.2]), "the shape [3]"),
        ("eigenvalues.npy", npy("(20,)", found.values.iter().rev().copied()), "ascending"),
    ] {
        let right = workspace.read(&format!("pairs/{file}"));
        store(file, bytes);
        for options in ["", "--parts 2"] {
            let said = refused(options);
            assert!(said.contains(expected) && said.contains(file), "{expected}: {said}");
        }
        store(file, right);
    }
    // Eigenpairs of a graph with as many nodes that is another one.
    let other = lowest_eigenpairs(
        &Graph::from_edges(nodes, (1..nodes as u32).map(|node| [node - 1, node]).collect()).unwrap(),
        columns,
    )
    .unwrap();
    store("eigenvalues.npy", npy(&format!("({columns},)"), other.values.clone()));
    store("eigenvectors.npy", vectors(&|node, column| other.vectors[node * columns + column]));
    let said = refused("");
    assert!(said.contains("eigenvectors of L = Deg − A of this graph"), "{said}");
    std::fs::remove_file(workspace.path("pairs/eigenvalues.npy")).unwrap();
    let said = refused("");
    assert!(said.contains("eigenvalues.npy"), "{said}");
}
