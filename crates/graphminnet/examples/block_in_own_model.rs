//! The GraphMinNet block inside a Burn model of your own: `cargo run -p graphminnet --example block_in_own_model`.
//!
//! Every node of a ring carries a sign and must say whether the node opposite to it carries the same one. Message passing
//! would need as many layers as there are steps to the other side; one block sees it at once.

use graphminnet::DeviceKind;
use graphminnet::burn::module::{Module, ModuleMapper, Param};
use graphminnet::burn::nn::{Linear, LinearConfig};
use graphminnet::burn::tensor::{Distribution, Gradients, Tensor};
use graphminnet::data::{Features, Graph, prepare_graph};
use graphminnet::model::{BlockConfig, BlockInput, GraphMinNetBlock};
use std::error::Error;
use std::sync::Arc;

const NODES: usize = 12;

#[derive(Module, Debug)]
struct Opposite {
    encoder: Linear,
    block: GraphMinNetBlock,
    head: Linear,
}

impl Opposite {
    fn forward(&self, x: Tensor<2>, input: &BlockInput) -> Tensor<2> {
        let x = self.encoder.forward(x);
        self.head.forward(x.clone() + self.block.forward(x, input))
    }
}

/// One step along the signs of the gradient; Burn's own optimizers are in its feature `optim`.
struct Descend<'a>(&'a Gradients);

impl ModuleMapper for Descend<'_> {
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<D>>) -> Param<Tensor<D>> {
        parameter.map(|value| match value.grad(self.0) {
            Some(gradient) => (value - Tensor::from_inner(gradient).sign() * 3e-4).detach().require_grad(),
            None => value,
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let n = NODES as u32;
    let edges = (0..n).flat_map(|node| [[node, (node + 1) % n], [(node + 1) % n, node]]).collect();
    let ring = Graph::new(NODES, edges, Features::none(NODES), Features::none(2 * NODES))?;

    let device = DeviceKind::Cpu.open()?.autodiff();
    let config = BlockConfig { eigenpairs: NODES - 1, ..BlockConfig::new(32) };
    let prepared = prepare_graph(&Arc::new(ring), &config.prepare_options())?;
    let input = BlockInput::from_prepared(&config, &[&prepared; 16], &device)?;
    let linear = |inputs, outputs| LinearConfig::new(inputs, outputs).init(&device);
    let mut model = Opposite { encoder: linear(1, 32), block: config.init(0, &device)?, head: linear(32, 1) };

    device.seed(0);
    for step in 0..=3000 {
        let signs = Tensor::<3>::random([16, NODES, 1], Distribution::Uniform(-1.0, 1.0), &device).sign();
        let same = signs.clone() * signs.clone().roll(&[NODES as i64 / 2], &[1]);
        let said = model.forward(signs.reshape([16 * NODES, 1]), &input);
        let loss = (said - same.reshape([16 * NODES, 1])).square().mean();
        if step % 500 == 0 {
            println!("step {step:4}: error {:.3}", loss.clone().into_scalar::<f32>());
        }
        model = model.map(&mut Descend(&loss.backward()));
    }
    Ok(())
}
