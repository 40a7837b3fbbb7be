//! A server under load: work that nobody waits for stops, requests beyond the queue come back, slow clients make room.
#![cfg(all(unix, feature = "serve"))]

mod common;

use common::server::{Server, post, reply};
use serde_json::json;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;

/// A request that keeps a thread busy for minutes: a thousand molecules with two hundred rings each.
fn long_request() -> Vec<u8> {
    post("/predict", &json!({ "smiles": vec!["C12CCC(CC1)CC2".repeat(100); 1000] }).to_string())
}

fn ethanol() -> Vec<u8> {
    post("/predict", &json!({ "smiles": ["CCO"] }).to_string())
}

/// Waits until so many requests are in work or waiting for it.
fn wait_for(server: &Server, requests: u64) {
    while server.counter("graphminnet_requests_in_progress ") < requests {}
}

#[test]
fn work_stops_when_its_time_is_over_and_the_next_request_is_answered() {
    let server = Server::start(&["--threads", "1", "--timeout", "3"]);
    assert_eq!(reply(server.send(&long_request())).status, 408);
    let next = reply(server.send(&ethanol()));
    assert_eq!(next.status, 200, "the only thread still works on what nobody waits for: {next:?}");
    assert_eq!(server.counter("graphminnet_stopped_total "), 1);
}

#[test]
fn work_stops_when_its_client_is_gone() {
    let server = Server::start(&["--threads", "1", "--timeout", "3000"]);
    let client = server.send(&long_request());
    wait_for(&server, 1);
    drop(client);
    let next = reply(server.send(&ethanol()));
    assert_eq!(next.status, 200, "the only thread still works for a client that is gone: {next:?}");
    assert_eq!(server.counter("graphminnet_stopped_total "), 1);
}

#[test]
fn requests_beyond_the_queue_are_told_when_to_come_back() {
    let server = Server::start(&["--threads", "1", "--timeout", "20"]);
    let first = server.send(&long_request());
    wait_for(&server, 1);
    let others: Vec<TcpStream> = (0..80).map(|_| server.send(&ethanol())).collect();
    // One is worked on and 64 wait.
    wait_for(&server, 65);
    let mut counts = [0, 0];
    drop(first);
    for answer in others.into_iter().map(reply) {
        match answer.status {
            200 => counts[0] += 1,
            503 => {
                counts[1] += 1;
                assert!(answer.head.to_lowercase().contains("retry-after: 1"), "{answer:?}");
            }
            _ => panic!("{answer:?}"),
        }
    }
    assert_eq!(counts, [64, 16]);
}

#[test]
fn slow_clients_do_not_keep_others_out() {
    let server = Server::start(&[]);
    let slow: Vec<TcpStream> =
        (0..600).map(|_| server.send(b"POST /predict HTTP/1.1\r\nContent-Length: 9\r\n")).collect();
    assert_eq!(server.get("/health").0, 200);
    // They made room one by one; nobody had to wait until all of them had used up their time.
    let is_closed = |stream: &&TcpStream| {
        stream.set_nonblocking(true).unwrap();
        let mut stream: &TcpStream = stream;
        !matches!(stream.read(&mut [0; 1]), Err(error) if error.kind() == ErrorKind::WouldBlock)
    };
    let closed = slow.iter().filter(is_closed).count();
    assert!((1..=100).contains(&closed), "{closed} of 600 were closed");
    assert_eq!(reply(server.send(&ethanol())).status, 200);
}
