//! In which form molecules are read: with or without their hydrogens, their stereo marks, their counter-ions.

use super::{
    BASIC_DESCRIPTORS, Featurizer, Fingerprint, SmilesError, chemistry, contained, descriptors, guard,
    ogb_graph, parse, scaffold, stereo, zinc,
};
use crate::graph::{Features, Graph};
use crate::{Level, Limits, ReadOptions, Schema};
use chematic::core::{Element, Molecule};
use chematic::smiles::rdkit;
use serde::{Deserialize, Serialize};

/// What is done to molecules before they become graphs. The default takes them as they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MoleculeForm {
    /// Every hydrogen is an atom of the graph.
    pub add_hydrogens: bool,
    /// Mirror images and the two sides of double bonds are not told apart.
    pub ignore_stereo: bool,
    /// Of several fragments the one with the most atoms besides hydrogen is kept: salts lose their counter-ions.
    pub largest_fragment: bool,
    /// A dozen numbers about the whole molecule join its graph; see [`BASIC_DESCRIPTORS`](super::BASIC_DESCRIPTORS).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub basic_descriptors: bool,
    /// The counts of its [`Fingerprint`] join its graph, as `ln(1 + count)`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub morgan_counts: bool,
}

/// How a string becomes a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MoleculeReading {
    /// The columns.
    pub featurizer: Featurizer,
    /// What is done before.
    pub form: MoleculeForm,
}

impl MoleculeForm {
    /// Whether molecules are taken as they are written.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// How many numbers about whole molecules join their graphs.
    pub fn graph_numbers(&self) -> usize {
        let basic = if self.basic_descriptors { BASIC_DESCRIPTORS.len() } else { 0 };
        basic + if self.morgan_counts { Fingerprint::PLACES } else { 0 }
    }

    /// These numbers.
    fn describe(&self, graph: Graph) -> Result<Graph, SmilesError> {
        let mut numbers = Vec::with_capacity(self.graph_numbers());
        if self.basic_descriptors {
            numbers.extend(descriptors::basic(&graph));
        }
        if self.morgan_counts {
            numbers.extend(descriptors::morgan(&graph));
        }
        if numbers.is_empty() {
            return Ok(graph);
        }
        let features = Features::numbers(1, numbers.len(), numbers);
        features
            .and_then(|features| graph.with_graph_features(features))
            .map_err(|error| SmilesError::Unsupported(error.to_string()))
    }

    /// The scaffold of a molecule in this form; see [`scaffold_key`](super::scaffold_key).
    ///
    /// # Errors
    ///
    /// [`SmilesError`] for anything that is not a molecule within the limits.
    pub fn scaffold_key(&self, smiles: &str, limits: &Limits) -> Result<String, SmilesError> {
        let smiles = guard::check(smiles, limits)?;
        contained(|| scaffold(&self.molecule(&smiles, limits)?))
    }

    /// The molecule that a string stands for, or the part of it that is kept.
    fn molecule(&self, smiles: &str, limits: &Limits) -> Result<Molecule, SmilesError> {
        let molecule = parse(smiles)?;
        guard::check_molecule(&molecule, limits)?;
        self.fragment(molecule)
    }

    /// The part of a molecule that is kept.
    fn fragment(&self, molecule: Molecule) -> Result<Molecule, SmilesError> {
        if !self.largest_fragment || molecule.is_connected() {
            return Ok(molecule);
        }
        let size = |fragment: &Molecule| {
            let numbers = fragment.atoms().map(|(_, atom)| u64::from(atom.element.atomic_number()));
            let heavy =
                fragment.atoms().filter(|(_, atom)| atom.wildcard || atom.element != Element::H).count();
            (heavy, numbers.sum::<u64>())
        };
        let mut fragments = molecule.fragments();
        let largest = fragments.iter().map(size).max();
        fragments.retain(|fragment| Some(size(fragment)) == largest);
        // Of equals the first by its canonical form, not the one that happens to be written first.
        if let [_, _, ..] = fragments.as_slice() {
            let mut named = Vec::with_capacity(fragments.len());
            for fragment in fragments {
                guard::check_canonical(fragment.atom_count())?;
                named.push((rdkit::rdkit_canonical_smiles(&fragment).map_err(chemistry)?, fragment));
            }
            named.sort_by(|(a, _), (b, _)| a.cmp(b));
            fragments = named.into_iter().map(|(_, fragment)| fragment).collect();
        }
        Ok(fragments.into_iter().next().unwrap_or(molecule))
    }
}

impl MoleculeReading {
    /// How these options read molecules; `None` if their schema's columns are not those of molecules.
    pub(crate) fn of(options: &ReadOptions) -> Option<Self> {
        match &options.schema {
            Some(schema) => Self::of_schema(schema),
            None => {
                let (featurizer, mut form) = (options.molecule_columns(), options.molecules);
                // The columns of ZINC have no place for descriptors.
                form.basic_descriptors |= options.describe_molecules
                    && featurizer != Featurizer::Zinc
                    && matches!(options.level, None | Some(Level::Graph));
                Some(Self { featurizer, form })
            }
        }
    }

    /// How molecules of such data were read; `None` if its columns are not those of molecules.
    pub fn of_schema(schema: &Schema) -> Option<Self> {
        let form = schema.molecules.as_ref().map(|table| table.form).unwrap_or_default();
        Some(Self { featurizer: Featurizer::of_schema(schema)?, form })
    }

    /// The graph of a molecule.
    ///
    /// # Errors
    ///
    /// [`SmilesError`] for anything that is not a molecule within the limits.
    pub fn graph(&self, smiles: &str, limits: &Limits) -> Result<Graph, SmilesError> {
        let smiles = guard::check(smiles, limits)?;
        contained(|| {
            let molecule = self.form.molecule(&smiles, limits)?;
            match self.featurizer {
                Featurizer::Zinc => {
                    if self.form.add_hydrogens || self.form.ignore_stereo || self.form.graph_numbers() > 0 {
                        let reason = "the columns of ZINC have no place for added hydrogens, missing stereo or \
                                      descriptors";
                        return Err(SmilesError::Unsupported(reason.to_owned()));
                    }
                    guard::check_canonical(molecule.atom_count())?;
                    zinc::graph(&molecule)
                }
                Featurizer::Ogb | Featurizer::Cip => self.columns(&molecule),
            }
        })
    }

    fn columns(&self, molecule: &Molecule) -> Result<Graph, SmilesError> {
        let full = match self.form.add_hydrogens {
            false => None,
            true => Some(rdkit::rdkit_added_hs_molecule(molecule).ok_or_else(|| {
                SmilesError::Unsupported("hydrogens cannot be added to this molecule".to_owned())
            })?),
        };
        let molecule = full.as_ref().unwrap_or(molecule);
        let mut features =
            rdkit::ogb_graph_features_with_options(molecule, full.is_none()).map_err(chemistry)?;
        match (self.form.ignore_stereo, self.featurizer) {
            (true, _) => stereo::forget(&mut features),
            (false, Featurizer::Cip) => stereo::label(molecule, &mut features)?,
            (false, _) => {}
        }
        self.form.describe(ogb_graph(&features)?)
    }
}
