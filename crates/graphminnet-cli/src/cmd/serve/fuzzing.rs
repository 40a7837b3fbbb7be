//! A server in the process of the fuzzer, with the bounds of production: what it says to the bytes of one connection.

use super::access::Access;
use super::connections::Connections;
use super::{Arguments, http, workers};
use axum::Router;
use clap::{Command, FromArgMatches};
use graphminnet::Ensemble;
use graphminnet::fuzzing::{Target, small_model};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::Runtime;

/// All targets.
pub const TARGETS: [Target; 1] = [("http", http)];

/// The bytes of one connection.
fn http(bytes: &[u8]) {
    static SERVER: LazyLock<Option<Server>> = LazyLock::new(|| Server::new().ok());
    let Some(server) = &*SERVER else { return };
    let said = server.say_to(bytes);
    let is_answer = said.is_empty() || said.starts_with(b"HTTP/1.");
    assert!(is_answer && !said.starts_with(b"HTTP/1.1 5"), "{}", said.escape_ascii());
}

/// A server without an address.
struct Server {
    runtime: Runtime,
    router: Router,
    connections: Arc<Connections>,
}

impl Server {
    /// With a small model that takes molecules.
    fn new() -> Result<Self, Box<dyn Error>> {
        let command = <Arguments as clap::Args>::augment_args(Command::new("serve"));
        let arguments = command.try_get_matches_from(["serve", "--model", "small"])?;
        let bounds = Arguments::from_arg_matches(&arguments)?.bounds();
        let access = Access::new(IpAddr::V4(Ipv4Addr::LOCALHOST), None, false).map_err(|_| "no access")?;
        let ensemble = Ensemble::new(vec![small_model()?])?;
        let workers = workers::start(ensemble, 1, bounds).map_err(|_| "no workers")?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let connections = Connections::new(workers.capacity());
        Ok(Self { runtime, router: http::router(workers, access, bounds), connections })
    }

    /// Everything that it says to a client that sends these bytes and no more.
    fn say_to(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = Canned { input: bytes, output: Vec::new() };
        let connection = self.connections.enter();
        let served = http1::Builder::new()
            // The client waits for the answer after its last byte.
            .half_close(true)
            .serve_connection(TokioIo::new(&mut stream), http::tagged(&self.router, &connection));
        let _ = self.runtime.block_on(served);
        stream.output
    }
}

/// A connection over which everything has come already.
struct Canned<'a> {
    input: &'a [u8],
    output: Vec<u8>,
}

impl AsyncRead for Canned<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (now, later) = self.input.split_at(self.input.len().min(buffer.remaining()));
        buffer.put_slice(now);
        self.input = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Canned<'_> {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.output.extend(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn no_mutation_of_a_request_makes_the_server_panic() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
        graphminnet_data::fuzzing::smoke(&corpus, &TARGETS).unwrap();
    }

    #[test]
    fn the_server_of_the_fuzzer_answers_as_the_real_one_does() {
        let server = Server::new().unwrap();
        let said = |bytes: &[u8]| String::from_utf8(server.say_to(bytes)).unwrap();
        let body = r#"{"smiles":["CCO"]}"#;
        let request = format!(
            "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = said(request.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("\"values\":{\"y\":"), "{answer}");
        assert!(said(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").contains("ok"));
        assert!(said(b"nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
        assert_eq!(said(b""), "");
    }
}
