//! `metrics.jsonl`: the numbers of every epoch, one object per line, its keys in alphabetical order.
//!
//! ```text
//! {"clipped_steps":0,"epoch":1,"graphs_per_second":122.4,…,"split":"train","steps":5}
//! {"epoch":1,"loss":1.38,"mae":1.21,"split":"valid","worst_error":1.49,"worst_id":"0"}
//! ```
//!
//! Epochs count from 1, as on the screen; files of earlier versions, whose first epoch is 0, are read as if they did.
//!
//! [`EpochRecord`] writes the file and reads it, whoever wants to know.

use super::TrainError;
use crate::config::MetricKind;
use graphminnet_data::{Split, fs};
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::path::Path;

/// Name of the file in the folder of a seed.
pub const METRICS: &str = "metrics.jsonl";

/// One line: what an epoch did to one part of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "split", rename_all = "snake_case")]
pub enum EpochRecord {
    /// The training part.
    Train(TrainingRecord),
    /// The validation part.
    Valid(EvaluationRecord),
    /// The test part.
    Test(EvaluationRecord),
}

/// What training did in an epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainingRecord {
    /// Steps whose gradient was clipped.
    pub clipped_steps: usize,
    /// The epoch, from 1.
    pub epoch: usize,
    /// Training graphs per second.
    pub graphs_per_second: f64,
    /// Largest norm of a gradient before clipping.
    pub largest_gradient_norm: f64,
    /// Learning rate.
    pub learning_rate: f64,
    /// Mean loss over the labels seen, while the weights were moving.
    pub loss: f64,
    /// Mean norm of the gradients before clipping.
    pub mean_gradient_norm: f64,
    /// The metric of what the model answered while the weights were moving; `None` where it is not kept.
    #[serde(flatten)]
    pub score: Option<ScoreRecord>,
    /// Wall-clock seconds, evaluation included.
    pub seconds: f64,
    /// Batches that were skipped for want of labels.
    pub skipped_batches: usize,
    /// Optimizer steps.
    pub steps: usize,
}

/// How good the weights are on a part after an epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvaluationRecord {
    /// The epoch, from 1.
    pub epoch: usize,
    /// Loss over all labels; `None` without labels.
    pub loss: Option<f64>,
    /// The metric.
    #[serde(flatten)]
    pub score: ScoreRecord,
    /// Tasks that the metric leaves out, where there are any.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped_tasks: usize,
    /// Why the metric has no value, where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undefined: Option<String>,
    /// The largest error of a single label.
    pub worst_error: Option<f64>,
    /// The graph with that error.
    pub worst_id: Option<String>,
}

/// A metric with its value; the metric's name is the key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreRecord {
    /// The metric.
    pub metric: MetricKind,
    /// Its value, where it has one.
    pub value: Option<f64>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl EpochRecord {
    /// The part of the data.
    pub fn split(&self) -> Split {
        match self {
            Self::Train(_) => Split::Train,
            Self::Valid(_) => Split::Valid,
            Self::Test(_) => Split::Test,
        }
    }

    /// The epoch, from 1.
    pub fn epoch(&self) -> usize {
        match self {
            Self::Train(record) => record.epoch,
            Self::Valid(record) | Self::Test(record) => record.epoch,
        }
    }

    fn epoch_mut(&mut self) -> &mut usize {
        match self {
            Self::Train(record) => &mut record.epoch,
            Self::Valid(record) | Self::Test(record) => &mut record.epoch,
        }
    }

    /// The loss, where there is one.
    pub fn loss(&self) -> Option<f64> {
        match self {
            Self::Train(record) => Some(record.loss),
            Self::Valid(record) | Self::Test(record) => record.loss,
        }
    }

    /// The metric, where there is one.
    pub fn score(&self) -> Option<f64> {
        match self {
            Self::Train(record) => record.score?.value,
            Self::Valid(record) | Self::Test(record) => record.score.value,
        }
    }

    /// The line, with its end.
    pub(super) fn to_line(&self) -> Result<String, serde_json::Error> {
        // A value sorts its keys.
        Ok(format!("{}\n", serde_json::to_value(self)?))
    }

    /// The records in the bytes of a file. A last line without an end is left out: it is being written.
    ///
    /// # Errors
    ///
    /// [`TrainError::Damaged`] for any other line that is no record; `path` is what it names.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Vec<Self>, TrainError> {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines = bytes[..whole].split(|byte| *byte == b'\n').enumerate();
        let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
        let mut records = lines
            .map(|(at, line)| {
                serde_json::from_slice(line).map_err(|error| TrainError::Damaged {
                    path: path.to_owned(),
                    reason: format!("line {}: {error}", at + 1),
                })
            })
            .collect::<Result<Vec<Self>, _>>()?;
        if records.first().is_some_and(|record| record.epoch() == 0) {
            records.iter_mut().for_each(|record| *record.epoch_mut() += 1);
        }
        Ok(records)
    }

    /// The records in a seed's folder; none before the first epoch is done.
    ///
    /// # Errors
    ///
    /// [`TrainError::Io`], [`TrainError::Damaged`].
    pub fn read(seed_folder: &Path) -> Result<Vec<Self>, TrainError> {
        let path = seed_folder.join(METRICS);
        match fs::read(&path) {
            Ok(bytes) => Self::parse(&bytes, &path),
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Serialize for ScoreRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.metric.word(), &self.value)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for ScoreRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Found;

        impl<'de> Visitor<'de> for Found {
            type Value = ScoreRecord;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a metric under its name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ScoreRecord, A::Error> {
                let mut found = None;
                while let Some(key) = map.next_key::<String>()? {
                    match key.parse::<MetricKind>() {
                        Ok(metric) => found = Some(ScoreRecord { metric, value: map.next_value()? }),
                        Err(_) => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                found.ok_or_else(|| A::Error::custom("no metric"))
            }
        }

        deserializer.deserialize_map(Found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As earlier versions wrote them, with a digit less where the JSON parser is off by the last bit.
    const LINES: &str = concat!(
        r#"{"clipped_steps":313,"epoch":0,"graphs_per_second":304.50394750357935,"largest_gradient_norm":5.340589126002228,"learning_rate":1e-9,"loss":1.51286391074711,"mean_gradient_norm":3.9517423619459024,"seconds":34.403720905,"skipped_batches":0,"split":"train","steps":313}"#,
        "\n",
        r#"{"clipped_steps":0,"epoch":0,"graphs_per_second":304.5,"largest_gradient_norm":5.3,"learning_rate":0.001,"loss":0.5,"mae":0.25,"mean_gradient_norm":3.9,"seconds":34.4,"skipped_batches":0,"split":"train","steps":313}"#,
        "\n",
        r#"{"accuracy_class_mean":0.16716666666666666,"epoch":0,"loss":1.8047091266549111,"split":"valid","worst_error":1.9596997929614393,"worst_id":"cluster-valid-30"}"#,
        "\n",
        r#"{"epoch":0,"loss":0.651537781452809,"roc_auc":0.573124239556577,"skipped_tasks":2,"split":"test","worst_error":0.7903086767192264,"worst_id":"5927"}"#,
        "\n",
        r#"{"epoch":1,"loss":null,"roc_auc":null,"split":"test","undefined":"no task has both classes","worst_error":null,"worst_id":null}"#,
        "\n",
    );

    #[test]
    fn a_file_is_read_and_written_back_byte_for_byte() {
        let lines = LINES.replace("\"epoch\":1", "\"epoch\":2").replace("\"epoch\":0", "\"epoch\":1");
        let records = EpochRecord::parse(lines.as_bytes(), Path::new(METRICS)).unwrap();
        let written: String = records.iter().map(|record| record.to_line().unwrap()).collect();
        assert_eq!(written, lines);
        let EpochRecord::Valid(valid) = &records[2] else { panic!("{:?}", records[2]) };
        assert_eq!((records[0].score(), records[1].score()), (None, Some(0.25)));
        let expected = (MetricKind::AccuracyClassMean, Some(0.16716666666666666));
        assert_eq!((valid.score.metric, valid.score.value), expected);
        assert_eq!((records[4].epoch(), records[4].loss()), (2, None));
        // As an earlier version wrote it.
        assert_eq!(EpochRecord::parse(LINES.as_bytes(), Path::new(METRICS)).unwrap(), records);
    }

    #[test]
    fn a_line_that_is_being_written_is_left_out_and_a_damaged_one_is_an_error() {
        let parse = |text: &str| EpochRecord::parse(text.as_bytes(), Path::new(METRICS));
        assert_eq!(parse(&LINES[..LINES.len() - 9]).unwrap().len(), 4);
        assert_eq!(parse("").unwrap(), []);
        let error = parse(&LINES.replacen("\"epoch\":0", "\"epoch\":x", 1)).unwrap_err().to_string();
        assert!(error.starts_with("metrics.jsonl is damaged: line 1: "), "{error}");
    }
}
