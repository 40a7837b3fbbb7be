//! A model and a protocol for data that nobody has configured: read off the schema, and said in words.

use super::Loaded;
use crate::config::{ConfigError, Override, Recipe, with_overrides};
use graphminnet_data::{Dataset, Level, Schema, Task};
use toml::{Table, Value};

/// A recipe made for a data set, and why it is what it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Inferred {
    /// The recipe.
    pub recipe: Recipe,
    /// What was inferred, one statement each.
    pub notes: Vec<String>,
}

/// Optimizer steps that a default schedule aims at.
const STEPS: usize = 4_000;
const BATCH_SIZE: usize = 32;

/// Nodes of a graph from which on random walks are left out: from every node they go as far as half of the steps, so that
/// their time grows with the square of the nodes.
const MANY_NODES: usize = 10_000;

/// How much data there is; a number stands for so many small graphs to train on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataSize {
    /// Graphs to train on.
    pub train_graphs: usize,
    /// Nodes of the largest graph of any part.
    pub largest_graph: usize,
}

impl From<usize> for DataSize {
    fn from(train_graphs: usize) -> Self {
        Self { train_graphs, largest_graph: 0 }
    }
}

impl From<&Loaded> for DataSize {
    fn from(loaded: &Loaded) -> Self {
        Self { train_graphs: loaded.splits.train.len(), ..Self::from(&loaded.dataset) }
    }
}

impl From<&Dataset> for DataSize {
    fn from(dataset: &Dataset) -> Self {
        let nodes = dataset.samples.iter().map(|sample| sample.graph.num_nodes());
        Self { train_graphs: dataset.samples.len(), largest_graph: nodes.max().unwrap_or(0) }
    }
}

/// A recipe for graphs of the given schema, for so much data.
///
/// # Errors
///
/// [`ConfigError`] if an override does not fit.
pub fn infer_recipe(
    name: &str,
    schema: &Schema,
    size: impl Into<DataSize>,
    overrides: &[Override],
) -> Result<Inferred, ConfigError> {
    let DataSize { train_graphs, largest_graph } = size.into();
    let mut notes = Vec::new();
    let mut model = Table::new();
    let mut set = |key: &str, value: Value| {
        model.insert(key.to_owned(), value);
    };
    let text = |word: &str| Value::String(word.to_owned());
    let number = |value: usize| Value::Integer(value as i64);
    let sizes =
        |sizes: &[usize]| Value::Array(sizes.iter().map(|size| Value::Integer(*size as i64)).collect());

    set("hidden", number(64));
    set("layers", number(4));
    let weighs_edges = schema.edge_numbers() > 0;
    set("local", text(if weighs_edges { "gine" } else { "gatedgcn" }));
    set("lap_dim", number(16));
    set("self_term", Value::Boolean(true));
    set("drop_ffn", Value::Float(0.1));
    set("drop_local", Value::Float(0.1));
    set("drop_res", Value::Float(0.1));

    let vocabulary = schema.node_vocabulary();
    let numbers = schema.node_numbers();
    match (vocabulary.len(), numbers) {
        (0, 0) => {
            notes.push("nodes have no features: their degrees and those of their neighbours are used, beside their place in the graph".into());
            set("node_encoder", text("degrees"));
            set("node_in", number(5));
        }
        (0, columns) => {
            notes.push(format!("nodes have {columns} numeric columns"));
            set("node_encoder", text("linear"));
            set("node_in", number(columns));
        }
        (columns, 0) => {
            notes.push(format!("nodes have {columns} categorical columns of sizes {vocabulary:?}"));
            set("node_encoder", text(if columns == 1 { "embed" } else { "atoms" }));
            set("node_vocab", sizes(&vocabulary));
        }
        (columns, numbers) => {
            notes.push(format!(
                "nodes have {columns} categorical columns of sizes {vocabulary:?} and {numbers} numeric ones"
            ));
            set("node_encoder", text("mixed"));
            set("node_vocab", sizes(&vocabulary));
            set("node_in", number(numbers));
        }
    }
    set("pe_dim", number(28));
    if largest_graph <= MANY_NODES {
        set("node_pe", text("rwse"));
        set("rwse_steps", number(20));
    } else {
        notes.push(format!(
            "a graph has {largest_graph} nodes, and random walks on more than {MANY_NODES} take long: nodes are placed by \
             eigenvectors instead (`--set model.node_pe=rwse --set model.rwse_steps=20` takes the time)"
        ));
        set("node_pe", text("lappe"));
    }
    let vocabulary = schema.edge_vocabulary();
    match (vocabulary.len(), schema.edge_numbers()) {
        (0, 0) => {
            notes.push("edges have no features".into());
            set("edge_encoder", text("dummy"));
        }
        (0, columns) => {
            notes.push(format!("edges have {columns} numeric columns"));
            set("edge_encoder", text("linear"));
            set("edge_in", number(columns));
        }
        (columns, 0) => {
            notes.push(format!("edges have {columns} categorical columns of sizes {vocabulary:?}"));
            set("edge_encoder", text(if columns == 1 { "embed" } else { "atoms" }));
            set("edge_vocab", sizes(&vocabulary));
        }
        (columns, numbers) => {
            notes.push(format!(
                "edges have {columns} categorical columns of sizes {vocabulary:?} and {numbers} numeric ones"
            ));
            set("edge_encoder", text("mixed"));
            set("edge_vocab", sizes(&vocabulary));
            set("edge_in", number(numbers));
        }
    }
    if weighs_edges {
        notes.push(
            "the local branch is gine, which adds up what edges say; gatedgcn would only weigh neighbours by it".into(),
        );
    }
    let takes_degrees = schema.node_columns.is_empty();
    if takes_degrees || schema.node_numbers() + schema.edge_numbers() > 0 {
        notes.push("numbers are put on the scale of the training data".into());
        set("standardize", Value::Boolean(true));
    }
    match schema.level {
        Level::Graph => {
            set("head", text("san"));
            set("pooling", text("mean"));
        }
        Level::Node => {
            set("level", text("node"));
            set("head", text("mlp"));
            set("head_layers", number(3));
        }
        Level::Edge => {
            return Err(ConfigError::Invalid {
                key: "model.level".to_owned(),
                value: "edge".to_owned(),
                expected: "targets of graphs or of nodes; no model answers for edges".to_owned(),
            });
        }
    }
    let per = schema.level;
    let targets = schema.num_targets();
    let (outputs, loss, metric, task) = match schema.task {
        Task::Regression => (targets, "l1", "mae", "regression".to_owned()),
        Task::Binary => (targets, "binary_cross_entropy", "roc_auc", "yes/no classification".to_owned()),
        // Two classes of a multi-class task still have an output each.
        Task::MultiClass { classes } => {
            (classes.max(2), "cross_entropy", "accuracy", format!("classification into {classes} classes"))
        }
    };
    notes.insert(0, format!("{task} per {per}, {targets} target column(s): {}", schema.targets.join(", ")));
    set("out_dim", number(outputs));

    let steps_per_epoch = train_graphs.div_ceil(BATCH_SIZE).max(1);
    let epochs = STEPS.div_ceil(steps_per_epoch).clamp(20, 200);
    let mut train = Table::new();
    for (key, value) in [
        ("epochs", number(epochs)),
        ("warmup", number((epochs / 20).max(1))),
        ("batch_size", number(BATCH_SIZE)),
        ("learning_rate", Value::Float(1e-3)),
        ("weight_decay", Value::Float(1e-5)),
        ("loss", text(loss)),
        ("metric", text(metric)),
        // Own data may hardly vary within a batch, and running estimates are not good enough then.
        ("norm_estimates", text("recomputed")),
    ] {
        train.insert(key.to_owned(), value);
    }
    if schema.task == Task::Regression {
        notes.push("targets are standardised for training; results are in the data's own units".into());
        train.insert("target_scaling".to_owned(), text("standard"));
    }
    let mut table = Table::new();
    table.insert("title".to_owned(), text(name));
    table.insert("dataset".to_owned(), text(name));
    table.insert("model".to_owned(), Value::Table(model));
    table.insert("train".to_owned(), Value::Table(train));
    let recipe = with_overrides(name, table, overrides)?;
    Ok(Inferred { recipe, notes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{LocalKind, NodePeKind};
    use graphminnet_data::{Column, ColumnKind};

    fn schema(task: Task, level: Level, node_columns: Vec<Column>, edge_columns: Vec<Column>) -> Schema {
        Schema {
            level,
            task,
            targets: vec!["y".into()],
            class_names: vec![],
            positive_class: None,
            molecules: None,
            node_columns,
            edge_columns,
        }
    }

    fn column(kind: ColumnKind) -> Column {
        Column { name: "c".into(), kind }
    }

    #[test]
    fn every_combination_of_features_tasks_and_levels_gives_a_valid_recipe() {
        let category = || column(ColumnKind::Category { size: 3, names: vec![] });
        let features = || {
            let number = || column(ColumnKind::Number);
            [
                vec![],
                vec![category()],
                vec![category(), category()],
                vec![number()],
                vec![number(), category()],
            ]
        };
        for task in [Task::Regression, Task::Binary, Task::MultiClass { classes: 4 }] {
            for level in [Level::Graph, Level::Node] {
                for nodes in features() {
                    for edges in features() {
                        let schema = schema(task, level, nodes.clone(), edges);
                        let inferred = infer_recipe("own", &schema, 160, &[]).unwrap();
                        inferred.recipe.model.check().unwrap();
                        assert!(inferred.notes.len() >= 3);
                    }
                }
            }
        }
    }

    #[test]
    fn random_walks_are_left_out_of_large_graphs_and_it_is_said() {
        let schema = schema(Task::Regression, Level::Node, vec![], vec![]);
        let placed = |largest_graph| {
            let size = DataSize { train_graphs: 1, largest_graph };
            let Inferred { recipe, notes } = infer_recipe("own", &schema, size, &[]).unwrap();
            (recipe.model.node_pe, notes.iter().any(|note| note.contains("random walks")))
        };
        assert_eq!(placed(MANY_NODES), (NodePeKind::Rwse, false));
        assert_eq!(placed(MANY_NODES + 1), (NodePeKind::Lappe, true));
    }

    #[test]
    fn numbers_on_edges_get_a_branch_that_can_use_their_size_and_it_is_said() {
        let local = |edges| {
            let schema = schema(Task::Regression, Level::Graph, vec![], edges);
            let Inferred { recipe, notes } = infer_recipe("own", &schema, 100, &[]).unwrap();
            (recipe.model.local, notes.iter().any(|note| note.contains("gine")))
        };
        assert_eq!(local(vec![column(ColumnKind::Number)]), (LocalKind::Gine, true));
        let category = column(ColumnKind::Category { size: 3, names: vec![] });
        assert_eq!(local(vec![category]), (LocalKind::Gated, false));
    }

    #[test]
    fn a_short_schedule_has_a_short_warm_up() {
        let schema = schema(Task::Regression, Level::Graph, vec![], vec![]);
        for epochs in [1, 2, 50] {
            let overrides = [Override::parse(&format!("train.epochs={epochs}")).unwrap()];
            let recipe = infer_recipe("own", &schema, 100, &overrides).unwrap().recipe;
            assert_eq!(recipe.train.epochs, epochs);
        }
    }
}
