//! One graph that several machines hold parts of: every step is one pass through all of it.
//!
//! ```text
//! whole graph ─ Partition ─→ parts ─ a thread each, consecutive ones on each host ─→ Team of as many ranks as parts
//! each part:  its nodes and their incoming edges ─ passes with sums and borders in common ─→ gradients
//!             gradients of all parts, added up in their order ─→ the same step on every part
//! ```
//!
//! What is computed depends on the parts and not on where they are, so any number of hosts comes to the same bits.

use super::together::Part;
use super::{Accumulated, Outcome, Settings, Training};
use crate::bundle::{Answers, Description, read_outputs};
use crate::config::{Loss, TrainConfig, no_parts};
use crate::model::Model;
use crate::nn::Pass;
use crate::ops::values;
use crate::task::loss::{LossValue, Weighing};
use crate::task::{Rows, loss};
use crate::train::evaluate::pass_over;
use crate::train::event::Observer;
use crate::train::in_parts::{DataInParts, Outline};
use crate::train::run::is_everywhere;
use crate::train::{Architecture, SeedDir, TrainError, TrainingData};
use crate::weights;
use burn::module::Module;
use burn::tensor::Device;
use graphminnet_data::batch::Batch;
use graphminnet_data::exchange::{Exchange, Team};
use graphminnet_data::partition::Connection;
use graphminnet_data::rng;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Makes the data of the part that a rank has.
type MakePart<'a> = dyn Fn(&Arc<dyn Exchange>) -> Result<TrainingData, TrainError> + Sync + 'a;

/// Trains one seed on the only graph of the data in `train.parts` parts, which the hosts of an exchange share.
///
/// All hosts call this with the same settings and data; the exchange of the settings is not used. Rank 0 has the directory
/// and the observer.
///
/// # Errors
///
/// [`TrainError`]; whatever was saved before stays usable.
pub fn train_in_parts<C: Architecture + Sync>(
    settings: &Settings<'_, C>,
    hosts: &Arc<dyn Exchange>,
    data: &TrainingData,
    directory: Option<&SeedDir>,
    observer: &mut dyn Observer,
) -> Result<Outcome, TrainError> {
    let (train, parts) = (settings.train, settings.train.parts.unwrap_or(1));
    check_parts(settings.model, train, &settings.device, &**hosts, parts)?;
    let (data, graphs) = DataInParts::cut(data, train, &**hosts)?;
    train_own(settings, hosts, &data.with_graphs(graphs.into_own()), directory, observer)
}

/// The same where every host has its own parts alone.
pub(in crate::train) fn train_own<C: Architecture + Sync>(
    settings: &Settings<'_, C>,
    hosts: &Arc<dyn Exchange>,
    data: &DataInParts,
    directory: Option<&SeedDir>,
    observer: &mut dyn Observer,
) -> Result<Outcome, TrainError> {
    data.tell(observer);
    let first = hosts.share(data.parts).start;
    let make = |member: &Arc<dyn Exchange>| {
        let mut data = data.own[member.rank() - first].clone();
        if let Some(sample) = Arc::make_mut(&mut data.dataset).samples.first_mut() {
            sample.prepared = Connection::establish(Arc::clone(member), sample.prepared.clone());
        }
        Ok(data)
    };
    train_with(settings, hosts, (data.parts, &make), data.outline.as_ref(), directory, observer)
}

/// The same for a graph that nobody has as a whole: `make` gives the data of a part, connected with the others, to the rank
/// that has it; it is called on all ranks together.
///
/// # Errors
///
/// As [`train_in_parts`].
pub fn train_parts<C: Architecture + Sync>(
    settings: &Settings<'_, C>,
    hosts: &Arc<dyn Exchange>,
    (parts, make): (usize, &MakePart<'_>),
    directory: Option<&SeedDir>,
    observer: &mut dyn Observer,
) -> Result<Outcome, TrainError> {
    train_with(settings, hosts, (parts, make), None, directory, observer)
}

fn train_with<C: Architecture + Sync>(
    settings: &Settings<'_, C>,
    hosts: &Arc<dyn Exchange>,
    (parts, make): (usize, &MakePart<'_>),
    outline: Option<&Outline>,
    directory: Option<&SeedDir>,
    observer: &mut dyn Observer,
) -> Result<Outcome, TrainError> {
    check_parts(settings.model, settings.train, &settings.device, &**hosts, parts)?;
    let first = |member: &Arc<dyn Exchange>| {
        watched(member, || one_part(settings, member, make, outline, directory, observer))
    };
    let other = |member: &Arc<dyn Exchange>| {
        watched(member, || one_part(settings, member, make, None, None, &mut ()))
    };
    let outcomes = Team::run(hosts, parts, first, other)?;
    Ok(outcomes.into_iter().next().unwrap_or(Outcome::Assisted))
}

/// Ends all hosts if a part fails alone: the others would wait for it.
fn watched<T>(
    member: &Arc<dyn Exchange>,
    work: impl FnOnce() -> Result<T, TrainError>,
) -> Result<T, TrainError> {
    work().inspect_err(|error| {
        if member.rank() > 0 && !is_everywhere(error) {
            member.give_up(&error.to_string());
        }
    })
}

fn one_part<C: Architecture>(
    settings: &Settings<'_, C>,
    member: &Arc<dyn Exchange>,
    make: &MakePart<'_>,
    outline: Option<&Outline>,
    directory: Option<&SeedDir>,
    observer: &mut dyn Observer,
) -> Result<Outcome, TrainError> {
    let data = make(member)?;
    let Settings { name, model, train, edges, seed, ref device, interrupt, .. } = *settings;
    let device = device.clone();
    let settings = Settings { name, model, train, edges, seed, device, interrupt, exchange: &**member };
    let mut training = Training::start(&settings, None, &data, directory, observer)?;
    training.outline = outline;
    training.run()
}

/// Fails if this cannot be trained in parts.
pub(in crate::train) fn check_parts(
    model: &impl Architecture,
    train: &TrainConfig,
    device: &Device,
    hosts: &dyn Exchange,
    parts: usize,
) -> Result<(), TrainError> {
    train.check()?;
    model.check_parts()?;
    if hosts.size() > parts {
        let expected = format!("at least {}, the number of ranks: each has a part or more", hosts.size());
        return Err(no_parts("train.parts", parts, &expected).into());
    }
    if matches!(train.loss, Loss::WeightedCrossEntropy | Loss::WeightedBinaryCrossEntropy) {
        let expected =
            "a loss without weights for a graph in parts; those of classes are taken from all labels";
        return Err(no_parts("train.loss", train.loss, expected).into());
    }
    if !crate::ops::on_cpu(device) {
        let expected = "the device cpu; others cannot train a graph in parts yet";
        return Err(no_parts("train.parts", parts, expected).into());
    }
    Ok(())
}

impl<C: Architecture> Training<'_, C> {
    /// What the selected model gives for all nodes, in their order, where an outline of them is; all ranks call this together.
    pub(super) fn selected_outputs(&self, last: &C::Model) -> Result<Option<Vec<f32>>, TrainError> {
        let exchange = self.settings.exchange;
        if !exchange.any(self.outline.is_some()) || self.data.splits.test.is_empty() {
            return Ok(None);
        }
        let model = match &self.best_weights {
            None => last.clone(),
            Some(best) => weights::from_bytes(self.model.valid(), best)?,
        };
        let never = AtomicBool::new(false);
        let device = &self.settings.device;
        let passed = pass_over(&model, self.data, vec![vec![0]], device, &never, |_| Pass::Eval)?;
        let mut outputs =
            exchange.gather_numbers(0, &passed.map(|passed| passed.outputs).unwrap_or_default());
        let spread = self.settings.train.spread();
        read_outputs(&spread, self.scaler.as_ref(), &mut outputs, model.out_dim());
        Ok(self.outline.map(|outline| outline.in_order(&outputs, model.out_dim())))
    }

    /// These as a user of the model file would get them.
    pub(super) fn answers(&self, about: &Description, outputs: Vec<f32>) -> Answers {
        let rows = outputs.len() / about.model.out_dim.max(1);
        Answers::of_one_graph(about, rows, vec![outputs])
    }

    /// Loss and gradients of one pass through all parts. The estimates of norms are the same on all ranks afterwards, because
    /// the statistics are.
    ///
    /// # Errors
    ///
    /// [`TrainError::NonFinite`] on rank 0 and [`TrainError::OnRank`] on the others.
    pub(super) fn accumulate_in_parts(
        &mut self,
        mut batch: Batch,
        number: usize,
    ) -> Result<Accumulated, TrainError> {
        let (train, exchange) = (self.settings.train, self.settings.exchange);
        let (epoch, samples) = (self.state.position.epoch, batch.samples.clone());
        let mut targets = self.data.training_targets(&mut batch);
        let (columns, target_columns) = (self.model.out_dim(), self.data.target_columns());
        let input = self.model.input(batch, &self.settings.device.clone().autodiff())?;
        let seed = rng::stream(self.settings.seed, "dropout", &[epoch as u64, number as u64]).next_u64();
        let pass = self.settings.model.gradient_pass(&self.model, &input, seed, train)?;
        let outputs = values(pass.output().clone());
        targets.truncate(outputs.len() / columns.max(1) * target_columns);
        if let Some(scaler) = &self.scaler {
            scaler.scale(&mut targets);
        }
        let rows = Rows { outputs: &outputs, columns, targets: &targets, target_columns };
        // The only graph counts as much as itself.
        let weighing = Weighing { rows: &[], columns: &self.task_weights, bounds: &[] };
        // A part without labels has a gradient of nothing, but the others need it to get theirs.
        let nothing = || LossValue { value: 0.0, labels: 0, gradient: vec![0.0; outputs.len()] };
        let mut value = loss::evaluate_weighing(train, rows, weighing)?.unwrap_or_else(nothing);
        let mut labels = [0.0f64];
        exchange.chain(&mut labels, |_, labels| labels[0] += value.labels as f64);
        let share = value.labels as f64 / labels[0].max(1.0);
        value.gradient.iter_mut().for_each(|slope| *slope = (f64::from(*slope) * share) as f32);

        let first = usize::from(exchange.rank() == 0);
        let mut sum = Accumulated {
            graphs: first * samples.len(),
            loss: value.value * value.labels as f64,
            labels: value.labels,
            ..Accumulated::default()
        };
        if labels[0] == 0.0 {
            if let Some(model) = pass.abandon() {
                self.model = model;
            }
            sum.skipped = first;
        } else {
            sum.gradients = pass.gradients(&value);
            sum.used = first;
        }
        let sizes = weights::parameter_sizes(&self.model);
        let parts = vec![Part::new(&sum, &sizes, Vec::new())];
        let sum = self.fold(parts, &sizes, Vec::new(), None)?;
        let what = match (sum.loss.is_finite(), sum.gradients.norm().is_finite()) {
            (true, true) => return Ok(sum),
            (false, _) => "loss",
            (true, false) => "gradient",
        };
        let place = sum.gradients.first_nonfinite().map(|name| format!("parameter {name}"));
        let error = self.not_finite(what, place, &samples, number)?;
        match exchange.rank() {
            0 => Err(error),
            _ => Err(TrainError::OnRank { rank: 0, message: error.to_string() }),
        }
    }
}
