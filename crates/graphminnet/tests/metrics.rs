//! Every metric against scikit-learn, on random outputs and labels of which some are missing.
//!
//! The cases and the expected values are in `fixtures/metrics/metrics.json`, made by the script beside it.

use graphminnet::task::Rows;
use graphminnet::task::assess::{Measure, breakdown, metrics};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Case {
    kind: String,
    columns: usize,
    outputs: Vec<f32>,
    targets: Vec<Option<f32>>,
    target_columns: usize,
    metrics: BTreeMap<String, Option<f64>>,
    #[serde(default)]
    by_class: Vec<Vec<Option<f64>>>,
}

impl Case {
    fn measure(&self) -> Measure {
        match self.kind.as_str() {
            "numbers" => Measure::Numbers,
            "yes_no" => Measure::Binary,
            "classes" => Measure::Classes,
            other => panic!("unknown kind {other}"),
        }
    }

    fn targets(&self) -> Vec<f32> {
        self.targets.iter().map(|target| target.unwrap_or(f32::NAN)).collect()
    }
}

fn cases() -> Vec<Case> {
    let cases: Vec<Case> = serde_json::from_str(include_str!("fixtures/metrics/metrics.json")).unwrap();
    assert_eq!(cases.len(), 16);
    cases
}

fn rows<'a>(case: &'a Case, targets: &'a [f32]) -> Rows<'a> {
    Rows { outputs: &case.outputs, columns: case.columns, targets, target_columns: case.target_columns }
}

fn assert_close(found: Option<f64>, expected: Option<f64>, what: &str) {
    match (found, expected) {
        (Some(found), Some(expected)) => {
            assert!((found - expected).abs() < 1e-9, "{what}: {found}, not {expected}")
        }
        _ => assert_eq!(found, expected, "{what}"),
    }
}

#[test]
fn every_metric_equals_that_of_scikit_learn_with_and_without_missing_labels() {
    for case in cases() {
        let targets = case.targets();
        let found: BTreeMap<&str, Option<f64>> = metrics(case.measure(), rows(&case, &targets))
            .into_iter()
            .map(|(name, value)| (name, value.ok()))
            // Held to plain references beside the code; the stored values do not have them.
            .filter(|(name, _)| !["calibration_error", "brier"].contains(name))
            .collect();
        let names: Vec<&str> = case.metrics.keys().map(String::as_str).collect();
        assert_eq!(
            found.keys().copied().collect::<Vec<_>>(),
            names,
            "{} of {} columns",
            case.kind,
            case.columns
        );
        for (name, expected) in &case.metrics {
            let what = format!("{name} of {} with {} columns", case.kind, case.columns);
            assert_close(found[name.as_str()], *expected, &what);
        }
    }
}

#[test]
fn precision_recall_and_f1_of_every_class_equal_those_of_scikit_learn() {
    for case in cases().iter().filter(|case| case.kind == "classes") {
        let targets = case.targets();
        let found = breakdown(Measure::Classes, rows(case, &targets), &[]);
        assert_eq!(found.columns, ["precision", "recall", "f1"]);
        assert_eq!(found.rows.len(), case.by_class.len());
        for (class, (row, expected)) in found.rows.iter().zip(&case.by_class).enumerate() {
            for (column, (found, expected)) in row.values.iter().zip(expected).enumerate() {
                assert_close(
                    *found,
                    *expected,
                    &format!("column {column} of class {class} of {}", case.columns),
                );
            }
        }
    }
}
