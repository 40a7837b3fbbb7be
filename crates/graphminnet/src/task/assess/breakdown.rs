//! Where answers are good and where they are not: a row per class, or per target column.

use super::{Measure, metrics};
use crate::task::{Rows, first_largest};
use serde::Serialize;

/// Numbers by class or by target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Breakdown {
    /// `class` or `target`: what a row stands for.
    pub by: &'static str,
    /// What the numbers of a row are.
    pub columns: Vec<&'static str>,
    /// The rows.
    pub rows: Vec<BreakdownRow>,
}

/// The numbers of one class or target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BreakdownRow {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: usize,
    /// Its numbers; `None` where one has no value.
    pub values: Vec<Option<f64>>,
}

/// The table of some rows: by class where rows have one, else by target column. `names` are those of classes or targets.
pub fn breakdown(measure: Measure, rows: Rows<'_>, names: &[String]) -> Breakdown {
    match measure {
        Measure::Classes => by_class(rows, names),
        Measure::Numbers | Measure::Binary => by_target(measure, rows, names),
    }
}

fn by_class(rows: Rows<'_>, names: &[String]) -> Breakdown {
    let classes = rows.columns;
    let (mut right, mut said, mut truth) =
        (vec![0usize; classes], vec![0usize; classes], vec![0usize; classes]);
    for (outputs, targets) in rows.iter() {
        let Some(label) = targets.first().filter(|label| !label.is_nan()) else { continue };
        let answer = first_largest(outputs).unwrap_or(0);
        let label = *label as usize;
        for (counts, class) in [(&mut said, answer), (&mut truth, label)] {
            if let Some(count) = counts.get_mut(class) {
                *count += 1;
            }
        }
        if let (true, Some(count)) = (answer == label, right.get_mut(label)) {
            *count += 1;
        }
    }
    let share = |part: usize, whole: usize| (whole > 0).then(|| part as f64 / whole as f64);
    let row = |class: usize| {
        let (right, said, truth) = (right[class], said[class], truth[class]);
        BreakdownRow {
            name: names.get(class).cloned().unwrap_or_else(|| class.to_string()),
            labels: truth,
            values: vec![share(right, said), share(right, truth), share(2 * right, said + truth)],
        }
    };
    let columns = vec!["precision", "recall", "f1"];
    Breakdown { by: "class", columns, rows: (0..classes).map(row).collect() }
}

fn by_target(measure: Measure, rows: Rows<'_>, names: &[String]) -> Breakdown {
    let mut columns = Vec::new();
    let mut table = Vec::with_capacity(rows.target_columns);
    for target in 0..rows.target_columns {
        let column = |values: &[f32], width: usize| -> Vec<f32> {
            values.iter().skip(target).step_by(width.max(1)).copied().collect()
        };
        let (outputs, targets) =
            (column(rows.outputs, rows.columns), column(rows.targets, rows.target_columns));
        let one = Rows { outputs: &outputs, columns: 1, targets: &targets, target_columns: 1 };
        let found = metrics(measure, one);
        columns = found.iter().map(|(name, _)| *name).collect();
        table.push(BreakdownRow {
            name: names.get(target).cloned().unwrap_or_else(|| target.to_string()),
            labels: targets.iter().filter(|label| !label.is_nan()).count(),
            values: found.into_iter().map(|(_, value)| value.ok()).collect(),
        });
    }
    Breakdown { by: "target", columns, rows: table }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_recall_and_f1_of_every_class() {
        let scores = |class: usize| (0..3).map(move |at| if at == class { 1.0 } else { 0.0 });
        let outputs: Vec<f32> = [0, 0, 1, 0].into_iter().flat_map(scores).collect();
        let rows =
            Rows { outputs: &outputs, columns: 3, targets: &[0.0, 1.0, 1.0, f32::NAN], target_columns: 1 };
        let names = ["a", "b", "c"].map(str::to_owned);
        let found = breakdown(Measure::Classes, rows, &names);
        let values: Vec<_> = found.rows.iter().map(|row| (row.labels, row.values.clone())).collect();
        let two_thirds = Some(2.0 / 3.0);
        assert_eq!(
            values,
            [
                (1, vec![Some(0.5), Some(1.0), two_thirds]),
                (2, vec![Some(1.0), Some(0.5), two_thirds]),
                (0, vec![None, None, None]),
            ]
        );
    }

    #[test]
    fn every_target_column_has_its_own_numbers() {
        let rows = Rows {
            outputs: &[1.0, 0.0, 2.0, 4.0],
            columns: 2,
            targets: &[0.0, 0.0, 2.0, 1.0],
            target_columns: 2,
        };
        let found = breakdown(Measure::Numbers, rows, &["x".to_owned(), "y".to_owned()]);
        assert_eq!(found.columns, ["mae", "rmse", "r2"]);
        assert_eq!(found.rows[0].values[0], Some(0.5));
        assert_eq!(found.rows[1].values[0], Some(1.5));
    }
}
