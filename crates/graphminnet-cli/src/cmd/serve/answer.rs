//! From the text of a request to the text of an answer: what a client may ask, and what it gets.

use super::Bounds;
use crate::ui::coverage::doubts;
use graphminnet::Ensemble;
use graphminnet::bundle::{
    AnswerKind, AnswerRow, Answers, Conformal, DEFAULT_LEVEL, MaybeGraph, PredictError,
};
use graphminnet::config::Spread;
use graphminnet::explain::{Method, Target, explain_together};
use graphminnet_data::Graph;
use graphminnet_data::formats::Format;
use graphminnet_data::spectral::{Stop, Stopped, unless_stopped};
use graphminnet_data::{
    ADVICE, InputRow, Level, Limits, MoleculeReading, ReadOptions, RowReader, Schema, escape,
};
use graphminnet_report::draw::GraphPicture;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::io::Cursor;
use std::sync::Arc;

/// Graphs, and nodes and edges of all of them, that one request may have explained.
const EXPLAINED_GRAPHS: usize = 16;
const EXPLAINED_NODES: u64 = 4_000;

/// Nodes of one graph that have neither edges nor features.
const BARE_NODES: usize = 1_000;

/// Body of `POST /predict` and `POST /explain`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Molecules.
    smiles: Option<Vec<String>>,
    /// Graphs, each written as a line of JSON Lines.
    graphs: Option<Vec<Value>>,
    /// What is to be explained: a target or a class, by its name or its number.
    target: Option<String>,
}

/// What a request gets.
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// JSON text.
    pub body: String,
    /// Graphs that were predicted.
    pub graphs: usize,
}

impl Answer {
    /// An error message.
    pub fn error(status: u16, message: impl std::fmt::Display) -> Self {
        Self { status, body: json!({ "error": message.to_string() }).to_string(), graphs: 0 }
    }
}

/// One graph of a request: its name, and what it is or why it is nothing.
struct Item {
    id: String,
    graph: Result<Arc<Graph>, String>,
}

impl MaybeGraph for Item {
    fn graph(&self) -> Result<&Arc<Graph>, PredictError> {
        self.graph.as_ref().map_err(|reason| PredictError::Unusable { reason: reason.clone() })
    }
}

/// Why a request gets no list of answers.
pub enum Refused {
    /// It gets this instead.
    With(Answer),
    /// Nobody waits for it any more.
    Stopped,
}

impl From<Answer> for Refused {
    fn from(answer: Answer) -> Self {
        Self::With(answer)
    }
}

impl From<Stopped> for Refused {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

/// The models that answer.
pub struct Served {
    ensemble: Ensemble,
    /// Intervals and sets, where the models were calibrated.
    conformal: Option<Conformal>,
}

impl Served {
    /// Models with the calibration that they keep.
    pub fn new(ensemble: Ensemble) -> Self {
        // The level is a valid one, so there is no error.
        let conformal = ensemble.conformal(DEFAULT_LEVEL).ok().flatten();
        Self { ensemble, conformal }
    }

    /// Why intervals and sets are not to be relied on.
    pub fn doubts(&self) -> Vec<String> {
        self.conformal.as_ref().map_or_else(Vec::new, |conformal| doubts(&self.ensemble, conformal))
    }
}

/// Answers `POST /predict`.
pub fn predict(served: &Served, bounds: &Bounds, body: &[u8], stop: Stop<'_>) -> Result<Answer, Refused> {
    let (items, target) = read(&served.ensemble, bounds, body, stop)?;
    if target.is_some() {
        return Err(Answer::error(400, "\"target\" is for /explain: predictions are of all targets").into());
    }
    let answers = served.ensemble.answer_unless(&items, stop)?;
    let said = |at: usize| prediction(served, &answers, at, &items[at]).map_err(|error| error.to_string());
    list("predictions", &items, stop, said)
}

/// Answers `POST /explain`.
pub fn explain(served: &Served, bounds: &Bounds, body: &[u8], stop: Stop<'_>) -> Result<Answer, Refused> {
    let ensemble = &served.ensemble;
    // Every explanation runs a graph through the model a hundred times or so.
    let bounds = Bounds {
        graphs: bounds.graphs.min(EXPLAINED_GRAPHS),
        nodes: bounds.nodes.min(EXPLAINED_NODES),
        ..*bounds
    };
    let (items, target) = read(ensemble, &bounds, body, stop)?;
    let output = target.map(|target| ensemble.description().output_called(&target)).transpose();
    let output = output.map_err(|reason| Answer::error(400, format!("target {reason}")))?.flatten();
    let said = |at: usize| one_explanation(ensemble, &items[at], output, stop);
    list("explanations", &items, stop, said)
}

/// The answer to a request: an object for every graph, or the error in its place.
fn list(
    what: &str,
    items: &[Item],
    stop: Stop<'_>,
    said: impl Fn(usize) -> Result<Value, String>,
) -> Result<Answer, Refused> {
    let (mut list, mut graphs) = (Vec::with_capacity(items.len()), 0);
    for (at, item) in items.iter().enumerate() {
        let said = said(at);
        unless_stopped(stop)?;
        graphs += usize::from(said.is_ok());
        let mut object = said.unwrap_or_else(|error| json!({ "error": error }));
        object["id"] = Value::String(item.id.clone());
        list.push(object);
    }
    Ok(Answer { status: 200, body: json!({ what: list }).to_string(), graphs })
}

fn one_explanation(
    ensemble: &Ensemble,
    item: &Item,
    output: Option<usize>,
    stop: Stop<'_>,
) -> Result<Value, String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let graph = item.graph().map_err(|error| text(&error))?;
    let explanation =
        explain_together(ensemble, graph, Target { node: None, output }, Method::Integrated, stop);
    let explanation = explanation.map_err(|error| text(&error))?;
    let picture = GraphPicture {
        meaning: "red raises the prediction, blue lowers it",
        featurizer: ensemble.description().featurizer,
        node_values: &explanation.nodes,
        edge_values: &explanation.edges,
        ..GraphPicture::new(&item.id, graph)
    };
    let svg = picture.svg().map_err(|error| text(&error))?;
    Ok(json!({
        "prediction": explanation.prediction,
        "baseline": explanation.baseline,
        "node": explanation.node,
        "output": explanation.output,
        "nodes": explanation.nodes,
        "edges": explanation.edges,
        // Whoever sends a molecule does not see its edges.
        "ends": graph.edges(),
        "gap": explanation.gap(),
        "svg": svg.to_string(),
    }))
}

/// What the models are, for `GET /model`.
pub fn describe(served: &Served) -> String {
    let Served { ensemble, conformal } = served;
    let description = ensemble.description();
    let schema = &description.schema;
    let reading = molecule_reading(schema);
    let chosen = ensemble.members().map(|member| {
        let selection = &member.description().selection;
        let mut shown = json!(selection);
        // Counted from 1 wherever somebody reads it.
        shown["epoch"] = json!(selection.epoch + 1);
        shown
    });
    let selections: Vec<Value> = chosen.collect();
    // Of several models none stands for all.
    let only = if let [only] = selections.as_slice() { Some(only) } else { None };
    json!({
        "name": description.name,
        "models": ensemble.len(),
        "targets": schema.targets,
        "task": schema.task,
        "level": schema.level,
        "classes": schema.class_names,
        "positive_class": description.ranked_class(),
        "interval_level": conformal.as_ref().map(Conformal::level),
        "warnings": served.doubts(),
        "node_columns": schema.node_columns,
        "edge_columns": schema.edge_columns,
        "takes_smiles": reading.is_ok(),
        "why_no_smiles": reading.err(),
        "selection": only,
        "selections": selections,
    })
    .to_string()
}

/// How a SMILES string becomes a graph, or why one is not enough: a request has no further columns.
fn molecule_reading(schema: &Schema) -> Result<MoleculeReading, String> {
    let reading = MoleculeReading::of_schema(schema);
    let reading = reading.ok_or("this model was not trained on molecules: send \"graphs\"")?;
    let Some(table) = &schema.molecules else { return Ok(reading) };
    let listed = |names: &[String]| escape(&names.join(", "));
    if !table.further.is_empty() {
        return Err(format!(
            "this model reads the molecules of several columns together ({}, {}), and a request has one: ask `graphminnet \
             predict` with a table of them",
            escape(&table.column),
            listed(&table.further)
        ));
    }
    if !table.descriptors.is_empty() {
        return Err(format!(
            "this model needs descriptors beside the molecule ({}), and a request has none: ask `graphminnet predict` with \
             a table that has these columns",
            listed(&table.descriptors)
        ));
    }
    Ok(reading)
}

fn prediction(served: &Served, answers: &Answers, at: usize, item: &Item) -> Result<Value, PredictError> {
    let answer = answers.graph(at)?;
    let ensemble = &served.ensemble;
    let mut rows = answer.rows().map(|row| row_value(served, &row));
    Ok(match ensemble.description().schema.level {
        Level::Node => json!({ "nodes": rows.collect::<Vec<_>>() }),
        Level::Edge => {
            // Whoever sends a molecule does not see its edges: each answer says between which atoms it is.
            let places = ensemble.description().places(item.graph()?);
            let placed = rows.zip(places).filter_map(|(mut row, ends)| {
                row["ends"] = json!(ends?);
                Some(row)
            });
            json!({ "edges": placed.collect::<Vec<_>>() })
        }
        Level::Pair => json!({ "pairs": rows.collect::<Vec<_>>() }),
        Level::Graph => rows.next().unwrap_or_default(),
    })
}

fn row_value(Served { ensemble, conformal }: &Served, row: &AnswerRow<'_>) -> Value {
    let description = ensemble.description();
    let (key, names) = match description.answers() {
        AnswerKind::Binary if description.positive_class().is_none() => {
            ("probabilities", description.schema.targets.clone())
        }
        AnswerKind::Binary | AnswerKind::Classes => ("probabilities", description.classes_with_probability()),
        _ => ("values", description.schema.targets.clone()),
    };
    let named = |values: Vec<f64>| -> Map<String, Value> {
        names.iter().cloned().zip(values.into_iter().map(Value::from)).collect()
    };
    let mut object = json!({ key: named(row.values()) });
    if let Some(class) = description.said_class(row) {
        object["class"] = Value::String(class);
    }
    let spread = description.spread();
    if ensemble.len() > 1 || spread == Spread::Normal {
        object["deviations"] = Value::Object(named(row.deviations()));
    }
    let levels = spread.other_levels();
    if !levels.is_empty() {
        let quantiles = row.quantiles();
        let of_target = |values: &[f64]| -> Value {
            let pairs = levels.iter().map(f64::to_string).zip(values.iter().copied().map(Value::from));
            Value::Object(pairs.collect())
        };
        let by_target = names.iter().cloned().zip(quantiles.chunks(levels.len()).map(of_target));
        object["quantiles"] = Value::Object(by_target.collect());
    }
    let Some(conformal) = conformal else { return object };
    let values = row.values();
    let of_targets = |of: &dyn Fn(usize) -> Option<Value>| -> Value {
        let targets = description.schema.targets.iter().enumerate();
        Value::Object(targets.filter_map(|(at, target)| Some((target.clone(), of(at)?))).collect())
    };
    let kind = description.answers();
    match kind {
        AnswerKind::Numbers => {
            let deviations = row.deviations();
            object["intervals"] = of_targets(&|at| {
                let (low, high) =
                    conformal.interval(at, *values.get(at)?, deviations.get(at).copied().unwrap_or(0.0));
                // Few labels promise nothing but that the truth is a number.
                (low.is_finite() && high.is_finite()).then(|| json!([low, high]))
            });
        }
        _ => {
            let name = |class: usize| description.class_name(class);
            object["sets"] = of_targets(&|at| {
                Some(conformal.set(at, &values).into_iter().map(name).collect::<Vec<_>>().into())
            });
            if kind == AnswerKind::Binary {
                let corrected = values.iter().enumerate().map(|(at, yes)| conformal.corrected(at, *yes));
                object["calibrated"] = Value::Object(named(corrected.collect()));
            }
        }
    }
    object
}

/// The graphs of a request, and what of them is asked for.
fn read(
    ensemble: &Ensemble,
    bounds: &Bounds,
    body: &[u8],
    stop: Stop<'_>,
) -> Result<(Vec<Item>, Option<String>), Refused> {
    let request: Request = serde_json::from_slice(body).map_err(|error| {
        Answer::error(
            400,
            format!("not a request: {error}; expected {{\"smiles\": [\"CCO\"]}} or {{\"graphs\": [{{…}}]}}"),
        )
    })?;
    let smiles = request.smiles.unwrap_or_default();
    let graphs = request.graphs.unwrap_or_default();
    let count = smiles.len() + graphs.len();
    if count == 0 {
        return Err(Answer::error(400, "no graphs: give \"smiles\" or \"graphs\"").into());
    }
    if count > bounds.graphs {
        let message = format!("{count} graphs in one request; at most {} are accepted", bounds.graphs);
        return Err(Answer::error(413, message).into());
    }
    let mut limits = Limits::default();
    limits.nodes_per_graph = bounds.nodes;
    limits.edges_per_graph = bounds.nodes;
    let mut items = molecules(ensemble, smiles, &limits, stop)?;
    items.extend(own_graphs(ensemble, &graphs, limits)?);
    let total = |size: fn(&Graph) -> usize| -> u64 {
        items.iter().filter_map(|item| item.graph.as_ref().ok()).map(|graph| size(graph) as u64).sum()
    };
    for (what, size) in [("nodes", total(Graph::num_nodes)), ("edges", total(Graph::num_edges))] {
        if size > bounds.nodes {
            let message = format!("{size} {what} in one request; at most {} are accepted", bounds.nodes);
            return Err(Answer::error(413, message).into());
        }
    }
    Ok((items, request.target))
}

fn molecules(
    ensemble: &Ensemble,
    smiles: Vec<String>,
    limits: &Limits,
    stop: Stop<'_>,
) -> Result<Vec<Item>, Refused> {
    if smiles.is_empty() {
        return Ok(Vec::new());
    }
    let reading =
        molecule_reading(&ensemble.description().schema).map_err(|reason| Answer::error(422, reason))?;
    let item = |text: String| {
        unless_stopped(stop)?;
        let graph = reading.graph(&text, limits).map(Arc::new);
        Ok(Item { graph: graph.map_err(|error| in_own_words(&error.to_string())), id: text })
    };
    smiles.into_iter().map(item).collect()
}

fn own_graphs(ensemble: &Ensemble, graphs: &[Value], limits: Limits) -> Result<Vec<Item>, Refused> {
    if graphs.is_empty() {
        return Ok(Vec::new());
    }
    let mut lines = String::new();
    for graph in graphs {
        lines.push_str(&graph.to_string());
        lines.push('\n');
    }
    let options =
        ReadOptions { format: Some(Format::Jsonl), limits, ..ensemble.description().read_options() };
    let unusable = |error: graphminnet_data::DataError| Answer::error(422, in_own_words(&error.to_string()));
    let mut reader = RowReader::from_stream(Box::new(Cursor::new(lines.into_bytes())), "request", &options)
        .map_err(unusable)?;
    let rows: Vec<InputRow> = reader.next_rows(graphs.len()).map_err(unusable)?;
    let item = |row: InputRow| {
        let graph = row.graph.map_err(|bad| in_own_words(&bad.to_string()));
        Item { id: row.id, graph: graph.and_then(|graph| with_few_bare_nodes(&graph).map(|()| graph)) }
    };
    Ok(rows.into_iter().map(item).collect())
}

/// A reason without the options of commands that read files, which a server does not have.
fn in_own_words(reason: &str) -> String {
    match reason.split_once(ADVICE) {
        None => reason.to_owned(),
        Some((what, _)) if what.contains("nodes_per_graph") || what.contains("edges_per_graph") => {
            format!("{what}; `serve --max-nodes` raises it")
        }
        Some((what, _)) => what.to_owned(),
    }
}

/// Fails for a graph most of whose nodes are only counted: a short request must not ask for much work.
fn with_few_bare_nodes(graph: &Graph) -> Result<(), String> {
    let features = graph.node_features();
    if features.category_columns() + features.number_columns() > 0 {
        return Ok(());
    }
    let mut is_named = vec![false; graph.num_nodes()];
    graph.edges().iter().flatten().for_each(|&node| is_named[node as usize] = true);
    let bare = is_named.iter().filter(|is_named| !**is_named).count();
    if bare > BARE_NODES {
        return Err(format!(
            "{bare} nodes have neither edges nor features; at most {BARE_NODES} such nodes are accepted in a graph"
        ));
    }
    Ok(())
}
