//! Threads to work with: one pool per process, and one of its own for every long call.
//!
//! A thread of a pool that waits takes on other work of the same pool, and is back only when that is done. So a training,
//! which may take hours and waits for Python's callbacks, is never among the work that calls share, and nor are answers
//! about many graphs.
//!
//! The threads of a pool do not come along into a forked child, where whoever waits for them waits forever. So a pool
//! belongs to a process id, and a child makes one of its own. There is no lock on the way, because another thread could
//! hold it at the moment of the fork; what a child inherits is leaked, because a drop could wait for threads that are gone.

use graphminnet_cli::Failure;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A pool and the process that it belongs to.
static POOL: AtomicPtr<(u32, ThreadPool)> = AtomicPtr::new(null_mut());

fn build(threads: usize) -> Result<ThreadPool, Failure> {
    ThreadPoolBuilder::new().num_threads(threads).build().map_err(Failure::usage)
}

/// Threads for some work.
pub enum Threads {
    /// Those of the process.
    Shared,
    /// So many of its own, 0 for all cores.
    Own(usize),
}

impl Threads {
    /// Threads of its own, on all cores without a number.
    pub fn own(count: Option<usize>) -> Self {
        Self::Own(count.unwrap_or(0))
    }
}

/// Does some work on some threads.
pub fn install<T: Send>(
    threads: Threads,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    match threads {
        Threads::Own(count) => build(count)?.install(work),
        Threads::Shared => shared()?.install(work),
    }
}

/// The pool of this process.
fn shared() -> Result<&'static ThreadPool, Failure> {
    let process = std::process::id();
    loop {
        let now = POOL.load(Ordering::Acquire);
        // SAFETY: whatever was stored is never freed.
        if let Some((_, pool)) = unsafe { now.as_ref() }.filter(|(owner, _)| *owner == process) {
            return Ok(pool);
        }
        let new = Box::into_raw(Box::new((process, build(0)?)));
        if POOL.compare_exchange(now, new, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: it was not stored, so nobody else has seen it.
            drop(unsafe { Box::from_raw(new) });
        }
    }
}
