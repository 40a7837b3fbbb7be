//! Feature tables: what their columns hold, stated or inferred, and one table per graph.

use super::missing;
use super::table::{Cell, Pieces, read_pieces};
use crate::budget::Share;
use crate::formats::{Tree, lines_of};
use crate::graph::Features;
use crate::{Column, ColumnKind, DataError, Place, ReadOptions, smiles};

/// Feature tables of all graphs and what their columns hold.
pub(super) struct FeatureTables {
    pub(super) columns: Vec<Column>,
    pub(super) tables: Vec<Features>,
}

/// Reads `raw/node-feat.csv` or `raw/edge-feat.csv`; tables without columns if there is none.
pub(super) fn read_features(
    tree: &dyn Tree,
    what: &'static str,
    counts: &[usize],
    kind: Option<&str>,
    cardinality: &Option<Vec<u64>>,
    options: &ReadOptions,
    held: &mut Share,
) -> Result<FeatureTables, DataError> {
    let file = format!("raw/{what}-feat.csv");
    let limits = &options.limits;
    let Some(mut lines) = lines_of(tree, &file, limits)? else {
        if kind.is_some() {
            return Err(missing(tree, &file));
        }
        let tables = counts.iter().map(|&count| Features::none(count)).collect();
        return Ok(FeatureTables { columns: Vec::new(), tables });
    };
    let place = tree.place(&file);
    if let Some(sizes) = cardinality {
        let pieces: Pieces<u32> = read_pieces(&mut lines, counts, Some(sizes.len()), limits.features, held)?;
        check_categories(&pieces, sizes, &place)?;
        let columns = category_columns(what, sizes);
        let tables = into_tables(pieces, counts, &place, Features::categories)?;
        return Ok(FeatureTables { columns, tables });
    }
    let pieces: Pieces<f32> = read_pieces(&mut lines, counts, None, limits.features, held)?;
    let inferred = if kind == Some("real") { None } else { integer_sizes(&pieces, options.category_limit) };
    if let Some(sizes) = inferred {
        let as_integers = Pieces {
            columns: pieces.columns,
            pieces: pieces
                .pieces
                .iter()
                .map(|piece| piece.iter().map(|&value| value as u32).collect())
                .collect(),
        };
        let columns = category_columns(what, &sizes);
        let tables = into_tables(as_integers, counts, &place, Features::categories)?;
        return Ok(FeatureTables { columns, tables });
    }
    let columns = (0..pieces.columns)
        .map(|column| Column { name: format!("{what}_feature_{column}"), kind: ColumnKind::Number })
        .collect();
    Ok(FeatureTables { columns, tables: into_tables(pieces, counts, &place, Features::numbers)? })
}

fn into_tables<T: Cell>(
    pieces: Pieces<T>,
    counts: &[usize],
    place: &Place,
    build: impl Fn(usize, usize, Vec<T>) -> Result<Features, crate::GraphError>,
) -> Result<Vec<Features>, DataError> {
    let columns = pieces.columns;
    pieces
        .pieces
        .into_iter()
        .zip(counts)
        .map(|(piece, &rows)| {
            build(rows, columns, piece).map_err(|source| DataError::Graph { place: place.clone(), source })
        })
        .collect()
}

fn check_categories(pieces: &Pieces<u32>, sizes: &[u64], place: &Place) -> Result<(), DataError> {
    let mut row = 0u64;
    for values in pieces.pieces.iter().flat_map(|piece| piece.chunks_exact(sizes.len().max(1))) {
        row += 1;
        for (column, (value, size)) in values.iter().zip(sizes).enumerate() {
            if u64::from(*value) >= *size {
                let place = place.clone().at_line(row).in_column(column.to_string());
                return Err(DataError::value(place, value.to_string(), format!("a category below {size}")));
            }
        }
    }
    Ok(())
}

/// Sizes of the columns if every value is an integer below the limit.
fn integer_sizes(pieces: &Pieces<f32>, category_limit: u64) -> Option<Vec<u64>> {
    let mut sizes = vec![1u64; pieces.columns];
    for row in pieces.pieces.iter().flat_map(|piece| piece.chunks_exact(pieces.columns.max(1))) {
        for (value, size) in row.iter().zip(&mut sizes) {
            if *value < 0.0 || value.fract() != 0.0 || *value >= category_limit as f32 {
                return None;
            }
            *size = (*size).max(*value as u64 + 1);
        }
    }
    // Inferred molecules get the vocabulary of the whole chemistry, not of what happened to occur.
    Some(smiles::completed_sizes(&sizes).unwrap_or(sizes))
}

fn category_columns(what: &str, sizes: &[u64]) -> Vec<Column> {
    let known = smiles::column_names(what, sizes);
    sizes
        .iter()
        .enumerate()
        .map(|(column, &size)| Column {
            name: known
                .and_then(|names| names.get(column))
                .map_or_else(|| format!("{what}_feature_{column}"), |name| (*name).to_owned()),
            kind: ColumnKind::Category { size: size as usize, names: Vec::new() },
        })
        .collect()
}
