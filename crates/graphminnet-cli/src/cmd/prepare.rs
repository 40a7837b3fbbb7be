//! `graphminnet prepare`: computes what training needs of every graph, once, into the cache.

use super::limit_args::LimitArguments;
use super::read_args::Reading;
use super::threads::Threads;
use crate::failure::Failure;
use crate::ui::preparation::{Preparation, transform_name};
use crate::ui::report::say_report;
use crate::ui::say::{Verbosity, say};
use crate::ui::signals::Interrupt;
use crate::ui::table::{Align, Table};
use clap::Args;
use graphminnet::train::infer_recipe;
use graphminnet_data::cache::{Cache, default_cache_dir};
use graphminnet_data::preparation::{Origin, PreparationReport, Transform, prepare_dataset};
use graphminnet_data::spectral::PrepareOptions;
use graphminnet_data::text::grouped;
use graphminnet_data::{Read, escape, open};
use serde_json::{Value, json};
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// What to prepare.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub struct Arguments {
    /// A built-in recipe, such as zinc or peptides-func: its data set, prepared for its model.
    #[cfg(feature = "benchmarks")]
    #[arg(long, group = "which", value_name = "NAME", conflicts_with_all = ["eigenpairs", "random_walk"])]
    recipe: Option<String>,
    /// A file or folder of your own.
    #[arg(long, group = "which", value_name = "PATH")]
    data: Option<PathBuf>,
    /// Laplacian eigenpairs per graph, the trivial first one included (default: what `train` would use).
    #[arg(long, value_name = "K")]
    eigenpairs: Option<usize>,
    /// Steps of the random walk whose return probabilities are computed, 0 for none (default: what `train` would use).
    #[arg(long, value_name = "STEPS")]
    random_walk: Option<usize>,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    limits: LimitArguments,
    /// Folder with the benchmark data sets; also GRAPHMINNET_DATA.
    #[cfg(feature = "benchmarks")]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Folder of the cache; also GRAPHMINNET_CACHE.
    #[arg(long, value_name = "FOLDER")]
    cache_dir: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::listen()?;
    arguments.threads.pool()?.install(|| prepare(arguments, &interrupt))
}

fn prepare(arguments: &Arguments, interrupt: &Interrupt) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    let (read, options) = read(arguments)?;
    let read_seconds = start.elapsed().as_secs_f64();
    say_report(&read.report);
    let cache = cache(arguments.cache_dir.clone())?;
    let progress = Preparation::new(Verbosity::Normal, interrupt);
    let prepared = prepare_dataset(&read.dataset, &options, Some(&cache), &progress);
    drop(progress);
    let (_, report) = prepared?;
    for (transform, origin, _) in &report.parts {
        if let Origin::Rebuilt { problem } | Origin::NotStored { problem } = origin {
            say!("warning: {}: {problem}", transform_name(*transform));
        }
    }
    let mut out = stdout().lock();
    if arguments.json {
        let object = as_json(&read, &options, &report, read_seconds, &cache);
        writeln!(out, "{}", serde_json::to_string_pretty(&object)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    write_report(&mut out, &options, &report, read_seconds)?;
    say!("cache: {}", escape(&cache.directory().to_string_lossy()));
    Ok(ExitCode::SUCCESS)
}

fn read(arguments: &Arguments) -> Result<(Read, PrepareOptions), Failure> {
    #[cfg(feature = "benchmarks")]
    if let Some(name) = &arguments.recipe {
        return benchmark(name, arguments);
    }
    let Some(path) = &arguments.data else { unreachable!("the argument group requires one") };
    let read = open(path, &arguments.limits.on(arguments.reading.options()))?;
    // What `train` would need of this file.
    let recipe = infer_recipe("", &read.dataset.schema, &read.dataset, &[])?.recipe;
    let needed = recipe.model.prepare_options();
    let options = PrepareOptions {
        eigenpairs: arguments.eigenpairs.unwrap_or(needed.eigenpairs),
        random_walk_steps: arguments.random_walk.unwrap_or(needed.random_walk_steps),
        ..needed
    };
    Ok((read, options))
}

#[cfg(feature = "benchmarks")]
fn benchmark(name: &str, arguments: &Arguments) -> Result<(Read, PrepareOptions), Failure> {
    use graphminnet_data::{ReadOptions, registry};

    arguments.reading.refuse("the data set of a recipe")?;
    let recipe = graphminnet::Recipe::named(name)?;
    let options = arguments.limits.on(ReadOptions::default());
    let read = registry::load(&recipe.dataset, arguments.data_dir.as_deref(), &options)?;
    Ok((read, recipe.model.prepare_options()))
}

/// The cache in the folder that is given, or in the usual one.
pub fn cache(folder: Option<PathBuf>) -> Result<Cache, Failure> {
    folder
        .or_else(default_cache_dir)
        .map(Cache::new)
        .ok_or_else(|| Failure::usage("no folder for the cache: give --cache-dir or set GRAPHMINNET_CACHE"))
}

fn origin_name(origin: &Origin) -> &'static str {
    match origin {
        Origin::Cached => "from the cache",
        Origin::Computed => "computed",
        Origin::Rebuilt { .. } => "computed again",
        Origin::NotStored { .. } => "computed, not kept",
    }
}

fn write_report(
    out: &mut impl Write,
    options: &PrepareOptions,
    report: &PreparationReport,
    read_seconds: f64,
) -> std::io::Result<()> {
    let mut table = Table::new(&[("step", Align::Left), ("", Align::Left), ("seconds", Align::Right)]);
    table.row([
        "reading".to_owned(),
        format!("{} graphs", grouped(report.graphs.graphs)),
        format!("{read_seconds:.2}"),
    ]);
    for (transform, origin, time) in &report.parts {
        let amount = match transform {
            Transform::Eigenpairs => format!("{} per graph, {}", options.eigenpairs, origin_name(origin)),
            Transform::RandomWalk => format!("{} steps, {}", options.random_walk_steps, origin_name(origin)),
        };
        table.row([transform_name(*transform).to_owned(), amount, format!("{:.2}", time.as_secs_f64())]);
    }
    table.rule();
    let elapsed = report.graphs.elapsed.as_secs_f64();
    table.row(["preparation".to_owned(), "all but reading".to_owned(), format!("{elapsed:.2}")]);
    write!(out, "{table}")?;
    let graphs = &report.graphs;
    if options.eigenpairs > 0 {
        writeln!(
            out,
            "\ngraphs whose last eigenspace is cut in two   {}",
            grouped(graphs.split_eigenspaces)
        )?;
        writeln!(out, "graphs of several components                 {}", grouped(graphs.disconnected))?;
        writeln!(
            out,
            "graphs with fewer nodes than eigenpairs      {}",
            grouped(graphs.fewer_nodes_than_eigenpairs)
        )?;
    }
    Ok(())
}

fn as_json(
    read: &Read,
    options: &PrepareOptions,
    report: &PreparationReport,
    read_seconds: f64,
    cache: &Cache,
) -> Value {
    let part = |(transform, origin, time): &(Transform, Origin, std::time::Duration)| json!({ "transform": transform_name(*transform), "origin": origin_name(origin), "seconds": time.as_secs_f64() });
    let graphs = &report.graphs;
    json!({
        "dataset": read.dataset.name,
        "graphs": graphs.graphs,
        "eigenpairs": options.eigenpairs,
        "random_walk_steps": options.random_walk_steps,
        "degree_profile": options.degree_profile,
        "read_seconds": read_seconds,
        "prepare_seconds": graphs.elapsed.as_secs_f64(),
        "parts": report.parts.iter().map(part).collect::<Vec<Value>>(),
        "split_eigenspaces": graphs.split_eigenspaces,
        "disconnected": graphs.disconnected,
        "fewer_nodes_than_eigenpairs": graphs.fewer_nodes_than_eigenpairs,
        "cache": cache.directory(),
    })
}
