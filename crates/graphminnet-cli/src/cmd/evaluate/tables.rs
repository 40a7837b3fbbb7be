//! The tables that `graphminnet evaluate` prints.

use crate::failure::Failure;
use crate::ui::coverage::coverage_text;
use crate::ui::figure::figure;
use crate::ui::table::{Align, Table};
use graphminnet::bundle::{Evaluated, LearntDeviation, LearntQuantiles};
use graphminnet::task::links::LinkScores;
use graphminnet_data::escape;
use graphminnet_data::text::{grouped, grouped_count};
use std::io::Write;
use std::num::NonZeroUsize;

/// Everything that was found, for people; intervals at this level.
pub(super) fn print(
    out: &mut impl Write,
    found: &Evaluated,
    level: f64,
    links: Option<&LinkScores>,
    candidates: Option<NonZeroUsize>,
) -> Result<(), Failure> {
    writeln!(out, "{}, {}", grouped_count(found.graphs, "graph"), grouped_count(found.labels, "label"))?;
    if let Some(positive) = &found.positive_class {
        writeln!(out, "positive class: {}", escape(positive))?;
    }
    writeln!(out, "{}", metric_table(found, level))?;
    write!(out, "{}", breakdown_table(found))?;
    if let (Some(platt), Some(isotonic)) =
        (found.corrected_calibration_error, found.isotonic_calibration_error)
    {
        writeln!(
            out,
            "calibration error of corrected probabilities (cal_…): {platt:.4}, with --calibration isotonic {isotonic:.4}"
        )?;
    }
    if let Some(links) = links {
        write!(out, "\n{}", link_table(links, candidates))?;
    }
    if !found.deviations.is_empty() {
        write!(out, "\n{}", deviation_table(&found.deviations))?;
    }
    for quantiles in &found.quantiles {
        write!(out, "\n{}", quantile_table(quantiles))?;
    }
    for coverage in found.coverage.iter().filter(|coverage| coverage.labels > 0) {
        writeln!(out, "{}", coverage_text(coverage))?;
    }
    Ok(())
}

fn metric_table(found: &Evaluated, level: f64) -> Table {
    let interval = format!("{} % interval", 100.0 * level);
    let mut table =
        Table::new(&[("metric", Align::Left), ("value", Align::Right), (&interval, Align::Right)]);
    for metric in &found.metrics {
        let interval = match (metric.low, metric.high) {
            (Some(low), Some(high)) => format!("{} to {}", figure(low), figure(high)),
            _ => String::new(),
        };
        let value = match (metric.value, &metric.undefined) {
            (Some(value), _) => figure(value),
            (None, reason) => format!("undefined: {}", reason.as_deref().unwrap_or_default()),
        };
        table.row([metric.metric.to_owned(), value, interval]);
    }
    table
}

/// The classes, or the targets, one by one.
fn breakdown_table(found: &Evaluated) -> Table {
    let mut header = vec![(found.breakdown.by, Align::Left), ("labels", Align::Right)];
    header.extend(found.breakdown.columns.iter().map(|column| (*column, Align::Right)));
    let mut table = Table::new(&header);
    for row in &found.breakdown.rows {
        let number = |value: &Option<f64>| value.map_or_else(|| "–".to_owned(), figure);
        let cells = [row.name.clone(), grouped(row.labels)];
        table.row(cells.into_iter().chain(row.values.iter().map(number)));
    }
    table
}

fn link_table(links: &LinkScores, candidates: Option<NonZeroUsize>) -> Table {
    let against = match candidates {
        Some(count) if links.candidates >= count.get() => format!("{} nodes", grouped(count.get())),
        // The graphs have no more.
        _ => "all nodes".to_owned(),
    };
    let against = format!("{against} without a link");
    let others = format!("{} pairs without a link", grouped(links.others));
    let count = format!("{} links", grouped(links.links));
    let mut table = Table::new(&[(&count, Align::Left), ("value", Align::Right), ("against", Align::Left)]);
    for (at, (name, value)) in links.named().into_iter().enumerate() {
        let value = value.map_or_else(|| "undefined".to_owned(), figure);
        table.row([name.to_owned(), value, if at < 5 { others.clone() } else { against.clone() }]);
    }
    table
}

/// How likely the labels are under what the models say, and how many of them the intervals hold that should hold so many.
fn deviation_table(learnt: &[LearntDeviation]) -> Table {
    let promised: Vec<String> = learnt.first().map_or_else(Vec::new, |first| {
        first.intervals.iter().map(|interval| format!("in {} %", 100.0 * interval.level)).collect()
    });
    let mut header = vec![("target", Align::Left), ("labels", Align::Right)];
    header.push(("negative log-likelihood", Align::Right));
    header.extend(promised.iter().map(|name| (name.as_str(), Align::Right)));
    let mut table = Table::new(&header);
    for target in learnt {
        let likelihood = figure(target.negative_log_likelihood);
        let cells = [target.target.clone(), grouped(target.labels), likelihood];
        let held = target.intervals.iter().map(|interval| format!("{:.1} %", 100.0 * interval.held));
        table.row(cells.into_iter().chain(held));
    }
    table
}

/// How many labels are below quantiles that should have so many below them.
fn quantile_table(learnt: &LearntQuantiles) -> Table {
    let name = format!("quantile of {}", escape(&learnt.target));
    let below = format!("of {} labels below", grouped(learnt.labels));
    let mut table =
        Table::new(&[(&name, Align::Left), (&below, Align::Right), ("pinball loss", Align::Right)]);
    for quantile in &learnt.quantiles {
        table.row([
            quantile.level.to_string(),
            format!("{:.1} %", 100.0 * quantile.below),
            figure(quantile.pinball),
        ]);
    }
    table
}
