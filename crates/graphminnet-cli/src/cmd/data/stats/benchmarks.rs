//! The paper's table of data sets with ours beside it.

use super::Arguments;
use crate::failure::Failure;
use crate::ui::table::{Align, Table};
use graphminnet_data::registry::{Comparison, DatasetInfo, compare, datasets, find, is_name, load};
use graphminnet_data::text::grouped;
use graphminnet_data::{DataError, ReadOptions, Statistics, statistics};
use serde_json::{Value, json};
use std::io::{Write, stdout};
use std::path::Path;
use std::process::ExitCode;

/// Counts one benchmark, all of them, or a file.
pub fn run(arguments: &Arguments, folder: Option<&Path>) -> Result<ExitCode, Failure> {
    let names_a_benchmark = arguments.what.as_deref().is_none_or(is_name);
    if names_a_benchmark {
        arguments.source.reading.refuse("the benchmark data sets")?;
    }
    match &arguments.what {
        None => benchmarks(datasets(), arguments, folder, false),
        Some(name) if is_name(name) => benchmarks(std::slice::from_ref(find(name)?), arguments, folder, true),
        Some(_) => super::run(arguments),
    }
}

/// One benchmark, read.
struct Row {
    info: &'static DatasetInfo,
    found: Option<(Statistics, Comparison)>,
    differences: Vec<String>,
}

fn benchmarks(
    infos: &'static [DatasetInfo],
    arguments: &Arguments,
    folder: Option<&Path>,
    must_be_here: bool,
) -> Result<ExitCode, Failure> {
    let options = arguments.source.limits.on(ReadOptions::default());
    let mut rows = Vec::new();
    for info in infos {
        match load(&info.name, folder, &options) {
            Ok(read) => {
                let statistics = statistics(&read.dataset);
                let comparison = compare(info, &statistics);
                rows.push(Row {
                    info,
                    found: Some((statistics, comparison)),
                    differences: read.report.differences,
                });
            }
            Err(DataError::NotHere(_)) if !must_be_here => {
                rows.push(Row { info, found: None, differences: Vec::new() })
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mut out = stdout().lock();
    if arguments.json {
        let objects: Vec<Value> = rows.iter().map(as_json).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&json!({ "datasets": objects }))?)?;
        return Ok(ExitCode::SUCCESS);
    }
    write!(out, "{}", table(&rows))?;
    for row in rows.iter().filter(|row| !row.differences.is_empty()) {
        writeln!(out, "\n{}: how the local copy differs from the published one", row.info.title)?;
        for difference in &row.differences {
            writeln!(out, "  - {difference}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        ("data set", Align::Left),
        ("level", Align::Left),
        ("task", Align::Left),
        ("graphs, paper", Align::Right),
        ("ours", Align::Right),
        ("mean nodes, paper", Align::Right),
        ("ours", Align::Right),
        ("mean edges, paper", Align::Right),
        ("ours", Align::Right),
        ("", Align::Left),
    ]);
    for Row { info, found, .. } in rows {
        let (title, level, task) = (info.title.clone(), info.level.to_string(), info.task().to_string());
        let (paper, none) = (&info.paper, String::from("–"));
        table.row(match found {
            Some((_, comparison)) => {
                let Comparison { graphs, nodes, edges, .. } = comparison.clone();
                [
                    title,
                    level,
                    task,
                    graphs.0,
                    graphs.1,
                    nodes.0,
                    nodes.1,
                    edges.0,
                    edges.1,
                    verdict(comparison),
                ]
            }
            None => {
                let (graphs, nodes, edges) =
                    (grouped(paper.graphs), paper.nodes.clone(), paper.edges.clone());
                let absent = "not here".to_owned();
                [title, level, task, graphs, none.clone(), nodes, none.clone(), edges, none, absent]
            }
        });
    }
    table
}

fn verdict(comparison: &Comparison) -> String {
    if comparison.agrees() {
        return "agrees".to_owned();
    }
    let parts = [
        ("graphs", comparison.graphs.2),
        ("nodes", comparison.nodes.2),
        ("edges", comparison.edges.2),
        ("task", comparison.same_task),
    ];
    let different: Vec<&str> =
        parts.into_iter().filter(|(_, is_equal)| !is_equal).map(|(name, _)| name).collect();
    format!("differs: {}", different.join(", "))
}

fn as_json(row: &Row) -> Value {
    let Row { info, found, differences } = row;
    json!({
        "name": info.name,
        "paper": info.paper,
        "level": info.level,
        "task": info.task(),
        "here": found.is_some(),
        "statistics": found.as_ref().map(|(statistics, _)| statistics),
        "agrees": found.as_ref().map(|(_, comparison)| comparison.agrees()),
        "deviations": differences,
    })
}
