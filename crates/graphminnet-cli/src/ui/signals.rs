//! Ctrl-C: where there is something to save, the first asks the work to save and stop; otherwise, and the second time,
//! it ends the process at once. SIGTERM does the same, and for training SIGUSR1, which batch systems send ahead of time.

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

/// SIGINT, SIGTERM and SIGUSR1 on their way to the work.
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
        Self::listen_to(&[SIGINT, SIGTERM])
    }

    /// The same for work that a batch system may end, which sends SIGUSR1 first if it is asked to (`mpirun` hands it on to
    /// all processes).
    ///
    /// # Errors
    ///
    /// If the system does not let us listen.
    pub fn listen_in_batch() -> io::Result<Self> {
        #[cfg(unix)]
        return Self::listen_to(&[SIGINT, SIGTERM, signal_hook::consts::SIGUSR1]);
        #[cfg(not(unix))]
        Self::listen()
    }

    fn listen_to(signals: &[i32]) -> io::Result<Self> {
        let interrupt = Self { asked: Arc::default(), heeded: Arc::default() };
        let told = interrupt.clone();
        let mut signals = Signals::new(signals)?;
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
