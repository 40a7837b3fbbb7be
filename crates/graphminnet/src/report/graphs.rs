//! The parts of a report that need the graphs: the worst-predicted ones drawn, and the range of the predictions.

use super::predictions::{Row, worst};
use super::range_chart;
use super::run::Run;
use crate::bundle::{Bundle, EXTENSION};
use crate::explain::{Explainer, Method, RangeOptions, Target};
use crate::train::TrainingData;
use graphminnet_data::Featurizer;
use graphminnet_data::spectral::PreparedGraph;
use graphminnet_data::{Graph, LimitChange};
use graphminnet_report::draw::GraphPicture;
use graphminnet_report::page::Page;
use graphminnet_report::{Svg, short_number};
use std::collections::HashMap;
use std::sync::Arc;

/// Graphs that are drawn.
const DRAWN: usize = 6;
/// Test graphs whose range is measured, and nodes of each.
const MEASURED: usize = 16;
const MEASURED_NODES: usize = 8;
/// Larger graphs are not explained here, so that a report never takes long.
const MAX_NODES: usize = 5000;

/// The graphs of a run's test part by name, or why they are not there.
pub(super) struct Graphs {
    test: Result<Vec<(String, Arc<Graph>)>, String>,
    model: Option<Result<Explainer, String>>,
}

impl Graphs {
    /// From the data at hand, or read again.
    pub(super) fn of(run: &Run, data: Option<&TrainingData>, limits: &[LimitChange]) -> Self {
        let test = match data {
            Some(data) => {
                let samples = data.splits.test.iter().filter_map(|&at| data.dataset.samples.get(at));
                Ok(samples.map(|sample| (sample.id.clone(), Arc::clone(&sample.prepared.graph))).collect())
            }
            None if run.finished().is_none() => Ok(Vec::new()),
            None if run.file.train.parts.is_some() => {
                Err("the graph is in parts and may be too large to be read as a whole".to_owned())
            }
            None => match run.file.data.load_within(limits) {
                Err(error) => Err(format!("the data could not be read again: {error}")),
                Ok(loaded) => {
                    let samples = loaded.splits.test.iter().filter_map(|&at| loaded.dataset.samples.get(at));
                    Ok(samples.map(|sample| (sample.id.clone(), Arc::clone(&sample.graph))).collect())
                }
            },
        };
        let model = run.finished().map(|seed| {
            let path = seed.folder.join(format!("best.{EXTENSION}"));
            Bundle::load(&path).map(|bundle| Explainer::new(&bundle)).map_err(|error| error.to_string())
        });
        Self { test, model }
    }

    /// Draws the graphs with the largest errors.
    pub(super) fn worst(&self, page: &mut Page, run: &Run) {
        // What is wrong with the predictions was said where they are shown.
        let Some(Ok(rows)) = run.finished().map(|seed| seed.predictions(&run.data.schema)) else { return };
        let rows = worst(&rows, DRAWN);
        if rows.is_empty() {
            return;
        }
        page.heading("The worst predictions");
        let test = match &self.test {
            Ok(test) => test,
            Err(reason) => return page.notice(&format!("The graphs are not drawn: {reason}.")),
        };
        let by_id: HashMap<&str, &Arc<Graph>> = test.iter().map(|(id, graph)| (id.as_str(), graph)).collect();
        let featurizer = Featurizer::of_schema(&run.data.schema);
        let figures: Vec<(Svg, String)> = rows
            .into_iter()
            .filter_map(|row| {
                let graph = by_id.get(row.id.as_str())?;
                let smiles = featurizer.and_then(|featurizer| featurizer.smiles(graph));
                Some((self.picture(row, graph, featurizer)?, caption(row, smiles.as_deref())))
            })
            .collect();
        page.paragraph(
            "Red nodes and edges raise the number that is explained, blue ones lower it (gradient × input).",
        );
        page.figures(&figures);
    }

    fn picture(&self, row: &Row, graph: &Arc<Graph>, featurizer: Option<Featurizer>) -> Option<Svg> {
        let explained = (graph.num_nodes() <= MAX_NODES).then_some(()).and_then(|()| {
            let explainer = self.model.as_ref()?.as_ref().ok()?;
            let prepared = explainer.prepare(&[Arc::clone(graph)]).pop()?.ok()?;
            let target = Target { node: row.node, output: None };
            explainer.explain(&prepared, target, Method::Gradient).ok()
        });
        let title = format!("graph {}", row.id);
        let plain = GraphPicture { featurizer, ..GraphPicture::new(&title, graph) };
        match &explained {
            None => plain.svg().ok(),
            Some(explanation) => {
                let meaning = format!("explained: {}", short_number(explanation.prediction));
                let (node_values, edge_values) = (&explanation.nodes[..], &explanation.edges[..]);
                GraphPicture { meaning: &meaning, node_values, edge_values, ..plain }.svg().ok()
            }
        }
    }

    /// Measures the range of the predictions for some test graphs.
    pub(super) fn range(&self, page: &mut Page, run: &Run) {
        let (Some(model), Ok(test)) = (&self.model, &self.test) else { return };
        page.heading("Range");
        let explainer = match model {
            Ok(explainer) => explainer,
            Err(reason) => return page.notice(&format!("Not measured: {reason}.")),
        };
        let small: Vec<Arc<Graph>> = test
            .iter()
            .map(|(_, graph)| graph)
            .filter(|graph| (1..=MAX_NODES).contains(&graph.num_nodes()))
            .cloned()
            .collect();
        let step = small.len().div_ceil(MEASURED).max(1);
        let chosen: Vec<Arc<Graph>> = small.into_iter().step_by(step).collect();
        let prepared: Vec<PreparedGraph> =
            explainer.prepare(&chosen).into_iter().filter_map(Result::ok).collect();
        let graphs: Vec<&PreparedGraph> = prepared.iter().collect();
        let options = RangeOptions { nodes: MEASURED_NODES, output: None };
        let report = match explainer.range(&graphs, options) {
            Ok(report) if report.graphs > 0 => report,
            Ok(_) => return page.notice("Not measured: no prediction has a gradient."),
            Err(error) => return page.notice(&format!("Not measured: {error}.")),
        };
        let layers = run.file.model.layers;
        let caption = format!(
            "Mean over {} test graphs, {} nodes. {:.1} % of the gradient comes from more than {layers} hops away, where message passing alone does not reach with {layers} layers; mean distance {:.2} hops.",
            report.graphs,
            report.nodes,
            100.0 * report.beyond(layers),
            report.mean_hops()
        );
        let name = format!("{} + {}", run.file.model.local, run.file.model.global);
        if let Ok(chart) = range_chart(&[(name, report)]) {
            page.figures(&[(chart, caption)]);
        }
    }
}

fn caption(row: &Row, smiles: Option<&str>) -> String {
    let short = |cell: &str| cell.parse::<f64>().map_or_else(|_| cell.to_owned(), short_number);
    let pairs: Vec<String> = row
        .pairs
        .iter()
        .take(3)
        .map(|(truth, said)| format!("true {}, predicted {}", short(truth), short(said)))
        .collect();
    let node = row.node.map_or_else(String::new, |node| format!("Node {node}: "));
    let error = row.error.map_or_else(String::new, |error| format!("; error {}", short_number(error)));
    let molecule = smiles.map_or_else(String::new, |smiles| format!(" {smiles}"));
    format!("{node}{}{error}.{molecule}", pairs.join("; "))
}
