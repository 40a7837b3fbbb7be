//! Threads to work with, one pool per process.
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

/// Runs some work on so many threads; on all cores without a number.
pub fn install<T: Send>(threads: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    match threads {
        Some(0) => Err(Failure::usage("threads=0: at least one thread is needed")),
        Some(threads) => Ok(build(threads)?.install(work)),
        None => Ok(shared()?.install(work)),
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
