//! Timing of training steps, inference and preparation of a workload.

use super::{Workload, executed_training_flops, forward_flops, training_flops};
use burn::module::Module;
use graphminnet::model::{InputError, Model};
use graphminnet::nn::Pass;
use graphminnet::optim::{AdamW, AdamWSettings, OptimError, clip_factor};
use graphminnet::task::Rows;
use graphminnet::task::loss::{self, LossError};
use graphminnet::train::{Architecture, TrainError};
use graphminnet::{ConfigError, DeviceError, DeviceKind, TrainConfig};
use graphminnet_data::Batch;
use graphminnet_data::spectral::{SpectralError, prepare_all};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Why a workload could not be timed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The configuration was refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no such device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The batch does not fit the model.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The loss does not fit the targets.
    #[error(transparent)]
    Loss(#[from] LossError),
    /// A graph could not be prepared.
    #[error(transparent)]
    Preparation(#[from] SpectralError),
    /// The model cannot be trained as asked.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The optimizer's state does not fit the model.
    #[error(transparent)]
    Optim(#[from] OptimError),
}

/// An activity that takes longer than this is timed once. It is warmed up all the same: the first run also pays for
/// memory that the process never touched before, which on a large graph is a good part of it.
const LONG: Duration = Duration::from_secs(10);

/// Times of one activity, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// The fastest.
    pub min: f64,
    /// The middle one.
    pub median: f64,
    /// How often it was run.
    pub repetitions: usize,
}

impl Times {
    /// Runs an activity once to warm up and then for at least `budget` and four times. Where the first run takes longer
    /// than ten seconds, one more is timed.
    ///
    /// # Errors
    ///
    /// The first error of the activity.
    pub fn of<E>(budget: Duration, mut activity: impl FnMut() -> Result<(), E>) -> Result<Self, E> {
        let warm_up = Instant::now();
        activity()?;
        let warm_up = warm_up.elapsed();
        let (least, budget) = if warm_up > LONG { (1, Duration::ZERO) } else { (4, budget) };
        let (start, mut times) = (Instant::now(), Vec::new());
        while times.len() < least || start.elapsed() < budget {
            let begin = Instant::now();
            activity()?;
            times.push(begin.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        Ok(Self { min: times[0], median: times[times.len() / 2], repetitions: times.len() })
    }
}

/// What was measured on a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement {
    /// Graphs, nodes and directed edges of the batch.
    pub counts: [usize; 3],
    /// Forward, backward, clipping and AdamW.
    pub training: Times,
    /// Forward in evaluation mode, without recording.
    pub inference: Times,
    /// Eigenpairs and walks of all graphs, without a cache; where there are graphs to prepare.
    pub preparation: Option<Times>,
    /// Useful operations of a training step, in units of 10⁹.
    pub training_gflop: f64,
    /// What is left of them in the order in which the kernels multiply, in units of 10⁹.
    pub executed_gflop: f64,
    /// Useful operations of a forward pass, in units of 10⁹.
    pub inference_gflop: f64,
}

/// Times training steps and inference on a device, and the preparation of the graphs on the processor.
///
/// # Errors
///
/// [`BenchError`] if the device does not exist or the workload is not consistent.
pub fn measure(workload: &Workload, device: DeviceKind, budget: Duration) -> Result<Measurement, BenchError> {
    let plain = device.open()?;
    let recorded = plain.clone().autodiff();
    let config = &workload.recipe.model;
    let train = &workload.recipe.train;
    let mut trainer = Stepper::new(config, train, workload.batch.clone(), &workload.targets, &recorded)?;
    let training = Times::of(budget, || trainer.step())?;

    let model = trainer.model.valid();
    let input = workload.input(&plain)?;
    let inference = Times::of(budget / 2, || {
        // Reading the result back makes sure that it has been computed.
        model.forward(&input, Pass::Eval).into_data();
        Ok::<(), BenchError>(())
    })?;
    let options = config.prepare_options();
    let prepare = || prepare_all(&workload.graphs, &options, &|_| ()).map(drop);
    let preparation = match workload.graphs.is_empty() {
        true => None,
        false => Some(Times::of(budget / 4, prepare)?),
    };
    let layout = &workload.batch.layout;
    let counts = [layout.num_graphs(), layout.num_nodes(), layout.num_edges()];
    let [graphs, nodes, edges] = counts;
    Ok(Measurement {
        counts,
        training,
        inference,
        preparation,
        training_gflop: training_flops(config, graphs, nodes, edges) / 1e9,
        executed_gflop: executed_training_flops(config, graphs, nodes, edges) / 1e9,
        inference_gflop: forward_flops(config, graphs, nodes, edges) / 1e9,
    })
}

/// Times training steps alone, on a device that records for gradients.
///
/// # Errors
///
/// [`BenchError`] if batch and targets do not fit the model.
pub fn time_training<C: Architecture>(
    config: &C,
    train: &TrainConfig,
    batch: Batch,
    targets: &[f32],
    recorded: &burn::tensor::Device,
    budget: Duration,
) -> Result<Times, BenchError> {
    let mut trainer = Stepper::new(config, train, batch, targets, recorded)?;
    Times::of(budget, || trainer.step())
}

/// A model in training on one batch, over and over.
struct Stepper<'a, C: Architecture> {
    config: &'a C,
    train: &'a TrainConfig,
    targets: &'a [f32],
    model: C::Model,
    input: <C::Model as Model>::Input,
    optimizer: AdamW,
    steps: u64,
}

impl<'a, C: Architecture> Stepper<'a, C> {
    fn new(
        config: &'a C,
        train: &'a TrainConfig,
        batch: Batch,
        targets: &'a [f32],
        device: &burn::tensor::Device,
    ) -> Result<Self, BenchError> {
        let model = config.build(0, device)?;
        let input = model.input(batch, device)?;
        let optimizer = AdamW::new(AdamWSettings::with_decay(train.weight_decay));
        Ok(Self { config, train, targets, model, input, optimizer, steps: 0 })
    }

    fn step(&mut self) -> Result<(), BenchError> {
        let (train, targets) = (self.train, self.targets);
        self.steps += 1;
        let pass = self.config.gradient_pass(&self.model, &self.input, self.steps, train)?;
        let [rows, columns] = pass.output().dims();
        let values: Vec<f32> = pass.output().clone().into_data().try_to_vec().unwrap_or_default();
        let value = loss::evaluate(
            train,
            Rows { outputs: &values, columns, targets, target_columns: targets.len() / rows.max(1) },
        )?;
        let Some(value) = value else { return Ok(()) };
        let gradients = pass.gradients(&value);
        let scale = clip_factor(gradients.norm(), train.clip_norm);
        self.model = self.optimizer.step(self.model.clone(), &gradients, train.learning_rate, scale)?;
        Ok(())
    }
}
