//! Time per epoch (training, validation and test) of the systems on the same data and machine.

use super::own_models::{self, Planned};
use super::{Figure, Lab, Line, Outcome, ReproError, Sheet, Side, systems};
use crate::paper;
use burn::tensor::Device;
use graphminnet::config::Recipe;
use graphminnet::train::{Architecture, Loaded, Observer, Settings, TrainEvent, TrainingData, train_seed};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Epochs that are timed.
const EPOCHS: usize = 3;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Timed {
    seconds: Vec<f64>,
    graphs_per_second: f64,
    parameters: usize,
    batch_size: usize,
}

/// Notes the time of every epoch.
#[derive(Default)]
struct Clock {
    seconds: Vec<f64>,
    graphs_per_second: f64,
    parameters: usize,
}

impl Observer for Clock {
    fn event(&mut self, event: &TrainEvent) {
        match event {
            TrainEvent::Epoch(report) => {
                self.seconds.push(report.seconds);
                self.graphs_per_second = self.graphs_per_second.max(report.graphs_per_second);
            }
            TrainEvent::SeedStarted { parameters, .. } => self.parameters = *parameters,
            _ => {}
        }
    }
}

/// Times the systems on some data sets.
///
/// # Errors
///
/// [`ReproError`].
pub fn run(lab: &Lab<'_>, datasets: &[String], asked: &[String]) -> Result<Outcome, ReproError> {
    asked.iter().try_for_each(|system| systems::check(system))?;
    let mut sheet = Sheet::new(
        "Time per epoch: training, validation and test",
        &[
            ("data set", Side::Left),
            ("system", Side::Left),
            ("seconds", Side::Right),
            ("training graphs/s", Side::Right),
            ("graphs of a step", Side::Right),
            ("training step", Side::Right),
            ("against GraphMinNet", Side::Right),
            ("parameters", Side::Right),
            ("epochs timed", Side::Right),
        ],
    );
    let mut groups: Vec<Line> = asked
        .iter()
        .map(|system| Line { name: paper::title(system).to_owned(), ..Line::default() })
        .collect();
    for (place, dataset) in datasets.iter().enumerate() {
        let recipe = Recipe::named(dataset)?;
        let mut rows: Vec<(&str, Result<Timed, String>)> = Vec::new();
        for system in asked {
            rows.push((system, timed(lab, &recipe, system)?));
        }
        let own =
            rows.iter().find(|(system, _)| *system == "graphminnet").and_then(|(_, timed)| fastest(timed));
        for ((system, timed), group) in rows.iter().zip(&mut groups) {
            match timed {
                Err(reason) => {
                    sheet.row([&recipe.title, paper::title(system), &format!("not run: {reason}")]);
                }
                Ok(found) => {
                    let seconds = fastest(timed).unwrap_or(f64::NAN);
                    group.points.push((place as f64, seconds));
                    let ratio = own.map_or_else(|| "–".to_owned(), |own| format!("{:.2} ×", seconds / own));
                    sheet.row([
                        recipe.title.clone(),
                        paper::title(system).to_owned(),
                        format!("{seconds:.2}"),
                        graphs_per_second(found.graphs_per_second),
                        found.batch_size.to_string(),
                        format!("{:.3} s", found.batch_size as f64 / found.graphs_per_second),
                        ratio,
                        found.parameters.to_string(),
                        found.seconds.len().to_string(),
                    ]);
                }
            }
        }
    }
    sheet.note(
        "The fastest of the timed epochs, on this machine; preparation is apart. The paper's figure prints no numbers. \
         GCN, GIN(E), GAT, GatedGCN, GraphGPS and GSSC have GraphMinNet's encoders, width, depth, head and batches, the \
         others their own.",
    );
    if let Some(graphs) = lab.train_graphs {
        sheet.note(format!("Shortened: an epoch has at most the first {graphs} graphs of every part."));
    }
    let figure = Figure {
        title: "Time per epoch".to_owned(),
        description: "Seconds per epoch by data set, one bar per system.".to_owned(),
        x_label: "data set".to_owned(),
        y_label: "seconds".to_owned(),
        categories: datasets.to_vec(),
        lines: groups,
        ..Figure::default()
    };
    let figures = if figure.lines.iter().any(|line| !line.points.is_empty()) {
        vec![("runtime".to_owned(), figure)]
    } else {
        Vec::new()
    };
    Ok(Outcome { sheets: vec![("runtime".to_owned(), sheet)], figures })
}

/// Systems that keep something for every pair of nodes do few large graphs in a second.
fn graphs_per_second(rate: f64) -> String {
    if rate < 100.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

fn fastest(timed: &Result<Timed, String>) -> Option<f64> {
    timed.as_ref().ok().map(|timed| timed.seconds.iter().copied().fold(f64::INFINITY, f64::min))
}

fn timed(lab: &Lab<'_>, recipe: &Recipe, system: &str) -> Result<Result<Timed, String>, ReproError> {
    lab.check_interrupt()?;
    if systems::is_own_model(system) {
        let Planned { model, mut recipe, .. } = match own_models::planned(lab, system, &recipe.name)? {
            Ok(planned) => planned,
            Err(reason) => return Ok(Err(reason)),
        };
        few_epochs(lab, &mut recipe);
        return cell(lab, &recipe, system, &model, "system", |loaded| {
            let model = own_models::fitted(model.clone(), &loaded);
            Ok((own_models::prepared(lab, &loaded, &model, first_seed(lab))?, model))
        });
    }
    let changes = systems::changes(system, recipe)?;
    let (mut changed, _) = match lab.recipe(&recipe.name, &changes) {
        Ok(found) => found,
        Err(ReproError::Config(error)) => return Ok(Err(error.to_string())),
        Err(error) => return Err(error),
    };
    few_epochs(lab, &mut changed);
    cell(lab, &changed, system, &changed.model, "model", |loaded| {
        let Loaded { dataset, splits, .. } = loaded;
        let (cache, interrupt) = (lab.cache.as_ref(), lab.interrupt);
        let (data, _) = TrainingData::prepare(&dataset, splits, &changed.model, cache, interrupt)?;
        Ok((data, changed.model.clone()))
    })
}

fn few_epochs(lab: &Lab<'_>, recipe: &mut Recipe) {
    recipe.train.epochs = lab.epochs.unwrap_or(EPOCHS).max(1);
    recipe.train.warmup = 0;
}

fn first_seed(lab: &Lab<'_>) -> u64 {
    lab.seeds.first().copied().unwrap_or(0)
}

/// The times of a model on the data of a recipe, measured once; `key` says what the model is in the identity of the cell.
fn cell<C: Architecture>(
    lab: &Lab<'_>,
    recipe: &Recipe,
    system: &str,
    model: &C,
    key: &str,
    prepare: impl FnOnce(Loaded) -> Result<(TrainingData, C), ReproError>,
) -> Result<Result<Timed, String>, ReproError> {
    let source = lab.source(recipe)?;
    let threads = rayon::current_num_threads();
    let mut identity = json!({
        key: model, "train": recipe.train, "data": source, "found": lab.has_data(recipe)?,
        "graphs": lab.train_graphs, "threads": threads,
    });
    // Cells of the processor were stored without it.
    if lab.device != Device::flex() {
        identity["device"] = format!("{:?}", lab.device).into();
    }
    lab.store.cell(&format!("runtime-{}-{system}", recipe.name), &identity, || {
        let mut loaded = match lab.load(recipe)? {
            Ok(loaded) => loaded,
            Err(reason) => return Ok(Err(reason)),
        };
        if let Some(graphs) = lab.train_graphs {
            // An epoch in miniature: evaluating all graphs after training on a few would be most of it.
            loaded.splits.valid.truncate(graphs);
            loaded.splits.test.truncate(graphs);
        }
        lab.watch.say(&format!("timing {} on {}", paper::title(system), recipe.title));
        let (data, model) = prepare(loaded)?;
        let settings = lab.settings(&recipe.name, &model, &recipe.train, first_seed(lab));
        let settings = Settings { edges: source.edges(), ..settings };
        let mut clock = Clock::default();
        match train_seed(&settings, &data, None, &mut clock)? {
            graphminnet::train::Outcome::Finished(_) => {}
            _ => return Err(ReproError::Interrupted),
        }
        let Clock { seconds, graphs_per_second, parameters } = clock;
        let batch_size = recipe.train.batch_size * recipe.train.accumulate;
        Ok(Ok(Timed { seconds, graphs_per_second, parameters, batch_size }))
    })
}
