//! Useful floating-point operations of a pass: the matrix products that the model cannot do without.
//!
//! A product of `[a×b]` by `[b×c]` counts `2·a·b·c`. Element-wise work, normalisation and recomputation are not
//! counted, and what can be multiplied in several orders counts in the cheapest one, so a rate computed from this
//! never flatters. The gradient of a product is two products of the same size, or one if a factor is a constant.

use crate::config::{GlobalKind, HeadKind, LevelKind, LocalKind, ModelConfig, NodePeKind};

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

/// Operations of one training step: forward, and twice as much for the gradients, less those of eigenvectors.
pub fn training_flops(config: &ModelConfig, graphs: usize, nodes: usize, edges: usize) -> f64 {
    let constant = match config.global {
        GlobalKind::Graphminnet => {
            config.layers as f64 * SpectralProduct::of(config, nodes as f64).with_eigenvectors
        }
        _ => 0.0,
    };
    3.0 * forward_flops(config, graphs, nodes, edges) - constant
}

fn linear(rows: f64, inputs: f64, outputs: f64) -> f64 {
    2.0 * rows * inputs * outputs
}

/// The block in its default form: `W`, `z`, `h`, the position–feature sums and the spectral product.
fn block(config: &ModelConfig, nodes: f64) -> f64 {
    let (l, rows, columns) = (config.hidden as f64, config.rows() as f64, config.columns() as f64);
    let SpectralProduct { with_eigenvectors, others } = SpectralProduct::of(config, nodes);
    linear(nodes, l, rows)
        + linear(nodes, l, 2.0 * l)
        + linear(nodes, columns, rows)
        + with_eigenvectors
        + others
}

/// The spectral product in the cheaper of its two orders: through `Q` or through pairs of channels.
struct SpectralProduct {
    /// Products of eigenvectors, which are constants, with something else.
    with_eigenvectors: f64,
    others: f64,
}

impl SpectralProduct {
    fn of(config: &ModelConfig, nodes: f64) -> Self {
        let (l, rows, columns) = (config.hidden as f64, config.rows() as f64, config.columns() as f64);
        let through_q = Self { with_eigenvectors: 0.0, others: linear(nodes, columns * rows, l) };
        let through_pairs = Self {
            with_eigenvectors: linear(nodes, columns, rows * rows),
            others: linear(nodes, rows * (rows + 1.0) / 2.0, l),
        };
        if through_pairs.with_eigenvectors + through_pairs.others < through_q.others {
            through_pairs
        } else {
            through_q
        }
    }
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
        LevelKind::Node => nodes,
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
    use crate::config::{NodeEncoderKind, Phi};

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
    }

    #[test]
    fn many_eigenpairs_count_through_pairs_of_channels() {
        let few = ModelConfig { hidden: 8, pe_width: 2, lap_dim: 1, ..ModelConfig::default() };
        let many = ModelConfig { lap_dim: 20, ..few.clone() };
        let product = |config| {
            let SpectralProduct { with_eigenvectors, others } = SpectralProduct::of(config, 10.0);
            (with_eigenvectors, others)
        };
        assert_eq!(product(&few), (0.0, f64::from(2 * 10 * few.columns() as u32 * 2 * 8)));
        assert_eq!(
            product(&many),
            (f64::from(2 * 10 * many.columns() as u32 * 4), f64::from(2 * 10 * 3 * 8))
        );
    }
}
