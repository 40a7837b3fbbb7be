//! `graphminnet repro queue`: trains a list of runs in the background of everything else, for days if need be.
//!
//! Every run is a process of its own, started as `graphminnet train … --resume FOLDER` from a copy of this program, so that
//! building it anew disturbs nothing, and a run that fails leaves the others alone. The queue keeps no state but theirs: kill
//! it at any moment, start it again, and it continues with what is left.

use crate::failure::Failure;
use crate::ui::pause::Pause;
use crate::ui::say::Verbosity;
use crate::ui::signals::{INTERRUPTED, Interrupt};
use crate::ui::table::{Align, Table};
use clap::Args;
use graphminnet_data::fs;
use graphminnet_data::registry;
use graphminnet_data::text::duration;
use graphminnet_lab::repro::queue::{GENERATED, Progress, Queue, QueuedRun, seconds_left};
use std::fs::{File, TryLockError};
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Between two looks at the runs.
const LOOK: Duration = Duration::from_millis(200);
/// Between two lines about what is left, where nothing else happens.
const SAY: Duration = Duration::from_secs(60);

/// What to train.
#[derive(Args)]
pub struct Arguments {
    /// The list: a TOML file with a [[run]] per run: name, recipe, and optionally system, set, seeds, graphs.
    #[arg(value_name = "FILE")]
    list: PathBuf,
    /// Directory of the queue: the runs, their logs and a copy of this program.
    #[arg(short, long, value_name = "DIRECTORY")]
    output: PathBuf,
    /// Runs at a time, each with --threads threads (default: as many as there are cores for).
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Threads of each run.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    /// Folder with the benchmark data sets; also GRAPHMINNET_DATA.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Train nothing: show how far every run is.
    #[arg(long)]
    status: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let queue = Queue::parse(&String::from_utf8_lossy(&fs::read(&arguments.list)?))?;
    if arguments.status {
        return status(&queue, &arguments.output);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = arguments.jobs.map_or(cores / usize::from(arguments.threads), usize::from).max(1);
    fs::create_dir(&arguments.output)?;
    let _lock = lock(&arguments.output)?;
    let program = copy_of_this_program(&arguments.output)?;
    let interrupt = Interrupt::listen()?;
    let work = Work { arguments, queue: &queue, jobs, program, pause: Pause::listen()? };
    work.finish(interrupt.heed())
}

/// Two queues in one directory would each find the runs of the other in use, and call them failed.
fn lock(folder: &Path) -> Result<File, Failure> {
    let path = folder.join("lock");
    let file = File::create(&path).map_err(fs::IoError::at("create", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let reason = format!("{}: another process works on this queue", folder.display());
            Err(std::io::Error::other(reason).into())
        }
        Err(TryLockError::Error(error)) => Err(fs::IoError::at("lock", &path)(error).into()),
    }
}

/// Copies this program beside the runs; one that is being executed there is replaced, not overwritten.
fn copy_of_this_program(folder: &Path) -> Result<PathBuf, Failure> {
    let this = std::env::current_exe()?;
    let copy = folder.join(this.file_name().unwrap_or("graphminnet".as_ref()));
    if this == copy {
        return Ok(copy);
    }
    let scratch = fs::scratch_name(&copy);
    std::fs::copy(&this, &scratch)?;
    fs::rename(&scratch, &copy)?;
    Ok(std::path::absolute(copy)?)
}

struct Work<'a> {
    arguments: &'a Arguments,
    queue: &'a Queue,
    jobs: usize,
    program: PathBuf,
    pause: Pause,
}

struct Running<'a> {
    run: &'a QueuedRun,
    child: Child,
}

impl<'a> Work<'a> {
    fn finish(&self, interrupt: &std::sync::atomic::AtomicBool) -> Result<ExitCode, Failure> {
        let verbosity = Verbosity::Normal;
        let mut waiting: Vec<&QueuedRun> = Vec::new();
        for run in &self.queue.runs {
            match run.progress(&self.arguments.output)?.summary {
                Some(_) => verbosity.say(format_args!("{}: done", run.name)),
                None => waiting.push(run),
            }
        }
        waiting.reverse();
        let (mut running, mut failed) = (Vec::<Running<'a>>::new(), 0);
        let (mut paused, mut said) = (false, None::<Instant>);
        loop {
            if interrupt.load(Ordering::Relaxed) {
                verbosity.say(format_args!("interrupted; {} runs save their state", running.len()));
                for Running { child, .. } in &mut running {
                    end(child, paused);
                }
                for Running { child, .. } in &mut running {
                    child.wait()?;
                }
                return Ok(ExitCode::from(INTERRUPTED));
            }
            let pause = self.pause.is_asked() || self.arguments.output.join("pause").exists();
            if pause != paused {
                paused = pause;
                running.iter().for_each(|running| halt(&running.child, paused));
                let how = if paused { "paused" } else { "resumed" };
                verbosity.say(format_args!("{how} {} runs", running.len()));
            }
            let mut ended = false;
            for at in (0..running.len()).rev() {
                if let Some(status) = running[at].child.try_wait()? {
                    let run = running.remove(at).run;
                    ended = true;
                    match status.success() {
                        true => verbosity.say(format_args!("{}: done", run.name)),
                        false => {
                            failed += 1;
                            let log = self.log(run);
                            verbosity.say(format_args!(
                                "{}: failed ({status}); see {}",
                                run.name,
                                log.display()
                            ));
                        }
                    }
                }
            }
            while running.len() < self.jobs && !paused {
                let Some(run) = waiting.pop() else { break };
                verbosity.say(format_args!("{}: started", run.name));
                running.push(Running { run, child: self.start(run)? });
                ended = true;
            }
            if running.is_empty() && waiting.is_empty() {
                break;
            }
            if ended || said.is_none_or(|said| said.elapsed() >= SAY) {
                said = Some(Instant::now());
                self.say_left(&running, &waiting)?;
            }
            std::thread::sleep(LOOK);
        }
        verbosity.say(format_args!("the queue is done; {failed} runs failed"));
        status(self.queue, &self.arguments.output)?;
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn log(&self, run: &QueuedRun) -> PathBuf {
        self.arguments.output.join(format!("{}.log", run.name))
    }

    fn start(&self, run: &QueuedRun) -> Result<Child, Failure> {
        let log = File::options().create(true).append(true).open(self.log(run))?;
        let seeds: Vec<String> = run.seeds.iter().map(ToString::to_string).collect();
        let mut command = Command::new(&self.program);
        command.arg("train");
        let generated = self.is_generated(run)?;
        command.args([if generated { "--generate" } else { "--recipe" }, &run.recipe.name]);
        if let Some(graphs) = run.graphs {
            command.args(["--graphs", &graphs.to_string()]);
        }
        if let (Some(folder), false) = (&self.arguments.data_dir, generated) {
            command.arg("--data-dir").arg(folder);
        }
        for change in &run.changes {
            command.args(["--set", &change.to_string()]);
        }
        command.args(["--seeds", &seeds.join(","), "--threads", &self.arguments.threads.to_string()]);
        command.arg("--background").arg("--resume").arg(run.folder(&self.arguments.output));
        Ok(command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?)
    }

    /// Whether the data is generated: so many graphs were asked for, or there is no copy of the published ones.
    fn is_generated(&self, run: &QueuedRun) -> Result<bool, Failure> {
        if run.graphs.is_some() || !GENERATED.contains(&run.recipe.name.as_str()) {
            return Ok(run.graphs.is_some());
        }
        let info = registry::find(&run.recipe.dataset)?;
        Ok(registry::locate(info, self.arguments.data_dir.as_deref()).is_err())
    }

    /// One line: what runs, how far it is, and the time that is left.
    fn say_left(&self, running: &[Running<'_>], waiting: &[&QueuedRun]) -> Result<(), Failure> {
        let folder = &self.arguments.output;
        let open = running.iter().map(|running| running.run).chain(waiting.iter().rev().copied());
        let progress = open.map(|run| run.progress(folder)).collect::<Result<Vec<Progress>, _>>()?;
        let (left, unknown) = seconds_left(&progress, self.jobs);
        let now: Vec<String> = running
            .iter()
            .zip(&progress)
            .map(|(running, progress)| format!("{} {}/{}", running.run.name, progress.done, progress.epochs))
            .collect();
        let left = match unknown {
            all if all == progress.len() => "time left: known after an epoch".to_owned(),
            0 => format!("about {} left", duration(left)),
            some => format!("about {} left, without {some} that have no epoch yet", duration(left)),
        };
        Verbosity::Normal.say(format_args!("{}; {} waiting; {left}", now.join(", "), waiting.len()));
        Ok(())
    }
}

/// Shows how far every run is.
fn status(queue: &Queue, folder: &Path) -> Result<ExitCode, Failure> {
    let mut table = Table::new(&[
        ("run", Align::Left),
        ("epochs", Align::Right),
        ("s/epoch", Align::Right),
        ("left", Align::Right),
        ("valid", Align::Right),
        ("test", Align::Right),
    ]);
    for run in &queue.runs {
        let progress = run.progress(folder)?;
        let metric = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.4}"));
        let mean = |of: fn(&graphminnet::train::Summary) -> Option<graphminnet::train::MeanStd>| {
            metric(progress.summary.as_ref().and_then(of).map(|value| value.mean))
        };
        table.row([
            run.name.clone(),
            format!("{}/{}", progress.done, progress.epochs),
            progress.seconds_per_epoch.map_or_else(|| "–".to_owned(), |seconds| format!("{seconds:.1}")),
            progress.seconds_left().map_or_else(|| "–".to_owned(), duration),
            mean(|summary| summary.valid),
            mean(|summary| summary.test),
        ]);
    }
    write!(stdout().lock(), "{table}")?;
    Ok(ExitCode::SUCCESS)
}

/// Asks a run to save its state and end.
#[cfg(unix)]
fn end(child: &mut Child, paused: bool) {
    use rustix::process::{Pid, Signal, kill_process};
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    if paused {
        halt(child, false);
    }
}

/// Ends a run; it resumes from the last state that it saved.
#[cfg(not(unix))]
fn end(child: &mut Child, _: bool) {
    let _ = child.kill();
}

/// Takes a run from the processor, or gives it back.
#[cfg(unix)]
fn halt(child: &Child, stop: bool) {
    use rustix::process::{Pid, Signal, kill_process};
    let _ = kill_process(Pid::from_child(child), if stop { Signal::STOP } else { Signal::CONT });
}

/// Here running runs cannot be taken from the processor; no further ones are started.
#[cfg(not(unix))]
fn halt(_: &Child, _: bool) {}
