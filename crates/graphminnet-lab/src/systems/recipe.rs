//! The configuration files of the systems, one per system and data set, compiled into the program.

use super::SystemConfig;
use graphminnet::config::{ConfigError, Recipe, TrainConfig};
use serde::Deserialize;
use toml::{Table, Value};

/// A system as it is trained on one data set.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemRecipe {
    /// Name of the system, as on the command line.
    pub system: String,
    /// Name of the data set's recipe.
    pub dataset: String,
    /// The model.
    pub model: SystemConfig,
    /// The protocol.
    pub train: TrainConfig,
    /// Number of parameters as it is published, where it is: digits, or thousands with a `k`.
    pub published_parameters: Option<String>,
    /// What a reader of the numbers must know.
    pub note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    published_parameters: Option<String>,
    note: Option<String>,
    model: SystemConfig,
    train: Table,
}

macro_rules! built_in {
    ($($system:literal: [$($dataset:literal),+ $(,)?]),+ $(,)?) => {
        /// Names of the systems that have configuration files, in the order of the paper's table.
        pub const NAMES: &[&str] = &[$($system),+];

        /// Text of a configuration file.
        fn built_in(system: &str, dataset: &str) -> Option<&'static str> {
            match (system, dataset) {
                $($(($system, $dataset) => Some(include_str!(concat!(
                    "../../recipes/systems/", $system, "/", $dataset, ".toml"
                ))),)+)+
                _ => None,
            }
        }
    };
}

built_in!(
    "san": ["zinc", "molhiv", "pattern", "cluster", "pascalvoc-sp", "peptides-func", "peptides-struct"],
    "exphormer": [
        "zinc", "molhiv", "mnist", "cifar10", "pattern", "cluster", "malnet-tiny", "pascalvoc-sp",
        "peptides-func", "peptides-struct",
    ],
    "grit": ["zinc", "mnist", "cifar10", "pattern", "cluster", "peptides-func", "peptides-struct"],
    "gred": ["zinc", "mnist", "cifar10", "pattern", "cluster", "peptides-func", "peptides-struct"],
    "graph-mamba": [
        "zinc", "molhiv", "mnist", "cifar10", "pattern", "cluster", "malnet-tiny", "pascalvoc-sp",
        "peptides-func", "peptides-struct",
    ],
);

impl SystemRecipe {
    /// The configuration of a system on a data set; `None` if there is no such file.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the file is not valid.
    pub fn named(system: &str, dataset: &str) -> Result<Option<Self>, ConfigError> {
        built_in(system, dataset).map(|text| Self::parse(system, dataset, text)).transpose()
    }

    /// Reads a configuration.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for a syntax error, an unknown key or a value out of range.
    pub fn parse(system: &str, dataset: &str, text: &str) -> Result<Self, ConfigError> {
        let File { published_parameters, note, model, train } =
            toml::from_str(text).map_err(|error| ConfigError::Syntax { message: error.to_string() })?;
        model.check()?;
        Ok(Self {
            system: system.to_owned(),
            dataset: dataset.to_owned(),
            model,
            train: TrainConfig::from_table(&train)?,
            published_parameters,
            note,
        })
    }

    /// The keys of the data set's recipe with this protocol; its model is not the one that is trained.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the data set has no recipe.
    pub(crate) fn surroundings(&self) -> Result<Table, ConfigError> {
        let mut table = Recipe::table(&self.dataset)?;
        table.insert("train".to_owned(), Value::Table(self.train.to_table()));
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphminnet::config::RECIPE_NAMES;

    #[test]
    fn every_file_is_valid_and_answers_for_what_the_data_set_asks() {
        for system in NAMES {
            for dataset in RECIPE_NAMES {
                let found = SystemRecipe::named(system, dataset).unwrap();
                let Some(recipe) = found else { continue };
                let base = Recipe::named(dataset).unwrap();
                assert_eq!(recipe.model.level, base.model.level, "{system} {dataset}");
                assert_eq!(recipe.train.metric, base.train.metric, "{system} {dataset}");
            }
        }
    }

    #[test]
    fn an_unknown_key_and_a_bad_value_are_refused() {
        let text = built_in("grit", "zinc").unwrap();
        let wrong = text.replace("layers = 10", "layers = 10\nlayer = 1");
        assert!(SystemRecipe::parse("grit", "zinc", &wrong).unwrap_err().to_string().contains("layer"));
        let wrong = text.replace("heads = 8", "heads = 7");
        let error = SystemRecipe::parse("grit", "zinc", &wrong).unwrap_err().to_string();
        assert!(error.contains("heads") && error.contains("divide"), "{error}");
    }
}
