//! How much of everything a file may ask for before it is refused.
//!
//! Every reader treats its input as hostile: a count that a file declares is compared with these limits, and with the
//! bytes that are really there, before anything is allocated. The defaults are far above any data set that fits this
//! program and far below what would exhaust a machine; each one can be raised by whoever trusts a larger file. One of
//! them is a budget: the memory that a reading may take in all, whatever it takes it for.

use crate::budget::MEMORY;
use crate::fs::machine_memory;
use crate::text::escape;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Upper bounds on what readers and importers accept.
///
/// | field | default | bounds |
/// |---|---|---|
/// | `nodes_per_graph` | 50 million | nodes of one graph |
/// | `edges_per_graph` | 500 million | edges of one graph |
/// | `graphs` | 100 million | graphs of one data set |
/// | `columns` | 4,096 | columns of one text table |
/// | `features` | 16,384 | feature columns of one node or edge |
/// | `categories` | 1 million | values of one categorical column |
/// | `line_bytes` | 64 MiB | one line, or one quoted CSV record |
/// | `smiles_bytes` | 20,000 | one SMILES string |
/// | `molecule_atoms` | 10,000 | atoms of one molecule |
/// | `molecule_rings` | 500 | independent rings of one connected part of a molecule |
/// | `smiles_depth` | 1,000 | nested branches and simultaneously open rings of a SMILES string |
/// | `json_depth` | 64 | nesting of JSON |
/// | `members` | 100,000 | members of one archive |
/// | `member_bytes` | 8 GiB | one decompressed file or archive member |
/// | `total_bytes` | 64 GiB | all decompressed members of one archive |
/// | `memory_bytes` | a quarter of the machine's | memory that one reading may take |
/// | `numbering_gap` | 1,000 | nodes of an edge list, per node that its edges name |
/// | `ratio` | 1,000 | decompressed bytes per compressed byte |
/// | `pickle_opcodes` | 1 billion | instructions of one pickle |
/// | `pickle_depth` | 1,024 | nesting of marks, and of values, in a pickle |
/// | `tensor_rank` | 8 | dimensions of one stored array |
/// | `bad_rows` | 1,000 | bad rows that are described one by one |
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Limits {
    /// Nodes of one graph.
    pub nodes_per_graph: u64,
    /// Edges of one graph.
    pub edges_per_graph: u64,
    /// Graphs of one data set.
    pub graphs: u64,
    /// Columns of one text table.
    pub columns: u64,
    /// Feature columns of one node or edge.
    pub features: u64,
    /// Values of one categorical column.
    pub categories: u64,
    /// Bytes of one line, or of one quoted CSV record.
    pub line_bytes: u64,
    /// Bytes of one SMILES string.
    pub smiles_bytes: u64,
    /// Atoms of one molecule.
    pub molecule_atoms: u64,
    /// Independent rings of one connected part of a molecule: with many of them, finding those that chemistry looks at
    /// takes a time that grows with the third power of their number.
    pub molecule_rings: u64,
    /// Nested branches and simultaneously open rings of a SMILES string.
    pub smiles_depth: u64,
    /// Nesting of JSON.
    pub json_depth: u64,
    /// Members of one archive.
    pub members: u64,
    /// Bytes of one decompressed file or archive member.
    pub member_bytes: u64,
    /// Bytes of all decompressed members of one archive.
    pub total_bytes: u64,
    /// Bytes of memory that one reading may take; a quarter of the machine's if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Nodes of an edge list, as a multiple of those that its edges name: the format states no count, so one large
    /// number would make a graph of millions of nodes that nothing is known about. Up to
    /// [`GAP_FREE_NODES`](Self::GAP_FREE_NODES) nodes are not judged.
    pub numbering_gap: u64,
    /// Decompressed bytes per compressed byte.
    pub ratio: u64,
    /// Instructions of one pickle.
    pub pickle_opcodes: u64,
    /// Nesting of marks, and of values, in a pickle.
    pub pickle_depth: u64,
    /// Dimensions of one stored array.
    pub tensor_rank: u64,
    /// Bad rows that are described one by one.
    pub bad_rows: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            nodes_per_graph: 50_000_000,
            edges_per_graph: 500_000_000,
            graphs: 100_000_000,
            columns: 4_096,
            features: 16_384,
            categories: 1_000_000,
            line_bytes: 64 << 20,
            smiles_bytes: 20_000,
            molecule_atoms: 10_000,
            molecule_rings: 500,
            smiles_depth: 1_000,
            json_depth: 64,
            members: 100_000,
            member_bytes: 8 << 30,
            total_bytes: 64 << 30,
            memory_bytes: None,
            numbering_gap: 1_000,
            ratio: 1_000,
            pickle_opcodes: 1_000_000_000,
            pickle_depth: 1_024,
            tensor_rank: 8,
            bad_rows: 1_000,
        }
    }
}

impl Limits {
    /// Graphs of an edge list with at most this many nodes may leave out as many numbers as they like.
    pub const GAP_FREE_NODES: u64 = 10_000;

    /// Memory that one reading may take where the machine does not say how much it has.
    const MEMORY_OF_UNKNOWN_MACHINE: u64 = 4 << 30;

    /// Bytes of memory that one reading may take.
    pub fn memory(&self) -> u64 {
        let of_machine = || machine_memory().map_or(Self::MEMORY_OF_UNKNOWN_MACHINE, |bytes| bytes / 4);
        self.memory_bytes.unwrap_or_else(of_machine)
    }

    /// Sets some limits, later ones over earlier ones.
    pub fn apply(&mut self, changes: &[LimitChange]) {
        for LimitChange { name, value } in changes {
            // A change that exists has a name that exists.
            if let Ok(limits) = self.with(name, *value) {
                *self = limits;
            }
        }
    }

    fn with(&self, name: &str, value: u64) -> serde_json::Result<Self> {
        let mut fields = serde_json::to_value(self)?;
        fields[name] = value.into();
        serde_json::from_value(fields)
    }
}

/// Another value of a limit, by name: `NAME=NUMBER`.
///
/// # Examples
///
/// ```
/// use graphminnet_data::{LimitChange, Limits};
///
/// let mut limits = Limits::default();
/// limits.apply(&["nodes_per_graph=100000000".parse()?]);
/// assert_eq!(limits.nodes_per_graph, 100_000_000);
/// assert!("patience=1".parse::<LimitChange>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitChange {
    name: String,
    value: u64,
}

impl FromStr for LimitChange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("expected NAME=NUMBER")?;
        let value = value.parse().map_err(|_| format!("`{}` is not a number", escape(value)))?;
        match Limits::default().with(name, value) {
            Ok(_) => Ok(Self { name: name.to_owned(), value }),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// A limit that was exceeded: what, how much was found, how much is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded {
    /// Name of the field of [`Limits`].
    pub limit_name: &'static str,
    /// What was found (a lower bound where counting stopped early).
    pub found: u64,
    /// What is allowed.
    pub limit: u64,
}

/// Where the message of a limit turns to what can be done about it, by the options of a command that reads files.
pub const ADVICE: &str = "; if the file is to be trusted,";

impl fmt::Display for Exceeded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit_name, found, limit } = self;
        match *limit_name {
            MEMORY => write!(
                out,
                "reading takes more than {limit} bytes of memory{ADVICE} --memory gives it more, as in --memory 8GiB"
            ),
            "numbering_gap" => write!(
                out,
                "there are {found} node numbers for each node that an edge names, more than {limit}; if the numbers are meant so, --read-limit numbering_gap=NUMBER allows it"
            ),
            name => write!(
                out,
                "{found} exceeds the limit {name} = {limit}{ADVICE} --read-limit {name}=NUMBER raises it"
            ),
        }
    }
}

impl std::error::Error for Exceeded {}

/// Succeeds if `found` is within `limit`; `limit_name` is the field of [`Limits`] that it comes from.
pub(crate) fn within(limit_name: &'static str, found: u64, limit: u64) -> Result<(), Exceeded> {
    if found <= limit { Ok(()) } else { Err(Exceeded { limit_name, found, limit }) }
}
