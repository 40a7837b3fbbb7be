//! The lowest eigenpairs of a small symmetric matrix, by library solvers.
//!
//! Two libraries, because each wins where the other loses. Microseconds per molecule-like Laplacian, one thread,
//! all vectors (nalgebra, faer `self_adjoint_eigen`) or a third of them in stages:
//!
//! | nodes | nalgebra, all | faer, all | in stages, all of the tridiagonal | in stages, wanted only |
//! |---|---|---|---|---|
//! | 23 | 28 | 49 | 46 | |
//! | 40 | 102 | 127 | 139 | |
//! | 64 | 478 | 703 | 410 | |
//! | 151 | 4,044 | 3,266 | 2,065 | 1,200 |
//! | 300 | 27,200 | 12,800 | 9,700 | 4,600 |
//!
//! In stages: tridiagonal form by faer, eigenpairs of the tridiagonal matrix (only the wanted ones if they are at most
//! half of all, see [`super::tridiagonal`]), and the back-transformation of the wanted vectors by faer. All of it runs
//! on one thread; parallelism is over graphs.

use super::error::SpectralError;
use super::tridiagonal::Tridiagonal;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::evd::{
    ComputeEigenvectors, self_adjoint_evd_scratch, tridiag, tridiagonal_self_adjoint_evd,
};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as back_transformation_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as back_transformation,
};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::{Col, Conj, Mat, Par};

/// Up to this order nalgebra is faster.
const TINY: usize = 48;

/// The lowest `count` eigenpairs, ascending; eigenvectors are the columns of the matrix.
///
/// `count` may not exceed the order. Only the lower triangle is read.
///
/// # Errors
///
/// [`SpectralError::Dense`] if the solver gives up.
pub(crate) fn lowest_pairs(matrix: Mat<f64>, count: usize) -> Result<(Vec<f64>, Mat<f64>), SpectralError> {
    match matrix.nrows() {
        0 => Ok((Vec::new(), Mat::zeros(0, 0))),
        1 => Ok((vec![matrix[(0, 0)]; count], Mat::from_fn(1, count, |_, _| 1.0))),
        order if order <= TINY => tiny(&matrix, count),
        _ => staged(matrix, count),
    }
}

/// The lowest `count` eigenpairs of a symmetric matrix given by rows, ascending: the values, and the vectors as
/// `[order, count]`. At most as many pairs as the matrix has rows.
///
/// # Errors
///
/// [`SpectralError::Dense`] if the solver gives up.
pub fn lowest_of_symmetric(
    order: usize,
    matrix: &[f64],
    count: usize,
) -> Result<(Vec<f64>, Vec<f64>), SpectralError> {
    let count = count.min(order);
    let (values, vectors) =
        lowest_pairs(Mat::from_fn(order, order, |row, column| matrix[row * order + column]), count)?;
    let rows = (0..order).flat_map(|row| (0..count).map(move |column| (row, column)));
    Ok((values, rows.map(|at| vectors[at]).collect()))
}

fn tiny(matrix: &Mat<f64>, count: usize) -> Result<(Vec<f64>, Mat<f64>), SpectralError> {
    let order = matrix.nrows();
    let full =
        nalgebra::DMatrix::from_fn(order, order, |row, column| matrix[(row.max(column), row.min(column))]);
    let eigen = nalgebra::SymmetricEigen::try_new(full, f64::EPSILON, 1000 * order)
        .ok_or(SpectralError::Dense { nodes: order })?;
    let mut ascending: Vec<usize> = (0..order).collect();
    ascending.sort_by(|&a, &b| eigen.eigenvalues[a].total_cmp(&eigen.eigenvalues[b]));
    let values = ascending.iter().take(count).map(|&at| eigen.eigenvalues[at]).collect();
    let vectors = Mat::from_fn(order, count, |row, column| eigen.eigenvectors[(row, ascending[column])]);
    Ok((values, vectors))
}

fn staged(mut matrix: Mat<f64>, count: usize) -> Result<(Vec<f64>, Mat<f64>), SpectralError> {
    let (order, par) = (matrix.nrows(), Par::Seq);
    let block = recommended_block_size::<f64>(order, order);
    let mut memory = MemBuffer::new(StackReq::any_of(&[
        tridiag::tridiag_in_place_scratch::<f64>(order, par, Default::default()),
        self_adjoint_evd_scratch::<f64>(order, ComputeEigenvectors::Yes, par, Default::default()),
        back_transformation_scratch::<f64>(order - 1, block, count),
    ]));
    let stack = MemStack::new(&mut memory);

    let mut reflections = Mat::zeros(block, order - 1);
    tridiag::tridiag_in_place(matrix.as_mut(), reflections.as_mut(), par, stack, Default::default());
    let diagonal = Col::from_fn(order, |row| matrix[(row, row)]);
    let below = Col::from_fn(order - 1, |row| matrix[(row + 1, row)]);

    let (values, mut wanted) = match partial(&diagonal, &below, count) {
        Some(pairs) => pairs,
        None => all_of_tridiagonal(&diagonal, &below, count, stack)?,
    };
    back_transformation(
        matrix.submatrix(1, 0, order - 1, order - 1),
        reflections.as_ref(),
        Conj::No,
        wanted.as_mut().subrows_mut(1, order - 1),
        par,
        stack,
    );
    Ok((values, wanted))
}

/// The lowest pairs of a tridiagonal matrix, where that is less work than all of them and comes out orthonormal.
fn partial(diagonal: &Col<f64>, below: &Col<f64>, count: usize) -> Option<(Vec<f64>, Mat<f64>)> {
    let order = diagonal.nrows();
    if count > order / 2 {
        return None;
    }
    let list = |column: &Col<f64>| column.iter().copied().collect();
    let (values, vectors) = Tridiagonal::new(list(diagonal), list(below)).lowest_pairs(count)?;
    let vectors = Mat::from_fn(order, count, |row, column| vectors[column][row]);
    let products = vectors.transpose() * &vectors;
    let off =
        |row: usize, column: usize| (products[(row, column)] - f64::from(u8::from(row == column))).abs();
    let orthonormal = (0..count).all(|row| (0..=row).all(|column| off(row, column) < 1e-10));
    orthonormal.then_some((values, vectors))
}

fn all_of_tridiagonal(
    diagonal: &Col<f64>,
    below: &Col<f64>,
    count: usize,
    stack: &mut MemStack,
) -> Result<(Vec<f64>, Mat<f64>), SpectralError> {
    let (order, par) = (diagonal.nrows(), Par::Seq);
    let mut values = Col::<f64>::zeros(order);
    let mut vectors = Mat::<f64>::zeros(order, order);
    tridiagonal_self_adjoint_evd(
        diagonal.as_diagonal(),
        below.as_diagonal(),
        values.as_mut().as_diagonal_mut(),
        Some(vectors.as_mut()),
        par,
        stack,
        Default::default(),
    )
    .map_err(|_| SpectralError::Dense { nodes: order })?;

    Ok((values.iter().take(count).copied().collect(), vectors.subcols(0, count).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path Laplacian has eigenvalues `2 − 2 cos(π k / n)`.
    #[test]
    fn both_solvers_find_the_spectrum_of_a_path() {
        for order in [1, 2, 3, 23, TINY, TINY + 1, 130] {
            let matrix = Mat::from_fn(order, order, |row, column| match row.abs_diff(column) {
                0 => {
                    if order == 1 {
                        0.0
                    } else if row == 0 || row == order - 1 {
                        1.0
                    } else {
                        2.0
                    }
                }
                1 => -1.0,
                _ => 0.0,
            });
            let count = order.div_ceil(2);
            let (values, vectors) = lowest_pairs(matrix.clone(), count).unwrap();
            for (k, value) in values.iter().enumerate() {
                let exact = 2.0 - 2.0 * (std::f64::consts::PI * k as f64 / order as f64).cos();
                assert!((value - exact).abs() < 1e-12, "order {order}: {value} is not {exact}");
                let residual = &matrix * vectors.col(k) - vectors.col(k) * faer::Scale(*value);
                assert!(residual.norm_l2() < 1e-12);
            }
        }
    }
}
