//! Fetches published files: resumes where it stopped, verifies, and only then gives a file its name.
//!
//! ```
//! use graphminnet_data::Limits;
//! use graphminnet_data::download::{Response, Transport, download};
//! use graphminnet_data::registry::find;
//!
//! struct Offline;
//! impl Transport for Offline {
//!     fn get(&self, _url: &str, _start: u64) -> Result<Response, String> {
//!         Err("no network".to_owned())
//!     }
//! }
//! # let folder = std::env::temp_dir().join(format!("graphminnet-download-example-{}", std::process::id()));
//! let answer = download(find("zinc")?, &folder, &Offline, &Limits::default(), &mut |_| {});
//! assert!(answer.unwrap_err().to_string().contains("no network"));
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Bytes go to `NAME.part`. A later call asks the server for the rest. A finished file must have the size and SHA-256 of
//! the registry. Where the registry has none, the hash of the first download is recorded in `SHA256SUMS` beside the file
//! (in the format of the `sha256sum` tool) and later ones must equal it. Nothing ever prompts, and nothing is fetched
//! unless this function is called.
//!
//! The network itself is a [`Transport`]; the one for HTTP and HTTPS is behind the cargo feature `download`, which adds a
//! TLS stack without C code (64-bit x86 and ARM only).

#[cfg(feature = "download")]
mod http;
mod sums;

#[cfg(feature = "download")]
pub use http::Http;

#[doc(hidden)] // For the command, which checks files that are there already.
pub use sums::recorded as recorded_hash;

use super::registry::{DatasetInfo, PublishedFile};
use super::{DataError, Limits};
use crate::fs::hash_file;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// What a server answered.
pub struct Response {
    /// Byte at which the body begins: what was asked for, or 0 if the server sends everything.
    pub start: u64,
    /// Size of the whole file, where the server says.
    pub total: Option<u64>,
    /// The bytes.
    pub body: Box<dyn Read>,
}

/// A way to get bytes from an address.
pub trait Transport {
    /// Asks for a file from byte `start` on.
    ///
    /// # Errors
    ///
    /// What went wrong, in words.
    fn get(&self, url: &str, start: u64) -> Result<Response, String>;
}

/// How far a download is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Name of the file.
    pub name: &'a str,
    /// Bytes on disk.
    pub bytes: u64,
    /// Bytes there will be, where known.
    pub total: Option<u64>,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: String,
    /// Whether the hash was known before; if not, it has been recorded now.
    pub was_known: bool,
    /// Whether it was there already.
    pub was_here: bool,
}

/// Gets all published files of a data set into its folder below `data_folder`.
///
/// # Errors
///
/// [`DataError::Download`] with every address that was tried and why it failed, or what does not agree;
/// [`DataError::Io`].
pub fn download(
    info: &DatasetInfo,
    data_folder: &Path,
    transport: &dyn Transport,
    limits: &Limits,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<Receipt>, DataError> {
    let folder = data_folder.join(&info.folder);
    fs::create_dir_all(&folder).map_err(DataError::io(&folder, "create"))?;
    info.files.iter().map(|file| fetch(file, &folder, transport, limits, progress)).collect()
}

fn fetch(
    file: &PublishedFile,
    folder: &Path,
    transport: &dyn Transport,
    limits: &Limits,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Receipt, DataError> {
    let path = folder.join(&file.name);
    let known = match &file.sha256 {
        Some(hash) => Some(hash.clone()),
        None => sums::recorded(folder, &file.name)?,
    };
    let was_here = path.is_file();
    let finished = if was_here {
        path.clone()
    } else {
        let part = folder.join(format!("{}.part", file.name));
        fetch_part(file, &part, transport, limits, progress)?;
        part
    };
    let (bytes, sha256) = hash_file(&finished)?;
    let refuse = |reason: String| {
        let url = file.urls.first().cloned().unwrap_or_default();
        let advice = if was_here {
            format!("; delete {} to fetch it again", finished.display())
        } else {
            "; the partial file was removed".to_owned()
        };
        Err(DataError::Download { url, reason: format!("{}: {reason}{advice}", file.name) })
    };
    let problem = match (file.size, &known) {
        (Some(size), _) if size != bytes => Some(format!("{bytes} bytes, expected {size}")),
        (_, Some(hash)) if *hash != sha256 => Some(format!("SHA-256 {sha256}, expected {hash}")),
        _ => None,
    };
    if let Some(reason) = problem {
        if !was_here {
            fs::remove_file(&finished).map_err(DataError::io(&finished, "remove"))?;
        }
        return refuse(reason);
    }
    if known.is_none() {
        sums::record(folder, &file.name, &sha256)?;
    }
    if !was_here {
        fs::rename(&finished, &path).map_err(DataError::io(&path, "rename into place"))?;
    }
    Ok(Receipt { path, bytes, sha256, was_known: known.is_some(), was_here })
}

/// Completes the partial file from the first address that works.
fn fetch_part(
    file: &PublishedFile,
    part: &Path,
    transport: &dyn Transport,
    limits: &Limits,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), DataError> {
    let mut failures = Vec::new();
    for url in &file.urls {
        match fetch_from(url, file, part, transport, limits, progress) {
            Ok(()) => return Ok(()),
            Err(Failure::Local(error)) => return Err(error),
            Err(Failure::Remote(reason)) => failures.push(format!("{url}: {reason}")),
        }
    }
    Err(DataError::Download {
        url: file.urls.first().cloned().unwrap_or_default(),
        reason: format!(
            "{} could not be fetched ({}); get it by other means and put it at {}",
            file.name,
            failures.join("; "),
            part.with_extension("").display()
        ),
    })
}

/// Whether another address may help.
enum Failure {
    Remote(String),
    Local(DataError),
}

fn fetch_from(
    url: &str,
    file: &PublishedFile,
    part: &Path,
    transport: &dyn Transport,
    limits: &Limits,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), Failure> {
    let local = |action| move |source| Failure::Local(DataError::io(part, action)(source));
    let have = fs::metadata(part).map_or(0, |metadata| metadata.len());
    if file.size == Some(have) && have > 0 {
        return Ok(());
    }
    let response = transport.get(url, have).map_err(Failure::Remote)?;
    let largest = file.size.unwrap_or(limits.total_bytes);
    if response.start != 0 && response.start != have {
        return Err(Failure::Remote(format!(
            "the server sent from byte {} instead of {have}",
            response.start
        )));
    }
    if let Some(total) =
        response.total.filter(|total| *total > largest || file.size.is_some_and(|size| size != *total))
    {
        return Err(Failure::Remote(format!(
            "the server announces {total} bytes, expected {largest} or fewer"
        )));
    }
    let mut out = if response.start > 0 {
        OpenOptions::new().append(true).open(part).map_err(local("open"))?
    } else {
        File::create(part).map_err(local("create"))?
    };
    let mut bytes = response.start;
    let mut body = response.body;
    let mut buffer = vec![0u8; 1 << 16];
    loop {
        let count = match body.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::Remote(format!("after {bytes} bytes: {error}"))),
        };
        bytes += count as u64;
        if bytes > largest {
            return Err(Failure::Remote(format!("more than {largest} bytes")));
        }
        out.write_all(buffer.get(..count).unwrap_or_default()).map_err(local("write"))?;
        progress(Progress { name: &file.name, bytes, total: file.size.or(response.total) });
    }
    out.sync_all().map_err(local("flush"))?;
    match response.total {
        Some(total) if total != bytes => {
            Err(Failure::Remote(format!("ended after {bytes} of {total} bytes")))
        }
        _ => Ok(()),
    }
}
