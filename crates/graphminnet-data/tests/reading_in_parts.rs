//! A single graph that is read in parts: what every process keeps is what cutting the whole graph would give, to the bit.

use graphminnet_data::exchange::{Exchange, Threads};
use graphminnet_data::partition::Partition;
use graphminnet_data::preparation::GraphInParts;
use graphminnet_data::spectral::{PrepareOptions, prepare_graph};
use graphminnet_data::{
    ContentHash, DataError, EdgeDirection, Graph, InParts, Level, Limits, OnBadRow, Read, ReadInParts,
    ReadOptions, open, open_in_parts,
};
use proptest::prelude::*;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// How the parts are chosen.
#[derive(Debug, Clone)]
enum How {
    Order,
    Greedy,
    Of(Vec<u32>),
}

impl How {
    fn cut(&self, graph: &Graph, parts: usize) -> Partition {
        match self {
            Self::Order => Partition::in_order(graph.num_nodes(), parts),
            Self::Greedy => Partition::greedy(graph, parts),
            Self::Of(part_of_node) => Partition::of(part_of_node, parts),
        }
    }
}

/// What each of several processes reads.
fn read_by(
    folder: &Path,
    options: &ReadOptions,
    hosts: usize,
    (parts, how): (usize, &How),
) -> Vec<Result<Option<ReadInParts>, DataError>> {
    let cut = |nodes: usize, structure: &dyn Fn() -> Result<Graph, DataError>| match how {
        How::Greedy => Ok(how.cut(&structure()?, parts)),
        _ => Ok(how.cut(&Graph::from_edges(nodes, Vec::new()).unwrap(), parts)),
    };
    let read = |host: &dyn Exchange| {
        open_in_parts(folder, options, &InParts { hosts: host, cut: &cut, hashed: true })
    };
    Threads::team(hosts).iter().map(|host| read(host)).collect()
}

fn write(folder: &Path, nodes: &str, edges: &str) {
    std::fs::write(folder.join("nodes.csv"), nodes).unwrap();
    std::fs::write(folder.join("edges.csv"), edges).unwrap();
}

/// All processes together have the graph, and each what cutting it gives.
fn check(folder: &Path, options: &ReadOptions, parts: usize, how: &How) {
    let whole = open(folder, options).unwrap();
    let [sample] = whole.dataset.samples.as_slice() else { panic!("{whole:?}") };
    let prepared = prepare_graph(&sample.graph, &PrepareOptions::default()).unwrap();
    let mut content = ContentHash::default();
    content.add(sample);
    for hosts in 1..=parts {
        for (host, found) in Threads::team(hosts).iter().zip(read_by(folder, options, hosts, (parts, how))) {
            let found = found.unwrap().expect("a folder that can be read in parts");
            let expected = GraphInParts::cut(&prepared, how.cut(&sample.graph, parts), host).unwrap();
            assert_eq!(found.graph, expected, "{how:?}, host {} of {hosts}", host.rank());
            assert_eq!(found.content.as_ref(), Some(&content));
            let mut outline = whole.clone();
            let nodes = Graph::from_edges(sample.graph.num_nodes(), Vec::new()).unwrap();
            outline.dataset.samples[0].graph = Arc::new(nodes);
            assert_eq!(comparable(found.read), comparable(outline));
        }
    }
}

/// A missing label is not equal to itself, and who keeps some parts does not see both directions of all edges.
fn comparable(mut read: Read) -> Read {
    read.report.notes.retain(|note| !note.contains("listed in both directions"));
    let targets = read.dataset.samples.iter_mut().flat_map(|sample| &mut sample.targets);
    targets.filter(|value| value.is_nan()).for_each(|value| *value = -1.0);
    read
}

/// A folder with columns of every kind.
#[derive(Debug, Clone)]
struct Tables {
    nodes: String,
    edges: String,
    part_of_node: Vec<u32>,
    parts: usize,
}

fn tables() -> impl Strategy<Value = Tables> {
    (1usize..12, 1usize..=4, 0usize..4, any::<[bool; 4]>()).prop_flat_map(
        |(nodes, parts, naming, columns)| {
            let edges = prop::collection::vec((0..nodes, 0..nodes, 0u32..5, -2.0f32..2.0), 0..24);
            let cells = prop::collection::vec((0u32..4, -3.0f32..3.0, 0u32..3, 0u32..4), nodes);
            let part_of_node = prop::collection::vec(0..parts as u32, nodes);
            (edges, cells, part_of_node).prop_map(move |(edges, cells, part_of_node)| {
                let name = |node: usize| match naming {
                    0 => node.to_string(),
                    1 => (node + 100).to_string(),
                    2 => format!("node {}", (node * 7) % 13),
                    // Numbers at first.
                    _ if node < 3 => node.to_string(),
                    _ => format!("n{node}"),
                };
                let [text, number, category, of_edges] = columns;
                let mut table = "node_id".to_owned();
                for (is_there, column) in [(text, ",colour"), (number, ",size"), (category, ",kind")] {
                    table.push_str(if is_there { column } else { "" });
                }
                table.push_str(",target,split\n");
                for (node, (colour, size, kind, label)) in cells.iter().enumerate() {
                    let _ = write!(table, "{}", name(node));
                    if text {
                        let _ = write!(table, ",{}", ["red", "blue", "\"a, b\"", "green"][*colour as usize]);
                    }
                    if number {
                        let _ = write!(table, ",{size}");
                    }
                    if category {
                        let _ = write!(table, ",{kind}");
                    }
                    let target = if *label == 3 { String::new() } else { label.to_string() };
                    let split = ["train", "valid", "test", ""][*colour as usize];
                    let _ = writeln!(table, ",{target},{split}");
                }
                let mut edge_table = "source,destination".to_owned();
                edge_table.push_str(if of_edges { ",bond,weight\n" } else { "\n" });
                for (source, target, bond, weight) in edges {
                    let _ = write!(edge_table, "{},{}", name(source), name(target));
                    if of_edges {
                        let _ = write!(edge_table, ",b{bond},{weight}");
                    }
                    edge_table.push('\n');
                }
                Tables { nodes: table, edges: edge_table, part_of_node, parts }
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_process_keeps_what_cutting_the_whole_graph_gives(tables in tables(), both_ways: bool) {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &tables.nodes, &tables.edges);
        let edges = both_ways.then_some(EdgeDirection::BothWays);
        let options = ReadOptions { level: Some(Level::Node), edges, ..ReadOptions::default() };
        if let Err(error) = open(folder.path(), &options) {
            prop_assert!(error.to_string().contains("every edge is listed in both directions"), "{error}");
            for found in read_by(folder.path(), &options, 2, (tables.parts, &How::Order)) {
                prop_assert_eq!(found.unwrap_err().to_string(), error.to_string());
            }
            return Ok(());
        }
        for how in [How::Order, How::Greedy, How::Of(tables.part_of_node.clone())] {
            check(folder.path(), &options, tables.parts, &how);
        }
        // With the schema of an earlier reading, as a model has it.
        let schema = open(folder.path(), &options).unwrap().dataset.schema;
        let options = ReadOptions { edges, ..ReadOptions::with_schema(schema) };
        check(folder.path(), &options, tables.parts, &How::Order);
    }
}

const NODES: &str = "node_id,x,target\n0,1.5,0\n1,2.5,1\n2,3.5,0\n3,4.5,1\n";
const EDGES: &str = "source,destination,w\n0,1,1.5\n1,2,2.5\n2,3,0.5\n3,0,1.0\n";

/// Rows that nobody keeps are read all the same: whatever is wrong is said by every process, as by the reader of whole graphs.
#[test]
fn bad_rows_are_the_same_error_on_every_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut small = Limits::default();
    small.nodes_per_graph = 3;
    for (nodes, edges, limits, expected) in [
        (NODES.replace("2.5,1", "two,1"), EDGES.to_owned(), None, "nodes.csv, line 3, column `x`"),
        (NODES.replace("3,4.5", "2,4.5"), EDGES.to_owned(), None, "unique within its graph"),
        (NODES.replace("3,4.5,1", "3,4.5"), EDGES.to_owned(), None, "line 5"),
        (NODES.replace("3,4.5,1", "3,,1"), EDGES.to_owned(), None, "must not be blank"),
        (
            NODES.to_owned(),
            EDGES.replace("3,0,1.0", "3,9,1.0"),
            None,
            "edges.csv, line 5, column `destination`",
        ),
        (NODES.to_owned(), EDGES.replace("2,3,0.5", "2,3,x"), None, "edges.csv, line 4, column `w`"),
        (NODES.to_owned(), EDGES.replace("2,3,0.5", "2,3,1e99"), None, "finite"),
        (NODES.to_owned(), EDGES.replace("source", "from"), None, "a column called source"),
        (NODES.replace("node_id", "name"), EDGES.to_owned(), None, "a column called node_id"),
        (NODES.to_owned(), format!("{EDGES}\"0,1,1"), None, "quote"),
        (NODES.to_owned(), EDGES.to_owned(), Some(small), "nodes_per_graph"),
    ] {
        write(folder.path(), &nodes, &edges);
        let limits = limits.unwrap_or_default();
        let options = ReadOptions { limits, ..ReadOptions::default() };
        let whole = open(folder.path(), &options).unwrap_err().to_string();
        assert!(whole.contains(expected), "{whole}");
        for found in read_by(folder.path(), &options, 3, (3, &How::Order)) {
            let found = found.unwrap_err().to_string();
            // A limit on the graph makes it a bad row; the nodes are counted before there is a graph.
            assert!(
                found == whole || expected == "nodes_per_graph" && found.contains(expected),
                "{found}\n{whole}"
            );
        }
        // Nothing would be left of a graph that is skipped.
        let skipping = ReadOptions { on_bad_row: OnBadRow::Skip, ..options };
        assert!(read_by(folder.path(), &skipping, 1, (2, &How::Order)).remove(0).is_err());
    }
}

#[test]
fn edges_that_are_all_listed_both_ways_are_the_same_error_on_every_process() {
    let folder = tempfile::tempdir().unwrap();
    let edges = Some(EdgeDirection::BothWays);
    write(folder.path(), NODES, "source,destination\n0,1\n1,2\n3,3\n");
    let schema =
        open(folder.path(), &ReadOptions { edges, ..ReadOptions::default() }).unwrap().dataset.schema;
    write(folder.path(), NODES, "source,destination\n0,1\n1,2\n3,3\n2,1\n1,0\n2,3\n3,2\n");
    for options in [ReadOptions::default(), ReadOptions::with_schema(schema)] {
        let options = ReadOptions { edges, ..options };
        let whole = open(folder.path(), &options).unwrap_err().to_string();
        assert!(whole.contains("every edge is listed in both directions"), "{whole}");
        for found in read_by(folder.path(), &options, 2, (4, &How::Order)) {
            assert_eq!(found.unwrap_err().to_string(), whole);
        }
    }
}

#[test]
fn a_value_that_a_model_does_not_know_is_an_error_of_the_process_that_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = "node_id,colour,target\n0,red,0\n1,blue,1\n2,red,0\n3,blue,1\n";
    write(folder.path(), nodes, EDGES);
    let schema = open(folder.path(), &ReadOptions::default()).unwrap().dataset.schema;
    write(folder.path(), &nodes.replace("3,blue", "3,green"), EDGES);
    let options = ReadOptions::with_schema(schema);
    let whole = open(folder.path(), &options).unwrap_err().to_string();
    let cut = |nodes: usize, _: &dyn Fn() -> Result<Graph, DataError>| Ok(Partition::in_order(nodes, 2));
    let team = Threads::team(2);
    let found: Vec<_> = team
        .iter()
        .map(|host| {
            open_in_parts(folder.path(), &options, &InParts { hosts: host, cut: &cut, hashed: false })
        })
        .collect();
    assert!(found[0].is_ok(), "{:?}", found[0]);
    assert_eq!(found[1].as_ref().unwrap_err().to_string(), whole);
    // Who hashes all of the data sees all of it.
    for found in read_by(folder.path(), &options, 2, (2, &How::Order)) {
        assert_eq!(found.unwrap_err().to_string(), whole);
    }
}

#[test]
fn what_cannot_be_read_in_parts_is_left_to_the_reader_of_whole_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let is_none = |options: &ReadOptions| {
        let found = read_by(folder.path(), options, 1, (2, &How::Order)).remove(0);
        found.unwrap().is_none()
    };
    let options = ReadOptions::default();
    write(folder.path(), NODES, EDGES);
    assert!(!is_none(&options));
    for level in [Level::Graph, Level::Edge, Level::Pair] {
        assert!(is_none(&ReadOptions { level: Some(level), ..ReadOptions::default() }), "{level}");
    }
    std::fs::write(folder.path().join("graphs.csv"), "graph_id,split\n0,train\n").unwrap();
    assert!(!is_none(&options));
    std::fs::write(folder.path().join("graphs.csv"), "graph_id,split\n0,train\n1,test\n").unwrap();
    assert!(is_none(&options));
    std::fs::remove_file(folder.path().join("graphs.csv")).unwrap();
    // Two graphs, nodes without targets, no nodes at all, no table of them.
    let two = "graph_id,node_id,target\na,0,1\nb,0,0\n";
    for nodes in [two, "node_id,x\n0,1\n1,2\n", "node_id,target\n"] {
        write(folder.path(), nodes, "source,destination\n");
        assert!(is_none(&options), "{nodes}");
    }
    std::fs::remove_file(folder.path().join("nodes.csv")).unwrap();
    assert!(is_none(&options));
    let line = folder.path().join("graph.jsonl");
    std::fs::write(&line, "{\"num_nodes\": 1, \"edges\": [], \"target\": [1]}\n").unwrap();
    assert!(read_by(&line, &options, 1, (1, &How::Order)).remove(0).unwrap().is_none());
}

/// A ring of which the whole does not fit into the memory that a reading may take, and a quarter does.
#[test]
fn a_process_takes_the_memory_of_its_parts() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = 20_000;
    let (mut table, mut edges) = ("node_id,target".to_owned(), "source,destination\n".to_owned());
    (0..16).for_each(|column| write!(table, ",x{column}").unwrap());
    table.push('\n');
    for node in 0..nodes {
        let _ = write!(table, "{node},{}", node % 2);
        (0..16).for_each(|column| write!(table, ",{}.5", node * column % 100).unwrap());
        table.push('\n');
        let next = (node + 1) % nodes;
        let _ = writeln!(edges, "{node},{next}\n{next},{node}");
    }
    write(folder.path(), &table, &edges);
    let mut limits = Limits::default();
    limits.memory_bytes = Some(4 << 20);
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let is_memory = |error: &DataError| error.to_string().contains("bytes of memory");
    assert!(is_memory(&open(folder.path(), &options).unwrap_err()));
    for (hosts, fits) in [(1, false), (4, true)] {
        for found in read_by(folder.path(), &options, hosts, (4, &How::Order)) {
            match found {
                Ok(found) => assert!(fits && found.is_some()),
                Err(error) => assert!(!fits && is_memory(&error), "{error}"),
            }
        }
    }
}
