//! Threads that answer requests with models that they share; a bounded queue before them.

use super::Bounds;
use super::answer::{self, Answer, Refused, Served};
use super::metrics::Metrics;
use crate::failure::Failure;
use crate::ui::say::say;
use graphminnet::Ensemble;
use graphminnet_data::spectral::{Stop, unless_stopped};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// Requests that may wait per worker, and all together; more are asked to come back.
const WAITING_PER_WORKER: usize = 64;
const WAITING: usize = 256;

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
    capacity: usize,
    /// What was done.
    pub metrics: Arc<Metrics>,
    /// `GET /model`.
    pub description: String,
}

/// Starts the threads.
///
/// # Errors
///
/// If a thread cannot be started.
pub fn start(ensemble: Ensemble, threads: usize, bounds: Bounds) -> Result<Workers, Failure> {
    let waiting = WAITING.min(WAITING_PER_WORKER * threads);
    let (queue, jobs) = sync_channel(waiting);
    let jobs = Arc::new(Mutex::new(jobs));
    let metrics = Arc::new(Metrics::default());
    let served = Arc::new(Served::new(ensemble));
    served.doubts().iter().for_each(|doubt| say!("warning: {doubt}"));
    let description = answer::describe(&served);
    for number in 0..threads {
        let worker = Worker {
            served: Arc::clone(&served),
            bounds,
            jobs: Arc::clone(&jobs),
            metrics: Arc::clone(&metrics),
        };
        // Requests run side by side, so each stays on one thread.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(Failure::usage)?;
        std::thread::Builder::new()
            .name(format!("worker-{number}"))
            .spawn(move || pool.install(|| worker.work()))?;
    }
    Ok(Workers { queue, capacity: waiting + threads, metrics, description })
}

/// What one thread works with.
struct Worker {
    served: Arc<Served>,
    bounds: Bounds,
    jobs: Arc<Mutex<Receiver<Job>>>,
    metrics: Arc<Metrics>,
}

impl Worker {
    fn work(&self) {
        loop {
            // The lock is released before the work begins.
            let job = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(job) = job else { return };
            // The other end is dropped when the time is over or the client is gone.
            let nobody_waits = || job.reply.is_closed();
            // A request that shows a mistake of ours must not take the worker with it.
            let answer = catch_unwind(AssertUnwindSafe(|| self.answer(&job, &nobody_waits)));
            match answer.unwrap_or_else(|_| Ok(Answer::error(500, "internal error"))) {
                Ok(answer) | Err(Refused::With(answer)) => {
                    let _ = job.reply.send(answer);
                }
                Err(Refused::Stopped) => self.metrics.stopped(),
            }
        }
    }

    fn answer(&self, job: &Job, stop: Stop<'_>) -> Result<Answer, Refused> {
        unless_stopped(stop)?;
        match job.endpoint {
            Endpoint::Predict => answer::predict(&self.served, &self.bounds, &job.body, stop),
            Endpoint::Explain => answer::explain(&self.served, &self.bounds, &job.body, stop),
        }
    }
}

impl Workers {
    /// Requests that may wait or be worked on at the same time.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

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
