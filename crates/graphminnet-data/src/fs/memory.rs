//! How much memory there is, and how much of it this process has used.

use std::fs;
use std::sync::OnceLock;

/// Largest resident memory of this process so far, in bytes; `None` where the system does not say.
pub fn peak_memory() -> Option<u64> {
    kibibytes("/proc/self/status", "VmHWM:")
}

/// Memory of the machine, or of the container that this process may use, in bytes; `None` where the system does not say.
pub fn machine_memory() -> Option<u64> {
    // It does not change while a process runs, and readers ask for every file.
    static MEMORY: OnceLock<Option<u64>> = OnceLock::new();
    *MEMORY.get_or_init(read_machine_memory)
}

fn read_machine_memory() -> Option<u64> {
    let installed = kibibytes("/proc/meminfo", "MemTotal:");
    // Version 2 and version 1 of control groups, as a container sees its own; `max` stands for no bound.
    let bounds = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let bounds = bounds.iter().filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
    bounds.chain(installed).min()
}

/// A field of one of the system's tables, in bytes.
fn kibibytes(table: &str, field: &str) -> Option<u64> {
    let table = fs::read_to_string(table).ok()?;
    let line = table.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}
