//! V3000: words on lines that begin with `M  V30`, a line that ends with `-` goes on on the next.

use super::v2000::unpaired;
use super::{Block, BlockAtom, BlockBond, Mark, number};
use crate::Limits;
use std::collections::HashMap;

/// Parses what follows the counts of the older form.
pub(super) fn parse(lines: &[String], limits: &Limits) -> Result<Block, String> {
    let mut block = Block::default();
    // Atoms have names that are numbers, in any order.
    let mut places: HashMap<u64, usize> = HashMap::new();
    let (mut within, mut pending) = (String::new(), String::new());
    for line in lines.iter().take_while(|line| !line.starts_with("M  END")) {
        let text = line.strip_prefix("M  V30 ").ok_or("a line of a V3000 block begins with `M  V30`")?;
        if let Some(text) = text.trim_end().strip_suffix('-') {
            pending.push_str(text);
            if pending.len() as u64 > limits.line_bytes {
                return Err("a line of the V3000 block is too long".to_owned());
            }
            continue;
        }
        pending.push_str(text);
        let line = std::mem::take(&mut pending);
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let unreadable = || format!("`{}` cannot be read", crate::escape(&line));
        match (words.as_slice(), within.as_str()) {
            (["BEGIN", what, ..], _) => within = (*what).to_owned(),
            (["END", ..], _) => within.clear(),
            ([name, symbol, x, y, z, _, options @ ..], "ATOM") => {
                let name = number::<u64>(name).ok_or_else(unreadable)?;
                if places.insert(name, block.atoms.len()).is_some() {
                    return Err(format!("there are two atoms {name}"));
                }
                block.atoms.push(atom(symbol, [x, y, z], options).ok_or_else(unreadable)?);
            }
            ([_, kind, first, second, options @ ..], "BOND") => {
                let end = |name: &str| number::<u64>(name).and_then(|name| places.get(&name).copied());
                let missing = |name: &str| format!("there is no atom `{}`", crate::escape(name));
                let ends =
                    [end(first).ok_or_else(|| missing(first))?, end(second).ok_or_else(|| missing(second))?];
                let kind = number::<u32>(kind).ok_or_else(unreadable)?;
                let mark = match (kind, option(options, "CFG=")) {
                    (1, Some("1")) => Mark::Wedge,
                    (1, Some("3")) => Mark::Hash,
                    (1, Some("2")) => Mark::Wavy,
                    (2, Some("2")) => Mark::Either,
                    _ => Mark::Plain,
                };
                block.bonds.push(BlockBond { ends, kind, mark });
            }
            (_, "ATOM" | "BOND") => return Err(unreadable()),
            _ => {}
        }
    }
    Ok(block)
}

fn atom(symbol: &str, position: [&&str; 3], options: &[&str]) -> Option<BlockAtom> {
    let [x, y, z] = position.map(|text| number::<f64>(text).filter(|value| value.is_finite()));
    let valence = match option(options, "VAL=").map(number::<i32>) {
        None | Some(Some(0)) => None,
        Some(Some(-1)) => Some(0),
        Some(value) => Some(u8::try_from(value?).ok()?),
    };
    Some(BlockAtom {
        symbol: symbol.to_owned(),
        position: [x?, y?, z?],
        charge: option(options, "CHG=").map_or(Some(0), number)?,
        isotope: option(options, "MASS=").map(number::<u16>).map_or(Some(None), |mass| Some(Some(mass?)))?,
        radicals: option(options, "RAD=").map_or(Some(0), |state| unpaired(number(state)?))?,
        valence,
    })
}

fn option<'a>(options: &[&'a str], key: &str) -> Option<&'a str> {
    options.iter().find_map(|option| option.strip_prefix(key))
}
