//! Solving with `L + shift` through a sparse Cholesky factorisation, where the graph allows a cheap one.
//!
//! Long thin graphs (paths, trees, planar grids, road networks) have tightly clustered low eigenvalues, on which
//! polynomials of `L` converge slowly; the same graphs factorise with little fill. Graphs that expand (random
//! graphs) are the other way round. The width of breadth-first levels distinguishes the two before any factorisation
//! is tried.

use super::laplacian::Laplacian;
use super::tall::Tall;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::linalg::cholesky::{LltRef, SymbolicCholesky, factorize_symbolic_cholesky};
use faer::sparse::{SparseColMat, Triplet};
use faer::{Conj, Mat, Par, Side};

/// Try a factorisation if no breadth-first level is wider than this times the square root of the node count.
const LEVEL_WIDTH: f64 = 8.0;
/// Give up if the factor would have more than this many entries per node.
const FILL: usize = 200;
/// The shift, as a part of the bound on the spectrum: far below the eigenvalues of interest, far above rounding.
const SHIFT: f64 = 1e-10;

/// A factorised `L + shift`.
#[derive(Debug)]
pub(crate) struct ShiftInverse {
    symbolic: SymbolicCholesky<u32>,
    factor: Vec<f64>,
    shift: f64,
}

impl ShiftInverse {
    /// Factorises, or gives `None` where the graph looks expensive or the matrix is numerically singular.
    pub(super) fn new(laplacian: &Laplacian, bound: f64) -> Option<Self> {
        let nodes = laplacian.num_nodes();
        if widest_level(laplacian) as f64 > LEVEL_WIDTH * (nodes as f64).sqrt() {
            return None;
        }
        let shift = SHIFT * bound.max(1.0);
        let mut triplets = Vec::with_capacity(nodes + laplacian.num_entries() / 2);
        for node in 0..nodes {
            triplets.push(Triplet::new(node as u32, node as u32, laplacian.degree(node) as f64 + shift));
            let below = laplacian.neighbours(node).iter().filter(|&&other| other as usize > node);
            triplets.extend(below.map(|&other| Triplet::new(other, node as u32, -1.0)));
        }
        // One thread throughout, so that the bits do not depend on the number of threads.
        let matrix = SparseColMat::<u32, f64>::try_new_from_triplets(nodes, nodes, &triplets).ok()?;
        let symbolic = factorize_symbolic_cholesky(
            matrix.symbolic(),
            Side::Lower,
            Default::default(),
            Default::default(),
        )
        .ok()?;
        if symbolic.len_val() > FILL * nodes {
            return None;
        }
        let mut factor = vec![0.0; symbolic.len_val()];
        let scratch = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default());
        symbolic
            .factorize_numeric_llt(
                &mut factor,
                matrix.as_ref(),
                Side::Lower,
                Default::default(),
                Par::Seq,
                MemStack::new(&mut MemBuffer::new(scratch)),
                Default::default(),
            )
            .ok()?;
        Some(Self { symbolic, factor, shift })
    }

    /// What was added to the diagonal.
    pub(super) fn shift(&self) -> f64 {
        self.shift
    }

    /// Replaces the columns of `block` by the solutions for them.
    pub(super) fn apply(&self, block: &mut Tall) {
        let (rows, columns) = (block.rows(), block.stride());
        let mut right = Mat::from_fn(rows, columns, |row, column| block.data()[row * columns + column]);
        let scratch = self.symbolic.solve_in_place_scratch::<f64>(columns, Par::Seq);
        let mut memory = MemBuffer::new(scratch);
        LltRef::new(&self.symbolic, &self.factor).solve_in_place_with_conj(
            Conj::No,
            right.as_mut(),
            Par::Seq,
            MemStack::new(&mut memory),
        );
        for (row, entries) in block.data_mut().chunks_exact_mut(columns).enumerate() {
            for (column, entry) in entries.iter_mut().enumerate() {
                *entry = right[(row, column)];
            }
        }
    }
}

/// Size of the largest set of nodes at one distance from a node at the rim of the (connected) graph.
fn widest_level(laplacian: &Laplacian) -> usize {
    let (far, _) = breadth_first(laplacian, 0);
    breadth_first(laplacian, far).1
}

/// The last node that a breadth-first search reaches, and the size of its widest level.
fn breadth_first(laplacian: &Laplacian, start: usize) -> (usize, usize) {
    let mut seen = vec![false; laplacian.num_nodes()];
    seen[start] = true;
    let (mut level, mut next, mut widest) = (vec![start as u32], Vec::new(), 1);
    let mut last = start;
    while !level.is_empty() {
        widest = widest.max(level.len());
        last = level[0] as usize;
        next.clear();
        for &node in &level {
            for &other in laplacian.neighbours(node as usize) {
                if !std::mem::replace(&mut seen[other as usize], true) {
                    next.push(other);
                }
            }
        }
        std::mem::swap(&mut level, &mut next);
    }
    (last, widest)
}
