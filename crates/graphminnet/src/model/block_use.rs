//! What the block does inside a trained model: how much of a layer's output comes from it, and how often its input is
//! bounded.

use super::Spectrum;
use super::block::Block;
use super::{ModelInput, Place};
use crate::config::InputNorm;
use crate::nn::BatchNorm;
use crate::ops::values;
use burn::tensor::Tensor;

/// Sums over the nodes of a batch, for the block of one layer. With `y` for what the two branches of the layer add up to:
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BlockUse {
    /// Sum of squares of the part of `y` that the block makes: `BN(x + block(x)) − BN(x)`.
    pub added: f64,
    /// Sum of squares of `y`.
    pub mixed: f64,
    /// Nodes whose input was longer than the block takes, and was shortened; 0 where inputs are not bounded.
    pub bounded: usize,
    /// Nodes.
    pub nodes: usize,
}

impl BlockUse {
    /// The length of what the block adds, in parts of the length of what it is added to; `None` without nodes.
    pub fn share(&self) -> Option<f64> {
        (self.mixed > 0.0).then(|| (self.added / self.mixed).sqrt())
    }
}

impl std::ops::AddAssign for BlockUse {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.mixed += other.mixed;
        self.bounded += other.bounded;
        self.nodes += other.nodes;
    }
}

/// Looks at one block: its input `x`, the norm behind it, and `y`.
pub(super) fn block_use(
    (block, norm): (&Block, &BatchNorm),
    x: Tensor<2>,
    mixed: Tensor<2>,
    (input, spectrum, config): (&ModelInput, &Spectrum, &crate::config::ModelConfig),
    Place { layer, pass, .. }: Place,
) -> BlockUse {
    let output = block.forward(x.clone(), input, spectrum, config, layer, pass);
    let with = norm.residual(x.clone(), Some((output, None)), None, pass);
    let added = with - norm.forward(x.clone(), pass);
    let [nodes, width] = x.dims();
    let bounded = match config.input_norm {
        InputNorm::Ball => {
            let taken = values(block.unbounded_input(x, input));
            let is_long = |row: &&[f32]| squares(row) > width as f64;
            taken.chunks_exact(width.max(1)).filter(is_long).count()
        }
        InputNorm::None | InputNorm::Rms => 0,
    };
    BlockUse { added: squares(&values(added)), mixed: squares(&values(mixed)), bounded, nodes }
}

fn squares(values: &[f32]) -> f64 {
    values.iter().map(|&value| f64::from(value) * f64::from(value)).sum()
}
