//! `graphminnet explain`: which nodes and edges a prediction rests on, and from how far away its gradient comes.

use super::model_args::{InputArguments, ModelArguments};
use crate::failure::Failure;
use crate::ui::say::say;
use crate::ui::table::{Align, Table};
use clap::Args;
use graphminnet::Bundle;
use graphminnet::bundle::Description;
use graphminnet::explain::{Explainer, Explanation, Method, RangeOptions, RangeReport, Target};
use graphminnet::report::{explanation_picture, range_chart};
use graphminnet_data::Graph;
use graphminnet_data::RowReader;
use graphminnet_data::fs::write_atomically;
use graphminnet_data::spectral::PreparedGraph;
use graphminnet_data::text::counted;
use serde_json::json;
use std::fmt::Write as _;
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Rows that are looked at before the next are read.
const ROWS: usize = 1024;

/// What to explain, with what.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    input: InputArguments,
    /// gradient (× input, fast) or integrated (gradients; the shares add up to the prediction).
    #[arg(long, default_value_t = Method::Integrated)]
    method: Method,
    /// Only the graph with this name, or, in a table, this row (from 0); may be repeated.
    #[arg(long = "graph", value_name = "ID")]
    graphs: Vec<String>,
    /// The node whose prediction is explained, for models that answer per node (default: 0).
    #[arg(long)]
    node: Option<usize>,
    /// The target or class that is explained, by number; without it the predicted class, or the first target.
    #[arg(long, value_name = "NUMBER")]
    target: Option<usize>,
    /// Graphs that are explained at most; the range report takes up to ten times as many.
    #[arg(long, default_value_t = 20)]
    limit: usize,
    /// Also say from how many hops away the gradient comes, averaged over the graphs.
    #[arg(long)]
    range: bool,
    /// A second model, such as one without the global block, for the range report.
    #[arg(long, value_name = "MODEL", requires = "range")]
    beside: Option<PathBuf>,
    /// Folder for explanations.jsonl, one picture per graph, range.json and range.svg; created if needed.
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,
}

/// A graph with its name.
struct Named {
    id: String,
    title: String,
    graph: Arc<Graph>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    arguments.model.on_threads(|| {
        let bundle = arguments.model.load_one()?;
        let about = bundle.description();
        let (graphs, bad) = read(arguments.input.open(about, None)?, arguments)?;
        for reason in bad.iter().take(5) {
            say!("left out: {reason}");
        }
        if graphs.is_empty() {
            return Err(Failure::usage(match arguments.graphs.as_slice() {
                [] => "there is no graph to explain".to_owned(),
                names => format!("no graph is called {}", names.join(" or ")),
            }));
        }
        std::fs::create_dir_all(&arguments.output)?;
        let explainer = Explainer::new(&bundle);
        let kept: Vec<&Named> = graphs.iter().take(arguments.limit).collect();
        if kept.len() < graphs.len() && !arguments.range {
            say!("the first {} graphs are explained; --limit takes more", kept.len());
        }
        explain_all(&explainer, about, &kept, arguments)?;
        if arguments.range {
            range(&explainer, &bundle, &graphs, arguments)?;
        }
        say!("written to {}", arguments.output.display());
        Ok(ExitCode::SUCCESS)
    })
}

fn read(mut reader: RowReader, arguments: &Arguments) -> Result<(Vec<Named>, Vec<String>), Failure> {
    let wanted = if arguments.range { arguments.limit.saturating_mul(10) } else { arguments.limit + 1 };
    let (mut graphs, mut bad, mut number) = (Vec::new(), Vec::new(), 0usize);
    loop {
        let rows = reader.next_rows(ROWS)?;
        if rows.is_empty() || graphs.len() >= wanted {
            return Ok((graphs, bad));
        }
        for row in rows {
            let id = if row.id.is_empty() { number.to_string() } else { row.id };
            number += 1;
            if graphs.len() >= wanted || !(arguments.graphs.is_empty() || arguments.graphs.contains(&id)) {
                continue;
            }
            let text = String::from_utf8_lossy(&row.text).into_owned();
            let title = if text.is_empty() { id.clone() } else { format!("{id}: {text}") };
            match row.graph {
                Ok(graph) => graphs.push(Named { id, title, graph }),
                Err(reason) => bad.push(reason.to_string()),
            }
        }
    }
}

fn explain_all(
    explainer: &Explainer,
    about: &Description,
    graphs: &[&Named],
    arguments: &Arguments,
) -> Result<(), Failure> {
    let target = Target { node: arguments.node, output: arguments.target };
    let prepared =
        explainer.prepare(&graphs.iter().map(|named| Arc::clone(&named.graph)).collect::<Vec<_>>());
    let mut lines = String::new();
    let mut table = Table::new(&[
        ("graph", Align::Left),
        ("explained", Align::Left),
        ("prediction", Align::Right),
        ("baseline", Align::Right),
        ("gap", Align::Right),
        ("strongest nodes", Align::Left),
    ]);
    for (number, (named, prepared)) in graphs.iter().zip(&prepared).enumerate() {
        let explanation = match prepared {
            Ok(graph) => explainer.explain(graph, target, arguments.method)?,
            Err(reason) => {
                say!("left out: graph {}: {reason}", named.id);
                continue;
            }
        };
        let what = explanation.subject(about);
        let _ = writeln!(lines, "{}", as_json(named, &what, &explanation));
        match explanation_picture(about, &named.title, &named.graph, &explanation) {
            Ok(picture) => {
                let path = arguments.output.join(file_name(number, &named.id));
                write_atomically(&path, picture.as_str().as_bytes())?;
            }
            Err(reason) => say!("graph {}: no picture: {reason}", named.id),
        }
        table.row([
            named.id.clone(),
            what,
            format!("{:.4}", explanation.prediction),
            format!("{:.4}", explanation.baseline),
            format!("{:.2} %", 100.0 * explanation.gap()),
            strongest(&explanation),
        ]);
    }
    write_atomically(&arguments.output.join("explanations.jsonl"), lines.as_bytes())?;
    write!(stdout().lock(), "{table}")?;
    if about.schema.graph_numbers() > 0 {
        let count = counted(about.schema.graph_numbers(), "descriptor");
        say!(
            "{count} of the whole molecule stay as they are while atoms are taken away: what they say is in the baseline"
        );
    }
    Ok(())
}

fn as_json(named: &Named, what: &str, explanation: &Explanation) -> serde_json::Value {
    json!({
        "id": named.id,
        "explained": what,
        "method": explanation.method.to_string(),
        "node": explanation.node,
        "output": explanation.output,
        "prediction": explanation.prediction,
        "baseline": explanation.baseline,
        "sum": explanation.total(),
        "gap": explanation.gap(),
        "steps": explanation.steps,
        "nodes": explanation.nodes,
        "edges": named.graph.edges(),
        "edge_attributions": explanation.edges,
    })
}

fn strongest(explanation: &Explanation) -> String {
    let mut order: Vec<usize> = (0..explanation.nodes.len()).collect();
    let size = |at: usize| explanation.nodes[at].abs();
    order.sort_by(|&a, &b| size(b).total_cmp(&size(a)).then(a.cmp(&b)));
    let words = order.iter().take(3).map(|&at| format!("{at} ({:+.4})", explanation.nodes[at]));
    words.collect::<Vec<_>>().join(", ")
}

/// `0003-name.svg`.
fn file_name(number: usize, id: &str) -> String {
    let safe: String = id.chars().take(40).map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("{number:04}-{safe}.svg")
}

fn range(
    explainer: &Explainer,
    bundle: &Bundle,
    graphs: &[Named],
    arguments: &Arguments,
) -> Result<(), Failure> {
    let mut models = vec![(name_of(bundle), measure(explainer, graphs, arguments)?)];
    if let Some(path) = &arguments.beside {
        let other = Bundle::load_on(path, bundle.device())?;
        models.push((name_of(&other), measure(&Explainer::new(&other), graphs, arguments)?));
    }
    let value: Vec<serde_json::Value> =
        models.iter().map(|(name, report)| json!({ "model": name, "range": report })).collect();
    write_atomically(&arguments.output.join("range.json"), serde_json::to_string_pretty(&value)?.as_bytes())?;
    match range_chart(&models) {
        Ok(chart) => write_atomically(&arguments.output.join("range.svg"), chart.as_str().as_bytes())?,
        Err(reason) => say!("no chart of the range: {reason}"),
    }
    let mut out = stdout().lock();
    let graphs = models.first().map_or(0, |(_, report)| report.graphs);
    let over = if graphs == 1 { "one graph".to_owned() } else { format!("mean over {graphs} graphs") };
    writeln!(out, "\nshare of the gradient by distance, {over}")?;
    let mut header = vec![("hops", Align::Right)];
    header.extend(models.iter().map(|(name, _)| (name.as_str(), Align::Right)));
    header.push(("even spread", Align::Right));
    let mut table = Table::new(&header);
    let longest = models.iter().map(|(_, report)| report.pairs.len()).max().unwrap_or(0);
    let per_cent = |value: f64| format!("{:.1} %", 100.0 * value);
    let first = models.first().map(|(_, report)| report);
    for hops in 0..longest {
        let at = |values: &[f64]| per_cent(values.get(hops).copied().unwrap_or(0.0));
        let mut row = vec![hops.to_string()];
        row.extend(models.iter().map(|(_, report)| at(&report.shares)));
        row.extend(first.map(|report| at(&report.pairs)));
        table.row(row);
    }
    if first.is_some_and(|report| report.unreachable_pairs > 0.0) {
        let mut row = vec!["no path".to_owned()];
        row.extend(models.iter().map(|(_, report)| per_cent(report.unreachable)));
        row.extend(first.map(|report| per_cent(report.unreachable_pairs)));
        table.row(row);
    }
    write!(out, "{table}")?;
    for (name, report) in &models {
        writeln!(out, "{name}: mean distance {:.2} hops", report.mean_hops())?;
    }
    Ok(())
}

fn measure(explainer: &Explainer, graphs: &[Named], arguments: &Arguments) -> Result<RangeReport, Failure> {
    let prepared =
        explainer.prepare(&graphs.iter().map(|named| Arc::clone(&named.graph)).collect::<Vec<_>>());
    let fitting: Vec<&PreparedGraph> = prepared.iter().filter_map(|result| result.as_ref().ok()).collect();
    if fitting.len() < prepared.len() {
        say!("{} graphs do not fit the model and are left out of the range", prepared.len() - fitting.len());
    }
    Ok(explainer.range(&fitting, RangeOptions { output: arguments.target, ..RangeOptions::default() })?)
}

fn name_of(bundle: &Bundle) -> String {
    let model = &bundle.description().model;
    format!("{} + {}", model.local, model.global)
}
