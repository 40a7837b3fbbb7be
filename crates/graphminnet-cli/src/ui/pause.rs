//! Signals by which somebody asks for a pause.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody asked for a pause: SIGUSR1 asks, SIGUSR2 ends it. There are no such signals outside Unix.
#[derive(Debug, Clone, Default)]
pub struct Pause {
    asked: Arc<AtomicBool>,
}

impl Pause {
    /// Listens.
    ///
    /// # Errors
    ///
    /// If the system does not let us listen.
    pub fn listen() -> io::Result<Self> {
        let pause = Self::default();
        #[cfg(unix)]
        {
            use signal_hook::consts::{SIGUSR1, SIGUSR2};
            use signal_hook::iterator::Signals;
            let asked = pause.asked.clone();
            let mut signals = Signals::new([SIGUSR1, SIGUSR2])?;
            std::thread::Builder::new().name("pause".to_owned()).spawn(move || {
                for signal in signals.forever() {
                    asked.store(signal == SIGUSR1, Ordering::Relaxed);
                }
            })?;
        }
        Ok(pause)
    }

    /// Whether a pause was asked for and not ended.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}
