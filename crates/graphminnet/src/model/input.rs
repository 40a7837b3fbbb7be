//! What a model sees of a batch: tensors, and the structure that ties them together.

use super::beyond::Beyond;
use crate::config::{EdgeEncoderKind, ModelConfig, NodePeKind};
use crate::nn::{Around, Pass};
use crate::ops::{Across, CategoryTable, Structure};
use burn::tensor::{Device, Tensor, TensorData};
use graphminnet_data::spectral::PreparedGraph;
use graphminnet_data::{Batch, Features, Graph, GraphError, Layout};
use std::sync::Arc;
use thiserror::Error;

/// Why a batch does not fit a model.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum InputError {
    /// The number of feature columns differs.
    #[error("the model expects {expected} {what} columns, the data has {found}")]
    ColumnCount {
        /// Which columns.
        what: &'static str,
        /// Columns of the model.
        expected: usize,
        /// Columns of the data.
        found: usize,
    },
    /// A category that the model's embedding table does not have.
    #[error("{what} {row}, column {column}: category {value} is outside the model's vocabulary of {size} (0 to {})", .size.saturating_sub(1))]
    UnknownCategory {
        /// `node` or `edge`.
        what: &'static str,
        /// Row within the batch.
        row: usize,
        /// Categorical column.
        column: usize,
        /// The category.
        value: u32,
        /// Size of the model's vocabulary.
        size: usize,
    },
    /// The graphs cannot stand in one batch.
    #[error(transparent)]
    Batch(#[from] GraphError),
    /// A prepared array has the wrong length.
    #[error("{what} has {found} values, expected {expected}: {reason}")]
    Length {
        /// Which array.
        what: &'static str,
        /// Values found.
        found: usize,
        /// Values expected.
        expected: usize,
        /// How the expected number comes about.
        reason: String,
    },
    /// A prepared array holds a value that is not finite.
    #[error("{what} holds {value} at position {position}; every input must be finite")]
    NonFinite {
        /// Which array.
        what: &'static str,
        /// Position of the value.
        position: usize,
        /// The value.
        value: f32,
    },
}

/// Features of nodes or edges, as the encoder needs them.
#[derive(Debug, Clone)]
pub enum FeatureInput {
    /// Numbers, `[rows, columns]`.
    Numbers(Tensor<2>),
    /// Categories, checked against the vocabulary.
    Categories(CategoryTable),
    /// Both.
    Mixed(Tensor<2>, CategoryTable),
    /// Only the number of rows.
    Absent(usize),
}

impl FeatureInput {
    /// What an encoder reads of the features of nodes (`what` is `node`) or edges (`edge`): so many numbers, categories
    /// of these sizes, both, or nothing but the number of rows.
    ///
    /// # Errors
    ///
    /// [`InputError`] if the columns are others, or a category is outside its vocabulary.
    pub fn new(
        what: &'static str,
        features: Features,
        numbers: Option<usize>,
        sizes: Option<&[usize]>,
        device: &Device,
    ) -> Result<Self, InputError> {
        if let Some(expected) = numbers {
            check_numbers(what, &features, expected)?;
        }
        if let Some(sizes) = sizes {
            check_category_columns(what, &features, sizes.len())?;
        }
        let rows = features.rows();
        let (categories, values) = features.into_values();
        let numbers = numbers.map(|columns| table(values, rows, columns, device));
        let categories = sizes.map(|sizes| {
            CategoryTable::new(categories, sizes).map_err(|unknown| unknown_category(what, unknown, sizes))
        });
        Ok(match (numbers, categories.transpose()?) {
            (Some(numbers), Some(categories)) => Self::Mixed(numbers, categories),
            (Some(numbers), None) => Self::Numbers(numbers),
            (None, Some(categories)) => Self::Categories(categories),
            (None, None) => Self::Absent(rows),
        })
    }
}

/// One batch on a device.
#[derive(Debug, Clone)]
pub struct ModelInput {
    /// Offsets and indices.
    pub structure: Arc<Structure>,
    /// Node features.
    pub nodes: FeatureInput,
    /// Edge features, in the order of the structure (sorted by target).
    pub edges: FeatureInput,
    /// Numbers of the graphs themselves, `[graphs, graph_in]`, for models that use them.
    pub graphs: Option<Tensor<2>>,
    /// Eigenvalues `[graphs, K]`.
    pub eigenvalues: Tensor<2>,
    /// Eigenvectors `[nodes, K]`.
    pub eigenvectors: Tensor<2>,
    /// 1 where the graph has that eigenpair, `[graphs, K]`.
    pub exist: Tensor<2>,
    /// 1 where the block uses the eigenpair, `[graphs, M]`.
    pub valid: Tensor<2>,
    /// Return probabilities `[nodes, steps]`, for models that use them.
    pub random_walk: Option<Tensor<2>>,
    /// `ln(1 + degree)`, `[nodes, 1]`, for models that use it.
    pub log_degree: Option<Tensor<2>>,
    /// What the block must know of nodes that are not in the batch, where it holds a piece of a graph.
    pub(crate) beyond: Option<Beyond>,
}

/// Eigenvalues below this count as zero: their eigenvectors only say which component a node is in.
pub(super) const ZERO_EIGENVALUE: f32 = 1e-4;

impl ModelInput {
    /// The other parts of the graph, where the batch is a part of one.
    pub(crate) fn across(&self) -> Option<&Arc<Across>> {
        if let Some(Beyond::Across(across)) = &self.beyond { Some(across) } else { None }
    }

    /// A pass with the other parts of the graph.
    pub(crate) fn around(&self, pass: Pass) -> Around<'_> {
        Around { pass, across: self.across() }
    }

    /// Puts prepared graphs into one batch on a device.
    ///
    /// The graphs must have been prepared with [`ModelConfig::prepare_options`].
    ///
    /// # Errors
    ///
    /// [`InputError`] if the graphs do not fit the model or each other.
    pub fn from_prepared(
        config: &ModelConfig,
        graphs: &[&PreparedGraph],
        device: &Device,
    ) -> Result<Self, InputError> {
        Self::new(config, Batch::collate(graphs)?, device)
    }

    /// Checks a batch against the configuration and puts it on a device. The arrays that the model reads become its
    /// tensors as they are; the rest is dropped.
    ///
    /// # Errors
    ///
    /// [`InputError`] if columns, categories or prepared arrays do not fit, or a value is not finite.
    pub fn new(config: &ModelConfig, mut batch: Batch, device: &Device) -> Result<Self, InputError> {
        let (num_nodes, num_edges) = (batch.layout.num_nodes(), batch.layout.num_edges());
        let none = || Features::none(0);
        let node_features = std::mem::replace(&mut batch.node_features, none());
        let edge_features = std::mem::replace(&mut batch.edge_features, none());
        expect_length("node features", node_features.rows(), num_nodes, || "one row per node".into())?;
        expect_length("edge features", edge_features.rows(), num_edges, || "one row per edge".into())?;
        let across = beyond_border(&mut batch)?;
        let node_features = match &across {
            None => node_features,
            // Rows of the border are made by the parts that own them.
            Some(_) => node_features.select_rows(0..batch.layout.num_nodes()),
        };
        let nodes = FeatureInput::new(
            "node",
            node_features,
            config.takes_node_numbers().then_some(config.node_in),
            config.takes_node_categories().then_some(config.node_vocab.as_slice()),
            device,
        )?;
        let edges = edge_input(config, edge_features, device)?;
        let input = Self::with_features(config, nodes, edges, batch, device)?;
        Ok(Self { beyond: across.map(Beyond::Across), ..input })
    }

    /// The rest of a batch beside features that are already on the device.
    pub(super) fn with_features(
        config: &ModelConfig,
        nodes: FeatureInput,
        edges: FeatureInput,
        batch: Batch,
        device: &Device,
    ) -> Result<Self, InputError> {
        let Batch { layout, eigenvalues, eigenvectors, graph_features, .. } = batch;
        let (graphs, num_nodes) = (layout.num_graphs(), layout.num_nodes());
        let pairs = config.stored_eigenpairs();
        for (what, found) in [
            ("num_eigenpairs", batch.num_eigenpairs.len()),
            ("usable_eigenpairs", batch.usable_eigenpairs.len()),
        ] {
            expect_length(what, found, graphs, || "one per graph".into())?;
        }
        let matrix = |what, values: Vec<f32>, rows: usize, columns: usize| {
            expect_values(what, &values, rows, columns)?;
            Ok::<_, InputError>(table(values, rows, columns, device))
        };
        expect_values("eigenvalues", &eigenvalues, graphs, pairs)?;
        let counts = batch.num_eigenpairs.iter().copied().zip(batch.usable_eigenpairs.iter().copied());
        let (exist, valid) = masks(&eigenvalues, counts, pairs, config.lap_dim);
        Ok(Self {
            structure: Structure::new(layout),
            nodes,
            edges,
            graphs: match config.graph_numbers() {
                0 => None,
                columns => {
                    check_numbers("graph", &graph_features, columns)?;
                    Some(matrix("descriptors", graph_features.into_values().1, graphs, columns)?)
                }
            },
            eigenvalues: table(eigenvalues, graphs, pairs, device),
            eigenvectors: matrix("eigenvectors", eigenvectors, num_nodes, pairs)?,
            exist: table(exist, graphs, pairs, device),
            valid: table(valid, graphs, config.lap_dim, device),
            random_walk: match config.node_pe {
                NodePeKind::Rwse => {
                    Some(matrix("random_walk", batch.random_walk, num_nodes, config.rwse_steps)?)
                }
                _ => None,
            },
            log_degree: match config.reads_degrees() {
                true => Some(matrix("log_degree", batch.log_degree, num_nodes, 1)?),
                false => None,
            },
            beyond: None,
        })
    }
}

/// The other parts of the graph of a batch that is a connected part of one; the batch keeps the part's own nodes alone,
/// and no edges.
fn beyond_border(batch: &mut Batch) -> Result<Option<Arc<Across>>, InputError> {
    let [part] = batch.parts.as_slice() else { return Ok(None) };
    let Some(connection) = part.others.clone() else { return Ok(None) };
    let (own, all) = (part.own_nodes, batch.layout.num_nodes());
    let own_layout = Layout::new(&[&Graph::from_edges(own, Vec::new())?])?;
    let layout = std::mem::replace(&mut batch.layout, own_layout);
    for rows in [&mut batch.eigenvectors, &mut batch.random_walk, &mut batch.log_degree] {
        rows.truncate(rows.len() / all.max(1) * own);
    }
    Ok(Some(Across::new(connection, Structure::new(layout))))
}

/// An array on a device; on the processor without a copy.
fn table(values: Vec<f32>, rows: usize, columns: usize, device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values, [rows, columns]), device)
}

/// 1 where a graph has an eigenpair, `[graphs, pairs]`, and where the block uses it, `[graphs, used]`: it is there and
/// usable, not the trivial first one, and its eigenvalue is not zero. `counts` are the existing and the usable pairs.
fn masks(
    eigenvalues: &[f32],
    counts: impl ExactSizeIterator<Item = (usize, usize)>,
    pairs: usize,
    used: usize,
) -> (Vec<f32>, Vec<f32>) {
    let (mut exist, mut valid) = (vec![0.0; counts.len() * pairs], vec![0.0; counts.len() * used]);
    for (graph, (existing, usable)) in counts.enumerate() {
        exist[graph * pairs..][..pairs.min(existing)].fill(1.0);
        for pair in 1..pairs.min(existing).min(usable) {
            if eigenvalues[graph * pairs + pair].abs() >= ZERO_EIGENVALUE {
                valid[graph * used + pair - 1] = 1.0;
            }
        }
    }
    (exist, valid)
}

fn edge_input(config: &ModelConfig, features: Features, device: &Device) -> Result<FeatureInput, InputError> {
    let rows = features.rows();
    if !config.reads_edge_features() {
        return Ok(FeatureInput::Absent(rows));
    }
    if config.edge_encoder == EdgeEncoderKind::Dummy {
        // One category for every edge.
        let table = CategoryTable::new(vec![0; rows], &[1]);
        return Ok(FeatureInput::Categories(
            table.unwrap_or_else(|_| unreachable!("category 0 is in a table of one")),
        ));
    }
    FeatureInput::new(
        "edge",
        features,
        config.takes_edge_numbers().then_some(config.edge_in),
        config.takes_edge_categories().then_some(config.edge_vocab.as_slice()),
        device,
    )
}

/// Whether one (prepared) graph fits a model: the right columns, and categories that its tables have.
///
/// # Errors
///
/// [`InputError`] with the first node or edge, counted within the graph, that does not fit.
pub(crate) fn check_graph(config: &ModelConfig, graph: &Graph) -> Result<(), InputError> {
    let (nodes, edges) = (graph.node_features(), graph.edge_features());
    if config.takes_node_numbers() {
        check_numbers("node", nodes, config.node_in)?;
    }
    if config.takes_node_categories() {
        check_categories("node", nodes, &config.node_vocab)?;
    }
    if config.takes_edge_numbers() {
        check_numbers("edge", edges, config.edge_in)?;
    }
    if config.takes_edge_categories() {
        check_categories("edge", edges, &config.edge_vocab)?;
    }
    if config.graph_numbers() > 0 {
        check_numbers("graph", graph.graph_features(), config.graph_numbers())?;
    }
    Ok(())
}

/// `numeric` and `categorical` columns of nodes or edges, for messages.
fn columns_of(what: &'static str) -> [&'static str; 2] {
    match what {
        "node" => ["numeric node", "categorical node"],
        "edge" => ["numeric edge", "categorical edge"],
        _ => ["descriptor", "categorical graph"],
    }
}

fn check_numbers(what: &'static str, features: &Features, expected: usize) -> Result<(), InputError> {
    let (found, [what, _]) = (features.number_columns(), columns_of(what));
    if found == expected { Ok(()) } else { Err(InputError::ColumnCount { what, expected, found }) }
}

fn check_category_columns(
    what: &'static str,
    features: &Features,
    expected: usize,
) -> Result<(), InputError> {
    let (found, [_, what]) = (features.category_columns(), columns_of(what));
    if found == expected { Ok(()) } else { Err(InputError::ColumnCount { what, expected, found }) }
}

fn check_categories(what: &'static str, features: &Features, sizes: &[usize]) -> Result<(), InputError> {
    check_category_columns(what, features, sizes.len())?;
    match CategoryTable::first_unknown(features.category_values(), sizes) {
        None => Ok(()),
        Some(unknown) => Err(unknown_category(what, unknown, sizes)),
    }
}

fn unknown_category(
    what: &'static str,
    (row, column, value): (usize, usize, u32),
    sizes: &[usize],
) -> InputError {
    InputError::UnknownCategory { what, row, column, value, size: sizes[column] }
}

fn expect_length(
    what: &'static str,
    found: usize,
    expected: usize,
    reason: impl FnOnce() -> String,
) -> Result<(), InputError> {
    if found == expected {
        Ok(())
    } else {
        Err(InputError::Length { what, found, expected, reason: reason() })
    }
}

fn expect_values(what: &'static str, values: &[f32], rows: usize, columns: usize) -> Result<(), InputError> {
    expect_length(what, values.len(), rows * columns, || format!("{rows} rows of {columns}"))?;
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(position) => Err(InputError::NonFinite { what, position, value: values[position] }),
    }
}
