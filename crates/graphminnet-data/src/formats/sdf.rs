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
    /// Why it cannot be used, if it cannot.
    pub(super) fault: Option<Fault>,
    /// One cell per column.
    pub(super) cells: Vec<String>,
}

/// Why a record cannot be used.
pub(super) enum Fault {
    /// Its block is no molecule, for this reason.
    NoMolecule(String),
    /// A byte of it is not UTF-8.
    Encoding(Place),
}

impl Fault {
    /// The error of the record that begins at a place.
    pub(super) fn error(&self, place: Place) -> DataError {
        match self {
            Self::NoMolecule(reason) => {
                DataError::value(place.in_column(OWN[0]), "", format!("a molecule: {reason}"))
            }
            Self::Encoding(byte) => DataError::Encoding { place: byte.clone() },
        }
    }
}

/// The first version of the rules under which a record is UTF-8, and properties begin after blank lines alone.
const STRICT: u32 = 7;

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
        let mut headers = Headers { rules: options.rules, in_data: false, may_begin: false };
        while lines.advance()? {
            let Some(name) = headers.property(&String::from_utf8_lossy(lines.bytes())) else { continue };
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
        let (mut bytes, mut start, mut wrong) = (0, 0, None);
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
            if let (STRICT.., None, Err(DataError::Encoding { place })) = (self.rules, &wrong, lines.text()) {
                wrong = Some(Fault::Encoding(place));
            }
            text.push(String::from_utf8_lossy(lines.bytes()).into_owned());
        }
        let end = text.iter().position(|line| line.starts_with(END)).map_or(text.len(), |end| end + 1);
        let (block, data) = text.split_at(end.min(text.len()));
        let found = molblock::to_smiles(block, self.rules, limits);
        let mut cells = vec![String::new(); OWN.len() + self.properties.len()];
        if let Some(title) = block.first() {
            title.trim().clone_into(&mut cells[1]);
        }
        self.read_properties(data, &mut cells);
        let found = found.map(|smiles| cells[0] = smiles).map_err(Fault::NoMolecule);
        Ok(Some(SdfRecord { line: start, fault: wrong.or(found.err()), cells }))
    }

    fn read_properties(&self, lines: &[String], cells: &mut [String]) {
        let mut headers = Headers { rules: self.rules, in_data: true, may_begin: true };
        let mut current = None;
        for line in lines {
            if let Some(name) = headers.property(line) {
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

/// The line after which a record has its properties.
const END: &str = "M  END";

/// Tells the lines that begin properties from those of molecules and values.
struct Headers {
    rules: u32,
    /// Whether the molecule of the record has ended.
    in_data: bool,
    /// Whether the next line may begin a property.
    may_begin: bool,
}

impl Headers {
    /// The property that the next line begins.
    fn property(&mut self, line: &str) -> Option<String> {
        let may_begin = self.may_begin || self.rules < STRICT;
        let is_end = line.starts_with(END);
        self.in_data = (self.in_data || is_end) && !line.starts_with("$$$$");
        self.may_begin = self.in_data && (is_end || line.is_empty());
        property(line).filter(|_| may_begin)
    }
}

/// The name of a property, from the line that begins it: `> <name>`.
fn property(line: &str) -> Option<String> {
    let rest = line.strip_prefix('>')?;
    let (_, name) = rest.split_once('<')?;
    let (name, _) = name.rsplit_once('>')?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}
