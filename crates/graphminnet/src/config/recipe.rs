//! Recipes: the paper's ten configurations, compiled into the program, and the reader for a user's own.

use super::choices::InputNorm;
use super::{ConfigError, ModelConfig, TrainConfig, keys};
use toml::{Table, Value};

/// The recipe of the demonstration task, as text: carry a class across a ring.
pub const RING_TRANSFER: &str = include_str!("ring-transfer.toml");

/// A model, its training protocol and the data set that it is meant for.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// Short name, as on the command line.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Data set in the registry.
    pub dataset: String,
    /// The model.
    pub model: ModelConfig,
    /// The protocol.
    pub train: TrainConfig,
}

macro_rules! built_in {
    ($($name:literal),+ $(,)?) => {
        /// Names of the built-in recipes, in the paper's order.
        pub const RECIPE_NAMES: &[&str] = &[$($name),+];

        /// Text of a built-in recipe.
        fn built_in(name: &str) -> Option<&'static str> {
            match name {
                $($name => Some(include_str!(concat!("../../recipes/", $name, ".toml"))),)+
                _ => None,
            }
        }
    };
}

built_in!(
    "zinc",
    "molhiv",
    "mnist",
    "cifar10",
    "pattern",
    "cluster",
    "malnet-tiny",
    "peptides-func",
    "peptides-struct",
    "pascalvoc-sp",
);

impl Recipe {
    /// A built-in recipe by name.
    ///
    /// # Errors
    ///
    /// [`ConfigError::UnknownRecipe`] if there is none of that name.
    pub fn named(name: &str) -> Result<Self, ConfigError> {
        Self::from_table(name, &Self::table(name)?)
    }

    /// The keys that a built-in recipe sets, for those who want to change some before [`Recipe::from_table`].
    ///
    /// # Errors
    ///
    /// [`ConfigError::UnknownRecipe`] if there is none of that name.
    pub fn table(name: &str) -> Result<Table, ConfigError> {
        let text = built_in(name).ok_or_else(|| ConfigError::UnknownRecipe {
            name: name.escape_debug().to_string(),
            nearest: keys::nearest(name, RECIPE_NAMES.iter().copied()),
        })?;
        text.parse().map_err(syntax_error)
    }

    /// Reads a recipe from TOML text.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for a syntax error, an unknown key, a bad value, a key without effect or a contradiction.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        Self::from_table(name, &text.parse().map_err(syntax_error)?)
    }

    /// Reads a recipe from a TOML table.
    ///
    /// # Errors
    ///
    /// As [`Recipe::parse`], except for syntax errors.
    pub fn from_table(name: &str, table: &Table) -> Result<Self, ConfigError> {
        keys::reject_unknown("", table, &["title", "dataset", "model", "train"].map(str::to_owned))?;
        let text_of = |key: &str, default: &str| match table.get(key) {
            None => Ok(default.to_owned()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(wrong_type(key, "a text", other)),
        };
        let section = |key: &str| match table.get(key) {
            None => Ok(Table::new()),
            Some(Value::Table(section)) => Ok(section.clone()),
            Some(other) => Err(wrong_type(key, "a section", other)),
        };
        Ok(Self {
            name: name.to_owned(),
            title: text_of("title", name)?,
            dataset: text_of("dataset", name)?,
            model: ModelConfig::from_table(&section("model")?)?,
            train: TrainConfig::from_table(&section("train")?)?,
        })
    }

    /// The recipe as TOML text with every key that has an effect, for a file of one's own; [`Recipe::parse`] reads it back.
    pub fn to_toml(&self) -> String {
        let text = |text: &str| Value::String(text.to_owned());
        format!(
            "title = {}\ndataset = {}\n\n[model]\n{}\n[train]\n{}",
            text(&self.title),
            text(&self.dataset),
            self.model.to_table(),
            self.train.to_table()
        )
    }

    /// The same recipe with the paper's equations to the letter: the block's input is not bounded.
    #[must_use]
    pub fn paper_literal(mut self) -> Self {
        self.model.input_norm = InputNorm::None;
        self
    }
}

fn syntax_error(error: toml::de::Error) -> ConfigError {
    ConfigError::Syntax { message: error.to_string() }
}

fn wrong_type(key: &str, expected: &str, found: &Value) -> ConfigError {
    ConfigError::BadValue {
        key: key.to_owned(),
        message: format!("expected {expected}, found {}", found.type_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_is_read_back_from_its_text() {
        for name in RECIPE_NAMES {
            let recipe = Recipe::named(name).unwrap();
            assert_eq!(Recipe::parse(name, &recipe.to_toml()).unwrap(), recipe, "{}", recipe.to_toml());
        }
        let gcn = with_local(Recipe::named("zinc").unwrap());
        // Keys without effect are not written, so they may come back as something else.
        assert_eq!(Recipe::parse("zinc", &gcn.to_toml()).unwrap().to_toml(), gcn.to_toml());
    }

    /// A recipe in which many keys have no effect.
    fn with_local(recipe: Recipe) -> Recipe {
        let changes = ["model.local=gcn", "model.global=none"];
        let changes: Vec<_> =
            changes.iter().map(|text| super::super::Override::parse(text).unwrap()).collect();
        super::super::with_overrides(&recipe.name, Recipe::table("zinc").unwrap(), &changes).unwrap()
    }
}
