//! Samples of what a model might say: it is asked several times, and every time dropout leaves out other parts of it, as it
//! did in training. How far the samples are apart says how unsure the model is.

use super::infer::{Question, ask, unstopped};
use super::{Answers, Ensemble, MaybeGraph};
use crate::config::ModelConfig;
use crate::nn::Pass;
use graphminnet_data::rng;

/// How samples are drawn. The same numbers give the same samples, whatever the number of threads; which parts are left out
/// for a graph depends on the graphs beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropoutSamples {
    /// Samples of every model, at least 1.
    pub samples: usize,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Graphs that came before, where many are asked about in pieces, so that no two pieces leave out the same.
    pub before: u64,
}

impl DropoutSamples {
    /// The pass of a sample of a model through the batch that begins with this graph.
    pub(super) fn pass(&self, model: usize, sample: usize, graph: usize) -> Pass {
        let place = [model as u64, sample as u64, self.before + graph as u64];
        Pass::Sample { seed: rng::stream(self.seed, "dropout samples", &place).next_u64() }
    }
}

impl ModelConfig {
    /// Whether anything is dropped in training.
    fn has_dropout(&self) -> bool {
        let rates = [self.drop_encoder, self.drop_ffn, self.drop_gmn, self.drop_local, self.drop_res];
        rates.iter().any(|rate| *rate > 0.0)
    }
}

impl Ensemble {
    /// Whether all models have dropout, without which samples are all alike.
    pub fn has_dropout(&self) -> bool {
        self.members().all(|member| member.description().model.has_dropout())
    }

    /// Samples of what the models say about some graphs, in their order: an ensemble of so many times its models. What
    /// they say is the mean over samples, and how far they are apart the deviation ([`AnswerRow`](super::AnswerRow)).
    pub fn sample(&self, graphs: &[impl MaybeGraph], samples: DropoutSamples) -> Answers {
        let (first, others) = self.split();
        unstopped(|stop| ask(first, others, graphs, Question::Samples(samples), stop))
    }
}
