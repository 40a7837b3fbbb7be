//! Eigenpairs that another program computed: a folder with `eigenvalues.npy`, `[pairs]`, ascending, the trivial one first,
//! and `eigenvectors.npy`, `[nodes, pairs]`, a row per node. Both are 32- or 64-bit floats, little-endian, in C or in
//! Fortran order, which is what NumPy writes; more pairs than needed are left out.
//!
//! They are checked: `L v = λ v` on this graph, orthonormal columns, ascending values. That they are the lowest, and the next
//! eigenvalue after them, are taken on trust.

use super::components::Components;
use super::laplacian::Laplacian;
use super::solution::Solution;
use super::verify::{Accuracy, verify_to};
use super::{Eigenpairs, PrepareOptions, PreparedGraph, SpectralError, StoredEigenpairs};
use crate::error::{DataError, Place};
use crate::fs;
use crate::graph::Graph;
use std::path::{Path, PathBuf};

/// What is asked of another program, whose numbers may have 32 bits: rounding to them gives residuals of 10⁻⁷ of the bound.
const GIVEN: Accuracy = Accuracy { of_bound: 1e-5, of_eigenvalue: 1e-3, orthogonality: 1e-4 };

impl PreparedGraph {
    /// The graph with the eigenpairs of a folder.
    ///
    /// # Errors
    ///
    /// [`DataError`] if a file is not there or is no such array, has a number that is not finite, or does not hold eigenpairs of this
    /// graph; if eigenspaces are to be kept whole, and there is no further eigenvalue that tells whether the last one is.
    pub fn with_eigenpairs_of(self, folder: &Path, options: &PrepareOptions) -> Result<Self, DataError> {
        let (nodes, stored) = (self.graph.num_nodes(), options.eigenpairs);
        let count = stored.min(nodes);
        let values = Array::read(folder.join("eigenvalues.npy"))?;
        let vectors = Array::read(folder.join("eigenvectors.npy"))?;
        values.expect(&[None], &[count], "eigenvalues")?;
        vectors.expect(&[Some(nodes), None], &[nodes, count], "rows and columns")?;
        if options.whole_eigenspaces && count < nodes && values.values.len() == count {
            return Err(DataError::malformed(
                Place::file(&values.path),
                format!("{count} eigenvalues"),
                "one more than is used, which tells whether the last eigenspace is whole, or `model.whole_eigenspaces = false`",
            ));
        }
        let row = |row: &[f32]| {
            let mut row = row[..count].to_vec();
            row.resize(stored, 0.0);
            row
        };
        let columns = vectors.shape[1].max(1);
        let (count_in_whole_eigenspaces, num_components) = check(&self.graph, &values, &vectors, count)?;
        let found = StoredEigenpairs {
            values: row(&values.values),
            vectors: vectors.values.chunks_exact(columns).flat_map(row).collect(),
            count,
            count_in_whole_eigenspaces,
            num_components,
        };
        Ok(self.with_eigenpairs(found, options))
    }
}

/// Fails unless the first `count` are eigenpairs of a graph; how many of them are in whole eigenspaces, and how many connected
/// components the graph has.
fn check(graph: &Graph, values: &Array, vectors: &Array, count: usize) -> Result<(usize, usize), DataError> {
    let wrong = |array: &Array, found: String, expected: &str| {
        Err(DataError::malformed(Place::file(&array.path), found, expected))
    };
    let given = &values.values[..values.values.len().min(count + 1).min(graph.num_nodes())];
    if let Some(at) = given.windows(2).position(|two| two[0] > two[1]) {
        let found = format!("{} before {} at position {at}", given[at], given[at + 1]);
        return wrong(values, found, "ascending eigenvalues, that of the constant vector (0) first");
    }
    let laplacian = Laplacian::of(graph);
    let mut table = laplacian.tall(count.max(1));
    let rows = vectors.values.chunks_exact(vectors.shape[1].max(1));
    for (to, from) in table.data_mut().chunks_exact_mut(count.max(1)).zip(rows) {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = f64::from(*from));
    }
    let mut values: Vec<f64> = given.iter().map(|value| f64::from(*value)).collect();
    let next_value = values.split_off(count).pop();
    let solution = Solution { values, vectors: table };
    match verify_to(&laplacian, &solution, GIVEN) {
        Ok(()) => {
            let num_components = Components::of(&laplacian).len();
            let spectral_bound = laplacian.spectral_bound();
            let values = solution.values;
            let pairs =
                Eigenpairs { values, vectors: Vec::new(), next_value, num_components, spectral_bound };
            Ok((pairs.num_in_whole_eigenspaces(), num_components))
        }
        Err(SpectralError::Residual { pair, eigenvalue, residual, limit }) => {
            let found =
                format!("column {pair} (eigenvalue {eigenvalue:e}) with ‖L v − λ v‖ = {residual:.1e}");
            let expected = format!(
                "at most {limit:.1e}: eigenvectors of L = Deg − A of this graph without directions, a row for each node in the order of \
                 the data"
            );
            wrong(vectors, found, &expected)
        }
        Err(SpectralError::Orthogonality { first, second, difference, .. }) => {
            let found = match first == second {
                true => format!("column {first}, whose squared length is off 1 by {difference:.1e}"),
                false => format!("columns {second} and {first} with inner product {difference:.1e}"),
            };
            wrong(vectors, found, "orthogonal columns of length 1")
        }
        Err(other) => wrong(vectors, other.to_string(), "eigenpairs of this graph"),
    }
}

/// The content of a `.npy` file.
struct Array {
    path: PathBuf,
    shape: Vec<usize>,
    values: Vec<f32>,
}

impl Array {
    fn read(path: PathBuf) -> Result<Self, DataError> {
        let bytes = fs::read(&path)?;
        let wrong = |found: &str, expected: &str| DataError::malformed(Place::file(&path), found, expected);
        let not_npy = || wrong("something else", "a .npy file of NumPy");
        // Magic, version, length of the header in 2 or 4 bytes, the header as a Python literal, the numbers.
        let (start, length) = match bytes.get(..8) {
            Some([0x93, b'N', b'U', b'M', b'P', b'Y', 1, _]) => (10, 2),
            Some([0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _]) => (12, 4),
            _ => return Err(not_npy()),
        };
        let field = bytes.get(8..8 + length).ok_or_else(not_npy)?;
        let header = field.iter().rev().fold(0usize, |length, &byte| length << 8 | usize::from(byte));
        let end = start + header;
        let text = String::from_utf8_lossy(bytes.get(start..end).ok_or_else(not_npy)?).into_owned();
        let width = match () {
            () if text.contains("'<f4'") => 4,
            () if text.contains("'<f8'") => 8,
            () => return Err(wrong(text.trim_end(), "32- or 64-bit floats, little-endian (<f4 or <f8)")),
        };
        let is_fortran = text.contains("'fortran_order': True");
        let shape = text.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(shape, _)| shape);
        let sizes = shape.unwrap_or_default().split(',').map(str::trim).filter(|size| !size.is_empty());
        let shape = sizes.map(str::parse).collect::<Result<Vec<usize>, _>>().map_err(|_| not_npy())?;
        let numbers = &bytes[end..];
        let expected = shape.iter().try_fold(width, |product: usize, &size| product.checked_mul(size));
        if expected != Some(numbers.len()) {
            let found = format!("{} bytes of numbers for the shape {shape:?}", numbers.len());
            return Err(wrong(&found, "a whole file"));
        }
        let values: Vec<f32> = match width {
            4 => numbers.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect(),
            _ => numbers.as_chunks::<8>().0.iter().map(|&bytes| f64::from_le_bytes(bytes) as f32).collect(),
        };
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(wrong(&format!("{} at position {at}", values[at]), "finite numbers"));
        }
        // Column by column, as NumPy writes what it selected columns of.
        let values = match shape[..] {
            [rows, _] if is_fortran => {
                (0..rows).flat_map(|row| values.iter().skip(row).step_by(rows).copied()).collect()
            }
            _ => values,
        };
        Ok(Self { path, shape, values })
    }

    /// Fails unless the shape has these sizes, where they are given, and at least those.
    fn expect(&self, exactly: &[Option<usize>], at_least: &[usize], what: &str) -> Result<(), DataError> {
        let fits = self.shape.len() == exactly.len()
            && self.shape.iter().zip(exactly).all(|(found, size)| size.is_none_or(|size| size == *found))
            && self.shape.iter().zip(at_least).all(|(found, least)| found >= least);
        if fits {
            return Ok(());
        }
        let (found, expected) =
            (format!("the shape {:?}", self.shape), format!("at least {at_least:?} {what}"));
        Err(DataError::malformed(Place::file(&self.path), found, expected))
    }
}

#[cfg(test)]
mod tests {
    use super::super::prepare_graph;
    use super::*;
    use std::sync::Arc;

    fn npy(kind: &str, shape: &str, numbers: &[u8]) -> Vec<u8> {
        ordered("False", kind, shape, numbers)
    }

    fn ordered(is_fortran: &str, kind: &str, shape: &str, numbers: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{kind}', 'fortran_order': {is_fortran}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(numbers);
        bytes
    }

    #[test]
    fn a_table_in_fortran_order_is_transposed() {
        let folder = tempfile::tempdir().unwrap();
        let read = |is_fortran: &str, values: [f32; 6]| {
            let numbers: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let path = folder.path().join("table.npy");
            std::fs::write(&path, ordered(is_fortran, "<f4", "(3, 2)", &numbers)).unwrap();
            let array = Array::read(path).unwrap();
            (array.shape, array.values)
        };
        let rows = read("False", [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]);
        assert_eq!(read("True", [0.0, 1.0, 2.0, 0.5, 1.5, 2.5]), rows);
    }

    #[test]
    fn eigenpairs_of_a_folder_are_cut_where_computed_ones_are() {
        // A ring: all eigenvalues but the first and the last are double ones, and three pairs end amid one.
        let ring =
            Arc::new(Graph::from_edges(8, (0..8).map(|node| [node, (node + 1) % 8]).collect()).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let all = crate::spectral::lowest_eigenpairs(&ring, 8).unwrap();
        let store = |count: usize| {
            let mut bytes: Vec<u8> =
                all.values[..count].iter().flat_map(|value| value.to_le_bytes()).collect();
            std::fs::write(folder.path().join("eigenvalues.npy"), npy("<f8", &format!("({count},)"), &bytes))
                .unwrap();
            bytes = all.vectors.iter().flat_map(|value| value.to_le_bytes()).collect();
            std::fs::write(folder.path().join("eigenvectors.npy"), npy("<f8", "(8, 8)", &bytes)).unwrap();
        };
        let bare = prepare_graph(&ring, &PrepareOptions::default()).unwrap();
        for eigenpairs in [4, 5, 8] {
            for whole_eigenspaces in [false, true] {
                let options = PrepareOptions { eigenpairs, whole_eigenspaces, ..Default::default() };
                let computed = prepare_graph(&ring, &options).unwrap();
                store(8);
                let read = bare.clone().with_eigenpairs_of(folder.path(), &options).unwrap();
                assert_eq!(read.usable_eigenpairs, computed.usable_eigenpairs, "{options:?}");
                assert_eq!(read.splits_eigenspace, computed.splits_eigenspace, "{options:?}");
                store(eigenpairs);
                let read = bare.clone().with_eigenpairs_of(folder.path(), &options);
                match whole_eigenspaces && eigenpairs < 8 {
                    true => assert!(read.unwrap_err().to_string().contains("one more than is used")),
                    false => assert_eq!(read.unwrap().usable_eigenpairs, eigenpairs),
                }
            }
        }
    }

    #[test]
    fn eigenpairs_of_a_folder_take_the_place_of_computed_ones_and_others_are_named() {
        let graph = Arc::new(Graph::from_edges(3, vec![[0, 1], [1, 2]]).unwrap());
        let options = PrepareOptions { eigenpairs: 4, ..Default::default() };
        let computed = prepare_graph(&graph, &options).unwrap();
        let bare = prepare_graph(&graph, &PrepareOptions::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        let mut doubles: Vec<u8> =
            computed.eigenvalues[..3].iter().flat_map(|value| f64::from(*value).to_le_bytes()).collect();
        let singles: Vec<u8> = computed.eigenvectors.iter().flat_map(|value| value.to_le_bytes()).collect();
        write("eigenvalues.npy", &npy("<f8", "(3,)", &doubles));
        write("eigenvectors.npy", &npy("<f4", "(3, 4)", &singles));
        let read =
            || bare.clone().with_eigenpairs_of(folder.path(), &options).map_err(|error| error.to_string());
        assert_eq!(read().unwrap(), computed);
        for (bytes, expected) in [
            (npy("<f4", "(2, 6)", &singles), "the shape [2, 6]"),
            (npy("<f4", "(3, 3)", &singles), "48 bytes of numbers"),
            (npy(">f4", "(3, 4)", &singles), "<f4 or <f8"),
            (npy("<f4", "(3, 4)", &[0xff; 48]), "NaN at position 0"),
            (npy("<f4", "(3, 4)", &[&singles[16..], &singles[..16]].concat()), "in the order of the data"),
            (npy("<f4", "(3, 4)", &[0; 48]), "column 0, whose squared length is off 1"),
            (b"no array".to_vec(), "a .npy file of NumPy"),
            (b"\x93NUMPY\x01\x00\xff\xff".to_vec(), "a .npy file of NumPy"),
        ] {
            write("eigenvectors.npy", &bytes);
            let error = read().unwrap_err();
            assert!(error.contains(expected) && error.contains("eigenvectors.npy"), "{error}");
        }
        write("eigenvectors.npy", &npy("<f4", "(3, 4)", &singles));
        doubles.rotate_left(8);
        write("eigenvalues.npy", &npy("<f8", "(3,)", &doubles));
        let error = read().unwrap_err();
        assert!(error.contains("ascending") && error.contains("eigenvalues.npy"), "{error}");
    }
}
