//! The head of a model that is begun with: whether it answers the same question, and in which units.

use super::{Start, is_of};
use crate::bundle::TargetScaler;
use crate::config::{ModelConfig, Spread};
use crate::weights::NamedTensor;
use graphminnet_data::{MoleculeForm, Schema};

impl Start {
    /// Whether the head is taken over, or why not.
    pub(super) fn keeps_head(
        &self,
        config: &ModelConfig,
        schema: &Schema,
        spread: &Spread,
    ) -> Result<(), String> {
        let theirs = &self.description;
        let other = |what: &str| Err(format!("its {what}"));
        if self.origin.new_head {
            Err("a new one was asked for".to_owned())
        } else if theirs.schema.level != schema.level || theirs.schema.task != schema.task {
            other("task is another")
        } else if theirs.schema.targets != schema.targets {
            other("targets have other names")
        } else if theirs.schema.class_names != schema.class_names {
            other("classes have other names")
        } else if config.graph_numbers() + theirs.model.graph_numbers() > 0
            && descriptors(&theirs.schema) != descriptors(schema)
        {
            other("descriptors are others")
        } else if theirs.spread() != *spread {
            other("outputs are others (a number, mean and variance, or quantiles)")
        } else if theirs.model.out_dim != config.out_dim {
            other("number of outputs is another")
        } else {
            Ok(())
        }
    }
}

/// Whether a tensor is of the head, or of the scale of the descriptors that only the head reads.
pub(super) fn reads_descriptors_or_answers(tensor: &str) -> bool {
    is_of("head", tensor) || is_of("graph_scale", tensor)
}

/// Where the numbers of whole graphs come from, in their order: the basic ones, those of a fingerprint, columns.
pub(super) fn descriptors(schema: &Schema) -> Option<(bool, bool, &[String])> {
    let table = schema.molecules.as_ref()?;
    Some((table.form.basic_descriptors, table.form.morgan_counts, table.descriptors.as_slice()))
}

/// In which ways the molecules of new data are read otherwise than those that a model has learnt from.
pub(super) fn read_otherwise(theirs: &Schema, ours: &Schema) -> Vec<String> {
    let forms = [theirs, ours].map(|schema| schema.molecules.as_ref().map(|table| &table.form));
    let [Some(theirs), Some(ours)] = forms else { return Vec::new() };
    let marks = |form: &MoleculeForm| {
        [
            ("hydrogens as atoms (--add-h)", form.add_hydrogens),
            ("stereo left out (--ignore-stereo)", form.ignore_stereo),
            ("the largest fragment alone (--largest-fragment)", form.largest_fragment),
            ("basic descriptors (--basic-descriptors)", form.basic_descriptors),
            ("counts of a fingerprint (--morgan-counts)", form.morgan_counts),
            ("reactions (--reactions)", form.reactions),
        ]
    };
    let both = marks(theirs).into_iter().zip(marks(ours)).filter(|((_, theirs), (_, ours))| theirs != ours);
    both.map(|((what, _), (_, is_ours))| format!("{} {what}", if is_ours { "with" } else { "without" }))
        .collect()
}

/// Makes the last map of the head answer in the units of other targets: `(y·d + m − m') / d'`, and the logarithm of a variance
/// `s + 2·ln(d/d')` (but near the ends of its range).
pub(super) fn rescale_outputs(
    tensors: &mut [NamedTensor],
    spread: &Spread,
    from: Option<&TargetScaler>,
    to: Option<&TargetScaler>,
) {
    if from == to {
        return;
    }
    let last = |suffix: &str, tensors: &[NamedTensor]| {
        tensors.iter().rposition(|tensor| is_of("head", &tensor.name) && tensor.name.ends_with(suffix))
    };
    let unit = |scaler: Option<&TargetScaler>, at: usize| {
        let part = |values: &[f64], default: f64| values.get(at).copied().unwrap_or(default);
        scaler.map_or((0.0, 1.0), |scaler| (part(&scaler.mean, 0.0), part(&scaler.deviation, 1.0)))
    };
    for (suffix, is_bias) in [(".weight", false), (".bias", true)] {
        let Some(tensor) = last(suffix, tensors).and_then(|at| tensors.get_mut(at)) else { continue };
        let rows = tensor.shape.first().copied().unwrap_or(1).max(1);
        let width = tensor.values.len() / rows;
        for (row, values) in tensor.values.chunks_mut(width.max(1)).enumerate() {
            let targets = (rows / spread.blocks()).max(1);
            let (block, target) = (row / targets, row % targets);
            let ((mean, deviation), (new_mean, new_deviation)) = (unit(from, target), unit(to, target));
            let shift = if is_bias { mean - new_mean } else { 0.0 };
            for value in values {
                *value = match (spread.is_shifted(block), is_bias) {
                    (true, _) => ((f64::from(*value) * deviation + shift) / new_deviation) as f32,
                    (false, true) => (f64::from(*value) + 2.0 * (deviation / new_deviation).ln()) as f32,
                    (false, false) => *value,
                };
            }
        }
    }
}
