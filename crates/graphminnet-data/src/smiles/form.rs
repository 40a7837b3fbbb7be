//! In which form molecules are read: with or without their hydrogens, their stereo marks, their counter-ions; alone,
//! with others, or as reactions.

use super::joined::{self, Part};
use super::{
    BASIC_DESCRIPTORS, Featurizer, Fingerprint, SmilesError, chemistry, contained, descriptors, guard,
    ogb_graph, parse, parts, scaffold, stereo, zinc,
};
use crate::graph::{Features, Graph};
use crate::{Column, Level, Limits, RULES, ReadOptions, Schema};
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
    /// Every string is a reaction, `reactants>agents>products`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reactions: bool,
}

/// The first version of the rules under which a fragment is read as it is written, with its stereo marks.
const AS_WRITTEN: u32 = 8;

/// The first version of the rules under which numbers that map atoms say nothing about stereo.
const UNMAPPED: u32 = 8;

/// The last version of the rules that changed which graph a string becomes; a model remembers whether it is of before.
const LATEST: u32 = AS_WRITTEN;

/// How a string becomes a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoleculeReading {
    /// The columns.
    pub featurizer: Featurizer,
    /// What is done before.
    pub form: MoleculeForm,
    /// Further molecules that are read together with one, as one graph.
    pub further: usize,
    /// The version of the rules that applies; see [`MoleculeTable::rules`](crate::MoleculeTable::rules).
    pub rules: u32,
}

impl Default for MoleculeReading {
    fn default() -> Self {
        Self { featurizer: Featurizer::default(), form: MoleculeForm::default(), further: 0, rules: LATEST }
    }
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
    pub(crate) fn describe(&self, graph: Graph) -> Result<Graph, SmilesError> {
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
        self.scaffold_key_under(RULES, smiles, limits)
    }

    /// The same under the rules of a version ([`ReadOptions::rules`]).
    pub(crate) fn scaffold_key_under(
        &self,
        rules: u32,
        smiles: &str,
        limits: &Limits,
    ) -> Result<String, SmilesError> {
        // Reactions belong together by what they make.
        let product =
            self.reactions.then(|| joined::sides(smiles.trim())).transpose()?.map(|[.., (_, side)]| side);
        let smiles = guard::check(product.unwrap_or(smiles), limits)?;
        contained(|| {
            let mut molecule = match rules {
                AS_WRITTEN.. => self.molecule(&smiles, rules, limits)?,
                _ => read(&smiles, limits)?,
            };
            if rules >= scaffold::BARE {
                molecule = scaffold::bare(&molecule)?;
            }
            scaffold::of(&self.fragment(molecule)?)
        })
    }

    /// The molecule that a string stands for, or the part of it that is kept.
    fn molecule(&self, smiles: &str, rules: u32, limits: &Limits) -> Result<Molecule, SmilesError> {
        let molecule = read(smiles, limits)?;
        if rules < AS_WRITTEN || !self.largest_fragment || molecule.is_connected() {
            return self.fragment(molecule);
        }
        // A part that is cut out of a molecule has forgotten in which order the neighbours of its centres are written.
        let fragments = parts::of(smiles).iter().map(|part| parse(part)).collect::<Result<_, _>>()?;
        Ok(largest(fragments)?.unwrap_or(molecule))
    }

    /// The part of a molecule that is kept.
    fn fragment(&self, molecule: Molecule) -> Result<Molecule, SmilesError> {
        if !self.largest_fragment || molecule.is_connected() {
            return Ok(molecule);
        }
        Ok(largest(molecule.fragments())?.unwrap_or(molecule))
    }
}

/// The fragment with the most atoms besides hydrogen, of several the heaviest.
fn largest(mut fragments: Vec<Molecule>) -> Result<Option<Molecule>, SmilesError> {
    let size = |fragment: &Molecule| {
        let numbers = fragment.atoms().map(|(_, atom)| u64::from(atom.element.atomic_number()));
        let heavy = fragment.atoms().filter(|(_, atom)| atom.wildcard || atom.element != Element::H).count();
        (heavy, numbers.sum::<u64>())
    };
    let most = fragments.iter().map(size).max();
    fragments.retain(|fragment| Some(size(fragment)) == most);
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
    Ok(fragments.into_iter().next())
}

impl MoleculeReading {
    /// How these options read molecules; `None` if their schema's columns are not those of molecules.
    pub(crate) fn of(options: &ReadOptions) -> Option<Self> {
        match &options.schema {
            Some(schema) => Self::of_schema(schema),
            None => {
                let (featurizer, mut form) = (options.molecule_columns(), options.molecules);
                let further = options.further_smiles.len();
                // They describe one molecule, and the columns of ZINC have no place for them.
                let can_be_described = further == 0 && !form.reactions && featurizer != Featurizer::Zinc;
                form.basic_descriptors |= options.describe_molecules
                    && can_be_described
                    && matches!(options.level, None | Some(Level::Graph));
                Some(Self { featurizer, form, further, rules: known(options.rules) })
            }
        }
    }

    /// How molecules of such data were read; `None` if its columns are not those of molecules.
    pub fn of_schema(schema: &Schema) -> Option<Self> {
        let table = schema.molecules.as_ref();
        let form = table.map(|table| table.form).unwrap_or_default();
        let further = table.map_or(0, |table| table.further.len());
        let rules = table.map_or(0, |table| known(table.rules));
        Some(Self { featurizer: Featurizer::of_schema(schema)?, form, further, rules })
    }

    /// What does not go together, in words.
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        let (several, form) = (self.further > 0, &self.form);
        match () {
            () if form.reactions && several => {
                Some("a reaction has its molecules in one column: reactions are not read from several")
            }
            () if form.reactions && form.largest_fragment => {
                Some("the largest fragment would leave one molecule of each side of a reaction")
            }
            () if (form.reactions || several) && form.graph_numbers() > 0 => {
                Some("computed descriptors describe one molecule, not several or a reaction")
            }
            () => None,
        }
    }

    /// Columns of nodes and of edges; `names` are those of the columns that molecules are read from.
    pub(crate) fn columns_of(&self, names: Vec<String>) -> (Vec<Column>, Vec<Column>) {
        let (mut nodes, mut edges) = (self.featurizer.node_columns(), self.featurizer.edge_columns());
        if self.form.reactions {
            nodes.push(joined::role_column(joined::SIDES.map(str::to_owned).to_vec()));
            edges.push(joined::same_atom_column());
        } else if self.further > 0 {
            nodes.push(joined::role_column(names));
        }
        (nodes, edges)
    }

    /// The graph of a molecule or, where reactions are read, of a reaction.
    ///
    /// # Errors
    ///
    /// [`SmilesError`] for anything that is not a molecule within the limits, or where several are read together.
    pub fn graph(&self, smiles: &str, limits: &Limits) -> Result<Graph, SmilesError> {
        if self.further > 0 {
            let reason =
                format!("{} molecules are read together, from a table; this is one", self.further + 1);
            return Err(SmilesError::Unsupported(reason));
        }
        if !self.form.reactions {
            return self.part(smiles, 0, limits).and_then(|part| self.form.describe(part.graph));
        }
        let smiles = smiles.trim();
        if smiles.is_empty() {
            return Err(SmilesError::Empty);
        }
        let mut parts = Vec::with_capacity(3);
        for (role, (before, side)) in (0..).zip(joined::sides(smiles)?) {
            if !side.is_empty() {
                let part = self.part(side, role, limits).map_err(|error| joined::moved(error, before))?;
                parts.push(part);
            }
        }
        joined::united(&parts, true, limits)
    }

    /// The graph of the molecules of a row; an error comes with the position of the molecule that it is about.
    pub(crate) fn graph_of(&self, cells: &[String], limits: &Limits) -> Result<Graph, (usize, SmilesError)> {
        if let [only] = cells {
            return self.graph(only, limits).map_err(|error| (0, error));
        }
        let mut parts = Vec::with_capacity(cells.len());
        for (at, (role, cell)) in (0..).zip(cells).enumerate() {
            parts.push(self.part(cell, role, limits).map_err(|error| (at, error))?);
        }
        joined::united(&parts, false, limits).map_err(|error| (0, error))
    }

    fn part(&self, smiles: &str, role: u32, limits: &Limits) -> Result<Part, SmilesError> {
        let smiles = guard::check(smiles, limits)?;
        contained(|| {
            let read = |smiles: &str| self.form.molecule(smiles, self.rules, limits);
            // As text, since neighbours that differ in their numbers alone make centres, and numbers order neighbours.
            let is_bare = self.featurizer == Featurizer::Cip && self.rules >= UNMAPPED;
            let molecule = if is_bare { read(&parts::without_maps(&smiles))? } else { read(&smiles)? };
            match self.featurizer {
                Featurizer::Zinc => {
                    let is_plain = MoleculeForm { largest_fragment: false, ..self.form }.is_plain();
                    if !is_plain || self.further > 0 {
                        let reason = "the columns of ZINC have no place for added hydrogens, missing stereo, \
                                      descriptors, several molecules or reactions";
                        return Err(SmilesError::Unsupported(reason.to_owned()));
                    }
                    guard::check_canonical(molecule.atom_count())?;
                    Ok(Part { graph: zinc::graph(&molecule)?, role, maps: Vec::new() })
                }
                Featurizer::Ogb | Featurizer::Cip => {
                    let maps = if self.form.reactions { map_numbers(&read(&smiles)?) } else { Vec::new() };
                    self.columns(&molecule, role, maps)
                }
            }
        })
    }

    /// The columns of a molecule whose atoms have these map numbers, which only reactions ask for.
    fn columns(&self, molecule: &Molecule, role: u32, maps: Vec<Option<u16>>) -> Result<Part, SmilesError> {
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
        let graph = ogb_graph(&features)?;
        let maps = if self.form.reactions { of_nodes(maps, molecule, graph.num_nodes()) } else { Vec::new() };
        Ok(Part { graph, role, maps })
    }
}

/// What a model remembers of the rules: 0 where they are of before any that changed a graph.
fn known(rules: u32) -> u32 {
    if rules >= LATEST { LATEST } else { 0 }
}

/// The molecule that a string stands for.
fn read(smiles: &str, limits: &Limits) -> Result<Molecule, SmilesError> {
    let molecule = parse(smiles)?;
    guard::check_molecule(&molecule, limits)?;
    Ok(molecule)
}

/// The map number of every atom.
fn map_numbers(molecule: &Molecule) -> Vec<Option<u16>> {
    molecule.atoms().map(|(_, atom)| atom.atom_map).collect()
}

/// The map number of every node of a graph, whose molecule may have got hydrogens after its atoms, or lost some on the way.
fn of_nodes(mut maps: Vec<Option<u16>>, molecule: &Molecule, nodes: usize) -> Vec<Option<u16>> {
    if molecule.atom_count() == nodes {
        maps.resize(nodes, None);
        return maps;
    }
    let kept = rdkit::rdkit_hydrogen_suppressed_with_map(molecule).map(|(_, kept)| kept);
    kept.unwrap_or_default().into_iter().map(|at| maps.get(at).copied().flatten()).collect()
}
