//! `graphminnet data synth`: graphs from a recipe and a seed.

use super::convert::say_written;
use super::may_replace;
use crate::failure::Failure;
use crate::ui::say::say;
use clap::{Args, ValueEnum};
use graphminnet_data::GraphError;
use graphminnet_data::generate::{
    CircularSkipLinks, Cluster, Papers, Pattern, RandomGraph, RingTransfer, TreeNeighboursMatch,
};
use graphminnet_data::text::grouped;
use graphminnet_data::{Dataset, Level, formats};
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

/// What to generate.
#[derive(Args)]
pub struct Arguments {
    /// Kind of graphs.
    kind: Kind,
    /// Number of graphs (default: the published number). For csl it must be a multiple of the ten classes.
    #[arg(long, value_name = "N")]
    graphs: Option<usize>,
    /// Seed; the same seed gives the same file.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Where to write: .jsonl, .jsonl.gz, or a name without an extension for a folder of CSV files.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Nodes of each graph (random).
    #[arg(long)]
    nodes: Option<usize>,
    /// Mean number of neighbours (random).
    #[arg(long)]
    mean_degree: Option<f64>,
    /// Edges between the root and a leaf (tree-neighbours-match).
    #[arg(long)]
    depth: Option<usize>,
    /// Ask for the class at the marked node instead of for the whole graph (ring-transfer).
    #[arg(long)]
    node_level: bool,
    /// Replace the output if it exists.
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Find a planted pattern in a random graph (PATTERN).
    Pattern,
    /// Find the communities of a random graph (CLUSTER).
    Cluster,
    /// Large random graphs of a given mean degree.
    Random,
    /// Carry a class from one side of a ring to the other.
    RingTransfer,
    /// Look up a key among the leaves of a binary tree.
    TreeNeighboursMatch,
    /// One graph like a network of citations, some of whose nodes are labelled (a stochastic block model).
    Papers,
    /// Circular skip links: regular graphs that message passing cannot distinguish.
    Csl,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    check(arguments)?;
    let output = may_replace(&arguments.output, arguments.force)?;
    let dataset = generate(arguments)?;
    let format = formats::write(&dataset, &arguments.output)?;
    let graphs = if dataset.samples.len() == 1 { "graph" } else { "graphs" };
    say!("{} {graphs} generated with seed {}", grouped(dataset.samples.len()), arguments.seed);
    say_written(&dataset, format);
    writeln!(stdout().lock(), "{output}")?;
    Ok(ExitCode::SUCCESS)
}

/// An option without effect is an error.
fn check(arguments: &Arguments) -> Result<(), Failure> {
    let options = [
        ("--nodes", arguments.nodes.is_some(), Kind::Random),
        ("--mean-degree", arguments.mean_degree.is_some(), Kind::Random),
        ("--depth", arguments.depth.is_some(), Kind::TreeNeighboursMatch),
        ("--node-level", arguments.node_level, Kind::RingTransfer),
    ];
    for (option, is_given, kind) in options {
        if is_given && kind != arguments.kind {
            let kind = kind.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
            return Err(Failure::usage(format!("{option} has an effect on {kind} only")));
        }
    }
    match arguments.mean_degree {
        Some(degree) if !(degree.is_finite() && degree >= 0.0) => {
            Err(Failure::usage(format!("--mean-degree {degree} must be a number of at least 0")))
        }
        _ => Ok(()),
    }
}

fn generate(arguments: &Arguments) -> Result<Dataset, Failure> {
    let (graphs, seed) = (arguments.graphs, arguments.seed);
    let made: Result<Dataset, GraphError> = match arguments.kind {
        Kind::Pattern => graphs.map_or_else(Pattern::default, Pattern::with_graphs).generate(seed),
        Kind::Cluster => graphs.map_or_else(Cluster::default, Cluster::with_graphs).generate(seed),
        Kind::Random => {
            let default = RandomGraph::default();
            let settings = RandomGraph {
                graphs: graphs.unwrap_or(default.graphs),
                nodes: arguments.nodes.unwrap_or(default.nodes),
                mean_degree: arguments.mean_degree.unwrap_or(default.mean_degree),
                ..default
            };
            settings.generate(seed)
        }
        Kind::RingTransfer => {
            let level = if arguments.node_level { Level::Node } else { Level::Graph };
            let mut settings = RingTransfer { level, ..RingTransfer::default() };
            if let Some(graphs) = graphs {
                settings.sizes = settings.sizes.scaled_to(graphs);
            }
            settings.generate(seed)
        }
        Kind::TreeNeighboursMatch => {
            let mut settings = TreeNeighboursMatch::default();
            settings.depth = arguments.depth.unwrap_or(settings.depth);
            if let Some(graphs) = graphs {
                settings.sizes = settings.sizes.scaled_to(graphs);
            }
            settings.generate(seed)
        }
        Kind::Papers => {
            if graphs.is_some() {
                return Err(Failure::usage("--graphs has no effect on papers: it is one graph"));
            }
            Papers::default().generate(seed)
        }
        Kind::Csl => {
            let mut settings = CircularSkipLinks::default();
            let classes = settings.skips.len();
            if let Some(graphs) = graphs {
                if graphs % classes != 0 {
                    return Err(Failure::usage(format!(
                        "--graphs {graphs} must be a multiple of the {classes} classes"
                    )));
                }
                settings.copies = graphs / classes;
            }
            settings.generate(seed)
        }
    };
    made.map_err(Failure::usage)
}
