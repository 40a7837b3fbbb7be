//! Which graphs a model distinguishes: families that colour refinement (1-WL) or even 3-WL finds alike.
//!
//! With fresh weights, the outputs of two graphs either differ by more than rounding or they do not; rounding is
//! measured on renumbered copies of the same graphs. On CSL and EXP models are also trained, over the folds.

use super::closeness::Closeness;
use super::families::{Family, Pairs, sixteen, skip_links};
use super::{Lab, Outcome, ReproError, Sheet, Side, folds, pair_table};
use graphminnet::config::{GlobalKind, LocalKind, ModelConfig, NodePeKind, NormEstimates, Pooling};
use graphminnet::model::{GraphMinNet, ModelInput};
use graphminnet::nn::Pass;
use graphminnet_data::registry;
use graphminnet_data::spectral::{PreparedGraph, prepare_graph};
use graphminnet_data::{Graph, rng};
use graphminnet_data::{ReadOptions, open};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The families by name.
pub const FAMILIES: [&str; 5] = ["csl", "exp", "sr16", "sr25", "graph8c"];

/// What to look at.
#[derive(Debug, Clone)]
pub struct Request {
    /// Families by name; all if empty and no file is given.
    pub families: Vec<String>,
    /// A file with graphs of one's own, in graph6 or any other format.
    pub graphs: Option<PathBuf>,
    /// Pairs of these graphs, as a CSV file of positions (default: all pairs).
    pub pairs: Option<PathBuf>,
    /// Where to write one row for every pair of these graphs.
    pub out: Option<PathBuf>,
    /// Whether models are also trained on CSL and EXP.
    pub train: bool,
    /// What their batch norms are evaluated with.
    pub norms: NormEstimates,
}

/// Systems that are compared: name, local branch, self term and positions of the nodes.
pub(super) const SYSTEMS: [(&str, GlobalKind, bool, NodePeKind); 4] = [
    ("GINE alone", GlobalKind::None, false, NodePeKind::None),
    ("GraphMinNet", GlobalKind::Graphminnet, false, NodePeKind::None),
    ("GraphMinNet, self term", GlobalKind::Graphminnet, true, NodePeKind::None),
    ("GraphMinNet, random walks", GlobalKind::Graphminnet, false, NodePeKind::Rwse),
];

/// Most eigenpairs that are used; all of a graph with up to one node more.
pub(super) const MOST_PAIRS: usize = 63;

/// Seeds of the fresh weights.
const SEEDS: u64 = 3;

pub(super) fn model(
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
}

/// Looks at the families, or at the graphs of a file.
///
/// # Errors
///
/// [`ReproError`] if a file cannot be read or a graph not be prepared.
pub fn run(lab: &Lab<'_>, request: &Request) -> Result<Outcome, ReproError> {
    let mut sheet = Sheet::new(
        "Pairs of graphs that are not distinguished, with fresh weights",
        &[
            ("family", Side::Left),
            ("graphs", Side::Right),
            ("pairs", Side::Right),
            ("system", Side::Left),
            ("alike", Side::Right),
            ("distinguished", Side::Right),
            ("rounding", Side::Right),
        ],
    );
    let root = registry::data_dir(lab.data_dir.as_deref()).map(|root| root.join("expressiveness"));
    let (families, missing) = families(lab, request, root.as_deref())?;
    for (at, family) in families.iter().enumerate() {
        lab.check_interrupt()?;
        // The first family is that of the file, where there is one.
        let out = request.out.as_deref().filter(|_| at == 0 && request.graphs.is_some());
        let mut systems = Vec::new();
        let (pairs, graphs) = (family.num_pairs(), family.graphs.len());
        let mut row = |system: &str, alike: usize, rounding: String| {
            let share = match 100.0 * (pairs - alike) as f64 / pairs.max(1) as f64 {
                share if alike > 0 && share > 99.99 => "> 99.99 %".to_owned(),
                share => format!("{share:.2} %"),
            };
            let cells = [family.title.clone(), graphs.to_string(), pairs.to_string(), system.to_owned()];
            sheet.row(cells.into_iter().chain([alike.to_string(), share, rounding]));
        };
        row("1-WL (colour refinement)", family.alike_to_refinement(), String::new());
        for system in SYSTEMS {
            let lap_dim = family.largest().saturating_sub(1).clamp(1, MOST_PAIRS);
            let config = model(system, lap_dim, family.node_columns(), 8);
            let name = format!("expressiveness-{}-{}", family.name, system.0);
            let identity =
                json!({ "model": config, "contents": family.contents(), "scale": "pair", "seeds": SEEDS });
            lab.watch.say(&format!("{}: {}", family.title, system.0));
            let told: Told = match out {
                None => lab
                    .store
                    .cell(&name, &identity, || Ok(tell(&closeness(lab, family, &config)?, family)))?,
                Some(_) => {
                    let closeness = closeness(lab, family, &config)?;
                    let told = tell(&closeness, family);
                    systems.push((system.0, closeness));
                    told
                }
            };
            row(system.0, told.alike, format!("{:.0e}", told.noise));
        }
        if let Some(path) = out {
            pair_table::write(path, family, &systems)?;
        }
    }
    for (title, reason) in missing {
        sheet.row([title, "–".to_owned(), "–".to_owned(), String::new(), format!("not run: {reason}")]);
    }
    sheet.note(format!(
        "Alike: the outputs of {SEEDS} fresh models differ by at most ten times what renumbering the nodes of either \
         graph changes (or by at most 1e-6), in units of the pair's largest output. Nodes have a constant feature, in EXP \
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
        let sheet = folds::train(lab, request, root.as_deref())?;
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

/// Graphs of which all get a renumbered copy to measure rounding on; of more, about so many do.
const COPIES: usize = 2_000;

fn tell(closeness: &Closeness, family: &Family) -> Told {
    Told { alike: closeness.alike(&family.pairs), noise: closeness.largest_control() }
}

fn closeness(lab: &Lab<'_>, family: &Family, config: &ModelConfig) -> Result<Closeness, ReproError> {
    let step = family.graphs.len().div_ceil(COPIES).max(1);
    let originals: Vec<usize> = (0..family.graphs.len()).step_by(step).collect();
    let mut random = rng::stream(0, "renumber", &[]);
    let copies = originals
        .iter()
        .map(|&at| renumbered(&family.graphs[at], &random.permutation(family.graphs[at].num_nodes())))
        .collect::<Result<Vec<_>, _>>()?;
    let graphs: Vec<Arc<Graph>> = family.graphs.iter().cloned().chain(copies).collect();
    let values = outputs(lab, &graphs, config)?;
    Ok(Closeness::new(config.out_dim * SEEDS as usize, &values, &originals))
}

/// Outputs of several fresh models side by side.
fn outputs(lab: &Lab<'_>, graphs: &[Arc<Graph>], config: &ModelConfig) -> Result<Vec<f32>, ReproError> {
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
    Ok(values)
}

/// The same graph with its nodes in another order.
pub(super) fn renumbered(graph: &Graph, place: &[usize]) -> Result<Arc<Graph>, ReproError> {
    let edges = graph.edges().iter().map(|ends| ends.map(|node| place[node as usize] as u32)).collect();
    let mut origin = vec![0; place.len()];
    place.iter().enumerate().for_each(|(from, &to)| origin[to] = from);
    let nodes = graph.node_features().select_rows(origin.into_iter());
    Ok(Arc::new(Graph::new(graph.num_nodes(), edges, nodes, graph.edge_features().clone())?))
}
