//! The lowest non-zero eigenpairs of one connected component, by whichever solver suits its size.

use super::canonical::{canonical_sign, canonical_sign_among};
use super::dense;
use super::error::SpectralError;
use super::krylov;
use super::laplacian::Laplacian;
use super::spread::Spread;
use super::tall::Tall;
use super::verify::verify;
use super::{Stop, unless_stopped};
use faer::Mat;

/// Components up to this size are solved densely.
///
/// Milliseconds of processor time for 33 pairs; "molecule" is a tree with a few more edges (factorised), "sparse" a
/// random graph of mean degree 5 (filtered by a polynomial):
///
/// | nodes | dense | iterative, molecule | iterative, sparse |
/// |---|---|---|---|
/// | 300 | 6 | 22 | 36 |
/// | 400 | 10 | 20 | 43 |
/// | 600 | 25 | 28 | 60 |
/// | 800 | 50 | 27 | 63 |
/// | 1,200 | 175 | 38 | 75 |
const DENSE_NODES: usize = 700;
/// Largest component that may fall back to the dense solver when the iteration fails: three matrices of 200 MB.
const DENSE_FALLBACK_NODES: usize = 5_000;

/// Some eigenpairs of a component, ascending; eigenvectors are the columns of `vectors`.
#[derive(Debug, Clone)]
pub(crate) struct Solution {
    pub values: Vec<f64>,
    pub vectors: Tall,
}

/// The lowest `count` eigenpairs above the trivial one, verified, with canonical signs.
///
/// # Errors
///
/// [`SpectralError`] if no solver gives pairs that pass the verification.
pub(crate) fn lowest_above_zero(
    laplacian: &Laplacian,
    count: usize,
    stop: Stop<'_>,
) -> Result<Solution, SpectralError> {
    let nodes = laplacian.num_nodes();
    let count = count.min(nodes.saturating_sub(1));
    if count == 0 {
        return Ok(Solution { values: Vec::new(), vectors: Tall::zeros(0, 1) });
    }
    unless_stopped(stop)?;
    // An iteration needs room to search in: near-complete spectra go to the dense solver, too.
    let mut solution = if is_small(nodes, count) {
        solve_densely(laplacian, count)?
    } else {
        match krylov::lowest_above_zero(laplacian, count, stop).and_then(|solution| {
            verify(laplacian, &solution)?;
            Ok(solution)
        }) {
            Ok(solution) => solution,
            Err(SpectralError::Interrupted) => return Err(SpectralError::Interrupted),
            Err(_) if nodes <= DENSE_FALLBACK_NODES => solve_densely(laplacian, count)?,
            Err(error) => return Err(error),
        }
    };
    make_canonical(&mut solution, None);
    Ok(solution)
}

/// Signs by the largest entries, wherever these are, and no value below zero.
fn make_canonical(solution: &mut Solution, spread: Option<&Spread>) {
    let stride = solution.vectors.stride();
    let sign = |column: usize| {
        let entries = solution.vectors.data().iter().skip(column).step_by(stride).copied();
        spread.map_or_else(
            || canonical_sign(entries.clone()),
            |spread| canonical_sign_among(entries.clone(), spread),
        )
    };
    let signs: Vec<f64> = (0..solution.values.len()).map(sign).collect();
    solution.vectors.scale_columns(&signs);
    for value in &mut solution.values {
        *value = value.max(0.0);
    }
}

/// The same for the rows of a part, all ranks together. The whole graph must be connected, or its components known, and not small.
///
/// # Errors
///
/// [`SpectralError`] on all ranks.
pub(super) fn in_parts(
    laplacian: &Laplacian,
    count: usize,
    stop: Stop<'_>,
) -> Result<Solution, SpectralError> {
    let Some(spread) = laplacian.spread() else { return lowest_above_zero(laplacian, count, stop) };
    let mut solution = krylov::lowest_above_zero(laplacian, count, stop)?;
    verify(laplacian, &solution)?;
    make_canonical(&mut solution, Some(spread));
    Ok(solution)
}

/// Whether a graph is solved densely.
pub(super) fn is_small(nodes: usize, count: usize) -> bool {
    nodes <= DENSE_NODES || (nodes <= DENSE_FALLBACK_NODES && count * 4 > nodes)
}

fn solve_densely(laplacian: &Laplacian, count: usize) -> Result<Solution, SpectralError> {
    let nodes = laplacian.num_nodes();
    let mut matrix = Mat::zeros(nodes, nodes);
    for node in 0..nodes {
        matrix[(node, node)] = laplacian.degree(node) as f64;
        for &other in laplacian.neighbours(node) {
            matrix[(other as usize, node)] = -1.0;
        }
    }
    // The first pair of a connected component is known: eigenvalue 0, constant vector.
    let (values, columns) = dense::lowest_pairs(matrix, count + 1)?;
    let mut vectors = Tall::zeros(nodes, count);
    for (node, row) in vectors.data_mut().chunks_exact_mut(count).enumerate() {
        for (pair, entry) in row.iter_mut().enumerate() {
            *entry = columns[(node, pair + 1)];
        }
    }
    let solution = Solution { values: values[1..].to_vec(), vectors };
    verify(laplacian, &solution)?;
    Ok(solution)
}
