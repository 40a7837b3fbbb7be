//! Which column of a table of molecules is what, and what a row has in them.

use super::super::csv::CsvReader;
use super::super::descriptor_columns::DescriptorColumns;
use super::super::molecule_columns::{MoleculeColumn, molecule_columns, named_column};
use super::super::parse_split;
use super::super::weight_column::WeightColumn;
use super::Row;
use crate::text::quoted;
use crate::{DataError, Level, MoleculeTable, Place, ReadOptions, Split};

/// Which column is what.
pub(super) struct Columns {
    pub(super) molecules: Vec<MoleculeColumn>,
    id: Option<usize>,
    split: Option<usize>,
    pub(super) descriptors: DescriptorColumns,
    weight: Option<WeightColumn>,
    /// Position in the file and name of the columns that are, or may be, targets.
    pub(super) targets: Vec<(Option<usize>, String)>,
    /// Whether the targets were asked for by name.
    pub(super) explicit: bool,
    /// Whether names, and lists of values, have no decimal commas.
    as_written: bool,
    /// Whether a target is a list of values.
    are_lists: bool,
}

/// The first version of the rules under which decimal commas are only in numbers.
const AS_WRITTEN: u32 = 6;

/// The first version of the rules that knows names with a comma in a list of names.
const WHOLE_NAMES: u32 = 6;

/// The options with the names of the table's columns: what was taken for several names may be a single one with commas.
pub(super) fn whole_names(reader: &CsvReader, options: &ReadOptions) -> ReadOptions {
    let mut options = options.clone();
    let with_commas =
        reader.header().iter().filter(|name| name.contains(',') && options.rules >= WHOLE_NAMES);
    let with_commas: Vec<Vec<&str>> = with_commas.map(|name| name.split(',').collect()).collect();
    let whole = |names: &mut Vec<String>| {
        let (mut rest, mut found) = (names.as_slice(), Vec::new());
        while !rest.is_empty() {
            let is_next = |pieces: &&[&str]| {
                let next = rest.get(..pieces.len()).unwrap_or_default();
                !next.is_empty()
                    && next.iter().zip(*pieces).all(|(name, piece)| name.eq_ignore_ascii_case(piece))
            };
            let pieces = with_commas.iter().map(Vec::as_slice).filter(is_next).map(<[_]>::len).max();
            let (next, after) = rest.split_at(pieces.unwrap_or(1));
            found.push(next.join(","));
            rest = after;
        }
        *names = found;
    };
    let lists = [&mut options.descriptors, &mut options.numeric, &mut options.text];
    lists.into_iter().chain(&mut options.targets).for_each(whole);
    options
}

/// How the table was read that a model was trained on.
pub(super) fn kept_table(options: &ReadOptions) -> Option<&MoleculeTable> {
    options.schema.as_ref()?.molecules.as_ref()
}

impl Columns {
    pub(super) fn find(
        reader: &CsvReader,
        options: &ReadOptions,
        notes: &mut Vec<String>,
    ) -> Result<Self, DataError> {
        let named = |name: &Option<String>| named_column(reader, name.as_ref());
        let molecules = molecule_columns(reader, options)?;
        // Columns that the training named are found by these names, and missed by nobody where they are not there.
        let usual = |kept: Option<&String>, word: &str| {
            kept.and_then(|name| reader.column_called(&[name])).or_else(|| reader.column_called(&[word]))
        };
        let kept = kept_table(options);
        let id = named(&options.id_column)?
            .or_else(|| usual(kept.and_then(|table| table.id_column.as_ref()), "id"));
        let split = named(&options.split_column)?
            .or_else(|| usual(kept.and_then(|table| table.split_column.as_ref()), "split"));
        let descriptors = DescriptorColumns::find(reader, options)?;
        let taken: Vec<Option<usize>> =
            molecules.iter().map(|found| Some(found.column)).chain([id, split]).collect();
        let weight = WeightColumn::find(reader, options, &taken)?;
        let wanted = options.asked_targets();
        let targets = match wanted {
            // With a schema the file may be one to predict on: absent targets are missing labels.
            Some(names) if options.schema.is_some() => {
                let column = |name: &String| reader.column(name).or_else(|| reader.column_called(&[name]));
                names.iter().map(|name| (column(name), name.clone())).collect()
            }
            Some(names) => asked_targets(reader, names, &taken, &descriptors)?,
            None => {
                let (nameless, named) = reader
                    .header()
                    .iter()
                    .enumerate()
                    .filter(|(column, _)| !taken.contains(&Some(*column)))
                    .filter(|(column, _)| !descriptors.holds(*column))
                    .filter(|(column, _)| !weight.as_ref().is_some_and(|weight| weight.is(*column)))
                    .partition::<Vec<_>, _>(|(column, _)| reader.is_nameless(*column));
                if !nameless.is_empty() {
                    let names: Vec<&String> = nameless.into_iter().map(|(_, name)| name).collect();
                    notes.push(format!(
                        "columns without a name were ignored: {} (name one as a target to use it)",
                        quoted(&names)
                    ));
                }
                named.into_iter().map(|(column, name)| (Some(column), name.clone())).collect()
            }
        };
        // A column of parts that nobody asks for is no target either, and may say what it likes.
        let split = split.filter(|_| !options.ignore_split);
        let (explicit, as_written) = (wanted.is_some(), options.rules >= AS_WRITTEN);
        let are_lists = matches!(options.asked_level(), Some(Level::Node | Level::Edge));
        Ok(Self { molecules, id, split, descriptors, weight, targets, explicit, as_written, are_lists })
    }

    pub(super) fn row(&self, reader: &CsvReader) -> Result<Row, DataError> {
        let place = reader.place();
        let name = |column| match self.as_written {
            true => reader.field(column).to_owned(),
            false => reader.number_field(column).into_owned(),
        };
        let cell = |column| match self.are_lists {
            true => name(column).into(),
            false => reader.number_field(column).into(),
        };
        Ok(Row {
            smiles: self.molecules.iter().map(|found| reader.field(found.column).to_owned()).collect(),
            id: self.id.map(name).filter(|id| !id.is_empty()),
            split: self.part(reader, &place)?,
            descriptors: self.descriptors.values(reader, &place)?,
            weight: self.weight.as_ref().map(|weight| weight.value(reader, &place)).transpose()?,
            cells: self.targets.iter().map(|(column, _)| column.map_or_else(Box::default, cell)).collect(),
            place,
        })
    }

    fn part(&self, reader: &CsvReader, place: &Place) -> Result<Option<Split>, DataError> {
        let Some(column) = self.split else { return Ok(None) };
        let name = reader.header().get(column).map_or("split", String::as_str);
        parse_split(Some(reader.field(column)), name, place)
    }
}

/// The columns that were named as targets, each of them a column of its own: a model that is told its target learns nothing.
fn asked_targets(
    reader: &CsvReader,
    names: &[String],
    taken: &[Option<usize>],
    descriptors: &DescriptorColumns,
) -> Result<Vec<(Option<usize>, String)>, DataError> {
    let mut found: Vec<(Option<usize>, String)> = Vec::with_capacity(names.len());
    for name in names {
        let column = named_column(reader, Some(name))?;
        let again = found.iter().any(|(other, _)| *other == column);
        if again || taken.contains(&column) || column.is_some_and(|column| descriptors.holds(column)) {
            let what = if again { "twice" } else { "and as something else" };
            let found = format!("`{}` as a target {what}", crate::escape(name));
            return Err(DataError::malformed(reader.place(), found, "a column of its own for every target"));
        }
        // It is called what the file calls it.
        let name = column.and_then(|column| reader.header().get(column)).unwrap_or(name);
        found.push((column, name.clone()));
    }
    Ok(found)
}
