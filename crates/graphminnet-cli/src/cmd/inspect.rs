//! `graphminnet inspect`: what a model is made of.

#[cfg(feature = "lab")]
mod all;

use super::train::configuration::read_recipe;
use crate::failure::Failure;
use crate::ui::table::{Align, Table};
use clap::Args;
use graphminnet::config::Recipe;
use graphminnet::summary::{Part, layer_parts, parts};
use graphminnet::{DeviceKind, GraphMinNet};
use graphminnet_data::text::{counted, grouped};
use serde_json::json;
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

/// What to show.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub struct Arguments {
    /// A built-in recipe, such as zinc or peptides-func.
    #[arg(long, group = "which")]
    recipe: Option<String>,
    /// A configuration file of your own, in the form of a recipe.
    #[arg(long, group = "which", value_name = "FILE")]
    config: Option<PathBuf>,
    /// All ten recipes: the paper's parameter table with ours beside it.
    #[cfg(feature = "lab")]
    #[arg(long, group = "which")]
    all: bool,
    /// The paper's equations to the letter: the block's input is not bounded.
    #[arg(long)]
    paper_literal: bool,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
    /// Where the model is built: cpu, wgpu, cuda or rocm.
    #[arg(long, default_value_t = DeviceKind::Cpu)]
    device: DeviceKind,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    #[cfg(feature = "lab")]
    if arguments.all {
        return all::show(arguments);
    }
    let recipe = match (&arguments.recipe, &arguments.config) {
        (Some(name), _) => Recipe::named(name)?,
        (None, Some(path)) => read_recipe(path)?.0,
        (None, None) => unreachable!("the argument group requires one"),
    };
    show_one(recipe, arguments)
}

fn build(recipe: Recipe, arguments: &Arguments) -> Result<(Recipe, GraphMinNet), Failure> {
    let recipe = if arguments.paper_literal { recipe.paper_literal() } else { recipe };
    let model = GraphMinNet::new(&recipe.model, 0, &arguments.device.open()?)?;
    Ok((recipe, model))
}

fn show_one(recipe: Recipe, arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (recipe, model) = build(recipe, arguments)?;
    let parts = parts(&model);
    let total: usize = parts.iter().map(|part| part.parameters).sum();
    let printed = printed(&recipe.name, total);
    let mut out = stdout().lock();
    if arguments.json {
        let object = json!({
            "recipe": recipe.name,
            "title": recipe.title,
            "model": recipe.model,
            "train": recipe.train,
            "parts": parts,
            "parameters": total,
            "paper_thousands": printed.map(|(printed, _)| printed),
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&object)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let model = &recipe.model;
    writeln!(
        out,
        "{}: {} of width {}; local branch {}, global branch {}; {} eigenpairs, {} positional channels; block input bounded by: {}\n",
        recipe.title,
        counted(model.layers, "layer"),
        model.hidden,
        model.local,
        model.global,
        model.lap_dim,
        model.pe_width,
        model.input_norm
    )?;
    write!(out, "{}", layer_table(&parts, total))?;
    if let Some((printed, equal)) = printed {
        let verdict = if equal { "equal" } else { "different" };
        writeln!(out, "\nThe paper prints {printed}K: {verdict}.")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The number of parameters in thousands as the paper prints it, and whether ours is the same.
#[cfg(feature = "lab")]
fn printed(recipe: &str, total: usize) -> Option<(&'static str, bool)> {
    use graphminnet_lab::paper::{as_printed, printed_parameters};

    printed_parameters(recipe).map(|printed| (printed, printed == as_printed(total)))
}

#[cfg(not(feature = "lab"))]
fn printed(_: &str, _: usize) -> Option<(&'static str, bool)> {
    None
}

/// Parts before the layers, one layer, parts after them.
fn layer_table(parts: &[Part], total: usize) -> Table {
    let mut table =
        Table::new(&[("part", Align::Left), ("shape", Align::Left), ("parameters", Align::Right)]);
    let row = |table: &mut Table, indent: &str, part: &Part| {
        let shapes: Vec<String> = part.shapes.iter().map(|shape| format!("{shape:?}")).collect();
        table.row([format!("{indent}{}", part.name), shapes.join(" "), grouped(part.parameters)]);
    };
    let (inner, count) = layer_parts(parts);
    let in_layer = |part: &&Part| part.name.starts_with("layers.");
    for part in parts.iter().take_while(|part| !in_layer(part)) {
        row(&mut table, "", part);
    }
    let each: usize = inner.iter().map(|part| part.parameters).sum();
    table.row([format!("layers, {count} like this"), String::new(), format!("{count} × {}", grouped(each))]);
    for part in &inner {
        row(&mut table, "  ", part);
    }
    for part in parts.iter().skip_while(|part| !in_layer(part)).filter(|part| !in_layer(part)) {
        row(&mut table, "", part);
    }
    table.rule();
    table.row(["total".to_owned(), String::new(), grouped(total)]);
    table
}
