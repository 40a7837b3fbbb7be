//! A model and a protocol for data that nobody has configured: read off the schema, and said in words.

mod rules;
mod size;

pub use size::DataSize;

use crate::config::{ConfigError, Loss, ModelConfig, Override, Recipe, Spread, TrainConfig, with_overrides};
use graphminnet_data::{Column, ColumnKind, Schema, Task, escape};
use rules::{OF_MOLECULES, inferred_table, is_as_for_molecules};
use toml::{Table, Value};

/// A recipe made for a data set, and why it is what it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Inferred {
    /// The recipe.
    pub recipe: Recipe,
    /// What was inferred, one statement each.
    pub notes: Vec<String>,
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
    let (mut table, notes) = inferred_table(name, schema, size.into(), Asked::by(overrides));
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
        // One class has two outputs, too; there is nothing to tell apart, which is said before training.
        && recipe.model.out_dim != classes.max(2)
        && !recipe.train.loss.is_regression()
    {
        return Err(ConfigError::Invalid {
            key: "model.out_dim".to_owned(),
            value: recipe.model.out_dim.to_string(),
            expected: format!("one output for each of the {classes} classes of the data; leave it out"),
        });
    }
    notes.extend(unread_columns(&recipe.model, schema));
    if !is_as_for_molecules(&recipe, schema) {
        notes.retain(|note| !note.starts_with(OF_MOLECULES));
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
    let in_recipe = |section: &str, key: &str| given.get(section).is_some_and(|keys| keys.get(key).is_some());
    let asked = Asked::by(overrides);
    let walks = asked.walks || WALK_KEYS.into_iter().any(|key| in_recipe("model", key));
    let asked = Asked { walks, parts: asked.parts || in_recipe("train", "parts") };
    let (mut table, mut notes) = inferred_table(name, schema, size.into(), asked);
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

/// What somebody asks for that decides other settings, too.
#[derive(Debug, Clone, Copy)]
struct Asked {
    /// Random walks.
    walks: bool,
    /// A graph in parts, of which nodes see features beyond their neighbours only through the global block.
    parts: bool,
}

impl Asked {
    fn by(overrides: &[Override]) -> Self {
        let any = |section: &str, keys: &[&str]| {
            overrides.iter().any(|field| field.section == section && keys.contains(&field.key.as_str()))
        };
        Self { walks: any("model", &WALK_KEYS), parts: any("train", &["parts"]) }
    }
}

#[cfg(test)]
mod tests;
