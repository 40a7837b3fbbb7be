//! Molecules: SMILES strings to graphs with the categorical columns of the Open Graph Benchmark.
//!
//! ```
//! use graphminnet_data::{Featurizer, Limits, molecule_graph};
//!
//! let ethanol = molecule_graph("CCO", Featurizer::Ogb, &Limits::default())?;
//! assert_eq!(ethanol.num_nodes(), 3);
//! assert_eq!(ethanol.edges(), [[0, 1], [1, 0], [1, 2], [2, 1]]);
//! # Ok::<(), graphminnet_data::SmilesError>(())
//! ```
//!
//! Parsing and perception (hydrogens, rings, aromaticity, hybridisation, conjugation, stereo) are those of the
//! pure-Rust `chematic` crate in its RDKit-compatible form. This module bounds its input, turns its result into a
//! validated [`Graph`], and makes sure that no string can make the program panic.
//!
//! Nodes are in the order of the atoms in the string; every bond is stored in both directions, one after the other.
//! How often the columns equal those of RDKit, and where they do not, is in `docs/smiles-differences.md`.

mod atomic_weights;
mod columns;
mod descriptors;
mod fingerprint;
mod form;
mod grammar;
mod guard;
mod joined;
pub(crate) mod molblock;
mod parts;
mod scaffold;
mod sketch;
mod stereo;
mod zinc;

use columns::{atom_columns, bond_columns};
pub(crate) use columns::{column_names, completed_sizes};
pub use descriptors::BASIC_DESCRIPTORS;
pub use fingerprint::Fingerprint;
pub use form::{MoleculeForm, MoleculeReading};
// For the drawings of `graphminnet-report`.
#[doc(hidden)]
pub use sketch::{Sketch, SketchAtom, SketchBond, SketchCentre, SketchOrder, SketchSides};

use super::{Column, Limits, Schema};
use crate::foreign;
use crate::graph::{Features, Graph};
use chematic::core::Molecule;
use chematic::smiles::{SmilesError as ParseError, rdkit};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Which columns a molecule's atoms and bonds get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Featurizer {
    /// The 9 atom and 3 bond columns of the Open Graph Benchmark. Its `chirality` is that of the string: it depends on
    /// the order in which the neighbours of an atom are written.
    #[default]
    Ogb,
    /// The same columns with `configuration` (R, S, or neither) in place of `chirality`: equal however a molecule is
    /// written.
    Cip,
    /// The atom types (element, written hydrogens, charge) and bond orders of the ZINC benchmark.
    Zinc,
}

impl Featurizer {
    /// Node columns.
    pub fn node_columns(self) -> Vec<Column> {
        match self {
            Self::Ogb => atom_columns(),
            Self::Cip => stereo::atom_columns(),
            Self::Zinc => zinc::node_columns(),
        }
    }

    /// Edge columns.
    pub fn edge_columns(self) -> Vec<Column> {
        match self {
            Self::Ogb | Self::Cip => bond_columns(),
            Self::Zinc => zinc::edge_columns(),
        }
    }

    /// The featurizer whose columns a schema has, perhaps with those of several molecules or of reactions after them.
    pub fn of_schema(schema: &Schema) -> Option<Self> {
        [Self::Ogb, Self::Cip, Self::Zinc].into_iter().find(|featurizer| {
            let same = |a: &[Column], b: &[Column]| a.iter().map(|c| &c.name).eq(b.iter().map(|c| &c.name));
            let nodes = joined::without(&schema.node_columns, joined::ROLE);
            let edges = joined::without(&schema.edge_columns, joined::SAME_ATOM);
            same(&featurizer.node_columns(), nodes) && same(&featurizer.edge_columns(), edges)
        })
    }
}

/// Why a string is not a molecule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SmilesError {
    /// There is nothing but blanks.
    #[error("a SMILES string must not be empty")]
    Empty,
    /// Longer, or more deeply nested, than the limits allow.
    #[error("{found} {what} exceed the limit {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// What was found.
        found: u64,
        /// What is allowed.
        limit: u64,
    },
    /// The string does not follow the grammar.
    #[error("not a SMILES string: {reason} (character {character})")]
    Syntax {
        /// The character at which it breaks, counted from 1.
        character: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The string is fine but no molecule: a valence or an aromatic ring is impossible.
    #[error("not a possible molecule: {0}")]
    Chemistry(String),
    /// An atom or bond type that the chosen columns have no category for.
    #[error("{0}")]
    Unsupported(String),
}

/// The graph of a molecule as it is written.
///
/// # Errors
///
/// [`SmilesError`] for anything that is not a molecule within the limits.
pub fn molecule_graph(smiles: &str, featurizer: Featurizer, limits: &Limits) -> Result<Graph, SmilesError> {
    MoleculeReading { featurizer, ..MoleculeReading::default() }.graph(smiles, limits)
}

/// A text that is equal for two molecules exactly if their Bemis–Murcko scaffolds are: the canonical SMILES of the
/// ring systems and what links them, without stereo marks, isotopes and map numbers, however the molecules are written.
/// Molecules without rings have the empty scaffold.
///
/// # Errors
///
/// [`SmilesError`] for anything that is not a molecule within the limits.
pub fn scaffold_key(smiles: &str, limits: &Limits) -> Result<String, SmilesError> {
    MoleculeForm::default().scaffold_key(smiles, limits)
}

fn parse(smiles: &str) -> Result<Molecule, SmilesError> {
    chematic::smiles::parse(smiles).map_err(|error| match error {
        ParseError::ConflictingRingBond { pos, .. } | ParseError::ConflictingExtendedRingBond { pos, .. } => {
            let reason = "a ring is closed with another bond than it was opened with".to_owned();
            SmilesError::Syntax { character: pos, reason }
        }
        ParseError::InvalidValence { .. } => SmilesError::Chemistry(super::escape(&error.to_string())),
        // The grammar has been checked: what is left is beyond this parser.
        _ => SmilesError::Unsupported(super::escape(&error.to_string())),
    })
}

fn chemistry(error: rdkit::RdkitSmilesError) -> SmilesError {
    let text = error.to_string();
    let text = text.split_once(": ").map_or(text.as_str(), |(_, reason)| reason);
    SmilesError::Chemistry(super::escape(text))
}

/// Runs foreign code that must not take the program down with it. What is known to be dangerous is refused by
/// [`guard`] beforehand; this is the second line.
fn contained<T>(work: impl FnOnce() -> Result<T, SmilesError>) -> Result<T, SmilesError> {
    foreign::contained(work).unwrap_or_else(|| {
        Err(SmilesError::Unsupported("the molecule could not be interpreted (internal error)".to_owned()))
    })
}

fn ogb_graph(found: &rdkit::OgbGraphFeatures) -> Result<Graph, SmilesError> {
    let internal = |_| SmilesError::Unsupported("an index of the molecule is out of range".to_owned());
    let categories = |values: &[i64]| -> Result<Vec<u32>, SmilesError> {
        values.iter().map(|&value| u32::try_from(value).map_err(internal)).collect()
    };
    let nodes = categories(found.node_feat.as_flattened())?;
    let edge_values = categories(found.edge_feat.as_flattened())?;
    let ends = categories(found.edge_index.as_flattened())?;
    let edges: Vec<[u32; 2]> = ends.as_chunks::<2>().0.to_vec();
    build(found.node_feat.len(), edges, (9, nodes), (3, edge_values))
}

fn build(
    num_nodes: usize,
    edges: Vec<[u32; 2]>,
    (node_columns, nodes): (usize, Vec<u32>),
    (edge_columns, edge_values): (usize, Vec<u32>),
) -> Result<Graph, SmilesError> {
    let invalid = |error: crate::GraphError| SmilesError::Unsupported(error.to_string());
    let node_features = Features::categories(num_nodes, node_columns, nodes).map_err(invalid)?;
    let edge_features = Features::categories(edges.len(), edge_columns, edge_values).map_err(invalid)?;
    Graph::new(num_nodes, edges, node_features, edge_features).map_err(invalid)
}
