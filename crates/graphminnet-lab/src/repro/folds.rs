//! Models trained on the folds of CSL and EXP.

use super::expressiveness::{MOST_PAIRS, Request, SYSTEMS, model};
use super::families::featured;
use super::{Lab, ReproError, Sheet, Side};
use graphminnet::config::{Loss, MetricKind, ModelConfig, NormEstimates, Recipe, TrainConfig};
use graphminnet::train::{DataSource, Loaded, MeanStd, data_fingerprint};
use graphminnet_data::generate::CircularSkipLinks;
use graphminnet_data::split::Splits;
use graphminnet_data::{Column, ColumnKind, Dataset, ReadOptions, Report, open};
use std::path::Path;

/// Trains on the folds of CSL and EXP.
pub(super) fn train(lab: &Lab<'_>, request: &Request, root: Option<&Path>) -> Result<Sheet, ReproError> {
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
                let train = protocol(name, epochs, request.norms);
                accuracies.extend(one_fold(lab, name, system.0, fold, model, train, dataset, splits)?);
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
                format!("{} %", over.scaled(100.0).printed(2)),
                format!("{:.2} %", 100.0 * worst),
                over.count.to_string(),
                epochs.to_string(),
                verdict.to_owned(),
            ]);
        }
    }
    sheet.note(match request.norms {
        NormEstimates::Recomputed => {
            "Batch norms are evaluated with estimates that are measured again with the weights as they are. Graphs that a \
             model cannot distinguish differ by rounding alone; norms enlarge that, so accuracy above chance is no proof."
        }
        NormEstimates::Running => "Batch norms are evaluated with the estimates that followed training.",
    });
    let has_published = root.is_some_and(|root| root.join("csl").exists());
    let folds_of_csl =
        if has_published { "its five published folds" } else { "five folds at random (seed 0)" };
    sheet.note(format!(
        "Three layers of width 32, GINE as the local branch, all eigenpairs up to 63, sum pooling, AdamW at 1e-3, \
         batches of 16; test accuracy at the epoch with the best validation accuracy, seed 0. CSL has {folds_of_csl}; \
         EXP has none that are published, so ten folds at random (seed 0).",
    ));
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
    let column = |at: usize| Column::new(format!("number_{at}"), ColumnKind::Number);
    dataset.schema.node_columns = (0..columns).map(column).collect();
    Ok(Some((dataset, splits)))
}

fn protocol(name: &str, epochs: usize, norm_estimates: NormEstimates) -> TrainConfig {
    TrainConfig {
        epochs,
        warmup: (epochs / 10).max(1).min(epochs - 1),
        batch_size: 16,
        loss: if name == "csl" { Loss::CrossEntropy } else { Loss::BinaryCrossEntropy },
        metric: MetricKind::Accuracy,
        norm_estimates,
        ..TrainConfig::default()
    }
}

#[allow(clippy::too_many_arguments)]
fn one_fold(
    lab: &Lab<'_>,
    name: &str,
    system: &str,
    fold: usize,
    model: ModelConfig,
    train: TrainConfig,
    dataset: Dataset,
    splits: Splits,
) -> Result<Option<f64>, ReproError> {
    let recipe =
        Recipe { name: name.to_owned(), title: name.to_owned(), dataset: name.to_owned(), model, train };
    let split_note = format!("fold {fold}");
    let loaded = Loaded { dataset, splits, report: Report::default(), split_note, in_parts: None };
    let label = format!("{name} fold {fold} {system}");
    let folder = lab.run_folder(&label, &recipe, data_fingerprint(&loaded.dataset, &loaded.splits));
    let mut run = lab.run_in(&folder, &recipe, DataSource::Given { edges: None })?.with_data(loaded);
    let results = lab.finish(&mut run, &label)?;
    Ok(results.ok().and_then(|results| results.first().and_then(|result| result.best.test)))
}
