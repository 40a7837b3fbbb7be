//! A model file of a small model of graphs with categories, and graphs to ask it about.

use burn::tensor::Device;
use graphminnet::bundle::{Bundle, Description, Selection, TargetScaler, TrainedOn};
use graphminnet::config::Recipe;
use graphminnet::{GraphMinNet, weights};
use graphminnet_data::rng::{Stream, stream};
use graphminnet_data::{Column, ColumnKind, Features, Graph, Level, Schema, Task};
use std::sync::Arc;

pub const RECIPE: &str = r#"
[model]
hidden = 8
layers = 2
lap_dim = 4
node_encoder = "atoms"
node_vocab = [5, 3]
edge_encoder = "embed"
edge_vocab = [4]
node_pe = "rwse"
pe_dim = 3
rwse_steps = 5
out_dim = 2
[train]
epochs = 2
warmup = 0
batch_size = 8
loss = "l1"
metric = "mae"
"#;

/// A random tree with some extra edges, both ways, and categories as features.
pub fn graph(random: &mut Stream) -> Graph {
    let nodes = 1 + random.below(30);
    let mut edges = Vec::new();
    for node in 1..nodes {
        let other = random.below(node);
        edges.extend([[node as u32, other as u32], [other as u32, node as u32]]);
    }
    let categories = |random: &mut Stream, rows: usize, sizes: &[usize]| {
        let values =
            (0..rows).flat_map(|_| sizes.iter().map(|size| random.below(*size) as u32).collect::<Vec<_>>());
        Features::categories(rows, sizes.len(), values.collect()).unwrap()
    };
    let node_features = categories(random, nodes, &[5, 3]);
    let edge_features = categories(random, edges.len(), &[4]);
    Graph::new(nodes, edges, node_features, edge_features).unwrap()
}

pub fn graphs(count: usize) -> Vec<Arc<Graph>> {
    let mut random = stream(7, "bundle", &[]);
    (0..count).map(|_| Arc::new(graph(&mut random))).collect()
}

pub fn category(name: &str, size: usize) -> Column {
    Column::new(name, ColumnKind::Category { size, names: vec![] })
}

pub fn description() -> Description {
    let recipe = Recipe::parse("tiny", RECIPE).unwrap();
    Description {
        program_version: "0.1.0".into(),
        name: "tiny".into(),
        preparation: (&recipe.model.prepare_options()).into(),
        model: recipe.model,
        loss: recipe.train.loss,
        quantiles: Vec::new(),
        metric: recipe.train.metric,
        schema: Schema {
            level: Level::Graph,
            task: Task::Regression,
            targets: vec!["a".into(), "b".into()],
            class_names: vec![],
            positive_class: None,
            molecules: None,
            node_columns: vec![category("kind", 5), category("charge", 3)],
            edge_columns: vec![category("bond", 4)],
        },
        edges: None,
        featurizer: None,
        target_scaler: Some(TargetScaler { mean: vec![0.1, -3.0], deviation: vec![2.0 / 3.0, 7.0] }),
        calibration: None,
        data: TrainedOn {
            name: "made up".into(),
            fingerprint: "00".into(),
            plain: None,
            both_directions: None,
            train: 8,
            valid: 1,
            test: 1,
        },
        selection: Selection { epoch: 1, chosen_by: "hand".into(), valid: Some(0.5), test: None },
        seed: 3,
        from: None,
    }
}

pub fn bundle() -> (Bundle, Vec<u8>) {
    let description = description();
    let device = Device::flex();
    let bytes = weights::to_bytes(&GraphMinNet::new(&description.model, 3, &device).unwrap()).unwrap();
    let file = Bundle::pack(&description, &bytes).unwrap();
    (Bundle::from_bytes(&file, "tiny", &device).unwrap(), file)
}
