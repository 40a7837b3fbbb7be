//! Molecules: places, atom labels, bond orders, and how neighbours are arranged in space.

use super::label::Label;
use super::layout::{self, Place};
use super::selection::Selection;
use super::sides;
use super::untangle::Tangle;
use chematic::core::{AtomIdx, Element, Molecule, implicit_hcount};
use chematic::smiles::rdkit::rdkit_2d_coords;
use chematic_depict::{BOND_LEN, compute_layout};
use graphminnet_data::foreign::contained;
use graphminnet_data::smiles::{Sketch, SketchAtom, SketchCentre, SketchOrder};
use std::collections::HashMap;

/// Length of a bond in the coordinates of RDKit.
const RDKIT_BOND: f64 = 1.5;

/// What a molecule adds to the picture of a graph.
pub(super) struct Skeleton {
    /// Places, in bond lengths; down is positive.
    pub(super) places: Vec<Place>,
    /// Label of every atom; `None` for a plain carbon.
    pub(super) labels: Vec<Option<Label>>,
    /// Symbol of every atom.
    pub(super) symbols: Vec<&'static str>,
    /// Order of every drawn edge.
    pub(super) orders: Vec<SketchOrder>,
    /// Double bonds whose neighbours could not be drawn on their sides.
    pub(super) unsettled: Vec<(usize, usize)>,
    /// The tetrahedral centres.
    pub(super) centres: Vec<SketchCentre>,
}

impl Skeleton {
    /// Sets the edges of the selection aside that are no bonds.
    pub(super) fn of(sketch: &Sketch, selection: &mut Selection) -> Self {
        let part = sketch.part(&selection.nodes);
        let known: HashMap<(usize, usize), SketchOrder> = part
            .bonds
            .iter()
            .map(|bond| ((bond.ends[0].min(bond.ends[1]), bond.ends[0].max(bond.ends[1])), bond.order))
            .collect();
        selection.keep_bonds(|edge| known.contains_key(&edge.ends));
        let orders = selection.edges.iter().filter_map(|edge| known.get(&edge.ends).copied()).collect();
        let molecule = part.molecule();
        let neighbours = selection.neighbours();
        let (places, unsettled) = places(&part, molecule.as_ref(), selection, &neighbours);
        let symbols: Vec<&'static str> =
            part.atoms.iter().map(|atom| element(atom).map_or("*", Element::symbol)).collect();
        let labels = part
            .atoms
            .iter()
            .enumerate()
            .map(|(at, atom)| {
                if atom.element == 6 && atom.charge == 0 && !neighbours[at].is_empty() {
                    return None;
                }
                let implied = || {
                    let count = |molecule| contained(|| implicit_hcount(molecule, AtomIdx(at as u32)));
                    molecule.as_ref().and_then(count).unwrap_or(0)
                };
                let hydrogens = atom.hydrogens.unwrap_or_else(implied);
                Some(Label { symbol: symbols[at], hydrogens, charge: atom.charge })
            })
            .collect();
        Self { places, labels, symbols, orders, unsettled, centres: part.centres }
    }
}

fn element(atom: &SketchAtom) -> Option<Element> {
    Element::from_atomic_number(atom.element)
}

/// Places, and the double bonds whose neighbours are on the wrong sides.
fn places(
    part: &Sketch,
    molecule: Option<&Molecule>,
    selection: &Selection,
    neighbours: &[Vec<usize>],
) -> (Vec<Place>, Vec<(usize, usize)>) {
    let bonds: Vec<(usize, usize)> = selection.edges.iter().map(|edge| edge.ends).collect();
    let tangle = Tangle { bonds: &bonds, neighbours };
    // Both are foreign code: if it fails, the picture is drawn with our own layout.
    let is_usable = |places: &Vec<Place>| {
        places.len() == part.atoms.len() && places.iter().all(|(x, y)| x.is_finite() && y.is_finite())
    };
    let found = molecule.and_then(|molecule| {
        let first = contained(|| as_in_rdkit(molecule)).flatten().filter(is_usable);
        first.or_else(|| contained(|| as_in_chematic(molecule)).filter(is_usable))
    });
    let mut places = match found {
        Some(mut places) => {
            tangle.untangle(&mut places);
            places
        }
        None => layout::spread(neighbours),
    };
    let unsettled = sides::settle(&mut places, &tangle, &part.sides);
    (places, unsettled)
}

fn as_in_rdkit(molecule: &Molecule) -> Option<Vec<Place>> {
    let places = rdkit_2d_coords(molecule).ok()?;
    // In a picture down is positive.
    Some(places.iter().map(|[x, y]| (x / RDKIT_BOND, -y / RDKIT_BOND)).collect())
}

fn as_in_chematic(molecule: &Molecule) -> Vec<Place> {
    compute_layout(molecule).coords.iter().map(|p| (p.x / BOND_LEN, p.y / BOND_LEN)).collect()
}
