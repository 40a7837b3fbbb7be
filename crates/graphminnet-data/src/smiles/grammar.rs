//! The grammar of SMILES, checked character by character before a molecule is built.
//!
//! The molecule parser is lenient: it reads `CC()O` as `CCO` and `C11` as a loop. A string with a slip in it would be
//! answered for another molecule, so everything that RDKit's grammar refuses is refused here, with the character
//! (counted from 1) and what was expected there. `tests/smiles_verdicts.rs` holds the two to each other.

mod bracket;

use super::SmilesError;
use crate::Limits;
use std::collections::{HashMap, HashSet};

/// Nested branches that the molecule parser follows on the stack.
const MAX_DEPTH: u64 = 500;

/// What may come next.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    /// An atom: at the beginning and after a dot.
    Start,
    /// Anything: there is an atom to go on from.
    Any,
    /// An atom or a bond: after `(`.
    Branch,
    /// An atom, or a ring number unless the bond begins a branch.
    AfterBond { begins_branch: bool },
}

/// A ring that waits for its second atom.
struct OpenRing {
    atom: usize,
    character: usize,
}

/// A walk through a string.
struct Walk<'a> {
    text: &'a [u8],
    at: usize,
    next: Next,
    atoms: usize,
    current: usize,
    /// The atom that each atom hangs on; itself for the first of a fragment.
    parents: Vec<usize>,
    ring_bonds: HashSet<(usize, usize)>,
    /// The atom to go back to at the end of each open branch, and where the branch began.
    branches: Vec<(usize, usize)>,
    rings: HashMap<u32, OpenRing>,
    max_open: u64,
    /// What keeps a string that follows the grammar from being read.
    unsupported: Option<SmilesError>,
}

fn refused(character: usize, reason: impl Into<String>) -> SmilesError {
    SmilesError::Syntax { character, reason: reason.into() }
}

/// Fails at the first character that breaks the grammar. The text must be printable ASCII.
pub(super) fn check(text: &str, limits: &Limits) -> Result<(), SmilesError> {
    let mut walk = Walk {
        text: text.as_bytes(),
        at: 0,
        next: Next::Start,
        atoms: 0,
        current: 0,
        parents: Vec::new(),
        ring_bonds: HashSet::new(),
        branches: Vec::new(),
        rings: HashMap::new(),
        max_open: limits.smiles_depth.min(MAX_DEPTH),
        unsupported: None,
    };
    while let Some(&byte) = walk.text.get(walk.at) {
        walk.step(byte)?;
    }
    walk.end()
}

impl Walk<'_> {
    /// The character to be read, counted from 1.
    fn character(&self) -> usize {
        self.at + 1
    }

    fn followed_by(&self, byte: u8) -> bool {
        self.text.get(self.at + 1) == Some(&byte)
    }

    /// Takes down what other programs read and this one does not, unless something came before it.
    fn note(&mut self, what: &str) {
        let reason = format!("{what} is not supported (character {})", self.character());
        self.unsupported.get_or_insert(SmilesError::Unsupported(reason));
    }

    fn step(&mut self, byte: u8) -> Result<(), SmilesError> {
        match byte {
            b'(' => self.open_branch(),
            b')' => self.close_branch(),
            b'.' => self.dot(),
            b'0'..=b'9' | b'%' => self.ring(),
            b'[' => {
                let length = bracket::length(self.text, self.at)?;
                self.atom(length)
            }
            b'C' if self.followed_by(b'l') => self.atom(2),
            b'B' if self.followed_by(b'r') => self.atom(2),
            b'B' | b'C' | b'N' | b'O' | b'P' | b'S' | b'F' | b'I' | b'*' => self.atom(1),
            b'b' | b'c' | b'n' | b'o' | b'p' | b's' => self.atom(1),
            b'-' if self.followed_by(b'>') => self.bond(2),
            b'<' if self.followed_by(b'-') => self.bond(2),
            // A doubled backslash is what is left of a string that was escaped once too often.
            b'\\' if self.followed_by(b'\\') => self.bond(2),
            b'-' | b'=' | b'#' | b'$' | b':' | b'/' | b'\\' => self.bond(1),
            b'~' => {
                self.note("a bond of any kind, `~`,");
                self.bond(1)
            }
            b'>' => {
                let reason = "`>` parts the sides of a reaction; reactions are read with `--reactions`";
                Err(refused(self.character(), reason))
            }
            b'@' => Err(refused(self.character(), "`@` belongs inside brackets, as in `[C@H]`")),
            b']' => Err(refused(self.character(), "`]` without a `[` before it")),
            other => {
                let shown = crate::escape(&char::from(other).to_string());
                let reason = format!(
                    "`{shown}` is no atom or bond; elements beside B C N O P S F Cl Br I need brackets"
                );
                Err(refused(self.character(), reason))
            }
        }
    }

    fn atom(&mut self, length: usize) -> Result<(), SmilesError> {
        let new = self.atoms;
        self.parents.push(if self.next == Next::Start { new } else { self.current });
        self.atoms += 1;
        self.current = new;
        self.next = Next::Any;
        self.at += length;
        Ok(())
    }

    fn bond(&mut self, length: usize) -> Result<(), SmilesError> {
        self.next = match self.next {
            Next::Any => Next::AfterBond { begins_branch: false },
            Next::Branch => Next::AfterBond { begins_branch: true },
            Next::Start => return Err(refused(self.character(), "a bond without an atom before it")),
            Next::AfterBond { .. } => return Err(refused(self.character(), "a second bond in a row")),
        };
        self.at += length;
        Ok(())
    }

    fn open_branch(&mut self) -> Result<(), SmilesError> {
        match self.next {
            Next::Any => {}
            Next::AfterBond { .. } => {
                let reason = "a branch after a bond; write the bond inside the branch, as in `C(=O)`";
                return Err(refused(self.character(), reason));
            }
            Next::Start | Next::Branch => {
                return Err(refused(self.character(), "a branch without an atom before it"));
            }
        }
        self.branches.push((self.current, self.character()));
        self.within("nested branches", self.branches.len())?;
        self.next = Next::Branch;
        self.at += 1;
        Ok(())
    }

    fn close_branch(&mut self) -> Result<(), SmilesError> {
        self.needs_atom()?;
        let Some((back, _)) = self.branches.pop() else {
            return Err(refused(self.character(), "`)` without a `(` before it"));
        };
        self.current = back;
        self.at += 1;
        Ok(())
    }

    fn dot(&mut self) -> Result<(), SmilesError> {
        self.needs_atom()?;
        if !self.branches.is_empty() {
            self.note("a dot inside a branch");
        }
        self.next = Next::Start;
        self.at += 1;
        Ok(())
    }

    /// Fails where something is left open that needs an atom.
    fn needs_atom(&self) -> Result<(), SmilesError> {
        let reason = match self.next {
            Next::Any => return Ok(()),
            Next::Start => "an atom was expected",
            Next::Branch => "a branch without an atom",
            Next::AfterBond { .. } => "a bond without an atom after it",
        };
        // What is to blame is the character before.
        let character = if self.next == Next::Start { self.character() } else { self.at };
        Err(refused(character, reason))
    }

    fn ring(&mut self) -> Result<(), SmilesError> {
        let character = self.character();
        if !matches!(self.next, Next::Any | Next::AfterBond { begins_branch: false }) {
            return Err(refused(character, "a ring number without an atom before it"));
        }
        let number = self.ring_number()?;
        match self.rings.remove(&number) {
            None => {
                self.rings.insert(number, OpenRing { atom: self.current, character });
                self.within("open rings", self.rings.len())?;
            }
            Some(open) => {
                let (first, second) = (open.atom, self.current);
                if first == second {
                    return Err(refused(
                        character,
                        format!("ring {number} closes on the atom that opens it"),
                    ));
                }
                let is_bonded = self.parents.get(first) == Some(&second)
                    || self.parents.get(second) == Some(&first)
                    || !self.ring_bonds.insert((first.min(second), first.max(second)));
                if is_bonded {
                    let reason = format!("ring {number} joins two atoms that are already bonded");
                    return Err(refused(character, reason));
                }
            }
        }
        self.next = Next::Any;
        Ok(())
    }

    /// The number of a ring: a digit, `%` and two digits, or `%(` and three to five digits `)`.
    fn ring_number(&mut self) -> Result<u32, SmilesError> {
        let character = self.character();
        let expected =
            || refused(character, "`%` needs two digits after it, or three to five in parentheses");
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (digits, length) = match rest {
            [b'%', b'(', rest @ ..] => {
                let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                if !(3..=5).contains(&digits)
                    || rest.get(digits) != Some(&b')')
                    || rest.first() == Some(&b'0')
                {
                    return Err(expected());
                }
                (rest.get(..digits).unwrap_or_default(), digits + 3)
            }
            [b'%', tens, units, ..] if tens.is_ascii_digit() && units.is_ascii_digit() => {
                (rest.get(1..3).unwrap_or_default(), 3)
            }
            [b'%', ..] => return Err(expected()),
            _ => (rest.get(..1).unwrap_or_default(), 1),
        };
        self.at += length;
        Ok(digits.iter().fold(0, |number, digit| 10 * number + u32::from(digit - b'0')))
    }

    fn within(&self, what: &'static str, found: usize) -> Result<(), SmilesError> {
        if found as u64 > self.max_open {
            return Err(SmilesError::TooLarge { what, found: found as u64, limit: self.max_open });
        }
        Ok(())
    }

    fn end(self) -> Result<(), SmilesError> {
        if self.next == Next::Start {
            return Err(refused(self.at, "a dot without an atom after it"));
        }
        self.needs_atom()?;
        if let Some((_, opened)) = self.branches.last() {
            return Err(refused(*opened, "a branch that is never closed"));
        }
        if let Some((number, ring)) = self.rings.iter().min_by_key(|(_, ring)| ring.character) {
            return Err(refused(ring.character, format!("ring {number} is never closed")));
        }
        self.unsupported.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(smiles: &str) -> (usize, String) {
        match check(smiles, &Limits::default()) {
            Err(SmilesError::Syntax { character, reason }) => (character, reason),
            other => panic!("{smiles}: {other:?}"),
        }
    }

    #[test]
    fn slips_are_refused_at_their_character() {
        for (smiles, character, piece) in [
            ("CC()O", 3, "branch without an atom"),
            ("CC(=)O", 4, "bond without an atom after it"),
            ("CC=(O)C", 4, "write the bond inside"),
            ("CC@C", 3, "inside brackets"),
            ("C11", 3, "closes on the atom"),
            ("C1C1", 4, "already bonded"),
            ("C12CC12", 7, "already bonded"),
            ("C1CC", 2, "ring 1 is never closed"),
            ("C%12CC", 2, "ring 12 is never closed"),
            ("C%1C", 2, "two digits"),
            ("C%(12)C", 2, "in parentheses"),
            ("C(C", 2, "never closed"),
            ("CC)C", 3, "without a `(`"),
            ("(C)C", 1, "branch without an atom before it"),
            ("C((C)C)C", 3, "branch without an atom before it"),
            ("C(1CC)C1", 3, "ring number without an atom"),
            ("C(=1CC)C1", 4, "ring number without an atom"),
            (".C", 1, "atom was expected"),
            ("C..C", 3, "atom was expected"),
            ("C.", 2, "dot without an atom after it"),
            ("=C", 1, "bond without an atom before it"),
            ("C==C", 3, "second bond"),
            ("C=", 2, "bond without an atom after it"),
            ("C=.C", 2, "bond without an atom after it"),
            ("CXC", 2, "`X` is no atom"),
            ("CC]", 3, "without a `[`"),
            ("[Se]seC", 6, "`e` is no atom"),
        ] {
            let (found, reason) = refusal(smiles);
            assert!(found == character && reason.contains(piece), "{smiles}: character {found}: {reason}");
        }
    }

    #[test]
    fn what_the_grammar_allows_passes() {
        for smiles in [
            "C",
            "CCO",
            "C(=O)O",
            "C(C)(C)C",
            "C1CC1",
            "C%12CC%12",
            "C%(123)CC%(123)",
            "C=1CCC1",
            "C1.C1",
            "C(C)1CC1",
            "C12CC1C2",
            "[Na+].[Cl-]",
            "F/C=C/F",
            r"C\\C=C\C",
            "N->[Fe]",
            "[Fe]<-N",
            "C$C",
            "*C",
            "C0CC0",
        ] {
            assert_eq!(check(smiles, &Limits::default()), Ok(()), "{smiles}");
        }
    }

    #[test]
    fn open_branches_and_rings_are_bounded() {
        let nested = format!("C{}{}", "(C".repeat(501), ")".repeat(501));
        let too_large = |what, found| Err(SmilesError::TooLarge { what, found, limit: 500 });
        assert_eq!(check(&nested, &Limits::default()), too_large("nested branches", 501));
        let rings: String = (100..700).map(|number| format!("C%({number})")).collect();
        assert_eq!(check(&rings, &Limits::default()), too_large("open rings", 501));
    }
}
