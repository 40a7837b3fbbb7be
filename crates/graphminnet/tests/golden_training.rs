//! Losses, optimizer and schedule against an independent float64 implementation.
#![cfg(feature = "train")]

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use graphminnet::config::Loss;
use graphminnet::optim::{AdamW, AdamWSettings, NamedGradients, clip_factor, learning_rate_factor};
use graphminnet::task::{Rows, loss};
use graphminnet::weights;
use safetensors::SafeTensors;
use safetensors::tensor::Dtype;
use std::path::Path;

struct Fixture(Vec<u8>);

impl Fixture {
    fn read() -> Self {
        let path = "tests/fixtures/golden/aux_losses_optim_pe.safetensors";
        Self(std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap())
    }

    fn get(&self, name: &str) -> (Vec<usize>, Vec<f32>) {
        let file = SafeTensors::deserialize(&self.0).unwrap();
        let view = file.tensor(name).unwrap();
        let values = match view.dtype() {
            Dtype::F32 => {
                view.data().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
            }
            Dtype::I64 => view
                .data()
                .chunks_exact(8)
                .map(|b| i64::from_le_bytes(b.try_into().unwrap()) as f32)
                .collect(),
            other => panic!("{name} holds {other:?}"),
        };
        (view.shape().to_vec(), values)
    }

    fn values(&self, name: &str) -> Vec<f32> {
        self.get(name).1
    }
}

fn assert_close(what: &str, ours: &[f32], reference: &[f32], tolerance: f32) {
    assert_eq!(ours.len(), reference.len(), "{what}");
    let scale = reference.iter().fold(1e-3f32, |max, value| max.max(value.abs()));
    for (at, (a, b)) in ours.iter().zip(reference).enumerate() {
        assert!((a - b).abs() <= tolerance * scale, "{what}[{at}]: {a} instead of {b}");
    }
}

#[test]
fn losses_and_their_gradients_agree() {
    let fixture = Fixture::read();
    for (name, kind) in [
        ("l1", Loss::L1),
        ("ce", Loss::CrossEntropy),
        ("weighted_ce", Loss::WeightedCrossEntropy),
        ("bce", Loss::BinaryCrossEntropy),
        ("multilabel_bce_nan", Loss::BinaryCrossEntropy),
        ("weighted_bce", Loss::WeightedBinaryCrossEntropy),
    ] {
        let (shape, outputs) = fixture.get(&format!("{name}.logits"));
        let (target_shape, targets) = fixture.get(&format!("{name}.target"));
        let columns = shape.get(1).copied().unwrap_or(1);
        let target_columns = target_shape.get(1).copied().unwrap_or(1);
        let rows = Rows { outputs: &outputs, columns, targets: &targets, target_columns };
        let ours = loss::evaluate(kind, rows).unwrap().unwrap();
        assert_close(name, &[ours.value as f32], &fixture.values(&format!("{name}.loss")), 1e-6);
        assert_close(name, &ours.gradient, &fixture.values(&format!("{name}.grad")), 1e-6);

        // The same gradient comes out of the tensor engine.
        let device = Device::flex().autodiff();
        let shape = [outputs.len() / columns, columns];
        let tensor: Tensor<2> =
            Tensor::from_data(TensorData::new(outputs.clone(), shape), &device).require_grad();
        let gradients = loss::attach(tensor.clone(), &ours, 2.0).backward();
        let gradient: Vec<f32> = tensor.grad(&gradients).unwrap().into_data().try_to_vec().unwrap();
        let doubled: Vec<f32> = ours.gradient.iter().map(|value| 2.0 * value).collect();
        assert_close(name, &gradient, &doubled, 1e-6);
    }
}

#[derive(Module, Debug)]
struct TwoParameters {
    p0: Param<Tensor<2>>,
    p1: Param<Tensor<1>>,
}

#[test]
fn five_clipped_steps_of_adamw_agree() {
    let fixture = Fixture::read();
    let device = Device::flex().autodiff();
    let start = |name: &str| {
        let (shape, values) = fixture.get(&format!("adamw.{name}.start"));
        TensorData::new(values, shape)
    };
    let mut module = TwoParameters {
        p0: Param::from_tensor(Tensor::from_data(start("p0"), &device)),
        p1: Param::from_tensor(Tensor::from_data(start("p1"), &device)),
    };
    let settings = AdamWSettings::with_decay(0.1);
    let mut optimizer = AdamW::new(settings);
    for step in 0..5 {
        let gradient = |name: &str| Some(fixture.values(&format!("adamw.step{step}.{name}.grad")));
        let gradients =
            NamedGradients::new(vec![("p0".into(), gradient("p0")), ("p1".into(), gradient("p1"))]);
        let norm = gradients.norm();
        assert_close("norm", &[norm as f32], &fixture.values(&format!("adamw.step{step}.norm")), 1e-6);
        module = optimizer.step(module, &gradients, 0.003, clip_factor(norm, 1.0)).unwrap();
        // Saved and read in between, as by a run that is resumed after every step.
        optimizer = AdamW::from_bytes(settings, &optimizer.to_bytes().unwrap()).unwrap();
        for tensor in weights::named_tensors(&module) {
            let reference = fixture.values(&format!("adamw.step{step}.{}.after", tensor.name));
            assert_close(&tensor.name, &tensor.values, &reference, 1e-6);
        }
        assert!(module.p0.val().is_require_grad() && module.p1.val().is_require_grad());
    }
}

#[test]
fn the_schedule_agrees() {
    let fixture = Fixture::read();
    for (name, warmup, epochs) in [("warmup10_total200", 10, 200), ("warmup5_total100", 5, 100)] {
        let ours: Vec<f32> =
            (0..epochs).map(|epoch| learning_rate_factor(epoch, warmup, epochs) as f32).collect();
        assert_close(name, &ours, &fixture.values(&format!("schedule.{name}")), 1e-6);
    }
}

#[test]
fn a_parameter_without_gradient_stays_as_it_is() {
    let device = Device::flex().autodiff();
    let module = TwoParameters {
        p0: Param::from_tensor(Tensor::ones([2, 2], &device)),
        p1: Param::from_tensor(Tensor::ones([3], &device)),
    };
    let gradients = NamedGradients::new(vec![("p0".into(), Some(vec![1.0; 4])), ("p1".into(), None)]);
    let mut optimizer = AdamW::new(AdamWSettings::with_decay(0.5));
    let module = optimizer.step(module, &gradients, 0.1, 1.0).unwrap();
    let tensors = weights::named_tensors(&module);
    assert!(tensors[0].values.iter().all(|value| (value - 0.85).abs() < 1e-6), "{:?}", tensors[0].values);
    assert_eq!(tensors[1].values, vec![1.0; 3]);
    assert_eq!(optimizer.moments().len(), 1);
    let wrong = NamedGradients::new(vec![("p0".into(), Some(vec![1.0; 3]))]);
    assert!(optimizer.step(module, &wrong, 0.1, 1.0).is_err());
}
