//! Which samples train, which choose, which report: disjoint lists of positions.
//!
//! ```
//! use graphminnet_data::split::{Ratios, Splits};
//!
//! let splits = Splits::random(100, Ratios::default(), 0)?;
//! assert_eq!((splits.train.len(), splits.valid.len(), splits.test.len()), (80, 10, 10));
//! # Ok::<(), graphminnet_data::split::SplitError>(())
//! ```
//!
//! A split depends on the arguments alone (and on a seed where chance is involved). Every [`Splits`] has been checked:
//! no position occurs twice, and none is out of range.

use super::dataset::{Dataset, Level, Split};
use crate::RULES;
use crate::rng::stream;
use std::collections::{HashMap, HashSet};

mod by_target;
mod groups;
mod json;

pub use groups::{GroupBy, read_text_with_groups, read_with_groups};

/// Why samples could not be split.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// A position beyond the last sample.
    #[error("the {part} part names sample {index}, but there are only {samples} samples")]
    OutOfRange {
        /// Name of the part.
        part: &'static str,
        /// The position.
        index: usize,
        /// Number of samples.
        samples: usize,
    },
    /// A position that occurs twice.
    #[error("sample {index} is in the {first} part and again in the {second} part")]
    Repeated {
        /// The position.
        index: usize,
        /// Where it was first.
        first: &'static str,
        /// Where it is again.
        second: &'static str,
    },
    /// The data set has no split of its own, or one of the wrong length.
    #[error(
        "the data names no parts (it has no column or field `{}`; graphs: {samples}); name the one with the parts \
         (`--split-column NAME`), or choose another split, such as `random`",
        crate::escape(.column)
    )]
    NoOfficialSplit {
        /// The column that was looked for.
        column: String,
        /// Number of samples.
        samples: usize,
    },
    /// Parts that are negative, not finite or all zero.
    #[error("split ratios {train}, {valid}, {test} must be at least 0 and not all 0")]
    Ratios {
        /// Part for training.
        train: f64,
        /// Part for validation.
        valid: f64,
        /// Part for testing.
        test: f64,
    },
    /// A fold that does not exist, or fewer than three folds.
    #[error("fold {fold} of {folds}: there must be at least 3 folds, numbered from 0")]
    Fold {
        /// The fold asked for.
        fold: usize,
        /// Number of folds.
        folds: usize,
    },
    /// Stratification without targets of whole graphs.
    #[error("{}", not_stratified(*level))]
    NoGraphTargets {
        /// What the targets belong to.
        level: Level,
    },
    /// A text that is not a split file.
    #[error("not a split file: {reason}")]
    Json {
        /// What is wrong with it.
        reason: String,
    },
}

/// Why there is nothing to stratify graphs by.
fn not_stratified(level: Level) -> String {
    match level {
        Level::Graph => "there are no targets to stratify by; use a random split".to_owned(),
        _ => format!(
            "graphs go into the parts as a whole, and with targets of {level}s they have no class of their own to stratify by; use a \
             random split"
        ),
    }
}

/// How much of the data goes into each part; the numbers are divided by their sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratios {
    /// Part for training.
    pub train: f64,
    /// Part for validation.
    pub valid: f64,
    /// Part for testing.
    pub test: f64,
    /// Version of the rules ([`ReadOptions::rules`](crate::ReadOptions::rules)), so that a run that goes on finds the parts that it
    /// began with. Under versions 1 to 6, labels of few samples were spread by their places in the file, and so were ties, and room
    /// for groups was rounded to the nearest sample.
    pub rules: u32,
}

/// The first version of the rules under which chance spreads labels of few samples.
const BY_CHANCE: u32 = 7;

impl Default for Ratios {
    fn default() -> Self {
        Self { train: 0.8, valid: 0.1, test: 0.1, rules: RULES }
    }
}

impl Ratios {
    /// The same under the rules of this version.
    pub fn under(self, rules: u32) -> Self {
        Self { rules, ..self }
    }

    /// The shares of the parts, of 1.
    fn shares(self) -> Result<[f64; 3], SplitError> {
        let Self { train, valid, test, .. } = self;
        let (parts, sum) = ([train, valid, test], train + valid + test);
        if parts.iter().any(|part| !part.is_finite() || *part < 0.0) || sum <= 0.0 {
            return Err(SplitError::Ratios { train, valid, test });
        }
        Ok(parts.map(|part| part / sum))
    }

    /// Numbers of samples up to the end of the training part and of the validation part.
    fn ends(self, samples: usize) -> Result<(usize, usize), SplitError> {
        self.shares()?;
        let Self { train, valid, test, .. } = self;
        let sum = train + valid + test;
        let end = |part: f64| ((part / sum * samples as f64).round() as usize).min(samples);
        Ok((end(train), end(train + valid)))
    }

    /// The same where whole groups must fit in: no part gets more than its share.
    fn room(self, samples: usize) -> Result<(usize, usize), SplitError> {
        if self.rules < BY_CHANCE {
            return self.ends(samples);
        }
        let [train, valid, _] = self.shares()?;
        // A share such as 0.8 is not exact; a product a hair below a whole number is that number.
        let end = |part: f64| ((part * samples as f64 + 1e-6).floor() as usize).min(samples);
        Ok((end(train), end(train + valid)))
    }
}

/// Disjoint positions of samples in three parts, each ascending.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Splits {
    /// Used to fit the weights.
    pub train: Vec<usize>,
    /// Used to choose among epochs and settings.
    pub valid: Vec<usize>,
    /// Used once, to report.
    pub test: Vec<usize>,
    /// Used to find out how wide intervals must be; empty unless asked for.
    pub calibration: Vec<usize>,
}

/// Most graphs that are set aside for calibration: more make intervals hardly better.
const MAX_CALIBRATION: usize = 2_000;

impl Splits {
    /// Checks that no position is out of range or occurs twice, and sorts each part. Samples may be left out.
    ///
    /// # Errors
    ///
    /// [`SplitError::OutOfRange`] or [`SplitError::Repeated`].
    pub fn new(
        train: Vec<usize>,
        valid: Vec<usize>,
        test: Vec<usize>,
        samples: usize,
    ) -> Result<Self, SplitError> {
        Self { train, valid, test, calibration: Vec::new() }.checked(samples)
    }

    fn checked(mut self, samples: usize) -> Result<Self, SplitError> {
        let mut seen: Vec<Option<&'static str>> = vec![None; samples];
        for (part, indices) in self.named_parts() {
            for &index in indices {
                match seen.get_mut(index) {
                    None => return Err(SplitError::OutOfRange { part, index, samples }),
                    Some(Some(first)) => return Err(SplitError::Repeated { index, first, second: part }),
                    Some(place) => *place = Some(part),
                }
            }
        }
        for part in [&mut self.train, &mut self.valid, &mut self.test, &mut self.calibration] {
            part.sort_unstable();
        }
        Ok(self)
    }

    /// The parts by name.
    fn named_parts(&self) -> [(&'static str, &Vec<usize>); 4] {
        let Self { train, valid, test, calibration } = self;
        [("train", train), ("valid", valid), ("test", test), ("calibration", calibration)]
    }

    /// Sets graphs of the training part aside for calibration, at random: as many as the test part has, or a tenth of the
    /// training part if that is more, but no more than a quarter of it and than 2,000.
    pub fn hold_out(mut self, seed: u64) -> Self {
        let count = self.calibration_size();
        let order = stream(seed, "calibration", &[]).permutation(self.train.len());
        let held: HashSet<usize> = order.into_iter().take(count).collect();
        let (mut train, mut place) = (Vec::with_capacity(self.train.len()), 0);
        for at in std::mem::take(&mut self.train) {
            if held.contains(&place) {
                self.calibration.push(at)
            } else {
                train.push(at)
            }
            place += 1;
        }
        self.train = train;
        self
    }

    fn calibration_size(&self) -> usize {
        self.test.len().max(self.train.len() / 10).min(self.train.len() / 4).min(MAX_CALIBRATION)
    }

    /// The positions of one part.
    pub fn part(&self, split: Split) -> &[usize] {
        match split {
            Split::Train => &self.train,
            Split::Valid => &self.valid,
            Split::Test => &self.test,
        }
    }

    /// The same parts when the positions count records of the input instead of samples; `rows` is
    /// [`Report::rows`](crate::Report::rows). Positions without a record are left out.
    pub fn in_rows(&self, rows: &[Option<usize>]) -> Self {
        let row_of: HashMap<usize, usize> =
            rows.iter().enumerate().filter_map(|(row, sample)| Some(((*sample)?, row))).collect();
        self.renumbered(|sample| row_of.get(&sample).copied())
    }

    /// The same parts when the positions count records of the input: the samples of those records. Records that could
    /// not be used are left out.
    pub fn of_rows(&self, rows: &[Option<usize>]) -> Self {
        self.renumbered(|row| rows.get(row).copied().flatten())
    }

    fn renumbered(&self, number: impl Fn(usize) -> Option<usize>) -> Self {
        let part = |part: &[usize]| part.iter().filter_map(|&at| number(at)).collect();
        Self {
            train: part(&self.train),
            valid: part(&self.valid),
            test: part(&self.test),
            calibration: part(&self.calibration),
        }
    }

    /// The split that the data set came with.
    ///
    /// # Errors
    ///
    /// [`SplitError::NoOfficialSplit`] if it has none.
    pub fn official(dataset: &Dataset) -> Result<Self, SplitError> {
        let samples = dataset.samples.len();
        let parts = dataset.official_split.as_ref().filter(|parts| parts.len() == samples);
        let parts = parts.ok_or_else(|| {
            let asked = dataset.schema.molecules.as_ref().and_then(|table| table.split_column.clone());
            SplitError::NoOfficialSplit { column: asked.unwrap_or_else(|| "split".to_owned()), samples }
        })?;
        let of = |wanted: Split| (0..samples).filter(|&at| parts[at] == wanted).collect();
        Self::new(of(Split::Train), of(Split::Valid), of(Split::Test), samples)
    }

    /// Uniformly random parts.
    ///
    /// # Errors
    ///
    /// [`SplitError::Ratios`].
    pub fn random(samples: usize, ratios: Ratios, seed: u64) -> Result<Self, SplitError> {
        let order = stream(seed, "random split", &[]).permutation(samples);
        let (train, valid) = ratios.ends(samples)?;
        Self::cut(&order, train, valid, samples)
    }

    /// Random parts in which every label has nearly the same share.
    ///
    /// Samples of one label are shuffled and laid out one label after the other at evenly spaced positions. A label of which there
    /// are too few for every part is in parts that chance chooses, in proportion to their sizes.
    ///
    /// # Errors
    ///
    /// [`SplitError::Ratios`].
    pub fn stratified<L: Ord>(labels: &[L], ratios: Ratios, seed: u64) -> Result<Self, SplitError> {
        let samples = labels.len();
        let smallest = ratios.shares()?.into_iter().filter(|share| *share > 0.0).fold(1.0, f64::min);
        let mut chance = stream(seed, "stratified split", &[]);
        let mut order = chance.permutation(samples);
        // Of samples at the same position the file says which is first, or chance.
        let mut place: Vec<usize> = (0..samples).collect();
        if ratios.rules >= BY_CHANCE {
            chance.shuffle(&mut place);
        }
        order.sort_by(|&a, &b| labels[a].cmp(&labels[b]));
        // The k-th of the m samples of a label goes to position (k + ½) / m of the line; cutting the line then cuts
        // every label in the same proportion. Too few samples would all come to lie in the larger parts: they begin anywhere.
        let mut line: Vec<(f64, usize)> = Vec::with_capacity(samples);
        for group in order.chunk_by(|&a, &b| labels[a] == labels[b]) {
            let is_rare = ratios.rules >= BY_CHANCE && (group.len() as f64) * smallest < 1.0 - 1e-9;
            let begin = if is_rare { chance.uniform() } else { 0.5 };
            let positions = (0..group.len()).map(|k| (k as f64 + begin) / group.len() as f64);
            line.extend(positions.zip(group.iter().copied()));
        }
        line.sort_by(|a, b| a.0.total_cmp(&b.0).then(place[a.1].cmp(&place[b.1])));
        let order: Vec<usize> = line.into_iter().map(|(_, at)| at).collect();
        let (train, valid) = ratios.ends(samples)?;
        Self::cut(&order, train, valid, samples)
    }

    /// One of `folds` rounds of cross-validation: fold `fold` is the test part, the next one validates.
    ///
    /// # Errors
    ///
    /// [`SplitError::Fold`].
    pub fn k_fold(samples: usize, folds: usize, fold: usize, seed: u64) -> Result<Self, SplitError> {
        Self::check_fold(folds, fold)?;
        let order = stream(seed, "folds", &[folds as u64]).permutation(samples);
        let mut fold_of = vec![0; samples];
        for (place, at) in order.into_iter().enumerate() {
            fold_of[at] = place % folds;
        }
        Self::round(&fold_of, folds, fold)
    }

    /// The same with nearly the same share of every label in each fold.
    ///
    /// # Errors
    ///
    /// [`SplitError::Fold`].
    pub fn stratified_fold<L: Ord>(
        labels: &[L],
        folds: usize,
        fold: usize,
        seed: u64,
    ) -> Result<Self, SplitError> {
        Self::check_fold(folds, fold)?;
        let mut order = stream(seed, "stratified folds", &[folds as u64]).permutation(labels.len());
        order.sort_by(|&a, &b| labels[a].cmp(&labels[b]));
        let mut fold_of = vec![0; labels.len()];
        for (place, at) in order.into_iter().enumerate() {
            fold_of[at] = place % folds;
        }
        Self::round(&fold_of, folds, fold)
    }

    fn check_fold(folds: usize, fold: usize) -> Result<(), SplitError> {
        if folds < 3 || fold >= folds { Err(SplitError::Fold { fold, folds }) } else { Ok(()) }
    }

    /// A round of cross-validation for samples whose folds are known.
    fn round(fold_of: &[usize], folds: usize, fold: usize) -> Result<Self, SplitError> {
        Self::check_fold(folds, fold)?;
        let (mut train, mut valid, mut test) = (Vec::new(), Vec::new(), Vec::new());
        for (at, own) in fold_of.iter().enumerate() {
            match *own {
                own if own == fold => test.push(at),
                own if own == (fold + 1) % folds => valid.push(at),
                _ => train.push(at),
            }
        }
        Self::new(train, valid, test, fold_of.len())
    }

    fn cut(order: &[usize], train: usize, valid: usize, samples: usize) -> Result<Self, SplitError> {
        Self::new(order[..train].to_vec(), order[train..valid].to_vec(), order[valid..].to_vec(), samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_partition(splits: &Splits, samples: usize) -> bool {
        let mut all = [&splits.train[..], &splits.valid, &splits.test, &splits.calibration].concat();
        all.sort_unstable();
        all == (0..samples).collect::<Vec<_>>()
    }

    #[test]
    fn overlap_and_range_are_refused_by_name() {
        assert_eq!(
            Splits::new(vec![0, 1], vec![1], vec![], 3).unwrap_err(),
            SplitError::Repeated { index: 1, first: "train", second: "valid" }
        );
        assert_eq!(
            Splits::new(vec![0], vec![], vec![3], 3).unwrap_err(),
            SplitError::OutOfRange { part: "test", index: 3, samples: 3 }
        );
    }

    #[test]
    fn stratified_parts_have_the_same_share_of_every_label() {
        let labels: Vec<u32> = (0..1_000).map(|at| u32::from(at % 10 == 0)).collect();
        let splits = Splits::stratified(&labels, Ratios::default(), 0).unwrap();
        let rare = |part: &[usize]| part.iter().filter(|&&at| labels[at] == 1).count();
        assert_eq!((rare(&splits.train), rare(&splits.valid), rare(&splits.test)), (80, 10, 10));
    }

    #[test]
    fn labels_of_few_samples_are_in_all_parts_by_chance() {
        // Half of one label, the others alone with theirs; and ten labels of three, one after the other.
        let alone: Vec<usize> = (0..100).map(|at| if at < 50 { 0 } else { at }).collect();
        let threes: Vec<usize> = (0..30).map(|at| at / 3).collect();
        let among = |labels: &[usize], rare: fn(usize) -> bool, rules: u32| -> (usize, HashSet<Vec<usize>>) {
            let split = |seed| Splits::stratified(labels, Ratios::default().under(rules), seed).unwrap();
            let tests: Vec<Vec<usize>> = (0..200).map(|seed| split(seed).test).collect();
            (tests.iter().flatten().filter(|at| rare(**at)).count(), tests.into_iter().collect())
        };
        // Ten are tested each time, and five of them are rare ones on average.
        let (rare, different) = among(&alone, |at| at >= 50, RULES);
        assert!(
            (850..1_150).contains(&rare) && different.len() > 150,
            "{rare} in {} splits",
            different.len()
        );
        assert_eq!(among(&alone, |at| at >= 50, 6).0, 0);
        // Three are tested each time; those of the first five labels are as many as the others.
        let (first, _) = among(&threes, |at| at < 15, RULES);
        assert!((240..360).contains(&first), "{first}");
        assert_eq!(among(&threes, |at| at < 15, 6).0, 0);
    }

    #[test]
    fn every_sample_is_tested_in_exactly_one_fold() {
        let mut tested: Vec<usize> =
            (0..5).flat_map(|fold| Splits::k_fold(17, 5, fold, 1).unwrap().test).collect();
        tested.sort_unstable();
        assert_eq!(tested, (0..17).collect::<Vec<_>>());
        assert_eq!(Splits::k_fold(17, 5, 5, 1).unwrap_err(), SplitError::Fold { fold: 5, folds: 5 });
    }

    #[test]
    fn graphs_are_set_aside_for_calibration_from_the_training_part_alone() {
        let whole = Splits::random(100, Ratios::default(), 3).unwrap();
        let held = whole.clone().hold_out(0);
        assert_eq!((held.train.len(), held.calibration.len()), (70, 10));
        assert_eq!((&held.valid, &held.test), (&whole.valid, &whole.test));
        assert!(held.calibration.iter().all(|at| whole.train.contains(at)));
    }

    #[test]
    fn impossible_ratios_are_refused() {
        for (train, valid, test) in [(0.0, 0.0, 0.0), (-1.0, 1.0, 1.0), (f64::NAN, 1.0, 1.0)] {
            let ratios = Ratios { train, valid, test, ..Ratios::default() };
            assert!(Splits::random(10, ratios, 0).is_err());
            assert!(Splits::by_groups(&[0; 10], ratios).is_err());
        }
    }

    proptest! {
        #[test]
        fn all_makers_partition_and_depend_on_nothing_but_their_arguments(
            labels in prop::collection::vec(0u8..4, 0..60), seed in 0u64..50,
        ) {
            let ratios = Ratios { train: 3.0, valid: 1.0, test: 1.0, ..Ratios::default() };
            let make = || [
                Splits::random(labels.len(), ratios, seed).unwrap(),
                Splits::stratified(&labels, ratios, seed).unwrap(),
                Splits::by_groups(&labels, ratios).unwrap(),
                Splits::k_fold(labels.len(), 4, 2, seed).unwrap(),
                Splits::stratified_fold(&labels, 4, 2, seed).unwrap(),
                Splits::by_groups_at_random(&labels, ratios, seed).unwrap(),
                Splits::group_fold(&labels, 4, 2, seed).unwrap(),
                Splits::random(labels.len(), ratios, seed).unwrap().hold_out(seed),
                Splits::by_groups(&labels, ratios).unwrap().hold_out_groups(&labels),
            ];
            for splits in make() {
                prop_assert!(is_partition(&splits, labels.len()));
            }
            prop_assert_eq!(make(), make());
        }
    }
}
