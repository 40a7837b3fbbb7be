//! From the text of a request to the text of an answer: what a client may ask, and what it is told.

use super::Bounds;
use graphminnet::bundle::{AnswerKind, Bundle, Predictions};
use graphminnet::data::Graph;
use graphminnet::data::formats::Format;
use graphminnet::data::smiles::{Featurizer, molecule_graph};
use graphminnet::data::{InputRow, Limits, ReadOptions, RowReader};
use graphminnet::explain::{Explainer, Method, Target};
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

/// Answers `POST /predict`.
pub fn predict(bundle: &Bundle, bounds: &Bounds, body: &[u8]) -> Answer {
    let items = match read(bundle, bounds, body) {
        Ok(items) => items,
        Err(answer) => return answer,
    };
    let mut sound: Vec<(usize, _)> = Vec::with_capacity(items.len());
    let mut said: Vec<Option<Value>> = vec![None; items.len()];
    let graphs: Vec<(usize, Arc<Graph>)> = items
        .iter()
        .enumerate()
        .filter_map(|(at, item)| Some((at, Arc::clone(item.graph.as_ref().ok()?))))
        .collect();
    let list: Vec<Arc<Graph>> = graphs.iter().map(|(_, graph)| Arc::clone(graph)).collect();
    for ((at, _), prepared) in graphs.iter().zip(bundle.prepare(&list)) {
        match prepared {
            Ok(prepared) => sound.push((*at, prepared)),
            Err(error) => said[*at] = Some(json!({ "error": error.to_string() })),
        }
    }
    let prepared: Vec<_> = sound.iter().map(|(_, prepared)| prepared).collect();
    let predictions = match bundle.predict_prepared(&prepared) {
        Ok(predictions) => predictions,
        Err(error) => return Answer::error(422, error),
    };
    for (number, (at, _)) in sound.iter().enumerate() {
        said[*at] = Some(prediction(bundle, &predictions, number));
    }
    let list: Vec<Value> = items
        .into_iter()
        .zip(said)
        .map(|(item, said)| {
            let mut object = said.unwrap_or_else(|| json!({ "error": item.graph.err().unwrap_or_default() }));
            object["id"] = Value::String(item.id);
            object
        })
        .collect();
    let body = json!({ "predictions": list }).to_string();
    Answer { status: 200, body, graphs: sound.len() }
}

/// Answers `POST /explain`.
pub fn explain(bundle: &Bundle, explainer: &Explainer, bounds: &Bounds, body: &[u8]) -> Answer {
    // Every explanation runs a graph through the model a hundred times or so.
    let bounds = Bounds {
        graphs: bounds.graphs.min(EXPLAINED_GRAPHS),
        nodes: bounds.nodes.min(EXPLAINED_NODES),
        ..*bounds
    };
    let items = match read(bundle, &bounds, body) {
        Ok(items) => items,
        Err(answer) => return answer,
    };
    let mut explained = 0;
    let list: Vec<Value> = items
        .into_iter()
        .map(|item| {
            let mut object =
                match item.graph.and_then(|graph| one_explanation(bundle, explainer, &item.id, &graph)) {
                    Ok(object) => {
                        explained += 1;
                        object
                    }
                    Err(error) => json!({ "error": error }),
                };
            object["id"] = Value::String(item.id);
            object
        })
        .collect();
    Answer { status: 200, body: json!({ "explanations": list }).to_string(), graphs: explained }
}

fn one_explanation(
    bundle: &Bundle,
    explainer: &Explainer,
    id: &str,
    graph: &Arc<Graph>,
) -> Result<Value, String> {
    let prepared =
        explainer.prepare(std::slice::from_ref(graph)).pop().ok_or("no graph")?.map_err(|e| e.to_string())?;
    let explanation = explainer
        .explain(&prepared, Target::default(), Method::Integrated)
        .map_err(|error| error.to_string())?;
    let description = bundle.description();
    let picture = GraphPicture {
        meaning: "red raises the prediction, blue lowers it",
        featurizer: description.featurizer,
        node_values: &explanation.nodes,
        edge_values: &explanation.edges,
        ..GraphPicture::new(id, graph)
    };
    let svg = picture.svg().map_err(|error| error.to_string())?;
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

/// What the model is, for `GET /model`.
pub fn describe(bundle: &Bundle) -> String {
    let description = bundle.description();
    let schema = &description.schema;
    json!({
        "name": description.name,
        "targets": schema.targets,
        "task": schema.task,
        "level": schema.level,
        "classes": schema.class_names,
        "node_columns": schema.node_columns,
        "edge_columns": schema.edge_columns,
        "takes_smiles": Featurizer::of_schema(schema).is_some(),
        "selection": description.selection,
    })
    .to_string()
}

fn prediction(bundle: &Bundle, predictions: &Predictions, graph: usize) -> Value {
    let rows = predictions.rows_of(graph);
    if bundle.description().model.level == graphminnet::config::LevelKind::Node {
        return json!({ "nodes": rows.map(|row| row_value(bundle, predictions, row)).collect::<Vec<_>>() });
    }
    row_value(bundle, predictions, rows.start)
}

fn row_value(bundle: &Bundle, predictions: &Predictions, row: usize) -> Value {
    let description = bundle.description();
    let named = |names: Vec<String>| -> Map<String, Value> {
        names.into_iter().zip(predictions.values(row).into_iter().map(Value::from)).collect()
    };
    match predictions.kind() {
        AnswerKind::YesNo => json!({ "probabilities": named(description.schema.targets.clone()) }),
        AnswerKind::Classes => {
            let classes = (0..predictions.columns()).map(|class| description.class_name(class)).collect();
            let class = predictions.class(row).map(|class| description.class_name(class));
            json!({ "class": class, "probabilities": named(classes) })
        }
        _ => json!({ "values": named(description.schema.targets.clone()) }),
    }
}

fn read(bundle: &Bundle, bounds: &Bounds, body: &[u8]) -> Result<Vec<Item>, Answer> {
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
    let mut items = molecules(bundle, smiles, &limits)?;
    items.extend(own_graphs(bundle, &graphs, limits)?);
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

fn molecules(bundle: &Bundle, smiles: Vec<String>, limits: &Limits) -> Result<Vec<Item>, Answer> {
    if smiles.is_empty() {
        return Ok(Vec::new());
    }
    let Some(featurizer) = Featurizer::of_schema(&bundle.description().schema) else {
        return Err(Answer::error(422, "this model was not trained on molecules: send \"graphs\""));
    };
    let item = |text: String| Item {
        graph: molecule_graph(&text, featurizer, limits).map(Arc::new).map_err(|error| error.to_string()),
        id: text,
    };
    Ok(smiles.into_iter().map(item).collect())
}

fn own_graphs(bundle: &Bundle, graphs: &[Value], limits: Limits) -> Result<Vec<Item>, Answer> {
    if graphs.is_empty() {
        return Ok(Vec::new());
    }
    let mut lines = String::new();
    for graph in graphs {
        lines.push_str(&graph.to_string());
        lines.push('\n');
    }
    let options = ReadOptions { format: Some(Format::Jsonl), limits, ..bundle.description().read_options() };
    let unusable = |error: graphminnet::data::DataError| Answer::error(422, error);
    let mut reader = RowReader::from_stream(Box::new(Cursor::new(lines.into_bytes())), "request", &options)
        .map_err(unusable)?;
    let rows: Vec<InputRow> = reader.next_rows(graphs.len()).map_err(unusable)?;
    let item = |row: InputRow| Item { id: row.id, graph: row.graph.map_err(|bad| bad.to_string()) };
    Ok(rows.into_iter().map(item).collect())
}
