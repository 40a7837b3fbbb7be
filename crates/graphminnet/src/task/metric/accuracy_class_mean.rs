//! Mean over the classes that occur of the share of right answers within the class (recall). The literature on
//! stochastic block models calls it weighted or "SBM" accuracy. A class without labels has no recall and is left out.

use super::{Answer, Undefined};
use std::collections::BTreeMap;

pub(super) fn accuracy_class_mean(answers: &[Answer]) -> Result<f64, Undefined> {
    let mut by_class: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for answer in answers {
        let (right, all) = by_class.entry(answer.truth).or_default();
        *right += usize::from(answer.said == answer.truth);
        *all += 1;
    }
    if by_class.is_empty() {
        return Err(Undefined::NoLabels);
    }
    let recalls: f64 = by_class.values().map(|(right, all)| *right as f64 / *all as f64).sum();
    Ok(recalls / by_class.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_class_weighs_as_much_as_a_frequent_one_and_an_absent_one_nothing() {
        // Class 0: 4 of 4 right; class 2: 0 of 1 (answered with the absent class 1).
        let answers: Vec<Answer> =
            [(0, 0), (0, 0), (0, 0), (0, 0), (1, 2)].map(|(said, truth)| Answer { said, truth }).into();
        assert_eq!(accuracy_class_mean(&answers), Ok(0.5));
    }
}
