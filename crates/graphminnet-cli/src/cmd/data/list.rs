//! `graphminnet data list`: the ten benchmark data sets.

use crate::failure::Failure;
use crate::ui::say::say;
use crate::ui::table::{Align, Table};
use clap::Args;
use graphminnet_data::escape;
use graphminnet_data::registry::{DATA_VARIABLE, DatasetInfo, data_dir, datasets, locate};
use graphminnet_data::text::grouped;
use serde_json::{Value, json};
use std::io::{Write, stdout};
use std::path::Path;
use std::process::ExitCode;

/// How to list.
#[derive(Args)]
pub struct Arguments {
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments, folder: Option<&Path>) -> Result<ExitCode, Failure> {
    let mut out = stdout().lock();
    if arguments.json {
        let rows: Vec<Value> = datasets().iter().map(|info| as_json(info, folder)).collect();
        let object = json!({ "data_dir": data_dir(folder), "datasets": rows });
        writeln!(out, "{}", serde_json::to_string_pretty(&object)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&[
        ("name", Align::Left),
        ("level", Align::Left),
        ("task", Align::Left),
        ("metric", Align::Left),
        ("graphs", Align::Right),
        ("local copy", Align::Left),
        ("licence", Align::Left),
    ]);
    for info in datasets() {
        let copy = locate(info, folder).ok();
        let name = copy.as_deref().and_then(Path::file_name).map(|name| escape(&name.to_string_lossy()));
        table.row([
            info.name.clone(),
            info.level.to_string(),
            info.task().to_string(),
            info.metric.clone(),
            grouped(info.paper.graphs),
            name.unwrap_or_else(|| "–".to_owned()),
            info.licence.clone(),
        ]);
    }
    write!(out, "{table}")?;
    match data_dir(folder) {
        Some(folder) => say!("local copies are in {}", escape(&folder.to_string_lossy())),
        None => say!("no data folder: give --data-dir or set {DATA_VARIABLE}"),
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(info: &'static DatasetInfo, folder: Option<&Path>) -> Value {
    json!({
        "name": info.name,
        "title": info.title,
        "level": info.level,
        "task": info.task(),
        "metric": info.metric,
        "graphs": info.paper.graphs,
        "licence": info.licence,
        "local_copy": locate(info, folder).ok(),
    })
}
