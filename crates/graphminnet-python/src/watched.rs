//! Work on a thread of its own that tells Python how it goes on.
//!
//! The thread of the call, the only one that may see Ctrl-C, waits for what the work has to say, hands it to Python, and
//! looks for signals in between. A report waits until Python has taken note of it, so an exception there stops a run
//! right after the epoch that it is about.

use crate::calls::{Caller, Reply};
use crate::pool::{self, Threads};
use graphminnet::train::{EpochReport, Loaded, Observer, TrainEvent};
use graphminnet_cli::Failure;
use graphminnet_data::preparation::Transform;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often signals are looked for, and the least time between two reports of steps.
const PATIENCE: Duration = Duration::from_millis(50);

/// What a run may use: a channel to Python, and the flag by which it is stopped.
pub struct Job<'a> {
    /// Set when the work is to stop.
    pub interrupt: &'a AtomicBool,
    /// A message, and where to say that it was taken note of.
    messages: SyncSender<(Value, SyncSender<()>)>,
    said_step: Instant,
}

impl Job<'_> {
    /// Fails if the work is to stop; Python's exception takes the place of the failure.
    pub fn go_on(&self) -> Result<(), Failure> {
        if self.interrupt.load(Ordering::Relaxed) { Err(Failure::usage("interrupted")) } else { Ok(()) }
    }

    /// Says something, and waits until it is taken note of.
    pub fn say(&self, message: Value) {
        let (taken, done) = sync_channel(1);
        if self.messages.send((message, taken)).is_ok() {
            let _ = done.recv();
        }
    }

    /// Whether it is time for another of many messages.
    fn is_time(&mut self) -> bool {
        let is_time = self.said_step.elapsed() >= PATIENCE;
        if is_time {
            self.said_step = Instant::now();
        }
        is_time
    }
}

impl Observer for Job<'_> {
    fn loaded(&mut self, data: &Loaded) {
        let bad: Vec<String> = data.report.bad_rows.iter().map(ToString::to_string).collect();
        self.say(json!({
            "event": "loaded",
            "text": data.in_words(),
            "notes": data.report.notes,
            "left_out": bad,
        }));
    }

    fn preparing(&mut self, transform: Transform, done: usize, total: usize) {
        if self.is_time() {
            let what = match transform {
                Transform::Eigenpairs => "eigenpairs",
                Transform::RandomWalk => "random walks",
            };
            self.say(json!({ "event": "preparing", "what": what, "done": done, "total": total }));
        }
    }

    fn event(&mut self, event: &TrainEvent) {
        match event {
            TrainEvent::SeedStarted { seed, parameters, epochs, steps_per_epoch, resumed_at } => {
                self.say(json!({
                    "event": "seed",
                    "seed": seed,
                    "parameters": parameters,
                    "epochs": epochs,
                    "steps": steps_per_epoch,
                    "resumed_at": resumed_at.map(|at| at.epoch),
                }));
            }
            TrainEvent::Step { epoch, step, steps, .. } if self.is_time() => {
                self.say(json!({ "event": "step", "epoch": epoch, "step": step, "steps": steps }));
            }
            TrainEvent::Epoch(report) => self.say(epoch(report)),
            TrainEvent::EarlyStop { epoch, best } => {
                self.say(json!({ "event": "early_stop", "epoch": epoch, "best": best }));
            }
            TrainEvent::StateDamaged(problem) => {
                let text = format!("a saved state cannot be used, an earlier one is: {problem}");
                self.say(json!({ "event": "warning", "text": text }));
            }
            TrainEvent::TakenOver(taken) => self.say(json!({ "event": "note", "text": taken.to_string() })),
            TrainEvent::Doubt(text) => self.say(json!({ "event": "warning", "text": text })),
            TrainEvent::Undefined { split, reason, .. } => {
                let text = format!("the metric of the {split} part has no value: {reason}");
                self.say(json!({ "event": "warning", "text": text }));
            }
            TrainEvent::Disagreement(loss) => {
                let text = format!(
                    "the model answers otherwise in evaluation (loss {:.4}) than in training (loss {:.4})",
                    loss.in_evaluation, loss.in_training
                );
                self.say(json!({ "event": "warning", "text": text }));
            }
            TrainEvent::SeedFinished(result) => {
                self.say(json!({ "event": "seed_finished", "result": result }));
            }
            _ => {}
        }
    }
}

fn epoch(report: &EpochReport) -> Value {
    json!({
        "event": "epoch",
        "epoch": report.epoch,
        "epochs": report.epochs,
        "learning_rate": report.learning_rate,
        "loss": report.train_loss,
        "train": report.train,
        "valid": report.valid,
        "test": report.test,
        "worst_valid": report.worst_valid,
        "improved": report.improved,
        "seconds": report.seconds,
        "graphs_per_second": report.graphs_per_second,
    })
}

/// Does some work on a thread of its own, while this one listens to it and to signals.
pub fn watched(
    threads: Threads,
    caller: &mut dyn Caller,
    work: impl FnOnce(&mut Job<'_>) -> Result<Reply, Failure> + Send,
) -> Result<Reply, Failure> {
    let interrupt = AtomicBool::new(false);
    let (messages, inbox) = sync_channel::<(Value, SyncSender<()>)>(0);
    thread::scope(|scope| {
        let interrupt = &interrupt;
        let run = scope.spawn(move || {
            let mut job = Job { interrupt, messages, said_step: Instant::now() };
            pool::install(threads, || work(&mut job))
        });
        loop {
            let goes_on = match inbox.recv_timeout(PATIENCE) {
                Ok((message, taken)) => {
                    let goes_on = caller.tell(&message.to_string());
                    if !goes_on {
                        // Before the run goes on.
                        interrupt.store(true, Ordering::Relaxed);
                    }
                    let _ = taken.send(());
                    goes_on
                }
                Err(RecvTimeoutError::Timeout) => caller.is_patient(),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if !goes_on {
                interrupt.store(true, Ordering::Relaxed);
            }
        }
        run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
