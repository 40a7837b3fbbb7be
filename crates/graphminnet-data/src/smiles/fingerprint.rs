//! Fingerprints of molecules: which surroundings their atoms have, in the manner of Morgan and ECFP.

use super::Featurizer;
use crate::Schema;
use crate::graph::Graph;

/// Bonds to which the surroundings of an atom reach.
const RADIUS: usize = 2;

/// Columns of the Open Graph Benchmark that tell atoms apart (element, degree, charge, hydrogens, whether in a ring) and
/// bonds (their type); stereo is not among them.
const ATOM_COLUMNS: [usize; 5] = [0, 2, 3, 4, 8];
const BOND_COLUMN: usize = 0;

/// How often each kind of surroundings occurs in a molecule, up to two bonds around every atom, hashed to 512 places.
///
/// The numbers are not those of RDKit, whose hash is another one; what is alike there is alike here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    counts: Vec<u32>,
}

impl Fingerprint {
    /// Places of a fingerprint; different surroundings may share one.
    pub const PLACES: usize = 512;

    /// Of a graph with the columns of the Open Graph Benchmark; `None` if the schema has others.
    pub fn of(graph: &Graph, schema: &Schema) -> Option<Self> {
        let featurizer = Featurizer::of_schema(schema)?;
        matches!(featurizer, Featurizer::Ogb | Featurizer::Cip).then(|| Self::of_columns(graph))
    }

    /// Of a graph that is known to have these columns.
    pub(super) fn of_columns(graph: &Graph) -> Self {
        let (nodes, edges) = (graph.node_features(), graph.edge_features());
        let value = |row: &[u32], column: usize| u64::from(row.get(column).copied().unwrap_or(0));
        let atom = |node: usize| {
            let row = nodes.category_row(node);
            ATOM_COLUMNS.iter().fold(0, |code, &column| mix(code, value(row, column)))
        };
        let mut codes: Vec<u64> = (0..graph.num_nodes()).map(atom).collect();
        let mut counts = vec![0; Self::PLACES];
        let mut count =
            |codes: &[u64]| codes.iter().for_each(|code| counts[(code % Self::PLACES as u64) as usize] += 1);
        count(&codes);
        for radius in 1..=RADIUS {
            // A sum does not depend on the order in which neighbours are written.
            let mut around = vec![0u64; codes.len()];
            for (edge, [source, target]) in graph.edges().iter().enumerate() {
                let bond = value(edges.category_row(edge), BOND_COLUMN);
                let seen = mix(bond + 1, codes[*source as usize]);
                let place = &mut around[*target as usize];
                *place = place.wrapping_add(seen);
            }
            for (code, around) in codes.iter_mut().zip(around) {
                *code = mix(mix(*code, radius as u64), around);
            }
            count(&codes);
        }
        Self { counts }
    }

    /// How often each place is met.
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// 1 for each place that is met, 0 for the others.
    pub(crate) fn bits(&self) -> Vec<f32> {
        self.counts.iter().map(|count| if *count > 0 { 1.0 } else { 0.0 }).collect()
    }
}

/// Mixes a number into a code; every bit of both moves every bit of the result.
fn mix(code: u64, value: u64) -> u64 {
    let mut mixed = code.rotate_left(23) ^ value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
