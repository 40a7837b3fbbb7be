//! A model and a protocol for data that nobody has configured: read off the schema, and said in words.

mod size;

pub use size::DataSize;

use crate::config::{ConfigError, Loss, ModelConfig, Override, Recipe, Spread, TrainConfig, with_overrides};
use graphminnet_data::text::counted;
use graphminnet_data::{Column, ColumnKind, Level, Schema, Task, escape};
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

/// For molecules: a small set is learnt by heart in more epochs, and averaged weights depend less on which of them is chosen.
/// Chosen by cross-validation (docs/results/molecules.md).
const MOLECULE_EPOCHS: usize = 50;
const MOLECULE_AVERAGE: f64 = 0.99;
const SQUARED_ERRORS: &str = "squared errors are minimised, ";

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
    let (mut table, notes) = inferred_table(name, schema, size.into(), asks_for_walks(overrides))?;
    narrow_positions(&mut table, asked_hidden(overrides));
    fitting(with_overrides(name, table, overrides)?, schema, notes)
}

/// A recipe that was made for the data, if the target columns are those that it weighs. The loss decides how many outputs
/// each of them has.
fn fitting(mut recipe: Recipe, schema: &Schema, mut notes: Vec<String>) -> Result<Inferred, ConfigError> {
    recipe.train.check_task_weights(&schema.targets)?;
    let spread = recipe.train.spread();
    if spread.blocks() > 1 && recipe.model.out_dim == schema.num_targets() {
        recipe.model.out_dim = recipe.model.out_dim.saturating_mul(spread.blocks());
        recipe.model.check()?;
    }
    if let Task::MultiClass { classes } = schema.task
        && recipe.model.out_dim != classes
    {
        return Err(ConfigError::Invalid {
            key: "model.out_dim".to_owned(),
            value: recipe.model.out_dim.to_string(),
            expected: format!("one output for each of the {classes} classes of the data; leave it out"),
        });
    }
    notes.extend(unread_columns(&recipe.model, schema));
    if recipe.train.loss != Loss::Mse {
        // Another loss was asked for.
        notes.iter_mut().for_each(|note| *note = note.replace(SQUARED_ERRORS, ""));
    }
    match spread {
        Spread::None => {}
        Spread::Normal => notes.push(
            "the model learns how unsure it is: a mean and a variance for every target; metrics are those of the mean".into(),
        ),
        Spread::Quantiles(levels) => {
            let levels: Vec<String> = levels.iter().map(f64::to_string).collect();
            let levels = levels.join(", ");
            notes.push(format!("the model learns the quantiles {levels} of every target; metrics are those of the median"));
        }
    }
    Ok(Inferred { recipe, notes })
}

/// The columns of nodes that an encoder leaves out that somebody chose, in a sentence.
fn unread_columns(model: &ModelConfig, schema: &Schema) -> Option<String> {
    let is_read = |column: &&Column| match column.kind {
        ColumnKind::Category { .. } => model.takes_node_categories(),
        ColumnKind::Number => model.takes_node_numbers(),
    };
    let unread = schema.node_columns.iter().filter(|column| !is_read(column));
    let unread: Vec<String> = unread.map(|column| format!("`{}`", escape(&column.name))).collect();
    let encoder = model.node_encoder.word();
    (!unread.is_empty() && !model.prepare_options().degree_profile).then(|| {
        format!(
            "model.node_encoder = {encoder} does not read {}; `mixed` reads all columns",
            unread.join(", ")
        )
    })
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
const DECIDED_BY_DATA: [&str; 11] = [
    "model.node_encoder",
    "model.node_in",
    "model.node_vocab",
    "model.edge_encoder",
    "model.edge_in",
    "model.edge_vocab",
    "model.graph_in",
    "model.standardize",
    "model.level",
    "model.ends_symmetric",
    "model.out_dim",
];

/// Keys that the data decides where a recipe does not, or where what the recipe says is for another task.
const DECIDED_BY_TASK: [&str; 6] = [
    "train.loss",
    "train.quantiles",
    "train.metric",
    "train.target_scaling",
    "train.norm_estimates",
    "train.negatives",
];

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
    let in_recipe = |key: &str| given.get("model").is_some_and(|model| model.get(key).is_some());
    let walks = asks_for_walks(overrides) || WALK_KEYS.into_iter().any(in_recipe);
    let (mut table, mut notes) = inferred_table(name, schema, size.into(), walks)?;
    let given_hidden = given.get("model").and_then(|model| model.get("hidden")).and_then(Value::as_integer);
    narrow_positions(&mut table, asked_hidden(overrides).or(given_hidden));
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
        // What is not written down has its default.
        let usual = match section {
            "model" => Value::try_from(ModelConfig::default()),
            _ => Value::try_from(TrainConfig::default()),
        };
        let usual = usual.ok().and_then(|value| value.as_table().cloned()).unwrap_or_default();
        for (key, value) in asked {
            if !(decided(key) || by_task(key) && other_task) {
                named.push(Override::new(section, key, value.clone()));
            } else if fitted.get(key).or_else(|| usual.get(key)) != Some(value) {
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
    fitting(with_overrides(name, table, overrides)?, schema, notes)
}

/// Lets the inferred width of positions fit into a width of the model that was asked for.
fn narrow_positions(table: &mut Table, hidden: Option<i64>) {
    let Some(Value::Table(model)) = table.get_mut("model") else { return };
    if let (Some(hidden), Some(Value::Integer(width))) = (hidden, model.get_mut("pe_dim"))
        && *width >= hidden
    {
        *width = (hidden / 2).max(1);
    }
}

fn asked_hidden(overrides: &[Override]) -> Option<i64> {
    let hidden = overrides.iter().rev().find(|field| field.section == "model" && field.key == "hidden");
    hidden.and_then(|field| field.value.as_integer())
}

/// Keys that say how random walks are seen; who names one wants them.
const WALK_KEYS: [&str; 2] = ["pe_dim", "rwse_steps"];

fn asks_for_walks(overrides: &[Override]) -> bool {
    overrides.iter().any(|field| field.section == "model" && WALK_KEYS.contains(&field.key.as_str()))
}

/// Whether something is to be learnt of whole molecules.
fn is_of_molecules(schema: &Schema) -> bool {
    schema.molecules.is_some() && schema.level == Level::Graph
}

/// Whether pairs are links or not.
fn asks_for_links(schema: &Schema) -> bool {
    schema.level == Level::Pair && schema.task == Task::Binary && schema.num_targets() == 1
}

/// A complete recipe for some data, and the reasons.
fn inferred_table(
    name: &str,
    schema: &Schema,
    DataSize { train_graphs, largest_graph, train_nodes, undirected, only_links }: DataSize,
    walks: bool,
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
    let is_sparse = schema.level == Level::Node
        && train_nodes.is_some_and(|nodes| nodes.saturating_mul(10) < largest_graph);
    // Of the links of one graph too few are known to learn single nodes; which kinds of nodes have links can be learnt.
    let of_links = train_nodes.is_some() && asks_for_links(schema);
    let averages = is_sparse || of_links && !schema.node_columns.is_empty();
    let drop = if is_sparse { 0.6 } else { 0.1 };
    set("hidden", number(if is_sparse { 128 } else { 64 }));
    set(
        "layers",
        number(match () {
            () if averages => 1,
            () if of_links => 2,
            () => 4,
        }),
    );
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
    }
    if averages {
        set("encoder_hops", number(4));
        set("drop_encoder", Value::Float(0.8));
    }
    if of_links {
        notes.push(match averages {
            true => "links of one graph: encoded features are averaged over 4 hops with strong dropout and one layer follows, \
                     because features of single nodes would be learnt by heart"
                .into(),
            false => "links of one graph: two layers, a large learning rate and averaged weights, because an epoch is one \
                      step"
                .into(),
        });
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
    let of_molecules = is_of_molecules(schema);
    // Random walks help to learn a small set of numbers by heart; classes are none the worse for them.
    let molecule_numbers = of_molecules && schema.task == Task::Regression;
    let placed = !is_sparse && (walks || !(molecule_numbers || averages));
    if placed {
        set("pe_dim", number(28));
    }
    if !placed {
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
            if schema.graph_numbers() > 0 {
                let computed = schema.molecules.as_ref().is_some_and(|table| table.form.basic_descriptors);
                notes.push(format!(
                    "{} descriptors join every graph before the head{}",
                    schema.graph_numbers(),
                    if computed {
                        " (the dozen that is computed is left out by `--no-descriptors`)"
                    } else {
                        ""
                    }
                ));
                set("graph_in", number(schema.graph_numbers()));
            }
        }
        Level::Node => {
            set("level", text("node"));
            set("head", text("mlp"));
            set("head_layers", number(if is_sparse { 1 } else { 3 }));
        }
        level @ (Level::Edge | Level::Pair) => {
            set("level", text(if level == Level::Edge { "edge" } else { "pair" }));
            set("head", text("mlp"));
            set("head_layers", number(3));
            set("ends_symmetric", Value::Boolean(undirected));
            if averages && undirected {
                set("ends", text("hadamard"));
            }
            notes.push(format!(
                "edges go {}: the answer for two nodes {} on their order",
                if undirected { "both ways" } else { "one way" },
                if undirected { "does not depend" } else { "depends" },
            ));
        }
    }
    let per = schema.level;
    let targets = schema.num_targets();
    let (outputs, loss, metric, task) = match schema.task {
        Task::Regression if of_molecules => (targets, "mse", "rmse", "regression".to_owned()),
        Task::Regression => (targets, "l1", "mae", "regression".to_owned()),
        Task::Binary => (targets, "binary_cross_entropy", "roc_auc", "binary classification".to_owned()),
        // Two classes of a multi-class task still have an output each.
        Task::MultiClass { classes } => {
            (classes.max(2), "cross_entropy", "accuracy", format!("classification into {classes} classes"))
        }
    };
    notes.insert(
        0,
        format!("{task} per {per}, {}: {}", counted(targets, "target column"), schema.targets.join(", ")),
    );
    set("out_dim", number(outputs));

    let steps_per_epoch = train_graphs.div_ceil(BATCH_SIZE).max(1);
    let epochs = if is_sparse || of_links { 100 } else { STEPS.div_ceil(steps_per_epoch).clamp(20, 200) };
    let epochs = if of_molecules { epochs.min(MOLECULE_EPOCHS) } else { epochs };
    // An epoch of one graph is one step, so the steps are few and larger.
    let learning_rate = match train_nodes {
        Some(_) if of_links => 1e-2,
        Some(_) => 3e-3,
        None => 1e-3,
    };
    let mut train = Table::new();
    for (key, value) in [
        ("epochs", number(epochs)),
        ("warmup", number((epochs / 20).max(1))),
        ("batch_size", number(BATCH_SIZE)),
        ("learning_rate", Value::Float(learning_rate)),
        ("weight_decay", Value::Float(if is_sparse { 1.0 } else { 1e-5 })),
        (
            "average_decay",
            Value::Float(match () {
                () if is_sparse || of_links => 0.9,
                () if of_molecules => MOLECULE_AVERAGE,
                () => 0.0,
            }),
        ),
        ("loss", text(loss)),
        ("metric", text(metric)),
        // Own data may hardly vary within a batch, and running estimates are not good enough then.
        ("norm_estimates", text("recomputed")),
    ] {
        train.insert(key.to_owned(), value);
    }
    if molecule_numbers {
        notes.push(format!(
            "molecules and a number: {SQUARED_ERRORS}weights are averaged, there are no random walks and at most {MOLECULE_EPOCHS} \
             epochs"
        ));
    } else if of_molecules {
        notes.push(format!(
            "molecules and a class: weights are averaged, and there are at most {MOLECULE_EPOCHS} epochs"
        ));
    }
    if only_links && asks_for_links(schema) {
        notes.push("the training part has links only: every epoch draws as many pairs without one".into());
        train.insert("negatives".to_owned(), number(1));
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
mod tests;
