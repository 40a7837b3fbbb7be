//! Where model and protocol come from: a built-in recipe, a file of one's own, or the data.

use super::arguments::DataArguments;
use crate::failure::Failure;
use graphminnet::config::{ConfigError, Override, PartitionBy, Recipe, with_overrides};
use graphminnet::train::{Inferred, Loaded, Start, Unnamed, fit_recipe, infer_recipe};
use graphminnet_data::fs;
use std::path::Path;
use toml::{Table, Value};

/// Model and protocol as they were asked for.
pub struct Configuration {
    given: Option<Given>,
    /// Name of data that the recipe was not made for; `None` for its own.
    own_data: Option<String>,
}

struct Given {
    name: String,
    table: Table,
    unnamed: Unnamed,
}

impl Configuration {
    /// What the arguments ask for; a recipe is checked before its data is read, because a wrong field should not cost the
    /// time of reading.
    ///
    /// # Errors
    ///
    /// A usage error, with the file that is wrong.
    pub fn of(
        arguments: &DataArguments,
        start: Option<&Start>,
        overrides: &[Override],
    ) -> Result<Self, Failure> {
        let built_in = |name: &str| -> Result<Given, Failure> {
            Ok(Given { name: name.to_owned(), table: Recipe::table(name)?, unnamed: Unnamed::Default })
        };
        let generate = arguments.generate.as_deref();
        let given = match (&arguments.config, arguments.recipe(), generate) {
            (Some(path), ..) => {
                // Whether values fit together may depend on the data.
                let (name, table) = match arguments.data.is_some() || generate.is_some() {
                    true => read_part(path)?,
                    false => read_recipe(path).map(|(recipe, table)| (recipe.name, table))?,
                };
                Some(Given { name, table, unnamed: Unnamed::Inferred })
            }
            (None, Some(name), _) => Some(built_in(name)?),
            (None, None, Some(generator @ ("pattern" | "cluster"))) => Some(built_in(generator)?),
            _ => None,
        };
        // Without a recipe, the model is that of the file to begin with; one's own recipe changes what it names.
        let given = match (given, start) {
            (None, Some(start)) => {
                let name = start.description().name.clone();
                Some(Given { name, table: start.recipe(None), unnamed: Unnamed::Protocol })
            }
            (Some(given), Some(start)) if given.unnamed == Unnamed::Inferred => {
                let table = start.recipe(Some(&given.table));
                Some(Given { table, unnamed: Unnamed::Protocol, ..given })
            }
            (given, _) => given,
        };
        let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let own_data = match (&arguments.data, generate, &arguments.config) {
            (Some(path), ..) => Some(stem(path).unwrap_or_default()),
            (None, Some("ring-transfer"), _) => Some("ring-transfer".to_owned()),
            (None, Some(generator), Some(_)) => Some(generator.to_owned()),
            _ => None,
        };
        if let (Some(given), None) = (&given, &own_data) {
            with_overrides(&given.name, given.table.clone(), overrides)?;
        }
        Ok(Self { given, own_data })
    }

    /// The recipe for the data, and what was inferred from it.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if an override does not fit.
    pub fn recipe(&self, loaded: &Loaded, overrides: &[Override]) -> Result<Inferred, ConfigError> {
        let schema = &loaded.dataset.schema;
        match (&self.given, &self.own_data) {
            (Some(Given { name, table, .. }), None) => {
                Ok(Inferred { recipe: with_overrides(name, table.clone(), overrides)?, notes: Vec::new() })
            }
            (Some(given), Some(data)) => {
                fit_recipe(data, &given.table, given.unnamed, schema, loaded, overrides)
            }
            (None, data) => {
                infer_recipe(data.as_deref().unwrap_or("ring-transfer"), schema, loaded, overrides)
            }
        }
    }

    /// Into how many parts a single graph is to be cut, and how, where that is asked for; whoever checks the configuration says
    /// what is wrong with it.
    pub fn parts(&self, overrides: &[Override]) -> Option<(usize, PartitionBy)> {
        let recipe = self.given.as_ref().and_then(|given| given.table.get("train")?.as_table());
        let asked = |key: &str| {
            let path = format!("train.{key}");
            let last = overrides.iter().rev().find(|field| field.path() == path);
            last.map(Override::value).or_else(|| recipe?.get(key))
        };
        let parts = usize::try_from(asked("parts")?.as_integer()?).ok()?;
        let how = asked("partition").map_or(Some("order"), Value::as_str)?;
        Some((parts, PartitionBy::from(how.to_owned())))
    }

    /// The benchmark data set that the recipe is for.
    ///
    /// # Errors
    ///
    /// A usage error if there is no recipe.
    pub fn dataset(&self) -> Result<String, Failure> {
        match &self.given {
            Some(given) => Ok(Recipe::from_table(&given.name, &given.table)?.dataset),
            None => Err(Failure::usage(format!("where is the data? Give {}", super::arguments::SOURCES))),
        }
    }
}

/// A recipe of somebody's own, checked, and the keys that it names.
///
/// # Errors
///
/// A usage error, with the file that is wrong.
pub fn read_recipe(path: &Path) -> Result<(Recipe, Table), Failure> {
    let (name, table) = read_table(path)?;
    match Recipe::from_table(&name, &table) {
        Ok(recipe) => Ok((recipe, table)),
        Err(error) => Err(wrong(path, &error)),
    }
}

/// The keys that a recipe of somebody's own names, of which the rest is inferred.
fn read_part(path: &Path) -> Result<(String, Table), Failure> {
    let (name, table) = read_table(path)?;
    match Recipe::from_table(&name, &table) {
        Ok(_) | Err(ConfigError::Invalid { .. } | ConfigError::UnusedKey { .. }) => Ok((name, table)),
        Err(error) => Err(wrong(path, &error)),
    }
}

fn read_table(path: &Path) -> Result<(String, Table), Failure> {
    let bytes = fs::read(path).map_err(Failure::usage)?;
    let text = String::from_utf8(bytes).map_err(|error| wrong(path, &error))?;
    let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let table =
        text.parse::<Table>().map_err(|error| wrong(path, &format_args!("not valid TOML: {error}")))?;
    Ok((name, table))
}

fn wrong(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("{}: {error}", path.display()))
}
