//! The paper's proposition on stability, measured: how much the block's output changes with its input.
//!
//! `L = max ‖f(x + δ) − f(x)‖ / ‖δ‖` over random features, directions and sizes, for the literal block and for the one
//! with bounded input; the same for eigenvalues; and the error of permutation equivariance of the recipes.

use super::expressiveness::renumbered;
use super::smoke::dressed;
use super::{Figure, Lab, Line, Outcome, ReproError, Sheet, Side};
use crate::bench::random_graph;
use burn::tensor::{Device, Tensor, TensorData};
use graphminnet::config::{InputNorm, LocalKind, ModelConfig, Recipe};
use graphminnet::model::{GraphMinNet, ModelInput};
use graphminnet::nn::Pass;
use graphminnet_data::rng::{self, Stream};
use graphminnet_data::spectral::prepare_graph;
use graphminnet_data::{Features, Graph};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

/// Sizes of features at which the constant is measured.
const SCALES: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];

/// Sizes of the change, relative to the size of what is changed.
const STEPS: [f64; 3] = [0.001, 0.01, 0.1];

/// Random draws per size.
const DRAWS: u64 = 20;

const NODES: usize = 40;

fn block_config(input_norm: InputNorm) -> ModelConfig {
    ModelConfig {
        hidden: 16,
        layers: 1,
        local: LocalKind::Gine,
        pe_width: 16,
        lap_dim: 8,
        input_norm,
        ..ModelConfig::default()
    }
}

/// Measures all three.
///
/// # Errors
///
/// [`ReproError`].
pub fn run(lab: &Lab<'_>, recipes: &[String]) -> Result<Outcome, ReproError> {
    let (features, figure) = features(lab)?;
    let sheets = vec![
        ("stability-features".to_owned(), features),
        ("stability-eigenvalues".to_owned(), eigenvalues(lab)?),
        ("stability-equivariance".to_owned(), equivariance(lab, recipes)?),
    ];
    Ok(Outcome { sheets, figures: vec![("stability-features".to_owned(), figure)] })
}

fn features(lab: &Lab<'_>) -> Result<(Sheet, Figure), ReproError> {
    let mut sheet = Sheet::new(
        "Lipschitz constant of the block by its features",
        &[
            ("block", Side::Left),
            ("size of features", Side::Right),
            ("constant", Side::Right),
            ("against size 1", Side::Right),
            ("verdict", Side::Left),
        ],
    );
    let mut figure = Figure {
        title: "Lipschitz constant by features".to_owned(),
        description:
            "Largest ratio of output change to feature change, by the size of the features, for the literal \
                      and the bounded block."
                .to_owned(),
        x_label: "size of features".to_owned(),
        y_label: "Lipschitz constant".to_owned(),
        x_log: true,
        y_log: true,
        ..Figure::default()
    };
    for (name, norm) in
        [("literal", InputNorm::None), ("bounded (ball)", InputNorm::Ball), ("bounded (rms)", InputNorm::Rms)]
    {
        let config = block_config(norm);
        let mut points = Vec::new();
        for scale in SCALES {
            lab.check_interrupt()?;
            let identity = json!({ "model": config, "scale": scale, "draws": DRAWS, "steps": STEPS });
            let key = format!("stability-features-{norm}-{scale}");
            let constant: f64 =
                lab.store.cell(&key, &identity, || feature_constant(&config, scale, &lab.device))?;
            points.push((scale, constant));
        }
        let first = points.first().map_or(1.0, |(_, constant)| *constant);
        let most = points.iter().map(|(_, constant)| constant / first).fold(0.0, f64::max);
        let verdict =
            if most <= 2.0 { "bounded for all sizes" } else { "grows: Lipschitz on bounded features only" };
        for (scale, constant) in &points {
            let growth = constant / first;
            sheet.row([
                name.to_owned(),
                format!("{scale}"),
                format!("{constant:.3e}"),
                format!("{growth:.3}"),
                verdict.to_owned(),
            ]);
        }
        figure.lines.push(Line { name: name.to_owned(), points, deviations: Vec::new() });
    }
    sheet.note(format!(
        "Largest ratio over {DRAWS} random draws with steps of {STEPS:?} of the size; one graph of {NODES} nodes, fresh \
         weights, width 16. The block is cubic in its features, so its constant grows with their square unless its \
         input is bounded; the paper's proposition holds for the literal block on bounded features."
    ));
    Ok((sheet, figure))
}

/// A model, an input and the model's block.
fn block_output(model: &GraphMinNet, input: &ModelInput, x: &[f32]) -> Vec<f64> {
    let width = model.config().hidden;
    let x: Tensor<2> =
        Tensor::from_data(TensorData::new(x.to_vec(), [x.len() / width, width]), &input.eigenvalues.device());
    let output = model
        .layers()
        .first()
        .and_then(|layer| layer.block())
        .map(|block| block.forward(x, input, &model.spectrum(input), model.config(), 0, Pass::Eval));
    let values: Vec<f32> = output.and_then(|output| output.into_data().try_to_vec().ok()).unwrap_or_default();
    values.into_iter().map(f64::from).collect()
}

fn input_of(config: &ModelConfig, graph: Graph, device: &Device) -> Result<ModelInput, ReproError> {
    let nodes = graph.num_nodes();
    let graph = graph.with_node_features(Features::numbers(nodes, 1, vec![1.0; nodes])?)?;
    let prepared = prepare_graph(&Arc::new(graph), &config.prepare_options())?;
    Ok(ModelInput::from_prepared(config, &[&prepared], device)?)
}

fn normals(count: usize, scale: f64, random: &mut Stream) -> Vec<f32> {
    (0..count).map(|_| (scale * random.normal()) as f32).collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

fn feature_constant(config: &ModelConfig, scale: f64, device: &Device) -> Result<f64, ReproError> {
    let model = GraphMinNet::new(config, 0, device)?;
    let mut most = 0f64;
    let graph = random_graph(NODES, 2 * NODES, &mut rng::stream(0, "stability graph", &[]))?;
    let input = input_of(config, graph, device)?;
    for draw in 0..DRAWS {
        let mut random = rng::stream(0, "stability", &[draw]);
        let x = normals(NODES * config.hidden, scale, &mut random);
        let before = block_output(&model, &input, &x);
        for step in STEPS {
            let change = normals(x.len(), step * scale, &mut random);
            let moved: Vec<f32> = x.iter().zip(&change).map(|(x, change)| x + change).collect();
            let size = change.iter().map(|change| f64::from(*change).powi(2)).sum::<f64>().sqrt();
            most = most.max(distance(&before, &block_output(&model, &input, &moved)) / size);
        }
    }
    Ok(most)
}

fn eigenvalues(lab: &Lab<'_>) -> Result<Sheet, ReproError> {
    let mut sheet = Sheet::new(
        "Lipschitz constant of the block by the eigenvalues",
        &[
            ("block", Side::Left),
            ("graph", Side::Left),
            ("smallest λ", Side::Right),
            ("constant", Side::Right),
        ],
    );
    for (name, norm) in [("literal", InputNorm::None), ("bounded (ball)", InputNorm::Ball)] {
        for (title, kind) in [("random, 40 nodes", 0u8), ("path of 40 nodes", 1), ("path of 160 nodes", 2)] {
            lab.check_interrupt()?;
            let config = block_config(norm);
            let identity = json!({ "model": config, "graph": title, "draws": DRAWS });
            let key = format!("stability-eigenvalues-{norm}-{kind}");
            let (smallest, constant): (f64, f64) =
                lab.store.cell(&key, &identity, || eigenvalue_constant(&config, kind, &lab.device))?;
            sheet.row([name, title, &format!("{smallest:.2e}"), &format!("{constant:.3e}")]);
        }
    }
    sheet.note(format!(
        "Eigenvectors are held fixed; {DRAWS} random draws of features of size 1 and changes of the used eigenvalues by \
         1 % of each. φ reads √λ, whose slope grows towards λ = 0; eigenvalues below 1e-4 are masked, so the constant \
         stays finite but is larger for graphs with small ones."
    ));
    Ok(sheet)
}

fn eigenvalue_constant(config: &ModelConfig, kind: u8, device: &Device) -> Result<(f64, f64), ReproError> {
    let path = |nodes: u32| {
        let edges = (1..nodes).flat_map(|node| [[node - 1, node], [node, node - 1]]).collect();
        Graph::from_edges(nodes as usize, edges)
    };
    let graph = match kind {
        0 => random_graph(NODES, 2 * NODES, &mut rng::stream(0, "stability graph", &[]))?,
        1 => path(40)?,
        _ => path(160)?,
    };
    let nodes = graph.num_nodes();
    let model = GraphMinNet::new(config, 0, device)?;
    let input = input_of(config, graph, device)?;
    let values: Vec<f32> = input.eigenvalues.clone().into_data().try_to_vec().unwrap_or_default();
    let [rows, columns] = input.eigenvalues.dims();
    let mut most = 0f64;
    for draw in 0..DRAWS {
        let mut random = rng::stream(0, "stability eigenvalues", &[draw]);
        let x = normals(nodes * config.hidden, 1.0, &mut random);
        let before = block_output(&model, &input, &x);
        let changes: Vec<f32> = values.iter().map(|value| 0.01 * value * random.normal() as f32).collect();
        let moved: Vec<f32> = values.iter().zip(&changes).map(|(value, change)| value + change).collect();
        let mut changed = input.clone();
        changed.eigenvalues = Tensor::from_data(TensorData::new(moved, [rows, columns]), device);
        let size = changes.iter().map(|change| f64::from(*change).powi(2)).sum::<f64>().sqrt();
        most = most.max(distance(&before, &block_output(&model, &changed, &x)) / size);
    }
    let smallest = values.iter().skip(1).copied().fold(f32::INFINITY, f32::min);
    Ok((f64::from(smallest), most))
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Error {
    embedding: f64,
    output: f64,
}

fn equivariance(lab: &Lab<'_>, recipes: &[String]) -> Result<Sheet, ReproError> {
    let mut sheet = Sheet::new(
        "Permutation equivariance: relative error after renumbering the nodes",
        &[
            ("recipe", Side::Left),
            ("node features", Side::Right),
            ("output", Side::Right),
            ("verdict", Side::Left),
        ],
    );
    for name in recipes {
        lab.check_interrupt()?;
        let mut recipe = Recipe::named(name)?;
        if lab.smoke {
            super::smoke::shrink(&mut recipe);
        }
        let identity = json!({ "model": recipe.model });
        let error: Error = lab.store.cell(&format!("stability-equivariance-{name}"), &identity, || {
            renumbering_error(&recipe.model, &lab.device)
        })?;
        let verdict =
            if error.embedding.max(error.output) < 1e-3 { "holds up to rounding" } else { "does not hold" };
        sheet.row([
            recipe.title.clone(),
            format!("{:.1e}", error.embedding),
            format!("{:.1e}", error.output),
            verdict.to_owned(),
        ]);
    }
    sheet.note(
        "Largest difference between f(PG) and P f(G) over three random graphs of 30 nodes, relative to the largest \
         value; fresh weights, eigenpairs computed anew for the renumbered graph, 32-bit floats.",
    );
    Ok(sheet)
}

fn renumbering_error(config: &ModelConfig, device: &Device) -> Result<Error, ReproError> {
    let model = GraphMinNet::new(config, 0, device)?;
    let mut worst = Error { embedding: 0.0, output: 0.0 };
    for draw in 0..3 {
        let mut random = rng::stream(0, "equivariance", &[draw]);
        let graph = dressed(random_graph(30, 60, &mut random)?, config, &mut random)?;
        let place = random.permutation(30);
        let moved = renumbered(&graph, &place)?;
        let run = |graph: &Arc<Graph>| -> Result<(Vec<f32>, Vec<f32>), ReproError> {
            let prepared = prepare_graph(graph, &config.prepare_options())?;
            let input = ModelInput::from_prepared(config, &[&prepared], device)?;
            let values = |tensor: Tensor<2>| tensor.into_data().try_to_vec().unwrap_or_default();
            Ok((values(model.embed(&input, Pass::Eval)), values(model.forward(&input, Pass::Eval))))
        };
        let ((nodes, output), (moved_nodes, moved_output)) = (run(&Arc::new(graph))?, run(&moved)?);
        let back = |rows: &[f32], count: usize| -> Vec<f32> {
            let width = rows.len() / count.max(1);
            place.iter().flat_map(|&to| rows[to * width..(to + 1) * width].to_vec()).collect()
        };
        let by_node = config.level == graphminnet::config::LevelKind::Node;
        let moved_output = if by_node { back(&moved_output, 30) } else { moved_output };
        worst.embedding = worst.embedding.max(relative(&nodes, &back(&moved_nodes, 30)));
        worst.output = worst.output.max(relative(&output, &moved_output));
    }
    Ok(worst)
}

fn relative(a: &[f32], b: &[f32]) -> f64 {
    let most = a.iter().map(|value| f64::from(value.abs())).fold(f64::MIN_POSITIVE, f64::max);
    a.iter().zip(b).map(|(a, b)| f64::from((a - b).abs()) / most).fold(0.0, f64::max)
}
