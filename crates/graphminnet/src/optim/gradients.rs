//! Gradients of all parameters by name, and what is done to them before a step: accumulation and clipping.

use crate::weights;
use burn::module::Module;
use burn::tensor::Gradients;
use graphminnet_kernels::adamw::sum_of_squares;

/// The gradient of every parameter, in the order of the model's structure; `None` where it did not take part.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NamedGradients {
    members: Vec<(String, Option<Vec<f32>>)>,
}

impl NamedGradients {
    /// Takes the gradients of a module's parameters out of a backward pass.
    pub fn of<M: Module>(module: &M, gradients: &Gradients) -> Self {
        Self { members: weights::named_gradients(module, gradients) }
    }

    /// Gradients by name.
    pub fn new(members: Vec<(String, Option<Vec<f32>>)>) -> Self {
        Self { members }
    }

    /// Names and gradients.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<&[f32]>)> {
        self.members.iter().map(|(name, gradient)| (name.as_str(), gradient.as_deref()))
    }

    /// Whether there is no gradient at all.
    pub fn is_empty(&self) -> bool {
        self.members.iter().all(|(_, gradient)| gradient.is_none())
    }

    /// Adds the gradients of another pass through the same model.
    pub fn add(&mut self, other: Self) {
        if self.members.is_empty() {
            *self = other;
            return;
        }
        for ((_, mine), (_, theirs)) in self.members.iter_mut().zip(other.members) {
            match (mine, theirs) {
                (Some(mine), Some(theirs)) => mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b),
                (mine @ None, Some(theirs)) => *mine = Some(theirs),
                (_, None) => {}
            }
        }
    }

    /// Drops the gradients of parameters that do not move.
    pub fn retain(&mut self, moves: impl Fn(&str) -> bool) {
        for (name, gradient) in &mut self.members {
            if !moves(name) {
                *gradient = None;
            }
        }
    }

    /// Euclidean norm of all gradients together, summed in double precision and always in the same order.
    pub fn norm(&self) -> f64 {
        self.iter().filter_map(|(_, gradient)| gradient).map(sum_of_squares).sum::<f64>().sqrt()
    }

    /// The first parameter whose gradient is not finite.
    pub fn first_nonfinite(&self) -> Option<&str> {
        self.iter()
            .find(|(_, gradient)| {
                gradient.is_some_and(|values| values.iter().any(|value| !value.is_finite()))
            })
            .map(|(name, _)| name)
    }
}

/// Factor that brings gradients of the given global norm down to `limit`: `min(1, limit/(norm + 1e-6))`.
pub fn clip_factor(norm: f64, limit: f64) -> f64 {
    (limit / (norm + 1e-6)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accumulation_adds_and_keeps_parameters_that_took_part_once() {
        let named = |a: Option<Vec<f32>>, b: Option<Vec<f32>>| {
            NamedGradients::new(vec![("a".into(), a), ("b".into(), b)])
        };
        let mut total = NamedGradients::default();
        total.add(named(Some(vec![3.0]), None));
        total.add(named(Some(vec![0.0]), Some(vec![4.0])));
        assert_eq!(total, named(Some(vec![3.0]), Some(vec![4.0])));
        assert_eq!(total.norm(), 5.0);
        assert_eq!(total.first_nonfinite(), None);
        total.add(named(None, Some(vec![f32::INFINITY])));
        assert_eq!(total.first_nonfinite(), Some("b"));
    }

    #[test]
    fn short_gradients_are_not_stretched() {
        assert_eq!(clip_factor(0.5, 1.0), 1.0);
        assert!((clip_factor(4.0, 1.0) - 1.0 / 4.000001).abs() < 1e-12);
    }
}
