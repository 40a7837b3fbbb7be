//! Graphs made in code, predicted with a trained model: `cargo run --example own_graphs [MODEL.gmn]`.
//!
//! Without a model of yours the tiny one of the tests is used; its nodes have two categories, its edges one.

use graphminnet::Bundle;
use graphminnet::data::{Features, Graph};
use std::path::PathBuf;
use std::sync::Arc;

/// A ring of `nodes` nodes whose first one is special.
fn ring(nodes: u32) -> Result<Graph, Box<dyn std::error::Error>> {
    // Both directions of every edge are written down.
    let edges: Vec<[u32; 2]> =
        (0..nodes).flat_map(|node| [[node, (node + 1) % nodes], [(node + 1) % nodes, node]]).collect();
    let kinds = (0..nodes).flat_map(|node| [u32::from(node == 0), 2]).collect();
    let bonds = vec![3; edges.len()];
    let (node_features, edge_features) =
        (Features::categories(nodes as usize, 2, kinds)?, Features::categories(edges.len(), 1, bonds)?);
    Ok(Graph::new(nodes as usize, edges, node_features, edge_features)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bundles/v1/model.gmn");
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from(example), PathBuf::from);
    let bundle = Bundle::load(&path)?;
    let graphs = [Arc::new(ring(5)?), Arc::new(ring(12)?)];
    println!("targets: {:?}", bundle.description().schema.targets);
    for (graph, answer) in graphs.iter().zip(bundle.predict(&graphs).iter()) {
        println!("ring of {}: {:?}", graph.num_nodes(), answer?.values());
    }
    Ok(())
}
