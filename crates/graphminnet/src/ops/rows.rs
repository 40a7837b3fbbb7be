//! Moving rows between edges, nodes and graphs: gathering `y_i = x_{p(i)}`, and its transpose, the sum of the rows with
//! the same place, `y_q = Σ_{p(i) = q} x_i`. Each is the gradient of the other.

use super::engine::{self, Array, Kernel};
use super::{Structure, generic};
use burn::tensor::{Device, Int, Tensor, TensorData};
use graphminnet_data::Layout;
use graphminnet_kernels::edges::group_by;
use graphminnet_kernels::gather_rows::{self as kernels, Groups};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The place `p(i)` of every row `i`.
pub struct RowIndex {
    place: Places,
    /// How many places there are.
    count: usize,
    /// The rows by place; made when a kernel asks for it.
    groups: OnceLock<Grouped>,
    /// The places as a tensor; made when a generic body asks for it.
    tensor: OnceLock<Tensor<1, Int>>,
}

/// The places of all rows: own ones, or an array of a batch's indices, which is not copied for it.
enum Places {
    Own(Vec<u32>),
    Shared(Arc<Layout>, fn(&Layout) -> &[u32]),
}

/// Rows by place: where the rows of each place begin, and the rows, unless they lie place by place already.
struct Grouped {
    offsets: Vec<u32>,
    members: Option<Vec<u32>>,
}

impl RowIndex {
    /// Rows with the given places, all of them below `count`.
    pub fn new(count: usize, place: Vec<u32>) -> Arc<Self> {
        Self::at(count, Places::Own(place))
    }

    /// The same, with an array of a layout as the places.
    pub(super) fn shared(count: usize, layout: &Arc<Layout>, of: fn(&Layout) -> &[u32]) -> Arc<Self> {
        Self::at(count, Places::Shared(Arc::clone(layout), of))
    }

    fn at(count: usize, place: Places) -> Arc<Self> {
        Arc::new(Self { place, count, groups: OnceLock::new(), tensor: OnceLock::new() })
    }

    /// The place of every row.
    pub(super) fn places(&self) -> &[u32] {
        match &self.place {
            Places::Own(place) => place,
            Places::Shared(layout, of) => of(layout),
        }
    }

    fn groups(&self) -> Groups<'_> {
        let grouped = self.groups.get_or_init(|| {
            let (offsets, members) = group_by(self.count, self.places());
            let members = (!self.places().is_sorted()).then_some(members);
            Grouped { offsets, members }
        });
        Groups { offsets: &grouped.offsets, members: grouped.members.as_deref() }
    }

    /// The places as a tensor on the device of the model.
    pub(super) fn tensor(&self, device: &Device) -> Tensor<1, Int> {
        let upload = || {
            let values: Vec<i64> = self.places().iter().map(|&place| i64::from(place)).collect();
            let length = values.len();
            Tensor::from_data(TensorData::new(values, [length]), &device.clone().inner())
        };
        self.tensor.get_or_init(upload).clone()
    }
}

impl fmt::Debug for RowIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} rows at {} places", self.places().len(), self.count)
    }
}

/// The row at each place: `[places, columns] → [rows, columns]`.
pub fn gather_rows(x: Tensor<2>, index: &Arc<RowIndex>) -> Tensor<2> {
    if !engine::on_cpu(&x.device()) {
        let place = index.tensor(&x.device());
        return generic::gather_rows(x, place);
    }
    engine::run(Gather(index.clone()), [x.into()])
}

/// The sum of the rows of each place: `[rows, columns] → [places, columns]`.
pub fn sum_rows(x: Tensor<2>, index: &Arc<RowIndex>) -> Tensor<2> {
    if !engine::on_cpu(&x.device()) {
        let place = index.tensor(&x.device());
        return generic::sum_rows(x, place, index.count);
    }
    engine::run(Sum(index.clone()), [x.into()])
}

/// The sum of chosen rows, `y_q = Σ x_m` over the members `m` of set `q`: `[rows, columns] → [sets, columns]`.
///
/// `members` has a row per member of a set, whose place is the row of `x`, and `sets` the set of each. Nothing is stored
/// per member.
pub fn sum_members(x: Tensor<2>, members: &Arc<RowIndex>, sets: &Arc<RowIndex>) -> Tensor<2> {
    if !engine::on_cpu(&x.device()) {
        return sum_rows(gather_rows(x, members), sets);
    }
    engine::run(Members { members: members.clone(), sets: sets.clone() }, [x.into()])
}

/// The row of each node's graph: `[graphs, columns] → [nodes, columns]`.
pub fn gather_graphs(rows: Tensor<2>, structure: &Structure) -> Tensor<2> {
    gather_rows(rows, structure.graphs())
}

/// Sum over the nodes of each graph: `[nodes, columns] → [graphs, columns]`.
pub fn sum_per_graph(rows: Tensor<2>, structure: &Structure) -> Tensor<2> {
    sum_rows(rows, structure.graphs())
}

fn gathered(index: &RowIndex, x: &Array) -> Array {
    let width = x.dim(1);
    Array::written([index.places().len(), width], |y| {
        kernels::gather_rows(width, x.values(), index.places(), y)
    })
}

fn summed(index: &RowIndex, x: &Array) -> Array {
    let width = x.dim(1);
    Array::written([index.count, width], |y| kernels::segment_sum(width, index.groups(), x.values(), y))
}

#[derive(Debug, Clone)]
struct Gather(Arc<RowIndex>);

impl Kernel<1> for Gather {
    type Saved = ();

    fn forward(&self, [x]: &[Array; 1], keep: bool) -> (Array, Option<()>) {
        (gathered(&self.0, x), keep.then_some(()))
    }

    fn backward(&self, (): (), gradient: Array, [wanted]: [bool; 1]) -> [Option<Array>; 1] {
        [wanted.then(|| summed(&self.0, &gradient))]
    }
}

#[derive(Debug, Clone)]
struct Sum(Arc<RowIndex>);

impl Kernel<1> for Sum {
    type Saved = ();

    fn forward(&self, [x]: &[Array; 1], keep: bool) -> (Array, Option<()>) {
        (summed(&self.0, x), keep.then_some(()))
    }

    fn backward(&self, (): (), gradient: Array, [wanted]: [bool; 1]) -> [Option<Array>; 1] {
        [wanted.then(|| gathered(&self.0, &gradient))]
    }
}

#[derive(Debug, Clone)]
struct Members {
    members: Arc<RowIndex>,
    sets: Arc<RowIndex>,
}

impl Members {
    /// Sums of the rows that `of` names, by the places of `by`.
    fn sums(of: &RowIndex, by: &RowIndex, x: &Array) -> Array {
        let (width, groups) = (x.dim(1), by.groups());
        let named = |&at: &u32| of.places()[at as usize];
        let rows: Vec<u32> = match groups.members {
            Some(members) => members.iter().map(named).collect(),
            None => of.places().to_vec(),
        };
        Array::written([by.count, width], |y| {
            kernels::sum_of_rows(width, groups.offsets, &rows, x.values(), y);
        })
    }
}

impl Kernel<1> for Members {
    type Saved = ();

    fn forward(&self, [x]: &[Array; 1], keep: bool) -> (Array, Option<()>) {
        (Self::sums(&self.members, &self.sets, x), keep.then_some(()))
    }

    fn backward(&self, (): (), gradient: Array, [wanted]: [bool; 1]) -> [Option<Array>; 1] {
        [wanted.then(|| Self::sums(&self.sets, &self.members, &gradient))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::assert_same_bodies;

    #[test]
    fn kernel_and_generic_body_agree() {
        // Places in order and not, one of them without a row.
        for place in [vec![0, 0, 1, 3, 3, 3], vec![3, 0, 1, 0, 3, 0, 3]] {
            let (rows, index) = (place.len(), RowIndex::new(4, place));
            assert_same_bodies(
                &[[4, 5]],
                |t| gather_rows(t[0].clone(), &index),
                |t| generic::gather_rows(t[0].clone(), index.tensor(&t[0].device())),
            );
            assert_same_bodies(
                &[[rows, 5]],
                |t| sum_rows(t[0].clone(), &index),
                |t| generic::sum_rows(t[0].clone(), index.tensor(&t[0].device()), 4),
            );
        }
    }

    #[test]
    fn sums_of_members_agree_with_gathering_and_summing() {
        let (members, sets) =
            (RowIndex::new(4, vec![3, 0, 0, 2, 1, 3]), RowIndex::new(3, vec![2, 0, 0, 2, 0, 2]));
        assert_same_bodies(
            &[[4, 5]],
            |t| sum_members(t[0].clone(), &members, &sets),
            |t| sum_rows(gather_rows(t[0].clone(), &members), &sets),
        );
    }

    #[test]
    fn nothing_can_be_moved_too() {
        let device = Device::flex();
        let index = RowIndex::new(3, Vec::new());
        assert_eq!(gather_rows(Tensor::<2>::ones([3, 2], &device), &index).dims(), [0, 2]);
        let sums = sum_rows(Tensor::<2>::ones([0, 2], &device), &index);
        assert_eq!(sums.into_data().try_to_vec::<f32>().unwrap(), [0.0; 6]);
    }
}
