//! Graphs that were set aside for calibration, kept in the model: what it says about them, and what is true.
//!
//! They were neither trained on nor used to choose the epoch, so that intervals made from them keep their promise. As a
//! model keeps its answers, not its errors, several models can be calibrated together.

#[cfg(feature = "train")]
use super::Answer;
use super::{Answers, Bundle, Conformal, ConformalError, Description, Ensemble};
use serde::{Deserialize, Serialize};

/// Most rows that a model keeps; nodes of graphs can be many. Of more, rows that are evenly spread are kept: the first ones
/// of a file may be of one kind.
#[cfg(feature = "train")]
const MAX_ROWS: usize = 20_000;

/// Answers and truth about the graphs of a calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Labels, `[rows, targets]`; NaN where missing.
    #[serde(with = "bits")]
    pub labels: Vec<f32>,
    /// What the outputs of the model stand for, `[rows, columns]`.
    #[serde(with = "bits")]
    pub outputs: Vec<f32>,
    /// How often intervals or sets held the truth on the test part, per target.
    pub tested: Vec<Coverage>,
}

/// How often intervals or sets held the truth about a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    /// The target.
    pub target: String,
    /// The share that was promised.
    pub level: f64,
    /// Labels that the calibration was made from.
    pub calibrated: usize,
    /// Labels that were looked at.
    pub labels: usize,
    /// Of these, those inside their interval or set.
    pub held: usize,
    /// Mean width of the intervals, or size of the sets; `None` where intervals have no end, because the calibration had too
    /// few labels for the level.
    #[serde(default)]
    pub width: Option<f64>,
}

impl Coverage {
    pub(super) fn new(target: &str, level: f64, calibrated: usize) -> Self {
        Self { target: target.to_owned(), level, calibrated, labels: 0, held: 0, width: Some(0.0) }
    }

    pub(super) fn add(&mut self, held: bool, width: f64) {
        self.labels += 1;
        self.held += usize::from(held);
        let mean = self.width.map(|mean| mean + (width - mean) / self.labels as f64);
        self.width = mean.filter(|width| width.is_finite());
    }

    /// The share of labels that were inside; `None` without labels.
    pub fn share(&self) -> Option<f64> {
        (self.labels > 0).then(|| self.held as f64 / self.labels as f64)
    }

    /// Whether the share is so far below the promise that chance does not explain it: by more than two and a half
    /// standard deviations of both samples. Fewer than twenty labels say nothing.
    pub fn is_low(&self) -> bool {
        const ENOUGH: usize = 20;
        if self.labels < ENOUGH {
            return false;
        }
        let variance = self.level * (1.0 - self.level);
        let samples = 1.0 / self.labels.max(1) as f64 + 1.0 / self.calibrated.max(1) as f64;
        self.share().is_some_and(|share| share < self.level - 2.5 * (variance * samples).sqrt())
    }
}

impl Calibration {
    /// Keeps what a model says about labelled graphs, and how often its intervals at a level hold on others.
    ///
    /// # Errors
    ///
    /// [`ConformalError::Level`].
    #[cfg(feature = "train")]
    pub(crate) fn new<'a>(
        about: &Description,
        kept: &[(Answer<'a>, &'a [f32])],
        tested: &[(Answer<'a>, &'a [f32])],
        level: f64,
    ) -> Result<Self, ConformalError> {
        let (mut labels, mut outputs) = (Vec::new(), Vec::new());
        for (answer, truth) in kept {
            labels.extend_from_slice(truth);
            outputs.extend_from_slice(answer.of_first_model());
        }
        let mut kept = Self {
            labels: spread_out(&labels, about.schema.num_targets(), MAX_ROWS),
            outputs: spread_out(&outputs, about.model.out_dim, MAX_ROWS),
            tested: Vec::new(),
        };
        // What is tested is what a user of the model gets: made from the rows that it keeps.
        if let Some(conformal) = fit_together(about, &[&kept], level)? {
            kept.tested = conformal.coverage(tested.iter().cloned());
        }
        Ok(kept)
    }

    /// What a calibration of this model holds, checked against its form.
    pub(super) fn check(&self, about: &Description) -> Result<(), String> {
        let (targets, columns) = (about.schema.num_targets().max(1), about.model.out_dim.max(1));
        if self.labels.len() / targets != self.outputs.len() / columns
            || !self.labels.len().is_multiple_of(targets)
            || !self.outputs.len().is_multiple_of(columns)
        {
            return Err("labels and answers of the calibration differ in number".to_owned());
        }
        match self.outputs.iter().all(|output| output.is_finite()) {
            true => Ok(()),
            false => Err("the calibration holds an answer that is no finite number".to_owned()),
        }
    }
}

impl Ensemble {
    /// Intervals or sets from the graphs that were set aside in training; `None` if the models keep none, or not the
    /// same ones.
    ///
    /// # Errors
    ///
    /// [`ConformalError::Level`].
    pub fn conformal(&self, level: f64) -> Result<Option<Conformal>, ConformalError> {
        let about = self.description();
        let kept: Option<Vec<&Calibration>> =
            self.members().map(|member| member.description().calibration.as_ref()).collect();
        let Some([first, others @ ..]) = kept.as_deref() else { return Ok(None) };
        let same = |a: &[f32], b: &[f32]| a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits()));
        // Labels may be equal of other graphs, too: of rare classes most are no.
        let data = |member: &Bundle| member.description().data.fingerprint.clone();
        let same_data = self.members().skip(1).all(|member| data(member) == about.data.fingerprint);
        if !same_data || others.iter().any(|other| !same(&first.labels, &other.labels)) {
            return Ok(None);
        }
        fit_together(about, kept.as_deref().unwrap_or_default(), level)
    }
}

/// Intervals or sets from what models keep about the same rows; `None` without a model.
fn fit_together(
    about: &Description,
    kept: &[&Calibration],
    level: f64,
) -> Result<Option<Conformal>, ConformalError> {
    let Some(first) = kept.first() else { return Ok(None) };
    let models = kept.iter().map(|kept| kept.outputs.clone()).collect();
    let rows = first.labels.len() / about.schema.num_targets().max(1);
    let answers = Answers::new(about.form(), vec![Ok(0..rows)], models);
    let Ok(answer) = answers.graph(0) else { return Ok(None) };
    let labelled = [(answer, first.labels.as_slice())];
    Conformal::fit(about.answers(), &about.schema.targets, labelled, level).map(Some)
}

/// At most so many rows of a table, evenly spread over all of it.
#[cfg(feature = "train")]
fn spread_out(values: &[f32], columns: usize, most: usize) -> Vec<f32> {
    let rows: Vec<&[f32]> = values.chunks_exact(columns.max(1)).collect();
    let kept = rows.len().min(most);
    (0..kept).flat_map(|at| rows[at * rows.len() / kept]).copied().collect()
}

/// Numbers as the digits of their bits: exact, and with room for those that are missing.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(values: &[f32], serializer: S) -> Result<S::Ok, S::Error> {
        let text: String = values.iter().map(|value| format!("{:08x}", value.to_bits())).collect();
        serializer.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (digits, rest) = text.as_bytes().as_chunks::<8>();
        if !rest.is_empty() {
            return Err(D::Error::custom("expected eight digits per number"));
        }
        let number = |digits: &[u8; 8]| {
            let text = std::str::from_utf8(digits).map_err(D::Error::custom)?;
            u32::from_str_radix(text, 16).map(f32::from_bits).map_err(D::Error::custom)
        };
        digits.iter().map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_comes_back_to_the_last_bit_and_missing_stays_missing() {
        let kept = Calibration {
            labels: vec![1.5, f32::NAN, -0.0],
            outputs: vec![0.1, f32::MIN_POSITIVE, 3e38],
            tested: vec![Coverage { labels: 10, held: 9, width: Some(0.5), ..Coverage::new("y", 0.9, 20) }],
        };
        let text = serde_json::to_string(&kept).unwrap();
        let again: Calibration = serde_json::from_str(&text).unwrap();
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!((bits(&again.labels), bits(&again.outputs)), (bits(&kept.labels), bits(&kept.outputs)));
        assert_eq!(again.tested, kept.tested);
        assert!(serde_json::from_str::<Calibration>(&text.replace("3fc00000", "3fc0000")).is_err());
    }

    #[cfg(feature = "train")]
    #[test]
    fn of_many_rows_those_are_kept_that_are_spread_over_all() {
        let values: Vec<f32> = (0..20).map(|value| value as f32).collect();
        assert_eq!(spread_out(&values, 2, 4), [0.0, 1.0, 4.0, 5.0, 10.0, 11.0, 14.0, 15.0]);
        assert_eq!(spread_out(&values, 2, 10), values);
        assert_eq!(spread_out(&values, 2, 11), values);
        assert!(spread_out(&[], 2, 4).is_empty());
    }

    #[test]
    fn a_width_without_an_end_comes_back() {
        let mut endless = Coverage::new("y", 0.9, 6);
        (0..3).for_each(|_| endless.add(true, f64::INFINITY));
        assert_eq!((endless.held, endless.width), (3, None));
        let text = serde_json::to_string(&endless).unwrap();
        assert_eq!(serde_json::from_str::<Coverage>(&text).unwrap(), endless);
    }

    #[test]
    fn coverage_is_low_where_chance_does_not_explain_it() {
        let coverage =
            |held| Coverage { labels: 100, held, width: Some(1.0), ..Coverage::new("y", 0.9, 100) };
        assert!(coverage(75).is_low());
        assert!(!coverage(84).is_low() && !coverage(100).is_low());
        let few = Coverage { labels: 4, held: 2, ..coverage(0) };
        assert!(!few.is_low(), "two of four say little");
        assert_eq!(Coverage { labels: 0, ..coverage(0) }.share(), None);
    }
}
