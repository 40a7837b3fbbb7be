//! SD files: MOL blocks with properties, read as a table with a column per property.
//!
//! The columns are `smiles`, `id` (the title of the block) and the properties of all records, in the order in which they
//! first occur. The file is read twice, the first time for their names alone, so that it may be longer than memory.

use super::Lines;
use crate::limits::within;
use crate::smiles::molblock;
use crate::{DataError, Limits, Place, ReadOptions};
use std::collections::HashSet;
use std::path::Path;

/// Columns before those of the properties.
const OWN: [&str; 2] = ["smiles", "id"];

/// One record.
pub(super) struct SdfRecord {
    /// The line on which it begins.
    pub(super) line: u64,
    /// The cells of the table, or why there is no molecule.
    pub(super) molecule: Result<(), String>,
    /// One cell per column.
    pub(super) cells: Vec<String>,
}

/// The columns of a file: those of this reader, and a name for every property.
pub(super) struct SdfColumns {
    properties: Vec<String>,
    rules: u32,
}

impl SdfColumns {
    /// Looks for the properties of a file.
    pub(super) fn find(path: &Path, options: &ReadOptions) -> Result<Self, DataError> {
        let limits = &options.limits;
        let mut lines = Lines::open(path, limits)?;
        let (mut properties, mut seen) = (Vec::new(), HashSet::new());
        while lines.advance()? {
            let Some(name) = property(&String::from_utf8_lossy(lines.bytes())) else { continue };
            if seen.insert(name.clone()) {
                properties.push(name);
                within("columns", (properties.len() + OWN.len()) as u64, limits.columns)
                    .map_err(DataError::limit(lines.place()))?;
            }
        }
        Ok(Self { properties, rules: options.rules })
    }

    /// Names of the columns. A property that is called like one of the reader's own gets a longer name.
    pub(super) fn names(&self) -> Vec<String> {
        let own = OWN.iter().map(|name| (*name).to_owned());
        let clashes = |name: &str| OWN.iter().any(|own| own.eq_ignore_ascii_case(name));
        let renamed = self.properties.iter().map(|name| match clashes(name) {
            true => format!("{name} (property)"),
            false => name.clone(),
        });
        own.chain(renamed).collect()
    }

    /// Reads the next record; `None` at the end.
    pub(super) fn next(&self, lines: &mut Lines, limits: &Limits) -> Result<Option<SdfRecord>, DataError> {
        let mut text: Vec<String> = Vec::new();
        let (mut bytes, mut start) = (0, 0);
        loop {
            if !lines.advance()? {
                if text.iter().all(|line| line.trim().is_empty()) {
                    return Ok(None);
                }
                break;
            }
            if text.is_empty() {
                start = lines.number();
            }
            if lines.bytes().starts_with(b"$$$$") {
                break;
            }
            bytes += lines.bytes().len() as u64 + 1;
            within("line_bytes", bytes, limits.line_bytes).map_err(DataError::limit(lines.place()))?;
            text.push(String::from_utf8_lossy(lines.bytes()).into_owned());
        }
        let end = text.iter().position(|line| line.starts_with("M  END")).map_or(text.len(), |end| end + 1);
        let (block, data) = text.split_at(end.min(text.len()));
        let found = molblock::to_smiles(block, self.rules, limits);
        let mut cells = vec![String::new(); OWN.len() + self.properties.len()];
        if let Some(title) = block.first() {
            title.trim().clone_into(&mut cells[1]);
        }
        self.read_properties(data, &mut cells);
        let molecule = found.map(|smiles| cells[0] = smiles);
        Ok(Some(SdfRecord { line: start, molecule, cells }))
    }

    fn read_properties(&self, lines: &[String], cells: &mut [String]) {
        let mut current = None;
        for line in lines {
            if let Some(name) = property(line) {
                current = self.properties.iter().position(|known| *known == name);
                continue;
            }
            if line.is_empty() {
                current = None;
                continue;
            }
            let Some(cell) = current.and_then(|at: usize| cells.get_mut(OWN.len() + at)) else { continue };
            if !cell.is_empty() {
                cell.push('\n');
            }
            cell.push_str(line.trim());
        }
    }
}

/// The name of a property, from the line that begins it: `> <name>`.
fn property(line: &str) -> Option<String> {
    let rest = line.strip_prefix('>')?;
    let (_, name) = rest.split_once('<')?;
    let (name, _) = name.rsplit_once('>')?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// The error of a record without a molecule.
pub(super) fn no_molecule(place: Place, reason: &str) -> DataError {
    DataError::value(place.in_column(OWN[0]), "", format!("a molecule: {reason}"))
}
