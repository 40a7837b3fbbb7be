//! Threads that answer requests, each with a model of its own; a bounded queue before them.

use super::Bounds;
use super::answer::{self, Answer};
use crate::failure::Failure;
use graphminnet::bundle::Bundle;
use graphminnet::explain::Explainer;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// Requests that may wait per worker; more are told to come back.
const WAITING_PER_WORKER: usize = 64;

/// What a request wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Predictions.
    Predict,
    /// Which nodes and edges they rest on.
    Explain,
}

struct Job {
    wish: Wish,
    body: Vec<u8>,
    reply: oneshot::Sender<Answer>,
}

/// The way to the workers; they end when it is dropped.
pub struct Workers {
    queue: SyncSender<Job>,
    /// `GET /model`.
    pub description: String,
}

/// Loads the model and starts the threads.
///
/// # Errors
///
/// If the model cannot be loaded or a thread not started.
pub fn start(path: &Path, threads: usize, bounds: Bounds) -> Result<Workers, Failure> {
    let (queue, jobs) = sync_channel(WAITING_PER_WORKER * threads);
    let jobs = Arc::new(Mutex::new(jobs));
    let mut description = String::new();
    for number in 0..threads {
        let bundle = Bundle::load(path)?;
        description = answer::describe(&bundle);
        let explainer = Explainer::new(&bundle);
        let jobs = Arc::clone(&jobs);
        // Requests run side by side, so each stays on one thread.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(Failure::usage)?;
        std::thread::Builder::new()
            .name(format!("worker-{number}"))
            .spawn(move || pool.install(|| work(&bundle, &explainer, &bounds, &jobs)))?;
    }
    Ok(Workers { queue, description })
}

fn work(bundle: &Bundle, explainer: &Explainer, bounds: &Bounds, jobs: &Mutex<Receiver<Job>>) {
    loop {
        // The lock is released before the work begins.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // Whoever gave up waiting need not be served.
        if job.reply.is_closed() {
            continue;
        }
        // A request that shows a mistake of ours must not take the worker with it.
        let answer = catch_unwind(AssertUnwindSafe(|| match job.wish {
            Wish::Predict => answer::predict(bundle, bounds, &job.body),
            Wish::Explain => answer::explain(bundle, explainer, bounds, &job.body),
        }));
        let _ = job
            .reply
            .send(answer.unwrap_or_else(|_| Answer::error(500, "this request made the server stumble")));
    }
}

impl Workers {
    /// Puts a request into the queue; its answer comes later. An answer at once if the queue is full.
    pub fn submit(&self, wish: Wish, body: Vec<u8>) -> Result<oneshot::Receiver<Answer>, Answer> {
        let (reply, answer) = oneshot::channel();
        match self.queue.try_send(Job { wish, body, reply }) {
            Ok(()) => Ok(answer),
            Err(TrySendError::Full(_)) => Err(Answer::error(503, "too many requests are waiting; try again")),
            Err(TrySendError::Disconnected(_)) => Err(Answer::error(503, "the server is stopping")),
        }
    }
}
