//! Which graphs a model tells apart: families that colour refinement (1-WL) or even 3-WL finds alike.
//!
//! With fresh weights, the outputs of two graphs either differ by more than rounding or they do not; rounding is
//! measured on renumbered copies of the same graphs. On CSL and EXP models are also trained, over the folds.

use super::closeness::Rows;
use super::families::{Family, Pairs, featured, sixteen, skip_links};
use super::{Lab, Outcome, ReproError, Sheet, Side};
use crate::config::{
    GlobalKind, LocalKind, Loss, MetricKind, ModelConfig, NodePeKind, Pooling, Recipe, TrainConfig,
};
use crate::model::{GraphMinNet, ModelInput};
use crate::nn::Pass;
use crate::train::{DataSource, MeanStd, SplitChoice, TrainingData};
use graphminnet_data::data::generate::CircularSkipLinks;
use graphminnet_data::data::registry;
use graphminnet_data::data::split::Splits;
use graphminnet_data::data::{Column, ColumnKind, Dataset, ReadOptions, open};
use graphminnet_data::spectral::{PreparedGraph, prepare_graph};
use graphminnet_data::{Graph, rng};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The families by name.
pub const FAMILIES: [&str; 5] = ["csl", "exp", "sr16", "sr25", "graph8c"];

/// What to look at.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Families by name; all if empty and no file is given.
    pub families: Vec<String>,
    /// A file with graphs of one's own, in graph6 or any other format.
    pub graphs: Option<PathBuf>,
    /// Pairs of these graphs, as a CSV file of positions; all pairs without it.
    pub pairs: Option<PathBuf>,
    /// Whether models are also trained on CSL and EXP.
    pub train: bool,
}

/// Systems that are compared: name, local branch, self term and positions of the nodes.
const SYSTEMS: [(&str, GlobalKind, bool, NodePeKind); 4] = [
    ("GINE alone", GlobalKind::None, false, NodePeKind::None),
    ("GraphMinNet", GlobalKind::Graphminnet, false, NodePeKind::None),
    ("GraphMinNet, self term", GlobalKind::Graphminnet, true, NodePeKind::None),
    ("GraphMinNet, random walks", GlobalKind::Graphminnet, false, NodePeKind::Rwse),
];

/// Most eigenpairs that are used; all of a graph with up to one node more.
const MOST_PAIRS: usize = 63;

/// Seeds of the fresh weights.
const SEEDS: u64 = 3;

fn model(
    (_, global, self_term, node_pe): (&str, GlobalKind, bool, NodePeKind),
    lap_dim: usize,
    node_in: usize,
    out_dim: usize,
) -> ModelConfig {
    let base = ModelConfig {
        hidden: 32,
        layers: 3,
        local: LocalKind::Gine,
        global,
        pe_width: 16,
        lap_dim,
        whole_eigenspaces: true,
        node_in,
        node_pe,
        pooling: Pooling::Add,
        out_dim,
        ..ModelConfig::default()
    };
    let base = ModelConfig { self_term: self_term && global == GlobalKind::Graphminnet, ..base };
    if node_pe == NodePeKind::Rwse { ModelConfig { pe_dim: 8, rwse_steps: 16, ..base } } else { base }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Told {
    alike: usize,
    noise: f64,
    tolerance: f64,
}

/// Looks at the families, or at the graphs of a file.
///
/// # Errors
///
/// [`ReproError`] if a file cannot be read or a graph not be prepared.
pub fn run(lab: &Lab<'_>, request: &Request) -> Result<Outcome, ReproError> {
    let mut sheet = Sheet::new(
        "Pairs of graphs that are not told apart, with fresh weights",
        &[
            ("family", Side::Left),
            ("graphs", Side::Right),
            ("pairs", Side::Right),
            ("system", Side::Left),
            ("alike", Side::Right),
            ("told apart", Side::Right),
            ("rounding", Side::Right),
        ],
    );
    let root = registry::data_dir(lab.data_dir.as_deref()).map(|root| root.join("expressiveness"));
    let (families, missing) = families(lab, request, root.as_deref())?;
    for family in &families {
        lab.check_interrupt()?;
        let (pairs, graphs) = (family.num_pairs(), family.graphs.len());
        let mut row = |system: &str, alike: usize, rounding: String| {
            let share = format!("{:.2} %", 100.0 * (pairs - alike) as f64 / pairs.max(1) as f64);
            let cells = [family.title.clone(), graphs.to_string(), pairs.to_string(), system.to_owned()];
            sheet.row(cells.into_iter().chain([alike.to_string(), share, rounding]));
        };
        row("1-WL (colour refinement)", family.alike_to_refinement(), String::new());
        for system in SYSTEMS {
            let lap_dim = family.largest().saturating_sub(1).clamp(1, MOST_PAIRS);
            let config = model(system, lap_dim, family.node_columns(), 8);
            let name = format!("expressiveness-{}-{}", family.name, system.0);
            let identity = json!({ "model": config, "graphs": graphs, "pairs": pairs, "seeds": SEEDS });
            lab.watch.say(&format!("{}: {}", family.title, system.0));
            let told: Told = lab.store.cell(&name, &identity, || told_apart(lab, family, &config))?;
            row(system.0, told.alike, format!("{:.0e}", told.noise));
        }
    }
    for (title, reason) in missing {
        sheet.row([title, "–".to_owned(), "–".to_owned(), String::new(), format!("not run: {reason}")]);
    }
    sheet.note(format!(
        "Alike: the outputs of {SEEDS} fresh models differ by at most ten times what renumbering the nodes of the same \
         graph changes (and by at most 1e-6 of the family's largest output). Nodes have a constant feature, in EXP \
         their two types. All eigenpairs are used, of graphs with more than {} nodes the lowest {MOST_PAIRS}.",
        MOST_PAIRS + 1
    ));
    sheet.note(
        "The paper's proposition: more powerful than 1-WL, not more than 3-WL. Strongly regular graphs of one family \
         are alike to 3-WL, so a model within the bound must find them alike.",
    );
    sheet.note(
        "On constant features the plain block is zero (eigenvectors are orthogonal to constants): structure enters \
         through the self term or through positional encodings.",
    );
    let mut outcome = Outcome { sheets: vec![("expressiveness".to_owned(), sheet)], figures: Vec::new() };
    if request.train {
        let sheet = train(lab, request, root.as_deref())?;
        outcome.sheets.push(("expressiveness-trained".to_owned(), sheet));
    }
    Ok(outcome)
}

type Missing = Vec<(String, String)>;

fn families(
    lab: &Lab<'_>,
    request: &Request,
    root: Option<&Path>,
) -> Result<(Vec<Family>, Missing), ReproError> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    if let Some(path) = &request.graphs {
        found.push(Family::from_file(path, request.pairs.as_deref())?);
    }
    let default = if request.graphs.is_some() { &[][..] } else { &FAMILIES[..] };
    let default = if lab.smoke { &["csl", "sr16", "exp"][..default.len().min(3)] } else { default };
    let asked: Vec<&str> = match request.families.as_slice() {
        [] => default.to_vec(),
        names => names.iter().map(String::as_str).collect(),
    };
    for name in asked {
        let file = |path: &str| root.map(|root| root.join(path)).filter(|path| path.exists());
        let family = match name {
            "csl" => Some(skip_links()?),
            "sr16" => Some(sixteen()?),
            "sr25" => match file("sr/sr251256.g6") {
                Some(path) => Some(Family {
                    title: "strongly regular (25,12,5,6)".to_owned(),
                    ..Family::from_file(&path, None)?
                }),
                None => None,
            },
            "graph8c" => match file("graph8c.g6") {
                Some(path) => Some(Family {
                    title: "all connected graphs of 8 nodes".to_owned(),
                    ..Family::from_file(&path, None)?
                }),
                None => None,
            },
            "exp" => match file("exp") {
                Some(path) => {
                    let dataset = open(&path, &ReadOptions::default())?.dataset;
                    let pairs = (0..dataset.samples.len() / 2).map(|at| [2 * at, 2 * at + 1]).collect();
                    Some(Family::new("exp", "EXP, graphs 2i and 2i + 1", &dataset, Pairs::Listed(pairs))?)
                }
                None => None,
            },
            other => {
                return Err(ReproError::Unknown {
                    what: "the family",
                    name: other.escape_debug().to_string(),
                    known: FAMILIES.join(", "),
                });
            }
        };
        match family {
            Some(family) => found.push(family),
            None => missing.push((name.to_owned(), "data missing".to_owned())),
        }
    }
    Ok((found, missing))
}

/// Copies of the same graph that rounding is measured on, at most.
const COPIES: usize = 200;

fn told_apart(lab: &Lab<'_>, family: &Family, config: &ModelConfig) -> Result<Told, ReproError> {
    let step = (family.graphs.len() / COPIES).max(1);
    let originals: Vec<usize> = (0..family.graphs.len()).step_by(step).collect();
    let mut random = rng::stream(0, "renumber", &[]);
    let copies = originals
        .iter()
        .map(|&at| renumbered(&family.graphs[at], &random.permutation(family.graphs[at].num_nodes())))
        .collect::<Result<Vec<_>, _>>()?;
    let graphs: Vec<Arc<Graph>> = family.graphs.iter().cloned().chain(copies).collect();
    let rows = outputs(lab, &graphs, config)?;
    let noise = originals
        .iter()
        .enumerate()
        .map(|(copy, &original)| rows.difference(original, family.graphs.len() + copy))
        .fold(0.0, f64::max);
    let tolerance = (10.0 * noise).max(1e-6);
    let own = match &family.pairs {
        Pairs::Listed(pairs) => rows.alike(&Pairs::Listed(pairs.clone()), tolerance),
        // Copies stand behind the graphs and are not counted.
        Pairs::All => rows.first(family.graphs.len()).alike(&Pairs::All, tolerance),
    };
    Ok(Told { alike: own, noise, tolerance })
}

/// Outputs of several fresh models side by side.
fn outputs(lab: &Lab<'_>, graphs: &[Arc<Graph>], config: &ModelConfig) -> Result<Rows, ReproError> {
    let options = config.prepare_options();
    let models =
        (0..SEEDS).map(|seed| GraphMinNet::new(config, seed, &lab.device)).collect::<Result<Vec<_>, _>>()?;
    let mut values = Vec::new();
    for chunk in graphs.chunks(256) {
        lab.check_interrupt()?;
        let prepared: Vec<PreparedGraph> =
            chunk.iter().map(|graph| prepare_graph(graph, &options)).collect::<Result<_, _>>()?;
        let input = ModelInput::from_prepared(config, &prepared.iter().collect::<Vec<_>>(), &lab.device)?;
        let parts: Vec<Vec<f32>> = models
            .iter()
            .map(|model| model.forward(&input, Pass::Eval).into_data().try_to_vec().unwrap_or_default())
            .collect();
        for row in 0..chunk.len() {
            let width = config.out_dim;
            parts.iter().for_each(|part| values.extend_from_slice(&part[row * width..(row + 1) * width]));
        }
    }
    Ok(Rows::new(config.out_dim * SEEDS as usize, &values))
}

/// The same graph with its nodes in another order.
pub(super) fn renumbered(graph: &Graph, place: &[usize]) -> Result<Arc<Graph>, ReproError> {
    let edges = graph.edges().iter().map(|ends| ends.map(|node| place[node as usize] as u32)).collect();
    let mut origin = vec![0; place.len()];
    place.iter().enumerate().for_each(|(from, &to)| origin[to] = from);
    let nodes = graph.node_features().select_rows(origin.into_iter());
    Ok(Arc::new(Graph::new(graph.num_nodes(), edges, nodes, graph.edge_features().clone())?))
}

/// Trains on the folds of CSL and EXP.
fn train(lab: &Lab<'_>, request: &Request, root: Option<&Path>) -> Result<Sheet, ReproError> {
    let mut sheet = Sheet::new(
        "Trained over folds: test accuracy",
        &[
            ("data", Side::Left),
            ("system", Side::Left),
            ("accuracy", Side::Right),
            ("worst fold", Side::Right),
            ("folds", Side::Right),
            ("epochs", Side::Right),
            ("verdict", Side::Left),
        ],
    );
    let wanted =
        |name: &str| request.families.is_empty() || request.families.iter().any(|family| family == name);
    for (name, title, folds, epochs) in [("csl", "CSL", 5usize, 60usize), ("exp", "EXP", 10, 20)] {
        let path = root.map(|root| root.join(name)).filter(|path| path.exists());
        if !wanted(name) || (lab.smoke && name == "exp") {
            continue;
        }
        let (folds, epochs) = if lab.smoke { (1, 2) } else { (folds, lab.epochs.unwrap_or(epochs)) };
        for system in SYSTEMS {
            let mut accuracies = Vec::new();
            for fold in 0..folds {
                let Some((dataset, splits)) = folded(lab, name, path.as_deref(), fold)? else { break };
                let classes = if name == "csl" { 10 } else { 1 };
                let largest =
                    dataset.samples.iter().map(|sample| sample.graph.num_nodes()).max().unwrap_or(2);
                let model =
                    model(system, (largest - 1).min(MOST_PAIRS), dataset.schema.node_numbers(), classes);
                accuracies.extend(one_fold(lab, name, system.0, fold, epochs, model, &dataset, splits)?);
            }
            let Some(over) = MeanStd::of(&accuracies) else {
                sheet.row([title, system.0, "–", "–", "–", "–", "not run: data missing"]);
                continue;
            };
            let worst = accuracies.iter().copied().fold(f64::INFINITY, f64::min);
            let verdict = match (lab.smoke, over.mean) {
                (true, _) => "shortened",
                (false, mean) if mean >= 1.0 => "solved",
                (false, mean) if mean <= 1.2 * chance(name) => "no better than guessing",
                _ => "in part",
            };
            sheet.row([
                title.to_owned(),
                system.0.to_owned(),
                format!("{:.2} ± {:.2} %", 100.0 * over.mean, 100.0 * over.population_std),
                format!("{:.2} %", 100.0 * worst),
                over.count.to_string(),
                epochs.to_string(),
                verdict.to_owned(),
            ]);
        }
    }
    sheet.note(
        "Three layers of width 32, GINE as the local branch, all eigenpairs up to 63, sum pooling, AdamW at 1e-3, \
         batches of 16; test accuracy at the epoch with the best validation accuracy, seed 0. CSL has its five \
         published folds; EXP has none, so ten folds at random (seed 0).",
    );
    Ok(sheet)
}

fn chance(name: &str) -> f64 {
    if name == "csl" { 0.1 } else { 0.5 }
}

/// The data of a fold, with numeric node features.
fn folded(
    lab: &Lab<'_>,
    name: &str,
    path: Option<&Path>,
    fold: usize,
) -> Result<Option<(Dataset, Splits)>, ReproError> {
    let (mut dataset, splits) = match (name, path) {
        ("csl", Some(path)) => {
            let options = ReadOptions { split: Some(format!("fold{fold}")), ..ReadOptions::default() };
            let dataset = open(path, &options)?.dataset;
            let splits = Splits::official(&dataset)?;
            (dataset, splits)
        }
        ("csl", None) => {
            let copies = if lab.smoke { 4 } else { 15 };
            let dataset = CircularSkipLinks { copies, ..CircularSkipLinks::default() }.generate(0)?;
            let splits = Splits::k_fold(dataset.samples.len(), 5, fold, 0)?;
            (dataset, splits)
        }
        (_, Some(path)) => {
            let dataset = open(path, &ReadOptions::default())?.dataset;
            let splits = Splits::k_fold(dataset.samples.len(), 10, fold, 0)?;
            (dataset, splits)
        }
        (_, None) => return Ok(None),
    };
    for sample in &mut dataset.samples {
        sample.graph = featured(&sample.graph)?;
    }
    let columns = dataset.samples.first().map_or(0, |sample| sample.graph.node_features().number_columns());
    let column = |at: usize| Column { name: format!("number_{at}"), kind: ColumnKind::Number };
    dataset.schema.node_columns = (0..columns).map(column).collect();
    Ok(Some((dataset, splits)))
}

#[allow(clippy::too_many_arguments)]
fn one_fold(
    lab: &Lab<'_>,
    name: &str,
    system: &str,
    fold: usize,
    epochs: usize,
    model: ModelConfig,
    dataset: &Dataset,
    splits: Splits,
) -> Result<Option<f64>, ReproError> {
    let loss = if name == "csl" { Loss::CrossEntropy } else { Loss::BinaryCrossEntropy };
    let train = TrainConfig {
        epochs,
        warmup: (epochs / 10).max(1).min(epochs - 1),
        batch_size: 16,
        loss,
        metric: MetricKind::Accuracy,
        ..TrainConfig::default()
    };
    let recipe =
        Recipe { name: name.to_owned(), title: name.to_owned(), dataset: name.to_owned(), model, train };
    let (data, _) = TrainingData::prepare(dataset, splits, &recipe.model, lab.cache.as_ref(), &|_, _, _| {})?;
    let identity = json!({ "model": recipe.model, "train": recipe.train, "data": data.fingerprint });
    let label = format!("{name} fold {fold} {system}");
    let run = lab.store.run_folder(&label, &identity);
    let source =
        DataSource::File { path: PathBuf::from(name), read: Box::default(), split: SplitChoice::Official };
    let results = lab.train_in(&run, &label, &recipe, &source, &data)?;
    Ok(results.ok().and_then(|results| results.first().and_then(|result| result.best.test)))
}
