//! All recipes beside the paper's table of parameters.

use super::{Arguments, build};
use crate::failure::Failure;
use crate::ui::table::{Align, Table};
use graphminnet::config::{RECIPE_NAMES, Recipe};
use graphminnet_data::text::grouped;
use graphminnet_lab::paper;
use serde_json::json;
use std::io::{Write, stdout};
use std::process::ExitCode;

/// Shows the table; fails as a check does if a count differs.
pub(super) fn show(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut table = Table::new(&[
        ("recipe", Align::Left),
        ("width", Align::Right),
        ("local", Align::Left),
        ("layers", Align::Right),
        ("eigenpairs", Align::Right),
        ("parameters", Align::Right),
        ("ours", Align::Right),
        ("paper", Align::Right),
        ("", Align::Left),
    ]);
    let mut objects = Vec::new();
    let mut all_equal = true;
    for name in RECIPE_NAMES {
        let (recipe, model) = build(Recipe::named(name)?, arguments)?;
        let parameters = graphminnet::weights::count_parameters(&model);
        let (ours, printed) = (paper::as_printed(parameters), paper::printed_parameters(name).unwrap_or("–"));
        let equal = ours == printed;
        all_equal &= equal;
        table.row([
            recipe.title.clone(),
            recipe.model.hidden.to_string(),
            recipe.model.local.to_string(),
            recipe.model.layers.to_string(),
            recipe.model.lap_dim.to_string(),
            grouped(parameters),
            format!("{ours}K"),
            format!("{printed}K"),
            if equal { "equal" } else { "DIFFERENT" }.to_owned(),
        ]);
        objects.push(json!({
            "recipe": name,
            "parameters": parameters,
            "thousands": ours,
            "paper_thousands": printed,
            "equal": equal,
        }));
    }
    let mut out = stdout().lock();
    if arguments.json {
        writeln!(
            out,
            "{}",
            serde_json::to_string_pretty(&json!({ "recipes": objects, "all_equal": all_equal }))?
        )?;
    } else {
        write!(out, "{table}")?;
    }
    Ok(if all_equal { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
