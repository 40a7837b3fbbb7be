//! Predictions for the test part as a CSV table, one row per graph, node, edge or pair, in the order of the data.

use super::TrainingData;
use crate::bundle::{AnswerKind, Answers, Description};
use graphminnet_data::Split;
use graphminnet_data::formats::csv::CsvWriter;
use std::io::{self, Write};

/// Writes the table of predictions for the test part.
///
/// Columns: the graph's id (and the numbers of the node, or of both ends of the edge or pair), every target with its prediction, the probability of
/// every class where rows have one. The cells are those of [`Description::prediction_cells`]. A missing target is empty,
/// and so are the cells of a graph without a prediction.
pub(super) fn write_predictions(
    data: &TrainingData,
    description: &Description,
    answers: &Answers,
    out: &mut dyn Write,
) -> io::Result<()> {
    let level = description.schema.level;
    let targets = &description.schema.targets;
    let columns = description.prediction_columns();
    let (said, probabilities) = columns.split_at(columns.len().min(targets.len()));
    let mut table = CsvWriter::new(out);
    let first = std::iter::once("id").chain(level.place_columns().iter().copied());
    let pairs = targets.iter().zip(said).flat_map(|(target, said)| [target, said]);
    table.row(first.chain(pairs.chain(probabilities).map(String::as_str)))?;
    let samples = data.splits.test.iter().filter_map(|&at| Some((at, data.dataset.samples.get(at)?)));
    for ((graph, sample), answer) in samples.zip(answers.iter()) {
        let mut rows = answer.iter().flat_map(|answer| answer.rows());
        let places = description.places(&sample.prepared.graph);
        for (at, truths) in sample.targets.chunks(targets.len().max(1)).enumerate() {
            let row = rows.next();
            let Some(Some(place)) = places.get(at) else { continue };
            if !data.counts(Split::Test, graph, at) {
                continue;
            }
            table.field(&sample.id)?;
            place.iter().try_for_each(|node| table.field(node))?;
            let cells = match row {
                Some(row) => description.prediction_cells(&row),
                None => vec![String::new(); columns.len()],
            };
            let (said, probabilities) = cells.split_at(cells.len().min(targets.len()));
            for (truth, said) in truths.iter().zip(said) {
                match answers.kind() {
                    _ if truth.is_nan() => table.field("")?,
                    AnswerKind::Numbers => table.field(truth)?,
                    AnswerKind::Binary if description.positive_class().is_none() => table.field(truth)?,
                    _ => table.field(description.class_name(*truth as usize))?,
                }
                table.field(said)?;
            }
            probabilities.iter().try_for_each(|probability| table.field(probability))?;
            table.end_row()?;
        }
    }
    Ok(())
}
