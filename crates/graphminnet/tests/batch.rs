//! A batch goes into a model as it is: what the loader wrote is what the model reads.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use burn::tensor::Tensor;
use common::{dressed, path, plain, prepared, tracked};
use graphminnet::config::NodePeKind;
use graphminnet::model::FeatureInput;
use graphminnet::{ModelConfig, ModelInput};
use graphminnet_data::{Batch, rng};

fn config() -> ModelConfig {
    let config = ModelConfig {
        hidden: 8,
        layers: 1,
        pe_width: 4,
        lap_dim: 3,
        node_in: 2,
        node_pe: NodePeKind::Rwse,
        pe_dim: 3,
        rwse_steps: 4,
        degree_scaling: true,
        ..ModelConfig::default()
    };
    config.check().unwrap();
    config
}

fn address(tensor: Tensor<2>) -> usize {
    tensor.into_data().as_slice::<f32>().unwrap().as_ptr() as usize
}

#[test]
fn the_arrays_of_a_batch_become_tensors_without_a_copy() {
    let config = config();
    let random = &mut rng::stream(1, "batch", &[]);
    let graphs = [5, 3].map(|nodes| prepared(dressed(&path(nodes), &config, random), &config));
    for device in [plain(), tracked()] {
        let batch = Batch::collate(&graphs.iter().collect::<Vec<_>>()).unwrap();
        let floats = [
            &batch.eigenvalues[..],
            &batch.eigenvectors,
            &batch.random_walk,
            &batch.log_degree,
            batch.node_features.number_values(),
        ]
        .map(|values| values.as_ptr() as usize);
        let topology = batch.layout.topology();
        let indices = [batch.layout.node_offsets(), &topology.source, &topology.target, &topology.outgoing];
        let indices = indices.map(|values| values.as_ptr() as usize);
        let input = ModelInput::new(&config, batch, &device).unwrap();
        let topology = input.structure.topology();
        let kept = [input.structure.node_offsets(), &topology.source, &topology.target, &topology.outgoing];
        assert_eq!(kept.map(|values| values.as_ptr() as usize), indices);
        let FeatureInput::Numbers(numbers) = input.nodes else { panic!("the nodes have numbers") };
        let tensors = [
            input.eigenvalues,
            input.eigenvectors,
            input.random_walk.unwrap(),
            input.log_degree.unwrap(),
            numbers,
        ];
        assert_eq!(tensors.map(address), floats);
    }
}

#[test]
fn masks_follow_the_counts_and_the_eigenvalues() {
    let config = config();
    let random = &mut rng::stream(2, "batch", &[]);
    // Two components: two zero eigenvalues. Two nodes: two pairs of four.
    let split = common::side_by_side(&path(3), &path(3));
    let graphs = [split, path(2), path(6)].map(|graph| prepared(dressed(&graph, &config, random), &config));
    let mut batch = Batch::collate(&graphs.iter().collect::<Vec<_>>()).unwrap();
    batch.usable_eigenpairs[2] = 3;
    let input = ModelInput::new(&config, batch, &plain()).unwrap();
    let mask = |tensor: Tensor<2>| tensor.into_data().try_to_vec::<f32>().unwrap();
    assert_eq!(mask(input.exist), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(mask(input.valid), [0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
}
