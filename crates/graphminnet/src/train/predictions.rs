//! Predictions for the test part as a CSV table, one row per graph or node, in the order of the data.

use super::TrainingData;
use crate::bundle::{AnswerKind, Description, Predictions};
use graphminnet_data::Level;
use graphminnet_data::formats::csv::CsvWriter;
use std::io::{self, Write};

/// Writes the table of predictions for the test part.
///
/// Columns: the graph's id (and the node's number at node level), every target with its prediction, the probability of
/// every class where rows have one. The cells are those of [`Description::prediction_cells`]. A missing target is empty.
pub(super) fn write_predictions(
    data: &TrainingData,
    description: &Description,
    predictions: &Predictions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let node_level = description.schema.level == Level::Node;
    let targets = &description.schema.targets;
    let columns = description.prediction_columns();
    let (answers, probabilities) = columns.split_at(columns.len().min(targets.len()));
    let mut table = CsvWriter::new(out);
    let first = if node_level { &["id", "node"][..] } else { &["id"] };
    let pairs = targets.iter().zip(answers).flat_map(|(target, answer)| [target, answer]);
    table.row(first.iter().copied().chain(pairs.chain(probabilities).map(String::as_str)))?;
    let samples = data.splits.test.iter().filter_map(|&at| data.dataset.samples.get(at));
    for (graph, sample) in samples.enumerate() {
        let mut truths = sample.targets.chunks(targets.len().max(1));
        for (node, row) in predictions.rows_of(graph).enumerate() {
            table.field(&sample.id)?;
            if node_level {
                table.field(node)?;
            }
            let cells = description.prediction_cells(predictions, row);
            let (answers, probabilities) = cells.split_at(cells.len().min(targets.len()));
            for (truth, answer) in truths.next().unwrap_or_default().iter().zip(answers) {
                match predictions.kind() {
                    _ if truth.is_nan() => table.field("")?,
                    AnswerKind::Classes => table.field(description.class_name(*truth as usize))?,
                    _ => table.field(truth)?,
                }
                table.field(answer)?;
            }
            probabilities.iter().try_for_each(|probability| table.field(probability))?;
            table.end_row()?;
        }
    }
    Ok(())
}
