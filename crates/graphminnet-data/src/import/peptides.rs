//! The peptides of the Long Range Graph Benchmark as their authors publish them: a table of SMILES and targets, and a
//! pickled split.
//!
//! `peptide_multi_class_dataset.csv` has a column `labels` with a list of ten 0s and 1s. The structure table has a column
//! for each of the eleven targets, which are standardised over the whole table, as the benchmark does.

use super::{PARTS, document, find_file, invalid};
use crate::budget::Budget;
use crate::formats::read_smiles_lines;
use crate::formats::{Tree, lines_of};
use crate::registry::DatasetInfo;
use crate::{DataError, Featurizer, Level, OnBadRow, Read, ReadOptions, Split, Task};

/// The two files.
pub(super) struct Files {
    table: String,
    split: String,
}

/// Finds a peptide table and its split among the sources.
pub(super) fn find(tree: &dyn Tree) -> Result<Option<Files>, DataError> {
    let table = find_file(tree, |name| name.starts_with("peptide_") && name.contains(".csv"))?;
    let split = find_file(tree, |name| name.starts_with("splits_") && name.ends_with(".pickle"))?;
    Ok(table.zip(split).map(|(table, split)| Files { table, split }))
}

/// Reads table and split.
pub(super) fn read(
    tree: &dyn Tree,
    files: &Files,
    info: &DatasetInfo,
    options: &ReadOptions,
    budget: &Budget,
) -> Result<Read, DataError> {
    let place = tree.place(&files.table);
    let plain = files.table.trim_end_matches(".gz").trim_end_matches(".zst");
    let lines = lines_of(tree, plain, &options.limits)?.ok_or_else(|| super::missing(tree, plain))?;
    let is_function = info.task() == Task::Binary;
    // Label lists are read as text classes first and taken apart below.
    let targets = if is_function { vec!["labels".to_owned()] } else { info.targets.clone() };
    let inner = ReadOptions {
        featurizer: Some(Featurizer::Ogb),
        header: Some(true),
        schema: None,
        targets: Some(targets),
        task: (!is_function).then_some(Task::Regression),
        on_bad_row: OnBadRow::Error,
        ..options.clone()
    };
    let mut read = read_smiles_lines(lines, tree.root(), &inner)?;
    let schema = &mut read.dataset.schema;
    if is_function {
        let lists = std::mem::take(&mut schema.class_names);
        let labels: Vec<Vec<f32>> = lists
            .iter()
            .map(|list| label_list(list, info.targets.len()))
            .collect::<Result<_, String>>()
            .map_err(|reason| invalid(&place, reason))?;
        for sample in &mut read.dataset.samples {
            let class = sample.targets.first().copied().unwrap_or(f32::NAN);
            let row = labels.get(class as usize).filter(|_| !class.is_nan());
            sample.targets = row.cloned().unwrap_or_else(|| vec![f32::NAN; info.targets.len()]);
        }
    } else {
        standardise(&mut read, info.targets.len());
        read.report
            .notes
            .push("targets were standardised over the whole table, as the benchmark does".to_owned());
    }
    let schema = &mut read.dataset.schema;
    (schema.level, schema.task) = (Level::Graph, info.task());
    schema.targets.clone_from(&info.targets);
    read.dataset.official_split =
        Some(read_split(tree, &files.split, read.dataset.samples.len(), options, budget)?);
    Ok(read)
}

/// `[0, 1, 0, …]` as numbers.
fn label_list(text: &str, expected: usize) -> Result<Vec<f32>, String> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    let labels: Option<Vec<f32>> = inner
        .split([',', ' '])
        .filter(|field| !field.is_empty())
        .map(|field| match field {
            "0" | "0.0" => Some(0.0),
            "1" | "1.0" => Some(1.0),
            _ => None,
        })
        .collect();
    labels
        .filter(|labels| labels.len() == expected)
        .ok_or_else(|| format!("`{}` is not a list of {expected} zeros and ones", crate::escape(text)))
}

/// Zero mean and unit (sample) standard deviation of every target, computed over all rows.
fn standardise(read: &mut Read, columns: usize) {
    let samples = &mut read.dataset.samples;
    for column in 0..columns {
        let values =
            || samples.iter().filter_map(|sample| sample.targets.get(column)).filter(|value| !value.is_nan());
        let count = values().count() as f64;
        let mean = values().map(|value| f64::from(*value)).sum::<f64>() / count.max(1.0);
        let squares: f64 = values().map(|value| (f64::from(*value) - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
        for target in samples.iter_mut().filter_map(|sample| sample.targets.get_mut(column)) {
            let centred = f64::from(*target) - mean;
            *target = (if deviation > 0.0 { centred / deviation } else { centred }) as f32;
        }
    }
}

fn read_split(
    tree: &dyn Tree,
    name: &str,
    count: usize,
    options: &ReadOptions,
    budget: &Budget,
) -> Result<Vec<Split>, DataError> {
    let place = tree.place(name);
    let document = document(tree, name, &options.limits, budget)?;
    let mut parts: Vec<Option<Split>> = vec![None; count];
    for (split, part) in PARTS {
        let value = document
            .get(document.root(), part)
            .ok_or_else(|| invalid(&place, format!("no part `{part}`")))?;
        let indices =
            document.array(value).map_err(|reason| invalid(&place, format!("`{part}`: {reason}")))?;
        for index in indices.values {
            let is_index = index >= 0.0 && index.fract() == 0.0;
            match parts.get_mut(index as usize).filter(|_| is_index) {
                Some(slot @ None) => *slot = Some(split),
                Some(Some(_)) => return Err(invalid(&place, format!("molecule {index} is in two parts"))),
                None => return Err(invalid(&place, format!("`{part}` lists molecule {index} of {count}"))),
            }
        }
    }
    parts.into_iter().collect::<Option<Vec<_>>>().ok_or_else(|| invalid(&place, "a molecule is in no part"))
}
