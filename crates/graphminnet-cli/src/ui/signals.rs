//! Ctrl-C: the first asks the run to save and stop, the second ends the process at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Exit code of an interrupted run.
pub const INTERRUPTED: u8 = 130;

/// Signals that come this close together are one: `timeout` and some supervisors signal a process and then its
/// group, which reaches us twice.
const SAME_SIGNAL: Duration = Duration::from_millis(500);

/// A flag that SIGINT and SIGTERM set; once it is set, they end the process.
///
/// # Errors
///
/// If the system does not let us listen.
pub fn interrupt_flag() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut first: Option<Instant> = None;
        for _ in signals.forever() {
            match first {
                None => {
                    first = Some(Instant::now());
                    set.store(true, Ordering::Relaxed);
                }
                Some(first) if first.elapsed() < SAME_SIGNAL => {}
                Some(_) => std::process::exit(i32::from(INTERRUPTED)),
            }
        }
    })?;
    Ok(flag)
}
