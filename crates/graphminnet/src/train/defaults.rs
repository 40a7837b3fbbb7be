//! A model and a protocol for data that nobody has configured: read off the schema, and said in words.

use super::Loaded;
use crate::config::{ConfigError, Loss, Override, Recipe, with_overrides};
use graphminnet_data::{Dataset, Level, Schema, Split, Task};
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
    /// Nodes to train on, where nodes and not graphs are split.
    pub train_nodes: Option<usize>,
}

impl From<usize> for DataSize {
    fn from(train_graphs: usize) -> Self {
        Self { train_graphs, largest_graph: 0, train_nodes: None }
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
        Self {
            train_graphs: dataset.samples.len(),
            largest_graph: nodes.max().unwrap_or(0),
            train_nodes: dataset.node_parts.as_ref().map(|parts| parts.count(Split::Train)),
        }
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
    let (table, notes) = inferred_table(name, schema, size.into())?;
    Ok(Inferred { recipe: with_overrides(name, table, overrides)?, notes })
}

/// What a recipe of somebody's own says about the keys that it does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unnamed {
    /// They are inferred from the data: the file names what is to be different.
    Inferred,
    /// They have their defaults: the recipe is complete, as the built-in ones are.
    Default,
    /// Those of the model have their defaults, those of the protocol are inferred: the model is given, as by a model file.
    Protocol,
}

/// Keys that follow from the columns and targets of the data, whatever a recipe says.
const DECIDED_BY_DATA: [&str; 9] = [
    "model.node_encoder",
    "model.node_in",
    "model.node_vocab",
    "model.edge_encoder",
    "model.edge_in",
    "model.edge_vocab",
    "model.standardize",
    "model.level",
    "model.out_dim",
];

/// Keys that the data decides where a recipe does not, or where what the recipe says is for another task.
const DECIDED_BY_TASK: [&str; 4] =
    ["train.loss", "train.metric", "train.target_scaling", "train.norm_estimates"];

/// A recipe, made for other data or for none, for graphs of the given schema: its model and protocol, with the encoders,
/// outputs and loss that this data needs.
///
/// # Errors
///
/// [`ConfigError`] if the recipe or an override is not valid or does not fit the data.
pub fn fit_recipe(
    name: &str,
    given: &Table,
    unnamed: Unnamed,
    schema: &Schema,
    size: impl Into<DataSize>,
    overrides: &[Override],
) -> Result<Inferred, ConfigError> {
    let (mut table, mut notes) = inferred_table(name, schema, size.into())?;
    let inferred = Recipe::from_table(name, &table)?.train.loss;
    let given_loss = given.get("train").and_then(|train| train.get("loss")).and_then(Value::as_str);
    // Whether classes or labels count alike or not is no other task.
    let of_classes =
        |loss: &str| loss.trim_start_matches("weighted_").trim_start_matches("focal_").to_owned();
    let other_task = given_loss.is_some_and(|given| match given.parse::<Loss>() {
        Ok(given) if inferred.is_regression() => !given.is_regression(),
        Ok(given) => of_classes(given.word()) != of_classes(inferred.word()),
        Err(_) => false,
    });
    let (mut named, mut left_out) = (Vec::new(), Vec::new());
    for section in ["model", "train"] {
        let Some(Value::Table(fitted)) = table.get_mut(section) else { continue };
        let path = |key: &str| format!("{section}.{key}");
        let decided = |key: &str| DECIDED_BY_DATA.contains(&path(key).as_str());
        let by_task = |key: &str| DECIDED_BY_TASK.contains(&path(key).as_str());
        if unnamed == Unnamed::Default || unnamed == Unnamed::Protocol && section == "model" {
            fitted.retain(|key, _| decided(key) || by_task(key));
        }
        let Some(Value::Table(asked)) = given.get(section) else { continue };
        for (key, value) in asked {
            if !(decided(key) || by_task(key) && other_task) {
                named.push(Override::new(section, key, value.clone()));
            } else if fitted.get(key) != Some(value) {
                left_out.push(path(key));
            }
        }
    }
    if !left_out.is_empty() {
        notes.push(format!("of the recipe, the data decides {}", left_out.join(", ")));
    }
    // What a file of one's own names and what has no effect is an error; what a recipe for other data says of columns that
    // this data does not have is not meant for it.
    let checked: Option<Vec<Override>> = match unnamed {
        Unnamed::Inferred => Some(named.clone()),
        Unnamed::Protocol => Some(named.iter().filter(|named| named.section == "train").cloned().collect()),
        Unnamed::Default => None,
    };
    let warmup = match checked {
        Some(checked) => Some(with_overrides(name, table.clone(), &checked)?.train.warmup),
        None => None,
    };
    for Override { section, key, value } in named {
        if let Some(Value::Table(fitted)) = table.get_mut(&section) {
            fitted.insert(key, value);
        }
    }
    if let (Some(warmup), Some(Value::Table(train))) = (warmup, table.get_mut("train")) {
        // In proportion, where only the number of epochs is named.
        train.insert("warmup".to_owned(), Value::Integer(warmup as i64));
    }
    Ok(Inferred { recipe: with_overrides(name, table, overrides)?, notes })
}

/// A complete recipe for some data, and the reasons.
fn inferred_table(
    name: &str,
    schema: &Schema,
    DataSize { train_graphs, largest_graph, train_nodes }: DataSize,
) -> Result<(Table, Vec<String>), ConfigError> {
    let mut notes = Vec::new();
    let mut model = Table::new();
    let mut set = |key: &str, value: Value| {
        model.insert(key.to_owned(), value);
    };
    let text = |word: &str| Value::String(word.to_owned());
    let number = |value: usize| Value::Integer(value as i64);
    let sizes =
        |sizes: &[usize]| Value::Array(sizes.iter().map(|size| Value::Integer(*size as i64)).collect());

    // With fewer than one label for ten nodes, features of single nodes are learnt by heart.
    let is_sparse = train_nodes.is_some_and(|nodes| nodes.saturating_mul(10) < largest_graph);
    let drop = if is_sparse { 0.6 } else { 0.1 };
    set("hidden", number(if is_sparse { 128 } else { 64 }));
    set("layers", number(if is_sparse { 1 } else { 4 }));
    let weighs_edges = schema.edge_numbers() > 0;
    set(
        "local",
        text(match () {
            () if weighs_edges => "gine",
            () if is_sparse && schema.edge_columns.is_empty() => "gcn",
            () => "gatedgcn",
        }),
    );
    set("lap_dim", number(16));
    set("self_term", Value::Boolean(true));
    for key in ["drop_ffn", "drop_local", "drop_res"] {
        set(key, Value::Float(drop));
    }
    if let (true, Some(labelled)) = (is_sparse, train_nodes) {
        notes.push(format!(
            "{labelled} nodes are labelled: their encoded features are averaged over 4 hops, one layer follows, dropout is \
             strong, weights decay and are averaged"
        ));
        set("encoder_hops", number(4));
        set("drop_encoder", Value::Float(0.8));
    }

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
    if is_sparse {
        set("node_pe", text("none"));
    } else if largest_graph <= MANY_NODES {
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
            set("head_layers", number(if is_sparse { 1 } else { 3 }));
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
    let epochs = if is_sparse { 100 } else { STEPS.div_ceil(steps_per_epoch).clamp(20, 200) };
    // An epoch of one graph is one step, so the steps are few and larger.
    let learning_rate = if train_nodes.is_some() { 3e-3 } else { 1e-3 };
    let mut train = Table::new();
    for (key, value) in [
        ("epochs", number(epochs)),
        ("warmup", number((epochs / 20).max(1))),
        ("batch_size", number(BATCH_SIZE)),
        ("learning_rate", Value::Float(learning_rate)),
        ("weight_decay", Value::Float(if is_sparse { 1.0 } else { 1e-5 })),
        ("average_decay", Value::Float(if is_sparse { 0.9 } else { 0.0 })),
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
    Ok((table, notes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{LocalKind, NodePeKind, NormEstimates};
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
            let size = DataSize { train_graphs: 1, largest_graph, train_nodes: None };
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

    #[test]
    fn a_recipe_for_other_data_keeps_its_model_and_takes_encoders_and_loss_from_this_one() {
        let number = || column(ColumnKind::Number);
        let schema = schema(Task::Binary, Level::Graph, vec![number(), number()], vec![]);
        let zinc = Recipe::table("zinc").unwrap();
        let fitted = fit_recipe("mine", &zinc, Unnamed::Default, &schema, 200, &[]).unwrap();
        let (model, train) = (&fitted.recipe.model, &fitted.recipe.train);
        let known = Recipe::named("zinc").unwrap();
        assert_eq!((model.layers, model.drop_res), (known.model.layers, known.model.drop_res));
        assert_eq!(model.drop_local, 0.0, "what the recipe does not name has its default");
        assert_eq!((model.node_in, model.out_dim, model.local), (2, 1, LocalKind::Gine));
        assert_eq!((train.epochs, train.loss), (known.train.epochs, Loss::BinaryCrossEntropy));
        assert_eq!(train.norm_estimates, NormEstimates::Recomputed, "data of one's own is evaluated as such");
        let note = fitted.notes.last().unwrap();
        assert!(note.contains("model.node_vocab") && note.contains("train.loss"), "{note}");
    }

    #[test]
    fn a_short_recipe_replaces_what_it_names_and_the_rest_is_inferred() {
        let schema = schema(Task::Regression, Level::Graph, vec![column(ColumnKind::Number)], vec![]);
        let given: Table = "[model]\nlayers = 2\n[train]\nloss = \"huber\"\n".parse().unwrap();
        let fitted = fit_recipe("mine", &given, Unnamed::Inferred, &schema, 200, &[]).unwrap().recipe;
        let inferred = infer_recipe("mine", &schema, 200, &[]).unwrap().recipe;
        assert_eq!((fitted.model.layers, fitted.train.loss), (2, Loss::Huber));
        assert_eq!(fitted.model.drop_local, inferred.model.drop_local);
        assert_eq!(fitted.train.epochs, inferred.train.epochs);
        let wrong: Table = "[model]\nlayer = 2\n".parse().unwrap();
        let error = fit_recipe("mine", &wrong, Unnamed::Inferred, &schema, 200, &[]).unwrap_err();
        assert!(error.to_string().contains("did you mean `layers`"), "{error}");
    }
}
