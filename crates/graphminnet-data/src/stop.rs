//! Work that is stopped because nobody waits for its result any more.

use std::fmt;
use thiserror::Error;

/// A question that long work asks at every step: is the result still wanted?
///
/// # Examples
///
/// ```
/// use graphminnet_data::{Stop, Stopped};
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// let interrupted = AtomicBool::new(false);
/// let is_interrupted = || interrupted.load(Ordering::Relaxed);
/// let stop = Stop::when(&is_interrupted);
/// assert_eq!(stop.check(), Ok(()));
/// interrupted.store(true, Ordering::Relaxed);
/// assert_eq!(stop.check(), Err(Stopped));
/// ```
#[derive(Clone, Copy, Default)]
pub struct Stop<'a>(Option<&'a (dyn Fn() -> bool + Sync)>);

impl<'a> Stop<'a> {
    /// The result is always wanted.
    pub const NEVER: Self = Self(None);

    /// As soon as the answer is yes; it is asked from any thread, and should take no time.
    pub fn when(is_over: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self(Some(is_over))
    }

    /// Goes on, or not.
    ///
    /// # Errors
    ///
    /// [`Stopped`] if the result is not wanted any more.
    pub fn check(self) -> Result<(), Stopped> {
        if self.0.is_some_and(|is_over| is_over()) { Err(Stopped) } else { Ok(()) }
    }
}

impl fmt::Debug for Stop<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Stop({})", if self.0.is_some() { "when" } else { "never" })
    }
}

/// The work was stopped before it had a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("stopped: nobody waits for the result any more")]
pub struct Stopped;
