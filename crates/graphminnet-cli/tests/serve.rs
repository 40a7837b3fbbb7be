//! A model behind HTTP: what it answers, what it refuses, and that it goes on answering.
#![cfg(all(unix, feature = "serve"))]

#[path = "../../graphminnet-report/tests/common/browser.rs"]
mod browser;
mod common;

use common::Workspace;
use common::server::{Server, get, reply, trained, trained_on, trained_with};
use graphminnet::Bundle;
use graphminnet_data::{Featurizer, Limits, molecule_graph};
use serde_json::{Value, json};
use std::process::Command;
use std::sync::Arc;

#[test]
fn molecules_and_graphs_get_predictions_and_bad_ones_a_reason_in_their_place() {
    let server = Server::start(&[]);
    let (status, answer) = server.predict(&json!({ "smiles": ["CCO", "C1CC", "c1ccccc1"] }));
    assert_eq!(status, 200, "{answer}");
    let list = answer["predictions"].as_array().unwrap();
    assert_eq!(list.len(), 3);
    assert!(list[0]["values"]["size"].is_number() && list[0]["id"] == "CCO", "{answer}");
    assert!(list[1]["error"].as_str().unwrap().contains("ring"), "{answer}");
    assert!(list[2]["values"]["size"].is_number(), "{answer}");
    // The same molecule as a graph says the same.
    let atom = |number: u64, degree: u64, hydrogens: u64, hybridization: u64| {
        json!([number, 0, degree, 5, hydrogens, 0, hybridization, 0, 0])
    };
    let ethanol = json!({ "id": "ethanol", "num_nodes": 3, "edges": [[0, 1], [1, 0], [1, 2], [2, 1]],
        "node_features": [atom(5, 4, 3, 2), atom(5, 4, 2, 2), atom(7, 2, 1, 2)],
        "edge_features": [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]] });
    let (status, graph) = server.predict(&json!({ "graphs": [ethanol] }));
    assert_eq!(status, 200, "{graph}");
    assert_eq!(graph["predictions"][0]["values"], list[0]["values"], "{graph}");
    let (status, why) = server.post("/explain", &json!({ "smiles": ["CCO"] }).to_string());
    let why: Value = serde_json::from_str(&why).unwrap();
    let why = &why["explanations"][0];
    assert_eq!((status, why["nodes"].as_array().unwrap().len()), (200, 3), "{why}");
    assert!(why["svg"].as_str().unwrap().starts_with("<svg") && why["gap"].as_f64().unwrap() < 0.05, "{why}");
    let (status, model) = server.get("/model");
    assert_eq!((status, model.contains("\"takes_smiles\":true")), (200, true), "{model}");
    // Its only epoch is the first.
    let model: Value = serde_json::from_str(&model).unwrap();
    assert_eq!((&model["selection"]["epoch"], &model["why_no_smiles"]), (&json!(1), &Value::Null), "{model}");
}

#[test]
fn a_model_that_needs_more_than_a_molecule_says_so() {
    let rows: Vec<String> =
        (1..40).map(|length| format!("{},O,{length}.25,{length}.5", "C".repeat(length))).collect();
    let table = format!("smiles,solvent,mw,size\n{}\n", rows.join("\n"));
    let small = [
        "--target",
        "size",
        "--set",
        "train.epochs=1",
        "--set",
        "model.hidden=32",
        "--set",
        "model.layers=1",
    ];
    for (options, missing) in [
        (
            ["--smiles-column", "smiles,solvent"],
            "the molecules of several columns together (smiles, solvent)",
        ),
        (["--descriptors", "mw"], "descriptors beside the molecule (mw)"),
    ] {
        let server = Server::serve(trained_with("m.csv", &table, &[&options[..], &small[..]].concat()), &[]);
        let model: Value = serde_json::from_str(&server.get("/model").1).unwrap();
        assert_eq!(model["takes_smiles"], json!(false), "{model}");
        assert!(model["why_no_smiles"].as_str().unwrap().contains(missing), "{model}");
        let (status, answer) = server.predict(&json!({ "smiles": ["CCO"] }));
        assert_eq!((status, &answer["error"]), (422, &model["why_no_smiles"]), "{answer}");
    }
}

#[test]
fn hostile_requests_are_refused_and_the_server_goes_on() {
    let server =
        Server::start(&["--max-body", "1", "--max-graphs", "100", "--max-nodes", "5000", "--timeout", "3"]);
    let deep = format!("{{\"graphs\": {}1{}}}", "[".repeat(200_000), "]".repeat(200_000));
    let many = json!({ "smiles": vec!["C"; 101] }).to_string();
    let claimed = json!({ "graphs": [{ "num_nodes": 1_000_000, "edges": [] }] }).to_string();
    let long = json!({ "smiles": ["C".repeat(5_001)] }).to_string();
    for (what, body, expected) in [
        ("nothing", "", 400),
        ("no JSON", "\u{1}\u{2}", 400),
        ("another type", "[1, 2]", 400),
        ("a number for a list", "{\"smiles\": 3}", 400),
        ("an unknown key", "{\"smile\": []}", 400),
        ("no graphs", "{}", 400),
        ("too deep", &deep, 400),
        ("too many", &many, 413),
    ] {
        let (status, answer) = server.post("/predict", body);
        assert_eq!(status, expected, "{what}: {answer}");
        assert!(answer.contains("\"error\""), "{what}: {answer}");
    }
    // One graph that is too much has its reason in its place.
    for (what, body) in [("claimed nodes", &claimed), ("a long molecule", &long)] {
        let (status, answer) = server.post("/predict", body);
        assert!(answer.contains("\"error\"") && (200..500).contains(&status), "{what}: {status} {answer}");
        assert!(!answer.contains("values"), "{what}: {answer}");
        // Only options that the server has are named.
        assert!(!answer.contains("--read-limit") && !answer.contains("--memory"), "{what}: {answer}");
        assert!(what != "claimed nodes" || answer.contains("--max-nodes"), "{what}: {answer}");
    }
    let (status, _) = server.post("/predict", &" ".repeat(2 << 20));
    assert_eq!(status, 413);
    let huge = "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\n";
    assert_eq!(server.raw(huge.as_bytes()).0, 413);
    assert_eq!(server.raw(b"\x16\x03\x01 not HTTP at all\r\n\r\n").0, 400);
    assert_eq!((server.get("/nothing").0, server.get("/predict").0), (404, 405));
    // Half a request is given up after the time-out, and holds nobody up.
    let half =
        "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{";
    assert_eq!(server.raw(half.as_bytes()).0, 408);
    let (status, answer) = server.predict(&json!({ "smiles": ["CCO"] }));
    assert_eq!(status, 200, "{answer}");
    let (_, metrics) = server.get("/metrics");
    assert!(metrics.contains("graphminnet_graphs_total 1"), "{metrics}");
}

/// The same model with so wide a scale that every prediction leaves the range of 32-bit numbers.
fn beyond_numbers(folder: &tempfile::TempDir) {
    let path = folder.path().join("run/seed-0/best.gmn");
    let bundle = Bundle::load(&path).unwrap();
    let mut about = bundle.description().clone();
    let scaler = about.target_scaler.as_mut().unwrap();
    scaler.deviation = vec![1e300; scaler.deviation.len()];
    let weights = graphminnet::weights::to_bytes(bundle.model()).unwrap();
    std::fs::write(path, Bundle::pack(&about, &weights).unwrap()).unwrap();
}

#[test]
fn an_output_that_is_no_finite_number_is_a_reason_and_never_null() {
    let folder = trained("0");
    beyond_numbers(&folder);
    let server = Server::serve(folder, &[]);
    let (status, answer) = server.predict(&json!({ "smiles": ["CCO", "C1CC"] }));
    assert_eq!(status, 200, "{answer}");
    let list = answer["predictions"].as_array().unwrap();
    assert!(list[0]["error"].as_str().unwrap().contains("not a finite number"), "{answer}");
    assert!(list[1]["error"].as_str().unwrap().contains("ring"), "{answer}");
    assert!(!answer.to_string().contains("null"), "{answer}");
}

#[test]
fn the_seeds_of_a_run_are_served_as_an_ensemble() {
    let server = Server::serve(trained("0,1"), &[]);
    let alone: Vec<f64> = [0, 1]
        .map(|seed| {
            let bundle = Bundle::load(&server.file(&format!("run/seed-{seed}/best.gmn"))).unwrap();
            let ethanol = molecule_graph("CCO", Featurizer::Ogb, &Limits::default()).unwrap();
            bundle.predict(&[Arc::new(ethanol)]).graph(0).unwrap().values()
        })
        .concat();
    let (status, answer) = server.predict(&json!({ "smiles": ["CCO"] }));
    assert_eq!(status, 200, "{answer}");
    let said = &answer["predictions"][0];
    assert_eq!(said["values"]["size"].as_f64().unwrap(), (alone[0] + alone[1]) / 2.0, "{answer}");
    let apart = said["deviations"]["size"].as_f64().unwrap();
    assert!((apart - (alone[0] - alone[1]).abs() / 2.0).abs() < 1e-9, "{answer}");
    // The explanation is of the mean, too.
    let (status, why) = server.post("/explain", &json!({ "smiles": ["CCO"] }).to_string());
    let why: Value = serde_json::from_str(&why).unwrap();
    let why = &why["explanations"][0];
    let difference = why["prediction"].as_f64().unwrap() - said["values"]["size"].as_f64().unwrap();
    assert!(status == 200 && difference.abs() < 1e-4, "{why}");
    assert!(why["gap"].as_f64().unwrap() < 0.05, "{why}");
    assert_eq!(why["ends"], json!([[0, 1], [1, 0], [1, 2], [2, 1]]), "{why}");
    assert_eq!(why["edges"].as_array().unwrap().len(), 4, "{why}");
    // A target has a name.
    let ask = |path: &str, target: &str| {
        server.post(path, &json!({ "smiles": ["CCO"], "target": target }).to_string())
    };
    assert_eq!(ask("/explain", "size").0, 200);
    let (status, refused) = ask("/explain", "weight");
    assert!(status == 400 && refused.contains("neither a number nor one of size"), "{refused}");
    assert_eq!(ask("/predict", "size").0, 400);
    let (_, model) = server.get("/model");
    assert!(model.contains("\"models\":2"), "{model}");
}

#[test]
fn calibrated_models_are_served_with_the_intervals_and_sets_of_predict() {
    let rows = |target: &dyn Fn(usize) -> String| -> String {
        (1..200)
            .map(|at| format!("{}{}\n", ["C", "N", "O"][at % 3].repeat(at % 60 + 1), target(at)))
            .collect()
    };
    let arguments = |target| {
        let sizes = ["--set", "train.epochs=1", "--set", "model.hidden=16", "--set", "model.layers=1"];
        ["--target", target, "--calibrate"].into_iter().chain(sizes).collect::<Vec<_>>()
    };
    let served_and_predicted = |folder: tempfile::TempDir| {
        let server = Server::serve(folder, &[]);
        let (status, answer) = server.predict(&json!({ "smiles": ["CCO"] }));
        assert_eq!(status, 200, "{answer}");
        let (_, model) = server.get("/model");
        assert!(model.contains("\"interval_level\":0.9"), "{model}");
        let mut predict = Command::new(env!("CARGO_BIN_EXE_graphminnet"));
        predict.current_dir(&server.folder).args(["predict", "--model", "run", "--smiles", "CCO", "-o", "-"]);
        let printed = String::from_utf8(predict.output().unwrap().stdout).unwrap();
        let mut lines = printed.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let (names, cells) = (lines.next().unwrap(), lines.next().unwrap());
        let cell = move |name: &str| {
            let at = names.iter().position(|column| column == name);
            cells[at.unwrap_or_else(|| panic!("{name}: {names:?}"))].clone()
        };
        (answer["predictions"][0].clone(), cell)
    };
    let numbers = format!("smiles,size\n{}", rows(&|at| format!(",{}.5", at % 60)));
    let (said, cell) = served_and_predicted(trained_with("m.csv", &numbers, &arguments("size")));
    for (end, name) in ["low_size", "high_size"].into_iter().enumerate() {
        let served = said["intervals"]["size"][end].as_f64().unwrap();
        assert_eq!((served as f32).to_string(), cell(name), "{said}");
    }
    let classes = format!("smiles,hit\n{}", rows(&|at| [",active", ",inactive"][at % 60 / 30].to_owned()));
    let (said, cell) = served_and_predicted(trained_with("c.csv", &classes, &arguments("hit")));
    let names: Vec<&str> =
        said["sets"]["hit"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(names.join("|"), cell("set_hit"), "{said}");
    // Of a rare target too few labels are set aside.
    let rare = rows(&|at| format!(",{}.5,{}", at % 60, if at % 20 == 7 { "1" } else { "" }));
    let server = Server::serve(
        trained_with("r.csv", &format!("smiles,size,rare\n{rare}"), &arguments("size,rare")),
        &[],
    );
    let model: Value = serde_json::from_str(&server.get("/model").1).unwrap();
    let warnings = model["warnings"].as_array().unwrap();
    assert!(
        warnings.iter().any(|warning| warning.as_str().unwrap().contains("too few to calibrate")),
        "{model}"
    );
    assert_eq!(said["calibrated"]["active"].as_f64().unwrap().to_string(), cell("cal_active"), "{said}");
    // A model that was not calibrated promises nothing.
    let (_, answer) = Server::start(&[]).predict(&json!({ "smiles": ["CCO"] }));
    assert_eq!(answer["predictions"][0]["intervals"], Value::Null, "{answer}");
}

#[test]
fn the_description_and_the_page_are_whole() {
    let server = Server::start(&[]);
    let (status, text) = server.get("/openapi.json");
    let api: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(status, 200);
    for path in api["paths"].as_object().unwrap().keys() {
        // Everything that is described is there.
        assert!([200, 405].contains(&server.get(path).0), "{path}");
    }
    let (status, page) = server.get("/");
    assert!(status == 200 && page.contains("</script>"));
    assert!(!page.contains("https://") && !page.contains("http://"), "nothing is loaded from elsewhere");
    assert_eq!(server.get("/health"), (200, "{\"status\":\"ok\"}".to_owned()));
}

#[test]
fn an_interrupt_lets_requests_finish_and_ends_the_server() {
    let mut server = Server::start(&[]);
    let pid = server.process.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert!(server.process.wait().unwrap().success());
}

#[test]
fn a_short_request_cannot_ask_for_the_work_of_hundreds_of_thousands_of_nodes() {
    let line = |size: usize| {
        let edges: Vec<[usize; 2]> = (1..size).map(|node| [node, node / 2]).collect();
        json!({ "num_nodes": size, "edges": edges, "target": size as f64 + 0.5 }).to_string()
    };
    let data: Vec<String> = (4..30).map(line).collect();
    let small = ["train.epochs=1", "model.hidden=32", "model.layers=1", "model.lap_dim=4"];
    let server = Server::serve(trained_on("g.jsonl", &(data.join("\n") + "\n"), "0", &small), &[]);
    let graph = |nodes: usize| json!({ "num_nodes": nodes, "edges": [[0, 1], [1, 0]] });
    let (status, answer) = server.predict(&json!({ "graphs": [graph(200_000), graph(1_002), graph(1_003)] }));
    assert_eq!(status, 200, "{answer}");
    let list = answer["predictions"].as_array().unwrap();
    for (place, bare) in [(0, "199998"), (2, "1001")] {
        let error = list[place]["error"].as_str().unwrap();
        assert!(error.starts_with(&format!("{bare} nodes have neither edges nor features")), "{answer}");
    }
    assert!(list[1]["values"].is_object(), "{answer}");
}

#[test]
fn other_machines_are_let_in_with_a_token_or_an_explicit_word() {
    let workspace = Workspace::new();
    workspace.write("short", "secret\n");
    workspace.write("blank", "0123456789 abcdef");
    for (arguments, expected) in [
        ("--host 0.0.0.0", "--token-file"),
        ("--host ::", "--public"),
        ("--host 0.0.0.0 --public --token-file short", "cannot be used with"),
        ("--token-file short", "16 to 1024"),
        ("--token-file blank", "16 to 1024"),
    ] {
        let run = workspace.run(&format!("serve --model none.gmn --port 0 {arguments}"));
        assert!(run.code == 2 && run.stderr.contains(expected), "{arguments}: {run:?}");
    }
    let run = workspace.run("serve --model none.gmn --port 0 --token-file nowhere");
    assert!(run.code == 4 && run.stderr.contains("token file nowhere"), "{run:?}");
}

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A server that wants a token, on an address that others can reach.
fn with_token() -> Server {
    let folder = trained("0");
    std::fs::write(folder.path().join("token"), format!("{TOKEN}\n")).unwrap();
    Server::serve(folder, &["--token-file", "token"])
}

#[test]
fn whoever_has_no_token_learns_nothing_but_that_the_server_lives() {
    let server = with_token();
    for path in ["/", "/health", "/openapi.json"] {
        assert_eq!(server.get(path).0, 200, "{path}");
    }
    let asked = |path: &str, head: &str| reply(server.send(&get(path, head)));
    for path in ["/model", "/metrics", "/predict", "/nothing"] {
        for head in ["", "Authorization: Bearer 0123456789abcdef\r\n", "Authorization: Basic YTpi\r\n"] {
            let refused = asked(path, head);
            assert_eq!(refused.status, 401, "{path} {head}: {refused:?}");
            assert!(refused.head.to_lowercase().contains("www-authenticate: bearer"), "{refused:?}");
            assert!(!refused.body.contains("size"), "{refused:?}");
        }
    }
    let right = format!("Authorization: Bearer {TOKEN}\r\n");
    assert_eq!((asked("/model", &right).status, asked("/nothing", &right).status), (200, 404));
    assert_eq!(server.predict(&json!({ "smiles": ["CCO"] })).0, 401);
}

#[test]
fn without_a_token_a_site_that_names_itself_after_this_machine_learns_nothing() {
    let server = Server::start(&[]);
    let asked = |path: &str, host: &str| {
        server.raw(format!("GET {path} HTTP/1.1\r\n{host}Connection: close\r\n\r\n").as_bytes())
    };
    let port = server.address.rsplit_once(':').unwrap().1;
    for path in ["/", "/model", "/metrics", "/health"] {
        let (status, body) = asked(path, &format!("Host: site.example:{port}\r\n"));
        assert_eq!(status, 403, "{path}: {body}");
        assert!(body.contains("--token-file") && body.contains("--public"), "{body}");
        for host in [String::new(), format!("Host: LOCALHOST:{port}\r\n"), "Host: [::1]\r\n".to_owned()] {
            assert_eq!(asked(path, &host).0, 200, "{path} {host}");
        }
    }
    assert_eq!(server.raw(b"GET /health HTTP/1.0\r\n\r\n").0, 200);
    // Behind a proxy that passes the name of the site on, everybody whom it lets through may ask.
    let behind_proxy = Server::start(&["--public"]);
    assert_eq!(
        behind_proxy.raw(b"GET /model HTTP/1.1\r\nHost: site.example\r\nConnection: close\r\n\r\n").0,
        200
    );
    // A token keeps such a page out whatever the name.
    let server = with_token();
    let head = format!("Host: site.example\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n");
    assert_eq!(server.raw(format!("GET /model HTTP/1.1\r\n{head}").as_bytes()).0, 200);
}

/// The page in a real browser: what it shows, and what it says in the console.
fn page(address: &str, path: &str) -> (String, String) {
    let profile = tempfile::tempdir().unwrap();
    let mut command = Command::new(browser::browser());
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]);
    command.args(["--disable-background-networking", "--disable-component-update"]);
    command.args(["--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", profile.path().display()));
    let output = command.arg(format!("http://{address}{path}")).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// It asks, shows the prediction and the picture, and says nothing in the console.
#[test]
#[ignore = "needs Chromium"]
fn the_page_predicts_and_draws_in_a_browser() {
    let (open, closed) = (Server::start(&[]), with_token());
    for (server, path) in [(&open, "/?q=CCO".to_owned()), (&closed, format!("/?q=CCO#token={TOKEN}"))] {
        let (page, log) = page(&server.address, &path);
        assert!(page.contains("<h2>CCO</h2>") && page.contains("<th>size</th>"), "{page}\n{log}");
        assert!(page.contains("<svg"), "{page}");
        assert!(!log.contains("CONSOLE"), "{log}");
        assert!(page.contains("id=\"access\" hidden"), "no token is asked for: {page}");
    }
    let (page, _) = page(&closed.address, "/?q=CCO");
    assert!(page.contains("<form id=\"access\">"), "the token is asked for: {page}");
    assert!(!page.contains("<h2>CCO</h2>"), "{page}");
}
