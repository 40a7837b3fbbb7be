//! A model behind HTTP: what it answers, what it refuses, and that it goes on answering.
#![cfg(all(unix, feature = "serve"))]

#[path = "../../graphminnet-report/tests/common/browser.rs"]
mod browser;

use graphminnet::Bundle;
use graphminnet_data::{Featurizer, Limits, molecule_graph};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// A server on a port of its own; stopped when dropped.
struct Server {
    process: Child,
    address: String,
    folder: tempfile::TempDir,
}

/// A folder with a run of some seeds over molecules.
fn trained(seeds: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (1..40).map(|length| format!("{},{length}.5", "C".repeat(length))).collect();
    std::fs::write(folder.path().join("m.csv"), format!("smiles,size\n{}\n", rows.join("\n"))).unwrap();
    let mut train = Command::new(env!("CARGO_BIN_EXE_graphminnet"));
    train.current_dir(&folder).args(["train", "-q", "--no-cache", "--data", "m.csv", "--run-dir", "run"]);
    train.args(["--seeds", seeds, "--set", "train.epochs=1"]);
    train.args(["--set", "model.hidden=32", "--set", "model.layers=1"]);
    assert!(train.output().unwrap().status.success());
    folder
}

impl Server {
    /// Trains a tiny model on molecules and serves it.
    fn start(arguments: &[&str]) -> Self {
        Self::serve(trained("0"), &[&["--model", "run"], arguments].concat())
    }

    /// Serves what a folder holds.
    fn serve(folder: tempfile::TempDir, arguments: &[&str]) -> Self {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_graphminnet"));
        serve.current_dir(&folder).args(["serve", "--port", "0"]).args(arguments);
        let mut process = serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap().to_owned();
        Self { process, address, folder }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes as they are; the status and the body of the answer.
    fn raw(&self, bytes: &[u8]) -> (u16, String) {
        let mut stream = self.connect();
        // A server that has refused already may close while we still send.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.raw(format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes())
    }

    fn post(&self, path: &str, body: &str) -> (u16, String) {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.raw(&[head.as_bytes(), body.as_bytes()].concat())
    }

    fn predict(&self, body: &Value) -> (u16, Value) {
        let (status, body) = self.post("/predict", &body.to_string());
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

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
    }
    let (status, _) = server.post("/predict", &" ".repeat(2 << 20));
    assert_eq!(status, 413);
    let huge =
        "POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\n";
    assert_eq!(server.raw(huge.as_bytes()).0, 413);
    assert_eq!(server.raw(b"\x16\x03\x01 not HTTP at all\r\n\r\n").0, 400);
    assert_eq!((server.get("/nothing").0, server.get("/predict").0), (404, 405));
    // Half a request is given up after the time-out, and holds nobody up.
    let half = "POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{";
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
    let server = Server::serve(folder, &["--model", "run"]);
    let (status, answer) = server.predict(&json!({ "smiles": ["CCO", "C1CC"] }));
    assert_eq!(status, 200, "{answer}");
    let list = answer["predictions"].as_array().unwrap();
    assert!(list[0]["error"].as_str().unwrap().contains("not a finite number"), "{answer}");
    assert!(list[1]["error"].as_str().unwrap().contains("ring"), "{answer}");
    assert!(!answer.to_string().contains("null"), "{answer}");
}

#[test]
fn the_seeds_of_a_run_are_served_as_an_ensemble() {
    let server = Server::serve(trained("0,1"), &["--model", "run"]);
    let alone: Vec<f64> = [0, 1]
        .map(|seed| {
            let bundle =
                Bundle::load(&server.folder.path().join(format!("run/seed-{seed}/best.gmn"))).unwrap();
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
    let (_, model) = server.get("/model");
    assert!(model.contains("\"models\":2"), "{model}");
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

/// The page in a real browser: it asks, shows the prediction and the picture, and says nothing in the console.
#[test]
#[ignore = "needs Chromium"]
fn the_page_predicts_and_draws_in_a_browser() {
    let browser = browser::browser();
    let server = Server::start(&[]);
    let profile = tempfile::tempdir().unwrap();
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]);
    command.args([
        "--disable-background-networking",
        "--disable-component-update",
        "--enable-logging=stderr",
    ]);
    command.args(["--virtual-time-budget=20000", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", profile.path().display()));
    let output = command.arg(format!("http://{}/?q=CCO", server.address)).output().unwrap();
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(page.contains("<h2>CCO</h2>") && page.contains("<th>size</th>"), "{page}\n{log}");
    assert!(page.contains("<svg"), "{page}");
    assert!(!log.contains("CONSOLE"), "{log}");
}
