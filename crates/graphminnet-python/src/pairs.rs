//! Calls about models that answer for pairs of nodes.

use crate::calls::{Call, Caller, Reply, bytes};
use crate::source::Source;
use crate::watched::watched;
use graphminnet::bundle::{MaybeGraph, PairQuestions};
use graphminnet_cli::Failure;
use serde::Deserialize;
use serde_json::json;
use std::sync::atomic::Ordering;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    source: Source,
    threads: Option<usize>,
    about: About,
}

/// Which pairs.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum About {
    /// Those whose sources and targets are in these arrays.
    These([usize; 2]),
    /// So many of those without an edge, the likeliest first.
    Likeliest(usize),
}

/// What the models say about pairs of one graph: values, deviations, the pairs, and quantiles besides the median.
/// Ctrl-C ends it.
pub fn predict(call: &Call<'_>, caller: &mut dyn Caller) -> Result<Reply, Failure> {
    let asked: Asked = call.read()?;
    let ensemble = call.model()?;
    watched(asked.source.threads(call, asked.threads), caller, |job| {
        let interrupt = job.interrupt;
        let stop = || interrupt.load(Ordering::Relaxed);
        let rows = asked.source.rows(&call.arrays, &ensemble.description().read_options())?;
        let [row] = rows.as_slice() else {
            return Err(Failure::usage(format!(
                "{} graphs were given; pairs are asked about in one",
                rows.len()
            )));
        };
        let graph = row.graph()?;
        let questions = PairQuestions::new_unless(ensemble, graph, &stop)?;
        let pairs = match asked.about {
            About::These([sources, targets]) => {
                let node = |end: &i64| {
                    u32::try_from(*end).map_err(|_| Failure::usage(format!("{end} is no number of a node")))
                };
                let (sources, targets) = (call.arrays.integers(sources)?, call.arrays.integers(targets)?);
                let both = sources.iter().zip(&targets);
                both.map(|(source, target)| Ok([node(source)?, node(target)?]))
                    .collect::<Result<Vec<_>, Failure>>()?
            }
            About::Likeliest(count) => {
                let best = questions.likeliest_unless(graph, count, &stop)?;
                best.into_iter().map(|(pair, _)| pair).collect()
            }
        };
        let answers = questions.answer_unless(&pairs, &stop)?;
        let (mut values, mut deviations, mut quantiles) = (Vec::new(), Vec::new(), Vec::new());
        for answer in answers.iter() {
            for row in answer?.rows() {
                values.extend(row.values());
                if answers.has_deviations() {
                    deviations.extend(row.deviations());
                }
                quantiles.extend(row.quantiles());
            }
        }
        let ends: Vec<i64> = pairs.iter().flatten().map(|end| i64::from(*end)).collect();
        let value = json!({ "columns": answers.columns(), "reasons": vec![(); pairs.len()], "rows": null });
        let arrays = vec![
            bytes(&values, f64::to_ne_bytes),
            bytes(&deviations, f64::to_ne_bytes),
            bytes(&ends, i64::to_ne_bytes),
            bytes(&quantiles, f64::to_ne_bytes),
        ];
        Ok(Reply { value, arrays, handle: None })
    })
}
