//! Predictions for the test part as a CSV table, one row per graph or node, in the order of the data.

use super::TrainingData;
use crate::bundle::{AnswerKind, Answers, Description, csv_field};
use graphminnet_data::Level;
use std::fmt::Write;

/// The table of predictions for the test part.
///
/// Columns: the graph's id (and the node's number at node level), every target with its prediction, the probability of
/// every class where rows have one. The cells are those of [`Description::prediction_cells`]. A missing target is empty,
/// and so are the cells of a graph without a prediction.
pub(super) fn predictions_csv(data: &TrainingData, description: &Description, answers: &Answers) -> String {
    let node_level = description.schema.level == Level::Node;
    let targets = &description.schema.targets;
    let columns = description.prediction_columns();
    let (said, probabilities) = columns.split_at(columns.len().min(targets.len()));
    let mut text = String::from(if node_level { "id,node" } else { "id" });
    for name in targets.iter().zip(said).flat_map(|(target, said)| [target, said]) {
        let _ = write!(text, ",{}", csv_field(name));
    }
    for name in probabilities {
        let _ = write!(text, ",{}", csv_field(name));
    }
    text.push('\n');
    let samples = data.splits.test.iter().filter_map(|&at| data.dataset.samples.get(at));
    for (sample, answer) in samples.zip(answers.iter()) {
        let mut rows = answer.iter().flat_map(|answer| answer.rows());
        for (node, truths) in sample.targets.chunks(targets.len().max(1)).enumerate() {
            text.push_str(&csv_field(&sample.id));
            if node_level {
                let _ = write!(text, ",{node}");
            }
            let cells = match rows.next() {
                Some(row) => description.prediction_cells(&row),
                None => vec![String::new(); columns.len()],
            };
            let (said, probabilities) = cells.split_at(cells.len().min(targets.len()));
            for (truth, said) in truths.iter().zip(said) {
                let truth = match answers.kind() {
                    _ if truth.is_nan() => String::new(),
                    AnswerKind::Classes => description.class_name(*truth as usize),
                    _ => truth.to_string(),
                };
                let _ = write!(text, ",{},{}", csv_field(&truth), csv_field(said));
            }
            for probability in probabilities {
                let _ = write!(text, ",{probability}");
            }
            text.push('\n');
        }
    }
    text
}
