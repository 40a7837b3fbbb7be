//! Every call by which a short training writes to the disk fails once, or is the moment at which the process is killed;
//! then the run goes on, and must end with the bits of one that nothing happened to.
//!
//! ```text
//! cargo test -p graphminnet-cli --test faults -- --ignored --nocapture
//! ```
//!
//! The calls are caught in the C library: `common/faults.c` is compiled with `cc` and loaded before it.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

#[path = "common/bits.rs"]
mod bits;

use bits::{Bits, bits};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const KINDS: [&str; 4] = ["ENOSPC", "EIO", "KILL", "TORN"];

/// A folder per point, a run and a cache in each.
struct Campaign {
    folder: tempfile::TempDir,
    shim: PathBuf,
}

/// One point: at which call what happens.
#[derive(Clone, Copy)]
struct Fault {
    at: usize,
    kind: &'static str,
}

impl Campaign {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shim = folder.path().join("faults.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common/faults.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&shim).arg(source).arg("-ldl");
        assert!(compiler.status().expect("this test needs a C compiler").success());
        Self { folder, shim }
    }

    /// The same line starts a run and goes on with it; it saves its state after every step.
    fn train(&self, name: &str) -> Command {
        let run = self.run(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_graphminnet"));
        command.args(["train", "--generate", "ring-transfer", "--graphs", "12", "-v", "--threads", "1"]);
        for field in [
            "model.hidden=4",
            "model.layers=1",
            "model.lap_dim=2",
            "model.pe_dim=2",
            "train.epochs=2",
            "train.batch_size=6",
            "train.checkpoint_steps=1",
        ] {
            command.args(["--set", field]);
        }
        command.arg("--resume").arg(&run).env("GRAPHMINNET_CACHE", run.with_extension("cache"));
        command
    }

    fn run(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.run(name).with_extension("log")
    }

    fn train_with(&self, name: &str, fault: Option<Fault>) -> Output {
        let mut command = self.train(name);
        command.env("LD_PRELOAD", &self.shim).env("FAULT_LOG", self.log(name));
        if let Some(Fault { at, kind }) = fault {
            command.env("FAULT_AT", at.to_string()).env("FAULT_KIND", kind);
        }
        command.output().unwrap()
    }

    /// What the run lost, if anything.
    fn loss(&self, fault: Fault, expected: &Bits) -> Result<(), String> {
        let name = format!("{}-{}", fault.at, fault.kind);
        let hit = self.train_with(&name, Some(fault));
        let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
        if hit.status.code() == Some(101) || said(&hit).contains("panicked") {
            return Err(format!("panic: {}", said(&hit)));
        }
        if fault.kind.starts_with('E') && hit.status.code().is_none() {
            return Err(format!("{}: {}", hit.status, said(&hit)));
        }
        let run = self.run(&name);
        let saved = self.saved_states(&name, fault);
        let current = fs::read_to_string(run.join("seed-0/state/CURRENT")).unwrap_or_default();
        let progress: usize = current.trim().trim_start_matches("step-").parse().unwrap_or(0);
        if progress < saved {
            return Err(format!("{saved} states were saved, and the newest that is there is `{current}`"));
        }
        let resumed = self.train(&name).output().unwrap();
        if !resumed.status.success() || said(&resumed).contains("cannot be used") {
            return Err(format!("{}: {}", resumed.status, said(&resumed)));
        }
        match bits(&run) {
            Ok(bits) if bits == *expected => {
                // Thousands of them would fill a disk.
                fs::remove_dir_all(&run).map_err(|error| error.to_string())
            }
            Ok(_) => Err("the bits differ".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// States that were whole and named before the fault.
    fn saved_states(&self, name: &str, fault: Fault) -> usize {
        let log = fs::read_to_string(self.log(name)).unwrap();
        let before = log.lines().take(fault.at - 1);
        before.filter(|line| line.contains(" rename ") && line.ends_with("/state/CURRENT")).count()
    }
}

#[test]
#[ignore = "takes minutes, and a C compiler"]
fn no_call_that_fails_and_no_kill_loses_a_run() {
    let campaign = Campaign::new();
    let undisturbed = campaign.train_with("undisturbed", None);
    assert!(undisturbed.status.success(), "{}", String::from_utf8_lossy(&undisturbed.stderr));
    let expected = bits(&campaign.run("undisturbed")).unwrap();
    let log = fs::read_to_string(campaign.log("undisturbed")).unwrap();
    let is_write = |line: &str| line.contains(" write ") || line.contains(" pwrite64 ");
    let calls = log.lines().count();
    assert!(calls > 100, "only {calls} calls were caught:\n{log}");

    let points: Vec<Fault> = log
        .lines()
        .enumerate()
        .flat_map(|(before, line)| {
            let kinds = KINDS.into_iter().filter(move |kind| *kind != "TORN" || is_write(line));
            kinds.map(move |kind| Fault { at: before + 1, kind })
        })
        .collect();
    let (next, losses) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(&fault) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(loss) = campaign.loss(fault, &expected) {
                        losses.lock().unwrap().push((fault, loss));
                    }
                }
            });
        }
    });
    let losses = losses.into_inner().unwrap();
    let mut table =
        format!("{calls} calls that write; {} points tried, {} lost\n", points.len(), losses.len());
    for kind in KINDS {
        let tried = points.iter().filter(|fault| fault.kind == kind).count();
        let lost = losses.iter().filter(|(fault, _)| fault.kind == kind).count();
        writeln!(table, "{kind:>6}: {tried} tried, {lost} lost").unwrap();
    }
    for (Fault { at, kind }, loss) in &losses {
        let call = log.lines().nth(at - 1).unwrap_or_default();
        writeln!(table, "{kind} at {call}: {loss}").unwrap();
    }
    print!("{table}");
    assert!(losses.is_empty(), "{} of {} points lost something", losses.len(), points.len());
}
