//! Pictures of graphs, nodes and edges coloured by a signed value such as an attribution.
//!
//! ```
//! use graphminnet_data::{Featurizer, Limits, molecule_graph};
//! use graphminnet_report::draw::GraphPicture;
//!
//! let graph = molecule_graph("CCO", Featurizer::Ogb, &Limits::default())?;
//! let picture = GraphPicture {
//!     node_values: &[0.1, -0.2, 0.7],
//!     featurizer: Some(Featurizer::Ogb),
//!     ..GraphPicture::new("ethanol", &graph)
//! };
//! assert!(picture.svg()?.as_str().contains(">OH<"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Molecules (graphs with the columns of one of the featurizers) are drawn as chemists draw them, with coordinates of
//! `chematic`: centres that the columns know have a wedge, and double bonds have their neighbours on the right sides.
//! Other graphs are laid out so that distances on paper follow distances in the graph. The two directions
//! of an edge are one line with the sum of their values; self-loops are not drawn.
//!
//! A graph with more than [`GraphPicture::MAX_NODES`] nodes is drawn in part: the neighbourhood of the node with the
//! largest value (without values: with most neighbours). Of more than [`GraphPicture::MAX_EDGES`] edges the strongest are
//! drawn. The picture says what is left out.

mod bonds;
mod label;
mod layout;
mod molecule;
mod scene;
mod selection;
mod shapes;
mod sides;
mod untangle;
mod wedges;

#[cfg(test)]
mod stereo_tests;

use crate::svg::Svg;
use graphminnet_data::Graph;
use graphminnet_data::smiles::Featurizer;
use thiserror::Error;

/// Why there is no picture.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DrawError {
    /// A graph without nodes.
    #[error("\"{title}\" has no nodes to draw")]
    Empty {
        /// Title of the picture.
        title: String,
    },
    /// Values do not fit the graph.
    #[error("\"{title}\": {found} {what} values for {expected} {what}s")]
    Count {
        /// Title of the picture.
        title: String,
        /// `node` or `edge`.
        what: &'static str,
        /// Values found.
        found: usize,
        /// Values expected.
        expected: usize,
    },
}

/// A graph to be drawn.
#[derive(Debug, Clone)]
pub struct GraphPicture<'a> {
    /// Title, shown above the picture.
    pub title: &'a str,
    /// What the colours mean, shown at the scale.
    pub meaning: &'a str,
    /// The graph.
    pub graph: &'a Graph,
    /// How to read its columns as a molecule, if it is one.
    pub featurizer: Option<Featurizer>,
    /// One value per node, or none at all.
    pub node_values: &'a [f64],
    /// One value per directed edge, or none at all.
    pub edge_values: &'a [f64],
}

impl<'a> GraphPicture<'a> {
    /// Most nodes in one picture.
    pub const MAX_NODES: usize = 500;
    /// Most edges in one picture.
    pub const MAX_EDGES: usize = 4000;

    /// A graph without colours.
    pub fn new(title: &'a str, graph: &'a Graph) -> Self {
        Self { title, meaning: "", graph, featurizer: None, node_values: &[], edge_values: &[] }
    }

    /// The picture.
    ///
    /// # Errors
    ///
    /// [`DrawError`] if the graph has no nodes or the values do not fit it.
    pub fn svg(&self) -> Result<Svg, DrawError> {
        let title = || self.title.to_owned();
        if self.graph.num_nodes() == 0 {
            return Err(DrawError::Empty { title: title() });
        }
        for (what, found, expected) in [
            ("node", self.node_values.len(), self.graph.num_nodes()),
            ("edge", self.edge_values.len(), self.graph.num_edges()),
        ] {
            if found != 0 && found != expected {
                return Err(DrawError::Count { title: title(), what, found, expected });
            }
        }
        let limits = (Self::MAX_NODES, Self::MAX_EDGES);
        let mut selection = selection::Selection::of(self.graph, self.node_values, self.edge_values, limits);
        let sketch = self.featurizer.and_then(|featurizer| featurizer.sketch(self.graph));
        let skeleton = sketch.map(|sketch| molecule::Skeleton::of(&sketch, &mut selection));
        Ok(scene::Scene::new(self, selection, skeleton).svg())
    }
}
