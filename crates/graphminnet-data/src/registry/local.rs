//! Finds a local copy of a data set and reads it.

use super::{DatasetInfo, find, native, readme};
use crate::import as published;
use crate::{DataError, Place, Read, ReadOptions, open};
use std::fmt;
use std::path::{Path, PathBuf};

/// Environment variable that names the folder with the data sets.
pub const DATA_VARIABLE: &str = "GRAPHMINNET_DATA";

/// What to tell someone whose data set is not there: what is missing, where to get it, where to put it.
#[derive(Debug, Clone, PartialEq)]
pub struct NotHere {
    /// The data set.
    pub info: &'static DatasetInfo,
    /// Folders and files that were looked for.
    pub looked_for: Vec<PathBuf>,
}

impl fmt::Display for NotHere {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.info;
        write!(out, "the data set `{}` ({}) is not on this machine", info.name, info.title)?;
        if self.looked_for.is_empty() {
            write!(out, "\n  no data folder: give one, or set {DATA_VARIABLE}")?;
        }
        for path in &self.looked_for {
            write!(out, "\n  looked for: {}", path.display())?;
        }
        for file in &info.files {
            write!(out, "\n  get: {}", file.name)?;
            for url in &file.urls {
                write!(out, "\n    from {url}")?;
            }
            if let Some(size) = file.size {
                write!(out, "\n    {size} bytes")?;
            }
            match &file.sha256 {
                Some(hash) => write!(out, "\n    SHA-256 {hash}")?,
                None => write!(out, "\n    SHA-256 not published; recorded at the first download")?,
            }
        }
        let folder = self
            .looked_for
            .first()
            .map_or_else(|| format!("<data folder>/{}", info.folder), |path| path.display().to_string());
        write!(out, "\n  put: into {folder} as downloaded (no need to unpack)\n  licence: {}", info.licence)
    }
}

/// The data folder: the one that is given, else the one that [`DATA_VARIABLE`] names.
pub fn data_dir(explicit: Option<&Path>) -> Option<PathBuf> {
    match explicit {
        Some(path) => Some(path.to_path_buf()),
        None => std::env::var_os(DATA_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from),
    }
}

/// The folder or file of a data set's local copy.
///
/// # Errors
///
/// [`DataError::NotHere`] with what is missing, where to get it and where to put it.
pub fn locate(info: &'static DatasetInfo, data_folder: Option<&Path>) -> Result<PathBuf, DataError> {
    let mut looked_for = Vec::new();
    if let Some(root) = data_dir(data_folder) {
        for folder in std::iter::once(&info.folder).chain(&info.other_folders) {
            let candidates = ["", ".jsonl", ".jsonl.gz", ".jsonl.zst"]
                .map(|suffix| root.join(format!("{folder}{suffix}")));
            if let Some(found) = candidates.iter().find(|path| path.exists()) {
                return Ok(found.clone());
            }
            let [first, ..] = candidates;
            looked_for.push(first);
        }
    }
    Err(DataError::NotHere(Box::new(NotHere { info, looked_for })))
}

/// Reads a data set by name from a local copy.
///
/// The schema carries the registry's names; differences of the copy from the published data set are in the report.
///
/// # Errors
///
/// [`DataError::UnknownDataset`], [`DataError::NotHere`], or whatever is wrong with the copy.
pub fn load(name: &str, data_folder: Option<&Path>, options: &ReadOptions) -> Result<Read, DataError> {
    let info = find(name)?;
    let expected = options.schema.clone();
    let path = locate(info, data_folder)?;
    // Names are applied first; only then can the result be held against a schema that has them.
    let options = &ReadOptions { schema: None, ..options.clone() };
    let mut read = if let Some(native) = native::find(&path) {
        native::read(&native, options)?
    } else if holds_published_files(&path, info) {
        let sources: Vec<PathBuf> =
            info.files.iter().map(|file| path.join(&file.name)).filter(|path| path.is_file()).collect();
        published::import(info, &sources, options)?
    } else {
        open(&path, options)?
    };
    finish(&mut read, info);
    read.report.differences.extend(readme::differences(&path));
    match expected {
        Some(expected) if !expected.is_like(&read.dataset.schema) => Err(DataError::Schema {
            place: Place::file(path),
            reason: "the columns and targets of this copy are not those of the schema it is to be read with"
                .to_owned(),
        }),
        _ => Ok(read),
    }
}

/// Imports the published files of a data set from wherever they are; the schema carries the registry's names.
///
/// # Errors
///
/// [`DataError::Missing`] if an expected file is not among the sources; whatever is wrong with them.
pub fn import_published(
    info: &DatasetInfo,
    sources: &[PathBuf],
    options: &ReadOptions,
) -> Result<Read, DataError> {
    let mut read = published::import(info, sources, options)?;
    finish(&mut read, info);
    Ok(read)
}

fn finish(read: &mut Read, info: &DatasetInfo) {
    apply_names(read, info);
    note_differences(read, info);
}

fn holds_published_files(folder: &Path, info: &DatasetInfo) -> bool {
    info.files.first().is_some_and(|file| folder.join(&file.name).is_file())
}

/// Gives columns and targets the registry's names where the shapes agree.
fn apply_names(read: &mut Read, info: &DatasetInfo) {
    let schema = &mut read.dataset.schema;
    if schema.targets.len() == info.targets.len() {
        schema.targets.clone_from(&info.targets);
    }
    if schema.class_names.is_empty() {
        schema.class_names.clone_from(&info.class_names);
    }
    for (columns, names) in
        [(&mut schema.node_columns, &info.node_columns), (&mut schema.edge_columns, &info.edge_columns)]
    {
        if columns.len() == names.len() {
            for (column, name) in columns.iter_mut().zip(names) {
                column.name.clone_from(name);
            }
        }
    }
}

/// Notes what differs from the paper's description.
fn note_differences(read: &mut Read, info: &DatasetInfo) {
    let found = read.dataset.samples.len() as u64;
    if found != info.paper.graphs {
        read.report.differences.push(format!(
            "this copy of {} has {found} graphs, the published one {}: results are not comparable one to one",
            info.title, info.paper.graphs
        ));
    }
    let schema = &read.dataset.schema;
    if schema.task != info.task() || schema.level != info.level {
        read.report.differences.push(format!(
            "this copy of {} was read as {:?} at {:?} level, the published one is {:?} at {:?} level",
            info.title,
            schema.task,
            schema.level,
            info.task(),
            info.level
        ));
    }
}
