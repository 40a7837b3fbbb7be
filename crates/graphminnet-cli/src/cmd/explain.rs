//! `graphminnet explain`: which nodes and edges a prediction rests on, and from how far away its gradient comes.

use super::model_args::{InputArguments, ModelArguments};
use super::rows::{Input, RowNames};
use crate::failure::Failure;
use crate::ui::say::say;
use crate::ui::table::{Align, Table};
use clap::Args;
use graphminnet::Bundle;
use graphminnet::bundle::Description;
use graphminnet::explain::{ExplainError, Explainer, Explanation, Method, RangeOptions, RangeReport, Target};
use graphminnet::report::{explanation_picture, range_chart};
use graphminnet_data::formats::{NodeNames, node_text};
use graphminnet_data::fs::write_atomically;
use graphminnet_data::spectral::PreparedGraph;
use graphminnet_data::text::counted;
use graphminnet_data::{Graph, escape};
use serde_json::json;
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Rows that are looked at before the next are read.
const ROWS: usize = 1024;

/// The file of all explanations in their folder.
const EXPLANATIONS: &str = "explanations.jsonl";

/// What to explain, with what.
#[derive(Args)]
#[command(mut_arg("models", |model| model.help("A model: a `.gmn` file, or the folder of a seed or of a run with a single one")))]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    input: InputArguments,
    /// gradient (× input, fast) or integrated (gradients; the shares add up to the prediction).
    #[arg(long, default_value_t = Method::Integrated)]
    method: Method,
    /// Only the graph with this name (in a table: in the column `id`) or, where none is called so, with this number in the
    /// file (from 0); may be repeated.
    #[arg(long = "graph", value_name = "ID")]
    graphs: Vec<String>,
    /// The node whose prediction is explained, for models that answer per node, by its name in the data (`node_id` of a CSV
    /// folder) or, where nodes have none, by its number (default: the first).
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// The target or class that is explained, by its name or else its number (from 0); without it the predicted class, or
    /// the first target.
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Graphs that are explained at most; the range report takes up to ten times as many.
    #[arg(long, default_value_t = 20)]
    limit: usize,
    /// Also say from how many hops away the gradient comes, averaged over the graphs.
    #[arg(long)]
    range: bool,
    /// A second model (a `.gmn` file, or a folder with one), such as one without the global block, for the range report.
    #[arg(long, value_name = "MODEL", requires = "range")]
    beside: Option<PathBuf>,
    /// Folder for explanations.jsonl, one picture per graph, range.json and range.svg; created if needed. One that holds
    /// explanations already is refused.
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,
}

/// A graph with its name.
struct Named {
    id: String,
    title: String,
    graph: Arc<Graph>,
}

/// A row of the input that may be explained.
struct Row {
    id: String,
    /// Its number in the file, as text.
    number: String,
    title: String,
    graph: Result<Arc<Graph>, String>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    // Pictures of an earlier call would stand beside the new ones as if they belonged together.
    if arguments.output.join(EXPLANATIONS).exists() {
        return Err(Failure::usage(format!(
            "--output {}: the folder holds explanations already ({EXPLANATIONS}); name another, or remove it first",
            arguments.output.display()
        )));
    }
    arguments.model.on_threads(|| {
        let bundle = arguments.model.load_one()?;
        let beside = arguments.beside.as_ref().map(|path| arguments.model.load_beside(path)).transpose()?;
        let about = bundle.description();
        let (mut graphs, mut bad) = (Vec::new(), Vec::new());
        for Row { id, title, graph, .. } in read(arguments.input.open(about, None)?, about, arguments)? {
            match graph {
                Ok(graph) => graphs.push(Named { id, title, graph }),
                Err(reason) => bad.push(reason),
            }
        }
        for reason in bad.iter().take(5) {
            say!("left out: {reason}");
        }
        if graphs.is_empty() {
            return Err(nothing());
        }
        let explainer = Explainer::new(&bundle);
        let kept: Vec<&Named> = graphs.iter().take(arguments.limit).collect();
        if kept.len() < graphs.len() && !arguments.range {
            say!("the first {} graphs are explained; --limit takes more", kept.len());
        }
        explain_all(&explainer, about, &kept, arguments)?;
        if arguments.range {
            range(&explainer, &bundle, beside.as_ref(), &graphs, arguments)?;
        }
        say!("written to {}", arguments.output.display());
        Ok(ExitCode::SUCCESS)
    })
}

fn nothing() -> Failure {
    Failure::usage("there is no graph to explain: none was given, or all were left out")
}

/// The rows to explain: those that were asked for, or the first ones.
fn read(mut reader: Input, about: &Description, arguments: &Arguments) -> Result<Vec<Row>, Failure> {
    let limit = arguments.limit;
    let wanted = if arguments.range { limit.saturating_mul(10) } else { limit.saturating_add(1) };
    let (names, asked) = (RowNames::of(&reader, about), arguments.graphs.as_slice());
    // Rows that each of the names stands for.
    let mut meant = vec![0usize; asked.len()];
    let (mut found, mut usable, mut count) = (Vec::new(), 0, 0usize);
    loop {
        let rows = reader.next_rows(ROWS)?;
        if rows.is_empty() || (asked.is_empty() && usable >= wanted) {
            return only_asked(found, asked);
        }
        for row in rows {
            let (id, number) = (names.name(&row, count), count.to_string());
            count += 1;
            let mut is_wanted = asked.is_empty() && usable < wanted;
            for (name, meant) in asked.iter().zip(&mut meant) {
                if *name == id || *name == number {
                    // One more than wanted: the one that has this number may have another name.
                    is_wanted |= *meant <= wanted;
                    *meant += 1;
                }
            }
            if is_wanted {
                usable += usize::from(row.graph.is_ok());
                let text = String::from_utf8_lossy(&row.text).into_owned();
                let title = if text.is_empty() { id.clone() } else { format!("{id}: {text}") };
                let graph = row.graph.map_err(|reason| reason.to_string());
                found.push(Row { id, number, title, graph });
            }
        }
    }
}

/// Of the rows that have one of the names or numbers those that are meant: a number is one only where no row is called so.
fn only_asked(mut found: Vec<Row>, asked: &[String]) -> Result<Vec<Row>, Failure> {
    if asked.is_empty() {
        return Ok(found);
    }
    let are_names: Vec<bool> = asked.iter().map(|name| found.iter().any(|row| row.id == *name)).collect();
    let asked: Vec<(&String, bool)> = asked.iter().zip(are_names).collect();
    let means =
        |row: &Row, (name, is_name): (&String, bool)| name == if is_name { &row.id } else { &row.number };
    let missing = asked.iter().filter(|asked| !found.iter().any(|row| means(row, **asked)));
    let missing: Vec<String> = missing.map(|(name, _)| format!("`{}`", escape(name))).collect();
    if !missing.is_empty() {
        return Err(Failure::usage(format!(
            "--graph: no graph is called {}, or has this number in the file (from 0)",
            missing.join(" or ")
        )));
    }
    found.retain(|row| asked.iter().any(|asked| means(row, *asked)));
    Ok(found)
}

/// The output that was asked for.
fn output(about: &Description, arguments: &Arguments) -> Result<Option<usize>, Failure> {
    let Some(asked) = &arguments.target else { return Ok(None) };
    about.output_called(asked).map_err(|reason| Failure::usage(format!("--target {reason}")))
}

fn explain_all(
    explainer: &Explainer,
    about: &Description,
    graphs: &[&Named],
    arguments: &Arguments,
) -> Result<(), Failure> {
    let names = arguments.input.node_names(about)?;
    let names = names.as_ref();
    let output = output(about, arguments)?;
    let prepared =
        explainer.prepare(&graphs.iter().map(|named| Arc::clone(&named.graph)).collect::<Vec<_>>());
    let mut explained = Vec::new();
    for (named, prepared) in graphs.iter().zip(&prepared) {
        let explanation = match prepared {
            Ok(graph) => {
                let node =
                    arguments.node.as_ref().map(|node| number_of(node, &named.id, names)).transpose()?;
                explainer.explain(graph, Target { node, output }, arguments.method)
            }
            Err(reason) => Err(reason.clone().into()),
        };
        match explanation {
            Ok(explanation) => {
                let what = explanation.subject_at(about, |node| node_text(names, &named.id, node as u32));
                explained.push((named, what, explanation));
            }
            // What is wrong with one graph says nothing about the others.
            Err(
                reason @ (ExplainError::Predict(_)
                | ExplainError::Input(_)
                | ExplainError::NoNodes
                | ExplainError::NonFinite { .. }),
            ) => say!("left out: graph {}: {reason}", named.id),
            Err(error) => return Err(error.into()),
        }
    }
    if explained.is_empty() {
        return Err(nothing());
    }
    let lines = explained.iter().map(|(named, what, explanation)| {
        let mut line = as_json(named, what, explanation);
        if names.is_some() {
            let nodes = 0..explanation.nodes.len() as u32;
            line["node_names"] = nodes.map(|node| node_text(names, &named.id, node)).collect();
        }
        format!("{line}\n")
    });
    std::fs::create_dir_all(&arguments.output)?;
    write_atomically(&arguments.output.join(EXPLANATIONS), lines.collect::<String>().as_bytes())?;
    let mut table = Table::new(&[
        ("graph", Align::Left),
        ("explained", Align::Left),
        ("prediction", Align::Right),
        ("baseline", Align::Right),
        ("gap", Align::Right),
        ("strongest nodes", Align::Left),
    ]);
    for (number, (named, what, explanation)) in explained.into_iter().enumerate() {
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
            strongest(&explanation, |node| node_text(names, &named.id, node as u32)),
        ]);
    }
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

/// The number of a node that was asked for.
fn number_of(node: &str, graph: &str, names: Option<&NodeNames>) -> Result<usize, Failure> {
    let number = match names {
        Some(names) => names.number(Some(graph), node).map(|number| number as usize),
        None => node.parse().map_err(|_| format!("{}: expected a number, from 0", escape(node))),
    };
    number.map_err(|reason| Failure::usage(format!("--node {reason} (graph {})", escape(graph))))
}

fn strongest(explanation: &Explanation, name: impl Fn(usize) -> String) -> String {
    let mut order: Vec<usize> = (0..explanation.nodes.len()).collect();
    let size = |at: usize| explanation.nodes[at].abs();
    order.sort_by(|&a, &b| size(b).total_cmp(&size(a)).then(a.cmp(&b)));
    let words = order.iter().take(3).map(|&at| format!("{} ({:+.4})", name(at), explanation.nodes[at]));
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
    beside: Option<&Bundle>,
    graphs: &[Named],
    arguments: &Arguments,
) -> Result<(), Failure> {
    let mut models = vec![(name_of(bundle), measure(explainer, bundle, graphs, arguments)?)];
    if let Some(other) = beside {
        models.push((name_of(other), measure(&Explainer::new(other), other, graphs, arguments)?));
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

fn measure(
    explainer: &Explainer,
    bundle: &Bundle,
    graphs: &[Named],
    arguments: &Arguments,
) -> Result<RangeReport, Failure> {
    // By name: another model may have its outputs in another order.
    let output = output(bundle.description(), arguments)?;
    let prepared =
        explainer.prepare(&graphs.iter().map(|named| Arc::clone(&named.graph)).collect::<Vec<_>>());
    let fitting: Vec<&PreparedGraph> = prepared.iter().filter_map(|result| result.as_ref().ok()).collect();
    if fitting.len() < prepared.len() {
        say!("{} graphs do not fit the model and are left out of the range", prepared.len() - fitting.len());
    }
    Ok(explainer.range(&fitting, RangeOptions { output, ..RangeOptions::default() })?)
}

fn name_of(bundle: &Bundle) -> String {
    let model = &bundle.description().model;
    format!("{} + {}", model.local, model.global)
}
