//! `graphminnet doctor`: the program and the machine, for bug reports.

use crate::failure::Failure;
use crate::ui::bytes::readable;
use crate::ui::disk::{folder_size, free_bytes};
use clap::Args;
use graphminnet::DeviceKind;
use graphminnet_data::cache::default_cache_dir;
use graphminnet_data::escape;
#[cfg(feature = "benchmarks")]
use graphminnet_data::registry::{DATA_VARIABLE, DatasetInfo, data_dir, datasets, locate};
use graphminnet_data::text::grouped;
use graphminnet_kernels::{Instructions, instructions};
use serde_json::{Value, json};
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What to look at.
#[derive(Args)]
pub struct Arguments {
    /// Measure how fast matrices are multiplied (takes a second).
    #[cfg(feature = "lab")]
    #[arg(long)]
    peak: bool,
    /// Folder with the benchmark data sets; also GRAPHMINNET_DATA.
    #[cfg(feature = "benchmarks")]
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
    let cache = arguments.cache_dir.clone().or_else(default_cache_dir);
    #[cfg(feature = "benchmarks")]
    let (data, here) = benchmarks(arguments.data_dir.as_deref());
    let peak = peak(arguments);
    let mut out = stdout().lock();
    if arguments.json {
        #[cfg_attr(not(feature = "benchmarks"), allow(unused_mut))]
        let mut object = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "target": target(),
            "features": features(),
            "cores": cores(),
            "threads": rayon::current_num_threads(),
            "instructions": kernels(),
            "devices": DeviceKind::ALL.map(|kind| json!({"kind": kind.to_string(), "names": kind.names().ok()})),
            "matmul_peak_gflops": peak,
            "cache": cache.as_deref().map(describe),
        });
        #[cfg(feature = "benchmarks")]
        {
            object["data"] = data.as_deref().map(describe).into();
            object["datasets"] = here.into();
        }
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
    #[cfg(feature = "benchmarks")]
    {
        write_folder(&mut out, "data", data.as_deref(), DATA_VARIABLE)?;
        let here = if here.is_empty() { "none".to_owned() } else { here.join(", ") };
        writeln!(out, "  data sets {here}")?;
    }
    write_folder(&mut out, "cache", cache.as_deref(), "GRAPHMINNET_CACHE")?;
    Ok(ExitCode::SUCCESS)
}

/// The folder of the benchmark data sets, and those that are there.
#[cfg(feature = "benchmarks")]
fn benchmarks(folder: Option<&Path>) -> (Option<PathBuf>, Vec<&'static str>) {
    let is_here = |info: &&'static DatasetInfo| locate(info, folder).is_ok();
    (data_dir(folder), datasets().iter().filter(is_here).map(|info| info.name.as_str()).collect())
}

/// The rate of matrix products, if it was asked for.
#[cfg(feature = "lab")]
fn peak(arguments: &Arguments) -> Option<f64> {
    let budget = std::time::Duration::from_secs(1);
    arguments.peak.then(|| graphminnet_lab::bench::measure_matmul_peak(budget))
}

#[cfg(not(feature = "lab"))]
fn peak(_: &Arguments) -> Option<f64> {
    None
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
        ("lab", cfg!(feature = "lab")),
        ("benchmarks", cfg!(feature = "benchmarks")),
        ("download", cfg!(feature = "download")),
        ("serve", cfg!(feature = "serve")),
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
    match instructions() {
        Instructions::Avx512 => "AVX-512",
        Instructions::Avx2 => "AVX2 and FMA",
        Instructions::Portable if cfg!(target_arch = "aarch64") => "NEON (baseline)",
        Instructions::Portable => "portable (this processor has no AVX2 and FMA)",
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
