//! The columns of predictions in a table, and the cells of a row.
//!
//! | columns | of |
//! |---|---|
//! | `pred_<target>` | a number, the probability of yes, or the most probable class where classes have names |
//! | `prob_<class>` | the probability of each class, or of the positive one of two |
//! | `std_<target>` or `std_<class>` | how far several models, or samples, are apart (ddof = 0); with the loss `mean_variance` also how unsure each is |
//! | `q05_<target>` | a quantile besides the median, with the loss `quantile` |
//! | `low_<target>`, `high_<target>` | a conformal interval around a number |
//! | `set_<target>` | a conformal set: names of classes, separated by `\|` |
//! | `cal_<target>` or `cal_<class>` | the probability of yes, corrected on the calibration |

use super::{AnswerKind, AnswerRow, Conformal, Description, Ensemble};
use crate::config::Spread;
use graphminnet_data::{EdgeDirection, Graph, Level};

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

    /// The same with deviations, whatever the number of models: of samples.
    pub fn with_deviations(self) -> Self {
        Self { several: true, ..self }
    }

    /// Whether there are deviations beside those that are part of every prediction.
    fn adds_deviations(&self) -> bool {
        self.several && self.description.spread() != Spread::Normal
    }

    /// Names of the columns.
    pub fn columns(&self) -> Vec<String> {
        let targets = &self.description.schema.targets;
        let kind = self.description.answers();
        let mut names = self.description.prediction_columns();
        if self.adds_deviations() {
            let spread = self.description.classes_with_probability();
            let spread = if spread.is_empty() { targets.clone() } else { spread };
            names.extend(spread.iter().map(|name| format!("std_{name}")));
        }
        if self.conformal.is_some() {
            names.extend(targets.iter().flat_map(|target| match kind {
                AnswerKind::Numbers => vec![format!("low_{target}"), format!("high_{target}")],
                AnswerKind::Binary | AnswerKind::Classes => vec![format!("set_{target}")],
            }));
            if kind == AnswerKind::Binary {
                let named = self.description.classes_with_probability();
                let named = if named.is_empty() { targets.clone() } else { named };
                names.extend(named.iter().map(|name| format!("cal_{name}")));
            }
        }
        names
    }

    /// For every column, whether it holds numbers; others hold names of classes.
    pub fn are_numbers(&self) -> Vec<bool> {
        let (count, kind) = (self.columns().len(), self.description.answers());
        let has_class = kind == AnswerKind::Classes || self.description.positive_class().is_some();
        let has_sets = self.conformal.is_some() && kind != AnswerKind::Numbers;
        let sets = if has_sets { self.description.schema.num_targets() } else { 0 };
        // After the sets of binary answers come as many corrected probabilities.
        let corrected = if kind == AnswerKind::Binary { sets } else { 0 };
        let is_set = |column: usize| (count - sets - corrected..count - corrected).contains(&column);
        (0..count).map(|column| !(is_set(column) || has_class && column == 0)).collect()
    }

    /// The cells of a row.
    pub fn cells(&self, row: &AnswerRow<'_>) -> Vec<String> {
        let kind = self.description.answers();
        let mut cells = self.description.prediction_cells(row);
        let is_spread = self.adds_deviations() || self.conformal.is_some() && kind == AnswerKind::Numbers;
        let deviations = if is_spread { row.deviations() } else { Vec::new() };
        if self.adds_deviations() {
            cells.extend(deviations.iter().map(|value| number(kind, *value)));
        }
        if let Some(conformal) = self.conformal {
            let values = row.values();
            for target in 0..self.description.schema.num_targets() {
                match kind {
                    AnswerKind::Numbers => {
                        let value = values.get(target).copied().unwrap_or(f64::NAN);
                        let spread = deviations.get(target).copied().unwrap_or(0.0);
                        let (low, high) = conformal.interval(target, value, spread);
                        cells.extend([low, high].map(|end| number(kind, end)));
                    }
                    AnswerKind::Binary | AnswerKind::Classes => {
                        let set = conformal.set(target, &values).into_iter();
                        let names: Vec<String> =
                            set.map(|class| self.description.class_name(class)).collect();
                        cells.push(names.join("|"));
                    }
                }
            }
            if kind == AnswerKind::Binary {
                let corrected = values.iter().enumerate();
                cells.extend(corrected.map(|(target, yes)| number(kind, conformal.corrected(target, *yes))));
            }
        }
        cells
    }
}

impl Description {
    /// Where each row of a graph's answer belongs: nothing, a node, or the two ends of an edge or pair. `None` for the
    /// reverse of an edge that was read both ways, and of a bond: it has the same answer.
    pub fn places(&self, graph: &Graph) -> Vec<Option<Vec<u32>>> {
        match self.schema.level {
            Level::Graph => vec![Some(Vec::new())],
            Level::Node => (0..graph.num_nodes() as u32).map(|node| Some(vec![node])).collect(),
            Level::Pair => graph.pairs().iter().map(|ends| Some(ends.to_vec())).collect(),
            Level::Edge => {
                let mut places = vec![None; graph.num_edges()];
                let is_molecule = self.schema.molecules.is_some() && graph.is_in_pairs();
                let is_doubled = is_molecule || self.edges == Some(EdgeDirection::BothWays);
                let both_ways = is_doubled && self.model.ends_symmetric;
                for at in graph.written_edges(both_ways) {
                    places[at] = graph.edges().get(at).map(|ends| ends.to_vec());
                }
                places
            }
        }
    }
}

/// The cells that hold predictions in a table.
///
/// Numbers and yes/no answers (as the probability of yes) have a column `pred_<target>` each; a class has one such
/// column with its name, and the probability of every class in `prob_<class>`. Of two classes with names, the positive
/// one has a probability. After numbers come their deviations or quantiles, where the model learnt them.
impl Description {
    /// Names of the columns.
    pub fn prediction_columns(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.schema.targets.iter().map(|target| format!("pred_{target}")).collect();
        names.extend(self.classes_with_probability().iter().map(|class| format!("prob_{class}")));
        let targets = self.schema.targets.iter();
        match self.spread() {
            Spread::None => {}
            Spread::Normal => names.extend(targets.map(|target| format!("std_{target}"))),
            spread @ Spread::Quantiles(_) => {
                let levels = spread.other_levels();
                let of = |target: &String| -> Vec<String> {
                    levels.iter().map(|level| format!("q{}_{target}", percent(*level))).collect()
                };
                names.extend(targets.flat_map(of));
            }
        }
        names
    }

    /// Names of the classes that have a probability of their own; none where it is that of a target.
    pub fn classes_with_probability(&self) -> Vec<String> {
        match self.answers() {
            AnswerKind::Classes => (0..self.model.out_dim).map(|class| self.class_name(class)).collect(),
            _ => self.positive_class().into_iter().map(str::to_owned).collect(),
        }
    }

    /// The class that a row is given, by name: the most probable one, where classes have names.
    pub fn said_class(&self, row: &AnswerRow<'_>) -> Option<String> {
        let class = match self.positive_class() {
            None => row.class()?,
            Some(_) => usize::from(row.values().first().is_some_and(|yes| *yes > 0.5)),
        };
        Some(self.class_name(class))
    }

    /// The cells of one row.
    pub fn prediction_cells(&self, row: &AnswerRow<'_>) -> Vec<String> {
        let learnt = match self.spread() {
            Spread::None => Vec::new(),
            Spread::Normal => row.deviations(),
            Spread::Quantiles(_) => row.quantiles(),
        };
        let numbers = row.values().into_iter().chain(learnt);
        self.said_class(row).into_iter().chain(numbers.map(|value| number(self.answers(), value))).collect()
    }
}

/// Numbers are 32-bit ones, in the shortest text that gives the same again; probabilities have more digits.
fn number(kind: AnswerKind, value: f64) -> String {
    match kind {
        AnswerKind::Numbers => (value as f32).to_string(),
        AnswerKind::Binary | AnswerKind::Classes => value.to_string(),
    }
}

/// A level in per cent, with two digits before the point: 05 for 0.05, 02.5 for 0.025.
fn percent(level: f64) -> String {
    // From its digits, because a product would have others.
    let text = level.to_string();
    let digits = text.strip_prefix("0.").unwrap_or(&text);
    match digits.split_at_checked(2) {
        None => format!("{digits}0"),
        Some((whole, "")) => whole.to_owned(),
        Some((whole, rest)) => format!("{whole}.{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn levels_are_written_in_per_cent() {
        let levels = [0.05, 0.1, 0.95, 0.07, 0.025, 0.999, 0.0005];
        assert_eq!(levels.map(percent), ["05", "10", "95", "07", "02.5", "99.9", "00.05"]);
    }
}
