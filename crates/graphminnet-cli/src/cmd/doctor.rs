//! `graphminnet doctor`: the program and the machine, for bug reports.

use crate::failure::Failure;
use crate::ui::bytes::readable;
use crate::ui::disk::{folder_size, free_bytes};
use clap::Args;
use graphminnet::DeviceKind;
use graphminnet::data::cache::default_cache_dir;
use graphminnet::data::escape;
use graphminnet::data::registry::{DATA_VARIABLE, data_dir, datasets, locate};
use graphminnet::data::text::grouped;
use graphminnet_lab::bench::measure_matmul_peak;
use graphminnet::kernels::uses_wide_instructions;
use serde_json::{Value, json};
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// What to look at.
#[derive(Args)]
pub struct Arguments {
    /// Measure how fast matrices are multiplied (takes a second).
    #[arg(long)]
    peak: bool,
    /// Folder with the benchmark data sets; also GRAPHMINNET_DATA.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Folder of the cache; also GRAPHMINNET_CACHE.
    #[arg(long, value_name = "FOLDER")]
    cache_dir: Option<PathBuf>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let folder = arguments.data_dir.as_deref();
    let data = data_dir(folder);
    let cache = arguments.cache_dir.clone().or_else(default_cache_dir);
    let here: Vec<&str> = datasets()
        .iter()
        .filter(|info| locate(info, folder).is_ok())
        .map(|info| info.name.as_str())
        .collect();
    let peak = arguments.peak.then(|| measure_matmul_peak(Duration::from_secs(1)));
    let mut out = stdout().lock();
    if arguments.json {
        let object = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "target": target(),
            "features": features(),
            "cores": cores(),
            "threads": rayon::current_num_threads(),
            "wide_instructions": uses_wide_instructions(),
            "devices": DeviceKind::ALL.map(|kind| json!({"kind": kind.to_string(), "names": kind.names().ok()})),
            "matmul_peak_gflops": peak,
            "data": data.as_deref().map(describe),
            "datasets": here,
            "cache": cache.as_deref().map(describe),
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&object)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "version     graphminnet {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "target      {}", target())?;
    let features = features();
    writeln!(
        out,
        "features    {}",
        if features.is_empty() { "none".to_owned() } else { features.join(", ") }
    )?;
    writeln!(out, "threads     {} (the system reports {} cores)", rayon::current_num_threads(), cores())?;
    writeln!(out, "kernels     {}", kernels())?;
    for (at, kind) in DeviceKind::ALL.into_iter().enumerate() {
        writeln!(out, "{:<11} {kind:<5} {}", if at == 0 { "devices" } else { "" }, devices(kind))?;
    }
    if let Some(rate) = peak {
        writeln!(out, "matmul      {rate:.0} GFLOP/s")?;
    }
    write_folder(&mut out, "data", data.as_deref(), DATA_VARIABLE)?;
    let here = if here.is_empty() { "none".to_owned() } else { here.join(", ") };
    writeln!(out, "  data sets {here}")?;
    write_folder(&mut out, "cache", cache.as_deref(), "GRAPHMINNET_CACHE")?;
    Ok(ExitCode::SUCCESS)
}

/// Architecture and operating system.
fn target() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Optional parts that this program was built with.
fn features() -> Vec<&'static str> {
    [
        ("download", cfg!(feature = "download")),
        ("wgpu", cfg!(feature = "wgpu")),
        ("cuda", cfg!(feature = "cuda")),
        ("rocm", cfg!(feature = "rocm")),
    ]
    .into_iter()
    .filter_map(|(name, is_on)| is_on.then_some(name))
    .collect()
}

/// The devices of a kind in words.
fn devices(kind: DeviceKind) -> String {
    match (kind, kind.names()) {
        (DeviceKind::Cpu, _) => "always there".to_owned(),
        (_, Err(error)) => error.to_string(),
        (_, Ok(names)) if names.is_empty() => "none found".to_owned(),
        (_, Ok(names)) => names.join(", "),
    }
}

fn kernels() -> &'static str {
    if uses_wide_instructions() {
        "AVX2 and FMA"
    } else if cfg!(target_arch = "aarch64") {
        "NEON (baseline)"
    } else {
        "portable (this processor has no AVX2 and FMA, or the program was told not to use them)"
    }
}

fn describe(folder: &Path) -> Value {
    let size = folder_size(folder);
    json!({
        "folder": folder,
        "exists": size.is_some(),
        "files": size.map(|(files, _)| files),
        "bytes": size.map(|(_, bytes)| bytes),
        "free_bytes": free_bytes(folder),
    })
}

fn write_folder(out: &mut impl Write, label: &str, folder: Option<&Path>, variable: &str) -> io::Result<()> {
    let Some(folder) = folder else {
        return writeln!(out, "{label:<11} no folder (set {variable})");
    };
    let content = match folder_size(folder) {
        Some((files, bytes)) => format!("{} files, {}", grouped(files), readable(bytes)),
        None => "does not exist yet".to_owned(),
    };
    let free = free_bytes(folder).map_or_else(|| "unknown".to_owned(), readable);
    writeln!(out, "{label:<11} {}: {content}; {free} free on its disk", escape(&folder.to_string_lossy()))
}
