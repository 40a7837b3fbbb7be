//! Unweighted mean over all classes of `F1 = 2·TP / (2·TP + FP + FN)`; 0 for a class that neither occurs nor is
//! predicted.

use super::{Answer, Undefined};

pub(super) fn f1_macro(answers: &[Answer], classes: usize) -> Result<f64, Undefined> {
    if answers.is_empty() {
        return Err(Undefined::NoLabels);
    }
    let (mut right, mut said, mut truth) =
        (vec![0usize; classes], vec![0usize; classes], vec![0usize; classes]);
    let count = |counts: &mut [usize], class: usize| {
        if let Some(count) = counts.get_mut(class) {
            *count += 1;
        }
    };
    for answer in answers {
        count(&mut said, answer.said);
        count(&mut truth, answer.truth);
        if answer.said == answer.truth {
            count(&mut right, answer.said);
        }
    }
    let sum: f64 = (0..classes)
        // 2·TP + FP + FN = said + truth.
        .map(|class| match said[class] + truth[class] {
            0 => 0.0,
            all => 2.0 * right[class] as f64 / all as f64,
        })
        .sum();
    Ok(sum / classes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_class_counts_as_zero() {
        // Class 0: TP 1, FP 1, FN 0 → 2/3. Class 1: TP 1, FP 0, FN 1 → 2/3. Class 2: absent → 0.
        let answers: Vec<Answer> =
            [(0, 0), (0, 1), (1, 1)].map(|(said, truth)| Answer { said, truth }).into();
        let value = f1_macro(&answers, 3).unwrap();
        assert!((value - 4.0 / 9.0).abs() < 1e-12, "{value}");
    }
}
