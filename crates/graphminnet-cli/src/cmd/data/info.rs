//! `graphminnet data info`: everything known about one data set.

use crate::failure::Failure;
use clap::Args;
use graphminnet_data::download::recorded_hash;
use graphminnet_data::escape;
use graphminnet_data::registry::{
    DATA_VARIABLE, DatasetInfo, EdgeCount, PublishedFile, data_dir, find, locate,
};
use graphminnet_data::text::grouped;
use serde_json::json;
use std::io::{self, Write, stdout};
use std::path::Path;
use std::process::ExitCode;

/// Which data set.
#[derive(Args)]
pub struct Arguments {
    /// Name of the data set, such as zinc.
    name: String,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments, folder: Option<&Path>) -> Result<ExitCode, Failure> {
    let info = find(&arguments.name)?;
    let copy = locate(info, folder).ok();
    let home = data_dir(folder).map(|root| root.join(&info.folder));
    let mut hashes = Vec::new();
    for file in &info.files {
        hashes.push(match (&file.sha256, &home) {
            (Some(hash), _) => Some(hash.clone()),
            (None, Some(home)) => recorded_hash(home, &file.name)?,
            (None, None) => None,
        });
    }
    let mut out = stdout().lock();
    if arguments.json {
        let object = json!({ "dataset": info, "sha256": hashes, "put_into": home, "local_copy": copy });
        writeln!(out, "{}", serde_json::to_string_pretty(&object)?)?;
    } else {
        show(&mut out, info, &hashes, home.as_deref(), copy.as_deref())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(
    out: &mut impl Write,
    info: &DatasetInfo,
    hashes: &[Option<String>],
    home: Option<&Path>,
    copy: Option<&Path>,
) -> io::Result<()> {
    let shown = |path: &Path| escape(&path.to_string_lossy());
    writeln!(out, "{}: {} (also {})\n", info.name, info.title, info.aliases.join(", "))?;
    writeln!(out, "task        {} per {}: {}", info.task(), info.level, info.targets.join(", "))?;
    if !info.class_names.is_empty() {
        writeln!(out, "classes     {}", info.class_names.join(", "))?;
    }
    writeln!(out, "metric      {}", info.metric)?;
    writeln!(out, "split       {}", info.split)?;
    writeln!(out, "features    {}", info.features)?;
    for (label, names) in [("nodes", &info.node_columns), ("edges", &info.edge_columns)] {
        if !names.is_empty() {
            writeln!(out, "  {label:<9} {}", names.join(", "))?;
        }
    }
    let counted = match info.paper.edges_are {
        EdgeCount::Directed => "every direction counted",
        EdgeCount::Undirected => "both directions counted once",
    };
    let paper = &info.paper;
    let graphs = grouped(paper.graphs);
    writeln!(
        out,
        "paper       {graphs} graphs, on average {} nodes and {} edges ({counted})",
        paper.nodes, paper.edges
    )?;
    writeln!(out, "licence     {}", info.licence)?;
    writeln!(out, "cite        {}", info.citation)?;
    for (file, hash) in info.files.iter().zip(hashes) {
        show_file(out, file, hash.as_deref())?;
    }
    match copy {
        Some(copy) => writeln!(out, "local copy  {}", shown(copy))?,
        None => writeln!(out, "local copy  none")?,
    }
    let place = home.map_or_else(|| format!("<data folder>/{} (set {DATA_VARIABLE})", info.folder), shown);
    writeln!(out, "put         the files, as downloaded, into {place}")?;
    writeln!(
        out,
        "or          graphminnet data get {0}, or graphminnet data import {0} --from FILE",
        info.name
    )
}

fn show_file(out: &mut impl Write, file: &PublishedFile, hash: Option<&str>) -> io::Result<()> {
    writeln!(out, "file        {}", file.name)?;
    for url in &file.urls {
        writeln!(out, "  from      {url}")?;
    }
    if let Some(size) = file.size {
        writeln!(out, "  size      {} bytes", grouped(size))?;
    }
    match (hash, &file.sha256) {
        (Some(hash), Some(_)) => writeln!(out, "  SHA-256   {hash}"),
        (Some(hash), None) => writeln!(out, "  SHA-256   {hash} (recorded at the first download)"),
        (None, _) => writeln!(out, "  SHA-256   not published; recorded at the first download"),
    }
}
