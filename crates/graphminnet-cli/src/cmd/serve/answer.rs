//! From the text of a request to the text of an answer: what a client may ask, and what it gets.

use super::Bounds;
use graphminnet::Ensemble;
use graphminnet::bundle::{AnswerKind, AnswerRow, Answers, MaybeGraph, PredictError};
use graphminnet::explain::{Method, Target, explain_together};
use graphminnet_data::Graph;
use graphminnet_data::formats::Format;
use graphminnet_data::smiles::{Featurizer, molecule_graph};
use graphminnet_data::{InputRow, Level, Limits, ReadOptions, RowReader};
use graphminnet_report::draw::GraphPicture;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::io::Cursor;
use std::sync::Arc;

/// Graphs, and nodes and edges of all of them, that one request may have explained.
const EXPLAINED_GRAPHS: usize = 16;
const EXPLAINED_NODES: u64 = 4_000;

/// Body of `POST /predict` and `POST /explain`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Molecules.
    smiles: Option<Vec<String>>,
    /// Graphs, each written as a line of JSON Lines.
    graphs: Option<Vec<Value>>,
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

/// Answers `POST /predict`.
pub fn predict(ensemble: &Ensemble, bounds: &Bounds, body: &[u8]) -> Answer {
    let items = match read(ensemble, bounds, body) {
        Ok(items) => items,
        Err(answer) => return answer,
    };
    let answers = ensemble.answer(&items);
    list("predictions", &items, |at| prediction(ensemble, &answers, at).map_err(|error| error.to_string()))
}

/// The answer to a request: an object for every graph, or the error in its place.
fn list(what: &str, items: &[Item], mut said: impl FnMut(usize) -> Result<Value, String>) -> Answer {
    let mut graphs = 0;
    let one = |(at, item): (usize, &Item)| {
        let mut object = match said(at) {
            Ok(object) => {
                graphs += 1;
                object
            }
            Err(error) => json!({ "error": error }),
        };
        object["id"] = Value::String(item.id.clone());
        object
    };
    let list: Vec<Value> = items.iter().enumerate().map(one).collect();
    Answer { status: 200, body: json!({ what: list }).to_string(), graphs }
}

/// Answers `POST /explain`.
pub fn explain(ensemble: &Ensemble, bounds: &Bounds, body: &[u8]) -> Answer {
    // Every explanation runs a graph through the model a hundred times or so.
    let bounds = Bounds {
        graphs: bounds.graphs.min(EXPLAINED_GRAPHS),
        nodes: bounds.nodes.min(EXPLAINED_NODES),
        ..*bounds
    };
    let items = match read(ensemble, &bounds, body) {
        Ok(items) => items,
        Err(answer) => return answer,
    };
    let answers = ensemble.answer(&items);
    list("explanations", &items, |at| one_explanation(ensemble, &answers, at, &items[at]))
}

fn one_explanation(ensemble: &Ensemble, answers: &Answers, at: usize, item: &Item) -> Result<Value, String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let graph = item.graph().map_err(|error| text(&error))?;
    let answer = answers.graph(at).map_err(|error| text(&error))?;
    // All models explain the class that they chose together.
    let target = Target { node: None, output: answer.rows().next().and_then(|row| row.class()) };
    let explanation = explain_together(ensemble, graph, target, Method::Integrated);
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
        "gap": explanation.gap(),
        "svg": svg.to_string(),
    }))
}

/// What the models are, for `GET /model`.
pub fn describe(ensemble: &Ensemble) -> String {
    let description = ensemble.description();
    let schema = &description.schema;
    json!({
        "name": description.name,
        "models": ensemble.len(),
        "targets": schema.targets,
        "task": schema.task,
        "level": schema.level,
        "classes": schema.class_names,
        "positive_class": description.ranked_class(),
        "node_columns": schema.node_columns,
        "edge_columns": schema.edge_columns,
        "takes_smiles": Featurizer::of_schema(schema).is_some(),
        "selection": description.selection,
    })
    .to_string()
}

fn prediction(ensemble: &Ensemble, answers: &Answers, graph: usize) -> Result<Value, PredictError> {
    let answer = answers.graph(graph)?;
    let mut rows = answer.rows().map(|row| row_value(ensemble, &row));
    Ok(match ensemble.description().schema.level {
        Level::Node => json!({ "nodes": rows.collect::<Vec<_>>() }),
        Level::Edge => json!({ "edges": rows.collect::<Vec<_>>() }),
        Level::Graph => rows.next().unwrap_or_default(),
    })
}

fn row_value(ensemble: &Ensemble, row: &AnswerRow<'_>) -> Value {
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
    if ensemble.len() > 1 {
        object["deviations"] = Value::Object(named(row.deviations()));
    }
    object
}

fn read(ensemble: &Ensemble, bounds: &Bounds, body: &[u8]) -> Result<Vec<Item>, Answer> {
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
        return Err(Answer::error(400, "no graphs: give \"smiles\" or \"graphs\""));
    }
    if count > bounds.graphs {
        return Err(Answer::error(
            413,
            format!("{count} graphs in one request; at most {} are accepted", bounds.graphs),
        ));
    }
    let mut limits = Limits::default();
    limits.nodes_per_graph = bounds.nodes;
    limits.edges_per_graph = bounds.nodes;
    let mut items = molecules(ensemble, smiles, &limits)?;
    items.extend(own_graphs(ensemble, &graphs, limits)?);
    let total = |size: fn(&Graph) -> usize| -> u64 {
        items.iter().filter_map(|item| item.graph.as_ref().ok()).map(|graph| size(graph) as u64).sum()
    };
    for (what, size) in [("nodes", total(Graph::num_nodes)), ("edges", total(Graph::num_edges))] {
        if size > bounds.nodes {
            let message = format!("{size} {what} in one request; at most {} are accepted", bounds.nodes);
            return Err(Answer::error(413, message));
        }
    }
    Ok(items)
}

fn molecules(ensemble: &Ensemble, smiles: Vec<String>, limits: &Limits) -> Result<Vec<Item>, Answer> {
    if smiles.is_empty() {
        return Ok(Vec::new());
    }
    let Some(featurizer) = Featurizer::of_schema(&ensemble.description().schema) else {
        return Err(Answer::error(422, "this model was not trained on molecules: send \"graphs\""));
    };
    let item = |text: String| Item {
        graph: molecule_graph(&text, featurizer, limits).map(Arc::new).map_err(|error| error.to_string()),
        id: text,
    };
    Ok(smiles.into_iter().map(item).collect())
}

fn own_graphs(ensemble: &Ensemble, graphs: &[Value], limits: Limits) -> Result<Vec<Item>, Answer> {
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
    let unusable = |error: graphminnet_data::DataError| Answer::error(422, error);
    let mut reader = RowReader::from_stream(Box::new(Cursor::new(lines.into_bytes())), "request", &options)
        .map_err(unusable)?;
    let rows: Vec<InputRow> = reader.next_rows(graphs.len()).map_err(unusable)?;
    let item = |row: InputRow| Item { id: row.id, graph: row.graph.map_err(|bad| bad.to_string()) };
    Ok(rows.into_iter().map(item).collect())
}
