//! `graphminnet cache`: what earlier preparations left on the disk.

use super::prepare::cache;
use crate::failure::Failure;
use crate::ui::bytes::{parse_bytes, readable};
use crate::ui::say::say;
use crate::ui::table::{Align, Table};
use clap::{Args, Subcommand};
use graphminnet_data::cache::{Cache, CacheEntry};
use graphminnet_data::escape;
use graphminnet_data::text::grouped;
use serde_json::{Value, json};
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

/// What to do with the cache.
#[derive(Args)]
pub struct Arguments {
    /// Folder of the cache; also GRAPHMINNET_CACHE.
    #[arg(long, value_name = "FOLDER", global = true)]
    cache_dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the entries, oldest first.
    Ls(Output),
    /// Read every entry and check its hash; exits with 1 if one is damaged.
    Verify(Output),
    /// Remove the oldest entries until the rest fits.
    Gc {
        /// How much may be left, such as 500MB or 2GiB; 0 removes everything.
        #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
        max_size: u64,
    },
}

/// How to print.
#[derive(Args)]
struct Output {
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let cache = cache(arguments.cache_dir.clone())?;
    match &arguments.command {
        Command::Ls(output) => list(&cache, output.json),
        Command::Verify(output) => verify(&cache, output.json),
        Command::Gc { max_size } => collect(&cache, *max_size),
    }
}

fn list(cache: &Cache, json: bool) -> Result<ExitCode, Failure> {
    let entries = cache.entries()?;
    let total: u64 = entries.iter().map(|entry| entry.bytes).sum();
    let mut out = stdout().lock();
    if json {
        let rows: Vec<Value> = entries.iter().map(as_json).collect();
        let object = json!({ "cache": cache.directory(), "bytes": total, "entries": rows });
        writeln!(out, "{}", serde_json::to_string_pretty(&object)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&[
        ("transform", Align::Left),
        ("size", Align::Right),
        ("written", Align::Right),
        ("entry", Align::Left),
    ]);
    for entry in &entries {
        table.row([escape(&entry.transform), readable(entry.bytes), ago(entry.modified), file_name(entry)]);
    }
    write!(out, "{table}")?;
    say_total(cache, entries.len(), total);
    Ok(ExitCode::SUCCESS)
}

fn verify(cache: &Cache, json: bool) -> Result<ExitCode, Failure> {
    let checked = cache.verify()?;
    let damaged = checked.iter().filter(|entry| entry.problem.is_some()).count();
    let mut out = stdout().lock();
    if json {
        let row = |entry: &graphminnet_data::cache::CheckedEntry| {
            let mut object = as_json(&entry.entry);
            object["problem"] = json!(entry.problem.as_ref().map(ToString::to_string));
            object
        };
        let rows: Vec<Value> = checked.iter().map(row).collect();
        let object = json!({ "cache": cache.directory(), "damaged": damaged, "entries": rows });
        writeln!(out, "{}", serde_json::to_string_pretty(&object)?)?;
    } else {
        for entry in &checked {
            match &entry.problem {
                None => writeln!(out, "sound    {}", file_name(&entry.entry))?,
                Some(problem) => writeln!(out, "DAMAGED  {}: {problem}", file_name(&entry.entry))?,
            }
        }
        say!("{} of {} entries are sound", checked.len() - damaged, checked.len());
        if damaged > 0 {
            say!("damaged entries are computed again when they are needed");
        }
    }
    Ok(if damaged == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn collect(cache: &Cache, max_size: u64) -> Result<ExitCode, Failure> {
    let collected = cache.collect_garbage(max_size)?;
    let mut out = stdout().lock();
    writeln!(
        out,
        "removed {} entries and {} abandoned files ({}); {} are left",
        collected.entries,
        collected.temporary,
        readable(collected.bytes),
        readable(collected.left)
    )?;
    Ok(ExitCode::SUCCESS)
}

fn say_total(cache: &Cache, entries: usize, bytes: u64) {
    say!(
        "{} entries, {} in {}",
        grouped(entries),
        readable(bytes),
        escape(&cache.directory().to_string_lossy())
    );
}

fn file_name(entry: &CacheEntry) -> String {
    escape(&entry.path.file_name().unwrap_or_default().to_string_lossy())
}

fn as_json(entry: &CacheEntry) -> Value {
    let seconds = entry.modified.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    json!({ "path": entry.path, "transform": entry.transform, "bytes": entry.bytes, "modified": seconds })
}

fn ago(time: SystemTime) -> String {
    let age = SystemTime::now().duration_since(time).unwrap_or(Duration::ZERO).as_secs();
    match age {
        0..120 => format!("{age} s ago"),
        120..7_200 => format!("{} min ago", age / 60),
        7_200..172_800 => format!("{} h ago", age / 3_600),
        _ => format!("{} days ago", age / 86_400),
    }
}
