//! `graphminnet recipe`: recipes as files of one's own.

use super::read_args::FileReading;
use super::train::configuration::read_recipe;
use crate::failure::Failure;
use clap::{Args, Subcommand};
use graphminnet::config::{RECIPE_NAMES, Recipe};
use graphminnet::model::GraphMinNet;
use graphminnet::train::infer_recipe;
use graphminnet::{DeviceKind, weights};
use graphminnet_data::text::{counted, grouped};
use graphminnet_data::{ReadOptions, fs, open};
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What to do with recipes.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the built-in recipes.
    List,
    /// Print a recipe with every field that has an effect.
    Show {
        /// Name of a built-in recipe, or a file of your own.
        #[arg(value_name = "NAME|FILE")]
        recipe: String,
    },
    /// Write a recipe to change: what `train` would infer from a file of yours, or a built-in one.
    New(New),
    /// Check a recipe of your own; an error names the field and what is expected.
    Check {
        /// The file.
        file: PathBuf,
    },
}

#[derive(Args)]
#[command(group = clap::ArgGroup::new("from").required(true))]
struct New {
    /// A file or folder of your own.
    #[arg(long, value_name = "PATH", group = "from")]
    data: Option<PathBuf>,
    /// A built-in recipe.
    #[arg(long, value_name = "NAME", group = "from")]
    recipe: Option<String>,
    /// Where to write it; an existing file is not replaced (default: standard output).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    source: FileReading,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut out = stdout().lock();
    match &arguments.what {
        What::List => {
            for name in RECIPE_NAMES {
                let recipe = Recipe::named(name)?;
                writeln!(out, "{name:16} {}", described(&recipe))?;
            }
        }
        What::Show { recipe } => write!(out, "{}", find(recipe)?.to_toml())?,
        What::Check { file } => {
            let recipe = read_recipe(file)?.0;
            let parameters =
                weights::count_parameters(&GraphMinNet::new(&recipe.model, 0, &DeviceKind::Cpu.open()?)?);
            writeln!(
                out,
                "{}: valid; {}; {} parameters",
                file.display(),
                described(&recipe),
                grouped(parameters)
            )?;
        }
        What::New(new) => {
            let text = new.text()?;
            match &new.output {
                None => write!(out, "{text}")?,
                Some(path) => fs::write_new(path, text.as_bytes())?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A built-in recipe, or a file.
fn find(recipe: &str) -> Result<Recipe, Failure> {
    match RECIPE_NAMES.contains(&recipe) || !Path::new(recipe).is_file() {
        true => Ok(Recipe::named(recipe)?),
        false => Ok(read_recipe(Path::new(recipe))?.0),
    }
}

fn described(recipe: &Recipe) -> String {
    let (model, train) = (&recipe.model, &recipe.train);
    format!(
        "{} of width {}, local {}, global {}; {}, loss {}, metric {}",
        counted(model.layers, "layer"),
        model.hidden,
        model.local,
        model.global,
        counted(train.epochs, "epoch"),
        train.loss,
        train.metric
    )
}

impl New {
    fn text(&self) -> Result<String, Failure> {
        let Some(path) = &self.data else {
            self.source.reading.refuse("a built-in recipe")?;
            return Ok(Recipe::named(self.recipe.as_deref().unwrap_or_default())?.to_toml());
        };
        // As `train` reads it.
        let options = ReadOptions { describe_molecules: true, ..self.source.options() };
        let read = open(path, &options)?;
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let inferred = infer_recipe(&name, &read.dataset.schema, &read.dataset, &[])?;
        let mut text = String::new();
        for note in &inferred.notes {
            text.push_str(&format!("# {note}\n"));
        }
        Ok(text + &inferred.recipe.to_toml())
    }
}
