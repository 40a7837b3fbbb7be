//! Tiny copies of the data sets, to run an experiment from end to end in seconds. Their numbers mean nothing.

use super::ReproError;
use crate::bench::random_graph;
use crate::systems::{Body, Encoder, Positions, SystemConfig};
use graphminnet::config::{EdgeEncoderKind, InnerProduct, ModelConfig, NodeEncoderKind, PairKind, Recipe};
use graphminnet_data::registry;
use graphminnet_data::rng::{self, Stream};
use graphminnet_data::{Column, ColumnKind, Dataset, Level, Sample, Schema, Split, Task};
use graphminnet_data::{Features, Graph};
use std::path::Path;
use std::sync::Arc;

/// Data sets that a quick run covers if none is named; the last one is left out on purpose, as missing data.
pub(super) const DATASETS: [&str; 3] = ["zinc", "molhiv", "pascalvoc-sp"];

const GRAPHS: usize = 40;

/// Writes tiny copies of all data sets but PascalVOC-SP below a folder, where the registry finds them.
pub(super) fn write_datasets(folder: &Path) -> Result<(), ReproError> {
    for name in graphminnet::config::RECIPE_NAMES {
        let recipe = Recipe::named(name)?;
        let info = registry::find(&recipe.dataset)?;
        if *name != "pascalvoc-sp" && !folder.join(&info.folder).exists() {
            registry::store(info, &dataset(&recipe, info)?, folder)?;
        }
    }
    Ok(())
}

/// A model of the same kind that takes milliseconds.
pub(super) fn shrink(recipe: &mut Recipe) {
    let model = &mut recipe.model;
    let type4 = matches!(model.inner_product, InnerProduct::Type4a | InnerProduct::Type4b);
    let square = model.inner_product == InnerProduct::Type2
        || type4 && (model.type4_first == PairKind::Type2 || model.type4_second == PairKind::Type2);
    model.hidden = 16;
    model.layers = 2;
    model.pe_width = 8;
    model.lap_dim = if square { 16 } else { model.lap_dim.min(6) };
    model.pe_dim = model.pe_dim.min(4);
    model.rwse_steps = model.rwse_steps.min(4);
    recipe.train.batch_size = 8;
}

/// A system of the same kind that takes milliseconds. Tiny data has all categories of the recipe, also those that the
/// published data do not have.
pub(super) fn shrink_system(model: &mut SystemConfig, recipe: &Recipe) {
    if let Encoder::Tables(sizes) = &mut model.nodes {
        sizes.clone_from(&recipe.model.node_vocab);
    }
    model.hidden = 16;
    model.layers = 2;
    match &mut model.positions {
        Positions::None => {}
        Positions::Laplacian { width, pairs } => (*width, *pairs) = (4, 4),
        Positions::Walks { width, steps } => (*width, *steps) = (4, 4),
        Positions::Spectrum(own) => (own.width, own.pairs, own.layers, own.feed_forward) = (4, 4, 1, 8),
    }
    match &mut model.system {
        Body::San(own) => own.heads = 2,
        Body::Exphormer(own) => own.heads = 2,
        Body::Grit(own) => (own.heads, own.steps) = (2, own.steps.min(4)),
        Body::Gred(own) => (own.state, own.shells) = (8, own.shells.clamp(1, 3)),
        Body::GraphMamba(own) => own.states = 4,
    }
}

fn dataset(recipe: &Recipe, info: &registry::DatasetInfo) -> Result<Dataset, ReproError> {
    let model = &recipe.model;
    let mut random = rng::stream(0, "smoke", &[model.hidden as u64, model.out_dim as u64]);
    let (node_numbers, edge_numbers) = numeric_columns(model);
    let schema = Schema {
        level: info.level,
        task: info.task(),
        targets: info.targets.clone(),
        class_names: Vec::new(),
        positive_class: None,
        molecules: None,
        node_columns: columns(&model.node_vocab, node_numbers),
        edge_columns: columns(&model.edge_vocab, edge_numbers),
    };
    let samples = (0..GRAPHS)
        .map(|at| {
            let nodes = random.in_range(8..=14);
            let graph = random_graph(nodes, 2 * nodes, &mut random)?;
            let graph = dressed(graph, model, &mut random)?;
            let rows = if info.level == Level::Node { nodes } else { 1 };
            let values = rows * info.targets.len();
            let targets = (0..values).map(|value| target(info.task(), at + value, &mut random)).collect();
            Ok(Sample { id: at.to_string(), graph: Arc::new(graph), targets })
        })
        .collect::<Result<Vec<_>, ReproError>>()?;
    let split = |at: usize| match at * 10 / GRAPHS {
        0..=5 => Split::Train,
        6 | 7 => Split::Valid,
        _ => Split::Test,
    };
    let official_split = Some((0..GRAPHS).map(split).collect());
    Ok(Dataset {
        name: info.name.clone(),
        schema,
        samples,
        official_split,
        node_parts: None,
        qualifiers: Default::default(),
    })
}

/// Numeric columns of nodes and edges; a degree profile is computed, not stored.
fn numeric_columns(model: &ModelConfig) -> (usize, usize) {
    let nodes = if model.node_encoder == NodeEncoderKind::Linear { model.node_in } else { 0 };
    let edges = if model.edge_encoder == EdgeEncoderKind::Linear { model.edge_in } else { 0 };
    (nodes, edges)
}

fn columns(vocabulary: &[usize], numbers: usize) -> Vec<Column> {
    let categories = vocabulary.iter().map(|&size| ColumnKind::Category { size, names: Vec::new() });
    let kinds = categories.chain((0..numbers).map(|_| ColumnKind::Number));
    kinds.enumerate().map(|(at, kind)| Column::new(format!("column_{at}"), kind)).collect()
}

fn features(
    rows: usize,
    vocabulary: &[usize],
    numbers: usize,
    random: &mut Stream,
) -> Result<Features, ReproError> {
    let categories = (0..rows).flat_map(|_| vocabulary).map(|&size| random.below(size) as u32).collect();
    let values = (0..rows * numbers).map(|_| random.normal() as f32).collect();
    Ok(Features::mixed(rows, vocabulary.len(), categories, numbers, values)?)
}

/// Random features of the kind that a model's encoders take.
pub(super) fn dressed(graph: Graph, model: &ModelConfig, random: &mut Stream) -> Result<Graph, ReproError> {
    let (node_numbers, edge_numbers) = numeric_columns(model);
    let (nodes, edges) = (graph.num_nodes(), graph.num_edges());
    let node_features = features(nodes, &model.node_vocab, node_numbers, random)?;
    let edge_features = features(edges, &model.edge_vocab, edge_numbers, random)?;
    Ok(graph.with_node_features(node_features)?.with_edge_features(edge_features)?)
}

/// Labels alternate, so that every part has some of both.
fn target(task: Task, at: usize, random: &mut Stream) -> f32 {
    match task {
        Task::Regression => random.normal() as f32,
        Task::MultiClass { classes } => (at % classes.max(1)) as f32,
        _ => (at % 2) as f32,
    }
}
