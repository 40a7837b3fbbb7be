//! The running estimates of all batch norms of a model as one row of numbers, for processes that share the batches of
//! a step.
//!
//! An estimate moves with every batch: `estimate ← (1 − m)·estimate + m·statistic`. A process that does not know the
//! estimate before its batch can still say what the batch contributes, `m·statistic`: that is what a pass leaves behind
//! in an estimate that was [`NOTHING`].

use super::batch_norm::MOMENTUM;
use crate::ops::values;
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};

/// What changes no sum: `x + (-0.0)` has the bits of `x` for every `x`, while `-0.0 + 0.0` is `0.0`.
pub(crate) const NOTHING: f32 = -0.0;

/// The estimates of all batch norms, in the order of the model's structure, the means of a norm before its variances.
pub(crate) fn estimates<M: Module>(model: &M) -> Vec<f32> {
    tensors(model).concat()
}

/// The model with other estimates.
pub(crate) fn with_estimates<M: Module>(model: M, estimates: &[f32]) -> M {
    model.map(&mut Setter { places: Places::default(), values: estimates.iter().copied() })
}

/// What the last pass contributes to every estimate, given that all were [`NOTHING`] before it; NaN for a norm that the
/// pass did not move.
pub(crate) fn contributions<M: Module>(model: &M) -> Vec<f32> {
    let mut tensors = tensors(model);
    for norm in tensors.chunks_mut(2) {
        // A mean may be -0.0, a variance is not negative.
        let moved = norm.last().is_some_and(|variance| variance.iter().any(|value| !is_nothing(*value)));
        if !moved {
            norm.iter_mut().for_each(|values| values.fill(f32::NAN));
        }
    }
    tensors.concat()
}

/// Lets an estimate follow a batch, as [`super::BatchNorm`] does.
pub(crate) fn follow(estimate: &mut f32, contribution: f32) {
    if !contribution.is_nan() {
        *estimate = *estimate * (1.0 - MOMENTUM) as f32 + contribution;
    }
}

fn is_nothing(value: f32) -> bool {
    value.to_bits() == NOTHING.to_bits()
}

fn tensors<M: Module>(model: &M) -> Vec<Vec<f32>> {
    let mut collector = Collector::default();
    model.visit(&mut collector);
    collector.tensors
}

/// Which of the modules around the current place are estimates of a norm. Other running statistics, of the input say, do
/// not move in training.
#[derive(Default)]
struct Places(Vec<bool>);

impl Places {
    fn enter(&mut self, name: &str, container: &str) {
        self.0.push(container == "Struct:BatchNorm" && name.starts_with("running_"));
    }

    fn is_estimate(&self) -> bool {
        self.0.last().copied().unwrap_or(false)
    }
}

#[derive(Default)]
struct Collector {
    places: Places,
    tensors: Vec<Vec<f32>>,
}

impl ModuleVisitor for Collector {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        self.places.enter(name, container_type);
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.places.0.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.places.is_estimate() {
            self.tensors.push(values(param.val()));
        }
    }
}

struct Setter<I> {
    places: Places,
    values: I,
}

impl<I: Iterator<Item = f32>> ModuleMapper for Setter<I> {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        self.places.enter(name, container_type);
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.places.0.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if !self.places.is_estimate() {
            return param;
        }
        let (dims, device) = (param.val().dims(), param.val().device());
        let values: Vec<f32> = self.values.by_ref().take(dims.iter().product()).collect();
        param.map(|_| Tensor::from_data(TensorData::new(values, dims), &device))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ModelConfig;
    use crate::nn::{BatchNorm, Init, Pass};
    use crate::{DeviceKind, GraphMinNet, weights};

    #[test]
    fn a_batchs_contribution_moves_an_estimate_to_the_bit_where_the_norm_itself_would() {
        let device = DeviceKind::Cpu.open().unwrap();
        let norm = BatchNorm::new(3, &Init::new(0, &device));
        let rows = |seed: f32, count: usize| {
            let values: Vec<f32> = (0..3 * count).map(|at| (seed + at as f32 * 0.7).sin() * seed).collect();
            Tensor::<2>::from_data(TensorData::new(values, [count, 3]), &device)
        };
        let mut estimate = estimates(&norm);
        // One row moves nothing, and a column of zeros has no variance.
        for batch in [rows(1.3, 5), rows(0.4, 1), rows(-7.0, 4), rows(0.0, 6)] {
            let blank = with_estimates(norm.clone(), &[NOTHING; 6]);
            blank.forward(batch.clone(), Pass::Train { seed: 1 });
            estimate.iter_mut().zip(contributions(&blank)).for_each(|(estimate, own)| follow(estimate, own));
            norm.forward(batch, Pass::Train { seed: 1 });
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&estimate), bits(&estimates(&norm)));
        }
    }

    #[test]
    fn only_the_estimates_of_norms_are_replaced() {
        let device = DeviceKind::Cpu.open().unwrap();
        let config = ModelConfig { node_in: 2, hidden: 8, standardize: true, ..ModelConfig::default() };
        let model = GraphMinNet::new(&config, 0, &device).unwrap();
        let changed = with_estimates(model.clone(), &vec![0.25; estimates(&model).len()]);
        let (mut scales, mut norms) = (0, 0);
        for (before, after) in weights::named_tensors(&model).iter().zip(weights::named_tensors(&changed)) {
            if before.is_parameter() || before.name.contains("scale") {
                assert_eq!(*before, after);
                scales += usize::from(!before.is_parameter());
            } else {
                assert!(after.values.iter().all(|value| *value == 0.25), "{}", after.name);
                norms += after.values.len();
            }
        }
        assert_eq!((scales > 0, norms), (true, estimates(&model).len()));
    }
}
