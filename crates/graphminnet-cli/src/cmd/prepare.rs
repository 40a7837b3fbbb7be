//! `graphminnet prepare`: computes what training needs of every graph, once, into the cache.

use super::data::join::collect;
use super::read_args::FileReading;
use super::shards::{ShardArguments, Sharded, SharedWork, reading};
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
use graphminnet_data::parts::PartFolder;
use graphminnet_data::preparation::{Origin, PreparationReport, Transform, join_prepared, prepare_dataset};
use graphminnet_data::spectral::PrepareOptions;
use graphminnet_data::text::grouped;
use graphminnet_data::{Read, ReadOptions, Shard, escape, open};
use serde_json::{Value, json};
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
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
    source: FileReading,
    /// Folder with the benchmark data sets; also GRAPHMINNET_DATA.
    #[cfg(feature = "benchmarks")]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Folder of the cache; also GRAPHMINNET_CACHE.
    #[arg(long, value_name = "FOLDER")]
    cache_dir: Option<PathBuf>,
    #[command(flatten)]
    shards: ShardArguments,
    /// With --shard or several ranks, a folder for what is computed.
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Put what `prepare --shard` left in this folder into the cache, as if the whole file had been prepared.
    #[arg(long, value_name = "FOLDER", requires = "data", conflicts_with_all = ["shard", "eigenpairs", "random_walk"])]
    join: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

impl Sharded for Arguments {
    fn shards(&mut self) -> &mut ShardArguments {
        &mut self.shards
    }

    fn run(&self) -> Result<ExitCode, Failure> {
        run(self)
    }

    fn join(self) -> Result<ExitCode, Failure> {
        run(&Self { join: self.output, output: None, ..self })
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    arguments.shards.refuse_folder(arguments.output.as_deref())?;
    let interrupt = Interrupt::listen()?;
    arguments.threads.pool()?.install(|| prepare(arguments, &interrupt))
}

fn prepare(arguments: &Arguments, interrupt: &Interrupt) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    if let (Some(folder), Some(data)) = (&arguments.join, &arguments.data) {
        return join(arguments, folder, data);
    }
    let shared = share(arguments)?;
    let (read, options) = read(arguments, shared.as_ref().map(SharedWork::shard))?;
    let read_seconds = start.elapsed().as_secs_f64();
    say_report(&read.report);
    // What a shard computes is kept apart, until all of it is there.
    let cache = match &arguments.output {
        Some(folder) => Cache::new(folder),
        None => cache(arguments.cache_dir.clone())?,
    };
    let progress = Preparation::new(Verbosity::Normal, interrupt);
    let prepared = prepare_dataset(&read.dataset, &options, Some(&cache), &progress);
    drop(progress);
    let (_, report) = prepared?;
    for (transform, origin, _) in &report.parts {
        if let Origin::Rebuilt { problem } | Origin::NotStored { problem } = origin {
            say!("warning: {}: {problem}", transform_name(*transform));
        }
        if let Origin::NotStored { .. } = origin {
            let whose =
                shared.as_ref().map_or_else(String::new, |shared| format!("shard {}: ", shared.shard()));
            return Err(std::io::Error::other(format!("{whose}what was computed could not be kept")).into());
        }
    }
    if let Some(shared) = shared {
        let bad = usize::try_from(read.report.bad_row_count).unwrap_or(usize::MAX);
        shared.finish(None, read.dataset.samples.len() + bad, bad)?;
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

fn read(arguments: &Arguments, shard: Option<Shard>) -> Result<(Read, PrepareOptions), Failure> {
    #[cfg(feature = "benchmarks")]
    if let Some(name) = &arguments.recipe {
        return benchmark(name, arguments);
    }
    let Some(path) = &arguments.data else { unreachable!("the argument group requires one") };
    let read = open(path, &ReadOptions { shard, ..arguments.source.options() })?;
    // A shard cannot tell what `train` would need, and was told.
    let told = shard.and(arguments.eigenpairs.zip(arguments.random_walk));
    if let Some((eigenpairs, random_walk_steps)) = told {
        return Ok((read, PrepareOptions { eigenpairs, random_walk_steps, ..PrepareOptions::default() }));
    }
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

/// This process's part of the work, if it does not do everything.
fn share(arguments: &Arguments) -> Result<Option<SharedWork>, Failure> {
    let (eigenpairs, steps) = (arguments.eigenpairs, arguments.random_walk);
    if arguments.shards.shard().is_some() && (eigenpairs.is_none() || steps.is_none()) {
        return Err(Failure::usage(
            "work in shards needs --eigenpairs K and --random-walk STEPS: what `train` would use is known only from the whole \
             file (`prepare` without --shard says it, also for the first rows of the file)",
        ));
    }
    let settings = [
        ("reading", reading(&arguments.source.options())?),
        (EIGENPAIRS, json!(eigenpairs)),
        (RANDOM_WALK, json!(steps)),
    ];
    arguments.shards.begin("prepare", arguments.output.as_deref(), arguments.data.as_deref(), None, settings)
}

const EIGENPAIRS: &str = "eigenpairs";
const RANDOM_WALK: &str = "random_walk";

/// Puts what shards computed into the cache.
fn join(arguments: &Arguments, folder: &Path, data: &Path) -> Result<ExitCode, Failure> {
    let folder = PartFolder::new(folder);
    let parts = collect(&folder)?;
    let Some(first) = parts.first() else { return Err(Failure::usage("--join: no parts")) };
    if first.work.command != "prepare" {
        let command = escape(&first.work.command);
        return Err(Failure::usage(format!("--join: these are parts of `{command}`, not of `prepare`")));
    }
    let options = arguments.source.options();
    if first.work.settings.get("reading") != Some(&reading(&options)?) {
        return Err(Failure::usage("--join: give the options by which the shards read the file"));
    }
    let number =
        |name| first.work.settings.get(name).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let wanted = PrepareOptions {
        eigenpairs: number(EIGENPAIRS).unwrap_or(0),
        random_walk_steps: number(RANDOM_WALK).unwrap_or(0),
        ..PrepareOptions::default()
    };
    let read = open(data, &options)?;
    say_report(&read.report);
    let counts: Vec<usize> = parts.iter().map(|part| part.rows.saturating_sub(part.without)).collect();
    let cache = cache(arguments.cache_dir.clone())?;
    join_prepared(&read.dataset, &wanted, &counts, &Cache::new(folder.path()), &cache)?;
    say!("cache: {}", escape(&cache.directory().to_string_lossy()));
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "benchmarks")]
fn benchmark(name: &str, arguments: &Arguments) -> Result<(Read, PrepareOptions), Failure> {
    use graphminnet_data::registry;

    arguments.source.reading.refuse("the data set of a recipe")?;
    let recipe = graphminnet::Recipe::named(name)?;
    let options = arguments.source.limits.on(ReadOptions::default());
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
