//! `graphminnet repro scalability`: every size in a process of its own, because peak memory belongs to a process.

use super::shared::{Place, Talk, show};
use crate::cmd::threads::Threads;
use crate::failure::Failure;
use crate::ui::say::Verbosity;
use clap::Args;
use graphminnet::DeviceKind;
use graphminnet_data::fs::peak_memory;
use graphminnet_lab::repro::scalability::{
    MORE_NODES, PAPER_NODES, Plan, Point, RECOMPUTE_LAYERS, measure, tabulate,
};
use graphminnet_lab::repro::{ReproError, Store};
use serde_json::json;
use std::io::{Write, stdout};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// What to measure.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Continue beyond the paper's 20,000 nodes up to this many; 1,000,000 is the largest size.
    #[arg(long, value_name = "NODES", default_value_t = 20_000)]
    max_nodes: usize,
    /// Largest graph whose eigenpairs are computed.
    #[arg(long, value_name = "NODES", default_value_t = 100_000)]
    max_prepared: usize,
    /// Layers that the backward pass computes again at a time (`train.recompute_layers`), for every size alike; 0 keeps
    /// what they computed, which needs some 44 kB per node.
    #[arg(long, value_name = "LAYERS", default_value_t = RECOMPUTE_LAYERS)]
    recompute_layers: usize,
    /// Seconds to spend on each measurement, at least.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    talk: Talk,
    /// Measure one size in this process and print it as JSON.
    #[arg(long, hide = true)]
    one: Option<usize>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if !(arguments.seconds.is_finite() && arguments.seconds > 0.0) {
        return Err(Failure::usage(format!("--seconds {} must be a positive number", arguments.seconds)));
    }
    if let Some(nodes) = arguments.one {
        return one(nodes, arguments);
    }
    let store = Store::open(&arguments.place.output)?;
    let sizes: Vec<usize> = match arguments.place.smoke {
        true => vec![200, 400, 800],
        false => {
            PAPER_NODES.into_iter().chain(MORE_NODES).filter(|nodes| *nodes <= arguments.max_nodes).collect()
        }
    };
    let seconds = if arguments.place.smoke { 0.02 } else { arguments.seconds };
    let verbosity = Verbosity::from_flags(arguments.talk.quiet, false);
    let mut points = Vec::new();
    for nodes in sizes {
        let identity = json!({
            "nodes": nodes, "prepared": nodes <= arguments.max_prepared, "threads": arguments.threads.given(),
            "seconds": seconds, "recompute_layers": arguments.recompute_layers,
        });
        let point: Point = store.cell(&format!("scalability-{nodes}"), &identity, || {
            verbosity.say(format_args!("measuring {nodes} nodes"));
            in_its_own_process(nodes, seconds, arguments)
        })?;
        points.push(point);
    }
    show(&tabulate(&points), &arguments.place)
}

fn in_its_own_process(nodes: usize, seconds: f64, arguments: &Arguments) -> Result<Point, ReproError> {
    let failed = |reason: String| ReproError::Usage(format!("measuring {nodes} nodes failed: {reason}"));
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new(program);
    command.args(["repro", "scalability", "--one", &nodes.to_string()]);
    command.args(["--seconds", &seconds.to_string()]);
    command.args(["--max-prepared", &arguments.max_prepared.to_string()]);
    command.args(["--recompute-layers", &arguments.recompute_layers.to_string()]);
    if let Some(threads) = arguments.threads.given() {
        command.args(["--threads", &threads.to_string()]);
    }
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
}

fn one(nodes: usize, arguments: &Arguments) -> Result<ExitCode, Failure> {
    let plan = Plan {
        nodes,
        budget: Duration::from_secs_f64(arguments.seconds),
        prepare: nodes <= arguments.max_prepared,
        recompute_layers: Some(arguments.recompute_layers).filter(|layers| *layers > 0),
    };
    let device = DeviceKind::Cpu.open()?;
    let point = arguments.threads.pool()?.install(|| measure(plan, &device))?;
    let tensor_bytes = Some(crate::ALLOCATOR.most_used_bytes() as u64);
    let point = Point { peak_bytes: peak_memory(), tensor_bytes, ..point };
    writeln!(stdout().lock(), "{}", serde_json::to_string(&point)?)?;
    Ok(ExitCode::SUCCESS)
}
