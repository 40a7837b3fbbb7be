//! What the block does in a trained model: its share of every layer, how often its input is bounded, and what the model
//! is worth without it.
//!
//! Where a result misses the paper, this says where to look: at the fit of the training part, at a block that adds nothing,
//! at norms whose estimates are off.

use super::lab::selected_model;
use super::{Attempt, Figure, Lab, Line, Outcome, ReproError, Sheet, Side, Trained, parts, table1};
use graphminnet::config::Recipe;
use graphminnet::model::{BlockUse, GraphMinNet};
use graphminnet::nn::Pass;
use graphminnet::train::{TrainingData, recompute_norms};
use graphminnet::weights::{self, NamedTensor};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::PathBuf;

/// Data sets that are looked at by default: those of the paper's claim on long range.
pub const DATASETS: [&str; 2] = ["molhiv", "peptides-func"];

/// What to look at.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Data sets whose recipes are trained, unless a run is given for them.
    pub datasets: Vec<String>,
    /// Finished run directories whose weights are used; each is looked at.
    pub runs: Vec<PathBuf>,
}

/// What was found in one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Finding {
    /// Share of the block in a layer, per layer.
    shares: Vec<Option<f64>>,
    /// Share of the nodes whose input was bounded, per layer.
    bounded: Vec<f64>,
    /// The metric on training, validation and test part.
    trained: Scores,
    /// The same without the block.
    without: Scores,
    /// The same with the estimates of the norms measured again.
    measured: Scores,
}

/// The metric on the training, validation and test part.
type Scores = [Option<f64>; 3];

/// Looks at trained models.
///
/// # Errors
///
/// [`ReproError`].
pub fn run(lab: &Lab<'_>, request: &Request) -> Result<Outcome, ReproError> {
    let mut layers = Sheet::new(
        "The block in a trained model, layer by layer",
        &[
            ("model", Side::Left),
            ("layer", Side::Right),
            ("share of the block", Side::Right),
            ("inputs bounded", Side::Right),
        ],
    );
    let mut scores = Sheet::new(
        "What the model is worth",
        &[
            ("model", Side::Left),
            ("metric", Side::Left),
            ("with", Side::Left),
            ("training", Side::Right),
            ("validation", Side::Right),
            ("test", Side::Right),
        ],
    );
    let mut figure = Figure {
        title: "Share of the block".to_owned(),
        description:
            "Length of what the block adds to a layer, in parts of what the layer's branches add up to."
                .to_owned(),
        x_label: "layer".to_owned(),
        y_label: "share".to_owned(),
        ..Figure::default()
    };
    for (name, trained) in models(lab, request, &mut scores)? {
        let Some(finding) = look(lab, &name, &trained, &mut scores)? else { continue };
        let mut line = Line { name: name.clone(), ..Line::default() };
        for (layer, (share, bounded)) in finding.shares.iter().zip(&finding.bounded).enumerate() {
            let text = share.map_or_else(|| "undefined".to_owned(), |share| format!("{share:.3}"));
            layers.row([name.clone(), (layer + 1).to_string(), text, format!("{:.1} %", bounded * 100.0)]);
            line.points.extend(share.map(|share| ((layer + 1) as f64, share)));
        }
        figure.lines.push(line);
        let rows = [
            ("all", finding.trained),
            ("no block", finding.without),
            ("norms measured again", finding.measured),
        ];
        for (with, found) in rows {
            let text = |score: Option<f64>| {
                score
                    .map_or_else(|| "undefined".to_owned(), |score| format!("{:.4}", score * trained.scale()))
            };
            let [train, valid, test] = found.map(text);
            let metric = trained.recipe.train.metric.to_string();
            scores.row([name.clone(), metric, with.to_owned(), train, valid, test]);
        }
    }
    layers.note(
        "Share of the block: length of BN(x + block(x)) − BN(x) over all nodes of the test part, in parts of the length of \
         what both branches add up to. Inputs bounded: nodes whose features are longer than the unit ball of \
         `input_norm = \"ball\"` and were shortened.",
    );
    scores.note(
        "All parts in evaluation mode. No block: its output is 0 in every layer; nothing is trained again. Norms measured \
         again: the estimates of all batch norms are replaced by the mean over training batches, with the weights as they are.",
    );
    let figures = if figure.lines.is_empty() { Vec::new() } else { vec![("block".to_owned(), figure)] };
    Ok(Outcome { sheets: vec![("block".to_owned(), layers), ("block-scores".to_owned(), scores)], figures })
}

/// The models that are asked for, by the names of their rows.
fn models(lab: &Lab<'_>, request: &Request, sheet: &mut Sheet) -> Result<Vec<(String, Trained)>, ReproError> {
    let mut models = Vec::new();
    for path in &request.runs {
        let name =
            path.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned());
        match table1::read_run(path)? {
            Some(trained) => models.push((name, trained)),
            None => sheet.row([name, String::new(), "not run: the run is not finished".to_owned()]),
        }
    }
    for dataset in request.datasets.iter().filter(|_| request.runs.is_empty()) {
        let title = Recipe::named(dataset)?.title;
        match lab.train("graphminnet", dataset, &[])? {
            Attempt::Done(trained) => models.push((title, *trained)),
            Attempt::NotRun(reason) => sheet.row([title, String::new(), format!("not run: {reason}")]),
        }
    }
    Ok(models)
}

fn look(
    lab: &Lab<'_>,
    name: &str,
    trained: &Trained,
    sheet: &mut Sheet,
) -> Result<Option<Finding>, ReproError> {
    let Recipe { model: config, train, .. } = &trained.recipe;
    if let Some(short) = &trained.shortened {
        sheet.note(format!("{name}: training was shortened to {short}."));
    }
    let loaded = match lab.load_of(trained)? {
        Ok(loaded) => loaded,
        Err(reason) => {
            sheet.row([name.to_owned(), String::new(), format!("not run: {reason}")]);
            return Ok(None);
        }
    };
    let (data, _) =
        TrainingData::prepare(&loaded.dataset, loaded.splits, config, lab.cache.as_ref(), lab.interrupt)?;
    let seed = trained.results.first().map_or(0, |result| result.seed);
    let model = selected_model(&trained.run.join(format!("seed-{seed}")), config, seed, &lab.device)?;
    let hash = trained.results.first().map(|result| result.best_weights_sha256.clone());
    let identity = json!({ "weights": hash, "data": data.fingerprint });
    lab.watch.say(&format!("{name}: looking at the block"));
    let finding = lab.store.cell(&format!("block-{name}"), &identity, || {
        let mut uses = vec![BlockUse::default(); config.layers];
        parts::each(lab, &model, &data, &data.splits.test, train, |input, _| {
            uses.iter_mut().zip(model.block_use(input)).for_each(|(sum, of_batch)| *sum += of_batch);
        })?;
        let scores = |model: &GraphMinNet| -> Result<Scores, ReproError> {
            let score = |part: &[usize]| {
                parts::score(lab, model, &data, part, train, |input| model.forward(input, Pass::Eval))
            };
            Ok([score(&data.splits.train)?, score(&data.splits.valid)?, score(&data.splits.test)?])
        };
        let (as_trained, without) = (scores(&model)?, scores(&without_block(&model)?)?);
        let measured = model.clone();
        if !recompute_norms(&measured, &data, train, seed, &lab.device, lab.interrupt)? {
            return Err(ReproError::Interrupted);
        }
        Ok(Finding {
            shares: uses.iter().map(BlockUse::share).collect(),
            bounded: uses.iter().map(|sum| sum.bounded as f64 / sum.nodes.max(1) as f64).collect(),
            trained: as_trained,
            without,
            measured: scores(&measured)?,
        })
    })?;
    Ok(Some(finding))
}

/// The model with blocks that put out 0: their candidates `h̃` are 0, and they multiply everything else.
fn without_block(model: &GraphMinNet) -> Result<GraphMinNet, ReproError> {
    let silent = |tensor: NamedTensor| match tensor.name.contains(".gmn.h.") {
        true => NamedTensor { values: vec![0.0; tensor.values.len()], ..tensor },
        false => tensor,
    };
    Ok(weights::replace(model.clone(), weights::named_tensors(model).into_iter().map(silent))?)
}
