//! The nodes of a graph that are not in the batch: what the block must know of them, and no more.
//!
//! The default form of the block (type 1 or 3, element-wise product, layout `channel`) reads of all nodes of a graph the
//! sums `T[i,j] = Σ_v p_v[i]·w_v[j]` alone, `M×D` numbers per layer. Where a batch holds a piece of a graph, the sums over
//! the other pieces are carried from an earlier pass over all of them; the piece's own are computed with it.
//!
//! Carried sums enter as `M` further rows with `p = e_i` and `w = T[i,:]`, whose products sum to `T`: the block's operation
//! is the same, and so is its gradient with respect to the nodes that are there.

// Only training cuts graphs.
#![cfg_attr(not(feature = "train"), allow(dead_code))]

use crate::ops::{Across, RowIndex, Structure, gather_rows, outer_sums};
use burn::tensor::Tensor;
use graphminnet_data::{Graph, GraphError, Layout};
use std::sync::{Arc, Mutex, PoisonError};

/// What is beyond a batch.
#[derive(Debug, Clone)]
pub(crate) enum Beyond {
    /// The sums over the other pieces of a graph.
    Carried(Carried),
    /// A whole graph, of which the sums of each piece are to be noted.
    Noted(Arc<Noted>),
    /// The other parts of a graph, each on a rank of its own.
    Across(Arc<Across>),
}

/// Sums over nodes that are not in the batch.
#[derive(Debug, Clone)]
pub(crate) struct Carried {
    /// Per layer, `[pairs, channels]`.
    sums: Vec<Tensor<2>>,
    /// The nodes of the batch and the further rows, as one graph.
    structure: Arc<Structure>,
}

impl Carried {
    /// For a batch of one graph of `nodes` nodes.
    pub(crate) fn new(sums: Vec<Tensor<2>>, nodes: usize) -> Result<Self, GraphError> {
        let pairs = sums.first().map_or(0, |sums| sums.dims()[0]);
        let structure = Structure::new(Layout::new(&[&Graph::from_edges(nodes + pairs, vec![])?])?);
        Ok(Self { sums, structure })
    }

    /// `p` and `w` with the further rows of a layer, and where they stand.
    pub(super) fn extend(
        &self,
        layer: usize,
        positions: Tensor<2>,
        w: Tensor<2>,
    ) -> (Tensor<2>, Tensor<2>, &Arc<Structure>) {
        let Some(sums) = self.sums.get(layer) else { unreachable!("sums are carried for every layer") };
        let [pairs, _] = sums.dims();
        let unit = Tensor::eye(pairs, &positions.device());
        // Constants on the device of the pass.
        let sums = if w.is_autodiff() { Tensor::from_inner(sums.clone()) } else { sums.clone() };
        (Tensor::cat(vec![positions, unit], 0), Tensor::cat(vec![w, sums], 0), &self.structure)
    }
}

/// The sums of each piece of a graph, as a pass over the whole graph computes them.
#[derive(Debug)]
pub(crate) struct Noted {
    /// Where the nodes of the pieces, one after the other, are in the graph.
    order: Arc<RowIndex>,
    /// The pieces as graphs.
    pieces: Arc<Structure>,
    /// Per layer, `[pieces, pairs, channels]`.
    sums: Mutex<Vec<Tensor<3>>>,
}

impl Noted {
    /// For a graph that is cut into pieces.
    pub(crate) fn new(pieces: &[Vec<usize>]) -> Result<Arc<Self>, GraphError> {
        let order: Vec<u32> = pieces.iter().flatten().map(|&node| node as u32).collect();
        let graphs: Vec<Graph> = pieces
            .iter()
            .map(|nodes| Graph::from_edges(nodes.len(), vec![]))
            .collect::<Result<_, GraphError>>()?;
        let pieces = Structure::new(Layout::new(&graphs.iter().collect::<Vec<_>>())?);
        Ok(Arc::new(Self { order: RowIndex::new(order.len(), order), pieces, sums: Mutex::default() }))
    }

    /// Notes the sums of the next layer.
    pub(super) fn note(&self, positions: Tensor<2>, w: Tensor<2>) {
        let [p, w] = [positions, w].map(|rows| gather_rows(rows, &self.order));
        let sums = outer_sums(p, w, &self.pieces);
        self.sums.lock().unwrap_or_else(PoisonError::into_inner).push(sums);
    }

    /// The sums, per layer `[pieces, pairs, channels]`.
    pub(crate) fn take_sums(&self) -> Vec<Tensor<3>> {
        std::mem::take(&mut *self.sums.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{LevelKind, LocalKind, ModelConfig, NodePeKind};
    use crate::model::{GraphMinNet, ModelInput};
    use crate::nn::Pass;
    use crate::ops::values;
    use burn::tensor::Device;
    use graphminnet_data::pieces::cut_into_pieces;
    use graphminnet_data::spectral::{PreparedGraph, prepare_graph};
    use graphminnet_data::{Features, rng};

    fn config() -> ModelConfig {
        ModelConfig {
            hidden: 12,
            layers: 3,
            local: LocalKind::None,
            lap_dim: 5,
            pe_width: 6,
            self_term: true,
            node_in: 2,
            node_pe: NodePeKind::None,
            level: LevelKind::Node,
            out_dim: 2,
            ..ModelConfig::default()
        }
    }

    fn graph(config: &ModelConfig) -> PreparedGraph {
        let mut random = rng::stream(3, "graph", &[]);
        let pairs = (1..40u32).flat_map(|node| {
            let other = random.below(node as usize) as u32;
            [[node, other], [other, node]]
        });
        let graph = Graph::from_edges(40, pairs.collect()).unwrap();
        let features: Vec<f32> = (0..80).map(|_| random.normal() as f32).collect();
        let graph = graph.with_node_features(Features::numbers(40, 2, features).unwrap()).unwrap();
        prepare_graph(&Arc::new(graph), &config.prepare_options()).unwrap()
    }

    fn noted(model: &GraphMinNet, whole: &PreparedGraph, pieces: &[Vec<usize>]) -> Vec<Tensor<3>> {
        let noted = Noted::new(pieces).unwrap();
        let input = ModelInput::from_prepared(model.config(), &[whole], &Device::flex()).unwrap();
        let input = ModelInput { beyond: Some(Beyond::Noted(noted.clone())), ..input };
        model.embed(&input, Pass::Eval);
        noted.take_sums()
    }

    fn assert_close(found: &[f32], expected: &[f32], what: &str) {
        assert_eq!(found.len(), expected.len());
        let scale = expected.iter().fold(1e-3f32, |most, value| most.max(value.abs()));
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-5 * scale, "{what}: {found} and {expected}");
        }
    }

    #[test]
    fn the_sums_of_the_pieces_are_those_of_the_whole_graph_in_every_layer() {
        let config = config();
        let (model, whole) = (GraphMinNet::new(&config, 0, &Device::flex()).unwrap(), graph(&config));
        let all = noted(&model, &whole, &cut_into_pieces(&whole.graph, 1));
        let pieces = noted(&model, &whole, &cut_into_pieces(&whole.graph, 4));
        assert_eq!((all.len(), pieces.len()), (3, 3));
        for (layer, (all, pieces)) in all.into_iter().zip(pieces).enumerate() {
            assert_eq!(pieces.dims(), [4, 5, 6]);
            assert_close(&values(pieces.sum_dim(0)), &values(all), &format!("layer {layer}"));
        }
    }

    /// Without edges nothing but the sums ties a piece to the rest.
    #[test]
    fn a_piece_with_the_sums_of_the_others_answers_what_the_whole_graph_answers() {
        let config = config();
        let device = Device::flex();
        let (model, whole) = (GraphMinNet::new(&config, 0, &device).unwrap(), graph(&config));
        let input = |graph: &PreparedGraph| ModelInput::from_prepared(&config, &[graph], &device).unwrap();
        let expected = values(model.forward(&input(&whole), Pass::Eval));
        let pieces = cut_into_pieces(&whole.graph, 3);
        let sums = noted(&model, &whole, &pieces);
        for (number, nodes) in pieces.iter().enumerate() {
            let others = sums.iter().map(|sums| {
                let own: Tensor<3> = sums.clone().narrow(0, number, 1);
                (sums.clone().sum_dim(0) - own).reshape([5, 6])
            });
            let piece = input(&whole.piece(nodes).unwrap());
            let carried = Carried::new(others.collect(), nodes.len()).unwrap();
            let with = ModelInput { beyond: Some(Beyond::Carried(carried)), ..piece.clone() };
            let of_piece: Vec<f32> =
                nodes.iter().flat_map(|&node| expected[2 * node..2 * node + 2].to_vec()).collect();
            assert_close(&values(model.forward(&with, Pass::Eval)), &of_piece, &format!("piece {number}"));
            let alone = values(model.forward(&piece, Pass::Eval));
            let differs = alone.iter().zip(&of_piece).any(|(a, b)| (a - b).abs() > 1e-3 * b.abs());
            assert!(differs, "the sums make a difference");
        }
    }
}
