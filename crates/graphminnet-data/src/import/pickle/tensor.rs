//! Arrays as plain numbers, in row-major order, after their extent has been checked against their storage.

use super::globals::Element;
use super::value::{Document, Node, Value};
use std::ops::Range;

/// A dense array in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Array {
    /// Extent of every dimension.
    pub(crate) shape: Vec<usize>,
    /// The elements.
    pub(crate) values: Vec<f64>,
    /// Whether they are stored as integers.
    pub(crate) is_integer: bool,
}

impl Array {
    /// Rows and columns; a vector is a column.
    pub(crate) fn rows_and_columns(&self) -> Option<(usize, usize)> {
        match self.shape.as_slice() {
            [rows] => Some((*rows, 1)),
            [rows, columns] => Some((*rows, *columns)),
            _ => None,
        }
    }
}

impl Document {
    /// A tensor, a NumPy array, a list of numbers or a number, as an array.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words.
    pub(crate) fn array(&self, value: Value) -> Result<Array, String> {
        match value {
            Value::Integer(number) => {
                return Ok(Array { shape: Vec::new(), values: vec![number as f64], is_integer: true });
            }
            Value::Bool(flag) => {
                return Ok(Array {
                    shape: Vec::new(),
                    values: vec![f64::from(u8::from(flag))],
                    is_integer: true,
                });
            }
            Value::Number(number) => {
                return Ok(Array { shape: Vec::new(), values: vec![number], is_integer: false });
            }
            _ => {}
        }
        match self.node(value) {
            Some(Node::Tensor { storage, offset, size, stride }) => {
                self.tensor(*storage, *offset, size, stride)
            }
            Some(Node::Array { element: Some(element), shape, is_fortran, data: Some(data) }) => {
                self.numpy(*element, shape, *is_fortran, *data)
            }
            Some(Node::List(items) | Node::Tuple(items)) => self.list(items),
            _ => Err("something that is not an array".to_owned()),
        }
    }

    fn list(&self, items: &[Value]) -> Result<Array, String> {
        self.spend(items.len())?;
        self.has_room_for(items.len() as u64)?;
        let mut array =
            Array { shape: vec![items.len()], values: Vec::with_capacity(items.len()), is_integer: true };
        for item in items {
            match item {
                Value::Integer(number) => array.values.push(*number as f64),
                Value::Number(number) => {
                    array.is_integer = false;
                    array.values.push(*number);
                }
                // A scalar tensor or array.
                Value::Node(_) if !matches!(self.node(*item), Some(Node::List(_) | Node::Tuple(_))) => {
                    let inner = self.array(*item)?;
                    let [value] = inner.values.as_slice() else { return Err("a list of arrays".to_owned()) };
                    array.is_integer &= inner.is_integer;
                    array.values.push(*value);
                }
                _ => return Err("a list of something that is not a number".to_owned()),
            }
        }
        Ok(array)
    }

    fn tensor(&self, storage: u32, offset: u64, size: &[u64], stride: &[u64]) -> Result<Array, String> {
        let Some(storage) = self.storages.get(storage as usize) else { return Err("no storage".to_owned()) };
        let Some((buffer, range)) = &storage.data else {
            return Err(format!("the storage `{}` is missing", crate::escape(&storage.key)));
        };
        let bytes =
            self.buffers.get(*buffer).and_then(|buffer| buffer.get(range.clone())).unwrap_or_default();
        let count = product(size).filter(|count| *count <= storage.count);
        let Some(count) = count else {
            return Err(format!("a tensor of shape {size:?} in a storage of {} elements", storage.count));
        };
        let mut last = Some(offset);
        for (extent, step) in size.iter().zip(stride) {
            last = last.and_then(|last| last.checked_add(extent.saturating_sub(1).checked_mul(*step)?));
        }
        if count > 0 && last.is_none_or(|last| last >= storage.count) {
            return Err(format!(
                "a tensor of shape {size:?} and strides {stride:?} from {offset} leaves its storage of {} elements",
                storage.count
            ));
        }
        self.spend(count as usize)?;
        self.has_room_for(count)?;
        let mut values = Vec::with_capacity(count as usize);
        let mut index = vec![0u64; size.len()];
        for _ in 0..count {
            let at = index.iter().zip(stride).fold(offset, |at, (index, step)| at + index * step);
            values.push(element_at(bytes, at, storage.element));
            for (position, extent) in index.iter_mut().zip(size).rev() {
                *position += 1;
                if *position < *extent {
                    break;
                }
                *position = 0;
            }
        }
        let shape = size.iter().map(|extent| *extent as usize).collect();
        Ok(Array { shape, values, is_integer: storage.element.is_integer() })
    }

    fn numpy(&self, element: Element, shape: &[u64], is_fortran: bool, data: Value) -> Result<Array, String> {
        let range: Range<usize> = self.range(data).ok_or("an array whose data is not bytes")?;
        let bytes = self.buffers.first().and_then(|buffer| buffer.get(range)).unwrap_or_default();
        let count =
            product(shape).filter(|count| count.checked_mul(element.size()) == Some(bytes.len() as u64));
        let Some(count) = count else {
            return Err(format!("an array of shape {shape:?} in {} bytes", bytes.len()));
        };
        self.spend(count as usize)?;
        self.has_room_for(count)?;
        let mut values: Vec<f64> = (0..count).map(|at| element_at(bytes, at, element)).collect();
        let shape: Vec<usize> = shape.iter().map(|extent| *extent as usize).collect();
        if is_fortran && let [rows, columns] = shape.as_slice() {
            values = (0..*rows)
                .flat_map(|row| (0..*columns).map(move |column| column * rows + row))
                .map(|at| values.get(at).copied().unwrap_or(0.0))
                .collect();
        } else if is_fortran && shape.len() > 2 {
            return Err("a column-major array of more than two dimensions".to_owned());
        }
        Ok(Array { shape, values, is_integer: element.is_integer() })
    }
}

fn product(extents: &[u64]) -> Option<u64> {
    extents.iter().try_fold(1u64, |product, extent| product.checked_mul(*extent))
}

/// Element number `at`; the caller has checked that it is inside.
fn element_at(bytes: &[u8], at: u64, element: Element) -> f64 {
    let size = element.size() as usize;
    let start = at as usize * size;
    let raw = bytes.get(start..start + size).unwrap_or_default();
    let bits = raw.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    match element {
        Element::F64 => f64::from_bits(bits),
        Element::F32 => f64::from(f32::from_bits(bits as u32)),
        Element::F16 => half(bits as u16),
        Element::BF16 => f64::from(f32::from_bits((bits as u32) << 16)),
        Element::I64 => bits as i64 as f64,
        Element::I32 => f64::from(bits as u32 as i32),
        Element::I16 => f64::from(bits as u16 as i16),
        Element::I8 => f64::from(bits as u8 as i8),
        Element::U8 => f64::from(bits as u8),
        Element::Bool => f64::from(u8::from(bits != 0)),
    }
}

/// A 16-bit float.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    match exponent {
        0 => sign * fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}
