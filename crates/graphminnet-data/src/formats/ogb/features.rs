//! Feature tables: what their columns hold, stated or inferred, and one table per graph.

use super::meta::Meta;
use super::table::{Cell, Pieces, fields, read_cells, read_pieces, text};
use super::{AS_OTHERS, missing};
use crate::budget::{Budget, Share};
use crate::formats::{Lines, Tree, lines_of};
use crate::graph::Features;
use crate::schema::{ColumnSet, Encoder, Table, not_encoded};
use crate::{BadRow, Column, ColumnKind, DataError, Place, ReadOptions, smiles};

/// Feature tables of all graphs and what their columns hold.
pub(super) struct FeatureTables {
    pub(super) columns: Vec<Column>,
    /// The table of every graph, or why it has none: a value that a schema does not know.
    pub(super) tables: Vec<Result<Features, BadRow>>,
    /// Whether `meta.json` says what the columns hold.
    pub(super) is_stated: bool,
}

impl FeatureTables {
    /// Whether there is a column of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }
}

/// Reads `raw/node-feat.csv` or `raw/edge-feat.csv`; tables without columns if there is none.
pub(super) fn read_features(
    tree: &dyn Tree,
    what: &'static str,
    counts: &[usize],
    meta: &Meta,
    options: &ReadOptions,
    (budget, held): (&Budget, &mut Share),
) -> Result<FeatureTables, DataError> {
    let file = format!("raw/{what}-feat.csv");
    let limits = &options.limits;
    let (kind, cardinality) = match what {
        "node" => (meta.node_feat.as_deref(), &meta.node_cardinality),
        _ => (meta.edge_feat.as_deref(), &meta.edge_cardinality),
    };
    let known = options.schema.as_ref().map(|schema| match what {
        "node" => schema.node_columns.as_slice(),
        _ => schema.edge_columns.as_slice(),
    });
    let Some(mut lines) = lines_of(tree, &file, limits)? else {
        if kind.is_some() || known.is_some_and(|columns| !columns.is_empty()) {
            return Err(missing(tree, &file));
        }
        let tables = counts.iter().map(|&count| Ok(Features::none(count))).collect();
        return Ok(FeatureTables { columns: Vec::new(), tables, is_stated: false });
    };
    let place = tree.place(&file);
    if let Some(sizes) = cardinality {
        let pieces: Pieces<u32> = read_pieces(&mut lines, counts, Some(sizes.len()), limits.features, held)?;
        check_categories(&pieces, sizes, &place)?;
        let columns = category_columns(what, sizes);
        let tables = into_tables(pieces, counts, &place, Features::categories)?;
        return Ok(FeatureTables { columns, tables, is_stated: true });
    }
    let is_real = kind == Some("real");
    if !is_real && (known.is_some() || options.rules >= AS_OTHERS) {
        let columns = Columns { what, known, place, options, budget };
        return columns.read(&mut lines, counts, held);
    }
    let pieces: Pieces<f32> = read_pieces(&mut lines, counts, None, limits.features, held)?;
    let inferred = if is_real { None } else { integer_sizes(&pieces, options.category_limit) };
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
        return Ok(FeatureTables { columns, tables, is_stated: false });
    }
    let columns =
        (0..pieces.columns).map(|column| Column::new(unnamed(what, column), ColumnKind::Number)).collect();
    let tables = into_tables(pieces, counts, &place, Features::numbers)?;
    Ok(FeatureTables { columns, tables, is_stated: is_real })
}

/// A table whose columns are judged one by one, by what they hold, as in any other format; with a schema, those that it knows.
struct Columns<'a> {
    what: &'static str,
    known: Option<&'a [Column]>,
    place: Place,
    options: &'a ReadOptions,
    budget: &'a Budget,
}

impl Columns<'_> {
    fn read(
        &self,
        lines: &mut Lines,
        counts: &[usize],
        held: &mut Share,
    ) -> Result<FeatureTables, DataError> {
        let mut raw = match self.known {
            Some([]) => {
                let reason = format!(
                    "a table of {} features, and the model that this folder is read for knows none: leave the file out",
                    self.what
                );
                return Err(DataError::Schema { place: self.place.clone(), reason });
            }
            Some(known) => self.named(known.len())?,
            None => ColumnSet::default(),
        };
        let (width, max) = (self.known.map(<[Column]>::len), self.options.limits.features);
        let mut place = self.place.clone();
        let pieces = read_cells(lines, counts, width, max, held, |lines, field, column| {
            if raw.len() == 0 {
                raw = self.named(fields(lines))?;
            }
            if place.line != Some(lines.number()) {
                place = lines.place();
            }
            match text(lines, field)? {
                "" => {
                    let place = place.clone().in_column(raw.name(column));
                    Err(DataError::value(place, "", "a value: a feature must not be blank"))
                }
                text => raw.cell(column, text, &place),
            }
        })?;
        let (encoder, columns) = Encoder::new(&raw, self.known, self.options, &self.place)?;
        let mut line = 1u64;
        let tables = pieces.pieces.into_iter().zip(counts).map(|(values, &rows)| {
            let first = line;
            line += rows as u64;
            let table = Table { rows, values };
            encoder.encode(&raw, &table).map_err(|error| {
                let row = |values: &[f64]| Table { rows: 1, values: values.to_vec() };
                let mut rows = table.values.chunks_exact(raw.len().max(1));
                let bad = rows.position(|values| encoder.encode(&raw, &row(values)).is_err()).unwrap_or(0);
                not_encoded(error, &self.place.clone().at_line(first + bad as u64))
            })
        });
        let tables = tables.collect();
        let columns = if self.known.is_some() { columns } else { completed(self.what, columns) };
        Ok(FeatureTables { columns, tables, is_stated: false })
    }

    fn named(&self, width: usize) -> Result<ColumnSet, DataError> {
        let sizes: Option<Vec<u64>> = self.known.and_then(sizes_of);
        let names = sizes.and_then(|sizes| smiles::column_names(self.what, &sizes));
        let names = (0..width).map(|column| match names.and_then(|names| names.get(column)) {
            Some(name) => (*name).to_owned(),
            None => unnamed(self.what, column),
        });
        let ReadOptions { text, limits, .. } = self.options;
        let mut columns =
            ColumnSet::new(names, text, limits, self.budget).map_err(DataError::limit(self.place.clone()))?;
        columns.follow(self.known.unwrap_or_default());
        Ok(columns)
    }
}

fn into_tables<T: Cell>(
    pieces: Pieces<T>,
    counts: &[usize],
    place: &Place,
    build: impl Fn(usize, usize, Vec<T>) -> Result<Features, crate::GraphError>,
) -> Result<Vec<Result<Features, BadRow>>, DataError> {
    let columns = pieces.columns;
    pieces
        .pieces
        .into_iter()
        .zip(counts)
        .map(|(piece, &rows)| match build(rows, columns, piece) {
            Ok(features) => Ok(Ok(features)),
            Err(source) => Err(DataError::Graph { place: place.clone(), source }),
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

/// Sizes of the columns if every value is an integer below the limit, as earlier rules had it.
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
    Some(smiles::completed_sizes(&sizes).unwrap_or(sizes))
}

/// Inferred molecules get the vocabulary of the whole chemistry, not of what happened to occur.
fn completed(what: &str, columns: Vec<Column>) -> Vec<Column> {
    match sizes_of(&columns).and_then(|sizes| smiles::completed_sizes(&sizes)) {
        Some(sizes) if smiles::column_names(what, &sizes).is_some() => category_columns(what, &sizes),
        _ => columns,
    }
}

/// Sizes of columns that are all categories without names.
fn sizes_of(columns: &[Column]) -> Option<Vec<u64>> {
    let size = |column: &Column| match &column.kind {
        ColumnKind::Category { size, names } if names.is_empty() => Some(*size as u64),
        _ => None,
    };
    columns.iter().map(size).collect()
}

fn category_columns(what: &str, sizes: &[u64]) -> Vec<Column> {
    let known = smiles::column_names(what, sizes);
    sizes
        .iter()
        .enumerate()
        .map(|(column, &size)| {
            Column::new(
                known
                    .and_then(|names| names.get(column))
                    .map_or_else(|| unnamed(what, column), |name| (*name).to_owned()),
                ColumnKind::Category { size: size as usize, names: Vec::new() },
            )
        })
        .collect()
}

/// Name of a column, which has none in these tables.
fn unnamed(what: &str, column: usize) -> String {
    format!("{what}_feature_{column}")
}
