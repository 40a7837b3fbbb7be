//! Calls about calibrated models: intervals and sets that hold the truth with a chosen probability.

use crate::calls::{Call, Caller, Reply, bytes};
use crate::model::{Table, own_rows};
use crate::source::Source;
use crate::watched::watched;
use graphminnet::Ensemble;
use graphminnet::bundle::{AnswerKind, AnswerRow, Conformal, Shift};
use graphminnet_cli::{Failure, coverage_text};
use graphminnet_data::{Level, ReadOptions};
use serde::Deserialize;
use serde_json::json;
use std::sync::atomic::Ordering;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    source: Source,
    threads: Option<usize>,
    /// The probability with which the truth is inside.
    level: f64,
    /// Labelled graphs that the model has never seen; without them, those that were set aside in training.
    calibrate: Option<Source>,
}

/// Low and high ends per target, or per target and class whether it is in the set (1 or 0). Ctrl-C ends it.
pub fn predict(call: &Call<'_>, caller: &mut dyn Caller) -> Result<Reply, Failure> {
    let asked: Asked = call.read()?;
    let ensemble = call.model()?;
    let about = ensemble.description();
    watched(asked.source.threads(call, asked.threads), caller, |job| {
        let interrupt = job.interrupt;
        let conformal = calibrated(call, ensemble, &asked)?;
        let rows = asked.source.rows(&call.arrays, &about.read_options())?;
        let stop = || interrupt.load(Ordering::Relaxed);
        let answers = ensemble.answer_unless(&rows, &stop).map_err(Failure::usage)?;
        let kind = about.answers();
        let targets = about.schema.num_targets();
        let classes = match kind {
            AnswerKind::Numbers => 0,
            AnswerKind::Binary => 2,
            _ => about.model.out_dim,
        };
        let width = if kind == AnswerKind::Numbers { 2 } else { classes };
        let mut shift = Shift::new(&conformal);
        let per_row = about.schema.level != Level::Graph;
        let table = Table::of(&answers, targets * width, per_row, |at, answer, table| {
            let own = own_rows(about, &rows[at], &answer);
            for row in &own {
                shift.look(row);
                (0..targets).for_each(|target| table.values.extend(cells(&conformal, row, target, classes)));
            }
            own.len()
        });
        let mut warnings = Vec::new();
        if asked.calibrate.is_none() {
            let kept = ensemble.members().filter_map(|member| member.description().calibration.as_ref());
            let tested = kept.flat_map(|kept| &kept.tested).filter(|tested| tested.is_low());
            warnings.extend(tested.map(coverage_text));
        }
        warnings.extend(shift.distance().map(|distance| {
            format!(
                "these graphs are not like those of the calibration (answers differ by {distance:.2} between 0 and \
                 1): intervals and sets may hold the truth less often than they say"
            )
        }));
        let mut value = table.about();
        value["targets"] = json!(targets);
        value["warnings"] = json!(warnings);
        Ok(Reply { value, arrays: vec![bytes(&table.values, f64::to_ne_bytes)], handle: None })
    })
}

fn calibrated(call: &Call<'_>, ensemble: &Ensemble, asked: &Asked) -> Result<Conformal, Failure> {
    let Some(source) = &asked.calibrate else {
        return ensemble.conformal(asked.level)?.ok_or_else(|| {
            Failure::usage(
                "the model keeps no graphs to calibrate on: train it with calibrate=True, or give labelled graphs \
                 that it has never seen as calibrate=",
            )
        });
    };
    let options = ensemble.description().read_options();
    let options = ReadOptions { repeated_ids: true, ignore_split: true, ..options };
    let read = source.read(&call.arrays, &options)?;
    Ok(Conformal::calibrate(ensemble, &read.dataset, asked.level)?)
}

fn cells(conformal: &Conformal, row: &AnswerRow<'_>, target: usize, classes: usize) -> Vec<f64> {
    let values = row.values();
    if classes == 0 {
        let value = values.get(target).copied().unwrap_or(f64::NAN);
        let spread = row.deviations().get(target).copied().unwrap_or(0.0);
        let (low, high) = conformal.interval(target, value, spread);
        return vec![low, high];
    }
    let set = conformal.set(target, &values);
    (0..classes).map(|class| f64::from(u8::from(set.contains(&class)))).collect()
}
