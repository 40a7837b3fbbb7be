//! How long preparation takes: `cargo bench -p graphminnet-data --bench preparation -- [what] [nodes] [pairs]`.
//!
//! `small` times batches the size of ZINC, Peptides and CLUSTER graphs; `random`, `grid` and `path` one large graph;
//! `molecule`, `sparse` and `dense` batches of a given size; `file <path> <pairs> <steps>` the graphs of a file (one per
//! line: number of nodes, then the ends of all directed edges) without a cache, from a cold and from a warm one.

use graphminnet_data::Graph;
use graphminnet_data::cache::Cache;
use graphminnet_data::preparation::prepare_dataset;
use graphminnet_data::rng::stream;
use graphminnet_data::spectral::{PrepareOptions, lowest_eigenpairs, prepare_all};
use graphminnet_data::{Dataset, Level, Sample, Schema, Task};
use std::sync::Arc;
use std::time::Instant;

/// A random tree of bounded reach with a few more edges, like a molecule.
fn molecule(nodes: usize, extra: usize, seed: u64) -> Arc<Graph> {
    let mut random = stream(seed, "molecule", &[nodes as u64]);
    let mut edges: Vec<[u32; 2]> =
        (1..nodes).map(|node| [node as u32, (node - 1 - random.below(4.min(node))) as u32]).collect();
    edges.extend((0..extra).map(|_| [random.below(nodes) as u32, random.below(nodes) as u32]));
    let both = edges.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect();
    Arc::new(Graph::from_edges(nodes, both).expect("edges are in range"))
}

fn random(nodes: usize) -> Graph {
    let mut random = stream(0, "random graph", &[]);
    let edges =
        (0..nodes * 5 / 2).map(|_| [random.below(nodes) as u32, random.below(nodes) as u32]).collect();
    Graph::from_edges(nodes, edges).expect("edges are in range")
}

fn grid(nodes: usize) -> Graph {
    let side = (nodes as f64).sqrt().round() as u32;
    let at = |row: u32, column: u32| row * side + column;
    let mut edges = Vec::new();
    for row in 0..side {
        for column in 1..side {
            edges.push([at(row, column - 1), at(row, column)]);
            edges.push([at(column - 1, row), at(column, row)]);
        }
    }
    Graph::from_edges((side * side) as usize, edges).expect("edges are in range")
}

fn time_batch(name: &str, count: usize, nodes: usize, extra: usize, options: &PrepareOptions) {
    let graphs: Vec<_> = (0..count as u64).map(|seed| molecule(nodes, extra, seed)).collect();
    let seconds = fastest_preparation(&graphs, options);
    println!("{name}: {count} graphs of {nodes} nodes, {:.1} µs per graph", seconds * 1e6);
}

/// Seconds per graph, the least of five runs.
fn fastest_preparation(graphs: &[Arc<Graph>], options: &PrepareOptions) -> f64 {
    let seconds = (0..5).map(|_| {
        let start = Instant::now();
        prepare_all(graphs, options, &|_| {}).expect("graphs are well formed");
        start.elapsed().as_secs_f64()
    });
    seconds.fold(f64::INFINITY, f64::min) / graphs.len() as f64
}

fn time_large(name: &str, graph: &Graph, pairs: usize) {
    let start = Instant::now();
    let found = lowest_eigenpairs(graph, pairs).expect("the iteration converges");
    let seconds = start.elapsed().as_secs_f64();
    let above: Vec<_> = found.values.iter().skip(found.num_components).take(4).collect();
    println!(
        "{name}: {} nodes, {pairs} pairs, {} components, {seconds:.2} s, {above:.6?} … {:.6?}",
        graph.num_nodes(),
        found.num_components,
        found.values.last()
    );
}

fn time_file(path: &str, eigenpairs: usize, random_walk_steps: usize) {
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let sample = |(at, line): (usize, &str)| {
        let numbers: Vec<u32> = line.split(' ').map(|text| text.parse().expect("a number")).collect();
        let edges = numbers[1..].as_chunks::<2>().0.to_vec();
        let graph = Arc::new(Graph::from_edges(numbers[0] as usize, edges).expect("edges are in range"));
        Sample { id: at.to_string(), graph, targets: vec![0.0] }
    };
    let samples = text.lines().enumerate().map(sample).collect();
    let schema = Schema {
        level: Level::Graph,
        task: Task::Regression,
        targets: vec!["none".to_owned()],
        class_names: Vec::new(),
        positive_class: None,
        molecules: None,
        node_columns: Vec::new(),
        edge_columns: Vec::new(),
    };
    let dataset = Dataset {
        name: path.to_owned(),
        schema,
        samples,
        official_split: None,
        node_parts: None,
        qualifiers: Default::default(),
    };
    let options = PrepareOptions { eigenpairs, random_walk_steps, ..Default::default() };
    let graphs: Vec<_> = dataset.samples.iter().map(|sample| Arc::clone(&sample.graph)).collect();
    println!("without a cache: {:.1} µs per graph", fastest_preparation(&graphs, &options) * 1e6);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let cache = Cache::new(directory.path());
    for state in ["cold", "warm"] {
        let (_, report) =
            prepare_dataset(&dataset, &options, Some(&cache), &()).expect("graphs are well formed");
        println!("{state} cache: {:?}", report);
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let what = arguments.first().map_or("small", String::as_str);
    let number =
        |at: usize, default: usize| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (nodes, pairs) = (number(1, 100_000), number(2, 16));
    let eigen = |eigenpairs| PrepareOptions { eigenpairs, ..Default::default() };
    match what {
        "file" => time_file(&arguments[1], number(2, 32), number(3, 0)),
        "random" => time_large("random", &giant_component(&random(nodes)), pairs),
        "grid" => time_large("grid", &grid(nodes), pairs),
        "path" => time_large("path", &molecule(nodes, 0, 1), pairs),
        "molecule" => time_batch("molecule", number(3, 20), nodes, nodes / 20, &eigen(pairs)),
        "sparse" => time_batch("sparse", number(3, 20), nodes, nodes * 3 / 2, &eigen(pairs)),
        "dense" => time_batch("dense", number(3, 20), nodes, nodes * 10, &eigen(pairs)),
        _ => {
            time_batch("ZINC-sized, 17 pairs", 2_000, 23, 3, &eigen(17));
            let walk = PrepareOptions { eigenpairs: 17, random_walk_steps: 20, ..Default::default() };
            time_batch("ZINC-sized, 17 pairs and 20 steps", 2_000, 23, 3, &walk);
            time_batch("Peptides-sized, 32 pairs", 400, 151, 4, &eigen(32));
            time_batch("CLUSTER-sized, 33 pairs", 400, 117, 2_000, &eigen(33));
            let walk = PrepareOptions { eigenpairs: 33, random_walk_steps: 32, ..Default::default() };
            time_batch("CLUSTER-sized, 33 pairs and 32 steps", 400, 117, 2_000, &walk);
        }
    }
}

/// The largest connected component, renumbered.
fn giant_component(graph: &Graph) -> Graph {
    let (offsets, neighbours) = graph.undirected_neighbours();
    let nodes = graph.num_nodes();
    let mut label = vec![usize::MAX; nodes];
    let mut sizes = Vec::new();
    for start in 0..nodes {
        if label[start] != usize::MAX {
            continue;
        }
        let mut stack = vec![start];
        label[start] = sizes.len();
        let mut size = 0;
        while let Some(node) = stack.pop() {
            size += 1;
            for &other in &neighbours[offsets[node] as usize..offsets[node + 1] as usize] {
                if label[other as usize] == usize::MAX {
                    label[other as usize] = sizes.len();
                    stack.push(other as usize);
                }
            }
        }
        sizes.push(size);
    }
    let giant = (0..sizes.len()).max_by_key(|&at| sizes[at]).unwrap_or(0);
    let mut local = vec![0u32; nodes];
    let mut count = 0;
    for node in (0..nodes).filter(|&node| label[node] == giant) {
        local[node] = count;
        count += 1;
    }
    let inside = graph.edges().iter().filter(|ends| label[ends[0] as usize] == giant);
    let edges = inside.map(|ends| ends.map(|node| local[node as usize])).collect();
    Graph::from_edges(count as usize, edges).expect("edges are in range")
}
