//! The columns of predictions in a table, and the cells of a row.
//!
//! | columns | of |
//! |---|---|
//! | `pred_<target>` | a number, the probability of yes, or the most probable class |
//! | `prob_<class>` | the probability of each class, where rows have one |
//! | `std_<target>` or `std_<class>` | how far several models are apart (ddof = 0) |
//! | `low_<target>`, `high_<target>` | a conformal interval around a number |
//! | `set_<target>` | a conformal set: names of classes, separated by `\|` |

use super::{AnswerKind, Answers, Conformal, Description, Ensemble};

/// What is written about a row.
#[derive(Debug, Clone, Copy)]
pub struct PredictionTable<'a> {
    description: &'a Description,
    several: bool,
    conformal: Option<&'a Conformal>,
}

impl<'a> PredictionTable<'a> {
    /// The table of an ensemble, with intervals or sets where there is a calibration.
    pub fn new(ensemble: &'a Ensemble, conformal: Option<&'a Conformal>) -> Self {
        Self { description: ensemble.description(), several: ensemble.len() > 1, conformal }
    }

    /// Names of the columns.
    pub fn columns(&self) -> Vec<String> {
        let targets = &self.description.schema.targets;
        let kind = self.description.answers();
        let mut names = self.description.prediction_columns();
        if self.several {
            match kind {
                AnswerKind::Numbers | AnswerKind::YesNo => {
                    names.extend(targets.iter().map(|target| format!("std_{target}")));
                }
                AnswerKind::Classes => {
                    let classes = 0..self.description.model.out_dim;
                    names.extend(classes.map(|class| format!("std_{}", self.description.class_name(class))));
                }
            }
        }
        if self.conformal.is_some() {
            names.extend(targets.iter().flat_map(|target| match kind {
                AnswerKind::Numbers => vec![format!("low_{target}"), format!("high_{target}")],
                AnswerKind::YesNo | AnswerKind::Classes => vec![format!("set_{target}")],
            }));
        }
        names
    }

    /// The cells of a row.
    pub fn cells(&self, answers: &Answers, row: usize) -> Vec<String> {
        let mut cells = match answers.members() {
            [only] => self.description.prediction_cells(only, row),
            _ => self.mean_cells(answers, row),
        };
        if let Some(conformal) = self.conformal {
            let values = answers.values(row);
            for target in 0..self.description.schema.num_targets() {
                match answers.kind() {
                    AnswerKind::Numbers => {
                        let value = values.get(target).copied().unwrap_or(f64::NAN);
                        let (low, high) = conformal.interval(target, value);
                        cells.extend([(low as f32).to_string(), (high as f32).to_string()]);
                    }
                    AnswerKind::YesNo | AnswerKind::Classes => {
                        let set = conformal.set(target, &values).into_iter();
                        let names: Vec<String> =
                            set.map(|class| self.description.class_name(class)).collect();
                        cells.push(names.join("|"));
                    }
                }
            }
        }
        cells
    }

    fn mean_cells(&self, answers: &Answers, row: usize) -> Vec<String> {
        let (means, deviations) = (answers.values(row), answers.deviations(row));
        let mut cells: Vec<String> = match answers.kind() {
            AnswerKind::Numbers => {
                let numbers = means.iter().chain(&deviations).map(|value| (*value as f32).to_string());
                return numbers.collect();
            }
            AnswerKind::YesNo => Vec::new(),
            AnswerKind::Classes => {
                answers.class(row).map(|class| self.description.class_name(class)).into_iter().collect()
            }
        };
        cells.extend(means.iter().chain(&deviations).map(f64::to_string));
        cells
    }
}
