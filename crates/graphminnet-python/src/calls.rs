//! A call from Python and its reply, before and after they are Python's objects.

use crate::{conformal, model, pairs, training, validation};
use graphminnet::Ensemble;
use graphminnet_cli::Failure;
use graphminnet_data::foreign::hush_contained_panics;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::error::Error;
use std::ffi::OsString;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Arrays that came with a call, as bytes in native byte order; Python's own, which never change.
pub struct Arrays<'a>(pub Vec<&'a [u8]>);

impl Arrays<'_> {
    fn get<T, const SIZE: usize>(&self, at: usize, from: fn([u8; SIZE]) -> T) -> Result<Vec<T>, Failure> {
        let bytes = self.0.get(at).ok_or_else(|| Failure::usage(format!("array {at} is missing")))?;
        Ok(bytes.as_chunks::<SIZE>().0.iter().map(|chunk| from(*chunk)).collect())
    }

    /// An array of 64-bit integers.
    pub fn integers(&self, at: usize) -> Result<Vec<i64>, Failure> {
        self.get(at, i64::from_ne_bytes)
    }

    /// An array of 64-bit numbers.
    pub fn numbers(&self, at: usize) -> Result<Vec<f64>, Failure> {
        self.get(at, f64::from_ne_bytes)
    }
}

/// What a call gives back.
#[derive(Default)]
pub struct Reply {
    /// JSON.
    pub value: Value,
    /// Arrays of bytes.
    pub arrays: Vec<Vec<u8>>,
    /// A loaded model.
    pub handle: Option<Arc<Ensemble>>,
}

impl From<Value> for Reply {
    fn from(value: Value) -> Self {
        Self { value, ..Self::default() }
    }
}

/// The bytes of some numbers.
pub fn bytes<T: Copy, const SIZE: usize>(values: &[T], to: fn(T) -> [u8; SIZE]) -> Vec<u8> {
    values.iter().map(|value| to(*value)).collect::<Vec<_>>().into_flattened()
}

/// A call, as far as it does not concern Python.
pub struct Call<'a> {
    /// What is to be done.
    pub method: String,
    /// JSON.
    pub request: String,
    /// Arrays of bytes.
    pub arrays: Arrays<'a>,
    /// A loaded model.
    pub handle: Option<Arc<Ensemble>>,
}

/// Whom a long call tells how it goes on, and who may stop it.
pub trait Caller {
    /// Takes JSON; `false` asks to stop.
    fn tell(&mut self, event: &str) -> bool;
    /// Looks for signals; `false` asks to stop.
    fn is_patient(&mut self) -> bool;
}

impl Call<'_> {
    /// Does what is asked. Never fails: a failure is a reply as well.
    pub fn answer(self, caller: &mut dyn Caller) -> Reply {
        hush_contained_panics();
        let done = catch_unwind(AssertUnwindSafe(|| self.dispatch(caller)));
        match done {
            Ok(Ok(reply)) => reply,
            Ok(Err(failure)) => failed(&failure),
            Err(_) => {
                let text = "a bug in graphminnet: what went wrong is on standard error";
                json!({ "failure": { "class": "bug", "texts": [text] } }).into()
            }
        }
    }

    /// The request as a type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(&self.request).map_err(Failure::usage)
    }

    /// The model that the call is about.
    pub fn model(&self) -> Result<&Arc<Ensemble>, Failure> {
        self.handle.as_ref().ok_or_else(|| Failure::usage("the call is about no model"))
    }

    fn dispatch(self, caller: &mut dyn Caller) -> Result<Reply, Failure> {
        match self.method.as_str() {
            "load" => model::load(&self),
            "from_bytes" => model::from_bytes(&self),
            "assemble" => model::assemble(&self),
            "to_bytes" => model::to_bytes(&self),
            "save" => model::save(&self),
            "weights" => model::weights(&self),
            "predict" => model::predict(&self, caller),
            "conformal" => conformal::predict(&self, caller),
            "pairs" => pairs::predict(&self, caller),
            "embed" => model::embed(&self, caller),
            "explain" => model::explain(&self, caller),
            "prepare" => model::prepare(&self),
            "read" => model::read(&self),
            "train" => training::train(self, caller),
            "resume" => training::resume(self, caller),
            "cross_validate" => validation::cross_validate(self, caller),
            "run" => training::describe(&self),
            "report" => training::report(&self),
            "command" => {
                let arguments: Vec<OsString> =
                    self.read::<Vec<String>>()?.into_iter().map(Into::into).collect();
                Ok(json!(graphminnet_cli::run(arguments)).into())
            }
            other => Err(Failure::usage(format!("no such call: {other}"))),
        }
    }
}

/// A failure with its class, its text, and the texts of its causes that it does not say itself.
fn failed(failure: &Failure) -> Reply {
    let error: &(dyn Error + 'static) = failure.error();
    let mut texts = vec![error.to_string()];
    let (mut missing, mut cause) = (is_missing(error), error.source());
    while let Some(error) = cause {
        let text = error.to_string();
        missing |= is_missing(error);
        if !texts.last().is_some_and(|said| said.ends_with(&text)) {
            texts.push(text);
        }
        cause = error.source();
    }
    let class = match failure.code() {
        _ if missing => "missing",
        2 => "usage",
        3 => "data",
        130 => "interrupted",
        _ => "machine",
    };
    json!({ "failure": { "class": class, "texts": texts } }).into()
}

fn is_missing(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}
