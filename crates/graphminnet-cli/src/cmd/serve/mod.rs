//! `graphminnet serve`: trained models behind HTTP, on this machine only unless told otherwise.
//!
//! ```text
//! connection ─ http.rs (limits, time-outs) ─ bounded queue ─ workers.rs (threads that share the models) ─ answer.rs
//! ```
//!
//! Whatever a client sends, the server goes on answering the others: bodies, batches, graphs, connections and waiting
//! requests are bounded, and a request that is too much gets a 4xx or 503 answer instead of memory. Work that nobody
//! waits for any more, because its time is over or its client is gone, stops at the next step.

mod access;
mod answer;
mod connections;
#[cfg(feature = "benchmarks")]
pub mod fuzzing;
mod http;
mod metrics;
mod workers;

use super::model_args::ModelArguments;
use crate::failure::Failure;
use crate::ui::say::say;
use crate::ui::signals::Interrupt;
use access::Access;
use clap::Args;
use graphminnet_data::text::counted;
use std::io::{Write, stdout};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// What to serve, and how much of it.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,
    /// Address to listen on; only this machine can reach the default.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// Port to listen on; 0 takes any that is free.
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Largest request body in mebibytes.
    #[arg(long, value_name = "MIB", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1024))]
    max_body: u64,
    /// Most graphs in one request.
    #[arg(long, value_name = "GRAPHS", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    max_graphs: u32,
    /// Most nodes, and most edges, of the graphs of one request together.
    #[arg(long, value_name = "NODES", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..))]
    max_nodes: u64,
    /// File with the token that requests must carry as `Authorization: Bearer TOKEN`.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Let everybody ask, without a token and under any name: needed for a --host that other machines can reach, unless there is
    /// a token, and behind a proxy on this machine.
    #[arg(long, conflicts_with = "token_file")]
    public: bool,
    /// Seconds after which a request is given up.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
}

/// Bounds on what one request may ask for.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of a body.
    pub body: usize,
    /// Graphs of a request.
    pub graphs: usize,
    /// Nodes, and edges, of all graphs of a request.
    pub nodes: u64,
    /// Time for a request, from its first byte to the answer.
    pub time: Duration,
}

impl Arguments {
    fn bounds(&self) -> Bounds {
        Bounds {
            body: usize::try_from(self.max_body << 20).unwrap_or(usize::MAX),
            graphs: self.max_graphs as usize,
            nodes: self.max_nodes,
            time: Duration::from_secs(self.timeout),
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let threads = arguments.model.threads();
    let bounds = arguments.bounds();
    let interrupt = Interrupt::listen()?;
    let access = Access::new(arguments.host, arguments.token_file.as_deref(), arguments.public)?;
    let workers = workers::start(arguments.model.load(0)?, threads, bounds)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    runtime.block_on(async {
        let address = SocketAddr::new(arguments.host, arguments.port);
        let listener = tokio::net::TcpListener::bind(address).await.map_err(|error| {
            std::io::Error::new(
                error.kind(),
                format!("cannot listen on {address}: {error}; choose another --port"),
            )
        })?;
        // Before the address is printed: whoever knows it may also ask the server to stop.
        let interrupt = interrupt.heed();
        let mut out = stdout();
        writeln!(out, "http://{}", listener.local_addr()?)?;
        out.flush()?;
        say!("serving on {}; Ctrl-C stops", counted(threads, "thread"));
        http::serve(listener, workers, access, bounds, interrupt).await;
        say!("stopped");
        Ok(ExitCode::SUCCESS)
    })
}
