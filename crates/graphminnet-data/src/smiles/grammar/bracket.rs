//! Atoms in brackets: `[` isotope, symbol, chirality, hydrogens, charge, atom number `]`, all but the symbol optional
//! and in this order.

use super::super::SmilesError;
use super::refused;
use chematic::core::Element;

/// Aromatic atoms, the longer symbols first.
const AROMATIC: [&[u8]; 10] = [b"se", b"as", b"te", b"si", b"b", b"c", b"n", b"o", b"p", b"s"];

/// Classes of chirality and how many arrangements each has.
const CLASSES: [(&[u8], u32); 5] = [(b"TH", 2), (b"AL", 2), (b"SP", 3), (b"TB", 20), (b"OH", 30)];

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

/// Number of characters of the bracket atom that begins at `start`.
pub(super) fn length(text: &[u8], start: usize) -> Result<usize, SmilesError> {
    let mut reader = Reader { text, at: start + 1 };
    if reader.digit().is_some() {
        reader.number(5, "an isotope")?;
    }
    reader.symbol()?;
    reader.chirality()?;
    if reader.take(b"H") && reader.digit().is_some() {
        reader.number(2, "a number of hydrogens")?;
    }
    reader.charge()?;
    if reader.take(b":") {
        reader.number(5, "an atom number")?;
    }
    if reader.take(b"]") {
        return Ok(reader.at - start);
    }
    let reason = match reader.peek() {
        None => "a `[` that is never closed".to_owned(),
        Some(byte) => format!(
            "`{}` inside brackets; expected isotope, element, chirality, hydrogens, charge, in this order",
            char::from(byte)
        ),
    };
    let character = if reader.peek().is_none() { start + 1 } else { reader.at + 1 };
    Err(refused(character, reason))
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn digit(&self) -> Option<u8> {
        self.peek().filter(u8::is_ascii_digit)
    }

    fn take(&mut self, piece: &[u8]) -> bool {
        let found = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(piece));
        self.at += if found { piece.len() } else { 0 };
        found
    }

    /// A number without a zero before it.
    fn number(&mut self, max_digits: usize, what: &str) -> Result<u32, SmilesError> {
        let start = self.at;
        while self.digit().is_some() {
            self.at += 1;
        }
        let digits = self.text.get(start..self.at).unwrap_or_default();
        let is_padded = digits.len() > 1 && digits.first() == Some(&b'0');
        if digits.is_empty() || digits.len() > max_digits || is_padded {
            let reason = format!("{what} is written with 1 to {max_digits} digits and no zero before them");
            return Err(refused(start + 1, reason));
        }
        Ok(digits.iter().fold(0, |number, digit| 10 * number + u32::from(digit - b'0')))
    }

    fn symbol(&mut self) -> Result<(), SmilesError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_element = |length: usize| {
            let name = rest.get(..length).and_then(|name| std::str::from_utf8(name).ok());
            name.is_some_and(|name| Element::from_symbol(name).is_some())
        };
        let length = match rest.first() {
            Some(b'*') => 1,
            Some(first) if first.is_ascii_uppercase() => {
                let has_small = rest.get(1).is_some_and(u8::is_ascii_lowercase);
                if has_small && is_element(2) { 2 } else { usize::from(is_element(1)) }
            }
            _ => AROMATIC.iter().find(|symbol| rest.starts_with(symbol)).map_or(0, |symbol| symbol.len()),
        };
        if length == 0 {
            return Err(refused(self.at + 1, "an element was expected inside brackets"));
        }
        self.at += length;
        Ok(())
    }

    fn chirality(&mut self) -> Result<(), SmilesError> {
        if !self.take(b"@") || self.take(b"@") {
            return Ok(());
        }
        for (class, arrangements) in CLASSES {
            if self.take(class) {
                let start = self.at;
                if self.digit().is_some() && !(1..=arrangements).contains(&self.number(2, "an arrangement")?)
                {
                    let class = String::from_utf8_lossy(class);
                    return Err(refused(
                        start + 1,
                        format!("`@{class}` has the arrangements 1 to {arrangements}"),
                    ));
                }
                return Ok(());
            }
        }
        Ok(())
    }

    fn charge(&mut self) -> Result<(), SmilesError> {
        for sign in [b"+", b"-"] {
            if self.take(sign) {
                if self.digit().is_some() {
                    self.number(2, "a charge")?;
                } else {
                    self.take(sign);
                }
                return Ok(());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atoms_in_brackets_are_measured_or_refused_at_their_character() {
        for atom in [
            "[C]",
            "[13CH4]",
            "[NH4+]",
            "[C@@H]",
            "[C@TH2]",
            "[Pt@SP1]",
            "[Co@OH30]",
            "[O-2]",
            "[Fe++]",
            "[nH]",
            "[se]",
            "[te]",
            "[*]",
            "[*:7]",
            "[HH]",
            "[2H]",
            "[Og]",
            "[CH3:12]",
            "[C+10]",
        ] {
            assert_eq!(length(atom.as_bytes(), 0), Ok(atom.len()), "{atom}");
        }
        for (atom, character) in [
            ("[C", 1),
            ("[]", 2),
            ("[Xx]", 2),
            ("[co]", 3),
            ("[al]", 2),
            ("[C+++]", 5),
            ("[C+-]", 4),
            ("[C+H]", 4),
            ("[CH2@]", 5),
            ("[C@@@]", 5),
            ("[C@TH3]", 6),
            ("[C@OH31]", 6),
            ("[C:]", 4),
            ("[013C]", 2),
            ("[C+01]", 4),
            ("[C+100]", 4),
            ("[CH100]", 4),
            ("[NaCl]", 4),
            ("[C1]", 3),
            ("[12]", 4),
            ("[D]", 2),
            ("[#6]", 2),
        ] {
            match length(atom.as_bytes(), 0) {
                Err(SmilesError::Syntax { character: found, .. }) => assert_eq!(found, character, "{atom}"),
                other => panic!("{atom}: {other:?}"),
            }
        }
    }
}
