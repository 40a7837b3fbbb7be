//! Share of right answers.

use super::{Answer, Undefined};

pub(super) fn accuracy(answers: &[Answer]) -> Result<f64, Undefined> {
    if answers.is_empty() {
        return Err(Undefined::NoLabels);
    }
    Ok(answers.iter().filter(|answer| answer.said == answer.truth).count() as f64 / answers.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_four() {
        let answers: Vec<Answer> =
            [(0, 0), (1, 1), (2, 2), (0, 1)].map(|(said, truth)| Answer { said, truth }).into();
        assert_eq!(accuracy(&answers), Ok(0.75));
    }
}
