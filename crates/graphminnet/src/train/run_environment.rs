//! Where a run was started: the command and the machine. None of it decides a number of the run.

use graphminnet_data::text::shell_word;
use serde::{Deserialize, Serialize};

/// The command that started a run and the machine that it was started on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RunEnvironment {
    /// The command line, as a shell takes it.
    pub command: String,
    /// Name of the processor, where the system tells it.
    pub processor: Option<String>,
    /// Architecture and operating system.
    pub system: String,
    /// Threads that the run may use.
    pub threads: usize,
}

impl RunEnvironment {
    /// The environment of this process, for a command given as its arguments, the name of the program first.
    pub(crate) fn current(arguments: impl IntoIterator<Item = String>) -> Self {
        let command: Vec<String> = arguments.into_iter().map(|argument| shell_word(&argument)).collect();
        let processor = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        });
        Self {
            command: command.join(" "),
            processor,
            system: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
            threads: rayon::current_num_threads(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let words = ["graphminnet", "--set", "train.epochs=2", "a b", "it's", ""].map(str::to_owned);
        let environment = RunEnvironment::current(words);
        assert_eq!(environment.command, "graphminnet --set train.epochs=2 'a b' 'it'\\''s' ''");
        assert!(environment.threads > 0);
    }
}
