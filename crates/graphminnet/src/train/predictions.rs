//! Predictions for the test part as a CSV table, one row per graph or node, in the order of the data.

use super::TrainingData;
use crate::bundle::{AnswerKind, Description, Predictions, csv_field};
use graphminnet_data::Level;
use std::fmt::Write;

/// The table of predictions for the test part.
///
/// Columns: the graph's id (and the node's number at node level), every target with its prediction, the probability of
/// every class where rows have one. The cells are those of [`Description::prediction_cells`]. A missing target is empty.
pub(super) fn predictions_csv(
    data: &TrainingData,
    description: &Description,
    predictions: &Predictions,
) -> String {
    let node_level = description.schema.level == Level::Node;
    let targets = &description.schema.targets;
    let columns = description.prediction_columns();
    let (answers, probabilities) = columns.split_at(columns.len().min(targets.len()));
    let mut text = String::from(if node_level { "id,node" } else { "id" });
    for name in targets.iter().zip(answers).flat_map(|(target, answer)| [target, answer]) {
        let _ = write!(text, ",{}", csv_field(name));
    }
    for name in probabilities {
        let _ = write!(text, ",{}", csv_field(name));
    }
    text.push('\n');
    let samples = data.splits.test.iter().filter_map(|&at| data.dataset.samples.get(at));
    for (graph, sample) in samples.enumerate() {
        let mut truths = sample.targets.chunks(targets.len().max(1));
        for (node, row) in predictions.rows_of(graph).enumerate() {
            text.push_str(&csv_field(&sample.id));
            if node_level {
                let _ = write!(text, ",{node}");
            }
            let cells = description.prediction_cells(predictions, row);
            let (answers, probabilities) = cells.split_at(cells.len().min(targets.len()));
            for (truth, answer) in truths.next().unwrap_or_default().iter().zip(answers) {
                let truth = match predictions.kind() {
                    _ if truth.is_nan() => String::new(),
                    AnswerKind::Classes => description.class_name(*truth as usize),
                    _ => truth.to_string(),
                };
                let _ = write!(text, ",{},{}", csv_field(&truth), csv_field(answer));
            }
            for probability in probabilities {
                let _ = write!(text, ",{probability}");
            }
            text.push('\n');
        }
    }
    text
}
