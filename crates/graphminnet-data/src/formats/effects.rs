//! Options that say nothing about a format.

use super::Format;
use crate::{DataError, Place, ReadOptions, escape};
use std::path::Path;

/// The first version of the rules under which columns that a format does not have are refused.
const NO_SUCH_COLUMN: u32 = 7;

/// Fails for options that say nothing about a format.
pub(crate) fn check_effects(format: Format, path: &Path, options: &ReadOptions) -> Result<(), DataError> {
    let without_effect =
        |reason: &str| Err(DataError::Schema { place: Place::file(path), reason: reason.to_owned() });
    match format {
        Format::SmilesCsv | Format::Parquet | Format::Jsonl => {}
        _ if options.shard.is_some() => {
            return without_effect(
                "only tables of molecules (also as Parquet) and JSON Lines can be read in shards (`graphminnet data convert` writes \
                 JSON Lines)",
            );
        }
        _ => {}
    }
    match format {
        Format::SmilesCsv
        | Format::Parquet
        | Format::Xlsx
        | Format::Sdf
        | Format::Jsonl
        | Format::CsvFolder => {}
        _ if options.weight_column.is_some() => {
            return without_effect(
                "only tables of molecules, JSON Lines and CSV folders can have weights of rows (`graphminnet data convert` writes \
                 JSON Lines, to which they can be added)",
            );
        }
        _ => {}
    }
    match format {
        // A run of an earlier version goes on with whatever it was given.
        Format::TuDataset | Format::EdgelistFolder | Format::Graph6
            if options.targets.is_some() && options.rules >= 5 =>
        {
            return without_effect(match format {
                Format::Graph6 => "graph6 has no targets, and none can be named",
                _ => {
                    "targets cannot be named here: the layout has no names of columns, and says what they are"
                }
            });
        }
        Format::Ogb if options.schema.is_some() || options.rules < 6 => {}
        Format::Ogb if options.targets.is_some() || options.id_column.is_some() => {
            return without_effect(
                "targets (`--target`) and names of graphs (`--id-column`) are chosen by the names of columns, which those of OGB's \
                 layout do not have (`graphminnet data convert` writes JSON Lines, which have)",
            );
        }
        Format::Ogb if options.split_column.is_some() => {
            return without_effect(
                "parts are lists in split/ in OGB's layout, and no column (`--split-scheme` names one of several)",
            );
        }
        _ => {}
    }
    check_columns(format, path, options)?;
    match format {
        Format::SmilesCsv => Ok(()),
        _ if options.header.is_some() => without_effect("a header is an option of tables of molecules"),
        Format::Parquet | Format::Xlsx | Format::Sdf => Ok(()),
        _ if !options.further_smiles.is_empty() => {
            without_effect("several molecules per row are for tables of them")
        }
        _ if options.molecules.is_plain() && options.descriptors.is_empty() => Ok(()),
        _ => {
            without_effect("hydrogens, stereo, fragments, descriptors and reactions are options of molecules")
        }
    }
}

/// Fails for columns that a format does not have; earlier rules took no notice.
fn check_columns(format: Format, path: &Path, options: &ReadOptions) -> Result<(), DataError> {
    if options.rules < NO_SUCH_COLUMN {
        return Ok(());
    }
    let names = match format {
        Format::CsvFolder => "CSV folders name a graph in the column `graph_id`",
        Format::EdgelistFolder => "the name of an edge list is that of its file",
        Format::TuDataset | Format::Graph6 => "graphs have no names in this format, only numbers",
        _ => "",
    };
    let is_named = |column: &&String| !(format == Format::CsvFolder && *column == "graph_id");
    let reason = match (&options.id_column, &options.smiles_column) {
        (Some(column), _) if !names.is_empty() && options.schema.is_none() && is_named(&column) => {
            format!("`--id-column {}` has no effect: {names}", escape(column))
        }
        (_, Some(column)) if !is_of_molecules(format) => format!(
            "`--smiles-column {}` has no effect: {} holds graphs, and no molecules",
            escape(column),
            format.name()
        ),
        _ => return Ok(()),
    };
    Err(DataError::Schema { place: Place::file(path), reason })
}

fn is_of_molecules(format: Format) -> bool {
    matches!(format, Format::SmilesCsv | Format::Parquet | Format::Xlsx | Format::Sdf)
}
