//! The preparation of a graph of which every rank of an exchange has a part.
//!
//! The iteration is that of one process: vectors are spread over the ranks, inner products are sums over the ranks in their
//! order, and a product with the Laplacian fetches the rows of neighbours in other parts first. A small graph is solved
//! densely by every rank.

use super::degree::log_degree;
use super::eigenpairs::Eigenpairs;
use super::laplacian::Laplacian;
use super::prepared::StoredEigenpairs;
use super::solution::{Solution, in_parts as lowest_above_zero, is_small};
use super::spread::{Groups, Spread};
use super::{NEVER, PrepareOptions, PreparedGraph, SpectralError, Stop, lowest_eigenpairs};
use crate::exchange::{Exchange, Number};
use crate::graph::{Graph, Part};
use crate::partition::{Connection, Halo, owner};
use std::sync::Arc;

/// Largest graph that every rank solves as a whole when the iteration in parts fails: its edges and eigenvectors take some
/// hundred megabytes.
const WHOLE_FALLBACK_NODES: usize = 1_000_000;

/// Connects a part of a graph with the others and computes what the options ask for, all ranks together. The part's nodes must
/// be those after the nodes of the ranks before.
///
/// # Errors
///
/// [`SpectralError`], the same on all ranks: [`SpectralError::NotInParts`] for random walks and degree profiles.
pub fn prepare_part(
    exchange: &Arc<dyn Exchange>,
    graph: &Arc<Graph>,
    part: Part,
    options: &PrepareOptions,
) -> Result<PreparedGraph, SpectralError> {
    options.check_parts()?;
    let bare = PreparedGraph::of_part(Arc::clone(graph), part);
    let connected = Connection::establish(Arc::clone(exchange), bare);
    let Some(part) = &connected.part else { return Ok(connected) };
    let Some(connection) = &part.others else { return Ok(connected) };
    let laplacian = laplacian(graph, part, connection);
    let degree = |node| log_degree(laplacian.degree(node) as u32);
    let mut log_degree: Vec<f32> = (0..part.own_nodes).map(degree).collect();
    log_degree.resize(graph.num_nodes(), 0.0);
    let mut found = StoredEigenpairs::default();
    if options.eigenpairs > 0 {
        let pairs = lowest(laplacian, connection, options.eigenpairs, NEVER)?;
        found = StoredEigenpairs::of(&pairs, graph.num_nodes(), options.eigenpairs);
    }
    Ok(PreparedGraph { log_degree, ..connected.with_eigenpairs(found, options) })
}

/// The eigenpairs of a part that is connected with the others, all ranks together, unless they are to stop: `stop` is asked by all
/// ranks at the same time, and must answer all of them alike.
///
/// # Errors
///
/// As [`prepare_part`].
pub(crate) fn eigenpairs_of_part(
    connected: &PreparedGraph,
    stored: usize,
    stop: Stop<'_>,
) -> Result<StoredEigenpairs, SpectralError> {
    let (graph, part) = (&connected.graph, connected.part.as_ref());
    let Some((part, connection)) = part.and_then(|part| Some((part, part.others.as_ref()?))) else {
        return StoredEigenpairs::compute_unless(graph, stored, stop);
    };
    let pairs = lowest(laplacian(graph, part, connection), connection, stored, stop)?;
    Ok(StoredEigenpairs::of(&pairs, graph.num_nodes(), stored))
}

/// How the eigenpairs of a graph in parts are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eigensolver {
    /// Densely, by every rank: the graph is small.
    Dense,
    /// By the iteration, of which every rank has its parts.
    InParts,
}

impl Eigensolver {
    /// The one for so many pairs of a graph with so many nodes.
    pub fn of(nodes: usize, pairs: usize) -> Self {
        if is_small(nodes, pairs.min(nodes)) { Self::Dense } else { Self::InParts }
    }
}

/// The rows of a part. Every edge counts both ways, so parts tell each other of edges that leave them.
fn laplacian(graph: &Graph, part: &Part, connection: &Connection) -> Laplacian {
    let (exchange, offsets) = (&**connection.exchange(), &connection.offsets);
    let own = offsets[exchange.rank()]..offsets[exchange.rank() + 1];
    let mut around: Vec<[u64; 2]> = Vec::with_capacity(2 * graph.num_edges());
    let mut told: Vec<Vec<u64>> = (0..exchange.size()).map(|_| Vec::new()).collect();
    for edge in graph.edges() {
        let [source, target] = edge.map(|node| part.whole_numbers[node as usize]);
        if source == target {
            continue;
        }
        around.push([target, source]);
        match own.contains(&source) {
            true => around.push([source, target]),
            false => told[owner(offsets, source)].extend([source, target]),
        }
    }
    let told = told.into_iter().map(|numbers| u64::to_bytes(&numbers)).collect();
    for heard in exchange.swap(told) {
        around.extend(u64::of_bytes(&heard).as_chunks::<2>().0);
    }
    around.sort_unstable();
    around.dedup();
    let mut border: Vec<u64> =
        around.iter().map(|pair| pair[1]).filter(|other| !own.contains(other)).collect();
    border.sort_unstable();
    border.dedup();
    let mut starts = vec![0u32; part.own_nodes + 1];
    for [node, _] in &around {
        starts[(node - own.start) as usize + 1] += 1;
    }
    for node in 0..part.own_nodes {
        starts[node + 1] += starts[node];
    }
    let place = |[_, other]: &[u64; 2]| match own.contains(other) {
        true => (other - own.start) as u32,
        false => (part.own_nodes + border.partition_point(|number| number < other)) as u32,
    };
    let neighbours = around.iter().map(place).collect();
    let halo = Halo::agree(exchange, offsets, &border);
    let (before, total) = (connection.nodes_before, connection.nodes);
    let exchange = Arc::clone(connection.exchange());
    Laplacian::of_part(starts, neighbours, Spread { exchange, halo, before, total, groups: None })
}

/// The lowest eigenpairs, rows of this part.
fn lowest(
    laplacian: Laplacian,
    connection: &Connection,
    count: usize,
    stop: Stop<'_>,
) -> Result<Eigenpairs, SpectralError> {
    let nodes = laplacian.total_nodes();
    let count = count.min(nodes);
    if is_small(nodes, count) {
        return lowest_of_small(&laplacian, connection, count);
    }
    match lowest_of_large(laplacian.clone(), connection, count, stop) {
        // What the iteration cannot do, the solvers for whole graphs may, by all ranks alike: one of them factorises.
        Err(
            SpectralError::NotConverged { .. }
            | SpectralError::Residual { .. }
            | SpectralError::Orthogonality { .. },
        ) if nodes <= WHOLE_FALLBACK_NODES => lowest_of_small(&laplacian, connection, count),
        done => done,
    }
}

/// Those of a graph of which every rank has its rows alone, by the iteration.
fn lowest_of_large(
    laplacian: Laplacian,
    connection: &Connection,
    count: usize,
    stop: Stop<'_>,
) -> Result<Eigenpairs, SpectralError> {
    let nodes = laplacian.total_nodes();
    let labels = component_labels(&laplacian);
    let (components, groups) = groups(&labels, connection, count);
    let zeros = groups.sizes.len();
    let entries: Vec<f64> = groups.sizes.iter().map(|size| 1.0 / size.sqrt()).collect();
    let of_row = groups.of_row.clone();
    let spectral_bound = laplacian.spectral_bound();
    // One pair more than asked for tells whether the cut splits an eigenspace.
    let wanted = (count + 1).saturating_sub(components).min(nodes - components);
    let laplacian = if components > 1 && wanted > 0 { laplacian.with_groups(groups) } else { laplacian };
    let solution = match wanted {
        0 => Solution { values: Vec::new(), vectors: laplacian.tall(1) },
        _ => lowest_above_zero(&laplacian, wanted, stop)?,
    };
    let Solution { values: above, vectors: table } = solution;
    let mut values = vec![0.0; zeros];
    values.extend(&above[..count - zeros]);
    let mut vectors = Vec::with_capacity(of_row.len() * count);
    for (row, group) in table.data().chunks_exact(table.stride()).zip(&of_row) {
        let first = vectors.len();
        vectors.resize(first + zeros, 0.0);
        if let Some(group) = group {
            vectors[first + *group as usize] = entries[*group as usize];
        }
        vectors.extend(&row[..count - zeros]);
    }
    let next_value = match components > count {
        true => Some(0.0),
        false => above.get(count - zeros).copied(),
    };
    Ok(Eigenpairs { values, vectors, next_value, num_components: components, spectral_bound })
}

/// How many connected components there are, and the first `most` of them, by their lowest nodes.
fn groups(labels: &[u64], connection: &Connection, most: usize) -> (usize, Groups) {
    let (exchange, before) = (&**connection.exchange(), connection.nodes_before);
    // A component is known by its lowest number.
    let roots = labels.iter().enumerate().filter(|&(node, label)| *label == before + node as u64);
    let roots: Vec<u64> = roots.map(|(_, label)| *label).collect();
    let mut components = [0u64];
    exchange.chain(&mut components, |_, count| count[0] += roots.len() as u64);
    // Numbers of later ranks are higher.
    let heard = exchange.collect(u64::to_bytes(&roots[..roots.len().min(most)])).concat();
    let mut first = u64::of_bytes(&heard);
    first.truncate(most);
    let of_row = labels.iter().map(|label| first.binary_search(label).ok().map(|at| at as u32)).collect();
    let mut groups = Groups { of_row, sizes: vec![0.0; first.len()] };
    let own = groups.of_row.iter().flatten().fold(vec![0.0; first.len()], |mut sizes, &group| {
        sizes[group as usize] += 1.0;
        sizes
    });
    exchange.chain(&mut groups.sizes, |from, piece| {
        piece.iter_mut().zip(&own[from..]).for_each(|(sum, own)| *sum += own);
    });
    (components[0] as usize, groups)
}

/// Those of a graph that every rank can hold.
fn lowest_of_small(
    laplacian: &Laplacian,
    connection: &Connection,
    count: usize,
) -> Result<Eigenpairs, SpectralError> {
    let numbers: Vec<u64> =
        (0..laplacian.num_nodes() as u64).map(|node| connection.nodes_before + node).collect();
    let mut all = numbers.clone();
    all.extend(laplacian.border(1, &numbers));
    let ends = |node: usize| laplacian.neighbours(node).iter().map(move |&other| [node, other as usize]);
    let mine: Vec<u32> = (0..numbers.len()).flat_map(ends).flatten().map(|node| all[node] as u32).collect();
    let ends = u32::of_bytes(&connection.exchange().collect(u32::to_bytes(&mine)).concat());
    let whole = Graph::from_edges(laplacian.total_nodes(), ends.as_chunks::<2>().0.to_vec())?;
    let pairs = lowest_eigenpairs(&whole, count)?;
    let (first, rows) = (connection.nodes_before as usize * count, numbers.len() * count);
    Ok(Eigenpairs { vectors: pairs.vectors[first..first + rows].to_vec(), ..pairs })
}

/// The lowest number in the connected component of every node here: a node takes the lowest that it hears of.
fn component_labels(laplacian: &Laplacian) -> Vec<u64> {
    let Some(spread) = laplacian.spread() else { return vec![0; laplacian.num_nodes()] };
    let nodes = laplacian.num_nodes();
    let mut labels: Vec<u64> = (0..nodes as u64).map(|node| spread.before + node).collect();
    let mut queue: Vec<u32> = (0..nodes as u32).collect();
    loop {
        // Within the part until nothing changes, lower labels going on to their neighbours.
        while let Some(node) = queue.pop() {
            let label = labels[node as usize];
            for &other in
                laplacian.neighbours(node as usize).iter().filter(|&&other| (other as usize) < nodes)
            {
                if label < labels[other as usize] {
                    labels[other as usize] = label;
                    queue.push(other);
                }
            }
        }
        let border = laplacian.border(1, &labels);
        for (node, own) in labels.iter_mut().enumerate() {
            let around = laplacian.neighbours(node).iter();
            let beyond = around.filter_map(|&other| border.get((other as usize).checked_sub(nodes)?));
            if let Some(&label) = beyond.min().filter(|&&label| label < *own) {
                *own = label;
                queue.push(node as u32);
            }
        }
        if !spread.exchange.any(!queue.is_empty()) {
            return labels;
        }
    }
}
