//! Time and memory of all systems against the number of nodes: where attention over all pairs ends.
//!
//! All have six layers of width 64 and answer for nodes; none has positions, whose preparation is another matter. As in
//! [`super::scalability`], memory is for the caller, who measures every size in a process of its own.

use super::scalability::MEAN_DEGREE;
use super::{Figure, Line, Outcome, ReproError, Sheet, Side, systems};
use crate::bench::{BenchError, Times, Workload, time_training};
use crate::paper;
use crate::systems::{
    Body, Encoder, ExphormerConfig, GraphMambaConfig, GredConfig, GritConfig, HeadKind, MissingPair,
    Orientation, Positions, SanConfig, SystemConfig,
};
use burn::module::Module;
use burn::tensor::Device;
use graphminnet::config::{LevelKind, Pooling, with_overrides};
use graphminnet::model::Model;
use graphminnet::nn::Pass;
use graphminnet::train::Architecture;
use graphminnet_data::spectral::prepare_graph;
use graphminnet_data::{Batch, Features, Graph, rng};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Numbers of nodes.
pub const NODES: [usize; 7] = [250, 500, 1_000, 2_000, 5_000, 10_000, 20_000];

/// Numbers of a node.
const NODE_IN: usize = 16;

/// What was measured of one system on one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SystemPoint {
    /// The system.
    pub system: String,
    /// Nodes.
    pub nodes: usize,
    /// Directed edges.
    pub edges: usize,
    /// Fastest forward pass, in seconds.
    pub inference_seconds: f64,
    /// Fastest training step, in seconds.
    pub training_seconds: f64,
    /// Peak resident memory of the process, in bytes.
    pub peak_bytes: Option<u64>,
    /// Most bytes of large arrays in use at once.
    pub tensor_bytes: Option<u64>,
}

/// One size of one system, or why it was not measured.
pub type Measured = Result<SystemPoint, String>;

/// About how many bytes a training step of a system takes for the pairs of a graph's nodes; `None` for systems that keep
/// nothing per pair.
pub fn pair_bytes(system: &str, nodes: usize) -> Option<f64> {
    let per_pair = match system {
        // Features, weights and biases, scores and their map of every layer, and the walks.
        "grit" => 6.0 * (6.0 * 64.0 + 3.0 * 8.0) * 4.0 + 16.0 * 4.0,
        // The list of pairs.
        "san" => 48.0,
        _ => return None,
    };
    Some(per_pair * (nodes as f64).powi(2))
}

/// Measures one size of one system. Memory is left to the caller.
///
/// # Errors
///
/// [`ReproError`].
pub fn measure(
    system: &str,
    nodes: usize,
    budget: Duration,
    device: &Device,
) -> Result<SystemPoint, ReproError> {
    systems::check(system)?;
    let mut random = rng::stream(0, "scalability of systems", &[nodes as u64]);
    if systems::is_own_model(system) {
        let undirected = (nodes as f64 * MEAN_DEGREE / 2.0).round() as usize;
        let graph = crate::bench::random_graph(nodes, undirected, &mut random)?;
        let values = (0..nodes * NODE_IN).map(|_| random.normal() as f32).collect();
        let graph = graph.with_node_features(Features::numbers(nodes, NODE_IN, values)?)?;
        let config = own_config(system)?;
        return timed(system, &config, prepared(&config, graph)?, budget, device);
    }
    let mut workload = Workload::large_graph(nodes, MEAN_DEGREE, 0)?;
    let changes = systems::changes(system, &workload.recipe)?;
    let changed = with_overrides("molhiv", graphminnet::Recipe::table("molhiv")?, &changes)?;
    (workload.recipe.model.local, workload.recipe.model.global) = (changed.model.local, changed.model.global);
    if workload.recipe.model.check().is_err() {
        // Layers that read no edges have no encoder for them.
        workload.recipe.model.edge_encoder = graphminnet::config::EdgeEncoderKind::None;
    }
    timed(system, &workload.recipe.model, workload.batch, budget, device)
}

fn prepared(config: &SystemConfig, graph: Graph) -> Result<Batch, ReproError> {
    let mut prepared = prepare_graph(&Arc::new(graph), &config.prepare_options())?;
    config.prepare_graph(&mut prepared, 0, 0)?;
    Ok(Batch::collate(&[&prepared])?)
}

fn timed<C: Architecture>(
    system: &str,
    config: &C,
    batch: Batch,
    budget: Duration,
    device: &Device,
) -> Result<SystemPoint, ReproError> {
    let (nodes, edges) = (batch.layout.num_nodes(), batch.layout.num_edges());
    let inference = {
        let model = config.build(0, device)?.valid();
        let input = model.input(batch.clone(), device)?;
        Times::of(budget, || {
            model.forward(&input, Pass::Eval).into_data();
            Ok::<(), BenchError>(())
        })?
    };
    let train = graphminnet::TrainConfig::default();
    let targets = vec![0.5; nodes];
    let training = time_training(config, &train, batch, &targets, &device.clone().autodiff(), budget)?;
    Ok(SystemPoint {
        system: system.to_owned(),
        nodes,
        edges,
        inference_seconds: inference.min,
        training_seconds: training.min,
        peak_bytes: None,
        tensor_bytes: None,
    })
}

/// Six layers of width 64 of a system.
fn own_config(system: &str) -> Result<SystemConfig, ReproError> {
    let system = match system {
        "san" => {
            let (missing, allocate_unused_table) = (MissingPair::Learned, false);
            Body::San(SanConfig { heads: 8, gamma: 0.01, missing, allocate_unused_table })
        }
        "exphormer" => {
            Body::Exphormer(ExphormerConfig { heads: 4, virtual_nodes: 1, expander: 5, gate_eigenvectors: 0 })
        }
        "grit" => {
            let orientation = Orientation::default();
            Body::Grit(GritConfig { heads: 8, steps: 16, attention_dropout: 0.0, orientation })
        }
        "gred" => Body::Gred(GredConfig { shells: 5, state: 64, smallest_rate: 0.9 }),
        "graph-mamba" => Body::GraphMamba(GraphMambaConfig {
            states: 16,
            buckets: 1,
            evaluation_draws: 5,
            evaluation_order: crate::systems::EvaluationOrder::Seeded,
        }),
        other => return Err(ReproError::Usage(format!("{other} is not a model of its own"))),
    };
    let edges = (!matches!(system, Body::Gred(_))).then_some(Encoder::Constant);
    Ok(SystemConfig {
        hidden: 64,
        layers: 6,
        dropout: 0.0,
        nodes: Encoder::Linear(NODE_IN),
        edges,
        positions: Positions::None,
        level: LevelKind::Node,
        pooling: Pooling::Mean,
        head: HeadKind::Mlp(1),
        outputs: 1,
        system,
    })
}

/// The table and the figures, given for every system all sizes in ascending order.
pub fn tabulate(points: &[(String, usize, Measured)]) -> Outcome {
    let mut sheet = Sheet::new(
        "Scalability of all systems: random graphs of mean degree 5, one pass",
        &[
            ("system", Side::Left),
            ("nodes", Side::Right),
            ("inference", Side::Right),
            ("training step", Side::Right),
            ("tensors", Side::Right),
            ("peak memory", Side::Right),
        ],
    );
    let mebibytes =
        |value: Option<u64>| value.map_or_else(|| "–".to_owned(), |value| format!("{} MiB", value >> 20));
    for (system, nodes, measured) in points {
        let start = [paper::title(system).to_owned(), nodes.to_string()];
        match measured {
            Err(reason) => sheet.row(start.into_iter().chain([format!("not run: {reason}")])),
            Ok(point) => sheet.row(start.into_iter().chain([
                format!("{:.3} s", point.inference_seconds),
                format!("{:.3} s", point.training_seconds),
                mebibytes(point.tensor_bytes),
                mebibytes(point.peak_bytes),
            ])),
        }
    }
    sheet.note(
        "6 layers of width 64, one answer per node, no positions. Tensors: most bytes of arrays of 128 KiB or more in \
         use at once in the process, peak memory: largest resident size of the process; both over inference and \
         training steps, in which everything is kept that the backward pass needs.",
    );
    let mut names: Vec<&String> = points.iter().map(|(system, ..)| system).collect();
    names.dedup();
    let figure = |title: &str, y_label: &str, value: &dyn Fn(&SystemPoint) -> Option<f64>| {
        let line = |name: &&String| {
            let own = points.iter().filter(|(system, ..)| system == *name);
            let known = own.filter_map(|(_, _, measured)| measured.as_ref().ok());
            let points = known.filter_map(|point| Some((point.nodes as f64, value(point)?))).collect();
            Line { name: paper::title(name).to_owned(), points, deviations: Vec::new() }
        };
        Figure {
            title: title.to_owned(),
            description: format!("{y_label} against the number of nodes, one line per system."),
            x_label: "nodes".to_owned(),
            y_label: y_label.to_owned(),
            x_log: true,
            y_log: true,
            lines: names.iter().map(line).collect(),
            ..Figure::default()
        }
    };
    let time = figure("Time of a training step", "seconds", &|point| Some(point.training_seconds));
    let memory = figure("Memory in use at once", "MiB of tensors", &|point| {
        Some(point.tensor_bytes.or(point.peak_bytes)? as f64 / f64::from(1 << 20))
    });
    let figures = [("scalability-systems-time", time), ("scalability-systems-memory", memory)];
    Outcome {
        sheets: vec![("scalability-systems".to_owned(), sheet)],
        figures: figures.map(|(name, figure)| (name.to_owned(), figure)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_can_be_measured() {
        for system in paper::systems() {
            let point = measure(system, 40, Duration::ZERO, &Device::flex()).unwrap();
            assert_eq!((point.system.as_str(), point.nodes), (system, 40));
        }
    }

    #[test]
    fn what_was_not_run_has_a_row_and_no_point() {
        let points = [
            (
                "grit".to_owned(),
                100,
                measure("grit", 30, Duration::ZERO, &Device::flex()).map_err(|e| e.to_string()),
            ),
            ("grit".to_owned(), 1000, Err("needs 9 GiB".to_owned())),
        ];
        let outcome = tabulate(&points);
        assert!(outcome.sheets[0].1.markdown().contains("not run: needs 9 GiB"));
        assert_eq!(outcome.figures[0].1.lines[0].points.len(), 1);
    }
}
