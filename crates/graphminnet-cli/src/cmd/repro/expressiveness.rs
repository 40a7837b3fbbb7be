//! `graphminnet repro expressiveness`.

use super::shared::{Choice, Common, Effort, experiment};
use crate::failure::Failure;
use clap::Args;
use graphminnet::config::NormEstimates;
use graphminnet_lab::repro::expressiveness;
use std::path::PathBuf;
use std::process::ExitCode;

/// Which graphs.
#[derive(Args)]
pub struct Arguments {
    /// Families, separated by commas: csl, exp, sr16, sr25, graph8c (default: all).
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    families: Vec<String>,
    /// A file with graphs of your own, in graph6 or any other format; all pairs are compared.
    #[arg(long, value_name = "FILE")]
    graphs: Option<PathBuf>,
    /// Pairs of these graphs to compare: two positions per line, counted from 0, separated by a comma.
    #[arg(long, value_name = "FILE", requires = "graphs")]
    pairs: Option<PathBuf>,
    /// Write one row for every pair of these graphs: how different their outputs are, beside what renumbering their
    /// nodes changes.
    #[arg(long, value_name = "FILE", requires = "graphs")]
    out: Option<PathBuf>,
    /// Do not train on the folds of CSL and EXP.
    #[arg(long)]
    untrained: bool,
    /// Epochs of the trainings instead of 60 (CSL) and 20 (EXP).
    #[arg(long, conflicts_with = "untrained")]
    epochs: Option<usize>,
    /// What batch norms of the trained models are evaluated with: `running` takes what followed training, as the paper's
    /// recipes do, `recomputed` measures it again with the weights as they are.
    #[arg(long, default_value_t = NormEstimates::Running, conflicts_with = "untrained")]
    norms: NormEstimates,
    /// Folder with the benchmark data sets, of which `expressiveness` is read; also GRAPHMINNET_DATA.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { families, graphs, pairs, out, untrained, epochs, norms, data_dir, common } = arguments;
    let choice = Choice { datasets: Vec::new(), data_dir: data_dir.clone() };
    let effort = Effort { seeds: Some("0".into()), epochs: *epochs, train_graphs: None };
    experiment(common, &choice, &effort, |lab| {
        let request = expressiveness::Request {
            families: families.clone(),
            graphs: graphs.clone(),
            pairs: pairs.clone(),
            out: out.clone(),
            norms: *norms,
            train: !untrained && (graphs.is_none() || !families.is_empty()),
        };
        expressiveness::run(lab, &request)
    })
}
