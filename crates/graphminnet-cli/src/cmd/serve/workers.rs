//! Threads that answer requests with models that they share; a bounded queue before them.

use super::Bounds;
use super::answer::{self, Answer};
use crate::failure::Failure;
use graphminnet::Ensemble;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// Requests that may wait per worker; more are asked to come back.
const WAITING_PER_WORKER: usize = 64;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// Predictions.
    Predict,
    /// Which nodes and edges they rest on.
    Explain,
}

struct Job {
    endpoint: Endpoint,
    body: Vec<u8>,
    reply: oneshot::Sender<Answer>,
}

/// The way to the workers; they end when it is dropped.
pub struct Workers {
    queue: SyncSender<Job>,
    /// `GET /model`.
    pub description: String,
}

/// Starts the threads.
///
/// # Errors
///
/// If a thread cannot be started.
pub fn start(ensemble: Ensemble, threads: usize, bounds: Bounds) -> Result<Workers, Failure> {
    let (queue, jobs) = sync_channel(WAITING_PER_WORKER * threads);
    let jobs = Arc::new(Mutex::new(jobs));
    let description = answer::describe(&ensemble);
    let ensemble = Arc::new(ensemble);
    for number in 0..threads {
        let (ensemble, jobs) = (Arc::clone(&ensemble), Arc::clone(&jobs));
        // Requests run side by side, so each stays on one thread.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(Failure::usage)?;
        std::thread::Builder::new()
            .name(format!("worker-{number}"))
            .spawn(move || pool.install(|| work(&ensemble, &bounds, &jobs)))?;
    }
    Ok(Workers { queue, description })
}

fn work(ensemble: &Ensemble, bounds: &Bounds, jobs: &Mutex<Receiver<Job>>) {
    loop {
        // The lock is released before the work begins.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // Whoever gave up waiting need not be served.
        if job.reply.is_closed() {
            continue;
        }
        // A request that shows a mistake of ours must not take the worker with it.
        let answer = catch_unwind(AssertUnwindSafe(|| match job.endpoint {
            Endpoint::Predict => answer::predict(ensemble, bounds, &job.body),
            Endpoint::Explain => answer::explain(ensemble, bounds, &job.body),
        }));
        let _ = job.reply.send(answer.unwrap_or_else(|_| Answer::error(500, "internal error")));
    }
}

impl Workers {
    /// Puts a request into the queue; its answer comes later. An answer at once if the queue is full.
    pub fn submit(&self, endpoint: Endpoint, body: Vec<u8>) -> Result<oneshot::Receiver<Answer>, Answer> {
        let (reply, answer) = oneshot::channel();
        match self.queue.try_send(Job { endpoint, body, reply }) {
            Ok(()) => Ok(answer),
            Err(TrySendError::Full(_)) => Err(Answer::error(503, "too many requests are waiting; try again")),
            Err(TrySendError::Disconnected(_)) => Err(Answer::error(503, "the server is stopping")),
        }
    }
}
