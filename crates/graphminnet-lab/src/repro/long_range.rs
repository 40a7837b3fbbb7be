//! How much a node depends on another, by the distance between them.
//!
//! `J(d) = ‖∂h_u/∂x_v‖` (Frobenius norm of the Jacobian between the last hidden features of `u` and the input features of
//! `v`, estimated with random probes) for nodes at distance `d`: with fresh weights on paths, and after training on
//! rings where the answer lies on the other side.

use super::lab::selected_model;
use super::{Figure, Lab, Line, Outcome, ReproError, Sheet, Side};
use burn::tensor::{Device, Tensor, TensorData};
use graphminnet::config::{
    ConfigError, GlobalKind, LevelKind, LocalKind, ModelConfig, Override, Phi, RING_TRANSFER, with_overrides,
};
use graphminnet::model::{FeatureInput, GraphMinNet, ModelInput};
use graphminnet::nn::Pass;
use graphminnet::train::{DataSource, Generator, TrainingData};
use graphminnet_data::spectral::{PreparedGraph, prepare_graph};
use graphminnet_data::text::counted;
use graphminnet_data::{Features, Graph, rng};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::Arc;

/// Random directions in the output, whose gradients estimate the norm of the Jacobian.
const PROBES: usize = 8;

/// Layers of the models on the paths.
const LAYERS: usize = 4;

/// Input features per node on the paths.
const INPUTS: usize = 4;

fn systems() -> Vec<(&'static str, ModelConfig)> {
    let base = ModelConfig {
        hidden: 16,
        layers: LAYERS,
        pe_width: 16,
        lap_dim: 8,
        node_in: INPUTS,
        level: LevelKind::Node,
        ..ModelConfig::default()
    };
    let alone = |local| ModelConfig { local, global: GlobalKind::None, ..base.clone() };
    let power = ModelConfig { phi_a: Phi::Power(0), phi_c: Phi::Power(0), ..base.clone() };
    vec![
        ("GraphMinNet", base.clone()),
        ("GraphMinNet, φ = 1", power),
        ("GatedGCN alone", alone(LocalKind::Gated)),
        ("GINE alone", alone(LocalKind::Gine)),
    ]
}

/// Measures both.
///
/// # Errors
///
/// [`ReproError`].
pub fn run(lab: &Lab<'_>, lengths: &[usize]) -> Result<Outcome, ReproError> {
    let (untrained, first) = untrained(lab, lengths)?;
    let (trained, second) = trained(lab)?;
    Ok(Outcome {
        sheets: vec![("long-range".to_owned(), untrained), ("long-range-trained".to_owned(), trained)],
        figures: vec![("long-range".to_owned(), first), ("long-range-trained".to_owned(), second)],
    })
}

fn untrained(lab: &Lab<'_>, lengths: &[usize]) -> Result<(Sheet, Figure), ReproError> {
    let mut sheet = Sheet::new(
        "Gradient against distance on paths, fresh weights, 4 layers",
        &[
            ("system", Side::Left),
            ("nodes", Side::Right),
            ("local", Side::Right),
            ("near half", Side::Right),
            ("far half", Side::Right),
            ("far / near", Side::Right),
            ("far end / near", Side::Right),
            ("reach", Side::Right),
        ],
    );
    let mut figure = Figure {
        title: "Gradient against distance, fresh weights".to_owned(),
        description:
            "Norm of the gradient of a node's last features by the input of a node at a distance, on the \
                      longest path, one line per system; a line ends where the gradient is zero."
                .to_owned(),
        x_label: "distance".to_owned(),
        y_label: "‖∂h/∂x‖".to_owned(),
        y_log: true,
        ..Figure::default()
    };
    for (name, config) in systems() {
        for &nodes in lengths {
            lab.check_interrupt()?;
            let identity = json!({ "model": config, "nodes": nodes, "probes": PROBES });
            let key = format!("long-range-{name}-{nodes}");
            let norms: Vec<f64> = lab.store.cell(&key, &identity, || path_profile(lab, &config, nodes))?;
            let reached = (LAYERS + 1).min(norms.len());
            let local = root_mean_square(norms.get(1..reached).unwrap_or_default());
            let near = root_mean_square(norms.get(reached..nodes / 2).unwrap_or_default());
            let far = root_mean_square(norms.get(nodes / 2..).unwrap_or_default());
            let reach = norms.iter().rposition(|norm| *norm > 0.0).unwrap_or(0);
            sheet.row([
                name.to_owned(),
                nodes.to_string(),
                format!("{local:.2e}"),
                format!("{near:.2e}"),
                format!("{far:.2e}"),
                ratio(far, near),
                ratio(norms.last().copied().unwrap_or(0.0), near),
                reach.to_string(),
            ]);
            if Some(&nodes) == lengths.last() {
                let points = norms.iter().enumerate().skip(1).map(|(d, norm)| (d as f64, *norm)).collect();
                figure.lines.push(Line { name: name.to_owned(), points, deviations: Vec::new() });
            }
        }
    }
    sheet.note(
        "Root mean square of J by distance from the end of the path: local — as far as message passing reaches with 4 \
         layers; near half — from there to the middle; far half — the rest. Reach: the largest distance with a \
         gradient that is not zero. The paper's proposition: some φ exists for which the gradient does not decay with \
         distance. Eigenvectors have norm 1, so a pair of nodes counts for about 1/n in a path of n nodes: J falls \
         with the length of the path, not with the distance within it.",
    );
    Ok((sheet, figure))
}

fn path_profile(lab: &Lab<'_>, config: &ModelConfig, nodes: usize) -> Result<Vec<f64>, ReproError> {
    let edges = (1..nodes as u32).flat_map(|node| [[node - 1, node], [node, node - 1]]).collect();
    let mut random = rng::stream(1, "path features", &[]);
    let values = (0..nodes * INPUTS).map(|_| random.normal() as f32).collect();
    let graph =
        Graph::from_edges(nodes, edges)?.with_node_features(Features::numbers(nodes, INPUTS, values)?)?;
    let device = lab.device.clone().autodiff();
    let model = GraphMinNet::new(config, 3, &device)?;
    let prepared = prepare_graph(&Arc::new(graph), &config.prepare_options())?;
    jacobian(&model, &prepared, 0, &device)
}

/// `J` between one node and all nodes of a graph.
fn jacobian(
    model: &GraphMinNet,
    prepared: &PreparedGraph,
    of: usize,
    device: &Device,
) -> Result<Vec<f64>, ReproError> {
    let (nodes, columns) = (prepared.graph.num_nodes(), model.config().node_in);
    let values = prepared.graph.node_features().number_values().to_vec();
    let mut input = ModelInput::from_prepared(model.config(), &[prepared], device)?;
    let mut squares = vec![0.0; nodes];
    for probe in 0..PROBES {
        let mut random = rng::stream(0, "probe", &[probe as u64]);
        let x: Tensor<2> = Tensor::from_data(TensorData::new(values.clone(), [nodes, columns]), device);
        let x = x.require_grad();
        input.nodes = FeatureInput::Numbers(x.clone());
        let hidden = model.embed(&input, Pass::Eval);
        let [_, width] = hidden.dims();
        let signs: Vec<f32> = (0..width).map(|_| if random.chance(0.5) { 1.0 } else { -1.0 }).collect();
        let signs = Tensor::from_data(TensorData::new(signs, [1, width]), device);
        let gradients = (hidden.narrow(0, of, 1) * signs).sum().backward();
        let Some(gradient) = x.grad(&gradients) else { continue };
        let gradient: Vec<f32> = gradient.into_data().try_to_vec().unwrap_or_default();
        for (square, row) in squares.iter_mut().zip(gradient.chunks(columns)) {
            *square += row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>() / PROBES as f64;
        }
    }
    Ok(squares.into_iter().map(f64::sqrt).collect())
}

fn root_mean_square(values: &[f64]) -> f64 {
    (values.iter().map(|value| value * value).sum::<f64>() / values.len().max(1) as f64).sqrt()
}

fn ratio(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.3}", part / whole) } else { "–".to_owned() }
}

/// Test rings that are averaged over.
const RINGS: usize = 64;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Rings {
    accuracy: Option<f64>,
    /// Mean `J` by distance from the node that must answer.
    by_distance: Vec<f64>,
    /// Mean `J` of the node that shows the answer.
    opposite: f64,
}

fn trained(lab: &Lab<'_>) -> Result<(Sheet, Figure), ReproError> {
    let mut sheet = Sheet::new(
        "Gradient against distance on rings of 16 to 24 nodes, trained to read the opposite node, 3 layers",
        &[
            ("system", Side::Left),
            ("accuracy", Side::Right),
            ("J(1)", Side::Right),
            ("J(3)", Side::Right),
            ("J(4)", Side::Right),
            ("J(7)", Side::Right),
            ("J(opposite)", Side::Right),
            ("opposite / J(1)", Side::Right),
        ],
    );
    let mut figure = Figure {
        title: "Gradient against distance, trained on ring transfer".to_owned(),
        description: "Norm of the gradient of the answering node's features by the input at a distance along the ring, \
                      after training."
            .to_owned(),
        x_label: "distance along the ring".to_owned(),
        y_label: "‖∂h/∂x‖".to_owned(),
        y_log: true,
        ..Figure::default()
    };
    let epochs = lab.epochs.or(lab.smoke.then_some(1));
    for (name, changes) in [
        ("GraphMinNet", &[][..]),
        ("GatedGCN alone", &["model.global=none"][..]),
        ("GINE alone", &["model.global=none", "model.local=gine"][..]),
    ] {
        lab.check_interrupt()?;
        let mut all: Vec<Override> =
            changes.iter().map(|text| Override::parse(text)).collect::<Result<_, ConfigError>>()?;
        if let Some(epochs) = epochs {
            all.push(Override::new("train", "epochs", toml::Value::Integer(epochs as i64)));
        }
        let table = RING_TRANSFER
            .parse()
            .map_err(|error: toml::de::Error| ConfigError::Syntax { message: error.to_string() })?;
        let recipe = with_overrides("ring-transfer", table, &all)?;
        let graphs = lab.smoke.then_some(200);
        let source = DataSource::Generated { generator: Generator::RingTransfer, seed: 0, graphs };
        let seed = lab.seeds.first().copied().unwrap_or(0);
        let mut identity = json!({ "model": recipe.model, "train": recipe.train, "data": source });
        // Cells of seed 0 were stored without it.
        if seed != 0 {
            identity["seed"] = seed.into();
        }
        let rings: Rings = lab.store.cell(&format!("long-range-trained-{name}"), &identity, || {
            let loaded = source.load_within(&lab.limits)?;
            let folder = lab.run_folder(&format!("ring-transfer-{name}"), &recipe, &source);
            let mut run = lab.run_in(&folder, &recipe, source.clone())?.with_data(loaded);
            let results = lab.finish(&mut run, &format!("ring transfer, {name}"))?;
            let data = run
                .prepare(&lab.resources(), &mut (), lab.interrupt)?
                .ok_or(ReproError::Interrupted)?
                .clone();
            let device = lab.device.clone().autodiff();
            let model = selected_model(run.seed(seed).path(), &recipe.model, seed, &device)?;
            let accuracy =
                results.ok().and_then(|results| results.first().and_then(|result| result.best.test));
            let (by_distance, opposite) = ring_profile(&model, &data, &device)?;
            Ok(Rings { accuracy, by_distance, opposite })
        })?;
        let at = |distance: usize| rings.by_distance.get(distance).copied().unwrap_or(0.0);
        sheet.row([
            name.to_owned(),
            rings.accuracy.map_or_else(|| "–".to_owned(), |value| format!("{:.1} %", 100.0 * value)),
            format!("{:.2e}", at(1)),
            format!("{:.2e}", at(3)),
            format!("{:.2e}", at(4)),
            format!("{:.2e}", at(7)),
            format!("{:.2e}", rings.opposite),
            ratio(rings.opposite, at(1)),
        ]);
        let points = rings.by_distance.iter().enumerate().skip(1).map(|(d, j)| (d as f64, *j)).collect();
        figure.lines.push(Line { name: name.to_owned(), points, deviations: Vec::new() });
    }
    sheet.note(format!(
        "{}; guessing is right in 25 % of the cases. J: mean over up to {RINGS} test rings of the gradient of \
         the answering node's last features by the input at that distance; opposite: by the node that shows the \
         answer, 8 to 12 steps away.{}",
        counted(epochs.unwrap_or(8), "epoch"),
        if epochs.is_some() { " Shortened." } else { "" }
    ));
    Ok((sheet, figure))
}

fn ring_profile(
    model: &GraphMinNet,
    data: &TrainingData,
    device: &Device,
) -> Result<(Vec<f64>, f64), ReproError> {
    let (mut sums, mut counts, mut opposite, mut rings) = (Vec::new(), Vec::new(), 0.0, 0usize);
    for &at in data.splits.test.iter().take(RINGS) {
        let Some(sample) = data.dataset.samples.get(at) else { continue };
        let Some(answering) = sample.targets.iter().position(|target| !target.is_nan()) else { continue };
        let norms = jacobian(model, &sample.prepared, answering, device)?;
        let distances = distances(&sample.prepared.graph, answering);
        let farthest = distances.iter().copied().max().unwrap_or(0);
        if sums.len() <= farthest {
            sums.resize(farthest + 1, 0.0);
            counts.resize(farthest + 1, 0usize);
        }
        for (distance, norm) in distances.iter().zip(&norms) {
            sums[*distance] += norm;
            counts[*distance] += 1;
        }
        let far: Vec<f64> =
            distances.iter().zip(&norms).filter(|(d, _)| **d == farthest).map(|(_, norm)| *norm).collect();
        opposite += far.iter().sum::<f64>() / far.len().max(1) as f64;
        rings += 1;
    }
    let means = sums.iter().zip(&counts).map(|(sum, count)| sum / (*count).max(1) as f64).collect();
    Ok((means, opposite / rings.max(1) as f64))
}

/// Steps along edges from a node to every other; unreachable nodes count as 0.
fn distances(graph: &Graph, from: usize) -> Vec<usize> {
    let (offsets, neighbours) = graph.undirected_neighbours();
    let mut found: Vec<Option<usize>> = vec![None; graph.num_nodes()];
    let mut queue = VecDeque::from([from]);
    found[from] = Some(0);
    while let Some(node) = queue.pop_front() {
        let steps = found[node].unwrap_or(0);
        for &other in &neighbours[offsets[node] as usize..offsets[node + 1] as usize] {
            if found[other as usize].is_none() {
                found[other as usize] = Some(steps + 1);
                queue.push_back(other as usize);
            }
        }
    }
    found.into_iter().map(|steps| steps.unwrap_or(0)).collect()
}
