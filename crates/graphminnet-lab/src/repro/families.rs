//! Families of graphs that are hard to distinguish, and what colour refinement (1-WL) makes of them.

use super::ReproError;
use graphminnet_data::fs;
use graphminnet_data::generate::CircularSkipLinks;
use graphminnet_data::{Dataset, ReadOptions, open};
use graphminnet_data::{Features, Graph};
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

/// Which pairs of a family are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pairs {
    /// Every graph with every other.
    All,
    /// These only.
    Listed(Vec<[usize; 2]>),
}

/// Graphs to be distinguished.
#[derive(Debug, Clone)]
pub(super) struct Family {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) graphs: Vec<Arc<Graph>>,
    pub(super) pairs: Pairs,
}

impl Family {
    pub(super) fn new(name: &str, title: &str, dataset: &Dataset, pairs: Pairs) -> Result<Self, ReproError> {
        let graphs =
            dataset.samples.iter().map(|sample| featured(&sample.graph)).collect::<Result<_, _>>()?;
        Ok(Self { name: name.to_owned(), title: title.to_owned(), graphs, pairs })
    }

    /// A family from a graph6 (or any other) file, all pairs or those that a CSV file lists.
    pub(super) fn from_file(path: &Path, pairs: Option<&Path>) -> Result<Self, ReproError> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let dataset = open(path, &ReadOptions::default())?.dataset;
        let pairs = match pairs {
            None => Pairs::All,
            Some(path) => Pairs::Listed(read_pairs(path, dataset.samples.len())?),
        };
        Self::new(&name, &path.display().to_string(), &dataset, pairs)
    }

    /// Pairs of graphs, all or the listed ones.
    pub(super) fn num_pairs(&self) -> usize {
        match &self.pairs {
            Pairs::All => self.graphs.len() * self.graphs.len().saturating_sub(1) / 2,
            Pairs::Listed(pairs) => pairs.len(),
        }
    }

    pub(super) fn largest(&self) -> usize {
        self.graphs.iter().map(|graph| graph.num_nodes()).max().unwrap_or(0)
    }

    pub(super) fn node_columns(&self) -> usize {
        self.graphs.first().map_or(1, |graph| graph.node_features().number_columns())
    }

    /// A hash of the graphs and of which pairs are compared.
    pub(super) fn contents(&self) -> String {
        let mut bytes = Vec::new();
        for graph in &self.graphs {
            bytes.extend((graph.num_nodes() as u64).to_le_bytes());
            bytes.extend((graph.num_edges() as u64).to_le_bytes());
            bytes.extend(graph.edges().iter().flatten().flat_map(|node| node.to_le_bytes()));
            for features in [graph.node_features(), graph.edge_features()] {
                bytes.extend(features.category_values().iter().flat_map(|value| value.to_le_bytes()));
                bytes.extend(features.number_values().iter().flat_map(|value| value.to_bits().to_le_bytes()));
            }
        }
        match &self.pairs {
            Pairs::All => bytes.push(0),
            Pairs::Listed(pairs) => {
                bytes.push(1);
                bytes.extend(pairs.iter().flatten().flat_map(|at| (*at as u64).to_le_bytes()));
            }
        }
        fs::sha256(&bytes)
    }

    /// The colour of every graph after refinement: equal for graphs that 1-WL does not distinguish.
    pub(super) fn colours(&self) -> Vec<u64> {
        self.graphs.iter().map(|graph| refined(graph)).collect()
    }

    /// Pairs that twelve rounds of colour refinement do not distinguish.
    pub(super) fn alike_to_refinement(&self) -> usize {
        let colours = self.colours();
        match &self.pairs {
            Pairs::Listed(pairs) => pairs.iter().filter(|[a, b]| colours[*a] == colours[*b]).count(),
            Pairs::All => {
                let mut classes: BTreeMap<u64, usize> = BTreeMap::new();
                colours.iter().for_each(|colour| *classes.entry(*colour).or_default() += 1);
                classes.values().map(|size| size * (size - 1) / 2).sum()
            }
        }
    }
}

/// One graph of every class of the circular skip links.
pub(super) fn skip_links() -> Result<Family, ReproError> {
    let dataset = CircularSkipLinks { copies: 1, ..CircularSkipLinks::default() }.generate(0)?;
    Family::new("csl", "circular skip links, 10 classes", &dataset, Pairs::All)
}

/// The same graph with numeric node features: categories one-hot, a constant where there is nothing.
pub(super) fn featured(graph: &Arc<Graph>) -> Result<Arc<Graph>, ReproError> {
    let (features, nodes) = (graph.node_features(), graph.num_nodes());
    if features.number_columns() > 0 {
        return Ok(Arc::clone(graph));
    }
    let features = match features.category_columns() {
        0 => Features::numbers(nodes, 1, vec![1.0; nodes])?,
        _ => {
            let kinds = 2.max(features.category_values().iter().max().map_or(0, |most| *most as usize + 1));
            let mut values = vec![0.0; nodes * kinds];
            for node in 0..nodes {
                if let Some(&kind) = features.category_row(node).first() {
                    values[node * kinds + kind as usize] = 1.0;
                }
            }
            Features::numbers(nodes, kinds, values)?
        }
    };
    Ok(Arc::new(Graph::clone(graph).with_node_features(features)?))
}

/// Reads `a,b` per line: positions of graphs, counted from 0.
fn read_pairs(path: &Path, graphs: usize) -> Result<Vec<[usize; 2]>, ReproError> {
    let bytes = fs::read(path)?;
    let mut pairs = Vec::new();
    for (number, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
        let fields: Vec<Option<usize>> = line.split(',').map(|field| field.trim().parse().ok()).collect();
        match fields.as_slice() {
            [Some(a), Some(b)] if *a < graphs && *b < graphs => pairs.push([*a, *b]),
            // A header.
            [None, None] if number == 0 => {}
            _ if line.trim().is_empty() => {}
            _ => {
                return Err(ReproError::Damaged {
                    path: path.to_owned(),
                    reason: format!(
                        "line {}: expected two graph numbers from 0 to {}, separated by a comma",
                        number + 1,
                        graphs.saturating_sub(1)
                    ),
                });
            }
        }
    }
    Ok(pairs)
}

/// The colour of a graph after refinement: equal for graphs that 1-WL does not distinguish. A round that splits no colour is the
/// last: what it saw around every colour is all that further rounds would see.
fn refined(graph: &Graph) -> u64 {
    let hash = |value: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        value(&mut hasher);
        hasher.finish()
    };
    let (offsets, neighbours) = graph.undirected_neighbours();
    let features = graph.node_features();
    let mut colours: Vec<u64> = (0..graph.num_nodes())
        .map(|node| {
            let row: Vec<u32> = features.number_row(node).iter().map(|value| value.to_bits()).collect();
            hash(&|hasher| row.hash(hasher))
        })
        .collect();
    let distinct = |colours: &[u64]| colours.iter().collect::<HashSet<_>>().len();
    let mut classes = 0;
    while distinct(&colours) > classes {
        classes = distinct(&colours);
        colours = offsets
            .windows(2)
            .enumerate()
            .map(|(node, range)| {
                let around = neighbours.get(range[0] as usize..range[1] as usize).unwrap_or_default();
                let mut seen: Vec<u64> = around.iter().map(|other| colours[*other as usize]).collect();
                seen.sort_unstable();
                hash(&|hasher| (colours[node], &seen).hash(hasher))
            })
            .collect();
    }
    colours.sort_unstable();
    hash(&|hasher| colours.hash(hasher))
}

/// The two strongly regular graphs with 16 nodes, degree 6 and parameters 2, 2: the rook's graph and Shrikhande's.
pub(super) fn sixteen() -> Result<Family, ReproError> {
    let place = |x: usize, y: usize| ((x % 4) * 4 + y % 4) as u32;
    let mut rook = Vec::new();
    let mut shrikhande = Vec::new();
    for x in 0..4 {
        for y in 0..4 {
            for step in 1..4 {
                rook.extend([[place(x, y), place(x + step, y)], [place(x, y), place(x, y + step)]]);
            }
            for (dx, dy) in [(1, 0), (3, 0), (0, 1), (0, 3), (1, 1), (3, 3)] {
                shrikhande.push([place(x, y), place(x + dx, y + dy)]);
            }
        }
    }
    let graphs =
        [rook, shrikhande].map(|edges| Graph::from_edges(16, edges).map(Arc::new).map_err(ReproError::from));
    let [rook, shrikhande] = graphs;
    let graphs = vec![featured(&rook?)?, featured(&shrikhande?)?];
    let title = "strongly regular (16,6,2,2), 2 graphs".to_owned();
    Ok(Family { name: "sr16622".to_owned(), title, graphs, pairs: Pairs::All })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refinement_sees_degrees_but_not_which_skip() {
        assert_eq!(skip_links().unwrap().alike_to_refinement(), 45);
        assert_eq!(sixteen().unwrap().alike_to_refinement(), 1);
        let path = Graph::from_edges(3, vec![[0, 1], [1, 0], [1, 2], [2, 1]]).unwrap();
        let triangle = Graph::from_edges(3, vec![[0, 1], [1, 2], [2, 0]]).unwrap();
        let graphs = [path, triangle].map(|graph| featured(&Arc::new(graph)).unwrap()).to_vec();
        let family = Family { name: String::new(), title: String::new(), graphs, pairs: Pairs::All };
        assert_eq!(family.alike_to_refinement(), 0);
    }

    #[test]
    fn refinement_sees_what_only_nodes_far_away_tell_apart() {
        // Cycles of 70 nodes with two pendant ones, opposite to each other or not.
        let cycle = |second: u32| {
            let mut edges: Vec<[u32; 2]> = (0..70).map(|node| [node, (node + 1) % 70]).collect();
            edges.extend([[0, 70], [second, 71]]);
            let both_ways = edges.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect();
            featured(&Arc::new(Graph::from_edges(72, both_ways).unwrap())).unwrap()
        };
        let alike = |graphs| {
            let family = Family { name: String::new(), title: String::new(), graphs, pairs: Pairs::All };
            family.alike_to_refinement()
        };
        assert_eq!(alike(vec![cycle(35), cycle(30)]), 0);
        assert_eq!(alike(vec![cycle(30), cycle(40)]), 1);
    }

    #[test]
    fn pairs_are_read_with_or_without_a_header() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pairs.csv");
        std::fs::write(&file, "first,second\n0,1\n2, 0\n\n").unwrap();
        assert_eq!(read_pairs(&file, 3).unwrap(), [[0, 1], [2, 0]]);
        let error = read_pairs(&file, 2).unwrap_err();
        assert!(error.to_string().contains("line 3"), "{error}");
    }
}
