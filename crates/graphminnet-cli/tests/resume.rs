//! A run that is killed, interrupted, damaged or out of disk space ends with the same bits as one that was not.
#![cfg(unix)]

#[path = "common/bits.rs"]
mod bits;

use bits::Bits;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

const KILLS: usize = 20;

/// The run that all tests do: tiny, saving its state after every step, so that most of its time is spent saving.
fn train() -> Command {
    let mut command = graphminnet();
    command.args(["train", "--generate", "ring-transfer", "--graphs", "48", "-v"]);
    for field in [
        "model.hidden=8",
        "model.layers=2",
        "model.lap_dim=4",
        "model.pe_dim=2",
        "train.epochs=20",
        "train.batch_size=8",
        "train.checkpoint_steps=1",
    ] {
        command.args(["--set", field]);
    }
    command
}

fn resume(run: &Path) -> Command {
    let mut command = graphminnet();
    command.args(["train", "-v", "--resume"]).arg(run);
    command
}

fn graphminnet() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_graphminnet"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn with_threads(mut command: Command, threads: usize) -> Command {
    command.args(["--no-cache", "--threads", &threads.to_string()]);
    command
}

fn run_to_end(command: Command, threads: usize) -> Output {
    let output = with_threads(command, threads).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn bits(run: &Path) -> Bits {
    bits::bits(run).unwrap()
}

fn undisturbed(folder: &Path) -> Bits {
    let run = folder.join("undisturbed");
    let mut command = train();
    command.arg("--run-dir").arg(&run);
    run_to_end(command, 2);
    let bits = bits(&run);
    assert_eq!(bits.metrics.len(), 3 * 20);
    bits
}

/// The fixed sequence of pseudo-random numbers that decides when to kill.
struct Moments(u64);

impl Moments {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn saving(run: &Path) -> bool {
    let entries = fs::read_dir(run.join("seed-0/state")).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().contains(".tmp-"))
}

/// Starts a run and waits until it has saved a state.
fn started(run: &Path, threads: usize) -> Child {
    let mut command = train();
    command.arg("--run-dir").arg(run);
    let mut child =
        with_threads(command, threads).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while !run.join("seed-0/state/CURRENT").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it saved anything");
        assert!(start.elapsed() < Duration::from_secs(60), "the run does not start");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

#[test]
fn a_run_killed_twenty_times_ends_with_the_same_bits_for_one_and_two_threads() {
    let folder = tempfile::tempdir().unwrap();
    let expected = undisturbed(folder.path());
    for threads in [1, 2] {
        let mut moments = Moments(threads as u64);
        let (mut runs, mut kills, mut kills_while_saving) = (0, 0, 0);
        // A fast machine may finish a run before it was killed often enough: then another one has to suffer.
        while kills < KILLS {
            let run = folder.path().join(format!("killed-{threads}-{runs}"));
            runs += 1;
            let mut child = started(&run, threads);
            while kills < KILLS {
                // Every other time at a random moment, otherwise as soon as a save is under way.
                let patience = Instant::now() + Duration::from_millis(20 + moments.below(120));
                let during_a_save = kills % 2 == 0;
                while Instant::now() < patience || during_a_save && !saving(&run) {
                    if child.try_wait().unwrap().is_some()
                        || Instant::now() > patience + Duration::from_secs(20)
                    {
                        break;
                    }
                }
                if child.try_wait().unwrap().is_some() {
                    break;
                }
                kills_while_saving += usize::from(saving(&run));
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
                child = with_threads(resume(&run), threads)
                    .stderr(Stdio::null())
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap();
            }
            let _ = child.kill();
            child.wait().unwrap();
            run_to_end(resume(&run), threads);
            assert!(bits(&run) == expected, "{threads} threads, run {runs}: the bits differ");
        }
        println!("{threads} threads: {kills} kills in {runs} runs, {kills_while_saving} during a save");
        assert!(kills_while_saving > 0, "no kill hit a save");
    }
}

fn signal(child: &Child, name: &str) -> ExitStatus {
    Command::new("kill").args([name, &child.id().to_string()]).status().unwrap()
}

#[test]
fn ctrl_c_saves_and_exits_with_130_and_the_run_goes_on_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let expected = undisturbed(folder.path());
    let run = folder.path().join("interrupted");
    let mut child = started(&run, 2);
    // Twice at once, as `timeout` does: that is still one interruption.
    assert!(signal(&child, "-INT").success());
    assert!(signal(&child, "-INT").success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!run.join("summary.json").exists());
    run_to_end(resume(&run), 2);
    assert!(bits(&run) == expected, "the bits differ");
    // A run that is done says so again and changes nothing.
    run_to_end(resume(&run), 2);
    assert!(bits(&run) == expected, "the bits differ");
}

fn newest_state(run: &Path) -> PathBuf {
    let state = run.join("seed-0/state");
    state.join(fs::read_to_string(state.join("CURRENT")).unwrap().trim())
}

fn interrupted(run: &Path) {
    let mut child = started(run, 2);
    // Two states, so that there is one to fall back to.
    let is_state = |entry: &fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("step-") && !name.contains(".tmp-")
    };
    while fs::read_dir(run.join("seed-0/state")).unwrap().flatten().filter(is_state).count() < 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_damaged_state_is_reported_and_the_one_before_it_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let expected = undisturbed(folder.path());
    let run = folder.path().join("damaged");
    interrupted(&run);
    let file = newest_state(&run).join("model.safetensors");
    let mut bytes = fs::read(&file).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&file, bytes).unwrap();
    let output = run_to_end(resume(&run), 2);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("cannot be used") && said.contains("model.safetensors"), "{said}");
    assert!(bits(&run) == expected, "the bits differ");
}

#[test]
fn without_any_intact_state_the_run_is_not_continued_by_guessing() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("damaged");
    interrupted(&run);
    for entry in
        fs::read_dir(run.join("seed-0/state")).unwrap().flatten().filter(|entry| entry.path().is_dir())
    {
        fs::write(entry.path().join("optim.safetensors"), b"").unwrap();
    }
    let output = with_threads(resume(&run), 2).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("no saved state") && said.contains("optim.safetensors"), "{said}");
}

/// A file-size limit makes writes fail half-way, as a full disk does.
#[test]
fn a_full_disk_is_reported_and_the_last_good_state_survives() {
    let folder = tempfile::tempdir().unwrap();
    let expected = undisturbed(folder.path());
    let run = folder.path().join("full");
    interrupted(&run);
    let limited = with_threads(resume(&run), 2);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\""]).arg(limited.get_program());
    let output = shell.args(limited.get_args()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("could not be saved") && said.contains("safetensors"), "{said}");
    assert!(newest_state(&run).join("MANIFEST.json").exists());
    run_to_end(resume(&run), 2);
    assert!(bits(&run) == expected, "the bits differ");
}

/// The same on a file system that is really full: a small one in memory, which only this test sees.
#[test]
#[ignore = "needs the right to mount a file system"]
fn a_file_system_without_space_is_reported_and_the_last_good_state_survives() {
    let folder = tempfile::tempdir().unwrap();
    let expected = undisturbed(folder.path());
    let run = folder.path().join("full");
    interrupted(&run);
    let mount = folder.path().join("mount");
    fs::create_dir(&mount).unwrap();
    // The run as it is, and room for less than one more state.
    let script = r#"
        size=$(( $(du -sk "$1" | cut -f1) + 24 ))
        mount -t tmpfs -o size=${size}k tmpfs "$2" && cp -a "$1" "$2/run" || exit 77
        "$3" train -v --no-cache --threads 2 --resume "$2/run"
        code=$?
        rm -rf "$1" && cp -a "$2/run" "$1" && exit $code
    "#;
    let mut namespace = Command::new("unshare");
    namespace.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    namespace.arg(&run).arg(&mount).arg(env!("CARGO_BIN_EXE_graphminnet"));
    let output = namespace.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("could not be saved") && said.contains("No space left"), "{said}");
    assert!(newest_state(&run).join("MANIFEST.json").exists());
    run_to_end(resume(&run), 2);
    assert!(bits(&run) == expected, "the bits differ");
}

#[test]
fn a_directory_that_cannot_be_written_is_reported_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a-file");
    fs::write(&file, b"").unwrap();
    let mut command = train();
    command.arg("--run-dir").arg(file.join("run"));
    let output = with_threads(command, 1).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("a-file/run"), "{said}");
}

#[test]
#[ignore = "needs a user who is not root"]
fn a_read_only_state_directory_is_reported_and_the_state_survives() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("read-only");
    interrupted(&run);
    let state = run.join("seed-0/state");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o555)).unwrap();
    assert!(fs::write(state.join("probe"), b"").is_err(), "this user may write to read-only directories");
    let output = with_threads(resume(&run), 1).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("could not be saved"), "{said}");
    run_to_end(resume(&run), 1);
}

#[test]
fn a_run_is_never_overwritten_nor_shared() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut child = started(&run, 1);
    let output = with_threads(resume(&run), 1).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("in use"));
    child.kill().unwrap();
    child.wait().unwrap();
    let mut command = train();
    command.arg("--run-dir").arg(&run);
    let output = with_threads(command, 1).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("never overwritten"));
}
