//! The table of results: the systems trained in one harness, on the same data and machine.

use super::lab::own_draw;
use super::{
    Attempt, Figure, Lab, Line, Outcome, ReproError, Sheet, Side, Trained, Verdict, own_models, systems,
    verdict,
};
use crate::paper;
use crate::systems::SystemRecipe;
use graphminnet::config::{ModelConfig, Recipe, changed_keys, with_overrides};
use graphminnet::train::{DataSource, RunFile};
use std::path::{Path, PathBuf};

/// What to run.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Data sets.
    pub datasets: Vec<String>,
    /// Systems to train.
    pub systems: Vec<String>,
    /// Finished run directories whose results are used instead of training.
    pub runs: Vec<PathBuf>,
}

/// Trains and tabulates.
///
/// # Errors
///
/// [`ReproError`].
pub fn run(lab: &Lab<'_>, request: &Request) -> Result<Outcome, ReproError> {
    request.systems.iter().try_for_each(|system| systems::check(system))?;
    let mut sheet = Sheet::new(
        "Results",
        &[
            ("data set", Side::Left),
            ("system", Side::Left),
            ("metric", Side::Left),
            ("paper", Side::Right),
            ("ours", Side::Right),
            ("parameters", Side::Right),
            ("seeds", Side::Left),
            ("epochs", Side::Right),
            ("s/epoch", Side::Right),
            ("verdict", Side::Left),
        ],
    );
    let mut figures = Vec::new();
    let finished = request.runs.iter().map(|path| read_run(path)).collect::<Result<Vec<_>, _>>()?;
    for dataset in &request.datasets {
        let recipe = Recipe::named(dataset)?;
        let mut order: Vec<(f64, &str)> = Vec::new();
        let mut lines: Vec<Line> = Vec::new();
        let mut larger = true;
        for system in paper::systems() {
            let printed = paper::result(system, dataset);
            let text = printed.map_or("–", |printed| printed.text);
            let start = [recipe.title.as_str(), paper::title(system), recipe.train.metric.word(), text];
            let mut row = |rest: [String; 6]| {
                sheet.row(start.iter().map(|cell| (*cell).to_owned()).chain(rest));
            };
            let blank = |verdict: Verdict| {
                let none = String::new;
                ["–".to_owned(), none(), none(), none(), none(), verdict.to_string()]
            };
            if printed.is_none()
                && systems::is_own_model(system)
                && SystemRecipe::named(system, dataset)?.is_none()
            {
                continue;
            }
            let found = finished.iter().flatten().find(|trained| is(trained, dataset, system));
            let attempt = match found {
                Some(trained) => Attempt::Done(Box::new(trained.clone())),
                None if !request.systems.iter().any(|asked| asked == system) => {
                    Attempt::NotRun("not asked for".to_owned())
                }
                None if systems::is_own_model(system) => own_models::train(lab, system, dataset)?,
                None => lab.train(system, dataset, &systems::changes(system, &recipe)?)?,
            };
            match attempt {
                Attempt::NotRun(reason) => row(blank(Verdict::NotRun(reason))),
                Attempt::Done(trained) => {
                    larger = trained.larger_is_better();
                    let decimals = printed.map_or(4, |printed| printed.decimals());
                    let test = trained.test();
                    let ours = test.map_or_else(|| "undefined".to_owned(), |test| test.printed(decimals));
                    let judged = match (&trained.shortened, test) {
                        (Some(_), _) => Verdict::Shortened,
                        (None, Some(test)) => Verdict::of(printed, test, larger),
                        (None, None) => Verdict::NotRun("no epoch had a metric".to_owned()),
                    };
                    order.extend(test.map(|test| (test.mean, paper::title(system))));
                    let parameters = trained.results.first().map_or(0, |result| result.parameters);
                    let epochs = trained.recipe.train.epochs.to_string();
                    let seconds = trained.over(|result| Some(result.seconds / result.epochs.max(1) as f64));
                    if let (Some(seconds), Some(test)) = (seconds, test) {
                        let points = vec![(seconds.mean, test.mean)];
                        let name = paper::title(system).to_owned();
                        lines.push(Line { name, points, deviations: Vec::new() });
                    }
                    let seconds = seconds.map_or_else(String::new, |seconds| format!("{:.1}", seconds.mean));
                    let seeds = trained.seeds();
                    row([ours, parameters.to_string(), seeds, epochs, seconds, judged.to_string()]);
                    if let Some(short) = &trained.shortened {
                        sheet.note(format!("{}: shortened to {short}.", recipe.title));
                    }
                    for text in &trained.differences {
                        sheet.note(format!("{}: {text}", recipe.title));
                    }
                }
            }
        }
        if lines.len() > 1 {
            let metric = recipe.train.metric.word();
            let figure = Figure {
                title: format!("{}: {metric} against time", recipe.title),
                description: format!("{metric} against seconds per epoch, one point per system."),
                x_label: "seconds per epoch".to_owned(),
                y_label: metric.to_owned(),
                x_log: true,
                lines,
                ..Figure::default()
            };
            figures.push((format!("table1-{dataset}"), figure));
        }
        if order.len() > 1 {
            order.sort_by(|a, b| if larger { b.0.total_cmp(&a.0) } else { a.0.total_cmp(&b.0) });
            let found: Vec<String> = order.iter().map(|(value, name)| format!("{name} {value:.4}")).collect();
            sheet.note(format!("{}: order as found, best first: {}.", recipe.title, found.join(", ")));
        }
    }
    sheet.note(verdict::MEANING);
    sheet.note(
        "GCN, GIN(E), GAT, GatedGCN, GraphGPS and GSSC are trained with GraphMinNet's encoders, head, width, depth and \
         protocol, the others with their own configurations (recipes/systems); the paper's numbers come from their own \
         configurations.",
    );
    Ok(Outcome { sheets: vec![("table1".to_owned(), sheet)], figures })
}

/// Whether a finished run is a system on a data set.
fn is(trained: &Trained, dataset: &str, system: &str) -> bool {
    trained.recipe.name == dataset
        && recipe_of(system, dataset)
            .is_some_and(|wanted| same_branches(&wanted.model, &trained.recipe.model))
}

/// The recipe of a system that is no model of its own.
fn recipe_of(system: &str, dataset: &str) -> Option<Recipe> {
    if systems::is_own_model(system) {
        return None;
    }
    let changes = systems::changes(system, &Recipe::named(dataset).ok()?).ok()?;
    with_overrides(dataset, Recipe::table(dataset).ok()?, &changes).ok()
}

fn same_branches(one: &ModelConfig, other: &ModelConfig) -> bool {
    (one.local, one.global) == (other.local, other.global)
}

/// The settings of a run that are not those of its system in the paper's protocol; fewer epochs are told apart from them.
fn other_settings(run: &RunFile) -> Option<String> {
    let wanted = paper::systems()
        .filter_map(|system| recipe_of(system, &run.name))
        .find(|wanted| same_branches(&wanted.model, &run.model))?;
    let [changed, _] = changed_keys((&run.model, &run.train), (&wanted.model, &wanted.train));
    // The warm-up follows the epochs.
    let follows = |key: &String| {
        let is_of_epochs = key.starts_with("train.epochs = ") || key.starts_with("train.warmup = ");
        is_of_epochs && run.train.epochs < wanted.train.epochs
    };
    let changed: Vec<String> = changed.into_iter().filter(|key| !follows(key)).collect();
    (!changed.is_empty()).then(|| format!("other settings ({})", changed.join(", ")))
}

/// The result of a finished run directory; `None` while no seed is done.
///
/// # Errors
///
/// [`ReproError`] if it is not a run directory.
pub(super) fn read_run(path: &Path) -> Result<Option<Trained>, ReproError> {
    let run = RunFile::read(path)?;
    if let DataSource::File { .. } | DataSource::Given { .. } = run.data {
        return Err(ReproError::Usage(format!(
            "{}: was trained on data of your own, which nothing in the paper compares with; expected a run of `train --recipe`",
            path.display()
        )));
    }
    let Some(summary) = run.summary(path)? else { return Ok(None) };
    let results = summary.seeds;
    let full = Recipe::named(&run.name)?;
    let mut short = Vec::new();
    if run.train.epochs < full.train.epochs {
        short.push(format!("{} of {} epochs", run.train.epochs, full.train.epochs));
    }
    if results.len() < 5 {
        short.push(format!("{} of 5 seeds", results.len()));
    }
    if let DataSource::Generated { graphs: Some(graphs), .. } = run.data {
        short.push(format!("{graphs} generated graphs"));
    }
    short.extend(other_settings(&run));
    let mut differences = RunFile::data_differences(path)?;
    differences.extend(own_draw(&run.data));
    differences.dedup();
    let recipe = Recipe { model: run.model, train: run.train, ..full };
    let shortened = (!short.is_empty()).then(|| short.join(", "));
    let (run, source) = (path.to_owned(), Some(run.data));
    Ok(Some(Trained { recipe, results, shortened, differences, run, source }))
}
