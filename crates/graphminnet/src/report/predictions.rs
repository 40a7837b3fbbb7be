//! The table of test predictions of a seed, read back.

use graphminnet_data::formats::csv::CsvReader;
use graphminnet_data::{DataError, Level, Limits, Schema, Task};
use std::collections::HashMap;
use std::path::Path;

/// One graph or node with what was true and what was said.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) node: Option<usize>,
    /// Pairs of cells: truth and prediction, one per target.
    pub(super) pairs: Vec<(String, String)>,
    /// How wrong it is: absolute error, or the negative logarithm of the probability of the truth.
    pub(super) error: Option<f64>,
    /// For yes/no targets, whether it is true and the probability that was said, one per target.
    pub(super) chances: Vec<Option<(bool, f64)>>,
}

/// All rows of a table.
pub(super) fn read(path: &Path, schema: &Schema) -> Result<Vec<Row>, DataError> {
    let mut limits = Limits::default();
    // As many columns as the model has targets and classes: the file is our own.
    limits.columns = u64::MAX;
    let mut table = CsvReader::open(path, &limits)?;
    let node_level = schema.level == Level::Node;
    let start = 1 + schema.level.place_columns().len();
    let header = table.header().to_vec();
    let column: HashMap<&str, usize> =
        header.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
    let targets = schema.targets.len();
    let mut rows = Vec::new();
    while let Some(record) = table.advance()? {
        record?;
        let cell = |at: usize| table.field(at).to_owned();
        let pairs: Vec<(String, String)> =
            (0..targets).map(|at| (cell(start + 2 * at), cell(start + 2 * at + 1))).collect();
        let probability = |class: &str| -> Option<f64> {
            cell(*column.get(format!("prob_{class}").as_str())?).parse().ok()
        };
        let error = match (schema.task, schema.positive_class.as_deref()) {
            (Task::MultiClass { .. }, _) => {
                pairs.first().and_then(|(truth, _)| Some(-probability(truth)?.max(1e-12).ln()))
            }
            (Task::Binary, Some(positive)) => {
                pairs.first().filter(|(truth, _)| !truth.is_empty()).and_then(|(truth, _)| {
                    let yes = probability(positive)?;
                    Some(-(if truth == positive { yes } else { 1.0 - yes }).max(1e-12).ln())
                })
            }
            (task, _) => mean(pairs.iter().filter_map(|(truth, said)| {
                let (truth, said) = (truth.parse::<f64>().ok()?, said.parse::<f64>().ok()?);
                Some(match task {
                    Task::Regression => (truth - said).abs(),
                    _ => -(if truth > 0.5 { said } else { 1.0 - said }).max(1e-12).ln(),
                })
            })),
        };
        let chances = match (schema.task, schema.positive_class.as_deref()) {
            (Task::Binary, Some(positive)) => {
                let pair = pairs.first().filter(|(truth, _)| !truth.is_empty());
                vec![pair.and_then(|(truth, _)| Some((truth == positive, probability(positive)?)))]
            }
            (Task::Binary, None) => {
                let chance = |(truth, said): &(String, String)| {
                    Some((truth.parse::<f64>().ok()? > 0.5, said.parse::<f64>().ok()?))
                };
                pairs.iter().map(chance).collect()
            }
            _ => Vec::new(),
        };
        let node = if node_level { cell(1).parse().ok() } else { None };
        rows.push(Row { id: cell(0), node, pairs, error, chances });
    }
    Ok(rows)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0usize, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / count as f64)
}

/// The rows with the largest errors, at most one per graph, worst first.
pub(super) fn worst(rows: &[Row], count: usize) -> Vec<&Row> {
    let mut order: Vec<&Row> = rows.iter().filter(|row| row.error.is_some_and(f64::is_finite)).collect();
    let error = |row: &Row| row.error.unwrap_or(0.0);
    order.sort_by(|a, b| error(b).total_cmp(&error(a)));
    let mut seen = std::collections::HashSet::new();
    order.into_iter().filter(|row| seen.insert(row.id.as_str())).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str, task: Task, level: Level) -> Vec<Row> {
        rows_of(text, task, level, &[])
    }

    fn named(text: &str, classes: &[&str]) -> Vec<Row> {
        rows_of(text, Task::Binary, Level::Graph, classes)
    }

    fn rows_of(text: &str, task: Task, level: Level, classes: &[&str]) -> Vec<Row> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let schema = Schema {
            level,
            task,
            targets: vec!["y".into()],
            class_names: classes.iter().map(|&name| name.to_owned()).collect(),
            positive_class: classes.get(1).map(|&name| name.to_owned()),
            molecules: None,
            node_columns: Vec::new(),
            edge_columns: Vec::new(),
        };
        read(file.path(), &schema).unwrap()
    }

    #[test]
    fn quoted_fields_and_the_worst_rows_are_found() {
        let rows = table("id,y,pred_y\n\"a,\"\"b\"\"\",1,1.5\nc,2,5\nd,,1\n", Task::Regression, Level::Graph);
        assert_eq!(rows[0].id, "a,\"b\"");
        assert_eq!(rows.iter().map(|row| row.error).collect::<Vec<_>>(), [Some(0.5), Some(3.0), None]);
        assert_eq!(worst(&rows, 5).iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["c", "a,\"b\""]);
    }

    #[test]
    fn a_class_is_judged_by_the_probability_of_the_truth() {
        let text = "id,node,y,pred_y,prob_0,prob_1\ng,0,1,0,0.75,0.25\ng,1,0,0,0.75,0.25\n";
        let rows = table(text, Task::MultiClass { classes: 2 }, Level::Node);
        assert_eq!((rows[0].node, rows[0].error), (Some(0), Some(-(0.25f64.ln()))));
        assert_eq!(worst(&rows, 5).len(), 1, "one row per graph");
    }

    #[test]
    fn a_named_answer_is_judged_by_the_probability_of_the_positive_class() {
        let text = "id,y,pred_y,prob_on\na,off,on,0.75\nb,on,on,0.75\nc,,on,0.75\n";
        let rows = named(text, &["off", "on"]);
        let errors: Vec<Option<f64>> = rows.iter().map(|row| row.error).collect();
        assert_eq!(errors, [Some(-(0.25f64.ln())), Some(-(0.75f64.ln())), None]);
        let chances: Vec<_> = rows.iter().map(|row| row.chances[0]).collect();
        assert_eq!(chances, [Some((false, 0.75)), Some((true, 0.75)), None]);
    }
}
