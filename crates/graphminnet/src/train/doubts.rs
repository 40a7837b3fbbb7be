//! What makes a result worth little, said before the time is spent: one class, a target without labels or spread, nearly as many
//! classes as labels, no validation part, a metric without a value, links that the graph has as edges.

use super::{TrainError, TrainingData};
use crate::config::TrainConfig;
use graphminnet_data::{ColumnKind, Features, Graph, Level, Split, Task};
use std::collections::{BTreeSet, HashSet};

/// The labels of one part.
struct Labels {
    count: usize,
    /// Those that are 0, of every target column.
    zeros: Vec<usize>,
    /// Distinct values of every target column, at most two of each.
    values: Vec<BTreeSet<u32>>,
    /// Number, sum and sum of squares of the labels of every target column.
    sums: Vec<(f64, f64, f64)>,
}

/// How much larger than its deviation a mean may be: beyond this, single precision keeps less than three digits of what differs.
const DIGITS: f64 = 1e4;

/// Squares of larger numbers are infinite in single precision, or nearly so.
const LARGE: f32 = 1e18;

impl Labels {
    fn of(data: &TrainingData, part: Split) -> Self {
        let columns = data.target_columns().max(1);
        let mut labels = Self {
            count: 0,
            zeros: vec![0; columns],
            values: vec![BTreeSet::new(); columns],
            sums: vec![(0.0, 0.0, 0.0); columns],
        };
        for (at, value) in data.known_targets(part) {
            labels.count += 1;
            labels.zeros[at % columns] += usize::from(value == 0.0);
            let (count, sum, squares) = &mut labels.sums[at % columns];
            let number = f64::from(value);
            (*count, *sum, *squares) = (*count + 1.0, *sum + number, *squares + number * number);
            let values = &mut labels.values[at % columns];
            if values.len() < 2 {
                // Zero and negative zero are the same label.
                values.insert((value + 0.0).to_bits());
            }
        }
        labels
    }

    fn vary(&self) -> bool {
        self.values.iter().any(|values| values.len() > 1)
    }

    /// Targets of the training part from which little can be learnt, where others have something.
    fn columns_in_doubt(&self, data: &TrainingData, train: &TrainConfig) -> Vec<String> {
        let schema = &data.dataset.schema;
        let mut found = Vec::new();
        for (column, name) in schema.targets.iter().enumerate() {
            let (Some(&(count, sum, squares)), Some(values)) =
                (self.sums.get(column), self.values.get(column))
            else {
                continue;
            };
            let name = graphminnet_data::escape(name);
            let (mean, variance) = (sum / count, squares / count - (sum / count).powi(2));
            if count == 0.0 && self.count > 0 {
                found.push(format!(
                    "target `{name}` has no label in the training part: what a model says about it means nothing"
                ));
            } else if values.len() == 1 && self.vary() {
                found.push(format!(
                    "target `{name}` does not vary in the training part: there is nothing to learn about it"
                ));
            } else if train.loss.is_regression()
                && values.len() > 1
                && mean.abs() > DIGITS * variance.max(0.0).sqrt()
            {
                found.push(format!(
                    "target `{name}` differs little around {mean}, and targets are kept with seven digits: subtract a constant \
                     from it first"
                ));
            }
        }
        if let Task::MultiClass { classes } = schema.task
            && self.count > 0
            && 2 * classes > self.count
        {
            found.push(format!(
                "there are {classes} classes for {} labels of the training part: are these numbers or names? (--task regression, or \
                 another --target)",
                self.count
            ));
        }
        found
    }
}

/// What a person should know before training.
///
/// # Errors
///
/// [`TrainError::OneClass`] if there is nothing to tell apart, [`TrainError::LargeNumbers`] if features cannot be put on a scale.
pub(super) fn doubts(data: &TrainingData, train: &TrainConfig) -> Result<Vec<String>, TrainError> {
    let mut found = Vec::new();
    let labels = Labels::of(data, Split::Train);
    if labels.count > 0 && !labels.vary() && train.negatives == 0 {
        if !train.loss.is_regression() {
            return Err(TrainError::OneClass { labels: labels.count });
        }
        found.push(format!(
            "the {} targets of the training part do not vary: a model can learn that one number only",
            labels.count
        ));
    }
    found.extend(labels.columns_in_doubt(data, train));
    found.extend(features_in_doubt(data)?);
    let ranks = train.metric.is_ranking();
    for (part, name, then) in [
        (Split::Valid, "validation", "the last epoch is taken, whether it is the best or not"),
        (Split::Test, "test", "the result has no test score"),
    ] {
        let labels = Labels::of(data, part);
        if data.splits.part(part).is_empty() {
            found.push(format!("there is no {name} part: {then}"));
        } else if labels.count == 0 {
            found.push(format!("the {name} part has no labels: {then}"));
        } else if ranks && !labels.vary() {
            found.push(format!(
                "the labels of the {name} part are all of one class, so {} has no value there: {then}; a split in \
                 equal shares of the classes (stratified) has both",
                train.metric
            ));
        }
    }
    if let Some(place) = train.metric.hits_at() {
        for (part, name) in [(Split::Valid, "validation"), (Split::Test, "test")] {
            let labels = Labels::of(data, part);
            let fewest = labels.zeros.into_iter().min().unwrap_or(0);
            if labels.count > 0 && fewest < place {
                found.push(format!(
                    "{} is 1 on the {name} part whatever the model says: it holds positives against the {place}th of the \
                     negatives, and there are {fewest}; take roc_auc, or more negatives",
                    train.metric
                ));
            }
        }
    }
    let schema = &data.dataset.schema;
    if schema.level == Level::Pair && schema.task == Task::Binary && schema.num_targets() == 1 {
        let parts = [(Split::Train, "training"), (Split::Valid, "validation"), (Split::Test, "test")];
        found.extend(parts.into_iter().filter_map(|(part, name)| seen_links(data, part, name)));
    }
    Ok(found)
}

/// Numeric columns of features that single precision cannot hold well.
fn features_in_doubt(data: &TrainingData) -> Result<Vec<String>, TrainError> {
    let schema = &data.dataset.schema;
    let mut found = Vec::new();
    for (columns, of) in [
        (&schema.node_columns, Graph::node_features as fn(&Graph) -> &Features),
        (&schema.edge_columns, Graph::edge_features),
    ] {
        let names = columns.iter().filter(|column| column.kind == ColumnKind::Number);
        for (at, column) in names.enumerate() {
            let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
            let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
            let samples = data.splits.train.iter().filter_map(|&sample| data.dataset.samples.get(sample));
            for table in samples.map(|sample| of(&sample.prepared.graph)) {
                for &value in table.number_values().iter().skip(at).step_by(table.number_columns().max(1)) {
                    let number = f64::from(value);
                    (count, sum, squares) = (count + 1.0, sum + number, squares + number * number);
                    (low, high) = (low.min(value), high.max(value));
                }
            }
            let column = graphminnet_data::escape(&column.name);
            if let Some(value) =
                [low, high].into_iter().find(|value| value.is_finite() && value.abs() > LARGE)
            {
                return Err(TrainError::LargeNumbers { column, value });
            }
            let (mean, variance) = (sum / count, squares / count - (sum / count).powi(2));
            if low < high && mean.abs() > DIGITS * variance.max(0.0).sqrt() {
                found.push(format!(
                    "column `{column}` differs little around {mean}, and numbers are kept with seven digits: subtract a constant \
                     from it first"
                ));
            }
        }
    }
    Ok(found)
}

/// Says if the links of a part are edges, and other pairs are so less often: a model sees then what it is asked about.
fn seen_links(data: &TrainingData, part: Split, name: &str) -> Option<String> {
    // Edges among the pairs without and with a link, and all of these pairs.
    let (mut edges, mut all) = ([0usize; 2], [0usize; 2]);
    for &at in data.splits.part(part) {
        let Some(sample) = data.dataset.samples.get(at) else { continue };
        let graph = &sample.prepared.graph;
        let unordered = |ends: &[u32; 2]| [ends[0].min(ends[1]), ends[0].max(ends[1])];
        let known: HashSet<[u32; 2]> = graph.edges().iter().map(unordered).collect();
        for (row, (pair, target)) in graph.pairs().iter().zip(&sample.targets).enumerate() {
            if !target.is_nan() && data.counts(part, at, row) {
                let is_link = usize::from(*target == 1.0);
                all[is_link] += 1;
                edges[is_link] += usize::from(known.contains(&unordered(pair)));
            }
        }
    }
    let share = |kind: usize| edges[kind] as f64 / all[kind].max(1) as f64;
    (share(1) > share(0)).then(|| {
        format!(
            "{} of the {} links of the {name} part are edges of the graph: the model sees what it is asked about; leave \
             these edges out",
            edges[1], all[1]
        )
    })
}
