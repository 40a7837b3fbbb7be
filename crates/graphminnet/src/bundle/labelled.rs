//! Labelled graphs with what models say about them: what an evaluation looks at, also from several processes.
//!
//! ```text
//! "GMNANSWR", models u32, columns u32
//! for every graph: rows u32, targets u32, the outputs of each model [rows, columns] and the targets as f32
//! ```
//!
//! (little-endian). Whoever keeps such bytes also keeps their checksum.

use super::{Answers, Ensemble, PredictError};
use graphminnet_data::{Dataset, Graph};
use std::io::{self, Read, Write};
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"GMNANSWR";

/// Labelled graphs with the answers of an ensemble, all of which are there.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    pub(super) answers: Answers,
    pub(super) targets: Vec<Vec<f32>>,
}

impl Labelled {
    /// Asks an ensemble about labelled graphs.
    ///
    /// # Errors
    ///
    /// [`PredictError::InGraph`] for the first graph that cannot be predicted.
    pub fn answer(ensemble: &Ensemble, dataset: &Dataset) -> Result<Self, PredictError> {
        let graphs: Vec<Arc<Graph>> =
            dataset.samples.iter().map(|sample| Arc::clone(&sample.graph)).collect();
        let targets = dataset.samples.iter().map(|sample| sample.targets.clone()).collect();
        Self::new(ensemble.answer(&graphs), targets)
    }

    /// The answers to some graphs with the targets of each.
    ///
    /// # Errors
    ///
    /// As [`Labelled::answer`].
    pub fn new(answers: Answers, targets: Vec<Vec<f32>>) -> Result<Self, PredictError> {
        for graph in 0..answers.len() {
            answers.graph(graph).map_err(PredictError::in_graph(graph))?;
        }
        Ok(Self { answers, targets })
    }

    /// No graphs.
    pub fn none(ensemble: &Ensemble) -> Self {
        let graphs: [Arc<Graph>; 0] = [];
        Self { answers: ensemble.answer(&graphs), targets: Vec::new() }
    }

    /// Number of graphs.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Writes them down.
    ///
    /// # Errors
    ///
    /// Whatever the output refuses.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Answers { form, graphs, models } = &self.answers;
        let columns = form.columns;
        out.write_all(MAGIC)?;
        write_numbers(out, [models.len(), columns])?;
        for (rows, targets) in graphs.iter().flatten().zip(&self.targets) {
            write_numbers(out, [rows.len(), targets.len()])?;
            for outputs in models {
                let outputs = outputs.get(rows.start * columns..rows.end * columns).unwrap_or_default();
                write_floats(out, outputs)?;
            }
            write_floats(out, targets)?;
        }
        Ok(())
    }

    /// Adds what [`Labelled::write`] wrote for the same ensemble.
    ///
    /// # Errors
    ///
    /// What the input fails with; `InvalidData` if it is something else.
    pub fn read_more(&mut self, from: &mut impl Read) -> io::Result<()> {
        let wrong = |what| io::Error::new(io::ErrorKind::InvalidData, what);
        let columns = self.answers.form.columns;
        let mut magic = [0; 8];
        from.read_exact(&mut magic)?;
        let shape = read_numbers(from)?.ok_or_else(|| wrong("it ends too early"))?;
        if magic != *MAGIC || shape != [self.answers.models.len(), columns] {
            return Err(wrong("these are not answers of the same models"));
        }
        while let Some([rows, targets]) = read_numbers(from)? {
            let start = match self.answers.graphs.last() {
                Some(Ok(last)) => last.end,
                _ => 0,
            };
            for outputs in &mut self.answers.models {
                read_floats(from, rows.checked_mul(columns).ok_or_else(|| wrong("too many rows"))?, outputs)?;
            }
            self.answers.graphs.push(Ok(start..start + rows));
            let mut values = Vec::new();
            read_floats(from, targets, &mut values)?;
            self.targets.push(values);
        }
        Ok(())
    }
}

fn write_numbers(out: &mut impl Write, numbers: [usize; 2]) -> io::Result<()> {
    numbers.into_iter().try_for_each(|number| {
        let number = u32::try_from(number).map_err(|_| io::Error::other("the graph is too large"))?;
        out.write_all(&number.to_le_bytes())
    })
}

fn write_floats(out: &mut impl Write, values: &[f32]) -> io::Result<()> {
    values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
}

/// Two numbers; `None` at the end.
fn read_numbers(from: &mut impl Read) -> io::Result<Option<[usize; 2]>> {
    let mut bytes = Vec::with_capacity(8);
    from.take(8).read_to_end(&mut bytes)?;
    match (bytes.as_chunks::<4>().0, bytes.len()) {
        (_, 0) => Ok(None),
        ([first, second], _) => Ok(Some([first, second].map(|bytes| u32::from_le_bytes(*bytes) as usize))),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn read_floats(from: &mut impl Read, count: usize, into: &mut Vec<f32>) -> io::Result<()> {
    let mut bytes = Vec::new();
    // What is not there takes no memory.
    from.take(4 * count as u64).read_to_end(&mut bytes)?;
    if bytes.len() != 4 * count {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    into.extend(bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::AnswerKind;
    use crate::bundle::answers::Form;
    use crate::config::Spread;

    const TWO_NUMBERS: Form = Form { kind: AnswerKind::Numbers, columns: 2, spread: Spread::None };

    fn two_models() -> Labelled {
        let models = vec![vec![1.0, 2.0, 3.0, 4.0], vec![5.0, 6.0, 7.0, 8.0]];
        let answers = Answers::new(TWO_NUMBERS, vec![Ok(0..1), Ok(1..1), Ok(1..2)], models);
        Labelled { answers, targets: vec![vec![0.5], vec![], vec![f32::NAN, 1.0]] }
    }

    fn nothing() -> Labelled {
        let answers = Answers::new(TWO_NUMBERS, Vec::new(), vec![Vec::new(), Vec::new()]);
        Labelled { answers, targets: Vec::new() }
    }

    #[test]
    fn what_is_written_in_parts_is_read_back_as_a_whole() {
        let mut bytes = Vec::new();
        two_models().write(&mut bytes).unwrap();
        let mut found = nothing();
        found.read_more(&mut &bytes[..]).unwrap();
        found.read_more(&mut &bytes[..]).unwrap();
        assert_eq!(found.len(), 6);
        let mut twice = two_models().answers;
        twice.extend(two_models().answers);
        assert_eq!(found.answers, twice);
        assert_eq!(format!("{:?}", &found.targets[3..]), format!("{:?}", two_models().targets));
    }

    #[test]
    fn anything_else_is_refused() {
        let mut bytes = Vec::new();
        two_models().write(&mut bytes).unwrap();
        let graphs = 16;
        for end in (0..graphs).chain(graphs + 1..graphs + 8) {
            assert!(nothing().read_more(&mut &bytes[..end]).is_err(), "{end} bytes");
        }
        assert!(nothing().read_more(&mut &bytes[..bytes.len() - 1]).is_err());
        let claims = [&bytes[..graphs], &u32::MAX.to_le_bytes(), &u32::MAX.to_le_bytes()].concat();
        assert!(nothing().read_more(&mut &claims[..]).is_err());
        bytes[8] = 3;
        assert!(nothing().read_more(&mut &bytes[..]).is_err(), "three models");
    }
}
