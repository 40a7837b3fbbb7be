//! Predictions as a CSV table, one row per graph or node, in the order of the data.

use super::{Evaluation, TrainingData};
use graphminnet_data::data::{Level, Task};
use std::fmt::Write;

/// The table of an evaluation over the listed samples.
///
/// Columns: the graph's id (and the node's number at node level), every target with its prediction. A yes/no
/// prediction is a probability; a class comes with the probability of every class. A missing target is empty.
pub(super) fn predictions_csv(data: &TrainingData, samples: &[usize], evaluation: &Evaluation) -> String {
    let schema = &data.dataset.schema;
    let node_level = schema.level == Level::Node;
    let class_name =
        |class: usize| schema.class_names.get(class).cloned().unwrap_or_else(|| class.to_string());
    let mut text = String::from("id");
    if node_level {
        text.push_str(",node");
    }
    for target in &schema.targets {
        let _ = write!(text, ",{},{}", quoted(target), quoted(&format!("pred_{target}")));
    }
    if let Task::MultiClass { classes } = schema.task {
        for class in 0..classes {
            let _ = write!(text, ",{}", quoted(&format!("prob_{}", class_name(class))));
        }
    }
    text.push('\n');
    let mut rows = evaluation
        .outputs
        .chunks_exact(evaluation.columns.max(1))
        .zip(evaluation.targets.chunks_exact(evaluation.target_columns.max(1)));
    for sample in samples.iter().filter_map(|&at| data.dataset.samples.get(at)) {
        let count = if node_level { sample.prepared.graph.num_nodes() } else { 1 };
        for (node, (outputs, targets)) in rows.by_ref().take(count).enumerate() {
            text.push_str(&quoted(&sample.id));
            if node_level {
                let _ = write!(text, ",{node}");
            }
            match schema.task {
                Task::MultiClass { .. } if outputs.len() > 1 => {
                    let said = (0..outputs.len())
                        .fold(0, |best, at| if outputs[at] > outputs[best] { at } else { best });
                    let target = targets.first().filter(|target| !target.is_nan());
                    let target = target.map_or(String::new(), |class| class_name(*class as usize));
                    let _ = write!(text, ",{},{}", quoted(&target), quoted(&class_name(said)));
                    for probability in softmax(outputs) {
                        let _ = write!(text, ",{probability}");
                    }
                }
                task => {
                    for (output, target) in outputs.iter().zip(targets) {
                        text.push(',');
                        if !target.is_nan() {
                            let _ = write!(text, "{target}");
                        }
                        let _ = match task {
                            Task::Regression => write!(text, ",{output}"),
                            _ => write!(text, ",{}", 1.0 / (1.0 + (-f64::from(*output)).exp())),
                        };
                    }
                }
            }
            text.push('\n');
        }
    }
    text
}

fn softmax(outputs: &[f32]) -> Vec<f64> {
    let largest = outputs.iter().fold(f32::NEG_INFINITY, |max, value| max.max(*value));
    let powers: Vec<f64> = outputs.iter().map(|value| f64::from(value - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

/// A CSV field, in quotes where it needs them.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_needed_and_probabilities_sum_to_one() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        let probabilities = softmax(&[1000.0, 1000.0, -1000.0]);
        assert_eq!(probabilities, vec![0.5, 0.5, 0.0]);
    }
}
