//! What a source says about labels besides their values.

/// What qualifies the labels of a data set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Qualifiers {
    /// How much every graph counts in training, as the source says it: not negative, one entry per graph. Empty where all
    /// count alike.
    pub weights: Vec<f32>,
}

impl Qualifiers {
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
        let of = |weights: &[f32]| Qualifiers { weights: weights.to_vec() };
        let found = of(&[1.0, 3.0, 0.0, 8.0]).weights_over(&[0, 1, 2]);
        assert_eq!(found, Some(vec![0.75, 2.25, 0.0, 6.0]));
        assert_eq!(of(&[]).weights_over(&[0, 1]), Some(vec![]));
        assert_eq!(of(&[0.0, 0.0, 5.0]).weights_over(&[0, 1]), None, "nothing that trains counts");
    }
}
