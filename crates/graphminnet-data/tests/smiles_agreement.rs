//! How many molecules read from SMILES equal the stored benchmark graphs, and what differs in the others.
//!
//! The counts are exact. A change that moves one of them, in either direction, must say why and update
//! `docs/smiles-differences.md`.

mod common;

use graphminnet_data::Graph;
use graphminnet_data::{Featurizer, Limits, ReadOptions, molecule_graph, open, scaffold_key};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// The column called `smiles` of a compressed table without quoting.
fn smiles_column(path: &Path) -> Vec<String> {
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    let mut lines = text.lines();
    let column = lines.next().unwrap().split(',').position(|name| name == "smiles").unwrap();
    lines.map(|line| line.split(',').nth(column).unwrap().to_owned()).collect()
}

const ATOM_CAUSES: [&str; 9] = [
    "atomic number",
    "chirality",
    "degree",
    "formal charge",
    "hydrogens",
    "radical electrons",
    "hybridisation",
    "aromaticity",
    "ring membership",
];
const BOND_CAUSES: [&str; 3] = ["bond type", "bond stereo", "conjugation"];

/// Why two graphs differ; empty if they are equal.
fn causes(found: &Graph, stored: &Graph) -> Vec<String> {
    if found.num_nodes() != stored.num_nodes() {
        return vec!["number of atoms".to_owned()];
    }
    let order = |graph: &Graph| {
        let mut edges: Vec<([u32; 2], Vec<u32>)> = graph
            .edges()
            .iter()
            .enumerate()
            .map(|(row, ends)| (*ends, graph.edge_features().category_row(row).to_vec()))
            .collect();
        edges.sort();
        edges
    };
    let (found_edges, stored_edges) = (order(found), order(stored));
    if found_edges.iter().map(|edge| edge.0).ne(stored_edges.iter().map(|edge| edge.0)) {
        return vec!["bonds".to_owned()];
    }
    let mut causes = Vec::new();
    for (column, cause) in ATOM_CAUSES.iter().enumerate() {
        let pick = |graph: &Graph| -> Vec<u32> {
            (0..graph.num_nodes()).map(|row| graph.node_features().category_row(row)[column]).collect()
        };
        if pick(found) != pick(stored) {
            causes.push((*cause).to_owned());
        }
    }
    for (column, cause) in BOND_CAUSES.iter().enumerate() {
        if found_edges.iter().zip(&stored_edges).any(|(a, b)| a.1[column] != b.1[column]) {
            causes.push((*cause).to_owned());
        }
    }
    causes
}

#[test]
#[ignore = "needs the benchmark data: GRAPHMINNET_DATA"]
fn ogb_columns_equal_the_stored_ones() {
    let data = common::real_data();
    let of_molhiv = [("aromaticity", 14), ("bond type", 14), ("refused", 7)];
    for (name, molecules, expected, expected_causes) in
        [("ogbg-molhiv", 41_127, 41_106, &of_molhiv[..]), ("peptides-func", 15_535, 15_535, &[])]
    {
        let stored = open(&data.join(name), &ReadOptions::default()).unwrap().dataset;
        let smiles = smiles_column(&data.join(name).join("mapping/mol.csv.gz"));
        assert_eq!((smiles.len(), stored.samples.len()), (molecules, molecules), "{name}");
        let limits = Limits::default();
        let start = std::time::Instant::now();
        let graphs: Vec<_> =
            smiles.par_iter().map(|smiles| molecule_graph(smiles, Featurizer::Ogb, &limits)).collect();
        let seconds = start.elapsed().as_secs_f64();
        let atoms: usize = graphs.iter().flatten().map(Graph::num_nodes).sum();
        let mut by_cause: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut equal = 0;
        let mut equal_with_edge_order = 0;
        for (index, (graph, sample)) in graphs.iter().zip(&stored.samples).enumerate() {
            let causes = match graph {
                Ok(graph) => causes(graph, &sample.graph),
                Err(_) => vec!["refused".to_owned()],
            };
            equal += usize::from(causes.is_empty());
            equal_with_edge_order += usize::from(graph.as_ref().is_ok_and(|graph| *graph == *sample.graph));
            for cause in causes {
                by_cause.entry(cause).or_default().push(index);
            }
        }
        let rate = equal as f64 / smiles.len() as f64;
        eprintln!(
            "{name}: {equal} of {} equal ({:.4} %), {equal_with_edge_order} with edge order; {:.0} molecules/s, {:.0} atoms/s",
            smiles.len(),
            100.0 * rate,
            smiles.len() as f64 / seconds,
            atoms as f64 / seconds
        );
        for (cause, at) in &by_cause {
            eprintln!("  {:5}  {cause}, first: {} {}", at.len(), at[0], smiles[at[0]]);
        }
        let counts: Vec<_> = by_cause.iter().map(|(cause, at)| (cause.as_str(), at.len())).collect();
        assert_eq!((equal, equal_with_edge_order), (expected, expected), "{name}");
        assert_eq!(counts, expected_causes, "{name}");
    }
}

#[test]
#[ignore = "needs the benchmark data: GRAPHMINNET_DATA"]
fn zinc_types_equal_the_stored_ones() {
    let data = common::real_data();
    let stored = open(&data.join("zinc-12k"), &ReadOptions::default()).unwrap().dataset;
    let smiles = smiles_column(&data.join("zinc-12k/mapping/mol.csv.gz"));
    let limits = Limits::default();
    let start = std::time::Instant::now();
    let graphs: Vec<_> =
        smiles.par_iter().map(|smiles| molecule_graph(smiles, Featurizer::Zinc, &limits)).collect();
    let seconds = start.elapsed().as_secs_f64();
    let sorted = |values: &[u32]| {
        let mut values = values.to_vec();
        values.sort_unstable();
        values
    };
    let mut causes: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let (mut equal, mut identical) = (0, 0);
    for (index, (graph, sample)) in graphs.iter().zip(&stored.samples).enumerate() {
        let cause = match graph {
            Err(error) => Some(error.to_string()),
            Ok(graph) if graph.num_nodes() != sample.graph.num_nodes() => Some("number of atoms".to_owned()),
            Ok(graph) if graph.num_edges() != sample.graph.num_edges() => Some("number of bonds".to_owned()),
            Ok(graph) => {
                identical += usize::from(*graph == *sample.graph);
                let nodes = |graph: &Graph| sorted(graph.node_features().category_values());
                let edges = |graph: &Graph| sorted(graph.edge_features().category_values());
                if nodes(graph) != nodes(&sample.graph) {
                    Some("atom types".to_owned())
                } else if edges(graph) != edges(&sample.graph) {
                    Some("bond types".to_owned())
                } else {
                    None
                }
            }
        };
        match cause {
            None => equal += 1,
            Some(cause) => causes.entry(cause).or_default().push(index),
        }
    }
    let rate = f64::from(equal) / smiles.len() as f64;
    eprintln!(
        "zinc-12k: {equal} of {} equal ({:.4} %), {identical} identical in order; {:.0} molecules/s",
        smiles.len(),
        100.0 * rate,
        smiles.len() as f64 / seconds
    );
    for (cause, at) in &causes {
        eprintln!("  {:5}  {cause}, first: {} {}", at.len(), at[0], smiles[at[0]]);
    }
    assert_eq!((smiles.len(), stored.samples.len()), (12_000, 12_000));
    assert_eq!((equal, identical), (12_000, 10_894));
}

/// The official split keeps molecules with the same scaffold together; so must our scaffolds.
#[test]
#[ignore = "needs the benchmark data: GRAPHMINNET_DATA"]
fn scaffolds_do_not_straddle_the_official_scaffold_split() {
    let data = common::real_data();
    let dataset = open(&data.join("ogbg-molhiv"), &ReadOptions::default()).unwrap().dataset;
    let smiles = smiles_column(&data.join("ogbg-molhiv/mapping/mol.csv.gz"));
    let limits = Limits::default();
    let keys: Vec<_> = smiles.par_iter().map(|smiles| scaffold_key(smiles, &limits)).collect();
    let mut parts: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    let splits = dataset.official_split.unwrap();
    for (key, split) in keys.iter().zip(&splits) {
        if let Ok(key) = key {
            parts.entry(key).or_default().push(*split);
        }
    }
    let straddling: usize =
        parts.values().filter(|parts| parts.iter().any(|part| *part != parts[0])).map(Vec::len).sum();
    let failed = keys.iter().filter(|key| key.is_err()).count();
    eprintln!(
        "ogbg-molhiv: {} scaffolds, {straddling} molecules in scaffolds that straddle parts, {failed} refused",
        parts.len()
    );
    assert_eq!((parts.len(), straddling, failed), (19_082, 0, 7));
}
