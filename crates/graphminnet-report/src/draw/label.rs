//! What is written in place of an atom: its symbol, hydrogens and charge.

/// The label of an atom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label {
    /// Symbol of the element.
    pub(super) symbol: &'static str,
    /// Hydrogens that belong to it.
    pub(super) hydrogens: u8,
    /// Formal charge.
    pub(super) charge: i8,
}

impl Label {
    /// `NH₃⁺`, or `H₃N⁺` with the hydrogens before the symbol.
    pub(super) fn text(&self, hydrogens_first: bool) -> String {
        let (hydrogens, charge) = (self.hydrogens(), self.charge());
        let symbol = self.symbol;
        if hydrogens_first {
            format!("{hydrogens}{symbol}{charge}")
        } else {
            format!("{symbol}{hydrogens}{charge}")
        }
    }

    /// What stands before the symbol.
    pub(super) fn head(&self, hydrogens_first: bool) -> String {
        if hydrogens_first { self.hydrogens() } else { String::new() }
    }

    fn hydrogens(&self) -> String {
        match self.hydrogens {
            0 => String::new(),
            1 => "H".to_owned(),
            count => {
                let digits = count.to_string();
                let lowered = digits.chars().filter_map(|d| char::from_u32(0x2080 + d.to_digit(10)?));
                std::iter::once('H').chain(lowered).collect()
            }
        }
    }

    fn charge(&self) -> String {
        const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
        let mut text = String::new();
        if self.charge == 0 {
            return text;
        }
        if self.charge.unsigned_abs() > 1 {
            text.extend(RAISED.get(usize::from(self.charge.unsigned_abs())));
        }
        text.push(if self.charge > 0 { '⁺' } else { '⁻' });
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_carry_hydrogens_and_charge_and_put_hydrogens_on_either_side() {
        let text = |symbol, hydrogens, charge, first| Label { symbol, hydrogens, charge }.text(first);
        let written = [text("N", 3, 1, false), text("O", 0, -1, false), text("Fe", 0, 3, false)];
        assert_eq!(written, ["NH₃⁺", "O⁻", "Fe³⁺"]);
        assert_eq!(
            [text("N", 3, 1, true), text("O", 1, 0, true), text("Cl", 0, 0, true)],
            ["H₃N⁺", "HO", "Cl"]
        );
    }
}
