//! Splits that keep together what belongs together: molecules with one scaffold, or with similar fingerprints.

use super::{Ratios, SplitError, Splits};
use crate::formats::{self, Format};
use crate::rng::stream;
use crate::smiles::{Fingerprint, MoleculeReading};
use crate::{BadRow, DataError, OnBadRow, Place, Read, ReadOptions, open, read_stream};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::io;
use std::path::Path;

mod clusters;

/// What makes molecules belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupBy {
    /// The same Bemis–Murcko scaffold; see [`scaffold_key`](crate::scaffold_key).
    Scaffold,
    /// The same cluster of [`Fingerprint`]s, found by k-means.
    Fingerprint,
}

impl Splits {
    /// Whole groups, the largest first into the training part, then validation, then test, as OGB and DeepChem split
    /// molecules by scaffold. Groups of one size go by their first sample, later ones first, as there.
    ///
    /// # Errors
    ///
    /// [`SplitError::Ratios`].
    pub fn by_groups<K: Hash + Eq>(groups: &[K], ratios: Ratios) -> Result<Self, SplitError> {
        let members = members(groups);
        Self::fill(by_size(members), groups.len(), ratios)
    }

    /// Whole groups at random, but for the large ones: a group of more than half of the validation or test part trains.
    /// Another seed gives other parts, where [`Splits::by_groups`] has only one answer.
    ///
    /// # Errors
    ///
    /// [`SplitError::Ratios`].
    pub fn by_groups_at_random<K: Hash + Eq>(
        groups: &[K],
        ratios: Ratios,
        seed: u64,
    ) -> Result<Self, SplitError> {
        let samples = groups.len();
        let (train_end, valid_end) = ratios.room(samples)?;
        let limit = (valid_end - train_end).min(samples - valid_end) / 2;
        let (mut order, mut small): (Vec<_>, Vec<_>) =
            by_size(members(groups)).into_iter().partition(|group| group.len() > limit);
        stream(seed, "groups", &[]).shuffle(&mut small);
        order.extend(small);
        Self::fill(order, samples, ratios)
    }

    /// One of `folds` rounds of cross-validation in which groups stay together: the largest first, each goes to the fold
    /// that is smallest so far. Fold `fold` is the test part, the next one validates.
    ///
    /// # Errors
    ///
    /// [`SplitError::Fold`].
    pub fn group_fold<K: Hash + Eq>(
        groups: &[K],
        folds: usize,
        fold: usize,
        seed: u64,
    ) -> Result<Self, SplitError> {
        Self::check_fold(folds, fold)?;
        let mut members = members(groups);
        stream(seed, "group folds", &[folds as u64]).shuffle(&mut members);
        members.sort_by_key(|group| std::cmp::Reverse(group.len()));
        // No more folds than groups can be filled.
        let mut sizes = vec![0; folds.min(members.len()).max(1)];
        let mut fold_of = vec![0; groups.len()];
        for group in members {
            let smallest = (0..sizes.len()).min_by_key(|fold| sizes[*fold]).unwrap_or(0);
            sizes[smallest] += group.len();
            for at in group {
                fold_of[at] = smallest;
            }
        }
        Self::round(&fold_of, folds, fold)
    }

    /// Gives every group, in this order, to the first part that has room for it; the last takes what is left.
    fn fill(groups: Vec<Vec<usize>>, samples: usize, ratios: Ratios) -> Result<Self, SplitError> {
        let (train_end, valid_end) = ratios.room(samples)?;
        let (mut train, mut valid, mut test) = (Vec::new(), Vec::new(), Vec::new());
        for group in groups {
            if train.len() + group.len() <= train_end {
                train.extend(group);
            } else if train.len() + valid.len() + group.len() <= valid_end {
                valid.extend(group);
            } else {
                test.extend(group);
            }
        }
        Self::new(train, valid, test, samples)
    }

    /// The same for samples that belong together: whole groups are set aside, the smallest ones, as those of the
    /// validation and test parts are. The groups are those of all samples.
    pub fn hold_out_groups<T: Eq + Hash>(mut self, groups: &[T]) -> Self {
        let count = self.calibration_size();
        let mut members: HashMap<&T, Vec<usize>> = HashMap::new();
        for &at in &self.train {
            if let Some(group) = groups.get(at) {
                members.entry(group).or_default().push(at);
            }
        }
        let mut members: Vec<Vec<usize>> = members.into_values().collect();
        members.sort_by_key(|group| (group.len(), group.first().copied()));
        let mut held = HashSet::new();
        for group in members {
            if held.len() + group.len() > count {
                break;
            }
            held.extend(group);
        }
        (self.calibration, self.train) = self.train.iter().partition(|at| held.contains(*at));
        self
    }
}

/// The samples of every group, groups in the order in which they are met.
fn members<K: Hash + Eq>(groups: &[K]) -> Vec<Vec<usize>> {
    let mut number: HashMap<&K, usize> = HashMap::new();
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (at, key) in groups.iter().enumerate() {
        let group = *number.entry(key).or_insert(members.len());
        if group == members.len() {
            members.push(Vec::new());
        }
        members[group].push(at);
    }
    members
}

fn by_size(mut members: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    members.sort_by_key(|group| std::cmp::Reverse((group.len(), group.first().copied())));
    members
}

/// Reads a table of molecules, and the group that each belongs to. The seed is that of the clusters.
///
/// # Errors
///
/// Whatever is wrong with the file; [`DataError::BadRows`] for molecules whose scaffold cannot be computed.
pub fn read_with_groups(
    path: &Path,
    options: &ReadOptions,
    by: GroupBy,
    seed: u64,
) -> Result<(Read, Vec<usize>), DataError> {
    let format = match options.format.map_or_else(|| formats::detect(path), Ok) {
        Ok(format) => table_of_molecules(format, path, by)?,
        Err(error) if path.is_dir() => return Err(error),
        // Whatever a table is called.
        Err(_) => Format::SmilesCsv,
    };
    let options = of_molecules(format, options);
    let read = open(path, &options)?;
    let groups = groups(&read, path, &options, by, seed, || formats::smiles(format, path, &options))?;
    Ok((read, groups))
}

/// The same of the text of a CSV table; `name` is that of the data set.
///
/// # Errors
///
/// As [`read_with_groups`].
pub fn read_text_with_groups(
    text: &str,
    name: &str,
    options: &ReadOptions,
    by: GroupBy,
    seed: u64,
) -> Result<(Read, Vec<usize>), DataError> {
    let (path, options) = (Path::new(name), of_molecules(Format::SmilesCsv, options));
    let stream = || -> Box<dyn io::Read + Send> { Box::new(io::Cursor::new(text.as_bytes().to_vec())) };
    let read = read_stream(stream(), name, &options)?;
    let strings = || {
        let lines = formats::Lines::new(stream(), path, None, &options.limits);
        formats::smiles_of_lines(lines, path, &options)
    };
    let groups = groups(&read, path, &options, by, seed, strings)?;
    Ok((read, groups))
}

/// The format, if it is one of molecules: nothing else has scaffolds and fingerprints.
fn table_of_molecules(format: Format, path: &Path, by: GroupBy) -> Result<Format, DataError> {
    let found = match format {
        Format::SmilesCsv | Format::Parquet | Format::Xlsx | Format::Sdf => return Ok(format),
        Format::Jsonl => "JSON Lines",
        Format::CsvFolder => "a folder of CSV files",
        Format::Ogb => "a folder in OGB's layout",
        Format::TuDataset => "a folder in the layout of the TUDataset collection",
        Format::EdgelistFolder => "a folder of edge lists",
        Format::Graph6 => "graph6",
    };
    let split = match by {
        GroupBy::Scaffold => "a scaffold split",
        GroupBy::Fingerprint => "a k-means split",
    };
    let reason = format!(
        "{split} needs a table of molecules (SMILES, SD file); this is {found}: split it at random, stratified, or by a file of \
         parts"
    );
    Err(DataError::Schema { place: Place::file(path), reason })
}

fn of_molecules(format: Format, options: &ReadOptions) -> ReadOptions {
    // Under `null` every record keeps its place, so that the strings can be found again.
    let on_bad_row = if options.on_bad_row == OnBadRow::Skip { OnBadRow::Null } else { options.on_bad_row };
    ReadOptions { on_bad_row, format: Some(format), ..options.clone() }
}

/// The place and SMILES string of every record of a table; `None` for one that cannot be split into fields.
type Strings = Vec<Option<(Place, String)>>;

fn groups(
    read: &Read,
    path: &Path,
    options: &ReadOptions,
    by: GroupBy,
    seed: u64,
    strings: impl FnOnce() -> Result<Strings, DataError>,
) -> Result<Vec<usize>, DataError> {
    match by {
        GroupBy::Scaffold => Ok(numbered(&scaffolds(read, strings()?, options)?)),
        GroupBy::Fingerprint => {
            let fingerprints = read.dataset.samples.par_iter().map(|sample| {
                Fingerprint::of(&sample.graph, &read.dataset.schema).ok_or_else(|| DataError::Schema {
                    place: Place::file(path),
                    reason: "fingerprints need the atom columns of the Open Graph Benchmark".to_owned(),
                })
            });
            Ok(clusters::of(&fingerprints.collect::<Result<Vec<_>, _>>()?, seed))
        }
    }
}

fn scaffolds(read: &Read, strings: Strings, options: &ReadOptions) -> Result<Vec<String>, DataError> {
    let used = read.report.rows.iter().zip(&strings).filter(|(sample, _)| sample.is_some());
    let used: Vec<_> = used.filter_map(|(_, string)| string.as_ref()).collect();
    let form = MoleculeReading::of(options).unwrap_or_default().form;
    let keys: Vec<Result<String, BadRow>> = used
        .par_iter()
        .map(|(place, smiles)| {
            form.scaffold_key_under(options.rules, smiles, &options.limits)
                .map_err(|error| BadRow::new(place.clone(), smiles, format!("no scaffold: {error}")))
        })
        .collect();
    let total = keys.iter().filter(|key| key.is_err()).count() as u64;
    if total > 0 {
        return Err(DataError::BadRows { rows: keys.into_iter().filter_map(Result::err).collect(), total });
    }
    Ok(keys.into_iter().filter_map(Result::ok).collect())
}

/// A number for every different key, in the order in which they are met.
fn numbered(keys: &[String]) -> Vec<usize> {
    let mut numbers = vec![0; keys.len()];
    for (number, group) in members(keys).into_iter().enumerate() {
        group.into_iter().for_each(|at| numbers[at] = number);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_in_memory_has_the_groups_of_the_same_file() {
        let text = "smiles,y\nc1ccccc1C,1\nCCO,2\nC1CC,3\nc1ccccc1O,4\nC1CCNCC1,5\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.csv");
        std::fs::write(&path, text).unwrap();
        let options = ReadOptions { on_bad_row: OnBadRow::Skip, ..ReadOptions::default() };
        for by in [GroupBy::Scaffold, GroupBy::Fingerprint] {
            let (file, of_file) = read_with_groups(&path, &options, by, 1).unwrap();
            let (memory, of_memory) = read_text_with_groups(text, "own.csv", &options, by, 1).unwrap();
            assert_eq!(of_memory, of_file);
            assert_eq!(memory.dataset, file.dataset);
            assert_eq!(memory.report.bad_row_count, 1);
        }
        let (_, scaffolds) = read_text_with_groups(text, "own.csv", &options, GroupBy::Scaffold, 0).unwrap();
        assert_eq!(scaffolds, [0, 1, 0, 2], "benzene, none, benzene, piperidine");
        let error = read_text_with_groups(text, "own.csv", &ReadOptions::default(), GroupBy::Scaffold, 0);
        assert!(error.unwrap_err().to_string().contains("own.csv"), "a bad row is told");
    }

    #[test]
    fn only_tables_of_molecules_have_groups() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.jsonl");
        std::fs::write(&path, "{\"num_nodes\":1,\"edges\":[[0,0],[0,0]],\"target\":1}\n").unwrap();
        for (by, expected) in
            [(GroupBy::Scaffold, "a scaffold split"), (GroupBy::Fingerprint, "a k-means split")]
        {
            let error = read_with_groups(&path, &ReadOptions::default(), by, 0).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("this is JSON Lines"), "{error}");
        }
        // Whatever a table is called.
        let table = folder.path().join("own.molecules");
        std::fs::write(&table, "smiles,y\nCCO,1\nc1ccccc1,2\n").unwrap();
        let found = read_with_groups(&table, &ReadOptions::default(), GroupBy::Scaffold, 0);
        assert_eq!(found.unwrap().1, [0, 1]);
    }

    #[test]
    fn groups_fill_the_parts_from_the_largest_on() {
        // Sizes: a 5, b 2, c 2, d 1.
        let groups = ["a", "a", "b", "a", "c", "a", "b", "d", "c", "a"];
        let splits =
            Splits::by_groups(&groups, Ratios { train: 0.6, valid: 0.2, test: 0.2, ..Ratios::default() })
                .unwrap();
        // 6 fit into training: a (5), then c (later first sample than b) does not fit and validates, b tests, d trains.
        assert_eq!(splits.train, vec![0, 1, 3, 5, 7, 9]);
        assert_eq!(splits.valid, vec![4, 8]);
        assert_eq!(splits.test, vec![2, 6]);
    }

    #[test]
    fn no_part_gets_more_than_its_share() {
        // 642 · 0.8 = 513.6 and 642 · 0.9 = 577.8.
        let sizes = |rules: u32| {
            let groups: Vec<usize> = (0..642).collect();
            let splits = Splits::by_groups(&groups, Ratios::default().under(rules)).unwrap();
            (splits.train.len(), splits.valid.len(), splits.test.len())
        };
        assert_eq!((sizes(crate::RULES), sizes(6)), ((513, 64, 65), (514, 64, 64)));
        for samples in 1..2_000 {
            let exact = (samples * 8 / 10, samples * 9 / 10);
            assert_eq!(Ratios::default().room(samples).unwrap(), exact, "{samples}");
        }
    }

    #[test]
    fn groups_are_set_aside_for_calibration_as_wholes_and_the_smallest_first() {
        let groups: Vec<usize> = (0..100).map(|at| if at < 60 { 0 } else { 1 + at / 4 }).collect();
        let held = Splits::by_groups(&groups, Ratios::default()).unwrap().hold_out_groups(&groups);
        assert_eq!((held.train.len(), held.calibration.len()), (68, 12));
        for &at in &held.calibration {
            assert!(held.train.iter().all(|other| groups[*other] != groups[at]));
        }
    }

    /// Sizes as scaffolds have them: one group of a third, some of a few, many of one.
    fn like_scaffolds() -> Vec<usize> {
        (0..300)
            .map(|at| {
                if at < 100 {
                    0
                } else if at < 200 {
                    at / 5
                } else {
                    at
                }
            })
            .collect()
    }

    fn are_apart(groups: &[usize], splits: &Splits) -> bool {
        let of = |part: &[usize]| part.iter().map(|at| groups[*at]).collect::<HashSet<_>>();
        let (train, valid, test) = (of(&splits.train), of(&splits.valid), of(&splits.test));
        train.is_disjoint(&valid) && train.is_disjoint(&test) && valid.is_disjoint(&test)
    }

    #[test]
    fn seeds_give_other_parts_of_whole_groups_and_large_groups_train() {
        let groups = like_scaffolds();
        let of = |seed| Splits::by_groups_at_random(&groups, Ratios::default(), seed).unwrap();
        for seed in 0..5 {
            let splits = of(seed);
            assert!(are_apart(&groups, &splits));
            assert_eq!((splits.train.len(), splits.valid.len(), splits.test.len()), (240, 30, 30));
            assert!(splits.train.contains(&0), "the largest group trains");
            assert_ne!(splits, of(seed + 1));
        }
    }

    #[test]
    fn every_sample_is_tested_in_one_fold_and_groups_stay_together() {
        let groups = like_scaffolds();
        let mut tested = Vec::new();
        for fold in 0..5 {
            let splits = Splits::group_fold(&groups, 5, fold, 3).unwrap();
            assert!(are_apart(&groups, &splits));
            tested.extend(splits.test);
        }
        tested.sort_unstable();
        assert_eq!(tested, (0..300).collect::<Vec<_>>());
        assert!(Splits::group_fold(&groups, 2, 0, 0).is_err(), "no fold is left to train on");
        assert!(Splits::group_fold(&groups, 0, 0, 0).is_err());
    }
}
