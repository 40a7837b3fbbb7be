//! The data of a run: prepared graphs, who trains and who reports, and a fingerprint of all of it.

use super::{Architecture, TrainError};
use crate::config::ConfigError;
use graphminnet_data::cache::Cache;
use graphminnet_data::exchange::{Alone, Exchange};
use graphminnet_data::partition::Connection;
use graphminnet_data::preparation::{
    PreparationReport, PreparedDataset, Progress, prepare_dataset_among, prepare_dataset_on_disk,
};
use graphminnet_data::spectral::PrepareOptions;
use graphminnet_data::split::Splits;
use graphminnet_data::{Batch, ContentHash, Dataset, Level, NodeParts, Qualifiers, Schema, Side, Split};
use std::path::Path;
use std::sync::Arc;

/// Prepared graphs with their parts.
#[derive(Debug, Clone)]
pub struct TrainingData {
    /// The graphs.
    pub dataset: Arc<PreparedDataset>,
    /// Columns and targets as they were read, before preparation: how new data is to be read.
    pub source_schema: Schema,
    /// Who trains, who chooses, who reports.
    pub splits: Splits,
    /// The part of every node (edge, pair), where these are split; the graphs of [`TrainingData::splits`] then overlap.
    pub node_parts: Option<NodeParts>,
    /// Hash of the graphs, targets and parts; see [`data_fingerprint`].
    pub fingerprint: String,
    /// The same of other data that has no weights and sets nothing aside ([`TrainedOn::plain`](crate::bundle::TrainedOn)).
    pub plain: Option<String>,
    /// Whether every edge has its reverse; `None` of molecules and of a graph in parts.
    pub both_directions: Option<bool>,
    /// What is known about labels besides their values; weights are 1 in the mean over the training part.
    pub qualifiers: Qualifiers,
    /// How this copy of the data differs from the published one, a sentence each; goes into `data.json` and the report.
    pub differences: Vec<String>,
    /// For every row of the source, the sample that it became; empty if none was left out. `splits.json` counts these rows.
    pub rows: Vec<Option<usize>>,
}

impl TrainingData {
    /// Prepares a data set for a model.
    ///
    /// # Errors
    ///
    /// [`TrainError::Spectral`] if a graph cannot be prepared.
    pub fn prepare(
        dataset: &Dataset,
        splits: Splits,
        model: &impl Architecture,
        cache: Option<&Cache>,
        progress: &dyn Progress,
    ) -> Result<(Self, PreparationReport), TrainError> {
        let kept = Kept { cache, ..Kept::default() };
        Self::prepare_among(dataset, splits, &model.prepare_options(), kept, progress, &Alone)
    }

    /// The same on every rank of an exchange; each prepares a part of the graphs.
    pub(super) fn prepare_among(
        dataset: &Dataset,
        splits: Splits,
        options: &PrepareOptions,
        Kept { cache, eigenpairs, on_disk }: Kept<'_>,
        progress: &dyn Progress,
        exchange: &dyn Exchange,
    ) -> Result<(Self, PreparationReport), TrainError> {
        let fingerprint = data_fingerprint(dataset, &splits);
        let plain = plain_fingerprint(dataset, &splits);
        let graphs =
            || dataset.samples.iter().map(|sample| &sample.graph).filter(|graph| graph.num_edges() > 0);
        let has_said = dataset.schema.molecules.is_none() && graphs().next().is_some();
        let both_directions = has_said.then(|| graphs().all(|graph| graph.is_undirected()));
        let source_schema = dataset.schema.clone();
        let node_parts = dataset.node_parts.clone();
        let qualifiers = qualifiers(dataset, &splits)?;
        let prepare = |options: &PrepareOptions| match (on_disk, cache) {
            (false, cache) => Ok(prepare_dataset_among(dataset, options, cache, progress, exchange)?),
            (true, Some(cache)) => Ok(prepare_dataset_on_disk(dataset, options, cache, progress, exchange)?),
            (true, None) => Err(not_on_disk("needs a cache; name a folder for it with GRAPHMINNET_CACHE")),
        };
        let (dataset, report) = match eigenpairs.filter(|_| options.eigenpairs > 0) {
            None => prepare(options)?,
            Some(folder) => {
                let rest = PrepareOptions { eigenpairs: 0, ..options.clone() };
                let (mut dataset, report) = prepare(&rest)?;
                let [only] = dataset.samples.as_mut_slice() else {
                    return Err(TrainError::Config(ConfigError::Invalid {
                        key: "train.eigenpairs".to_owned(),
                        value: folder.display().to_string(),
                        expected: format!("a single graph; the data has {}", dataset.samples.len()),
                    }));
                };
                only.prepared = only.prepared.clone().with_eigenpairs_of(folder, options)?;
                dataset.options = options.clone();
                (dataset, report)
            }
        };
        let dataset = Arc::new(dataset);
        let (differences, rows) = (Vec::new(), Vec::new());
        let data = Self {
            dataset,
            source_schema,
            splits,
            node_parts,
            fingerprint,
            plain,
            both_directions,
            qualifiers,
            differences,
            rows,
        };
        Ok((data, report))
    }

    /// The graphs of a part. Those of the training part that weigh nothing are left out: what they say must not count, for the
    /// scales of targets and features neither.
    pub(super) fn counting_graphs(&self, part: Split) -> impl Iterator<Item = usize> {
        let weighs = move |graph: &usize| {
            part != Split::Train || self.qualifiers.weights.get(*graph).is_none_or(|weight| *weight > 0.0)
        };
        self.splits.part(part).iter().copied().filter(weighs)
    }

    /// Known targets of the graphs of a part that count, each with its place among the targets of its graph.
    pub(super) fn known_targets(&self, part: Split) -> impl Iterator<Item = (usize, f32)> {
        let columns = self.target_columns().max(1);
        let samples = self.counting_graphs(part);
        let targets = samples.filter_map(|at| Some((at, self.dataset.samples.get(at)?)));
        let targets = targets.flat_map(move |(graph, sample)| {
            let values = sample.targets.iter().copied().enumerate();
            values.filter(move |(at, _)| self.counts(part, graph, at / columns))
        });
        targets.filter(|(_, value)| !value.is_nan())
    }

    /// Whether the targets of a row of a graph belong to a part that the graph is in.
    pub(super) fn counts(&self, part: Split, graph: usize, row: usize) -> bool {
        let parts = self.node_parts.as_ref().map(|parts| parts.graph(graph));
        parts.is_none_or(|nodes| nodes.get(row).copied().flatten() == Some(part))
    }

    /// The targets of a batch that count in training, in its order of rows. Rows beyond the parts were added for an epoch.
    pub(super) fn training_targets(&self, batch: &mut Batch) -> Vec<f32> {
        let Some(targets) = batch.targets.take() else { return Vec::new() };
        let (level, columns) = (targets.level, targets.columns.max(1));
        let mut values = targets.into_counted();
        let Some(parts) = &self.node_parts else { return values };
        let mut counts = Vec::with_capacity(values.len() / columns);
        let layout = &batch.layout;
        for (at, &graph) in batch.samples.iter().enumerate() {
            let rows = layout.rows_of(at, level);
            let parts = parts.graph(graph);
            counts.extend((0..rows).map(|row| parts.get(row).is_none_or(|part| *part == Some(Split::Train))));
        }
        for (row, values) in values.chunks_mut(columns).enumerate() {
            let given = match level {
                Level::Edge => layout.topology().given_order.get(row).map_or(row, |&given| given as usize),
                _ => row,
            };
            if counts.get(given) == Some(&false) {
                values.fill(f32::NAN);
            }
        }
        values
    }

    /// The weights of the rows of a batch; empty where all count alike. A row has that of its graph, and the rows of a graph
    /// stand together at every level.
    pub(super) fn row_weights(&self, batch: &Batch) -> Vec<f32> {
        let weights = &self.qualifiers.weights;
        if weights.is_empty() {
            return Vec::new();
        }
        let rows = |at: usize| batch.layout.rows_of(at, self.dataset.schema.level);
        let weight = |graph: usize| weights.get(graph).copied().unwrap_or(1.0);
        let graphs = batch.samples.iter().enumerate();
        graphs.flat_map(|(at, &graph)| std::iter::repeat_n(weight(graph), rows(at))).collect()
    }

    /// Puts bounds in the place of missing targets of a batch of graphs, and says where; an empty list where there are none.
    pub(super) fn with_bounds(&self, graphs: &[usize], targets: &mut [f32]) -> Vec<Option<Side>> {
        let bounds = &self.qualifiers.bounds;
        if bounds.is_empty() {
            return Vec::new();
        }
        let columns = self.target_columns();
        let mut sides = vec![None; targets.len()];
        for (at, &graph) in graphs.iter().enumerate() {
            for bound in bounds.get(graph).into_iter().flatten() {
                let place = at * columns + bound.place;
                if let (Some(target), Some(side)) = (targets.get_mut(place), sides.get_mut(place)) {
                    (*target, *side) = (bound.value, Some(bound.side));
                }
            }
        }
        sides
    }

    /// Makes the targets of some graphs unknown that do not belong to a part.
    pub(super) fn hide_others(&self, part: Split, graphs: &[usize], targets: &mut [f32]) {
        if let Some(parts) = &self.node_parts {
            parts.hide_others(part, graphs, self.target_columns(), targets);
        }
    }

    /// The parts as positions of what is split: graphs, or the nodes of all graphs.
    pub(super) fn positions(&self) -> Splits {
        match &self.node_parts {
            Some(parts) => parts.nodes_by_part(),
            None => self.splits.clone(),
        }
    }

    /// The parts as a split file names them: where rows were left out that keep their numbers, these are counted too.
    pub(super) fn split_file(&self) -> String {
        match self.node_parts.is_some() || self.rows.is_empty() {
            true => self.positions().to_json(),
            false => self.splits.in_rows(&self.rows).to_json(),
        }
    }

    /// How the other parts of the only graph are reached, where this is the data of one part.
    pub(super) fn connection(&self) -> Option<&Connection> {
        self.dataset.samples.first()?.prepared.part.as_ref()?.others.as_deref()
    }

    /// Number of target columns.
    pub fn target_columns(&self) -> usize {
        self.dataset.schema.num_targets()
    }
}

/// Where prepared numbers are found and kept.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Kept<'a> {
    /// Those of earlier runs.
    pub cache: Option<&'a Cache>,
    /// A folder with the eigenpairs of the only graph.
    pub eigenpairs: Option<&'a Path>,
    /// Whether they stay in the cache while they are used.
    pub on_disk: bool,
}

/// What is prepared cannot stay on disk.
pub(super) fn not_on_disk(expected: &str) -> TrainError {
    TrainError::Config(ConfigError::Invalid {
        key: "--prepared-on-disk".to_owned(),
        value: "true".to_owned(),
        expected: expected.to_owned(),
    })
}

/// What is known about labels, for training.
fn qualifiers(dataset: &Dataset, splits: &Splits) -> Result<Qualifiers, TrainError> {
    match dataset.qualifiers.weights_over(&splits.train) {
        Some(weights) => Ok(Qualifiers { weights, bounds: dataset.qualifiers.bounds.clone() }),
        None => Err(TrainError::Config(ConfigError::Invalid {
            key: "weight_column".to_owned(),
            value: format!("0 for all {} graphs of the training part", splits.train.len()),
            expected: "needs a positive weight for at least one of them".to_owned(),
        })),
    }
}

/// SHA-256 over everything of a data set that can change a result: ids, structure, features, targets and parts.
pub fn data_fingerprint(dataset: &Dataset, splits: &Splits) -> String {
    let mut content = ContentHash::default();
    dataset.samples.iter().for_each(|sample| content.add(sample));
    fingerprint_of(content, dataset, splits)
}

/// That of the same data without weights and with nothing set aside; `None` if there is neither.
fn plain_fingerprint(dataset: &Dataset, splits: &Splits) -> Option<String> {
    if dataset.qualifiers.weights.is_empty() && splits.calibration.is_empty() {
        return None;
    }
    let mut content = ContentHash::default();
    dataset.samples.iter().for_each(|sample| content.add(sample));
    let mut train = [splits.train.as_slice(), &splits.calibration].concat();
    train.sort_unstable();
    let splits = Splits { train, calibration: Vec::new(), ..splits.clone() };
    let qualifiers = Qualifiers { weights: Vec::new(), ..dataset.qualifiers.clone() };
    Some(qualified(content, dataset.node_parts.as_ref(), &qualifiers, &splits))
}

/// The same where the samples are hashed already.
pub(super) fn fingerprint_of(content: ContentHash, dataset: &Dataset, splits: &Splits) -> String {
    qualified(content, dataset.node_parts.as_ref(), &dataset.qualifiers, splits)
}

fn qualified(
    mut content: ContentHash,
    node_parts: Option<&NodeParts>,
    qualifiers: &Qualifiers,
    splits: &Splits,
) -> String {
    content.update(splits.to_json().as_ref());
    if let Some(parts) = node_parts {
        content.update(parts.nodes_by_part().to_json().as_ref());
    }
    // Weights and bounds count where there are any.
    let Qualifiers { weights, bounds } = qualifiers;
    weights.iter().for_each(|weight| content.update(&weight.to_le_bytes()));
    for (graph, bound) in
        bounds.iter().enumerate().flat_map(|(graph, list)| list.iter().map(move |one| (graph, one)))
    {
        for part in [graph as u64, bound.place as u64, bound.side as u64] {
            content.update(&part.to_le_bytes());
        }
        content.update(&bound.value.to_le_bytes());
    }
    content.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphminnet_data::generate::{PartSizes, RingTransfer};
    use graphminnet_data::{Features, Graph};

    #[test]
    fn features_of_a_whole_graph_are_part_of_the_fingerprint() {
        let sizes = PartSizes { train: 2, valid: 1, test: 1 };
        let mut dataset = RingTransfer { sizes, ..Default::default() }.generate(0).unwrap();
        let splits = Splits::new(vec![0, 1], vec![2], vec![3], 4).unwrap();
        let plain = data_fingerprint(&dataset, &splits);
        let mut with = |value: f32| {
            let graph = Graph::clone(&dataset.samples[0].graph);
            let features = Features::numbers(1, 1, vec![value]).unwrap();
            dataset.samples[0].graph = Arc::new(graph.with_graph_features(features).unwrap());
            data_fingerprint(&dataset, &splits)
        };
        let (one, two) = (with(1.0), with(2.0));
        assert!(plain != one && one != two);
    }
}
