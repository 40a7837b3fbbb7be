//! Preparation against values computed independently in double precision (`fixtures/spectral.json`).

use graphminnet_data::Graph;
use graphminnet_data::spectral::{PrepareOptions, lowest_eigenpairs, prepare_graph};
use serde_json::Value;
use std::sync::Arc;

fn fixture() -> Value {
    serde_json::from_str(include_str!("fixtures/spectral.json")).unwrap()
}

fn values(fixture: &Value, name: &str) -> Vec<f64> {
    fixture[name]["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

fn graph(fixture: &Value, name: &str, nodes: usize) -> Arc<Graph> {
    let flat = values(fixture, &format!("{name}.edge_index"));
    let (sources, targets) = flat.split_at(flat.len() / 2);
    let edges = sources.iter().zip(targets).map(|(&a, &b)| [a as u32, b as u32]).collect();
    Arc::new(Graph::from_edges(nodes, edges).unwrap())
}

/// Eigenvectors are defined up to the choice of a basis in each eigenspace: compare what they project onto.
fn assert_same_projectors(graph: &Graph, count: usize, values: &[f64], vectors: &[f64]) {
    let nodes = graph.num_nodes();
    let pairs = lowest_eigenpairs(graph, count).unwrap();
    for (found, expected) in pairs.values.iter().zip(values) {
        assert!((found - expected).abs() < 1e-5, "{found} is not {expected}");
    }
    let mut first = 0;
    for space in values.chunk_by(|a, b| (a - b).abs() < 1e-5) {
        let columns = first..first + space.len();
        first += space.len();
        if columns.end == count && pairs.splits_eigenspace() {
            continue;
        }
        for u in 0..nodes {
            for v in 0..nodes {
                let product = |table: &[f64]| -> f64 {
                    columns.clone().map(|k| table[u * count + k] * table[v * count + k]).sum()
                };
                assert!((product(&pairs.vectors) - product(vectors)).abs() < 1e-5, "{columns:?} at {u}, {v}");
            }
        }
    }
}

fn assert_close(found: &[f32], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (at, (&found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (f64::from(found) - expected).abs() < 1e-6 * expected.abs().max(1.0),
            "{at}: {found} is not {expected}"
        );
    }
}

#[test]
fn a_connected_graph_agrees_in_every_part() {
    let fixture = fixture();
    let graph = graph(&fixture, "graph", 14);
    assert_same_projectors(
        &graph,
        9,
        &values(&fixture, "graph.lap_eigvals9"),
        &values(&fixture, "graph.lap_eigvecs9"),
    );
    let options = PrepareOptions { random_walk_steps: 20, degree_profile: true, ..Default::default() };
    let prepared = prepare_graph(&graph, &options).unwrap();
    assert_close(&prepared.random_walk, &values(&fixture, "graph.rwse20"));
    let profile = prepared.graph.node_features().number_values();
    assert_close(profile, &values(&fixture, "graph.local_degree_profile"));
}

#[test]
fn a_disconnected_graph_agrees() {
    let fixture = fixture();
    let graph = graph(&fixture, "graph2", 12);
    assert_same_projectors(
        &graph,
        8,
        &values(&fixture, "graph2.lap_eigvals8"),
        &values(&fixture, "graph2.lap_eigvecs8"),
    );
}
