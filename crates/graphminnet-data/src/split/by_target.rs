//! Splits that look at what is to be learnt, or at what the molecules are built around.

use super::{Ratios, SplitError, Splits};
use crate::formats::{self, Format};
use crate::smiles::MoleculeReading;
use crate::{BadRow, DataError, Dataset, Level, OnBadRow, Read, ReadOptions, Task, open};
use rayon::prelude::*;
use std::path::Path;

/// Groups of equal size into which real-valued targets are sorted.
const GROUPS: usize = 10;

impl Splits {
    /// Random parts in which the targets have nearly the same share: classes, combinations of binary targets, or ten
    /// equally large ranges of the first real-valued one. Missing targets are a class of their own.
    ///
    /// # Errors
    ///
    /// [`SplitError::NoGraphTargets`] if there is not one row of targets per graph; [`SplitError::Ratios`].
    pub fn stratified_by_target(dataset: &Dataset, ratios: Ratios, seed: u64) -> Result<Self, SplitError> {
        let schema = &dataset.schema;
        if schema.level != Level::Graph || schema.num_targets() == 0 {
            return Err(SplitError::NoGraphTargets);
        }
        let labels: Vec<Vec<i64>> = match schema.task {
            Task::Regression => {
                let first = |at: &usize| dataset.samples[*at].targets.first().copied().unwrap_or(f32::NAN);
                let mut order: Vec<usize> = (0..dataset.samples.len()).collect();
                order.sort_by(|a, b| first(a).total_cmp(&first(b)));
                let known = order.iter().filter(|at| !first(at).is_nan()).count().max(1);
                let mut labels = vec![vec![-1]; order.len()];
                for (rank, at) in order.into_iter().enumerate().filter(|(_, at)| !first(at).is_nan()) {
                    labels[at] = vec![(rank * GROUPS / known) as i64];
                }
                labels
            }
            Task::Binary | Task::MultiClass { .. } => {
                let label = |value: &f32| if value.is_nan() { -1 } else { *value as i64 };
                dataset.samples.iter().map(|sample| sample.targets.iter().map(label).collect()).collect()
            }
        };
        Self::stratified(&labels, ratios, seed)
    }
}

/// Reads a CSV file of molecules, and the scaffold of each: see [`scaffold_key`](crate::scaffold_key).
///
/// # Errors
///
/// Whatever is wrong with the file; [`DataError::BadRows`] for molecules whose scaffold cannot be computed.
pub fn read_with_scaffolds(path: &Path, options: &ReadOptions) -> Result<(Read, Vec<String>), DataError> {
    // Under `null` every record keeps its place, so that the strings can be found again.
    let on_bad_row = if options.on_bad_row == OnBadRow::Skip { OnBadRow::Null } else { options.on_bad_row };
    // Whatever a table is called: only molecules have scaffolds.
    let format = match options.format.map_or_else(|| formats::detect(path), Ok) {
        Ok(format @ (Format::Parquet | Format::Xlsx | Format::Sdf)) => format,
        _ => Format::SmilesCsv,
    };
    let options = ReadOptions { on_bad_row, format: Some(format), ..options.clone() };
    let read = open(path, &options)?;
    let strings = formats::smiles(format, path, &options)?;
    let used = read.report.rows.iter().zip(&strings).filter(|(sample, _)| sample.is_some());
    let used: Vec<_> = used.filter_map(|(_, string)| string.as_ref()).collect();
    let form = MoleculeReading::of(&options).unwrap_or_default().form;
    let keys: Vec<Result<String, BadRow>> = used
        .par_iter()
        .map(|(place, smiles)| {
            form.scaffold_key(smiles, &options.limits)
                .map_err(|error| BadRow::new(place.clone(), smiles, format!("no scaffold: {error}")))
        })
        .collect();
    let total = keys.iter().filter(|key| key.is_err()).count() as u64;
    if total > 0 {
        return Err(DataError::BadRows { rows: keys.into_iter().filter_map(Result::err).collect(), total });
    }
    Ok((read, keys.into_iter().filter_map(Result::ok).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::CircularSkipLinks;

    #[test]
    fn every_class_has_its_share_in_every_part() {
        let dataset = CircularSkipLinks { copies: 10, ..CircularSkipLinks::default() }.generate(0).unwrap();
        let splits = Splits::stratified_by_target(&dataset, Ratios::default(), 0).unwrap();
        for class in 0..10 {
            let share = |part: &[usize]| {
                part.iter().filter(|at| dataset.samples[**at].targets[0] == class as f32).count()
            };
            assert_eq!([share(&splits.train), share(&splits.valid), share(&splits.test)], [8, 1, 1]);
        }
    }

    #[test]
    fn node_level_targets_cannot_be_stratified() {
        let dataset = crate::generate::Cluster::with_graphs(3).generate(0).unwrap();
        let error = Splits::stratified_by_target(&dataset, Ratios::default(), 0).unwrap_err();
        assert_eq!(error, SplitError::NoGraphTargets);
    }
}
