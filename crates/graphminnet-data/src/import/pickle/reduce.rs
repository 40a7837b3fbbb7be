//! What the allowed names do with their arguments: they describe arrays and containers, nothing else.

use super::globals::{Element, Global};
use super::machine::Machine;
use super::torch;
use super::value::{Node, Storage, Value};
use crate::DataError;
use crate::limits::within;

impl Machine<'_> {
    /// `REDUCE` and `NEWOBJ`.
    pub(super) fn reduce(&mut self, callee: Value, arguments: Value) -> Result<Value, DataError> {
        let Value::Global(global) = callee else {
            return Err(self.error("something that is not an allowed name is called"));
        };
        let Some(arguments) = self.document.items(arguments).map(<[Value]>::to_vec) else {
            return Err(self.error("arguments that are not a tuple"));
        };
        self.spend(arguments.len())?;
        match global {
            Global::RebuildTensor => self.rebuild_tensor(&arguments),
            Global::LoadFromBytes => self.load_from_bytes(&arguments),
            Global::Size | Global::List | Global::Set => self.container(global, &arguments),
            Global::Dict => self.dictionary(&arguments),
            Global::Encode => self.encode(&arguments),
            Global::ArrayReconstruct => {
                if !arguments.first().is_some_and(|class| Self::is_global(*class, Global::Ndarray)) {
                    return Err(self.error("an array of a class that is not allowed"));
                }
                self.new_node(Node::Array { element: None, shape: Vec::new(), is_fortran: false, data: None })
            }
            Global::Dtype => {
                let element =
                    arguments.first().and_then(|name| self.document.text(*name)).and_then(Element::of_numpy);
                self.new_node(Node::Dtype(element))
            }
            Global::Scalar => self.scalar(&arguments),
            Global::FromBuffer => self.buffer_array(&arguments),
            Global::Plain => self.new_node(Node::Plain(None)),
            Global::Ndarray | Global::Storage(_) => {
                Err(self.error("a type is called that only may be named"))
            }
        }
    }

    /// `BUILD`: the state of an array, an element type or a plain object.
    pub(super) fn build(&mut self, target: Value, state: Value) -> Result<(), DataError> {
        match self.document.node(target) {
            Some(Node::Plain(_)) => {
                if let Some(node) = self.document.node_mut(target) {
                    *node = Node::Plain(Some(state));
                }
                Ok(())
            }
            // An ordered dictionary may carry attributes; they are no data.
            Some(Node::Dict(_)) => Ok(()),
            Some(Node::Dtype(_)) => self.build_dtype(target, state),
            Some(Node::Array { .. }) => self.build_array(target, state),
            _ => Err(self.error("state is given to something that has none")),
        }
    }

    /// `BINPERSID`: the description of a storage.
    pub(super) fn persistent(&mut self, id: Value) -> Result<Value, DataError> {
        let parts = self.document.items(id).map(<[Value]>::to_vec).unwrap_or_default();
        let (kind, class, key, count) = match parts.as_slice() {
            [kind, class, key, _, count, ..] => (*kind, *class, *key, *count),
            _ => return Err(self.error("a persistent value that is not a storage")),
        };
        let (Value::Global(Global::Storage(element)), Some("storage")) = (class, self.document.text(kind))
        else {
            return Err(self.error("a persistent value that is not a storage"));
        };
        let (Some(key), Value::Integer(count)) = (self.document.text(key).map(str::to_owned), count) else {
            return Err(self.error("a storage without key or size"));
        };
        let count = u64::try_from(count).map_err(|_| self.error("a storage of negative size"))?;
        let number =
            u32::try_from(self.document.storages.len()).map_err(|_| self.error("too many storages"))?;
        self.document.storages.push(Storage { key, element, count, data: None });
        self.new_node(Node::Storage(number))
    }

    fn rebuild_tensor(&mut self, arguments: &[Value]) -> Result<Value, DataError> {
        let [storage, Value::Integer(offset), size, stride, ..] = arguments else {
            return Err(self.error("a tensor without storage, offset, size and stride"));
        };
        let Some(Node::Storage(storage)) = self.document.node(*storage) else {
            return Err(self.error("a tensor whose storage is something else"));
        };
        let storage = *storage;
        let offset = u64::try_from(*offset).map_err(|_| self.error("a negative offset"))?;
        let (size, stride) = (self.extents(*size)?, self.extents(*stride)?);
        if size.len() != stride.len() {
            return Err(self.error("a tensor with as many sizes as strides was expected"));
        }
        self.new_node(Node::Tensor { storage, offset, size, stride })
    }

    /// A tuple of non-negative numbers, as many as the rank limit allows.
    fn extents(&mut self, value: Value) -> Result<Vec<u64>, DataError> {
        let items = self.document.items(value).map(<[Value]>::to_vec);
        let items = items.ok_or_else(|| self.error("a shape that is not a tuple"))?;
        within("tensor_rank", items.len() as u64, self.limits.tensor_rank)
            .map_err(DataError::limit(self.place.clone().at_byte(self.at as u64)))?;
        items
            .into_iter()
            .map(|item| match item {
                Value::Integer(extent) => u64::try_from(extent).map_err(|_| self.error("a negative extent")),
                _ => Err(self.error("an extent that is not an integer")),
            })
            .collect()
    }

    fn load_from_bytes(&mut self, arguments: &[Value]) -> Result<Value, DataError> {
        let range = arguments.first().and_then(|bytes| self.document.range(*bytes));
        let range = range.ok_or_else(|| self.error("a nested file that is not bytes"))?;
        const MAX_DEPTH: u32 = 2;
        if self.depth >= MAX_DEPTH {
            return Err(self.error("files are nested too deeply"));
        }
        torch::read_sequence(self.document, range, self.place, self.limits, self.depth + 1)
    }

    fn container(&mut self, global: Global, arguments: &[Value]) -> Result<Value, DataError> {
        let items = match arguments.first() {
            None => Vec::new(),
            Some(items) => match self.document.items(*items) {
                Some(items) => items.to_vec(),
                None => return Err(self.error("a container of something that is not a list")),
            },
        };
        self.spend(items.len())?;
        self.new_node(if global == Global::Size { Node::Tuple(items) } else { Node::List(items) })
    }

    fn dictionary(&mut self, arguments: &[Value]) -> Result<Value, DataError> {
        let mut entries = Vec::new();
        if let Some(pairs) = arguments.first() {
            let Some(pairs) = self.document.items(*pairs) else {
                return Err(self.error("a dictionary of something that is not a list"));
            };
            for pair in pairs {
                match self.document.items(*pair) {
                    Some([key, value]) => entries.push((*key, *value)),
                    _ => return Err(self.error("a dictionary entry that is not a pair")),
                }
            }
        }
        self.spend(entries.len())?;
        self.new_node(Node::Dict(entries))
    }

    fn spend(&self, amount: usize) -> Result<(), DataError> {
        self.document.spend(amount).map_err(|reason| self.error(reason))
    }

    /// Bytes that an old protocol wrote as text: one character per byte.
    fn encode(&mut self, arguments: &[Value]) -> Result<Value, DataError> {
        let text = arguments.first().and_then(|text| self.document.text(*text));
        let bytes: Option<Vec<u8>> = text
            .and_then(|text| text.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect());
        let Some(bytes) = bytes else {
            return Err(self.error("bytes that are not written as one character each"));
        };
        self.spend(bytes.len())?;
        // Appended to the input, so that bytes are ranges of it like all others.
        let Some(buffer) = self.document.buffers.first_mut() else { return Err(self.error("no input")) };
        let start = buffer.len();
        buffer.extend(bytes);
        let range = start..buffer.len();
        self.document.bytes.push(range);
        Ok(Value::Bytes(self.document.bytes.len() as u32 - 1))
    }

    fn build_dtype(&mut self, target: Value, state: Value) -> Result<(), DataError> {
        let order = self.document.items(state).and_then(|items| items.get(1).copied());
        let is_big_endian = order.and_then(|order| self.document.text(order)) == Some(">");
        if is_big_endian && let Some(node) = self.document.node_mut(target) {
            *node = Node::Dtype(None);
        }
        Ok(())
    }

    fn build_array(&mut self, target: Value, state: Value) -> Result<(), DataError> {
        let parts = self.document.items(state).map(<[Value]>::to_vec).unwrap_or_default();
        let [_, shape, dtype, fortran, data, ..] = parts.as_slice() else {
            return Err(self.error("an array without shape, type and data"));
        };
        let (dtype, fortran, data) = (*dtype, *fortran, *data);
        let shape = self.extents(*shape)?;
        let element = self.element(dtype)?;
        let is_fortran = fortran == Value::Bool(true) || fortran == Value::Integer(1);
        if let Some(node) = self.document.node_mut(target) {
            *node = Node::Array { element: Some(element), shape, is_fortran, data: Some(data) };
        }
        Ok(())
    }

    fn element(&self, dtype: Value) -> Result<Element, DataError> {
        match self.document.node(dtype) {
            Some(Node::Dtype(Some(element))) => Ok(*element),
            _ => Err(self.error("an array of a type that is not a plain little-endian number")),
        }
    }

    fn scalar(&mut self, arguments: &[Value]) -> Result<Value, DataError> {
        let [dtype, data, ..] = arguments else { return Err(self.error("a scalar without type and data")) };
        let (element, data) = (self.element(*dtype)?, *data);
        self.new_node(Node::Array {
            element: Some(element),
            shape: Vec::new(),
            is_fortran: false,
            data: Some(data),
        })
    }

    fn buffer_array(&mut self, arguments: &[Value]) -> Result<Value, DataError> {
        let [data, dtype, shape, order, ..] = arguments else {
            return Err(self.error("an array without data, type, shape and order"));
        };
        let (data, element, is_fortran) =
            (*data, self.element(*dtype)?, self.document.text(*order) == Some("F"));
        let shape = self.extents(*shape)?;
        self.new_node(Node::Array { element: Some(element), shape, is_fortran, data: Some(data) })
    }
}
