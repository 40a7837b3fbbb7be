//! How much memory this process has used.

use std::fs;

/// Largest resident memory of this process so far, in bytes; `None` where the system does not say.
pub fn peak_memory() -> Option<u64> {
    kibibytes("/proc/self/status", "VmHWM:")
}

/// A field of one of the system's tables, in bytes.
fn kibibytes(table: &str, field: &str) -> Option<u64> {
    let table = fs::read_to_string(table).ok()?;
    let line = table.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}
