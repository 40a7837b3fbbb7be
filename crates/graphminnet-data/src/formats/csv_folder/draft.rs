//! A graph of the folder while its rows come in, until it is a record.

use super::node_ids::NodeIds;
use crate::schema::{Directions, Record, Table};
use crate::{BadRow, DataError, Level, Place, Split};

/// A graph while its rows come in.
pub(super) struct Draft {
    pub(super) id: String,
    pub(super) place: Place,
    pub(super) split: Option<Split>,
    pub(super) weight: Option<f32>,
    pub(super) node_split: Option<Vec<Option<Split>>>,
    /// Parts of edges or pairs.
    pub(super) row_split: Option<Vec<Option<Split>>>,
    pub(super) pairs: Vec<[u32; 2]>,
    pub(super) num_nodes: Option<u64>,
    pub(super) node_ids: NodeIds,
    /// Features of the nodes, or of those that are kept.
    pub(super) nodes: Vec<f64>,
    /// Edges in the file, and how they are listed.
    pub(super) num_edges: u64,
    pub(super) directions: Directions,
    /// These, or those that are kept with their features.
    pub(super) edges: Vec<[u32; 2]>,
    pub(super) edge_rows: Vec<f64>,
    /// Edges of which no more is kept than that they are there.
    pub(super) bare_edges: Vec<[u32; 2]>,
    pub(super) targets: Table,
    pub(super) problem: Option<BadRow>,
}

impl Draft {
    pub(super) fn new(id: String, place: Place) -> Self {
        Self {
            id,
            place,
            split: None,
            weight: None,
            node_split: None,
            row_split: None,
            pairs: Vec::new(),
            num_nodes: None,
            node_ids: NodeIds::default(),
            nodes: Vec::new(),
            num_edges: 0,
            directions: Directions::default(),
            edges: Vec::new(),
            edge_rows: Vec::new(),
            bare_edges: Vec::new(),
            targets: Table::default(),
            problem: None,
        }
    }

    pub(super) fn spoil(&mut self, error: DataError, place: Place) -> Result<(), DataError> {
        let problem = error.into_bad_row(place)?;
        self.problem.get_or_insert(problem);
        Ok(())
    }

    pub(super) fn finish(self, has_nodes: bool, level: Level) -> Result<Record, BadRow> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        let listed = u64::from(self.node_ids.len());
        let num_nodes = match self.num_nodes {
            Some(stated) if has_nodes && stated != listed => {
                let place = self.place.in_column("num_nodes");
                return Err(BadRow::new(
                    place,
                    stated.to_string(),
                    format!("nodes.csv has {listed} rows for this graph"),
                ));
            }
            Some(stated) => stated,
            None if has_nodes => listed,
            None => {
                let place = self.place.in_column("num_nodes");
                return Err(BadRow::new(
                    place,
                    "",
                    "needed, because there is no nodes.csv (it is never guessed from edges)",
                ));
            }
        } as usize;
        Ok(Record {
            place: self.place,
            id: Some(self.id),
            num_nodes,
            nodes: Table { rows: num_nodes, values: self.nodes },
            edge_rows: Table { rows: self.edges.len(), values: self.edge_rows },
            edges: self.edges,
            targets: self.targets,
            split: self.split,
            node_split: match level {
                Level::Edge | Level::Pair => self.row_split,
                _ => self.node_split,
            },
            pairs: self.pairs,
            graph: None,
            weight: self.weight,
            bounds: Vec::new(),
        })
    }
}
