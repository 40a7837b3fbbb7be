//! Runs as a page to read: results (beside published ones where the caller knows some), learning curves, predictions, the
//! worst of them drawn, the range of the predictions, and a card that says what the model is and is not.
//!
//! The page is one file that fetches nothing; see [`graphminnet_report::page`]. Whatever cannot be shown (data that is
//! gone, a seed that is not done) is said on the page instead.
//!
//! ```no_run
//! use graphminnet::report::report_html;
//!
//! // Two runs on one page; `None` of their data is at hand, and no published result is shown beside them.
//! let html = report_html(&["runs/a".as_ref(), "runs/b".as_ref()], None, &|_| None)?;
//! std::fs::write("report.html", html)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod card;
mod graphs;
mod predictions;
mod results;
mod run;

use crate::bundle::Description;
use crate::explain::{Explanation, RangeReport};
use crate::train::{DataSource, TrainError, TrainingData};
use graphminnet_data::{Graph, LimitChange, fs};
use graphminnet_report::Svg;
use graphminnet_report::chart::{BarChart, BarGroup, ChartError};
use graphminnet_report::draw::{DrawError, GraphPicture};
use graphminnet_report::page::Page;
use run::Run;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why there is no report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A run cannot be read.
    #[error(transparent)]
    Run(#[from] TrainError),
}

/// A published result on some data, to be shown beside a run on the same data.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// The result as it was published, with who published it.
    pub text: String,
    /// What a metric is multiplied by to be in the same unit: 100 for per cent.
    pub scale: f64,
    /// Decimals to print.
    pub decimals: usize,
}

/// What is published about the data of a run, by where the data comes from. A name says nothing: anybody may call a
/// file `zinc.csv`.
pub type References<'a> = &'a dyn Fn(&DataSource) -> Option<Reference>;

/// The page of one or several runs.
///
/// `data` is the data of the (single) run where the caller has it at hand; otherwise it is read again from where the
/// run found it. `references` gives the published result to show beside a run; `&|_| None` shows none.
///
/// # Errors
///
/// [`ReportError`] if a run is not there or damaged.
pub fn report_html(
    runs: &[&Path],
    data: Option<&TrainingData>,
    references: References<'_>,
) -> Result<String, ReportError> {
    report_html_within(runs, data, references, &[])
}

/// The same, where data is read within other limits than those of the run.
///
/// # Errors
///
/// [`ReportError`] if a run is not there or damaged.
pub fn report_html_within(
    runs: &[&Path],
    data: Option<&TrainingData>,
    references: References<'_>,
    limits: &[LimitChange],
) -> Result<String, ReportError> {
    let runs = Run::read_all(runs)?;
    let title = match runs.as_slice() {
        [run] => format!("{}: {}", run.label, run.file.train.metric),
        runs => format!("{} runs", runs.len()),
    };
    let subtitle = format!("graphminnet {}", env!("CARGO_PKG_VERSION"));
    let mut page = Page::new(title, subtitle);
    results::results(&mut page, &runs, references);
    results::curves(&mut page, &runs);
    for run in &runs {
        let graphs = graphs::Graphs::of(run, data.filter(|_| runs.len() == 1), limits);
        page.section(&heading("Predictions", run, &runs));
        results::predictions(&mut page, run);
        graphs.worst(&mut page, run);
        graphs.range(&mut page, run);
    }
    for run in &runs {
        page.section(&heading("Model card", run, &runs));
        card::card(&mut page, run);
    }
    Ok(page.finish())
}

/// Writes `report.html` into the directory of a run; returns its path.
///
/// # Errors
///
/// [`ReportError`] if the run is damaged or the page cannot be written.
pub fn write_report(run: &crate::train::Run, references: References<'_>) -> Result<PathBuf, ReportError> {
    let path = run.path().join("report.html");
    let html = report_html(&[run.path()], run.data(), references)?;
    fs::write_atomically(&path, html.as_bytes()).map_err(TrainError::Io)?;
    Ok(path)
}

fn heading(what: &str, run: &Run, runs: &[Run]) -> String {
    if runs.len() == 1 { what.to_owned() } else { format!("{what}: {}", run.label) }
}

/// A graph with the shares of an explanation as colours.
///
/// # Errors
///
/// [`DrawError`] if the graph has no nodes, or the explanation is not of this graph.
pub fn explanation_picture(
    about: &Description,
    title: &str,
    graph: &Graph,
    explanation: &Explanation,
) -> Result<Svg, DrawError> {
    let (what, prediction) = (explanation.subject(about), explanation.prediction);
    let meaning = format!("{what}: {prediction:.4}; red raises it, blue lowers it");
    GraphPicture {
        meaning: &meaning,
        featurizer: about.featurizer,
        node_values: &explanation.nodes,
        edge_values: &explanation.edges,
        ..GraphPicture::new(title, graph)
    }
    .svg()
}

// For the command `explain --range`.
#[doc(hidden)]
/// A chart of the range of some models: the share of the gradient at each hop distance, beside an even spread.
///
/// # Errors
///
/// [`ChartError`] if nothing was measured.
pub fn range_chart(models: &[(String, RangeReport)]) -> Result<Svg, ChartError> {
    let longest = models.iter().map(|(_, report)| report.pairs.len()).max().unwrap_or(0);
    let unreachable = models.iter().any(|(_, report)| report.unreachable_pairs > 0.0);
    let mut categories: Vec<String> = (0..longest).map(|hops| hops.to_string()).collect();
    if unreachable {
        categories.push("no path".to_owned());
    }
    let group = |name: String, values: &[f64], far: f64| {
        let mut values: Vec<f64> = (0..longest).map(|at| values.get(at).copied().unwrap_or(0.0)).collect();
        if unreachable {
            values.push(far);
        }
        BarGroup { name, values }
    };
    let mut groups: Vec<BarGroup> =
        models.iter().map(|(name, report)| group(name.clone(), &report.shares, report.unreachable)).collect();
    if let Some((_, report)) = models.first() {
        groups.push(group("even spread over all nodes".to_owned(), &report.pairs, report.unreachable_pairs));
    }
    let means: Vec<String> =
        models.iter().map(|(name, report)| format!("{name}: mean {:.2} hops", report.mean_hops())).collect();
    BarChart {
        title: "where the gradient comes from".to_owned(),
        description: format!("Share of the prediction's gradient by hop distance. {}.", means.join(". ")),
        x_label: "hops".to_owned(),
        y_label: "share of the gradient".to_owned(),
        categories,
        groups,
    }
    .svg()
}
