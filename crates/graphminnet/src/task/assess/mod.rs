//! How good answers are: all metrics of their kind with bootstrap confidence intervals, and a table by class or target.
//!
//! ```
//! use graphminnet::task::Rows;
//! use graphminnet::task::assess::{Bootstrap, Measure, assess};
//!
//! let rows = Rows { outputs: &[1.0, 2.5, 3.0], columns: 1, targets: &[1.0, 2.0, 3.5], target_columns: 1 };
//! let all = assess(Measure::Numbers, rows, &[0..1, 1..2, 2..3], Bootstrap::default());
//! assert_eq!(all[0].metric, "mae");
//! assert!(all[0].low <= all[0].value && all[0].value <= all[0].high);
//! ```

mod breakdown;

pub use breakdown::{Breakdown, BreakdownRow, breakdown};

use super::metric::{self, Undefined};
use super::{Rows, calibration, regression};
use crate::config::MetricKind;
use graphminnet_data::rng::stream;
use rayon::prelude::*;
use serde::Serialize;
use std::ops::Range;

/// What the outputs of some rows mean to a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Numbers, one per target column.
    Numbers,
    /// Log-odds of yes, one per target column.
    Binary,
    /// A score per class.
    Classes,
}

/// A metric with its confidence interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assessed {
    /// Name of the metric.
    pub metric: &'static str,
    /// Its value; `None` if it has none.
    pub value: Option<f64>,
    /// Why it has none.
    pub undefined: Option<String>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Samples drawn for which the metric had a value.
    pub replicates: usize,
}

/// How confidence intervals are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// Samples drawn.
    pub replicates: usize,
    /// Probability that the interval stands for, between 0 and 1.
    pub level: f64,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self { replicates: 1000, level: 0.95, seed: 0 }
    }
}

type Values = Vec<(&'static str, Result<f64, Undefined>)>;

/// All metrics of a kind of answer, in a fixed order.
pub fn metrics(measure: Measure, rows: Rows<'_>) -> Vec<(&'static str, Result<f64, Undefined>)> {
    let known = |kind: MetricKind, rows: Rows<'_>| {
        (kind.word(), metric::evaluate(kind, rows).map(|score| score.value))
    };
    match measure {
        Measure::Numbers => {
            let finite = metric::check_finite(rows);
            vec![
                known(MetricKind::MeanAbsoluteError, rows),
                known(MetricKind::RootMeanSquaredError, rows),
                ("r2", finite.and_then(|()| regression::r2(rows))),
            ]
        }
        Measure::Binary => {
            let mut all = [
                MetricKind::RocAuc,
                MetricKind::AveragePrecision,
                MetricKind::Accuracy,
                MetricKind::AccuracyClassMean,
                MetricKind::F1Macro,
            ]
            .map(|kind| known(kind, rows))
            .to_vec();
            all.extend(calibration_of(rows, calibration::of_yes, calibration::brier_of_yes));
            all
        }
        Measure::Classes => {
            let mut all = [MetricKind::Accuracy, MetricKind::AccuracyClassMean, MetricKind::F1Macro]
                .map(|kind| known(kind, rows))
                .to_vec();
            if metric::has_ranking(rows.columns, rows.target_columns) {
                all.extend([MetricKind::RocAuc, MetricKind::AveragePrecision].map(|kind| known(kind, rows)));
            }
            all.extend(calibration_of(rows, calibration::of_said_class, calibration::brier_of_classes));
            all
        }
    }
}

/// How far probabilities are from what happened.
fn calibration_of(
    rows: Rows<'_>,
    said: fn(Rows<'_>) -> Vec<(f64, bool)>,
    brier: fn(Rows<'_>) -> Result<f64, Undefined>,
) -> Values {
    let finite = metric::check_finite(rows);
    vec![
        ("calibration_error", finite.and_then(|()| calibration::expected_error(&said(rows)))),
        ("brier", finite.and_then(|()| brier(rows))),
    ]
}

/// All metrics over some rows, with percentile intervals from drawing graphs (`graphs`: the rows of each) with
/// replacement. Rows of one graph stay together, because they are not independent.
///
/// Of a single graph its labelled rows are drawn: the interval is about other rows of this graph, not about other graphs.
/// There is none for a single row.
pub fn assess(
    measure: Measure,
    rows: Rows<'_>,
    graphs: &[Range<usize>],
    bootstrap: Bootstrap,
) -> Vec<Assessed> {
    let rows_of_one: Vec<Range<usize>>;
    let graphs = match graphs {
        [only] => {
            let columns = rows.target_columns;
            let labels =
                |row: usize| rows.targets.get(row * columns..(row + 1) * columns).unwrap_or_default();
            let labelled = only.clone().filter(|row| labels(*row).iter().any(|label| !label.is_nan()));
            rows_of_one = labelled.map(|row| row..row + 1).collect();
            &rows_of_one
        }
        several => several,
    };
    let replicate = |number: u64| -> Values {
        let mut random = stream(bootstrap.seed, "bootstrap", &[number]);
        let (mut outputs, mut targets) =
            (Vec::with_capacity(rows.outputs.len()), Vec::with_capacity(rows.targets.len()));
        for _ in 0..graphs.len() {
            let Some(drawn) = graphs.get(random.below(graphs.len())) else { continue };
            let part = |values: &[f32], columns: usize| {
                values.get(drawn.start * columns..drawn.end * columns).unwrap_or_default().to_vec()
            };
            outputs.extend(part(rows.outputs, rows.columns));
            targets.extend(part(rows.targets, rows.target_columns));
        }
        metrics(measure, Rows { outputs: &outputs, targets: &targets, ..rows })
    };
    let count = if graphs.len() < 2 { 0 } else { bootstrap.replicates as u64 };
    let replicates: Vec<Values> = (0..count).into_par_iter().map(replicate).collect();
    let all = metrics(measure, rows).into_iter().enumerate();
    all.map(|(at, (metric, value))| {
        let drawn = replicates.iter().filter_map(|values| values.get(at)?.1.as_ref().ok().copied());
        let mut drawn: Vec<f64> = drawn.collect();
        drawn.sort_by(f64::total_cmp);
        let outside = (1.0 - bootstrap.level) / 2.0;
        Assessed {
            metric,
            value: value.as_ref().ok().copied(),
            undefined: value.err().map(|reason| reason.to_string()),
            low: quantile(&drawn, outside),
            high: quantile(&drawn, 1.0 - outside),
            replicates: drawn.len(),
        }
    })
    .collect()
}

/// A quantile of sorted numbers, interpolated between neighbours.
fn quantile(sorted: &[f64], at: f64) -> Option<f64> {
    let place = at.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let below = sorted.get(place.floor() as usize)?;
    let above = sorted.get(place.ceil() as usize)?;
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(count: usize) -> (Vec<f32>, Vec<f32>, Vec<Range<usize>>) {
        let mut random = stream(3, "assess", &[]);
        let targets: Vec<f32> = (0..count).map(|_| random.normal() as f32).collect();
        let outputs = targets.iter().map(|target| target + random.normal() as f32).collect();
        (outputs, targets, (0..count).map(|row| row..row + 1).collect())
    }

    #[test]
    fn the_interval_is_as_wide_as_theory_says_and_a_function_of_the_seed() {
        let (outputs, targets, graphs) = noisy(4000);
        let rows = Rows { outputs: &outputs, columns: 1, targets: &targets, target_columns: 1 };
        let bootstrap = Bootstrap { replicates: 400, ..Bootstrap::default() };
        let found = assess(Measure::Numbers, rows, &graphs, bootstrap);
        let mae = &found[0];
        // |N(0, 1)|: mean √(2/π), variance 1 − 2/π.
        let (mean, deviation) = (0.797_884_560_802_865_4, (0.363_380_227_632_418_7_f64 / 4000.0).sqrt());
        let (low, high) = (mae.low.unwrap(), mae.high.unwrap());
        assert!(low < mae.value.unwrap() && mae.value.unwrap() < high);
        assert!((mae.value.unwrap() - mean).abs() < 4.0 * deviation);
        assert!(((high - low) / (2.0 * 1.96 * deviation) - 1.0).abs() < 0.15, "{low} to {high}");
        assert_eq!(found, assess(Measure::Numbers, rows, &graphs, bootstrap));
        let other = assess(Measure::Numbers, rows, &graphs, Bootstrap { seed: 1, ..bootstrap });
        assert_ne!(found, other);
        // Half of the variance of the outputs is noise: r² of the targets is 1 − 1.
        assert!(found[2].value.unwrap().abs() < 0.1, "{found:?}");
    }

    #[test]
    fn rows_of_a_graph_are_drawn_together_and_those_of_the_only_graph_one_by_one() {
        let (outputs, targets, each) = noisy(400);
        let rows = Rows { outputs: &outputs, columns: 1, targets: &targets, target_columns: 1 };
        let bootstrap = Bootstrap { replicates: 200, ..Bootstrap::default() };
        let width = |graphs: &[Range<usize>]| {
            let found = assess(Measure::Numbers, rows, graphs, bootstrap);
            found[0].low.zip(found[0].high).map(|(low, high)| high - low)
        };
        // Two equal halves, drawn as wholes, differ less or more than their rows do.
        assert_ne!(width(&[0..200, 200..400]), width(&each));
        // The only graph is no sample of graphs: no interval of width 0.
        let whole = std::slice::from_ref(&(0..400));
        assert_eq!(width(whole), width(&each));
        assert!(width(whole) > Some(0.0));
        // Rows without a label are not drawn, and a single row has no interval.
        let mut some = targets.clone();
        some[3..].fill(f32::NAN);
        let few = assess(Measure::Numbers, Rows { targets: &some, ..rows }, whole, bootstrap);
        assert_eq!(few[0].replicates, 200);
        some[1..].fill(f32::NAN);
        let one = assess(Measure::Numbers, Rows { targets: &some, ..rows }, whole, bootstrap);
        assert_eq!((one[0].value.is_some(), one[0].low, one[0].high), (true, None, None));
    }

    #[test]
    fn two_classes_are_ranked_by_their_odds() {
        let outputs = [0.0, 1.0, 3.0, 2.0, 0.0, -1.0];
        let rows = Rows { outputs: &outputs, columns: 2, targets: &[1.0, 1.0, 0.0], target_columns: 1 };
        let found = metrics(Measure::Classes, rows);
        assert_eq!(found.iter().find(|(name, _)| *name == "roc_auc").unwrap().1, Ok(0.75));
    }
}
