//! `graphminnet repro scalability`: every size in a process of its own, because peak memory belongs to a process.

use super::shared::{Place, Talk, show};
use crate::cmd::threads::Threads;
use crate::failure::Failure;
use crate::ui::say::Verbosity;
use clap::Args;
use graphminnet::DeviceKind;
use graphminnet_data::fs::peak_memory;
use graphminnet_lab::paper;
use graphminnet_lab::repro::scalability::{
    MORE_NODES, PAPER_NODES, Plan, Point, RECOMPUTE_LAYERS, measure, tabulate,
};
use graphminnet_lab::repro::scalability_systems::{self, NODES, SystemPoint, pair_bytes};
use graphminnet_lab::repro::{ReproError, Store, systems};
use serde::de::DeserializeOwned;
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
    /// Measure these systems instead, on 250 to 20,000 nodes: gcn, gin, gat, gatedgcn, san, graphgps, exphormer, grit, gred,
    /// graph-mamba, gssc, graphminnet; `all` for all of them.
    #[arg(long, value_delimiter = ',', value_name = "NAMES", conflicts_with = "recompute_layers")]
    systems: Vec<String>,
    /// With --systems: do not run what needs more memory than this for pairs of nodes, in GiB.
    #[arg(long, value_name = "GIB", default_value_t = 8.0, requires = "systems")]
    max_memory: f64,
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
    match (arguments.one, arguments.systems.as_slice()) {
        (Some(nodes), [system]) => return one_system(system, nodes, arguments),
        (Some(nodes), _) => return one(nodes, arguments),
        (None, []) => {}
        (None, asked) => return all_systems(asked, arguments),
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
            let (prepared, layers) =
                (arguments.max_prepared.to_string(), arguments.recompute_layers.to_string());
            let further = ["--max-prepared", &prepared, "--recompute-layers", &layers];
            in_its_own_process(nodes, seconds, arguments, &further)
        })?;
        points.push(point);
    }
    show(&tabulate(&points), &arguments.place)
}

/// Measures systems on sizes up to the largest asked for, leaving out what does not fit into memory.
fn all_systems(asked: &[String], arguments: &Arguments) -> Result<ExitCode, Failure> {
    let asked: Vec<&str> = match asked {
        [all] if all == "all" => paper::systems().collect(),
        asked => asked.iter().map(String::as_str).collect(),
    };
    asked.iter().try_for_each(|system| systems::check(system))?;
    let sizes: Vec<usize> = match arguments.place.smoke {
        true => vec![30, 60],
        false => NODES.into_iter().filter(|nodes| *nodes <= arguments.max_nodes).collect(),
    };
    let seconds = if arguments.place.smoke { 0.01 } else { arguments.seconds };
    let store = Store::open(&arguments.place.output)?;
    let verbosity = Verbosity::from_flags(arguments.talk.quiet, false);
    let mut points = Vec::new();
    for system in asked {
        for &nodes in &sizes {
            let gibibytes = pair_bytes(system, nodes).unwrap_or(0.0) / f64::from(1 << 30);
            let measured = if gibibytes > arguments.max_memory {
                Err(format!("pairs of nodes alone need about {gibibytes:.0} GiB"))
            } else {
                let threads = arguments.threads.given();
                let identity =
                    json!({ "system": system, "nodes": nodes, "threads": threads, "seconds": seconds });
                Ok(store.cell(&format!("scalability-{system}-{nodes}"), &identity, || {
                    verbosity.say(format_args!("measuring {} on {nodes} nodes", paper::title(system)));
                    in_its_own_process(nodes, seconds, arguments, &["--systems", system])
                })?)
            };
            points.push((system.to_owned(), nodes, measured));
        }
    }
    show(&scalability_systems::tabulate(&points), &arguments.place)
}

fn one_system(system: &str, nodes: usize, arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (budget, device) = (Duration::from_secs_f64(arguments.seconds), DeviceKind::Cpu.open()?);
    let measure = || scalability_systems::measure(system, nodes, budget, &device);
    let point = arguments.threads.pool()?.install(measure)?;
    let tensor_bytes = Some(crate::ALLOCATOR.most_used_bytes() as u64);
    let point = SystemPoint { peak_bytes: peak_memory(), tensor_bytes, ..point };
    writeln!(stdout().lock(), "{}", serde_json::to_string(&point)?)?;
    Ok(ExitCode::SUCCESS)
}

fn in_its_own_process<T: DeserializeOwned>(
    nodes: usize,
    seconds: f64,
    arguments: &Arguments,
    further: &[&str],
) -> Result<T, ReproError> {
    let failed = |reason: String| ReproError::Usage(format!("measuring {nodes} nodes failed: {reason}"));
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new(program);
    command.args(["repro", "scalability", "--one", &nodes.to_string()]);
    command.args(["--seconds", &seconds.to_string()]);
    command.args(further);
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
