//! `graphminnet data get`: fetches published files.

use crate::failure::Failure;
use crate::ui::say::say;
use clap::Args;
use std::path::Path;
use std::process::ExitCode;

/// What to fetch.
#[derive(Args)]
pub struct Arguments {
    /// Name of the data set, such as zinc.
    name: String,
}

/// Runs the command.
#[cfg(feature = "download")]
pub fn run(arguments: &Arguments, folder: Option<&Path>) -> Result<ExitCode, Failure> {
    use super::import::required_data_dir;
    use crate::ui::progress::{Progress, Unit};
    use crate::ui::say::Verbosity;
    use graphminnet_data::download::{self, Http, download};
    use graphminnet_data::registry::{NotHere, find};
    use graphminnet_data::text::{counted, grouped};
    use graphminnet_data::{Limits, escape};
    use std::io::{Write, stdout};

    let info = find(&arguments.name)?;
    let root = required_data_dir(folder)?;
    say!("{}: {}; licence: {}", info.title, counted(info.files.len(), "published file"), info.licence);
    let progress = Progress::new(Verbosity::Normal, Unit::Bytes);
    let mut tell = |now: download::Progress<'_>| progress.update(now.name, now.bytes, now.total);
    let receipts = download(info, &root, &Http::new(), &Limits::default(), &mut tell);
    drop(progress);
    let receipts = receipts.inspect_err(|_| {
        // All that is missing, where to get it and where to put it; the error then says what went wrong.
        say!("{}", NotHere { info, looked_for: vec![root.join(&info.folder)] });
    })?;
    let mut out = stdout().lock();
    for receipt in receipts {
        let path = escape(&receipt.path.to_string_lossy());
        writeln!(out, "{}  {path}", receipt.sha256)?;
        let origin = if receipt.was_here { "was here already" } else { "fetched" };
        let check = if receipt.was_known { "hash verified" } else { "hash recorded for later downloads" };
        say!("{path}: {origin}, {} bytes, {check}", grouped(receipt.bytes));
    }
    Ok(ExitCode::SUCCESS)
}

/// Says how to fetch the files by other means.
#[cfg(not(feature = "download"))]
pub fn run(arguments: &Arguments, folder: Option<&Path>) -> Result<ExitCode, Failure> {
    use graphminnet_data::DataError;
    use graphminnet_data::registry::{NotHere, data_dir, find};

    let info = find(&arguments.name)?;
    let looked_for = data_dir(folder).map(|root| root.join(&info.folder)).into_iter().collect();
    say!("this program was built without the feature `download`");
    Err(DataError::NotHere(Box::new(NotHere { info, looked_for })).into())
}
