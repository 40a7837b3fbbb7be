//! Link prediction: the defaults for own data beside GCN and the common neighbours, in the same harness.

use super::{Lab, ReproError, Sheet, Side};
use crate::repro::Outcome;
use graphminnet::bundle::{Bundle, Ensemble};
use graphminnet::config::{Override, Recipe};
use graphminnet::task::links::{LinkQuestion, LinkScores, judge};
use graphminnet::train::{
    self, Loaded, MeanStd, SeedDir, SplitChoice, TrainingData, infer_recipe, train_seed,
};
use graphminnet_data::generate::Papers;
use graphminnet_data::links::HideLinks;
use graphminnet_data::{Dataset, Graph, Level, Schema, Split, Task};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

/// Scores of one system on one draw, in the order of the table.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Cell {
    scores: [f64; 4],
    parameters: usize,
}

impl Cell {
    fn new(scores: &LinkScores, parameters: usize) -> Self {
        let known = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let scores = [scores.roc_auc, scores.average_precision, scores.hits_at_50, scores.mrr].map(known);
        Self { scores, parameters }
    }
}

const COLUMNS: [&str; 4] = ["ROC-AUC", "average precision", "hits@50", "MRR"];

/// What a plain GCN has in place of the defaults.
const GCN: [&str; 5] =
    ["model.local=gcn", "model.global=none", "model.node_pe=none", "model.encoder_hops=0", "model.layers=2"];

/// Trains both systems on a generated graph and on a graph of calls; the seed is that of the hidden links and of the
/// weights (and of the generated graph).
///
/// # Errors
///
/// [`ReproError`] if a training fails.
pub fn run(lab: &Lab<'_>) -> Result<Outcome, ReproError> {
    let papers = match lab.smoke {
        true => Papers { nodes: 120, words: 70, valid: 30, test: 40, ..Papers::default() },
        false => Papers::default(),
    };
    let mut sheets = Vec::new();
    let generated = |seed: u64| Ok(papers.generate(seed)?);
    let mut sheet = table(lab, "papers", "Links of a generated graph", &generated)?;
    sheet.note(format!(
        "The graph of `repro nodes`: a stochastic block model with {} nodes in {} classes, {} neighbours on average, {} words \
         as features. Every seed has a graph of its own.",
        papers.nodes, papers.classes, papers.mean_degree, papers.words
    ));
    sheets.push(("links-papers".to_owned(), sheet));
    match call_graph(lab)? {
        Err(reason) => lab.watch.say(&format!("MalNet-Tiny: not run: {reason}")),
        Ok(calls) => {
            let graph = &calls.samples[0].graph;
            let (nodes, edges) = (graph.num_nodes(), graph.num_edges());
            let mut sheet = table(lab, "calls", "Links of a graph of calls", &|_| Ok(calls.clone()))?;
            sheet.note(format!(
                "The graph of MalNet-Tiny with the most edges (`{}`): {nodes} functions without features, {edges} calls, \
                 directed. Every seed hides other calls.",
                calls.samples[0].id
            ));
            sheets.push(("links-calls".to_owned(), sheet));
        }
    }
    Ok(Outcome { sheets, figures: Vec::new() })
}

/// The largest graph of the benchmark, or why it is not there.
fn call_graph(lab: &Lab<'_>) -> Result<Result<Dataset, String>, ReproError> {
    if lab.smoke {
        return Ok(Err("left out of a smoke test".to_owned()));
    }
    let loaded = match lab.load(&Recipe::named("malnet-tiny")?)? {
        Ok(loaded) => loaded,
        Err(reason) => return Ok(Err(reason)),
    };
    let largest = loaded.dataset.samples.into_iter().max_by_key(|sample| sample.graph.num_edges());
    let Some(mut sample) = largest else { return Ok(Err("no graphs".to_owned())) };
    sample.targets = Vec::new();
    let schema = Schema {
        level: Level::Graph,
        task: Task::Regression,
        targets: Vec::new(),
        class_names: Vec::new(),
        positive_class: None,
        molecules: None,
        node_columns: Vec::new(),
        edge_columns: Vec::new(),
    };
    let samples = vec![sample];
    Ok(Ok(Dataset {
        name: "calls".to_owned(),
        schema,
        samples,
        official_split: None,
        node_parts: None,
        qualifiers: Default::default(),
    }))
}

fn table(
    lab: &Lab<'_>,
    name: &str,
    title: &str,
    graph: &dyn Fn(u64) -> Result<Dataset, ReproError>,
) -> Result<Sheet, ReproError> {
    let mut header = vec![("system", Side::Left), ("parameters", Side::Right)];
    header.extend(COLUMNS.map(|column| (column, Side::Right)));
    header.push(("seeds", Side::Right));
    let mut sheet = Sheet::new(title, &header);
    let systems = ["common neighbours", "GCN, 2 layers", "GraphMinNet, defaults"];
    let mut rows = systems.map(|system| (system, Vec::new()));
    for &seed in &lab.seeds {
        let hidden = HideLinks { seed, ..HideLinks::default() }.apply(&graph(seed)?);
        let hidden = hidden.map_err(|error| ReproError::Usage(error.to_string()))?;
        let loaded = Loaded::split(hidden, &SplitChoice::Official)?;
        rows[0].1.push(Cell::new(&common_neighbours(&loaded.dataset)?, 0));
        for (system, cells) in &mut rows[1..] {
            let changes: &[&str] = if *system == systems[1] { &GCN } else { &[] };
            cells.push(trained(lab, name, system, changes, &loaded, seed)?);
        }
    }
    for (system, cells) in rows {
        let over = |at: usize| {
            let values: Vec<f64> = cells.iter().map(|cell| 100.0 * cell.scores[at]).collect();
            MeanStd::of(&values).map_or_else(|| "–".to_owned(), |all| all.printed(1))
        };
        let parameters = cells.first().map_or(0, |cell| cell.parameters).to_string();
        let scores = (0..COLUMNS.len()).map(over);
        sheet.row([system.to_owned(), parameters].into_iter().chain(scores).chain([cells.len().to_string()]));
    }
    let share = HideLinks::default();
    sheet.note(format!(
        "{:.0} % of the links are hidden to validate and {:.0} % to test, {:.0} % of the others to train on; the rest are the \
         edges along which messages go and of which encodings are made. Scores in per cent on the test links at the epoch \
         with the best ROC-AUC on the validation links. ROC-AUC, average precision and hits@50 (OGB): against as many pairs \
         without a link. MRR: the second end among all nodes without a link to the first (filtered).",
        100.0 * share.valid,
        100.0 * share.test,
        100.0 * share.ask
    ));
    sheet.note(
        "Common neighbours: the number of nodes that both ends have links with, in either direction, among the edges and the \
         links to train on. GCN: two layers of it in place of the defaults' layers, without encodings of places and without \
         averages before the first layer; width, head, dropout, learning rate and epochs are those of the defaults.",
    );
    Ok(sheet)
}

/// How many neighbours two nodes have in common, over all links that training knows.
fn common_neighbours(dataset: &Dataset) -> Result<LinkScores, ReproError> {
    let question = LinkQuestion {
        part: Some(Split::Test),
        directed: !dataset.samples.iter().all(|sample| sample.graph.is_undirected()),
        ..LinkQuestion::default()
    };
    judge(dataset, question, |at, graph: &Arc<Graph>, pairs| {
        let parts = dataset.node_parts.as_ref().map_or(&[][..], |parts| parts.graph(at));
        let asked = graph.pairs().iter().zip(&dataset.samples[at].targets).zip(parts);
        let links = asked.filter(|((_, target), part)| **target == 1.0 && **part == Some(Split::Train));
        let known: Vec<[u32; 2]> =
            graph.edges().iter().copied().chain(links.map(|((pair, _), _)| *pair)).collect();
        let (offsets, neighbours) = Graph::from_edges(graph.num_nodes(), known)?.undirected_neighbours();
        let of = |node: u32| {
            let [start, end] = [node, node + 1].map(|at| offsets[at as usize] as usize);
            &neighbours[start..end]
        };
        let common = |[a, b]: &[u32; 2]| {
            let (a, b) = (of(*a), of(*b));
            a.iter().filter(|node| b.binary_search(node).is_ok()).count() as f64
        };
        Ok::<_, ReproError>(pairs.iter().map(common).collect())
    })
}

fn trained(
    lab: &Lab<'_>,
    name: &str,
    system: &str,
    changes: &[&str],
    loaded: &Loaded,
    seed: u64,
) -> Result<Cell, ReproError> {
    lab.check_interrupt()?;
    let changes: Vec<Override> =
        changes.iter().map(|text| Override::parse(text)).collect::<Result<_, _>>()?;
    let mut recipe = infer_recipe(name, &loaded.dataset.schema, loaded, &changes)?.recipe;
    if let Some(epochs) = lab.epochs.or(lab.smoke.then_some(2)) {
        (recipe.train.epochs, recipe.train.warmup) = (epochs, 1.min(epochs - 1));
    }
    let Recipe { model, train: protocol, .. } = &recipe;
    let data = train::data_fingerprint(&loaded.dataset, &loaded.splits);
    let identity = json!({ "model": model, "train": protocol, "data": data, "seed": seed });
    let label = format!("links-{name}-{system}-{seed}");
    lab.store.cell(&label, &identity, || {
        lab.watch.say(&format!("{name}: {system}, seed {seed}"));
        let (data, _) =
            TrainingData::prepare(&loaded.dataset, loaded.splits.clone(), model, None, lab.interrupt)?;
        let settings = lab.settings(name, model, protocol, seed);
        let directory = SeedDir::new(lab.store.run_folder(&label, &identity))?;
        let train::Outcome::Finished(result) = train_seed(&settings, &data, Some(&directory), &mut ())?
        else {
            return Err(ReproError::Interrupted);
        };
        let bundle = Bundle::load_on(&directory.file("best.gmn"), &lab.device)?;
        let question = LinkQuestion { part: Some(Split::Test), ..LinkQuestion::default() };
        let scores = Ensemble::new(vec![bundle])?
            .score_links(&loaded.dataset, question)
            .map_err(|error| ReproError::Usage(error.to_string()))?;
        Ok(Cell::new(&scores, result.parameters))
    })
}
