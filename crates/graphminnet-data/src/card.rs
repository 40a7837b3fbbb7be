//! A data set on one page: how many graphs of what size, what the targets look like, how they are split.

use super::{Dataset, Level, Split, Statistics, Task, statistics};
use serde::Serialize;

/// The page.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DataCard {
    /// Counts and means of the graphs.
    pub statistics: Statistics,
    /// One summary per target column.
    pub targets: Vec<TargetSummary>,
    /// Sizes of train, valid and test, where the source names parts.
    pub parts: Option<[usize; 3]>,
    /// What is counted there: graphs, or the nodes, edges or pairs of graphs.
    pub parts_of: Option<Level>,
}

/// What one target column holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TargetSummary {
    /// Name of the column.
    pub name: String,
    /// Number of known values.
    pub known: u64,
    /// Number of missing values.
    pub missing: u64,
    /// What the known ones are.
    pub values: TargetValues,
}

/// The known values of a target column.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetValues {
    /// Numbers: mean, standard deviation (of the population), smallest and largest; zeros if there are none.
    Numbers {
        /// Mean.
        mean: f64,
        /// Standard deviation, divided by the number of values.
        deviation: f64,
        /// Smallest value.
        smallest: f32,
        /// Largest value.
        largest: f32,
    },
    /// Name (or number) of every class, and how often it occurs.
    Classes(Vec<(String, u64)>),
}

impl DataCard {
    /// Describes a data set.
    pub fn new(dataset: &Dataset) -> Self {
        let width = dataset.schema.num_targets();
        let targets = (0..width).map(|column| summarise(dataset, column, width)).collect();
        let of_graphs = |parts: &Vec<Split>| {
            Split::ALL.map(|wanted| parts.iter().filter(|part| **part == wanted).count())
        };
        let (parts, parts_of) = match (&dataset.node_parts, &dataset.official_split) {
            (Some(parts), _) => (Some(Split::ALL.map(|part| parts.count(part))), Some(dataset.schema.level)),
            (None, Some(parts)) => (Some(of_graphs(parts)), Some(Level::Graph)),
            (None, None) => (None, None),
        };
        Self { statistics: statistics(dataset), targets, parts, parts_of }
    }
}

fn summarise(dataset: &Dataset, column: usize, width: usize) -> TargetSummary {
    let schema = &dataset.schema;
    let all = || dataset.samples.iter().flat_map(|sample| sample.targets.iter().skip(column).step_by(width));
    let known = || all().copied().filter(|value| !value.is_nan());
    let count = known().count() as u64;
    let values = match schema.task {
        Task::Regression => numbers(known),
        Task::Binary | Task::MultiClass { .. } => {
            let classes = if let Task::MultiClass { classes } = schema.task { classes } else { 2 };
            let mut counts = vec![0u64; classes];
            for value in known() {
                if let Some(count) = counts.get_mut(value as usize) {
                    *count += 1;
                }
            }
            let name =
                |class: usize| schema.class_names.get(class).cloned().unwrap_or_else(|| class.to_string());
            TargetValues::Classes(
                counts.into_iter().enumerate().map(|(class, count)| (name(class), count)).collect(),
            )
        }
    };
    let name = schema.targets.get(column).cloned().unwrap_or_default();
    TargetSummary { name, known: count, missing: all().count() as u64 - count, values }
}

fn numbers<I: Iterator<Item = f32>>(known: impl Fn() -> I) -> TargetValues {
    let count = known().count();
    if count == 0 {
        return TargetValues::Numbers { mean: 0.0, deviation: 0.0, smallest: 0.0, largest: 0.0 };
    }
    let mean = known().map(f64::from).sum::<f64>() / count as f64;
    let squares = known().map(|value| (f64::from(value) - mean).powi(2)).sum::<f64>();
    TargetValues::Numbers {
        mean,
        deviation: (squares / count as f64).sqrt(),
        smallest: known().fold(f32::INFINITY, f32::min),
        largest: known().fold(f32::NEG_INFINITY, f32::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::{NodeParts, Sample, Schema};
    use std::sync::Arc;

    fn dataset(task: Task, targets: &[&[f32]]) -> Dataset {
        let width = targets.first().map_or(0, |row| row.len());
        let sample = |(at, targets): (usize, &&[f32])| Sample {
            id: at.to_string(),
            graph: Arc::new(Graph::from_edges(2, vec![[0, 1], [1, 0]]).unwrap()),
            targets: targets.to_vec(),
        };
        Dataset {
            name: "test".to_owned(),
            schema: Schema {
                level: Level::Graph,
                task,
                targets: (0..width).map(|column| format!("t{column}")).collect(),
                class_names: Vec::new(),
                positive_class: None,
                molecules: None,
                node_columns: Vec::new(),
                edge_columns: Vec::new(),
            },
            samples: targets.iter().enumerate().map(sample).collect(),
            official_split: None,
            node_parts: None,
            qualifiers: Default::default(),
        }
    }

    #[test]
    fn missing_targets_are_counted_and_left_out_of_the_mean() {
        let card = DataCard::new(&dataset(Task::Regression, &[&[1.0, f32::NAN], &[3.0, 5.0]]));
        assert_eq!((card.targets[1].known, card.targets[1].missing), (1, 1));
        let expected = TargetValues::Numbers { mean: 2.0, deviation: 1.0, smallest: 1.0, largest: 3.0 };
        assert_eq!(card.targets[0].values, expected);
    }

    #[test]
    fn parts_of_nodes_are_counted_where_the_data_names_them() {
        let mut dataset = dataset(Task::Binary, &[&[1.0], &[0.0]]);
        assert_eq!(DataCard::new(&dataset).parts, None);
        dataset.official_split = Some(vec![Split::Train, Split::Test]);
        let card = DataCard::new(&dataset);
        assert_eq!((card.parts, card.parts_of), (Some([1, 0, 1]), Some(Level::Graph)));
        dataset.schema.level = Level::Node;
        let parts = vec![vec![Some(Split::Train), Some(Split::Valid)], vec![None, Some(Split::Train)]];
        dataset.node_parts = Some(NodeParts::new(parts));
        let card = DataCard::new(&dataset);
        assert_eq!((card.parts, card.parts_of), (Some([2, 1, 0]), Some(Level::Node)));
    }

    #[test]
    fn classes_that_never_occur_are_listed_too() {
        let card = DataCard::new(&dataset(Task::MultiClass { classes: 3 }, &[&[2.0], &[0.0], &[2.0]]));
        let expected = [("0", 1), ("1", 0), ("2", 2)].map(|(name, count)| (name.to_owned(), count));
        assert_eq!(card.targets[0].values, TargetValues::Classes(expected.into()));
    }
}
