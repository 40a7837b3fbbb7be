//! How a server holds under load: what it answers per second, and that its memory stays where it is.
//!
//! For a quiet machine, with the program that is shipped:
//!
//! ```text
//! cargo test --release -p graphminnet-cli --test load -- --ignored --nocapture soak
//! cargo test --release -p graphminnet-cli --test load -- --ignored --nocapture load
//! ```
#![cfg(all(target_os = "linux", feature = "serve"))]

mod common;

use common::server::{Server, get, post, reply, trained_on};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A server with a model of the default shape: 4 layers of width 64.
fn server(threads: &str) -> Server {
    let rows: Vec<String> = (1..40).map(|length| format!("{},{length}.5", "C".repeat(length))).collect();
    let data = format!("smiles,size\n{}\n", rows.join("\n"));
    Server::serve(trained_on("m.csv", &data, "0", &["train.epochs=1"]), &["--threads", threads])
}

/// Resident memory in mebibytes.
fn resident(server: &Server) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix("kB").unwrap().trim().parse::<f64>().unwrap() / 1024.0
}

/// Sends a request on a connection that stays open, and reads the answer.
fn ask(stream: &mut BufReader<TcpStream>, body: &Value) {
    let body = body.to_string();
    let request =
        format!("POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.get_mut().write_all(request.as_bytes()).unwrap();
    let (mut line, mut length) = (String::new(), 0);
    stream.read_line(&mut line).unwrap();
    assert!(line.contains(" 200 "), "{line}");
    while line != "\r\n" {
        line.clear();
        stream.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    stream.read_exact(&mut vec![0; length]).unwrap();
}

/// Prints the resident memory of a server as it answers 100,000 requests (or `SOAK_ANSWERS` of them).
#[test]
#[ignore = "takes minutes"]
fn soak() {
    let answers: usize =
        std::env::var("SOAK_ANSWERS").map_or(100_000, |text| text.parse().expect("a number of answers"));
    let server = server("2");
    let molecules =
        ["CCO", "c1ccccc1", "CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", &"C".repeat(60)];
    let mut streams: Vec<_> = (0..4).map(|_| BufReader::new(server.connect())).collect();
    let mut first = None;
    for answer in 1..=answers {
        // Mostly single molecules, sometimes a batch.
        let body = match answer % 50 {
            0 => json!({ "smiles": molecules.repeat(20) }),
            _ => json!({ "smiles": [molecules[answer % molecules.len()]] }),
        };
        let stream = answer % streams.len();
        ask(&mut streams[stream], &body);
        if answer == 300 {
            first = Some(resident(&server));
        }
        if answer == 300 || answer % (answers / 10).max(1) == 0 {
            println!("{answer:>7} answers: {:.1} MiB", resident(&server));
        }
    }
    let growth = resident(&server) - first.expect("more than 300 answers");
    println!("growth from the 300th to the {answers}th answer: {growth:.1} MiB");
    assert!(growth < 30.0, "{growth:.1} MiB");
}

/// The time that a part of all was not longer than.
fn quantile(times: &mut [Duration], part: f64) -> String {
    times.sort();
    let at = ((times.len() as f64 * part) as usize).min(times.len().saturating_sub(1));
    times.get(at).map_or_else(|| "–".to_owned(), |time| format!("{:.1} ms", time.as_secs_f64() * 1e3))
}

/// Prints the table of `docs/guide/serve.md`: eight seconds of requests each, then ten times as many as may wait.
#[test]
#[ignore = "measures time: for a quiet machine"]
fn load() {
    const SECONDS: u64 = 8;
    let aspirin = "CC(=O)Oc1ccccc1C(=O)O";
    println!(
        "| request | connections | requests per second | molecules per second | median | p99 | memory |"
    );
    println!("|---|---|---|---|---|---|---|");
    let two = server("2");
    for (molecules, connections) in [(1, 8), (64, 4)] {
        let body = json!({ "smiles": vec![aspirin; molecules] });
        let end = Instant::now() + Duration::from_secs(SECONDS);
        let mut times: Vec<Duration> = std::thread::scope(|scope| {
            let client = || {
                let (mut stream, mut times) = (BufReader::new(two.connect()), Vec::new());
                while Instant::now() < end {
                    let start = Instant::now();
                    ask(&mut stream, &body);
                    times.push(start.elapsed());
                }
                times
            };
            let clients: Vec<_> = (0..connections).map(|_| scope.spawn(client)).collect();
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
        });
        let rate = times.len() as f64 / SECONDS as f64;
        println!(
            "| {molecules} of aspirin | {connections} | {rate:.0} | {:.0} | {} | {} | {:.0} MiB |",
            rate * molecules as f64,
            quantile(&mut times, 0.5),
            quantile(&mut times, 0.99),
            resident(&two)
        );
    }
    // One thread and 64 that may wait; ten times as many come at once.
    let one = server("1");
    let request = post("/predict", &json!({ "smiles": vec![aspirin; 64] }).to_string());
    let start = Instant::now();
    let clients: Vec<TcpStream> = (0..650).map(|_| one.send(&request)).collect();
    let mut health: Vec<Duration> = (0..100)
        .map(|_| {
            let start = Instant::now();
            assert_eq!(reply(one.send(&get("/health", ""))).status, 200);
            start.elapsed()
        })
        .collect();
    let statuses: Vec<u16> = clients.into_iter().map(|client| reply(client).status).collect();
    let count = |status: u16| statuses.iter().filter(|found| **found == status).count();
    println!(
        "\n650 requests of 64 molecules at once, one thread: {} answered, {} told to come back (503), {} given up, in {:.1} s; meanwhile `/health` in {} (median), {} (p99); {:.0} MiB",
        count(200),
        count(503),
        statuses.len() - count(200) - count(503),
        start.elapsed().as_secs_f64(),
        quantile(&mut health, 0.5),
        quantile(&mut health, 0.99),
        resident(&one)
    );
}
