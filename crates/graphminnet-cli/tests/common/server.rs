//! A server with a model of its own, and requests to it.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server on a port of its own; stopped when dropped.
pub struct Server {
    pub process: Child,
    pub address: String,
    pub folder: tempfile::TempDir,
}

/// A folder with a run of some seeds over molecules.
pub fn trained(seeds: &str) -> tempfile::TempDir {
    let rows: Vec<String> = (1..40).map(|length| format!("{},{length}.5", "C".repeat(length))).collect();
    let small = ["train.epochs=1", "model.hidden=32", "model.layers=1"];
    trained_on("m.csv", &format!("smiles,size\n{}\n", rows.join("\n")), seeds, &small)
}

/// A folder with a run of some seeds over the data of a file.
pub fn trained_on(name: &str, data: &str, seeds: &str, settings: &[&str]) -> tempfile::TempDir {
    let settings = settings.iter().flat_map(|setting| ["--set", *setting]);
    trained_with(name, data, &["--seeds", seeds].into_iter().chain(settings).collect::<Vec<_>>())
}

/// A folder with a run over the data of a file, trained with these arguments.
pub fn trained_with(name: &str, data: &str, arguments: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), data).unwrap();
    let mut train = Command::new(env!("CARGO_BIN_EXE_graphminnet"));
    train.current_dir(&folder).args(["train", "-q", "--no-cache", "--data", name, "--run-dir", "run"]);
    assert!(train.args(arguments).output().unwrap().status.success());
    folder
}

/// The answer to a request.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// Reads an answer to its end; status 0 if there is none.
pub fn reply(mut stream: TcpStream) -> Reply {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Reply { status, head: head.to_owned(), body: body.to_owned() }
}

impl Server {
    /// Trains a tiny model on molecules and serves it.
    pub fn start(arguments: &[&str]) -> Self {
        Self::serve(trained("0"), arguments)
    }

    /// Serves the run of a folder.
    pub fn serve(folder: tempfile::TempDir, arguments: &[&str]) -> Self {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_graphminnet"));
        serve.current_dir(&folder).args(["serve", "--model", "run", "--port", "0"]).args(arguments);
        let mut process = serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap().to_owned();
        Self { process, address, folder }
    }

    pub fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(Path::new(name))
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// A connection on which bytes were sent as they are.
    pub fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = self.connect();
        // A server that has refused already may close while we still send.
        let _ = stream.write_all(bytes);
        stream
    }

    /// Sends bytes as they are; the status and the body of the answer.
    pub fn raw(&self, bytes: &[u8]) -> (u16, String) {
        let Reply { status, body, .. } = reply(self.send(bytes));
        (status, body)
    }

    pub fn get(&self, path: &str) -> (u16, String) {
        self.raw(&get(path, ""))
    }

    pub fn post(&self, path: &str, body: &str) -> (u16, String) {
        self.raw(&post(path, body))
    }

    pub fn predict(&self, body: &Value) -> (u16, Value) {
        let (status, body) = self.post("/predict", &body.to_string());
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    /// What a counter of `/metrics` says.
    pub fn counter(&self, name: &str) -> u64 {
        let (_, text) = self.get("/metrics");
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        value.unwrap_or_else(|| panic!("no {name} in {text}"))
    }
}

/// The bytes of a request, with further lines of its head.
pub fn get(path: &str, head: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{head}Connection: close\r\n\r\n").into_bytes()
}

/// The bytes of a request.
pub fn post(path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
