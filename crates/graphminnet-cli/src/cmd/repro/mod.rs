//! `graphminnet repro`: the paper's tables and figures, each a command with a verdict, and comparisons of our own.

mod ablation;
mod block;
mod datasets;
mod draw;
mod expressiveness;
mod links;
mod long_range;
mod nodes;
mod params;
mod queue;
mod robustness;
mod runtime;
mod scalability;
mod shared;
mod stability;
mod table1;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// What to reproduce.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Parameter counts of the ten recipes and of the other systems, beside the published ones.
    Params(params::Arguments),
    /// Sizes of the data sets beside those that the paper prints.
    Datasets(datasets::Arguments),
    /// The table of results: GraphMinNet and the eleven systems that the paper compares it with.
    Table1(table1::Arguments),
    /// Time per epoch of the systems.
    Runtime(runtime::Arguments),
    /// Operations, time and memory against the number of nodes.
    Scalability(scalability::Arguments),
    /// A trained model under noise on its node embeddings.
    Robustness(robustness::Arguments),
    /// A choice inside the model, switched: the paper's six ablations and three of our own.
    Ablation(ablation::Arguments),
    /// What the block does in a trained model: its share of every layer, and the results without it.
    Block(block::Arguments),
    /// Gradient against distance, with fresh and with trained weights.
    LongRange(long_range::Arguments),
    /// Graphs that are distinguished: circular skip links, EXP, strongly regular graphs, all graphs of 8 nodes.
    Expressiveness(expressiveness::Arguments),
    /// Classes of nodes on one graph, of which some are known: the defaults for own data beside SGC and GCN.
    Nodes(nodes::Arguments),
    /// Links of one graph, of which some are hidden: the defaults for own data beside GCN and common neighbours.
    Links(links::Arguments),
    /// Lipschitz constants and the error of permutation equivariance.
    Stability(stability::Arguments),
    /// Train a list of runs to their full length at low priority; resumable, with the time that is left.
    Queue(queue::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.what {
        What::Params(arguments) => params::run(arguments),
        What::Datasets(arguments) => datasets::run(arguments),
        What::Table1(arguments) => table1::run(arguments),
        What::Runtime(arguments) => runtime::run(arguments),
        What::Scalability(arguments) => scalability::run(arguments),
        What::Robustness(arguments) => robustness::run(arguments),
        What::Ablation(arguments) => ablation::run(arguments),
        What::Block(arguments) => block::run(arguments),
        What::LongRange(arguments) => long_range::run(arguments),
        What::Expressiveness(arguments) => expressiveness::run(arguments),
        What::Nodes(arguments) => nodes::run(arguments),
        What::Links(arguments) => links::run(arguments),
        What::Stability(arguments) => stability::run(arguments),
        What::Queue(arguments) => queue::run(arguments),
    }
}
