//! The native form of a data set: a folder with `graphs.jsonl.gz` and `schema.json`.
//!
//! The schema is stored because it cannot always be inferred: a category that never occurs still has its place.

use super::DatasetInfo;
use crate::fs::write_atomically_with;
use crate::{DataError, Dataset, Place, Read, ReadOptions, Schema, formats, open};
use std::path::{Path, PathBuf};

const GRAPHS: &str = "graphs.jsonl.gz";
const SCHEMA: &str = "schema.json";

/// Writes a data set in native form into its folder below `data_folder`, where [`load`](super::load) finds it first.
/// Gives the file with the graphs.
///
/// # Errors
///
/// [`DataError::Io`].
pub fn store(info: &DatasetInfo, dataset: &Dataset, data_folder: &Path) -> Result<PathBuf, DataError> {
    let folder = data_folder.join(&info.folder);
    std::fs::create_dir_all(&folder).map_err(DataError::io(&folder, "create"))?;
    let (graphs, schema) = (folder.join(GRAPHS), folder.join(SCHEMA));
    write_atomically_with(&schema, |out| Ok(serde_json::to_writer_pretty(out, &dataset.schema)?))?;
    formats::write(dataset, &graphs)?;
    Ok(graphs)
}

/// The file with the graphs, if the folder is in native form.
pub(super) fn find(folder: &Path) -> Option<PathBuf> {
    let graphs = folder.join(GRAPHS);
    (graphs.is_file() && folder.join(SCHEMA).is_file()).then_some(graphs)
}

/// Reads the graphs with the schema beside them.
pub(super) fn read(graphs: &Path, options: &ReadOptions) -> Result<Read, DataError> {
    let path = graphs.with_file_name(SCHEMA);
    let size = std::fs::metadata(&path).map_err(DataError::io(&path, "open"))?.len();
    crate::limits::within("line_bytes", size, options.limits.line_bytes)
        .map_err(DataError::limit(Place::file(&path)))?;
    let text = std::fs::read_to_string(&path).map_err(DataError::io(&path, "read"))?;
    let schema: Schema = serde_json::from_str(&text).map_err(|error| DataError::Schema {
        place: Place::file(&path),
        reason: format!("not a schema: {error}"),
    })?;
    open(graphs, &ReadOptions { schema: Some(schema), ..options.clone() })
}
