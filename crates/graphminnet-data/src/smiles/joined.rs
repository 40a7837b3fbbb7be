//! Several molecules as one graph: those of the columns of a row, or the sides of a reaction.
//!
//! The graph has a component, or several, for each, and one more column says of every atom which of them it belongs to. In
//! a reaction, an atom of the reactants and the atom of the products with the same map number are joined by an edge in
//! each direction. A further column of edges tells these from bonds, so that a model can follow an atom through the
//! reaction: this is the condensed graph of the reaction, with both states of an atom kept.

use super::{SmilesError, build};
use crate::graph::Graph;
use crate::{Column, ColumnKind, Limits};
use std::collections::HashMap;

/// The column of atoms that says which molecule, or which side of a reaction, an atom belongs to.
pub(super) const ROLE: &str = "role";

/// The column of edges of reactions that tells bonds from edges between the two states of an atom.
pub(super) const SAME_ATOM: &str = "same_atom";

/// The sides of a reaction, in the order in which they are written.
pub(super) const SIDES: [&str; 3] = ["reactant", "agent", "product"];
const REACTANT: u32 = 0;
const PRODUCT: u32 = 2;

/// The other columns of an edge that is no bond: a bond of another kind, without stereo, not conjugated.
const NO_BOND: [u32; 3] = [4, 0, 0];

/// The column of roles with these names.
pub(super) fn role_column(names: Vec<String>) -> Column {
    Column::new(ROLE, ColumnKind::Category { size: names.len(), names })
}

/// The column of edges between the two states of an atom.
pub(super) fn same_atom_column() -> Column {
    let names = ["no", "yes"].map(str::to_owned).to_vec();
    Column::new(SAME_ATOM, ColumnKind::Category { size: names.len(), names })
}

/// Columns without one of a name at their end.
pub(super) fn without<'a>(columns: &'a [Column], name: &str) -> &'a [Column] {
    match columns.split_last() {
        Some((last, others)) if last.name == name => others,
        _ => columns,
    }
}

/// One of the molecules.
pub(super) struct Part {
    pub(super) graph: Graph,
    pub(super) role: u32,
    /// The map number of every atom that has one.
    pub(super) maps: Vec<Option<u16>>,
}

/// All of them as one graph, with the column of roles; as a reaction, with edges between the two states of atoms.
pub(super) fn united(parts: &[Part], is_reaction: bool, limits: &Limits) -> Result<Graph, SmilesError> {
    let atoms: usize = parts.iter().map(|part| part.graph.num_nodes()).sum();
    let limit = limits.molecule_atoms.min(limits.nodes_per_graph);
    if atoms as u64 > limit {
        return Err(SmilesError::TooLarge { what: "atoms", found: atoms as u64, limit });
    }
    let (mut nodes, mut edges, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
    let (mut before, mut reactants) = (0u32, HashMap::new());
    for part in parts {
        let (node_rows, edge_rows) = (part.graph.node_features(), part.graph.edge_features());
        for node in 0..part.graph.num_nodes() {
            nodes.extend_from_slice(node_rows.category_row(node));
            nodes.push(part.role);
        }
        for (edge, [from, to]) in part.graph.edges().iter().enumerate() {
            edges.push([before + from, before + to]);
            kinds.extend_from_slice(edge_rows.category_row(edge));
            kinds.extend(is_reaction.then_some(0));
        }
        if part.role == REACTANT {
            for (atom, map) in (before..).zip(&part.maps) {
                if let Some(map) = map
                    && reactants.insert(*map, atom).is_some()
                {
                    return Err(repeated(*map, "reactants"));
                }
            }
        }
        before = before.saturating_add(u32::try_from(part.graph.num_nodes()).unwrap_or(u32::MAX));
    }
    if is_reaction {
        for (map, atom) in mapped_products(parts)? {
            if let Some(&reactant) = reactants.get(&map) {
                edges.extend([[reactant, atom], [atom, reactant]]);
                for _ in 0..2 {
                    kinds.extend(NO_BOND);
                    kinds.push(1);
                }
            }
        }
    }
    let width = |rows: usize, values: &[u32], usual: usize| values.len().checked_div(rows).unwrap_or(usual);
    let node_width = width(atoms, &nodes, 0);
    let edge_width = width(edges.len(), &kinds, NO_BOND.len() + usize::from(is_reaction));
    build(atoms, edges, (node_width, nodes), (edge_width, kinds))
}

/// The atoms of the products that have a map number, by their number in the whole graph.
fn mapped_products(parts: &[Part]) -> Result<Vec<(u16, u32)>, SmilesError> {
    let (mut found, mut seen, mut before) = (Vec::new(), HashMap::new(), 0u32);
    for part in parts {
        if part.role == PRODUCT {
            for (atom, map) in (before..).zip(&part.maps) {
                if let Some(map) = map {
                    if seen.insert(*map, atom).is_some() {
                        return Err(repeated(*map, "products"));
                    }
                    found.push((*map, atom));
                }
            }
        }
        before = before.saturating_add(u32::try_from(part.graph.num_nodes()).unwrap_or(u32::MAX));
    }
    Ok(found)
}

fn repeated(map: u16, side: &str) -> SmilesError {
    SmilesError::Unsupported(format!("two atoms of the {side} have the map number {map}"))
}

/// The sides of a reaction, each with the number of characters before it.
pub(super) fn sides(text: &str) -> Result<[(usize, &str); 3], SmilesError> {
    // A `>` after a `-` is the head of a dative bond.
    let is_arrow =
        |at: &usize| at.checked_sub(1).is_none_or(|before| text.as_bytes().get(before) != Some(&b'-'));
    let arrows: Vec<usize> = text.match_indices('>').map(|(at, _)| at).filter(is_arrow).collect();
    let [first, second] = arrows[..] else {
        let reason =
            format!("a reaction is written as reactants>agents>products; there are {} `>`", arrows.len());
        let character = arrows.get(2).map_or(text.len().max(1), |at| at + 1);
        return Err(SmilesError::Syntax { character, reason });
    };
    let part = |from: usize, to: usize| (from, text.get(from..to).unwrap_or_default());
    let sides = [part(0, first), part(first + 1, second), part(second + 1, text.len())];
    for (at, side) in [(0, "reactants"), (2, "products")] {
        if sides[at].1.is_empty() {
            let reason = format!("a reaction needs {side}");
            return Err(SmilesError::Syntax { character: sides[at].0.max(1), reason });
        }
    }
    Ok(sides)
}

/// An error about a part of a text, at its place in the whole.
pub(super) fn moved(error: SmilesError, before: usize) -> SmilesError {
    match error {
        SmilesError::Syntax { character, reason } => {
            SmilesError::Syntax { character: character + before, reason }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reaction_is_cut_at_its_arrows_and_not_at_dative_bonds() {
        assert_eq!(sides("CC>>CO"), Ok([(0, "CC"), (3, ""), (4, "CO")]));
        assert_eq!(sides("C->[Fe]>O>N"), Ok([(0, "C->[Fe]"), (8, "O"), (10, "N")]));
        for (text, character) in [("CC", 2), ("CC>CO", 5), ("C>>C>C", 5), (">>C", 1), ("C>O>", 4)] {
            let found = sides(text);
            assert!(
                matches!(found, Err(SmilesError::Syntax { character: at, .. }) if at == character),
                "{text}: {found:?}"
            );
        }
    }
}
