//! What a source says about labels besides their values.

use crate::Sample;

/// On which side of a bound a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The bound or more.
    AtLeast,
    /// The bound or less.
    AtMost,
}

/// A label of which a bound is known, such as `>3.5`. A prediction that equals it costs nothing, so that `>` and `>=` mean
/// the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Its place among the targets of its graph.
    pub place: usize,
    /// The bound.
    pub value: f32,
    /// Where the value is.
    pub side: Side,
}

/// What qualifies the labels of a data set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Qualifiers {
    /// How much every graph counts in training, as the source says it: not negative, one entry per graph. Empty where all
    /// count alike.
    pub weights: Vec<f32>,
    /// What is known of labels that are missing, one list per graph. Empty where there is nothing.
    pub bounds: Vec<Vec<Bound>>,
}

impl Qualifiers {
    /// Of all graphs; lists without an entry say nothing.
    pub(crate) fn new(weights: Vec<f32>, bounds: Vec<Vec<Bound>>) -> Self {
        let says_nothing = bounds.iter().all(Vec::is_empty);
        Self { weights, bounds: if says_nothing { Vec::new() } else { bounds } }
    }

    /// Number of labels that are bounds.
    pub fn num_bounds(&self) -> usize {
        self.bounds.iter().map(Vec::len).sum()
    }

    /// What a person should know about the bounds, a sentence per column that has some.
    pub(crate) fn describe_bounds(&self, targets: &[String], samples: &[Sample]) -> Vec<String> {
        let mut found = Vec::new();
        for (column, name) in targets.iter().enumerate() {
            let mut bounds = self.bounds.iter().flatten().filter(|bound| bound.place == column);
            let Some(first) = bounds.next() else { continue };
            let bounds = 1 + bounds.count();
            let of_column = samples.iter().filter_map(|sample| sample.targets.get(column));
            let labels = bounds + of_column.filter(|label| !label.is_nan()).count();
            let sign = if first.side == Side::AtLeast { '>' } else { '<' };
            found.push(format!(
                "{bounds} of the {labels} labels of `{}` are bounds, such as {sign}{}: training learns on which side the \
                 values are; metrics and calibration count exact labels only",
                crate::escape(name),
                first.value
            ));
        }
        found
    }

    /// The weights such that those of some graphs are 1 in the mean; empty where all count alike, `None` if these graphs
    /// do not count at all.
    pub fn weights_over(&self, graphs: &[usize]) -> Option<Vec<f32>> {
        if self.weights.is_empty() || graphs.is_empty() {
            return Some(self.weights.clone());
        }
        let of = |graph: &usize| self.weights.get(*graph).copied().map_or(0.0, f64::from);
        let mean = graphs.iter().map(of).sum::<f64>() / graphs.len() as f64;
        let scaled = |weight: &f32| (f64::from(*weight) / mean) as f32;
        (mean > 0.0).then(|| self.weights.iter().map(scaled).collect())
    }

    /// What a person should know about the weights of a column.
    pub(crate) fn describe_weights(&self, column: &str) -> Option<String> {
        let [first, rest @ ..] = self.weights.as_slice() else { return None };
        let bounds = |(least, most): (f32, f32), weight: &f32| (least.min(*weight), most.max(*weight));
        let (least, most) = rest.iter().fold((*first, *first), bounds);
        Some(format!(
            "column `{}` weighs rows in the training loss, from {} to {}, and is scaled to a mean of 1 over the training \
             part; metrics count every row alike",
            crate::escape(column),
            least,
            most
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_one_in_the_mean_of_the_graphs_that_train() {
        let of = |weights: &[f32]| Qualifiers { weights: weights.to_vec(), bounds: Vec::new() };
        let found = of(&[1.0, 3.0, 0.0, 8.0]).weights_over(&[0, 1, 2]);
        assert_eq!(found, Some(vec![0.75, 2.25, 0.0, 6.0]));
        assert_eq!(of(&[]).weights_over(&[0, 1]), Some(vec![]));
        assert_eq!(of(&[0.0, 0.0, 5.0]).weights_over(&[0, 1]), None, "nothing that trains counts");
    }
}
