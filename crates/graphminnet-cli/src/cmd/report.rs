//! `graphminnet report`: one or several runs as a page to read, offline and without anything else.

use super::limit_args::LimitArguments;
use crate::failure::Failure;
use clap::Args;
use graphminnet::report::{Reference, ReportError, report_html_within};
use graphminnet::train::{DataSource, Run};
use graphminnet_data::fs::write_atomically;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Which runs, and where to.
#[derive(Args)]
pub struct Arguments {
    /// Run directories; several are compared.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The page; `-` is standard output. Without it: report.html in the run, or in the current folder for several.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArguments,
}

/// Writes `report.html` into the directory of a run.
pub fn write_report(run: &Run) -> Result<PathBuf, ReportError> {
    graphminnet::report::write_report(run, &published)
}

/// The page of some runs; with the laboratory, the paper's results on the benchmarks stand beside theirs.
fn page(runs: &[&Path], limits: &LimitArguments) -> Result<String, ReportError> {
    report_html_within(runs, None, &published, &limits.changes())
}

#[cfg(feature = "lab")]
fn published(source: &DataSource) -> Option<Reference> {
    graphminnet_lab::paper::reference(source)
}

#[cfg(not(feature = "lab"))]
fn published(_: &DataSource) -> Option<Reference> {
    None
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let runs: Vec<&Path> = arguments.runs.iter().map(PathBuf::as_path).collect();
    let is_page = |path: &PathBuf| {
        let ending = path.extension().unwrap_or_default();
        path.as_os_str() == "-" || ending.eq_ignore_ascii_case("html") || ending.eq_ignore_ascii_case("htm")
    };
    if let Some(path) = arguments.output.as_ref().filter(|path| !is_page(path)) {
        return Err(Failure::usage(format!(
            "--output {}: a report is a page; call it so, with .html",
            path.display()
        )));
    }
    let html = page(&runs, &arguments.limits)?;
    let path = match (&arguments.output, runs.as_slice()) {
        (Some(path), _) => path.clone(),
        (None, [run]) => run.join("report.html"),
        (None, _) => PathBuf::from("report.html"),
    };
    if path.as_os_str() == "-" {
        stdout().lock().write_all(html.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    write_atomically(&path, html.as_bytes())?;
    writeln!(stdout().lock(), "{}", path.display())?;
    Ok(ExitCode::SUCCESS)
}
