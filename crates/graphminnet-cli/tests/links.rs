//! Edges and links from the command line: hide, train, predict, evaluate.

mod common;

use common::Workspace;

fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split(',').collect()).collect()
}

#[test]
fn links_are_hidden_trained_on_predicted_and_evaluated() {
    let workspace = Workspace::new();
    assert_eq!(workspace.run("data synth papers -o papers").code, 0);
    let run = workspace.run("data links papers -o links --seed 3");
    assert_eq!((run.code, run.stdout.as_str()), (0, "links\n"), "{run:?}");
    assert!(run.stderr.contains("pairs: ") && run.stderr.contains(" train, "), "{run:?}");
    let again = workspace.run("data links papers -o links");
    assert_eq!(again.code, 2, "{again:?}");
    assert!(again.stderr.contains("exists; --force replaces it"), "{again:?}");

    let run = workspace.run(
        "train --data links --run-dir run --json --set train.epochs=3 --set model.hidden=16 --set model.layers=1 --set model.pe_dim=4",
    );
    assert_eq!(run.code, 0, "{run:?}");
    let said = &run.stderr;
    assert!(said.contains("links: 1 graph, pairs: ") && said.contains("(as given in the data)"), "{said}");
    assert!(said.contains("every epoch draws as many pairs without one"), "{said}");
    assert!(
        said.contains("edges go both ways: the answer for two nodes does not depend on their order"),
        "{said}"
    );
    let summary = run.json();

    // Every pair of the data has its row; those of the test part are as training said.
    let run = workspace.run("predict --model run --data links");
    assert_eq!(run.code, 0, "{run:?}");
    let pairs = String::from_utf8(workspace.read("links/pairs.csv")).unwrap();
    let (pairs, predicted) = (rows(&pairs), rows(&run.stdout));
    assert_eq!(predicted[0], ["id", "source", "destination", "pred_link", "reason"]);
    assert_eq!(pairs.len(), predicted.len());
    let tested = String::from_utf8(workspace.read("run/seed-0/test_predictions.csv")).unwrap();
    let tested = rows(&tested);
    assert_eq!(tested[0], ["id", "source", "destination", "link", "pred_link"]);
    let test: Vec<_> = pairs.iter().zip(&predicted).filter(|(pair, _)| pair[4] == "test").collect();
    assert_eq!(test.len(), tested.len() - 1);
    for ((pair, said), tested) in test.into_iter().zip(&tested[1..]) {
        assert_eq!((&pair[1..4], said[3]), (&tested[1..4], tested[4]));
    }

    let run = workspace.run("evaluate --model run --data links --part test --replicates 0 --json");
    let found = run.json();
    let test = summary["seeds"][0]["best"]["test"].as_f64().unwrap();
    for value in [&found["metrics"][0]["value"], &found["links"]["roc_auc"]] {
        assert!((value.as_f64().unwrap() - test).abs() < 1e-9, "{found}");
    }
    assert!(found["links"]["mrr"].as_f64().unwrap() > 0.0, "{found}");
    let run = workspace.run("evaluate --model run --data links --part test --replicates 0 --candidates 50");
    assert!(run.stdout.contains("mrr") && run.stdout.contains("50 nodes without a link"), "{run:?}");
    // More than the graph has.
    let run = workspace.run("evaluate --model run --data links --part test --replicates 0 --candidates 5000");
    assert!(run.stdout.contains("all nodes without a link"), "{run:?}");
}

#[test]
fn any_pairs_can_be_asked_about_and_what_is_wrong_with_one_is_said_in_its_row() {
    let workspace = Workspace::new();
    let edges: Vec<String> = (0..30u32)
        .flat_map(|a| [1, 4].map(|step| (a, (a + step) % 30)))
        .flat_map(|(a, b)| [format!("{a},{b}"), format!("{b},{a}")])
        .collect();
    std::fs::create_dir(workspace.path("graph")).unwrap();
    workspace.write(
        "graph/nodes.csv",
        format!("node_id\n{}\n", (0..30).map(|node| node.to_string()).collect::<Vec<_>>().join("\n")),
    );
    workspace.write("graph/edges.csv", format!("source,destination\n{}\n", edges.join("\n")));
    assert_eq!(workspace.run("data links graph -o links.jsonl").code, 0);
    let train = "train --data links.jsonl --run-dir run --quiet --set train.epochs=2 --set model.hidden=8 --set model.layers=1 --set model.pe_dim=4";
    let run = workspace.run(train);
    assert_eq!(run.code, 0, "{run:?}");

    workspace.write("ask.csv", "source,target,why\n0,2,new\n2,0,reverse\n0,2,again\n7,7,loop\n0,30,missing\n0,x,text\n-1,2,negative\n");
    let run = workspace.run("predict --model run --data links.jsonl --pairs ask.csv");
    assert_eq!(run.code, 0, "{run:?}");
    let found = rows(&run.stdout);
    assert_eq!(found.len(), 8, "{run:?}");
    assert_eq!(found[1][3], found[2][3], "the order of the ends does not matter");
    assert_eq!(found[1][3], found[3][3]);
    assert!(found[4][3].parse::<f64>().is_ok(), "a loop has an answer as any pair has");
    assert!(found[5][4].contains("node 30 does not exist: the graph has 30"), "{run:?}");
    assert!(run.stdout.contains("not the number of a node"), "{run:?}");
    assert!(run.stderr.contains("7 rows, 3 of them without a prediction"), "{run:?}");
    workspace.write("elsewhere.csv", "graph_id,source,target\nother,0,2\nother,x,2\n");
    let run = workspace.run("predict --model run --data links.jsonl --pairs elsewhere.csv");
    assert_eq!(
        run.stdout.matches("no graph is called `other`").count(),
        2,
        "the graph is missing, not its nodes: {run:?}"
    );

    let run = workspace.run("predict --model run --data links.jsonl --top 4");
    let found = rows(&run.stdout);
    assert_eq!((run.code, found.len()), (0, 5), "{run:?}");
    let scores: Vec<f64> = found[1..].iter().map(|row| row[3].parse().unwrap()).collect();
    assert!(scores.windows(2).all(|pair| pair[0] >= pair[1]), "{run:?}");

    // Nodes with names are asked about, and answered for, by these; here node 0 is called 29, node 1 is called 28, …
    std::fs::create_dir(workspace.path("named")).unwrap();
    let name = |node: &str| (29 - node.parse::<u32>().unwrap()).to_string();
    let named = |pair: &String| pair.split(',').map(name).collect::<Vec<_>>().join(",");
    let turned: Vec<String> = edges.iter().map(named).collect();
    let nodes: Vec<String> = (0..30).map(|node| (29 - node).to_string()).collect();
    workspace.write("named/nodes.csv", format!("node_id\n{}\n", nodes.join("\n")));
    workspace.write("named/edges.csv", format!("source,destination\n{}\n", turned.join("\n")));
    workspace.write("by-number.csv", "source,destination\n0,2\n5,16\n");
    workspace.write("by-name.csv", "source,destination\n29,27\n24,13\n29,30\n");
    let numbered = workspace.run("predict --model run --data graph --pairs by-number.csv");
    let (numbered, named) =
        (rows(&numbered.stdout), workspace.run("predict --model run --data named --pairs by-name.csv"));
    let found = rows(&named.stdout);
    assert_eq!((found[1][3], found[2][3]), (numbered[1][3], numbered[2][3]), "{named:?}");
    assert_eq!(found[1][1..3], ["29", "27"]);
    assert!(named.stdout.contains("`30`: not the node_id of a node of the graph"), "{named:?}");
    let (top, named) = (
        workspace.run("predict --model run --data graph --top 1"),
        workspace.run("predict --model run --data named --top 1"),
    );
    let (top, named) = (rows(&top.stdout), rows(&named.stdout));
    assert_eq!(named[1][1..3], [name(top[1][1]), name(top[1][2])]);
    assert_eq!(named[1][3], top[1][3]);

    // Data that asks about no pairs, and a name that promises what is not written.
    let run = workspace.run("predict --model run --data graph -o out.csv");
    assert!(run.code == 2 && run.stderr.contains("the data asks about none: --pairs FILE"), "{run:?}");
    assert!(run.stderr.contains("--top COUNT") && !workspace.path("out.csv").exists(), "{run:?}");
    let run = workspace.run("predict --model run --data links.jsonl");
    let count = run.stdout.lines().count() - 1;
    assert!(run.stderr.contains(&format!("1 graph, {count} rows written; ")), "{run:?}");
    let run = workspace.run("predict --model run --data graph --top 4 -o out.parquet");
    assert!(run.code == 2 && run.stderr.contains("not as .parquet"), "{run:?}");

    workspace.write("none.csv", "first,second\n0,1\n");
    let run = workspace.run("predict --model run --data links.jsonl --pairs none.csv");
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("a column called source or src_id or src"), "{run:?}");
    let run = workspace.run("explain --model run --data links.jsonl -o why");
    assert_ne!(run.code, 0);
    assert!(format!("{}{}", run.stdout, run.stderr).contains("the model answers per pair"), "{run:?}");
}

#[test]
fn targets_of_edges_are_read_trained_on_and_predicted_once_for_an_edge_read_both_ways() {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("roads")).unwrap();
    let nodes: Vec<String> =
        (0..40).map(|node| format!("{node},{}", f64::from(node * 7 % 40) / 10.0)).collect();
    let edges: Vec<String> = (0..40)
        .flat_map(|a| [1, 3, 9].map(|step| (a, (a + step) % 40)))
        .map(|(a, b)| {
            format!(
                "{a},{b},{},{}",
                f64::from(a * b % 11) / 4.0,
                f64::from(a * 7 % 40 + b * 7 % 40) / 10.0 + 0.01
            )
        })
        .collect();
    workspace.write("roads/nodes.csv", format!("node_id,height\n{}\n", nodes.join("\n")));
    workspace.write("roads/edges.csv", format!("source,destination,length,target\n{}\n", edges.join("\n")));
    let short = "--set train.epochs=3 --set model.hidden=16 --set model.layers=1 --set model.pe_dim=4";
    let run = workspace.run(&format!("train --data roads --edges both-ways --run-dir run {short}"));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stderr.contains("regression per edge")
            && run.stderr.contains("edges: 96 to train, 12 to validate, 12 to test"),
        "{run:?}"
    );
    let run = workspace.run("predict --model run --data roads");
    let found = rows(&run.stdout);
    assert_eq!(found[0], ["id", "source", "destination", "pred_target", "reason"]);
    assert_eq!(found.len(), 1 + edges.len(), "a row for every edge as it is written");
    for (found, edge) in found[1..].iter().zip(&edges) {
        assert_eq!(found[1..3], edge.split(',').take(2).collect::<Vec<_>>());
    }
    let run = workspace.run("evaluate --model run --data roads --replicates 0");
    assert!(run.stdout.contains("120 labels"), "{run:?}");
    // As given, one way is not the other.
    let run = workspace.run(&format!("train --data roads --level edge --run-dir one {short}"));
    assert!(
        run.stderr.contains("edges go one way: the answer for two nodes depends on their order"),
        "{run:?}"
    );
    let run = workspace.run("predict --model one --data roads --top 3");
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("the model answers per edge, not for pairs of nodes"), "{run:?}");
}

#[test]
fn what_cannot_be_hidden_is_refused_and_says_why() {
    let workspace = Workspace::new();
    workspace.write("empty.jsonl", "{\"num_nodes\":5,\"edges\":[]}\n");
    let run = workspace.run("data links empty.jsonl -o out.jsonl");
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("0 links between different nodes, too few to hide"), "{run:?}");
    let all: Vec<String> =
        (0..8).flat_map(|a| (0..8).filter(move |b| *b != a).map(move |b| format!("[{a},{b}]"))).collect();
    workspace.write("full.jsonl", format!("{{\"num_nodes\":8,\"edges\":[{}]}}\n", all.join(",")));
    let run = workspace.run("data links full.jsonl -o out.jsonl");
    assert!(run.code == 3 && run.stderr.contains("too few pairs without a link"), "{run:?}");
    let run = workspace.run("data links full.jsonl -o out.jsonl --valid 0.9 --test 0.2");
    assert!(run.stderr.contains("less than 1 in total"), "{run:?}");
    assert!(!workspace.path("out.jsonl").exists());
}
