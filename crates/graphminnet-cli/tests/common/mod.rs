//! Runs the real command in a folder of its own.
#![allow(dead_code, unused_imports)]
pub mod molecules;
#[path = "../../../graphminnet-data/tests/common/real_data.rs"]
mod real_data;
pub mod server;

pub use real_data::real_data;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder that is removed again, in which commands run.
pub struct Workspace(tempfile::TempDir);

/// What a command did.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Workspace {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub fn copy_fixture(&self, name: &str) {
        std::fs::copy(tests().join("fixtures").join(name), self.path(name)).unwrap();
    }

    /// The command with arguments separated by blanks, without the user's own data and cache folders.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_graphminnet"));
        command.args(arguments.split_whitespace()).current_dir(self.0.path());
        command.env_remove("GRAPHMINNET_DATA").env("GRAPHMINNET_CACHE", self.path("default-cache"));
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, arguments: &str) -> Run {
        self.run_with(arguments, &[])
    }

    pub fn run_with(&self, arguments: &str, variables: &[(&str, &str)]) -> Run {
        let output = self.command(arguments).envs(variables.iter().copied()).output().unwrap();
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Compares both streams with a stored text. `UPDATE_SNAPSHOTS=1` stores what there is now instead.
    pub fn matches_snapshot(&self, name: &str) {
        let path = tests().join("snapshots").join(format!("{name}.txt"));
        let found = format!("--- stdout\n{}--- stderr\n{}", self.stdout, self.stderr);
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            std::fs::write(&path, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == expected, "{} differs; found:\n{found}\nexpected:\n{expected}", path.display());
    }
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// A small archive in a published layout.
pub fn published_fixture(name: &str) -> PathBuf {
    tests().join("../../graphminnet-data/tests/fixtures/import").join(name)
}
