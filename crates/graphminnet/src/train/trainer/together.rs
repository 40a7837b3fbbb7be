//! Several processes that train one model: what they exchange before a step, and how they agree.
//!
//! Ranks hold consecutive batches of a step. The sum of the gradients goes from rank to rank, each adding its own batches
//! one by one, so that it is the left fold that one process computes, to the bit. The running estimates of norms are a
//! fold of their own in the same message; counts, the wish to stop and a failure follow it. Every rank then takes the same step.

use super::Training;
use super::step::{Accumulated, BatchReport};
use crate::config::TrainConfig;
use crate::nn::estimates::{NOTHING, contributions, estimates, follow, with_estimates};
use crate::optim::NamedGradients;
use crate::train::checkpoint::{Checkpoint, CheckpointProblem};
use crate::train::seen::Seen;
use crate::train::state::TrainState;
use crate::train::{Architecture, TrainError};
use crate::weights;
use graphminnet_data::batch::Batch;
use graphminnet_data::exchange::Exchange;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// A saved state, and what was wrong with others.
pub(super) type Saved = (Checkpoint, Vec<CheckpointProblem>);

/// What all ranks add up besides gradients and estimates: loss, labels, graphs, batches used and skipped, which are exact in
/// double precision; then who wants to stop, and the first rank that failed, counted from 1; then for every parameter the
/// batches that have a gradient of it.
const STOP: usize = 5;
const FAILED: usize = 6;
const PARAMETERS: usize = 7;

/// One batch of a step, or a part of a graph.
pub(super) struct Part {
    /// Gradients, [`NOTHING`] where there are none, then what the batch contributes to the estimates of norms.
    numbers: Vec<f32>,
    counts: Vec<f64>,
}

/// What a rank that failed tells the others.
#[derive(Serialize, Deserialize)]
struct Failure {
    message: String,
    report: Option<BatchReport>,
}

impl<C: Architecture> Training<'_, C> {
    /// The sum of a step's batches over all ranks, given this rank's own. The estimates of norms are where they belong
    /// afterwards.
    ///
    /// # Errors
    ///
    /// Those of a batch, on all ranks if on one.
    pub(super) fn accumulate_together(
        &mut self,
        own: Range<usize>,
        next: &mut dyn FnMut(usize) -> Result<Batch, TrainError>,
    ) -> Result<Accumulated, TrainError> {
        let before = estimates(&self.model);
        let nothing = vec![NOTHING; before.len()];
        let sizes = weights::parameter_sizes(&self.model);
        let mark = self.seen.as_ref().map(Seen::mark);
        let (mut parts, mut failure) = (Vec::with_capacity(own.len()), None);
        for number in own {
            self.model = with_estimates(self.model.clone(), &nothing);
            let mut sum = Accumulated::default();
            match next(number).and_then(|batch| self.accumulate(batch, number, &mut sum)) {
                Ok(()) => parts.push(Part::new(&sum, &sizes, contributions(&self.model))),
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        let sum = self.fold(parts, &sizes, before, failure)?;
        if let (Some(seen), Some(mark)) = (&mut self.seen, mark) {
            seen.gather(mark, self.settings.exchange);
        }
        Ok(sum)
    }

    /// The sum over the batches (or parts of a graph) of all ranks, in their order; estimates of norms follow them from
    /// where they were `before`, unless that is empty.
    pub(super) fn fold(
        &mut self,
        parts: Vec<Part>,
        sizes: &[(String, usize)],
        before: Vec<f32>,
        failure: Option<TrainError>,
    ) -> Result<Accumulated, TrainError> {
        let parameters: usize = sizes.iter().map(|(_, size)| size).sum();
        let exchange = self.settings.exchange;
        let follows = !before.is_empty();
        let mut numbers = vec![NOTHING; parameters];
        numbers.extend(before);
        exchange.chain(&mut numbers, |from, piece| {
            let gradients = parameters.saturating_sub(from).min(piece.len());
            for part in &parts {
                let own = &part.numbers[from..from + piece.len()];
                piece[..gradients].iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
                piece[gradients..].iter_mut().zip(&own[gradients..]).for_each(|(sum, own)| follow(sum, *own));
            }
        });
        let stop = self.settings.interrupt.load(Ordering::Relaxed);
        let rank = exchange.rank();
        let mut counts = vec![0.0f64; PARAMETERS + sizes.len()];
        exchange.chain(&mut counts, |from, piece| {
            for (at, sum) in (from..).zip(piece) {
                parts.iter().for_each(|part| *sum += part.counts[at]);
                match at {
                    STOP if stop => *sum += 1.0,
                    FAILED if failure.is_some() && *sum == 0.0 => *sum = (rank + 1) as f64,
                    _ => {}
                }
            }
        });
        if counts[FAILED] > 0.0 {
            return Err(self.tell_failure(counts[FAILED] as usize - 1, failure)?);
        }
        if follows {
            self.model = with_estimates(self.model.clone(), &numbers[parameters..]);
        }
        let mut rest = &numbers[..parameters];
        let gradients = sizes.iter().zip(&counts[PARAMETERS..]).map(|((name, size), count)| {
            let (own, others) = rest.split_at(*size);
            rest = others;
            (name.clone(), (*count > 0.0).then(|| own.to_vec()))
        });
        Ok(Accumulated {
            gradients: NamedGradients::new(gradients.collect()),
            loss: counts[0],
            labels: counts[1] as usize,
            graphs: counts[2] as usize,
            used: counts[3] as usize,
            skipped: counts[4] as usize,
            stop: counts[STOP] > 0.0,
        })
    }

    /// Lets all ranks know why one failed. That rank itself gets its own error if it is the one that reports to the user.
    fn tell_failure(&mut self, rank: usize, own: Option<TrainError>) -> Result<TrainError, TrainError> {
        let exchange = self.settings.exchange;
        let message = own.as_ref().map_or_else(String::new, ToString::to_string);
        let failure = Failure { message, report: self.unwritten.take() };
        let told = exchange.tell(rank, serde_json::to_vec(&failure).unwrap_or_default());
        match own {
            Some(own) if exchange.rank() == 0 => Ok(own),
            _ => {
                let unreadable = |_| Failure { message: "failed without a word".to_owned(), report: None };
                let Failure { message, report } = serde_json::from_slice(&told).unwrap_or_else(unreadable);
                if let Some(report) = report {
                    self.write_report(&report)?;
                }
                Ok(TrainError::OnRank { rank, message })
            }
        }
    }
}

impl Part {
    pub(super) fn new(sum: &Accumulated, sizes: &[(String, usize)], estimates: Vec<f32>) -> Self {
        let mut counts: Vec<f64> = vec![sum.loss];
        counts.extend([sum.labels, sum.graphs, sum.used, sum.skipped, 0, 0].map(|count| count as f64));
        let mut numbers = Vec::new();
        // A batch without labels has no gradients, not even their names.
        let gradients = sum.gradients.iter().map(|(_, gradient)| gradient).chain(std::iter::repeat(None));
        for ((_, size), gradient) in sizes.iter().zip(gradients) {
            counts.push(f64::from(u8::from(gradient.is_some())));
            match gradient {
                Some(gradient) => numbers.extend(gradient),
                None => numbers.resize(numbers.len() + size, NOTHING),
            }
        }
        numbers.extend(estimates);
        Self { numbers, counts }
    }
}

/// What rank 0 starts from, on every rank.
#[derive(Serialize, Deserialize)]
struct Start {
    config_hash: String,
    data_fingerprint: String,
    seed: u64,
    saved: Option<TrainState>,
    has_best: bool,
    has_average: bool,
    has_seen: bool,
}

/// The state that rank 0 resumes from, on every rank.
///
/// # Errors
///
/// [`TrainError::Unlike`] on a rank that has another configuration or other data than rank 0.
pub(super) fn state_of_rank_0(
    exchange: &dyn Exchange,
    saved: Option<Saved>,
    fresh: &TrainState,
) -> Result<Option<Saved>, TrainError> {
    if exchange.is_alone() {
        return Ok(saved);
    }
    let checkpoint = saved.as_ref().map(|(checkpoint, _)| checkpoint);
    let start = Start {
        config_hash: fresh.config_hash.clone(),
        data_fingerprint: fresh.data_fingerprint.clone(),
        seed: fresh.seed,
        saved: checkpoint.map(|checkpoint| checkpoint.state.clone()),
        has_best: checkpoint.is_some_and(|checkpoint| checkpoint.best.is_some()),
        has_average: checkpoint.is_some_and(|checkpoint| checkpoint.average.is_some()),
        has_seen: checkpoint.is_some_and(|checkpoint| checkpoint.seen.is_some()),
    };
    let rank = exchange.rank();
    let told = exchange.tell(0, serde_json::to_vec(&start).unwrap_or_default());
    let there: Start = serde_json::from_slice(&told)
        .map_err(|error| TrainError::OnRank { rank: 0, message: error.to_string() })?;
    for (what, here, there) in [
        ("settings", &start.config_hash, &there.config_hash),
        ("data", &start.data_fingerprint, &there.data_fingerprint),
        ("seeds", &start.seed.to_string(), &there.seed.to_string()),
    ] {
        if here != there {
            let (here, there) = (here.clone(), there.clone());
            return Err(TrainError::Unlike { what, rank, here, there });
        }
    }
    let Some(state) = there.saved else { return Ok(None) };
    let tell = |bytes: Option<&Vec<u8>>| exchange.tell(0, bytes.cloned().unwrap_or_default());
    let model = tell(checkpoint.map(|checkpoint| &checkpoint.model));
    let optimizer = tell(checkpoint.map(|checkpoint| &checkpoint.optimizer));
    let best = tell(checkpoint.and_then(|checkpoint| checkpoint.best.as_ref()));
    let average = tell(checkpoint.and_then(|checkpoint| checkpoint.average.as_ref()));
    let seen = tell(checkpoint.and_then(|checkpoint| checkpoint.seen.as_ref()));
    if rank == 0 {
        return Ok(saved);
    }
    let (best, average) = (there.has_best.then_some(best), there.has_average.then_some(average));
    let seen = there.has_seen.then_some(seen);
    // Graphs in pieces are trained in one process.
    Ok(Some((Checkpoint { model, optimizer, best, average, carried: None, seen, state }, Vec::new())))
}

/// A warning, where ranks have nothing to do.
pub(super) fn idle_ranks(exchange: &dyn Exchange, train: &TrainConfig) -> Option<String> {
    let (ranks, batches) = (exchange.size(), train.accumulate);
    (batches < ranks).then(|| {
        format!(
            "a step has {batches} batches for {ranks} ranks, and {} of them have nothing to do; \
             ranks share the batches of a step, whose number is train.accumulate",
            ranks - batches
        )
    })
}
