//! The choices of a protocol.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::fmt;
use std::str::FromStr;

choice! {
    /// Where the batch norms of an evaluated or stored model have their means and variances from.
    NormEstimates {
        /// From estimates that follow the batches of training with a delay, as the weights move.
        Running = "running",
        /// From passes over a sample of the training part with the weights as they are.
        Recomputed = "recomputed",
    }
}
choice! {
    /// What training minimises.
    Loss {
        /// Mean absolute error.
        L1 = "l1",
        /// Mean squared error.
        Mse = "mse",
        /// Squared error within one unit of the scaled targets, absolute error beyond.
        Huber = "huber",
        /// Negative log-likelihood of a normal distribution; the model also says how unsure it is.
        MeanVariance = "mean_variance",
        /// Pinball loss of several quantiles.
        Quantile = "quantile",
        /// Cross entropy over classes.
        CrossEntropy = "cross_entropy",
        /// Cross entropy weighted by the class frequencies of the batch.
        WeightedCrossEntropy = "weighted_cross_entropy",
        /// Binary cross entropy with logits; missing labels are skipped.
        BinaryCrossEntropy = "binary_cross_entropy",
        /// Binary cross entropy weighted by the class frequencies of the batch.
        WeightedBinaryCrossEntropy = "weighted_binary_cross_entropy",
        /// Cross entropy over classes in which labels count less the surer the model is of them.
        FocalCrossEntropy = "focal_cross_entropy",
        /// Binary cross entropy in which labels count less the surer the model is of them.
        FocalBinaryCrossEntropy = "focal_binary_cross_entropy",
    }
}
impl Loss {
    /// Whether it is one of numbers, not of classes.
    pub const fn is_regression(self) -> bool {
        matches!(self, Self::L1 | Self::Mse | Self::Huber | Self::MeanVariance | Self::Quantile)
    }

    /// Whether labels count less the surer the model is of them.
    pub const fn is_focal(self) -> bool {
        matches!(self, Self::FocalCrossEntropy | Self::FocalBinaryCrossEntropy)
    }
}
choice! {
    /// What becomes of the learning rate after the warm-up.
    Schedule {
        /// Half a cosine down to zero at the end of the schedule.
        Cosine = "cosine",
        /// It stays.
        Constant = "constant",
        /// It is reduced whenever the validation metric has not improved for some epochs.
        Plateau = "plateau",
    }
}
choice! {
    /// How often the learning rate changes.
    ScheduleUnit {
        /// With every epoch.
        Epoch = "epoch",
        /// With every optimizer step.
        Step = "step",
    }
}
choice! {
    /// How regression targets are scaled before the loss; predictions and metrics are always in the data's own units.
    TargetScaling {
        /// As they are.
        None = "none",
        /// Less their mean, divided by their standard deviation, both over the training part and per column.
        Standard = "standard",
    }
}
choice! {
    /// What a model is judged by.
    MetricKind {
        /// Mean absolute error over all targets; lower is better.
        MeanAbsoluteError = "mae",
        /// Root of the mean squared error over all targets; lower is better.
        RootMeanSquaredError = "rmse",
        /// Share of right answers.
        Accuracy = "accuracy",
        /// Mean over classes of the share of right answers within the class.
        AccuracyClassMean = "accuracy_class_mean",
        /// Unweighted mean of the classes' F1; a class that neither occurs nor is answered counts 0.
        F1Macro = "f1_macro",
        /// Mean over tasks of the area under the ROC curve.
        RocAuc = "roc_auc",
        /// Mean over tasks of the average precision.
        AveragePrecision = "average_precision",
        /// Mean over tasks of the share of positives above the 20th of the negatives (OGB's hits@20).
        HitsAt20 = "hits_at_20",
        /// The same with the 50th of the negatives (OGB's hits@50).
        HitsAt50 = "hits_at_50",
        /// The same with the 100th of the negatives (OGB's hits@100).
        HitsAt100 = "hits_at_100",
    }
}

impl MetricKind {
    /// Whether it is one of numbers, not of classes; then a smaller value is better.
    pub const fn is_regression(self) -> bool {
        matches!(self, Self::MeanAbsoluteError | Self::RootMeanSquaredError)
    }

    /// Whether it judges a ranking, so that labels of one class have no value.
    pub const fn is_ranking(self) -> bool {
        matches!(
            self,
            Self::RocAuc | Self::AveragePrecision | Self::HitsAt20 | Self::HitsAt50 | Self::HitsAt100
        )
    }

    /// Of hits@K, the K: the place of the negative that positives are held against.
    pub(crate) const fn hits_at(self) -> Option<usize> {
        match self {
            Self::HitsAt20 => Some(20),
            Self::HitsAt50 => Some(50),
            Self::HitsAt100 => Some(100),
            _ => None,
        }
    }
}
