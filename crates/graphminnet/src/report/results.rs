//! The numbers of runs: results beside published ones, learning curves, predictions against the truth.

use super::predictions::Row;
use super::run::{Number, Run};
use super::{Reference, References};
use crate::config::MetricKind;
use crate::task::Rows;
use crate::task::assess::{Measure, metrics};
use crate::task::metric::roc_curve;
use crate::train::{EpochRecord, MeanStd};
use graphminnet_data::text::duration;
use graphminnet_data::{Schema, Split, Task};
use graphminnet_report::chart::{LineChart, MatrixChart, ScatterChart, Series};
use graphminnet_report::page::Page;
use graphminnet_report::{Svg, short_number};
use std::collections::BTreeMap;

/// Targets that get a chart of their own.
const CHARTED: usize = 4;
/// Classes that a matrix of confusion may have.
const MATRIX: usize = 40;

/// One row per run; published results have a column where there are some.
pub(super) fn results(page: &mut Page, runs: &[Run], references: References<'_>) {
    page.section("Results");
    let known: Vec<Option<Reference>> = runs.iter().map(|run| references(&run.file.data)).collect();
    let mut head = vec!["run", "data", "metric", "test", "seeds", "validation", "parameters", "time"];
    let mut rows: Vec<Vec<String>> =
        runs.iter().zip(&known).map(|(run, known)| row(run, known.as_ref())).collect();
    if known.iter().any(Option::is_some) {
        head.push("published");
        for (row, known) in rows.iter_mut().zip(known) {
            row.push(known.map_or_else(|| "—".to_owned(), |known| known.text));
        }
    }
    page.table(&head, &rows);
    page.paragraph(
        "Mean ± population standard deviation (dividing by the number of seeds) at the epochs that the validation part chose.",
    );
    for run in runs {
        let running: Vec<String> =
            run.seeds.iter().filter(|seed| seed.result.is_none()).map(|seed| seed.seed.to_string()).collect();
        if !running.is_empty() {
            page.notice(&format!("{}: not done yet: seed {}.", run.label, running.join(", ")));
        }
        if run.seeds.len() > 1 {
            page.heading(&format!("{}: seeds", run.label));
            let number =
                |value: Option<f64>| value.map_or_else(|| "—".to_owned(), |value| format!("{value:.5}"));
            let rows: Vec<Vec<String>> = run
                .seeds
                .iter()
                .filter_map(|seed| seed.result.as_ref())
                .map(|result| {
                    vec![
                        result.seed.to_string(),
                        number(result.best.test),
                        number(result.best.valid),
                        (result.best.epoch + 1).to_string(),
                        result.epochs.to_string(),
                        duration(result.seconds),
                    ]
                })
                .collect();
            page.table(&["seed", "test", "validation", "chosen epoch", "epochs", "time"], &rows);
        }
    }
}

fn row(run: &Run, known: Option<&Reference>) -> Vec<String> {
    let results = || run.seeds.iter().filter_map(|seed| seed.result.as_ref());
    let over = |values: Vec<f64>, scale: f64, decimals: usize| match MeanStd::of(&values) {
        None => "—".to_owned(),
        Some(all) => all.scaled(scale).printed(decimals),
    };
    // In the published unit, to its last digit.
    let (scale, decimals) = known.map_or((1.0, 4), |known| (known.scale, known.decimals));
    let parameters = results().next().map_or_else(|| "—".to_owned(), |result| result.parameters.to_string());
    vec![
        run.label.clone(),
        run.data.name.clone(),
        run.file.train.metric.to_string(),
        over(results().filter_map(|result| result.best.test).collect(), scale, decimals),
        format!("{} of {}", results().count(), run.seeds.len()),
        over(results().filter_map(|result| result.best.valid).collect(), scale, decimals),
        parameters,
        duration(results().map(|result| result.seconds).sum()),
    ]
}

/// Loss and metric by epoch, each run a line: the mean over its seeds, with a band of one standard deviation.
pub(super) fn curves(page: &mut Page, runs: &[Run]) {
    page.section("Learning curves");
    let mut figures = Vec::new();
    let several = runs.len() > 1;
    let name =
        |run: &Run, part: Split| if several { format!("{} {part}", run.label) } else { part.to_string() };
    let loss = |part: Split, dashed: bool| {
        runs.iter().map(move |run| (run, part, EpochRecord::loss as Number, dashed)).collect::<Vec<_>>()
    };
    let mut lines = loss(Split::Train, false);
    lines.extend(loss(Split::Valid, true));
    figures.extend(chart("loss", &lines, &name));
    let metrics: BTreeMap<String, Vec<&Run>> = runs.iter().fold(BTreeMap::new(), |mut map, run| {
        map.entry(run.file.train.metric.to_string()).or_default().push(run);
        map
    });
    for (metric, runs) in metrics {
        let part = |part: Split, dashed: bool| {
            runs.iter().map(|&run| (run, part, EpochRecord::score as Number, dashed)).collect::<Vec<_>>()
        };
        let mut lines = part(Split::Valid, false);
        lines.extend(part(Split::Test, true));
        // Of several runs it would hide the others.
        if !several {
            lines.extend(part(Split::Train, false));
        }
        figures.extend(chart(&metric, &lines, &name));
    }
    if figures.is_empty() {
        page.notice("No epoch has been recorded yet.");
    } else {
        page.figures(&figures);
    }
}

type Curve<'a> = (&'a Run, Split, Number, bool);

fn chart(title: &str, lines: &[Curve<'_>], name: &dyn Fn(&Run, Split) -> String) -> Option<(Svg, String)> {
    let series: Vec<Series> = lines
        .iter()
        .map(|&(run, part, number, dashed)| {
            let mut by_epoch: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
            for (epoch, value) in run.seeds.iter().flat_map(|seed| seed.curve(part, number)) {
                by_epoch.entry(epoch as u64).or_default().push(value);
            }
            let over =
                by_epoch.iter().filter_map(|(epoch, values)| Some((*epoch as f64, MeanStd::of(values)?)));
            let over: Vec<(f64, MeanStd)> = over.collect();
            Series {
                points: over.iter().map(|(epoch, all)| (*epoch, all.mean)).collect(),
                band: over
                    .iter()
                    .filter(|(_, all)| all.count > 1)
                    .map(|(epoch, all)| {
                        (*epoch, all.mean - all.population_std, all.mean + all.population_std)
                    })
                    .collect(),
                dashed,
                ..Series::line(name(run, part), Vec::new())
            }
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    let chart = LineChart {
        title: format!("{title} by epoch"),
        description: format!("The {title} after every epoch."),
        x_label: "epoch".to_owned(),
        y_label: title.to_owned(),
        series,
        ..LineChart::default()
    };
    Some((chart.svg().ok()?, String::new()))
}

/// Confusion, or predicted against true, for the first seed that is done.
pub(super) fn predictions(page: &mut Page, run: &Run) {
    let Some(seed) = run.finished() else {
        page.notice("There are no test predictions: no seed is done yet.");
        return;
    };
    let rows = match seed.predictions(&run.data.schema) {
        Ok(rows) => rows,
        Err(error) => return page.notice(&format!("The test predictions cannot be shown: {error}.")),
    };
    let known = rows.iter().filter(|row| row.error.is_some()).count();
    page.paragraph(&format!("Seed {}, {known} labelled rows of the test part.", seed.seed));
    let figures = match run.data.schema.task {
        Task::Regression => scatters(&rows, &run.data.schema),
        Task::MultiClass { .. } => confusion(&rows, |cell| Some(cell.to_owned())),
        Task::Binary if run.data.schema.positive_class.is_some() => {
            confusion(&rows, |cell| Some(cell.to_owned()))
        }
        Task::Binary if run.data.schema.targets.len() == 1 => confusion(&rows, |cell| {
            let yes = cell.parse::<f64>().ok()? > 0.5;
            Some(if yes { "yes" } else { "no" }.to_owned())
        }),
        Task::Binary => {
            per_target(page, &rows, &run.data.schema, run.file.train.metric);
            Vec::new()
        }
    };
    let figures = figures.into_iter().chain(rankings(&rows, &run.data.schema)).collect::<Vec<_>>();
    if !figures.is_empty() {
        page.figures(&figures);
    }
}

/// Mean absolute error, its root of squares and R², in words.
fn errors_in_words(points: &[(f64, f64)]) -> String {
    let column = |of: fn(&(f64, f64)) -> f64| points.iter().map(|pair| of(pair) as f32).collect::<Vec<f32>>();
    let (targets, outputs) = (column(|pair| pair.0), column(|pair| pair.1));
    let rows = Rows { outputs: &outputs, columns: 1, targets: &targets, target_columns: 1 };
    let found = metrics(Measure::Numbers, rows).into_iter().filter_map(|(name, value)| {
        let name = match name {
            "mae" => "mean absolute error",
            "rmse" => "RMSE",
            "r2" => "R²",
            other => other,
        };
        Some(format!("{name} {}", short_number(value.ok()?)))
    });
    let text = found.collect::<Vec<_>>().join(", ");
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

/// The ROC curve of every yes/no target: how many of the yes are found, for how many no that are taken for one.
fn rankings(rows: &[Row], schema: &Schema) -> Vec<(Svg, String)> {
    let mut figures = Vec::new();
    for (at, target) in schema.targets.iter().enumerate().take(CHARTED) {
        let chances = rows.iter().filter_map(|row| row.chances.get(at).copied().flatten());
        let mut scored: Vec<(f64, bool)> = chances.map(|(truth, said)| (said, truth)).collect();
        let Some((points, area)) = roc_curve(&mut scored) else { continue };
        let caption = format!("Area under the curve {}, {} labels.", short_number(area), scored.len());
        let even =
            Series { dashed: true, ..Series::line("guessing".to_owned(), vec![(0.0, 0.0), (1.0, 1.0)]) };
        let chart = LineChart {
            title: format!("{target}: ROC curve"),
            description: caption.clone(),
            x_label: "share of the no that are taken for yes".to_owned(),
            y_label: "share of the yes that are found".to_owned(),
            series: vec![Series::line("model", points), even],
            ..LineChart::default()
        };
        if let Ok(svg) = chart.svg() {
            figures.push((svg, caption));
        }
    }
    figures
}

fn scatters(rows: &[Row], schema: &Schema) -> Vec<(Svg, String)> {
    let mut figures = Vec::new();
    for (at, target) in schema.targets.iter().enumerate().take(CHARTED) {
        let number = |cell: &String| cell.parse::<f64>().ok();
        let pairs = rows.iter().filter_map(|row| row.pairs.get(at));
        let points: Vec<(f64, f64)> =
            pairs.filter_map(|(truth, said)| Some((number(truth)?, number(said)?))).collect();
        let caption = errors_in_words(&points);
        let chart = ScatterChart {
            title: format!("{target}: predicted against true"),
            description: format!("{} points. {caption}", points.len()),
            x_label: "true".to_owned(),
            y_label: "predicted".to_owned(),
            points,
            diagonal: true,
        };
        if let Ok(svg) = chart.svg() {
            figures.push((svg, caption));
        }
    }
    if schema.targets.len() > CHARTED && !figures.is_empty() {
        let rest = schema.targets.len() - CHARTED;
        if let Some((_, caption)) = figures.last_mut() {
            caption.push_str(&format!(" {rest} more targets are in test_predictions.csv."));
        }
    }
    figures
}

fn confusion(rows: &[Row], class: impl Fn(&str) -> Option<String>) -> Vec<(Svg, String)> {
    let pairs: Vec<(String, String)> = rows
        .iter()
        .filter(|row| row.error.is_some())
        .filter_map(|row| row.pairs.first())
        .filter_map(|(truth, said)| Some((class(truth)?, class(said)?)))
        .collect();
    let mut names: Vec<&String> = pairs.iter().flat_map(|(a, b)| [a, b]).collect();
    names.sort_by(|a, b| match (a.parse::<u64>(), b.parse::<u64>()) {
        (Ok(a), Ok(b)) => a.cmp(&b),
        _ => a.cmp(b),
    });
    names.dedup();
    let names: Vec<String> = names.into_iter().cloned().collect();
    if names.is_empty() || names.len() > MATRIX {
        return Vec::new();
    }
    let place: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
    let mut values = vec![0.0; names.len() * names.len()];
    for (truth, said) in &pairs {
        if let (Some(row), Some(column)) = (place.get(truth.as_str()), place.get(said.as_str())) {
            values[row * names.len() + column] += 1.0;
        }
    }
    let right = (0..names.len()).map(|at| values[at * names.len() + at]).sum::<f64>();
    let caption =
        format!("{right:.0} of {} right ({:.1} %).", pairs.len(), 100.0 * right / pairs.len().max(1) as f64);
    let chart = MatrixChart {
        title: "confusion".to_owned(),
        description: caption.clone(),
        row_label: "true class".to_owned(),
        column_label: "predicted class".to_owned(),
        names,
        values,
    };
    chart.svg().map(|svg| vec![(svg, caption)]).unwrap_or_default()
}

fn per_target(page: &mut Page, rows: &[Row], schema: &Schema, metric: MetricKind) {
    let table: Vec<Vec<String>> = schema
        .targets
        .iter()
        .enumerate()
        .map(|(at, target)| {
            let pairs = rows.iter().filter_map(|row| row.pairs.get(at));
            let known: Vec<(bool, bool)> = pairs
                .filter_map(|(truth, said)| {
                    Some((truth.parse::<f64>().ok()? > 0.5, said.parse::<f64>().ok()? > 0.5))
                })
                .collect();
            let count =
                |condition: fn(&(bool, bool)) -> bool| known.iter().filter(|pair| condition(pair)).count();
            vec![
                target.clone(),
                known.len().to_string(),
                count(|(truth, _)| *truth).to_string(),
                count(|(_, said)| *said).to_string(),
                count(|(truth, said)| truth == said).to_string(),
            ]
        })
        .collect();
    page.table(&["target", "labels", "yes", "predicted yes", "right"], &table);
    page.paragraph(&format!(
        "“Predicted yes” is a probability above one half. The run is judged by {metric}."
    ));
}
