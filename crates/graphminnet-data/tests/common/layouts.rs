//! Small files and folders in several layouts, and what reading them gives.

use super::Scratch;
use graphminnet_data::{DataError, Read, ReadOptions, RowReader, open};
use std::path::{Path, PathBuf};

pub fn read(name: &str, content: &str, options: &ReadOptions) -> Result<Read, DataError> {
    let scratch = Scratch::new("schema");
    open(&scratch.write(name, content), options)
}

/// Which rows of a file have a graph for whoever asks a model.
pub fn usable(path: &Path, options: &ReadOptions) -> Vec<bool> {
    let rows = RowReader::open(path, options).unwrap().next_rows(100).unwrap();
    rows.iter().map(|row| row.graph.is_ok()).collect()
}

const TWO_GRAPHS: [(&str, &str); 2] = [
    ("nodes.csv", "graph_id,node_id\na,0\na,1\nb,0\nb,1\n"),
    ("edges.csv", "graph_id,source,destination\na,0,1\nb,0,1\n"),
];

/// A folder of tables with two graphs, `a` and `b`, and this `graphs.csv`.
pub fn two_graphs(scratch: &Scratch, graphs: &str) -> PathBuf {
    TWO_GRAPHS.iter().for_each(|(name, content)| drop(scratch.write(&format!("tables/{name}"), content)));
    scratch.write("tables/graphs.csv", graphs);
    scratch.path().join("tables")
}

/// The TUDataset layout with three graphs of these labels.
pub fn three_graphs(scratch: &Scratch, labels: &str) -> PathBuf {
    scratch.write("T/T_A.txt", "1, 2\n3, 4\n5, 6\n");
    scratch.write("T/T_graph_indicator.txt", "1\n1\n2\n2\n3\n3\n");
    scratch.write("T/T_graph_labels.txt", labels);
    scratch.path().join("T")
}

/// A folder of edge lists, one in each of these folders.
pub fn edge_lists(scratch: &Scratch, name: &str, folders: &[&str]) -> PathBuf {
    for folder in folders {
        scratch.write(&format!("{name}/{folder}/g.edgelist"), "0 1\n");
    }
    scratch.path().join(name)
}

pub fn said(path: &Path, options: &ReadOptions) -> String {
    open(path, options).unwrap_err().to_string()
}

pub fn labels(read: &Read) -> Vec<f32> {
    read.dataset.samples.iter().flat_map(|sample| sample.targets.clone()).collect()
}
