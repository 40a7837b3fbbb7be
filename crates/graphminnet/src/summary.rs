//! What a model is made of: its parts, their shapes and their parameter counts.

use crate::weights::named_tensors;
use burn::module::Module;
use serde::Serialize;

/// One part of a model: a group of tensors with a common name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// Name of the part, for example `layers.0.gmn.W`.
    pub name: String,
    /// Shapes of its tensors, in order (weight before bias).
    pub shapes: Vec<Vec<usize>>,
    /// Number of its trainable parameters.
    pub parameters: usize,
}

/// All parts of a model with trainable parameters, in order.
pub fn parts<M: Module>(model: &M) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for tensor in named_tensors(model).into_iter().filter(|tensor| tensor.is_parameter()) {
        // `….weight` and `….bias` belong to the same part; a bare parameter such as β is a part of its own.
        let name = match tensor.name.rsplit_once('.') {
            Some((part, "weight" | "bias")) => part,
            _ => &tensor.name,
        };
        if parts.last().is_none_or(|part| part.name != name) {
            parts.push(Part { name: name.to_owned(), shapes: Vec::new(), parameters: 0 });
        }
        if let Some(part) = parts.last_mut() {
            part.shapes.push(tensor.shape);
            part.parameters += tensor.values.len();
        }
    }
    parts
}

/// The parts of one layer, named relative to it, if every layer of the model has the same ones.
///
/// All layers of a model are alike, so a table need not repeat them.
pub fn layer_parts(parts: &[Part]) -> (Vec<Part>, usize) {
    let of_layer = |layer: usize| -> Vec<Part> {
        let prefix = format!("layers.{layer}.");
        let inner = parts.iter().filter_map(|part| {
            Some(Part { name: part.name.strip_prefix(&prefix)?.to_owned(), ..part.clone() })
        });
        inner.collect()
    };
    let first = of_layer(0);
    let count = (0..).take_while(|&layer| !first.is_empty() && of_layer(layer) == first).count();
    (first, count)
}
