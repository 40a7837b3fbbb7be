//! The last word on every solver: is `L v = λ v`, and are the vectors orthonormal?

use super::error::SpectralError;
use super::laplacian::Laplacian;
use super::solution::Solution;
use super::tall::CHUNK_ROWS;
use rayon::prelude::*;

/// What is accepted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accuracy {
    /// Largest residual as a part of the bound on the spectrum …
    pub(super) of_bound: f64,
    /// … or of the eigenvalue, whichever is larger.
    pub(super) of_eigenvalue: f64,
    /// Largest difference of an inner product of two eigenvectors from 0 or 1.
    pub(super) orthogonality: f64,
}

/// What is asked of the solvers.
const COMPUTED: Accuracy = Accuracy { of_bound: 1e-8, of_eigenvalue: 0.0, orthogonality: 1e-8 };

/// Checks the residual of every pair, the norm of every vector and all inner products, the constant vector's too.
///
/// # Errors
///
/// [`SpectralError::Residual`] or [`SpectralError::Orthogonality`] for the first violation.
pub(crate) fn verify(laplacian: &Laplacian, solution: &Solution) -> Result<(), SpectralError> {
    verify_to(laplacian, solution, COMPUTED)
}

/// The same to another accuracy.
pub(super) fn verify_to(
    laplacian: &Laplacian,
    solution: &Solution,
    accepted: Accuracy,
) -> Result<(), SpectralError> {
    let count = solution.values.len();
    let of_bound = accepted.of_bound * laplacian.spectral_bound().max(1.0);
    let residuals: Vec<f64> = if laplacian.num_nodes() > CHUNK_ROWS && laplacian.spread().is_none() {
        (0..count).into_par_iter().map(|pair| residual(laplacian, solution, pair)).collect()
    } else {
        (0..count).map(|pair| residual(laplacian, solution, pair)).collect()
    };
    for (pair, (&residual, &eigenvalue)) in residuals.iter().zip(&solution.values).enumerate() {
        let limit = of_bound.max(accepted.of_eigenvalue * eigenvalue);
        // A NaN fails this test as well.
        if !matches!(residual.partial_cmp(&limit), Some(order) if order.is_le()) {
            return Err(SpectralError::Residual { pair, eigenvalue, residual, limit });
        }
    }
    let products = solution.vectors.inner_products(count, &solution.vectors, count);
    for first in 0..count {
        for second in 0..=first {
            let expected = if first == second { 1.0 } else { 0.0 };
            let difference = (products[(first, second)] - expected).abs();
            let limit = accepted.orthogonality;
            if difference > limit {
                return Err(SpectralError::Orthogonality { first, second, difference, limit });
            }
        }
    }
    Ok(())
}

fn residual(laplacian: &Laplacian, solution: &Solution, pair: usize) -> f64 {
    laplacian.residual(solution.vectors.data(), solution.vectors.stride(), pair, solution.values[pair])
}

#[cfg(test)]
mod tests {
    use super::super::tall::Tall;
    use super::*;
    use crate::graph::Graph;

    fn edge_solution(value: f64, vectors: Vec<f64>) -> Solution {
        let columns = vectors.len() / 2;
        let mut table = Tall::zeros(2, columns);
        table.data_mut().copy_from_slice(&vectors);
        Solution { values: vec![value; columns], vectors: table }
    }

    #[test]
    fn wrong_values_vectors_and_norms_are_told_apart() {
        let edge = Laplacian::of(&Graph::from_edges(2, vec![[0, 1]]).unwrap());
        let half = 0.5f64.sqrt();
        verify(&edge, &edge_solution(2.0, vec![half, -half])).unwrap();
        let wrong_value = verify(&edge, &edge_solution(2.1, vec![half, -half])).unwrap_err();
        assert!(matches!(wrong_value, SpectralError::Residual { pair: 0, .. }), "{wrong_value}");
        let not_a_number = verify(&edge, &edge_solution(f64::NAN, vec![half, -half])).unwrap_err();
        assert!(matches!(not_a_number, SpectralError::Residual { pair: 0, .. }), "{not_a_number}");
        let wrong_norm = verify(&edge, &edge_solution(2.0, vec![1.0, -1.0])).unwrap_err();
        assert!(
            matches!(wrong_norm, SpectralError::Orthogonality { first: 0, second: 0, .. }),
            "{wrong_norm}"
        );
        let same_twice = verify(&edge, &edge_solution(2.0, vec![half, half, -half, -half])).unwrap_err();
        assert!(
            matches!(same_twice, SpectralError::Orthogonality { first: 1, second: 0, .. }),
            "{same_twice}"
        );
    }
}
