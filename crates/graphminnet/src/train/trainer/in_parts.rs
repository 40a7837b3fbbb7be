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
use crate::config::{Loss, PartitionBy, TrainConfig};
use crate::model::Model;
use crate::ops::values;
use crate::task::loss::{LossValue, Weighing};
use crate::task::{Rows, loss};
use crate::train::architecture::no_parts;
use crate::train::doubts::doubts;
use crate::train::event::{Observer, TrainEvent};
use crate::train::run::is_everywhere;
use crate::train::{Architecture, SeedDir, TrainError, TrainingData};
use crate::weights;
use graphminnet_data::batch::Batch;
use graphminnet_data::exchange::{Exchange, Team};
use graphminnet_data::fs::sha256;
use graphminnet_data::partition::{Connection, Partition};
use graphminnet_data::preparation::{PreparedDataset, PreparedSample};
use graphminnet_data::{NodeParts, rng};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

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
    check(settings, &**hosts, settings.train.parts.unwrap_or(1))?;
    let (parts, partition) = cut(settings.train, data)?;
    if hosts.rank() == 0 {
        for doubt in doubts(data, settings.train)? {
            observer.event(&TrainEvent::Doubt(doubt));
        }
        let graph = &data.dataset.samples[0].prepared.graph;
        let (edges, cut) = (graph.num_edges(), partition.cut(graph));
        observer.event(&TrainEvent::InParts { parts, edges, cut });
    }
    let make = |member: &Arc<dyn Exchange>| {
        let mut data = part_of(data, &partition, member.rank())?;
        if let Some(sample) = Arc::make_mut(&mut data.dataset).samples.first_mut() {
            sample.prepared = Connection::establish(Arc::clone(member), sample.prepared.clone());
        }
        Ok(data)
    };
    train_parts(settings, hosts, (parts, &make), Some(data), directory, observer)
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
    whole: Option<&TrainingData>,
    directory: Option<&SeedDir>,
    observer: &mut dyn Observer,
) -> Result<Outcome, TrainError> {
    check(settings, &**hosts, parts)?;
    let work: Vec<Arc<dyn Exchange>> =
        Team::of(hosts, parts).into_iter().map(|member| Arc::new(member) as _).collect();
    let threads = (rayon::current_num_threads() / work.len().max(1)).max(1);
    let pool = || rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    std::thread::scope(|scope| {
        let mut work = work.into_iter();
        let Some(member) = work.next() else { return Ok(Outcome::Assisted) };
        let others: Vec<_> = work
            .map(|member| {
                scope.spawn(move || {
                    // A pool of its own: a part that waits for another must not keep it from computing.
                    let run = || watched(&member, || one_part(settings, &member, make, None, None, &mut ()));
                    match pool() {
                        Ok(pool) => pool.install(run),
                        Err(_) => run(),
                    }
                })
            })
            .collect();
        let whole = whole.filter(|_| member.rank() == 0);
        let own = catch_unwind(AssertUnwindSafe(|| {
            watched(&member, || one_part(settings, &member, make, whole, directory, observer))
        }));
        drop(member);
        // A part that failed says more than those that missed it.
        let (mut failure, mut panic, mut outcome) = (None, None, Ok(Outcome::Assisted));
        match own {
            Ok(own) => outcome = own,
            Err(own) => panic = Some(own),
        }
        for other in others {
            match other.join() {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => failure = failure.or(Some(error)),
                Err(other) => panic = panic.or(Some(other)),
            }
        }
        match (outcome, failure, panic) {
            (Err(error), ..) | (_, Some(error), _) => Err(error),
            (_, _, Some(panic)) => resume_unwind(panic),
            (outcome, ..) => outcome,
        }
    })
}

/// Ends all hosts if a part fails alone: the others would wait for it.
fn watched<T>(
    member: &Arc<dyn Exchange>,
    work: impl FnOnce() -> Result<T, TrainError>,
) -> Result<T, TrainError> {
    let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        member.give_up("panicked");
        resume_unwind(panic)
    });
    if let Err(error) = &done
        && member.rank() > 0
        && !is_everywhere(error)
    {
        member.give_up(&error.to_string());
    }
    done
}

fn one_part<C: Architecture>(
    settings: &Settings<'_, C>,
    member: &Arc<dyn Exchange>,
    make: &MakePart<'_>,
    whole: Option<&TrainingData>,
    directory: Option<&SeedDir>,
    observer: &mut dyn Observer,
) -> Result<Outcome, TrainError> {
    let data = make(member)?;
    let Settings { name, model, train, edges, seed, ref device, interrupt, .. } = *settings;
    let device = device.clone();
    let settings = Settings { name, model, train, edges, seed, device, interrupt, exchange: &**member };
    let mut training = Training::start(&settings, None, &data, directory, observer)?;
    training.whole = whole;
    training.run()
}

/// Fails if this cannot be trained in parts.
fn check<C: Architecture>(
    settings: &Settings<'_, C>,
    hosts: &dyn Exchange,
    parts: usize,
) -> Result<(), TrainError> {
    let train = settings.train;
    train.check()?;
    settings.model.check_parts()?;
    if hosts.size() > parts {
        let expected = format!("at least {}, the number of ranks: each has a part or more", hosts.size());
        return Err(no_parts("train.parts", parts, &expected));
    }
    if matches!(train.loss, Loss::WeightedCrossEntropy | Loss::WeightedBinaryCrossEntropy) {
        let expected =
            "a loss without weights for a graph in parts; those of classes are taken from all labels";
        return Err(no_parts("train.loss", train.loss, expected));
    }
    if !crate::ops::on_cpu(&settings.device) {
        return Err(no_parts(
            "train.parts",
            parts,
            "the device cpu; others cannot train a graph in parts yet",
        ));
    }
    Ok(())
}

/// The parts of the only graph.
fn cut(train: &TrainConfig, data: &TrainingData) -> Result<(usize, Partition), TrainError> {
    let parts = train.parts.unwrap_or(1);
    let [only] = data.dataset.samples.as_slice() else {
        let found = format!("{parts} for {} graphs", data.dataset.samples.len());
        return Err(no_parts("train.parts", found, "a single graph; several are trained by accumulate"));
    };
    let graph = &only.prepared.graph;
    let partition = match &train.partition {
        PartitionBy::Order => Partition::in_order(graph.num_nodes(), parts),
        PartitionBy::Greedy => Partition::greedy(graph, parts),
        PartitionBy::File(path) => Partition::read(path, graph.num_nodes(), parts)?,
    };
    Ok((parts, partition))
}

/// The data of a part, not connected yet.
fn part_of(whole: &TrainingData, partition: &Partition, part: usize) -> Result<TrainingData, TrainError> {
    let sample = &whole.dataset.samples[0];
    let prepared = partition.part(&sample.prepared, part)?;
    let columns = whole.target_columns();
    let nodes: Vec<usize> = partition.numbers(part).map(|number| partition.node(number)).collect();
    let rows = nodes.iter().flat_map(|&node| &sample.targets[node * columns..(node + 1) * columns]);
    let mut targets: Vec<f32> = rows.copied().collect();
    targets.resize(prepared.graph.num_nodes() * columns, f32::NAN);
    let node_parts = whole.node_parts.as_ref().map(|parts| {
        let all = parts.graph(0);
        NodeParts::new(vec![nodes.iter().map(|&node| all.get(node).copied().flatten()).collect()])
    });
    let PreparedDataset { name, schema, options, .. } = &*whole.dataset;
    let dataset = PreparedDataset {
        name: name.clone(),
        schema: schema.clone(),
        options: options.clone(),
        samples: vec![PreparedSample { id: sample.id.clone(), prepared, targets }],
        official_split: None,
    };
    // The same graph in other parts has other sums.
    let order =
        (0..partition.nodes() as u64).flat_map(|number| (partition.node(number) as u64).to_le_bytes());
    let offsets = partition.offsets().iter().flat_map(|offset| offset.to_le_bytes());
    let parts = sha256(&order.chain(offsets).collect::<Vec<u8>>());
    Ok(TrainingData {
        dataset: Arc::new(dataset),
        node_parts,
        fingerprint: format!("{} in parts {parts}", whole.fingerprint),
        ..whole.clone()
    })
}

impl<C: Architecture> Training<'_, C> {
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
