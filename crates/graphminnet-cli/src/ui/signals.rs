//! Ctrl-C: the first asks the run to save and stop, the second ends the process at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Exit code of an interrupted run.
pub const INTERRUPTED: u8 = 130;

/// A flag that SIGINT and SIGTERM set; once it is set, they end the process.
///
/// # Errors
///
/// If the system does not let us listen.
pub fn interrupt_flag() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag unset and passes on to set it.
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&flag))?;
        flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(flag)
}
