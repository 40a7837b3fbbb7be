//! What targets mean: numbers, yes/no answers or classes, which class is the positive one, and how raw values map to it.

use super::columns::{ColumnSet, ColumnTrace};
use super::infer::{sorted_names, text_map};
use crate::text::{number, quoted_some};
use crate::{DataError, Place, ReadOptions, Schema, Task, escape};
use std::collections::HashMap;

/// Names of classes that say yes; case does not matter.
const POSITIVE_WORDS: [&str; 10] =
    ["active", "yes", "y", "true", "t", "positive", "pos", "toxic", "hit", "1"];

/// So many classes are taken for such even where each of them came up a few times.
const FEW_CLASSES: f64 = 20.0;

/// How often each of more classes came up at least, on average.
const TIMES: f64 = 10.0;

/// The first version of the rules under which codes of texts are never numbers: text is the only target, and names classes.
pub(super) const TEXT_IS_CLASSES: u32 = 5;

/// The first version of the rules under which 0.0 and 1.0 are no and yes, as 0 and 1 are.
const YES_OR_NO: u32 = 5;

/// The first version of the rules under which 1.0, 2.0 and 3.0 name classes as 1, 2 and 3 do, where classes are asked for.
const WHOLE: u32 = 8;

/// How raw values become targets.
#[derive(Debug, Clone)]
enum Classes {
    /// They are what they are.
    AsWritten,
    /// The number that every text code stands for.
    Numbers(Vec<f64>),
    /// Class of every text code.
    Text(Vec<Option<u32>>),
    /// Class of every integer that names one.
    Integers(HashMap<i64, u32>),
}

/// What the targets mean, how they are named, and how raw values map to them.
#[derive(Debug, Clone)]
pub(super) struct TargetEncoder {
    pub(super) task: Task,
    pub(super) class_names: Vec<String>,
    pub(super) positive_class: Option<String>,
    /// What a person should know about it.
    pub(super) notes: Vec<String>,
    classes: Classes,
}

impl TargetEncoder {
    pub(super) fn new(raw: &ColumnSet, options: &ReadOptions, place: &Place) -> Result<Self, DataError> {
        if let Some(schema) = &options.schema {
            return Ok(Self::of_schema(raw, schema));
        }
        if options.rules >= TEXT_IS_CLASSES {
            check_text_is_alone(raw.traces(), place)?;
        }
        let mut classes = Classes::AsWritten;
        let named = match raw.traces() {
            [trace] if trace.holds_text() && has_numbers_by_request(options) => {
                classes = Classes::Numbers(numbers_of(trace, place)?);
                None
            }
            [trace] if trace.holds_text() => {
                let names = sorted_names(trace);
                let inferred = match names.len() {
                    2 => Task::Binary,
                    classes => Task::MultiClass { classes },
                };
                Some((trace, options.task.unwrap_or(inferred), names))
            }
            [trace] => named_by_integers(trace, options).map(|(task, names)| (trace, task, names)),
            _ => None,
        };
        if let Some((trace, task, names)) = named {
            return Self::of_names(trace, task, names, options, place);
        }
        if let Some(positive) = &options.positive_class {
            let reason = format!(
                "the positive class `{}` has no meaning here: it takes one target column with two classes",
                escape(positive)
            );
            return Err(DataError::Schema { place: place.clone(), reason });
        }
        let task = options.task.unwrap_or_else(|| inferred_task(raw.traces(), options));
        let notes = Vec::from_iter(choice_of_classes(raw.traces(), task, options));
        Ok(Self { task, class_names: Vec::new(), positive_class: None, notes, classes })
    }

    fn of_schema(raw: &ColumnSet, schema: &Schema) -> Self {
        let trace = (!schema.class_names.is_empty()).then(|| raw.traces().first()).flatten();
        Self {
            task: schema.task,
            class_names: schema.class_names.clone(),
            positive_class: schema.positive_class.clone(),
            notes: Vec::new(),
            classes: trace.map_or(Classes::AsWritten, |trace| {
                let mut classes = text_map(trace, &schema.class_names, schema.class_names.len());
                name_whole_numbers(&mut classes, trace, &schema.class_names);
                Classes::Text(classes)
            }),
        }
    }

    /// A column whose classes have names.
    fn of_names(
        trace: &ColumnTrace,
        task: Task,
        mut names: Vec<String>,
        options: &ReadOptions,
        place: &Place,
    ) -> Result<Self, DataError> {
        let (column, is_text) = (escape(&trace.name), trace.holds_text());
        if is_text && options.rules >= TEXT_IS_CLASSES {
            check_number_of_classes(trace, task, &names, place)?;
        }
        let (mut notes, mut positive_class) = (Vec::new(), None);
        if !is_text {
            notes.push(format!("the classes of `{column}` are the numbers {}", names.join(", ")));
        }
        let alike = alike_but_for_case(&names);
        if !alike.is_empty() {
            let classes = quoted_some(alike);
            notes.push(format!("`{column}` has classes that differ in case alone: {classes}"));
        }
        if names.len() == 2 && options.rules >= 2 {
            let how = put_positive_last(&mut names, is_text, options, &place.clone().in_column(&trace.name))?;
            notes.push(format!(
                "`{}` is the positive class of `{column}`: probabilities are of it, and `{}` is the other{how}",
                escape(&names[1]),
                escape(&names[0])
            ));
            positive_class = names.last().cloned();
        } else if let Some(positive) = &options.positive_class {
            let reason = format!(
                "the positive class `{}` has no meaning among the {} classes {}",
                escape(positive),
                names.len(),
                quoted_some(names.iter())
            );
            return Err(DataError::Schema { place: place.clone().in_column(&trace.name), reason });
        }
        let classes = if is_text {
            Classes::Text(text_map(trace, &names, names.len()))
        } else {
            let numbers = names.iter().filter_map(|name| name.parse().ok());
            Classes::Integers(numbers.zip(0..).collect())
        };
        Ok(Self { task, class_names: names, positive_class, notes, classes })
    }

    /// One raw value as a target; the error says what was expected.
    pub(super) fn encode(&self, value: f64) -> Result<f32, String> {
        if value.is_nan() {
            return Ok(f32::NAN);
        }
        let known = |class: Option<u32>| {
            class
                .map(f64::from)
                .ok_or_else(|| format!("not one of the classes {}", quoted_some(self.class_names.iter())))
        };
        let value = match &self.classes {
            Classes::AsWritten => value,
            Classes::Numbers(numbers) => numbers.get(value as usize).copied().unwrap_or(f64::NAN),
            Classes::Text(classes) => known(classes.get(value as usize).copied().flatten())?,
            Classes::Integers(classes) => known(classes.get(&(value as i64)).copied())?,
        };
        match self.task {
            Task::Regression => Ok(value as f32),
            Task::Binary if value == 0.0 || value == 1.0 => Ok(value as f32),
            Task::Binary => Err("not 0, 1 or blank".to_owned()),
            Task::MultiClass { classes }
                if value >= 0.0 && value < classes as f64 && value.fract() == 0.0 =>
            {
                Ok(value as f32)
            }
            Task::MultiClass { classes } => {
                Err(format!("not a class from 0 to {}, or blank", classes.saturating_sub(1)))
            }
        }
    }
}

/// Finds the class of texts such as `1.0` where `1` is one: a column of whole numbers gets a decimal point where it has gaps.
fn name_whole_numbers(classes: &mut [Option<u32>], trace: &ColumnTrace, names: &[String]) {
    let whole = |text: &str| number(text).parse::<f64>().ok().filter(|number| number.fract() == 0.0);
    let numbers: Vec<Option<f64>> = names.iter().map(|name| whole(name)).collect();
    for (text, code) in &trace.codes {
        let Some(slot) = classes.get_mut(*code as usize).filter(|slot| slot.is_none()) else { continue };
        let Some(value) = whole(text) else { continue };
        let mut same = (0..).zip(&numbers).filter(|(_, number)| **number == Some(value));
        if let (Some((class, _)), None) = (same.next(), same.next()) {
            *slot = Some(class);
        }
    }
}

/// What is to be said of a column of numbers that may be names of classes: each of a few whole numbers came up many times.
fn choice_of_classes(traces: &[ColumnTrace], task: Task, options: &ReadOptions) -> Option<String> {
    let [trace] = traces else { return None };
    let count = trace.integers.as_ref().filter(|_| trace.all_whole && !trace.all_integers)?.len();
    let is_few = (2..=FEW_CLASSES as usize).contains(&count) && trace.numbers as f64 >= TIMES * count as f64;
    (is_few && task == Task::Regression && options.task.is_none()).then(|| {
        format!(
            "`{}` has {count} different whole numbers with a decimal point, which are numbers to be predicted; `--task classes:{count}` \
             makes them classes",
            escape(&trace.name)
        )
    })
}

/// The names that others are equal to but for case.
fn alike_but_for_case(names: &[String]) -> Vec<&String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    names.iter().for_each(|name| *counts.entry(name.to_lowercase()).or_default() += 1);
    names.iter().filter(|name| counts.get(&name.to_lowercase()).is_some_and(|count| *count > 1)).collect()
}

/// Fails for text beside other targets: a model has classes or numbers, and codes of texts are not numbers that mean anything.
fn check_text_is_alone(traces: &[ColumnTrace], place: &Place) -> Result<(), DataError> {
    let text = || traces.iter().filter(|trace| trace.holds_text() && !trace.codes.is_empty());
    let Some(first) = text().next().filter(|_| traces.len() > 1) else { return Ok(()) };
    let reason = format!(
        "text in the target {} (such as {}), beside other targets: a column of text can only be the only target. Name the \
         targets to use with `--target` (in JSON Lines, leave the text out of `target`)",
        quoted_some(text().map(|trace| &trace.name)),
        quoted_some(sorted_names(first).iter().take(1)),
    );
    Err(DataError::Schema { place: place.clone(), reason })
}

/// Whether text is to be read as numbers.
fn has_numbers_by_request(options: &ReadOptions) -> bool {
    options.task == Some(Task::Regression) && options.rules >= TEXT_IS_CLASSES
}

/// The numbers that texts such as labels `10` and `20` are, by their codes.
fn numbers_of(trace: &ColumnTrace, place: &Place) -> Result<Vec<f64>, DataError> {
    let mut numbers = vec![f64::NAN; trace.codes.len()];
    for text in sorted_names(trace) {
        let number = text.trim().parse::<f64>().ok().filter(|number| (*number as f32).is_finite());
        match (number, trace.codes.get(&text).and_then(|code| numbers.get_mut(*code as usize))) {
            (Some(number), Some(slot)) => *slot = number,
            _ => {
                let reason = format!(
                    "regression needs numbers, and this column holds text, such as `{}`. Without `--task regression` its texts \
                     are classes; `--target` names another column",
                    escape(&text)
                );
                return Err(DataError::Schema { place: place.clone().in_column(&trace.name), reason });
            }
        }
    }
    Ok(numbers)
}

/// Fails for a task with more or fewer classes than there are: the others would have no name.
fn check_number_of_classes(
    trace: &ColumnTrace,
    task: Task,
    names: &[String],
    place: &Place,
) -> Result<(), DataError> {
    let fits = match task {
        Task::Regression => true,
        Task::Binary => names.len() <= 2,
        Task::MultiClass { classes } => names.len() == classes,
    };
    if fits {
        return Ok(());
    }
    let reason = format!(
        "found the classes {} ({} of them), expected {task} as `--task` says; without it those that are found are taken",
        quoted_some(names.iter()),
        names.len()
    );
    Err(DataError::Schema { place: place.clone().in_column(&trace.name), reason })
}

/// Orders two classes so that the positive one is the second; says why, where it was only guessed.
fn put_positive_last(
    names: &mut [String],
    is_text: bool,
    options: &ReadOptions,
    place: &Place,
) -> Result<&'static str, DataError> {
    let is_word = |name: &String| POSITIVE_WORDS.iter().any(|word| name.eq_ignore_ascii_case(word));
    let is_first = match &options.positive_class {
        Some(positive) => match names.iter().position(|name| name == positive) {
            Some(at) => at == 0,
            None => {
                let (positive, names) = (escape(positive), quoted_some(names.iter()));
                let reason = format!("the positive class `{positive}` is not one of the classes {names}");
                return Err(DataError::Schema { place: place.clone(), reason });
            }
        },
        // Of two numbers the larger one is positive.
        None if !is_text || names.iter().all(|name| name.parse::<i64>().is_ok()) => false,
        None => match [is_word(&names[0]), is_word(&names[1])] {
            [first, second] if first != second => first,
            _ => return Ok(" (the alphabetically second; `positive_class` chooses)"),
        },
    };
    if is_first {
        names.swap(0, 1);
    }
    Ok("")
}

fn inferred_task(traces: &[ColumnTrace], options: &ReadOptions) -> Task {
    let seen = || traces.iter().filter(|trace| trace.largest >= trace.smallest);
    let integers = seen().all(|trace| trace.all_integers && trace.smallest >= 0.0);
    let largest = seen().map(|trace| trace.largest).fold(0.0, f64::max);
    // Tables that were written by a program have 1.0 where a label is missing elsewhere in the column.
    if options.rules >= YES_OR_NO && seen().next().is_some() && seen().all(|trace| trace.all_yes_or_no) {
        return Task::Binary;
    }
    if seen().next().is_none() || !integers {
        return Task::Regression;
    }
    match traces {
        _ if largest <= 1.0 => Task::Binary,
        [trace] if look_like_classes(trace, options) => Task::MultiClass { classes: largest as usize + 1 },
        _ => Task::Regression,
    }
}

/// Counts and measurements are often written as integers too: with more than a few of them, every class should have
/// come up several times.
fn look_like_classes(trace: &ColumnTrace, options: &ReadOptions) -> bool {
    let classes = trace.largest + 1.0;
    classes <= FEW_CLASSES
        || (classes <= options.category_limit as f64 && trace.numbers as f64 >= TIMES * classes)
}

/// The task and the names of a column in which integers are names of classes: there are two of them, or they do not
/// begin with 0. Of 0 and 1 it is so where 0 is to be the positive class.
fn named_by_integers(trace: &ColumnTrace, options: &ReadOptions) -> Option<(Task, Vec<String>)> {
    let is_of_classes = |task| matches!(task, Task::Binary | Task::MultiClass { .. });
    let are_asked_for = options.task.is_some_and(is_of_classes) || options.positive_class.is_some();
    let are_integers = trace.all_integers || trace.all_whole && are_asked_for && options.rules >= WHOLE;
    let integers = trace.integers.as_ref().filter(|_| are_integers && options.rules >= 2)?;
    let integers: Vec<i64> = integers.iter().copied().collect();
    let two = integers.len() == 2;
    let are_numbers = match integers[..] {
        [0, 1] => options.positive_class.is_none(),
        [first, _, ..] => first == 0 && !two,
        _ => true,
    };
    if are_numbers {
        return None;
    }
    let task = match options.task {
        None if integers == [-1, 1] || (trace.smallest >= 0.0 && look_like_classes(trace, options)) => {
            if two { Task::Binary } else { Task::MultiClass { classes: integers.len() } }
        }
        Some(Task::Binary) if two => Task::Binary,
        Some(Task::MultiClass { classes }) if classes == integers.len() => Task::MultiClass { classes },
        _ => return None,
    };
    Some((task, integers.iter().map(i64::to_string).collect()))
}
