//! `graphminnet bench`: how fast this machine trains, predicts and prepares.

use super::threads::Threads;
use crate::failure::Failure;
use crate::ranks;
use crate::ui::say::say;
use crate::ui::table::{Align, Table};
use clap::Args;
use graphminnet::DeviceKind;
use graphminnet::config::LocalKind;
use graphminnet_data::exchange::Exchange;
use graphminnet_data::fs::peak_memory;
use graphminnet_data::text::grouped;
use graphminnet_lab::bench::{
    LargeGraph, Measurement, Shape, Workload, measure, measure_in_parts, measure_matmul_peak,
};
use serde_json::{Value, json};
use std::io::{Write, stdout};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

/// What to time.
#[derive(Args)]
pub struct Arguments {
    /// One shape only: zinc, peptides, cluster or voc. Without it, all four, each in a process of its own.
    #[arg(long, value_parser = shape)]
    shape: Option<Shape>,
    /// One random graph with this many nodes and mean degree 5 instead of a shape.
    #[arg(long, value_name = "NODES", conflicts_with = "shape")]
    large_graph: Option<usize>,
    /// Cut the large graph into this many parts, which the ranks of `mpirun` share: a ring with chords then, of which every rank
    /// makes its own parts.
    #[arg(long, value_name = "PARTS", requires = "large_graph")]
    parts: Option<usize>,
    /// Most nodes that a chord of a graph in parts spans: the farther, the more edges are between parts.
    #[arg(long, value_name = "NODES", requires = "parts", default_value_t = 1000)]
    reach: u64,
    /// The local branch for a graph in parts: gatedgcn, gine or none.
    #[arg(long, value_name = "KIND", requires = "parts", default_value = "gatedgcn")]
    local: LocalKind,
    /// Training steps on a graph in parts, at least 2.
    #[arg(long, value_name = "STEPS", requires = "parts", default_value_t = 3, value_parser = clap::value_parser!(u64).range(2..))]
    steps: u64,
    /// Take the steps on a graph in parts once more, with both sides of every message meeting before it goes: tells how long a rank
    /// waits for the others, and how long it sends and receives.
    #[arg(long, requires = "parts")]
    waiting: bool,
    /// Compute this many layers at a time again in the backward pass instead of keeping what they computed (the same
    /// as `train.recompute_layers`): less memory, more time.
    #[arg(long, value_name = "LAYERS", value_parser = clap::value_parser!(u64).range(1..))]
    recompute_layers: Option<u64>,
    /// Seconds to spend on each measurement.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    #[command(flatten)]
    threads: Threads,
    /// Where to run: cpu, wgpu, cuda or rocm.
    #[arg(long, default_value_t = DeviceKind::Cpu)]
    device: DeviceKind,
    /// Print one JSON object per shape.
    #[arg(long)]
    json: bool,
}

fn shape(name: &str) -> Result<Shape, String> {
    Shape::ALL.into_iter().find(|shape| shape.name == name).ok_or_else(|| {
        let names: Vec<&str> = Shape::ALL.iter().map(|shape| shape.name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if !(arguments.seconds.is_finite() && arguments.seconds > 0.0) {
        return Err(Failure::usage(format!("--seconds {} must be a positive number", arguments.seconds)));
    }
    if let (Some(nodes), Some(parts)) = (arguments.large_graph, arguments.parts) {
        return ranks::on_all(|hosts| in_parts(nodes as u64, parts, arguments, &hosts));
    }
    let objects = match (arguments.shape, arguments.large_graph) {
        (Some(shape), _) => vec![one(shape.name, Workload::new(shape, 0)?, arguments)?],
        (None, Some(nodes)) => {
            vec![one(&format!("{nodes} nodes"), Workload::large_graph(nodes, 5.0, 0)?, arguments)?]
        }
        (None, None) => each_in_its_own_process(arguments)?,
    };
    let mut out = stdout().lock();
    if arguments.json {
        for object in &objects {
            writeln!(out, "{object}")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    write!(out, "{}", table(&objects))?;
    Ok(ExitCode::SUCCESS)
}

/// A graph in parts: every rank says what it saw.
fn in_parts(
    nodes: u64,
    parts: usize,
    arguments: &Arguments,
    hosts: &Arc<dyn Exchange>,
) -> Result<ExitCode, Failure> {
    let Arguments { reach, local, steps, waiting: tell_waiting, .. } = *arguments;
    let recompute_layers = arguments.recompute_layers.map(|layers| layers as usize);
    let steps = steps as usize;
    let graph = LargeGraph { nodes, parts, reach, local, recompute_layers, steps, tell_waiting };
    let device = arguments.device.open()?;
    let measured = arguments.threads.pool()?.install(|| measure_in_parts(graph, hosts, device))?;
    let object = json!({
        "rank": hosts.rank(),
        "ranks": hosts.size(),
        "parts": [measured.parts.start, measured.parts.end],
        "nodes": measured.nodes,
        "edges": measured.edges,
        "border": measured.border,
        "step_seconds": measured.step_seconds,
        "step_bytes_sent": measured.step_bytes,
        "step_waiting_seconds": measured.waiting_and_communication.map(|[waiting, _]| waiting),
        "step_communication_seconds": measured.waiting_and_communication.map(|[_, communication]| communication),
        "peak_bytes": peak_memory(),
        "last_loss": measured.losses.last(),
    });
    writeln!(stdout().lock(), "{object}")?;
    Ok(ExitCode::SUCCESS)
}

fn one(name: &str, mut workload: Workload, arguments: &Arguments) -> Result<Value, Failure> {
    workload.recipe.train.recompute_layers = arguments.recompute_layers.map(|layers| layers as usize);
    let budget = Duration::from_secs_f64(arguments.seconds);
    let pool = arguments.threads.pool()?;
    // The speed of a shared machine changes; the better of two peaks does not flatter.
    let (measurement, peak_rate) = pool.install(|| {
        let before = measure_matmul_peak(Duration::from_millis(300));
        let measurement = measure(&workload, arguments.device, budget);
        (measurement, before.max(measure_matmul_peak(Duration::from_millis(300))))
    });
    let mut object = as_json(name, &measurement?, peak_rate, pool.current_num_threads());
    object["recompute_layers"] = arguments.recompute_layers.into();
    object["tensor_bytes"] = crate::ALLOCATOR.most_used_bytes().into();
    Ok(object)
}

fn as_json(name: &str, measured: &Measurement, peak_rate: f64, threads: usize) -> Value {
    let [graphs, nodes, edges] = measured.counts;
    let rate = measured.training_gflop / measured.training.min;
    json!({
        "shape": name,
        "graphs": graphs,
        "nodes": nodes,
        "edges": edges,
        "threads": threads,
        "train_step_seconds": measured.training.min,
        "train_step_median_seconds": measured.training.median,
        "inference_seconds": measured.inference.min,
        "inference_median_seconds": measured.inference.median,
        "train_graphs_per_second": graphs as f64 / measured.training.min,
        "inference_graphs_per_second": graphs as f64 / measured.inference.min,
        "preparation_seconds": measured.preparation.map(|times| times.min),
        "preparation_graphs_per_second": measured.preparation.map(|times| graphs as f64 / times.min),
        "gflop": measured.training_gflop,
        "executed_gflop": measured.executed_gflop,
        "gflops": rate,
        "matmul_peak_gflops": peak_rate,
        "share_of_peak": rate / peak_rate,
        "train_steps_timed": measured.training.repetitions,
        "peak_bytes": peak_memory(),
    })
}

/// Peak memory is a property of a process, so every shape gets its own.
fn each_in_its_own_process(arguments: &Arguments) -> Result<Vec<Value>, Failure> {
    let program = std::env::current_exe()?;
    let mut objects = Vec::new();
    for shape in Shape::ALL {
        let mut command = Command::new(&program);
        command.args(["bench", "--json", "--shape", shape.name]);
        command.args([
            "--seconds",
            &arguments.seconds.to_string(),
            "--device",
            &arguments.device.to_string(),
        ]);
        if let Some(threads) = arguments.threads.given() {
            command.args(["--threads", &threads.to_string()]);
        }
        if let Some(layers) = arguments.recompute_layers {
            command.args(["--recompute-layers", &layers.to_string()]);
        }
        say!("timing {} …", shape.name);
        let output = command.stderr(std::process::Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(Failure::usage(format!("timing {} failed ({})", shape.name, output.status)));
        }
        objects.push(serde_json::from_slice(&output.stdout)?);
    }
    Ok(objects)
}

/// A column per shape; times are the least ones.
fn table(objects: &[Value]) -> Table {
    let names = objects.iter().map(|object| (object["shape"].as_str().unwrap_or_default(), Align::Right));
    let mut table = Table::new(&[("", Align::Left)].into_iter().chain(names).collect::<Vec<_>>());
    let count: fn(f64) -> String = |number| grouped(number.round());
    let milliseconds: fn(f64) -> String =
        |seconds| format!("{} ms", grouped(format!("{:.1}", 1e3 * seconds)));
    let percent: fn(f64) -> String = |share| format!("{:.0} %", 100.0 * share);
    let mebibytes: fn(f64) -> String = |bytes| format!("{} MiB", grouped((bytes / 1_048_576.0).floor()));
    let rows = [
        ("graphs", "graphs", count),
        ("nodes", "nodes", count),
        ("edges", "edges", count),
        ("training step", "train_step_seconds", milliseconds),
        ("  graphs/s", "train_graphs_per_second", count),
        ("  GFLOP/s", "gflops", count),
        ("  of the matrix-product rate", "share_of_peak", percent),
        ("inference", "inference_seconds", milliseconds),
        ("  graphs/s", "inference_graphs_per_second", count),
        ("preparation", "preparation_seconds", milliseconds),
        ("  graphs/s", "preparation_graphs_per_second", count),
        ("peak memory", "peak_bytes", mebibytes),
    ];
    for (title, key, written) in rows {
        let cells = objects.iter().map(|object| object[key].as_f64().map_or_else(|| "–".into(), written));
        table.row([title.to_owned()].into_iter().chain(cells).collect::<Vec<_>>());
    }
    table
}
