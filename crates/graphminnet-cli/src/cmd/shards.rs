//! `--shard i/n`: one of several processes that share a work, each with its own part of the input.
//!
//! Processes need not know of each other: a shard reads its part, writes its result into a folder that all share, and
//! beside it a record of what it did. Putting the results together checks that they belong together.

use super::model_args::ModelArguments;
use crate::failure::Failure;
use crate::ui::say::say;
use clap::Args;
use graphminnet_data::parts::{InputIdentity, PartFolder, Work};
use graphminnet_data::{ReadOptions, Shard};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Which part of the work is done.
#[derive(Args)]
pub struct ShardArguments {
    /// Do part I of N of the input alone, counted from 1, and leave the result as one of N files in the folder --output.
    #[arg(help_heading = super::MACHINE, long, value_name = "I/N")]
    shard: Option<Shard>,
}

/// A command whose work can be shared out.
pub trait Sharded {
    /// Which part of the work this process does.
    fn shards(&mut self) -> &mut ShardArguments;

    /// Does the work, or the part of it that the arguments say.
    ///
    /// # Errors
    ///
    /// Those of the command.
    fn run(&self) -> Result<ExitCode, Failure>;

    /// Puts together what all parts left behind, after the last of them.
    ///
    /// # Errors
    ///
    /// What is missing or does not fit.
    #[cfg_attr(
        not(feature = "mpi"),
        expect(dead_code, reason = "without MPI a command of its own joins the parts")
    )]
    fn join(self) -> Result<ExitCode, Failure>;
}

impl ShardArguments {
    /// Which shard this process is; `None` if it does the whole work. Everything else follows from this.
    pub fn shard(&self) -> Option<Shard> {
        self.shard
    }

    /// Makes this process another shard, or the one that does the whole work.
    #[cfg(feature = "mpi")]
    pub fn set(&mut self, shard: Option<Shard>) {
        self.shard = shard;
    }

    /// Refuses a shard beside another way to share the work.
    ///
    /// # Errors
    ///
    /// A usage error.
    pub fn refuse(&self, instead: &str) -> Result<(), Failure> {
        match self.shard {
            Some(_) => Err(Failure::usage(format!(
                "--shard and {instead}: the work is shared in one way or the other"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses a folder for parts where there are none.
    ///
    /// # Errors
    ///
    /// A usage error.
    pub fn refuse_folder(&self, folder: Option<&Path>) -> Result<(), Failure> {
        match (self.shard, folder) {
            (None, Some(_)) => Err(Failure::usage(
                "--output: a folder for the parts of several processes; it needs --shard I/N, or ranks that `mpirun` starts",
            )),
            _ => Ok(()),
        }
    }

    /// Begins the part of this process; `None` if it does the whole work.
    ///
    /// # Errors
    ///
    /// A usage error without a folder for the parts; what is wrong with input and models.
    pub fn begin(
        &self,
        command: &str,
        folder: Option<&Path>,
        input: Option<&Path>,
        models: Option<&ModelArguments>,
        settings: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Result<Option<SharedWork>, Failure> {
        let Some(shard) = self.shard() else { return Ok(None) };
        let is_path = |path: &&Path| path.as_os_str() != "-";
        let Some(folder) = folder.filter(is_path) else {
            return Err(Failure::usage("work in shards needs a folder for the parts: --output FOLDER"));
        };
        let Some(input) = input.filter(is_path) else {
            return Err(Failure::usage("work in shards needs a file: --data FILE"));
        };
        let work = Work {
            command: command.to_owned(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            input: InputIdentity::of(input)?,
            models: models.map(ModelArguments::identities).transpose()?.unwrap_or_default(),
            settings: settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        };
        Ok(Some(SharedWork { shard, folder: PartFolder::new(folder), work }))
    }
}

/// The part of a work that this process does.
pub struct SharedWork {
    shard: Shard,
    folder: PartFolder,
    work: Work,
}

impl SharedWork {
    /// Which part it is.
    pub fn shard(&self) -> Shard {
        self.shard
    }

    /// Where its result goes.
    ///
    /// # Errors
    ///
    /// If there can be no such folder.
    pub fn file(&self, extension: &str) -> Result<PathBuf, Failure> {
        Ok(self.folder.file(self.shard, extension)?)
    }

    /// Writes down that the part is done; its file, if it has one, is whole.
    ///
    /// # Errors
    ///
    /// If that cannot be written.
    pub fn finish(self, extension: Option<&str>, rows: usize, without: usize) -> Result<(), Failure> {
        let Self { shard, folder, work } = self;
        folder.record(shard, extension, (rows, without), work)?;
        say!("shard {shard} is done: {}", folder.path().display());
        Ok(())
    }
}

/// How a file is read, as far as it decides the result: not how much memory that may take.
pub fn reading(options: &ReadOptions) -> Result<Value, Failure> {
    let mut options = ReadOptions { schema: None, shard: None, ..options.clone() };
    options.limits.memory_bytes = None;
    Ok(serde_json::to_value(&options)?)
}
