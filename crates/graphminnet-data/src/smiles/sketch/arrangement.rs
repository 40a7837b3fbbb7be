//! How neighbours are arranged in space, found again from columns.
//!
//! OGB's columns say of a centre how its neighbours turn in the order of its bonds: that is all there is to know. R and
//! S, and E and Z of double bonds, are names: which arrangement has the name is tried out. A first guess is given its
//! names by the rules that made the columns, and whatever has the wrong name is turned over. A name may depend on other
//! centres, so this is repeated. What never gets its name is left out.

use super::super::{Featurizer, contained, guard, stereo};
use super::{Sketch, SketchCentre, SketchOrder, SketchSides};
use crate::graph::Graph;
use chematic::smiles::rdkit;

/// Position of the stereo column among those of atoms and of bonds, and its categories.
const STEREO: usize = 1;
const CLOCKWISE_OR_R: u32 = 1;
const COUNTERCLOCKWISE_OR_S: u32 = 2;
const Z: u32 = 1;
const E: u32 = 2;

/// Names depend on names this many times at most.
const ROUNDS: usize = 8;

/// Adds the arrangement to a sketch; `sources` holds an edge of the graph for every bond.
pub(super) fn find(featurizer: Featurizer, graph: &Graph, sources: &[usize], sketch: &mut Sketch) {
    let atom_names: Vec<u32> =
        (0..graph.num_nodes()).map(|node| column(graph.node_features().category_row(node))).collect();
    let bond_names: Vec<u32> =
        sources.iter().map(|&edge| column(graph.edge_features().category_row(edge))).collect();
    guess(sketch, &atom_names, &bond_names);
    if sketch.centres.is_empty() && sketch.sides.is_empty() {
        return;
    }
    for round in 0..=ROUNDS {
        let Some(named) = names(featurizer, sketch) else {
            sketch.centres.clear();
            sketch.sides.clear();
            return;
        };
        let bond_of = |sides: &SketchSides| sketch.bonds.iter().position(|bond| bond.ends == sides.ends);
        let is_right = |sides: &SketchSides| {
            bond_of(sides).is_some_and(|bond| named.bonds.get(bond) == bond_names.get(bond))
        };
        let right_sides: Vec<bool> = sketch.sides.iter().map(is_right).collect();
        let right_centres: Vec<bool> = sketch
            .centres
            .iter()
            .map(|centre| named.atoms.get(centre.atom) == atom_names.get(centre.atom))
            .collect();
        if !right_sides.contains(&false) && !right_centres.contains(&false) {
            return;
        }
        if round == ROUNDS {
            keep(&mut sketch.centres, &right_centres);
            keep(&mut sketch.sides, &right_sides);
            return;
        }
        for (centre, _) in sketch.centres.iter_mut().zip(&right_centres).filter(|(_, right)| !**right) {
            centre.clockwise = !centre.clockwise;
        }
        for (sides, _) in sketch.sides.iter_mut().zip(&right_sides).filter(|(_, right)| !**right) {
            sides.same = !sides.same;
        }
    }
}

fn keep<T>(list: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    list.retain(|_| kept.next() == Some(&true));
}

fn column(row: &[u32]) -> u32 {
    row.get(STEREO).copied().unwrap_or(0)
}

/// Centres and double bonds with a name, arranged in one way or the other.
fn guess(sketch: &mut Sketch, atom_names: &[u32], bond_names: &[u32]) {
    let around = sketch.neighbours();
    for (atom, name) in atom_names.iter().enumerate() {
        let neighbours = around.get(atom).cloned().unwrap_or_default();
        let is_named = matches!(*name, CLOCKWISE_OR_R | COUNTERCLOCKWISE_OR_S);
        if is_named && matches!(neighbours.len(), 3 | 4) {
            let clockwise = *name == CLOCKWISE_OR_R;
            sketch.centres.push(SketchCentre { atom, neighbours, clockwise });
        }
    }
    let single = |from: usize, not: usize| {
        let bond =
            |to: usize| sketch.bonds.iter().find(|bond| bond.ends == [from, to] || bond.ends == [to, from]);
        let is_single = |to: &usize| bond(*to).is_some_and(|bond| bond.order == SketchOrder::Single);
        around.get(from)?.iter().copied().find(|to| *to != not && is_single(to))
    };
    let mut found = Vec::new();
    for (bond, name) in sketch.bonds.iter().zip(bond_names) {
        let [first, second] = bond.ends;
        if bond.order != SketchOrder::Double || !matches!(*name, Z | E) {
            continue;
        }
        if let (Some(left), Some(right)) = (single(first, second), single(second, first)) {
            let neighbours = [left, right];
            found.push(SketchSides { ends: bond.ends, neighbours, same: *name == Z });
        }
    }
    sketch.sides = found;
}

/// The stereo column of every atom and every bond.
struct Names {
    atoms: Vec<u32>,
    bonds: Vec<u32>,
}

/// The names that a sketch has as it is arranged; `None` if it makes no molecule.
fn names(featurizer: Featurizer, sketch: &Sketch) -> Option<Names> {
    guard::check_canonical(sketch.atoms.len()).ok()?;
    let molecule = sketch.molecule()?;
    let features = contained(|| {
        let mut features =
            rdkit::ogb_graph_features_with_options(&molecule, false).map_err(super::chemistry)?;
        if featurizer == Featurizer::Cip {
            stereo::label(&molecule, &mut features)?;
        }
        Ok(features)
    })
    .ok()?;
    let category = |value: i64| u32::try_from(value).unwrap_or(0);
    let atoms = features.node_feat.iter().map(|row| category(row[STEREO])).collect();
    // Every bond is there twice, once in each direction.
    let bonds = features.edge_feat.iter().step_by(2).map(|row| category(row[STEREO])).collect();
    Some(Names { atoms, bonds })
}
