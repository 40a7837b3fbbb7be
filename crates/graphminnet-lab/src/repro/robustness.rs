//! A trained model under noise on its node embeddings: `x + ε·n`.
//!
//! White noise has `n ~ N(0, I)`; signal-dependent noise has `n ~ N(0, I) ⊙ μ(x)` with `μ` the mean magnitude of every
//! channel over the nodes of the graph.

use super::lab::selected_model;
use super::{Attempt, Figure, Lab, Line, Outcome, ReproError, Sheet, Side, Trained, parts, table1};
use burn::tensor::{Tensor, TensorData};
use graphminnet::config::Recipe;
use graphminnet::model::GraphMinNet;
use graphminnet::nn::Pass;
use graphminnet::ops::{PoolKind, gather_graphs, pool};
use graphminnet::train::{MeanStd, TrainingData};
use graphminnet_data::rng;
use serde_json::json;
use std::path::PathBuf;

/// Noise levels of the paper, in per cent.
pub const LEVELS: [u32; 7] = [0, 5, 10, 15, 20, 25, 30];

/// Data sets of the paper's figure.
pub const DATASETS: [&str; 2] = ["molhiv", "peptides-func"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Noise {
    White,
    SignalDependent,
}

/// What to look at.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Data sets whose recipes are trained, unless a run is given for them.
    pub datasets: Vec<String>,
    /// Finished run directories whose weights are used.
    pub runs: Vec<PathBuf>,
    /// Draws of the noise per level.
    pub draws: u64,
}

/// Evaluates trained models under noise.
///
/// # Errors
///
/// [`ReproError`].
pub fn run(lab: &Lab<'_>, request: &Request) -> Result<Outcome, ReproError> {
    let mut sheet = Sheet::new(
        "Robustness: test metric under noise on the node embeddings",
        &[
            ("data set", Side::Left),
            ("metric", Side::Left),
            ("noise", Side::Left),
            ("level", Side::Right),
            ("mean ± std", Side::Right),
            ("against no noise", Side::Right),
            ("draws", Side::Right),
        ],
    );
    let mut figure = Figure {
        title: "Robustness".to_owned(),
        description: "Test metric against the level of noise on the node embeddings; WN: white noise, SD: \
                      signal-dependent."
            .to_owned(),
        x_label: "noise level in per cent".to_owned(),
        y_label: "test metric".to_owned(),
        ..Figure::default()
    };
    let given = request.runs.iter().map(|path| table1::read_run(path)).collect::<Result<Vec<_>, _>>()?;
    for dataset in &request.datasets {
        let recipe = Recipe::named(dataset)?;
        let trained = match given.iter().flatten().find(|trained| trained.recipe.name == *dataset) {
            Some(trained) => trained.clone(),
            None => match lab.train("robustness", dataset, &[])? {
                Attempt::Done(trained) => *trained,
                Attempt::NotRun(reason) => {
                    sheet.row([recipe.title.as_str(), "", "", "", &format!("not run: {reason}")]);
                    continue;
                }
            },
        };
        if let Some(short) = &trained.shortened {
            sheet.note(format!("{}: the model's training was shortened to {short}.", recipe.title));
        }
        let loaded = match lab.load_of(&trained)? {
            Ok(loaded) => loaded,
            Err(reason) => {
                sheet.row([recipe.title.as_str(), "", "", "", &format!("not run: {reason}")]);
                continue;
            }
        };
        loaded.report.differences.iter().for_each(|text| sheet.note(format!("{}: {text}", recipe.title)));
        let (data, _) = TrainingData::prepare(
            &loaded.dataset,
            loaded.splits,
            &trained.recipe.model,
            lab.cache.as_ref(),
            lab.interrupt,
        )?;
        let seed = trained.results.first().map_or(0, |result| result.seed);
        let hash = trained.results.first().map(|result| result.best_weights_sha256.clone());
        let folder = trained.run.join(format!("seed-{seed}"));
        let model = selected_model(&folder, &trained.recipe.model, seed, &lab.device)?;
        for (name, noise) in [("white", Noise::White), ("signal-dependent", Noise::SignalDependent)] {
            let mut line = Line {
                name: format!("{} {}", recipe.title, if noise == Noise::White { "WN" } else { "SD" }),
                ..Line::default()
            };
            let mut clean = None;
            for level in LEVELS {
                let draws = if level == 0 { 1 } else { request.draws.max(1) };
                let key = format!("robustness-{dataset}-{name}-{level}");
                let identity = json!({ "weights": hash, "draws": draws, "data": data.fingerprint });
                lab.watch.say(&format!("{}: {name} noise of {level} %", recipe.title));
                let values: Vec<f64> = lab.store.cell(&key, &identity, || {
                    let mut values = Vec::new();
                    for draw in 0..draws {
                        values.extend(evaluate(lab, &model, &data, &trained, noise, level, draw)?);
                    }
                    Ok(values)
                })?;
                let Some(over) = MeanStd::of(&values) else {
                    sheet.row([recipe.title.as_str(), "", name, &format!("{level} %"), "undefined"]);
                    continue;
                };
                let base = *clean.get_or_insert(over.mean);
                line.points.push((f64::from(level), over.mean));
                line.deviations.push(over.population_std);
                sheet.row([
                    recipe.title.clone(),
                    trained.recipe.train.metric.to_string(),
                    name.to_owned(),
                    format!("{level} %"),
                    over.printed(4),
                    format!("{:+.4}", over.mean - base),
                    over.count.to_string(),
                ]);
            }
            figure.lines.push(line);
        }
    }
    sheet.note(
        "Noise on the embeddings that enter the first layer. Signal-dependent noise is scaled, channel by channel, with \
         the mean magnitude over the nodes of the graph. The paper's figure prints no numbers; it claims consistent \
         performance up to 30 %.",
    );
    let figures = if figure.lines.is_empty() { Vec::new() } else { vec![("robustness".to_owned(), figure)] };
    Ok(Outcome { sheets: vec![("robustness".to_owned(), sheet)], figures })
}

fn evaluate(
    lab: &Lab<'_>,
    model: &GraphMinNet,
    data: &TrainingData,
    trained: &Trained,
    noise: Noise,
    level: u32,
    draw: u64,
) -> Result<Option<f64>, ReproError> {
    let mut random = rng::stream(draw, "robustness", &[u64::from(level)]);
    let score = parts::score(lab, model, data, &data.splits.test, &trained.recipe.train, |input| {
        model.forward_perturbed(input, Pass::Eval, |x: Tensor<2>| {
            let [rows, columns] = x.dims();
            let values: Vec<f32> = (0..rows * columns).map(|_| random.normal() as f32).collect();
            let normal: Tensor<2> = Tensor::from_data(TensorData::new(values, [rows, columns]), &x.device());
            let normal = match noise {
                Noise::White => normal,
                Noise::SignalDependent => {
                    let means = pool(x.clone().abs(), PoolKind::Mean, &input.structure);
                    normal * gather_graphs(means, &input.structure)
                }
            };
            x + normal * (f64::from(level) / 100.0)
        })
    })?;
    Ok(score.map(|value| value * trained.scale()))
}
