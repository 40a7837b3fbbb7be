//! Useful floating-point operations of a pass: the matrix products that the model cannot do without.
//!
//! A product of `[a×b]` by `[b×c]` counts `2·a·b·c`. Element-wise work, normalisation and recomputation are not
//! counted. The gradient of a product is two products of the same size.
//!
//! The count belongs to the model, so that rates can be compared between versions and with other implementations. Where the
//! kernels find an order of multiplication with fewer operations, [`executed_training_flops`] says how many are left.

use graphminnet::config::{GlobalKind, HeadKind, LevelKind, LocalKind, ModelConfig, NodePeKind};
use graphminnet_kernels::spectral_product::multiplications_per_node;

/// Operations of one forward pass over a batch.
pub fn forward_flops(config: &ModelConfig, graphs: usize, nodes: usize, edges: usize) -> f64 {
    let (n, e, l) = (nodes as f64, edges as f64, config.hidden as f64);
    let local = match config.local {
        LocalKind::Gated => linear(n, l, 4.0 * l) + linear(e, l, l),
        LocalKind::Gine | LocalKind::Gin => 2.0 * linear(n, l, l),
        LocalKind::Gcn => linear(n, l, l),
        LocalKind::Gat => linear(n, l, l) + if config.has_edge_encoder() { linear(e, l, l) } else { 0.0 },
        LocalKind::None => 0.0,
    };
    let global = match config.global {
        GlobalKind::Graphminnet => block(config, n),
        // Scores and mixture compare all pairs of nodes of a graph; graphs are taken to be of equal size.
        GlobalKind::Attention => linear(n, l, 4.0 * l) + 2.0 * linear(n, l, n / (graphs as f64).max(1.0)),
        GlobalKind::Gssc => 3.0 * linear(n, l, l) + 2.0 * linear(n, l, config.lap_dim as f64),
        GlobalKind::None => 0.0,
    };
    let feed_forward = 2.0 * linear(n, l, 2.0 * l);
    let per_layer = local + global + feed_forward;
    config.layers as f64 * per_layer
        + encoders(config, n)
        + set_encoder(config, graphs as f64)
        + head(config, graphs, n)
}

/// Operations of one training step: forward, and twice as much for the gradients.
pub fn training_flops(config: &ModelConfig, graphs: usize, nodes: usize, edges: usize) -> f64 {
    3.0 * forward_flops(config, graphs, nodes, edges)
}

/// Operations of one training step in the order in which the kernels multiply.
pub fn executed_training_flops(config: &ModelConfig, graphs: usize, nodes: usize, edges: usize) -> f64 {
    let (l, rows, columns) = (config.hidden, config.rows(), config.columns());
    let spared = match config.global {
        GlobalKind::Graphminnet => columns * rows * l - multiplications_per_node(rows, columns, l),
        _ => 0,
    };
    let spared = 2.0 * (config.layers * nodes) as f64 * spared as f64;
    training_flops(config, graphs, nodes, edges) - 3.0 * spared
}

fn linear(rows: f64, inputs: f64, outputs: f64) -> f64 {
    2.0 * rows * inputs * outputs
}

/// The block in its default form: `W`, `z`, `h`, the position–feature sums and the spectral product.
fn block(config: &ModelConfig, nodes: f64) -> f64 {
    let (l, rows, columns) = (config.hidden as f64, config.rows() as f64, config.columns() as f64);
    linear(nodes, l, rows) + linear(nodes, l, 2.0 * l) + 2.0 * nodes * columns * rows * (l + 1.0)
}

fn encoders(config: &ModelConfig, nodes: f64) -> f64 {
    let width = config.pe_dim as f64;
    match config.node_pe {
        NodePeKind::None => 0.0,
        NodePeKind::Rwse => linear(nodes, config.rwse_steps as f64, width),
        NodePeKind::Lappe => {
            let pairs = nodes * config.stored_eigenpairs() as f64;
            linear(pairs, 2.0, 2.0 * width) + linear(pairs, 2.0 * width, width)
        }
    }
}

/// Twelve square maps on every eigenvalue of every graph.
fn set_encoder(config: &ModelConfig, graphs: f64) -> f64 {
    if !config.has_set_encoder() {
        return 0.0;
    }
    let width = config.pe_width as f64;
    12.0 * linear(graphs * config.lap_dim as f64, width, width)
}

fn head(config: &ModelConfig, graphs: usize, nodes: f64) -> f64 {
    let rows = match config.level {
        LevelKind::Graph => graphs as f64,
        // Workloads have no edges or pairs to answer for.
        LevelKind::Node | LevelKind::Edge | LevelKind::Pair => nodes,
    };
    let (l, out) = (config.hidden as f64, config.out_dim as f64);
    match config.head {
        HeadKind::Mlp => linear(rows, l, l) * (config.head_layers as f64 - 1.0) + linear(rows, l, out),
        HeadKind::San => {
            linear(rows, l, l / 2.0) + linear(rows, l / 2.0, l / 4.0) + linear(rows, l / 4.0, out)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphminnet::config::{NodeEncoderKind, Phi};

    #[test]
    fn a_small_configuration_counts_as_by_hand() {
        let config = ModelConfig {
            hidden: 4,
            layers: 2,
            local: LocalKind::Gine,
            pe_width: 3,
            lap_dim: 2,
            phi_a: Phi::Power(0),
            phi_c: Phi::Power(1),
            node_encoder: NodeEncoderKind::Linear,
            head_layers: 1,
            out_dim: 5,
            ..ModelConfig::default()
        };
        // 10 nodes, 20 edges, 2 graphs. GINE: 2 maps 4→4. Feed-forward: 4→8→4. Block: W 4→3, z and h 4→4,
        // T: 10·2·3 products, spectral product: 10·6·4 products. Head: 2 rows 4→5.
        let gine = 2 * 2 * 10 * 4 * 4;
        let feed_forward = 2 * 2 * 10 * 4 * 8;
        let block = 2 * 10 * 4 * 3 + 2 * 10 * 4 * 8 + 2 * 10 * 2 * 3 + 2 * 10 * 2 * 3 * 4;
        let head = 2 * 2 * 4 * 5;
        let expected = f64::from(2 * (gine + feed_forward + block) + head);
        assert_eq!(forward_flops(&config, 2, 10, 20), expected);
        assert_eq!(training_flops(&config, 2, 10, 20), 3.0 * expected);
        assert_eq!(executed_training_flops(&config, 2, 10, 20), 3.0 * expected);
    }

    #[test]
    fn many_eigenpairs_are_multiplied_through_pairs_of_channels() {
        let config =
            ModelConfig { hidden: 64, pe_width: 32, lap_dim: 60, layers: 2, ..ModelConfig::default() };
        // Per node and layer 60·32·64 through Q, 60·32² + 528·64 through pairs.
        let spared = f64::from(3 * 2 * 10 * 2 * (60 * 32 * 64 - 60 * 32 * 32 - 528 * 64));
        let executed = executed_training_flops(&config, 2, 10, 20);
        assert_eq!(training_flops(&config, 2, 10, 20) - executed, spared);
    }
}
