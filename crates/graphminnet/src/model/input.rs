//! What a model sees of a batch: tensors, and the structure that ties them together.

use crate::config::{EdgeEncoderKind, ModelConfig, NodeEncoderKind, NodePeKind};
use crate::ops::{CategoryTable, Structure};
use burn::tensor::{Device, Tensor, TensorData};
use graphminnet_data::spectral::PreparedGraph;
use graphminnet_data::{Features, Graph, GraphBatch, GraphError};
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

/// Features of nodes or edges, as the encoder wants them.
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

/// Spectral arrays of a batch, as plain slices; see [`graphminnet_data::spectral`].
#[derive(Debug, Clone, Copy)]
pub struct Encodings<'a> {
    /// `[graphs, pairs]`.
    pub eigenvalues: &'a [f32],
    /// `[nodes, pairs]`.
    pub eigenvectors: &'a [f32],
    /// `[graphs]`: how many leading pairs exist.
    pub num_eigenpairs: &'a [usize],
    /// `[graphs]`: how many leading pairs the block may use.
    pub usable_eigenpairs: &'a [usize],
    /// `[nodes, steps]`.
    pub random_walk: &'a [f32],
    /// `[nodes]`.
    pub log_degree: &'a [f32],
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
}

/// Eigenvalues below this count as zero: their eigenvectors only say which component a node is in.
pub const ZERO_EIGENVALUE: f32 = 1e-4;

impl ModelInput {
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
        let members: Vec<&Graph> = graphs.iter().map(|prepared| prepared.graph.as_ref()).collect();
        let batch = GraphBatch::new(&members)?;
        let join = |values: fn(&PreparedGraph) -> &[f32]| -> Vec<f32> {
            graphs.iter().flat_map(|prepared| values(prepared)).copied().collect()
        };
        let encodings = Encodings {
            eigenvalues: &join(|prepared| &prepared.eigenvalues),
            eigenvectors: &join(|prepared| &prepared.eigenvectors),
            num_eigenpairs: &graphs.iter().map(|prepared| prepared.num_eigenpairs).collect::<Vec<_>>(),
            usable_eigenpairs: &graphs.iter().map(|prepared| prepared.usable_eigenpairs).collect::<Vec<_>>(),
            random_walk: &join(|prepared| &prepared.random_walk),
            log_degree: &join(|prepared| &prepared.log_degree),
        };
        Self::new(config, &batch, encodings, device)
    }

    /// Checks a batch against the configuration and puts it on a device.
    ///
    /// # Errors
    ///
    /// [`InputError`] if columns, categories or prepared arrays do not fit, or a value is not finite.
    pub fn new(
        config: &ModelConfig,
        batch: &GraphBatch,
        encodings: Encodings<'_>,
        device: &Device,
    ) -> Result<Self, InputError> {
        let (graphs, num_nodes, pairs) = (batch.num_graphs(), batch.num_nodes(), config.stored_eigenpairs());
        let matrix = |what, values: &[f32], rows: usize, columns: usize| -> Result<Tensor<2>, InputError> {
            expect_values(what, values, rows, columns)?;
            Ok(Tensor::from_data(TensorData::new(values.to_vec(), [rows, columns]), device))
        };
        for (what, counts) in
            [("num_eigenpairs", encodings.num_eigenpairs), ("usable_eigenpairs", encodings.usable_eigenpairs)]
        {
            expect_length(what, counts.len(), graphs, || "one per graph".into())?;
        }
        let mut exist = vec![0.0; graphs * pairs];
        let mut valid = vec![0.0; graphs * config.lap_dim];
        expect_values("eigenvalues", encodings.eigenvalues, graphs, pairs)?;
        for graph in 0..graphs {
            for pair in 0..pairs {
                let exists = pair < encodings.num_eigenpairs[graph];
                exist[graph * pairs + pair] = f32::from(u8::from(exists));
                // The first pair is the trivial one: the block never uses it.
                if pair > 0 {
                    let nonzero = encodings.eigenvalues[graph * pairs + pair].abs() >= ZERO_EIGENVALUE;
                    let usable = exists && nonzero && pair < encodings.usable_eigenpairs[graph];
                    valid[graph * config.lap_dim + pair - 1] = f32::from(u8::from(usable));
                }
            }
        }
        Ok(Self {
            structure: Structure::new(batch),
            nodes: node_features(config, batch.node_features(), device)?,
            edges: edge_features(config, batch.edge_features(), device)?,
            eigenvalues: matrix("eigenvalues", encodings.eigenvalues, graphs, pairs)?,
            eigenvectors: matrix("eigenvectors", encodings.eigenvectors, num_nodes, pairs)?,
            exist: matrix("exist", &exist, graphs, pairs)?,
            valid: matrix("valid", &valid, graphs, config.lap_dim)?,
            random_walk: match config.node_pe {
                NodePeKind::Rwse => {
                    Some(matrix("random_walk", encodings.random_walk, num_nodes, config.rwse_steps)?)
                }
                _ => None,
            },
            log_degree: match config.reads_degrees() {
                true => Some(matrix("log_degree", encodings.log_degree, num_nodes, 1)?),
                false => None,
            },
        })
    }
}

/// Whether one (prepared) graph fits a model: the right columns, and categories that its tables have.
///
/// # Errors
///
/// [`InputError`] with the first node or edge, counted within the graph, that does not fit.
pub fn check_graph(config: &ModelConfig, graph: &Graph) -> Result<(), InputError> {
    let (nodes, edges) = (graph.node_features(), graph.edge_features());
    if config.takes_node_numbers() {
        check_numbers("numeric node", nodes, config.node_in)?;
    }
    if config.takes_node_categories() {
        check_categories("node", nodes, &config.node_vocab)?;
    }
    if config.takes_edge_numbers() {
        check_numbers("numeric edge", edges, config.edge_in)?;
    }
    if config.takes_edge_categories() {
        check_categories("edge", edges, &config.edge_vocab)?;
    }
    Ok(())
}

fn check_numbers(what: &'static str, features: &Features, expected: usize) -> Result<(), InputError> {
    let found = features.number_columns();
    if found == expected { Ok(()) } else { Err(InputError::ColumnCount { what, expected, found }) }
}

fn check_category_columns(
    what: &'static str,
    features: &Features,
    sizes: &[usize],
) -> Result<(), InputError> {
    let found = features.category_columns();
    if found == sizes.len() {
        return Ok(());
    }
    let what = if what == "node" { "categorical node" } else { "categorical edge" };
    Err(InputError::ColumnCount { what, expected: sizes.len(), found })
}

fn check_categories(what: &'static str, features: &Features, sizes: &[usize]) -> Result<(), InputError> {
    check_category_columns(what, features, sizes)?;
    let rows = features.category_values().chunks_exact(sizes.len().max(1));
    for (row, values) in rows.enumerate() {
        for (column, (&value, &size)) in values.iter().zip(sizes).enumerate() {
            if value as usize >= size {
                return Err(InputError::UnknownCategory { what, row, column, value, size });
            }
        }
    }
    Ok(())
}

fn node_features(
    config: &ModelConfig,
    features: &Features,
    device: &Device,
) -> Result<FeatureInput, InputError> {
    match config.node_encoder {
        NodeEncoderKind::Linear | NodeEncoderKind::Premp => {
            numbers("numeric node", features, config.node_in, device).map(FeatureInput::Numbers)
        }
        NodeEncoderKind::Embed | NodeEncoderKind::Atoms => {
            categories("node", features, &config.node_vocab).map(FeatureInput::Categories)
        }
        NodeEncoderKind::Mixed => Ok(FeatureInput::Mixed(
            numbers("numeric node", features, config.node_in, device)?,
            categories("node", features, &config.node_vocab)?,
        )),
    }
}

fn edge_features(
    config: &ModelConfig,
    features: &Features,
    device: &Device,
) -> Result<FeatureInput, InputError> {
    if !config.has_edge_encoder() {
        return Ok(FeatureInput::Absent(features.rows()));
    }
    match config.edge_encoder {
        EdgeEncoderKind::Linear => {
            numbers("numeric edge", features, config.edge_in, device).map(FeatureInput::Numbers)
        }
        EdgeEncoderKind::Embed | EdgeEncoderKind::Atoms => {
            categories("edge", features, &config.edge_vocab).map(FeatureInput::Categories)
        }
        EdgeEncoderKind::Mixed => Ok(FeatureInput::Mixed(
            numbers("numeric edge", features, config.edge_in, device)?,
            categories("edge", features, &config.edge_vocab)?,
        )),
        EdgeEncoderKind::Dummy => {
            // One category for every edge.
            let table = CategoryTable::new(&vec![0; features.rows()], &[1]);
            Ok(FeatureInput::Categories(
                table.unwrap_or_else(|_| unreachable!("category 0 is in a table of one")),
            ))
        }
        EdgeEncoderKind::None => Ok(FeatureInput::Absent(features.rows())),
    }
}

fn numbers(
    what: &'static str,
    features: &Features,
    expected: usize,
    device: &Device,
) -> Result<Tensor<2>, InputError> {
    check_numbers(what, features, expected)?;
    let data = TensorData::new(features.number_values().to_vec(), [features.rows(), expected]);
    Ok(Tensor::from_data(data, device))
}

fn categories(what: &'static str, features: &Features, sizes: &[usize]) -> Result<CategoryTable, InputError> {
    check_category_columns(what, features, sizes)?;
    CategoryTable::new(features.category_values(), sizes).map_err(|(row, column, value)| {
        InputError::UnknownCategory { what, row, column, value, size: sizes[column] }
    })
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
