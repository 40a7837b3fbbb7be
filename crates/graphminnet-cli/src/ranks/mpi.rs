//! The exchange between processes that `mpirun` or `srun` started: a few calls of the system's MPI library.

use crate::failure::Failure;
use crate::ui::say::say;
use graphminnet_data::exchange::Exchange;
use mpi_sys as sys;
use std::fmt;
use std::os::raw::{c_int, c_void};
use std::sync::Mutex;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// What the starters of Open MPI, MPICH and Slurm tell their processes. Without one of these the process is alone, and the
/// library is left alone too: its start takes a while.
const STARTED: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"];

/// All processes that were started together. Dropping it waits for the others to do the same.
#[derive(Debug)]
pub struct World {
    rank: usize,
    size: usize,
    /// The only thread that may call the library, unless it lets any.
    thread: Option<ThreadId>,
    traffic: Mutex<Traffic>,
}

/// What a process has handed to the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    calls: u64,
    /// Bytes sent; those of a broadcast count once for every receiver, on the process that has them.
    bytes: u64,
    time: Duration,
}

impl fmt::Display for Traffic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { calls, bytes, time } = self;
        write!(formatter, "{calls} calls of MPI, {bytes} bytes sent, {:.3} s in MPI", time.as_secs_f64())
    }
}

impl World {
    /// Joins the other processes; `None` if there are none. All calls must come from the thread that calls this, unless the
    /// library lets several threads call it at the same time.
    ///
    /// # Errors
    ///
    /// If the library does not let threads run beside the one that calls it.
    pub fn join() -> Result<Option<Self>, Failure> {
        if STARTED.iter().all(|name| std::env::var_os(name).is_none()) {
            return Ok(None);
        }
        let (mut provided, mut rank, mut size) = (0, 0, 0);
        let many;
        // SAFETY: nobody else initialises the library, the pointers are to numbers that live here, and a null pointer
        // stands for arguments that are not given.
        unsafe {
            let (funneled, multiple) = (sys::RSMPI_THREAD_FUNNELED, sys::RSMPI_THREAD_MULTIPLE);
            sys::MPI_Init_thread(std::ptr::null_mut(), std::ptr::null_mut(), multiple, &mut provided);
            sys::MPI_Comm_rank(sys::RSMPI_COMM_WORLD, &mut rank);
            sys::MPI_Comm_size(sys::RSMPI_COMM_WORLD, &mut size);
            if provided < funneled {
                return Err(Failure::usage(
                    "this MPI library allows no threads; build it with support for threads",
                ));
            }
            many = provided >= multiple;
        }
        let thread = (!many).then(|| std::thread::current().id());
        Ok(Some(Self { rank: rank as usize, size: size as usize, thread, traffic: Mutex::default() }))
    }

    /// What this process has handed to the library so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic.lock().map_or_else(|poisoned| *poisoned.into_inner(), |traffic| *traffic)
    }

    /// Ends all processes.
    pub fn abort(&self, code: u8) -> ! {
        // SAFETY: the library is initialised. It may be called from another thread than the others: it does not return.
        unsafe {
            sys::MPI_Abort(sys::RSMPI_COMM_WORLD, c_int::from(code));
        }
        std::process::abort()
    }

    /// Calls the library and counts. A call that fails does not return: that is the library's default, because nobody
    /// could go on.
    fn call(&self, sent: usize, call: impl FnOnce() -> c_int) {
        let may = self.thread.is_none_or(|thread| thread == std::thread::current().id());
        assert!(
            may,
            "this MPI library can be called by one thread only: give every rank one part of the graph"
        );
        let begun = Instant::now();
        call();
        if let Ok(mut traffic) = self.traffic.lock() {
            traffic.calls += 1;
            traffic.bytes += sent as u64;
            traffic.time += begun.elapsed();
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // SAFETY: the library is initialised, and nothing calls it after this.
        unsafe {
            sys::MPI_Finalize();
        }
    }
}

/// A length as the library counts; the exchange keeps messages below 2³⁰ bytes.
fn count(bytes: &[u8]) -> c_int {
    c_int::try_from(bytes.len()).unwrap_or(c_int::MAX)
}

impl Exchange for World {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send_on(&self, line: u16, to: usize, bytes: &[u8]) {
        let (data, to) = (bytes.as_ptr().cast::<c_void>(), to as c_int);
        // SAFETY: the bytes live until the call returns, and the library may read as many as it is told.
        self.call(bytes.len(), || unsafe {
            let tag = c_int::from(line);
            sys::MPI_Send(data, count(bytes), sys::RSMPI_UINT8_T, to, tag, sys::RSMPI_COMM_WORLD)
        });
    }

    fn receive_on(&self, line: u16, from: usize, bytes: &mut [u8]) {
        let (data, count, from) = (bytes.as_mut_ptr().cast::<c_void>(), count(bytes), from as c_int);
        // SAFETY: the bytes live until the call returns, and the library may write as many as it is told.
        self.call(0, || unsafe {
            let (world, status) = (sys::RSMPI_COMM_WORLD, sys::RSMPI_STATUS_IGNORE);
            sys::MPI_Recv(data, count, sys::RSMPI_UINT8_T, from, c_int::from(line), world, status)
        });
    }

    fn give_up(&self, why: &str) {
        if self.size > 1 {
            say!("rank {} of {} failed: {why}", self.rank, self.size);
            self.abort(1);
        }
    }

    fn broadcast(&self, from: usize, bytes: &mut [u8]) {
        let sent = if from == self.rank { bytes.len() * (self.size - 1) } else { 0 };
        let (data, count, from) = (bytes.as_mut_ptr().cast::<c_void>(), count(bytes), from as c_int);
        // SAFETY: the bytes live until the call returns, and the library may read or write as many as it is told.
        self.call(sent, || unsafe {
            sys::MPI_Bcast(data, count, sys::RSMPI_UINT8_T, from, sys::RSMPI_COMM_WORLD)
        });
    }
}
