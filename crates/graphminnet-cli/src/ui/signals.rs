//! Ctrl-C: where there is something to save, the first asks the work to save and stop; otherwise, and the second time,
//! it ends the process at once.

use super::say::say;
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

/// SIGINT and SIGTERM on their way to the work.
#[derive(Debug, Clone)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    heeded: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens. Until somebody heeds them, signals end the process: nothing has been begun that could be saved.
    ///
    /// # Errors
    ///
    /// If the system does not let us listen.
    pub fn listen() -> io::Result<Self> {
        let interrupt = Self { asked: Arc::default(), heeded: Arc::default() };
        let told = interrupt.clone();
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let mut first: Option<Instant> = None;
            for _ in signals.forever() {
                match first {
                    Some(first) if first.elapsed() < SAME_SIGNAL => {}
                    None if told.heeded.load(Ordering::Relaxed) => {
                        first = Some(Instant::now());
                        told.asked.store(true, Ordering::Relaxed);
                    }
                    _ => {
                        say!("interrupted");
                        std::process::exit(i32::from(INTERRUPTED));
                    }
                }
            }
        })?;
        Ok(interrupt)
    }

    /// A flag that signals set from now on; whoever asks for it promises to look at it often.
    pub fn heed(&self) -> &AtomicBool {
        self.heeded.store(true, Ordering::Relaxed);
        &self.asked
    }
}
