//! V2000: fields of fixed width, properties on lines of their own.

use super::{Block, BlockAtom, BlockBond, ELEMENTS, Mark, elements, number};
use chematic::core::Element;

/// Parses what follows the counts.
pub(super) fn parse(counts: &str, lines: &[String], rules: u32) -> Result<Block, String> {
    let count = |from: usize| {
        let field = counts.get(from..from + 3).and_then(number::<usize>);
        field.ok_or("the fourth line of a MOL block holds the numbers of atoms and bonds")
    };
    let (atoms, bonds) = (count(0)?, count(3)?);
    let missing = || format!("the MOL block ends before its {atoms} atoms and {bonds} bonds");
    let (atom_lines, rest) = lines.split_at_checked(atoms).ok_or_else(missing)?;
    let (bond_lines, properties) = rest.split_at_checked(bonds).ok_or_else(missing)?;
    let mut block = Block::default();
    for (at, line) in atom_lines.iter().enumerate() {
        block
            .atoms
            .push(atom(line, rules).ok_or_else(|| format!("atom {}: its line cannot be read", at + 1))?);
    }
    for (at, line) in bond_lines.iter().enumerate() {
        block.bonds.push(bond(line).ok_or_else(|| format!("bond {}: its line cannot be read", at + 1))?);
    }
    // A property line speaks for all atoms: what the atoms' own lines say does not count any more.
    let is = |line: &String, tag: &str| line.strip_prefix("M  ").is_some_and(|line| line.starts_with(tag));
    if properties.iter().any(|line| is(line, "CHG") || is(line, "RAD")) {
        block.atoms.iter_mut().for_each(|atom| (atom.charge, atom.radicals) = (0, 0));
    }
    if properties.iter().any(|line| is(line, "ISO")) {
        block.atoms.iter_mut().for_each(|atom| atom.isotope = None);
    }
    for line in properties.iter().take_while(|line| !is(line, "END")) {
        property(&mut block, line)
            .ok_or_else(|| format!("`{}`: the property cannot be read", crate::escape(line)))?;
    }
    Ok(block)
}

fn atom(line: &str, rules: u32) -> Option<BlockAtom> {
    let position = |from: usize| line.get(from..from + 10).and_then(number::<f64>).filter(|x| x.is_finite());
    let code = |from: usize| line.get(from..from + 3).and_then(number::<u8>).unwrap_or(0);
    let symbol = line.get(31..34).unwrap_or(line.get(31..)?).trim().to_owned();
    let (charge, radicals) = match code(36) {
        4 => (0, 1),
        charge @ 1..=7 => (4 - charge as i8, 0),
        _ => (0, 0),
    };
    let difference = line.get(34..36).and_then(number::<i16>).filter(|_| rules >= ELEMENTS).unwrap_or(0);
    let isotope = match Element::from_symbol(&symbol).and_then(elements::mass) {
        Some(mass) if difference != 0 => Some(mass.checked_add_signed(difference).filter(|mass| *mass > 0)?),
        _ => None,
    };
    let valence = match code(48) {
        0 => None,
        15 => Some(0),
        valence => Some(valence),
    };
    Some(BlockAtom {
        symbol,
        position: [position(0)?, position(10)?, position(20)?],
        charge,
        isotope,
        radicals,
        valence,
    })
}

fn bond(line: &str) -> Option<BlockBond> {
    let field = |from: usize| line.get(from..from + 3).or(line.get(from..)).and_then(number::<usize>);
    let end = |from: usize| field(from)?.checked_sub(1);
    let kind = u32::try_from(field(6)?).ok()?;
    let mark = match (kind, field(9).unwrap_or(0)) {
        (1, 1) => Mark::Wedge,
        (1, 6) => Mark::Hash,
        (1, 4) => Mark::Wavy,
        (2, 3) => Mark::Either,
        _ => Mark::Plain,
    };
    Some(BlockBond { ends: [end(0)?, end(3)?], kind, mark })
}

/// Charges, isotopes and radicals; other properties say nothing about the graph.
fn property(block: &mut Block, line: &str) -> Option<()> {
    let Some((tag, values)) = line.strip_prefix("M  ").and_then(|line| line.split_at_checked(3)) else {
        return Some(());
    };
    if !["CHG", "ISO", "RAD"].contains(&tag) {
        return Some(());
    }
    let values: Vec<i32> = values.split_ascii_whitespace().map(number::<i32>).collect::<Option<_>>()?;
    let (count, pairs) = values.split_first()?;
    let (pairs, rest) = pairs.as_chunks::<2>();
    if !rest.is_empty() || usize::try_from(*count).ok()? != pairs.len() {
        return None;
    }
    for &[at, value] in pairs {
        let atom = block.atoms.get_mut(usize::try_from(at).ok()?.checked_sub(1)?)?;
        match tag {
            "CHG" => atom.charge = i8::try_from(value).ok()?,
            "ISO" => atom.isotope = Some(u16::try_from(value).ok()?),
            _ => atom.radicals = unpaired(value)?,
        }
    }
    Some(())
}

/// Unpaired electrons of a spin state: singlet, doublet, triplet.
pub(super) fn unpaired(state: i32) -> Option<u8> {
    match state {
        0 => Some(0),
        2 => Some(1),
        1 | 3 => Some(2),
        _ => None,
    }
}
