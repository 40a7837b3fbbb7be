//! The stack machine: one pass over the instructions, each checked against the bytes that are left.

use super::globals::{self, Global};
use super::value::{Document, Node, Value};
use crate::budget::{Share, bytes_of};
use crate::limits::{Exceeded, within};
use crate::{DataError, Limits, Place};
use std::collections::HashMap;
use std::ops::Range;

/// Reads pickles from a range of buffer 0.
pub(super) struct Machine<'a> {
    pub(super) document: &'a mut Document,
    pub(super) place: &'a Place,
    pub(super) limits: &'a Limits,
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) stack: Vec<Value>,
    marks: Vec<usize>,
    memo: HashMap<u64, Value>,
    opcodes: u64,
    /// Memory of the stack and what is remembered.
    held: Share,
    counted: u64,
    /// Nesting of files inside files.
    pub(super) depth: u32,
}

impl<'a> Machine<'a> {
    pub(super) fn new(
        document: &'a mut Document,
        range: Range<usize>,
        place: &'a Place,
        limits: &'a Limits,
        depth: u32,
    ) -> Self {
        let held = document.held.another();
        Self {
            document,
            held,
            counted: 0,
            place,
            limits,
            at: range.start,
            end: range.end,
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
            opcodes: 0,
            depth,
        }
    }

    /// An error at the current byte.
    pub(super) fn error(&self, reason: impl Into<String>) -> DataError {
        DataError::Pickle { place: self.place.clone().at_byte(self.at as u64), reason: reason.into() }
    }

    /// Runs one pickle to its `STOP`.
    pub(super) fn run(&mut self) -> Result<Value, DataError> {
        self.stack.clear();
        self.marks.clear();
        self.memo.clear();
        loop {
            self.opcodes += 1;
            within("pickle_opcodes", self.opcodes, self.limits.pickle_opcodes)
                .map_err(DataError::limit(self.here()))?;
            let opcode = self.byte()?;
            if opcode == b'.' {
                return self.pop();
            }
            self.step(opcode)?;
            self.count().map_err(DataError::limit(self.here()))?;
        }
    }

    /// Counts the memory that is in use by now.
    fn count(&mut self) -> Result<(), Exceeded> {
        let total = bytes_of::<Value>(self.stack.capacity())
            + bytes_of::<usize>(self.marks.capacity())
            + bytes_of::<(u64, Value)>(2 * self.memo.capacity());
        let more = total.saturating_sub(self.counted);
        self.counted += more;
        if more > 0 {
            self.held.grow(more)?;
        }
        self.document.count()
    }

    fn here(&self) -> Place {
        self.place.clone().at_byte(self.at as u64)
    }

    fn step(&mut self, opcode: u8) -> Result<(), DataError> {
        match opcode {
            0x80 => {
                let protocol = self.byte()?;
                if protocol > 5 {
                    return Err(self.error(format!("protocol {protocol} is not known (0 to 5 are)")));
                }
            }
            0x95 => {
                let length = self.fixed(8)?;
                if length > (self.end - self.at) as u64 {
                    return Err(self.error(format!("a frame of {length} bytes exceeds the rest of the file")));
                }
            }
            b'(' => {
                within("pickle_depth", self.marks.len() as u64 + 1, self.limits.pickle_depth)
                    .map_err(DataError::limit(self.here()))?;
                self.marks.push(self.stack.len());
            }
            b'0' => {
                self.pop()?;
            }
            b'1' => {
                self.pop_mark()?;
            }
            b'N' => self.stack.push(Value::None),
            0x88 => self.stack.push(Value::Bool(true)),
            0x89 => self.stack.push(Value::Bool(false)),
            b'J' => {
                let value = self.fixed(4)? as u32 as i32;
                self.stack.push(Value::Integer(i64::from(value)));
            }
            b'K' => {
                let value = self.fixed(1)?;
                self.stack.push(Value::Integer(value as i64));
            }
            b'M' => {
                let value = self.fixed(2)?;
                self.stack.push(Value::Integer(value as i64));
            }
            0x8a => {
                let length = self.fixed(1)?;
                self.long(length)?;
            }
            0x8b => {
                let length = self.fixed(4)?;
                self.long(length)?;
            }
            b'I' | b'L' => self.decimal()?,
            b'F' => {
                let text = self.line()?;
                let value = text.parse().map_err(|_| self.error("a number that cannot be read"))?;
                self.stack.push(Value::Number(value));
            }
            b'G' => {
                let value = f64::from_bits(self.fixed(8)?.swap_bytes());
                self.stack.push(Value::Number(value));
            }
            0x8c | b'U' => self.short_text(1)?,
            b'X' | b'T' => self.short_text(4)?,
            0x8d => self.short_text(8)?,
            b'V' => {
                let text = self.line()?;
                self.push_text(text);
            }
            b'S' => {
                let text = self.line()?;
                let text = text.trim_matches(['\'', '"']).to_owned();
                self.push_text(text);
            }
            b'C' => self.bytes(1)?,
            b'B' => self.bytes(4)?,
            0x8e | 0x96 => self.bytes(8)?,
            b']' | 0x8f => self.push_node(Node::List(Vec::new()))?,
            b')' => self.push_node(Node::Tuple(Vec::new()))?,
            b'}' => self.push_node(Node::Dict(Vec::new()))?,
            b'l' | 0x91 => {
                let items = self.pop_mark()?;
                self.push_node(Node::List(items))?;
            }
            b't' => {
                let items = self.pop_mark()?;
                self.push_node(Node::Tuple(items))?;
            }
            0x85..=0x87 => {
                let items = self.pop_many(usize::from(opcode - 0x84))?;
                self.push_node(Node::Tuple(items))?;
            }
            b'd' => {
                let items = self.pop_mark()?;
                let entries = self.pairs(items)?;
                self.push_node(Node::Dict(entries))?;
            }
            b'a' => {
                let item = self.pop()?;
                self.extend_list(vec![item])?;
            }
            b'e' | 0x90 => {
                let items = self.pop_mark()?;
                self.extend_list(items)?;
            }
            b's' => {
                let items = self.pop_many(2)?;
                self.extend_dict(items)?;
            }
            b'u' => {
                let items = self.pop_mark()?;
                self.extend_dict(items)?;
            }
            b'h' => self.recall(1)?,
            b'j' => self.recall(4)?,
            b'g' => {
                let key = self.line_number()?;
                self.recall_key(key)?;
            }
            b'q' => {
                let key = self.fixed(1)?;
                self.memoize(key)?;
            }
            b'r' => {
                let key = self.fixed(4)?;
                self.memoize(key)?;
            }
            b'p' => {
                let key = self.line_number()?;
                self.memoize(key)?;
            }
            0x94 => self.memoize(self.memo.len() as u64)?,
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.push_global(&module, &name)?;
            }
            0x93 => {
                let names = self.pop_many(2)?;
                let text = |value: Option<&Value>| {
                    value.and_then(|value| self.document.text(*value)).map(str::to_owned)
                };
                let (Some(module), Some(name)) = (text(names.first()), text(names.get(1))) else {
                    return Err(self.error("a name that is not text"));
                };
                self.push_global(&module, &name)?;
            }
            b'R' | 0x81 => {
                let call = self.pop_many(2)?;
                let (callee, arguments) = (call.first().copied(), call.get(1).copied());
                let value = self.reduce(callee.unwrap_or(Value::None), arguments.unwrap_or(Value::None))?;
                self.stack.push(value);
            }
            0x92 => {
                let call = self.pop_many(3)?;
                let (callee, arguments) = (call.first().copied(), call.get(1).copied());
                let value = self.reduce(callee.unwrap_or(Value::None), arguments.unwrap_or(Value::None))?;
                self.stack.push(value);
            }
            b'b' => {
                let state = self.pop()?;
                let target = self.stack.last().copied().unwrap_or(Value::None);
                self.build(target, state)?;
            }
            b'Q' => {
                let id = self.pop()?;
                let value = self.persistent(id)?;
                self.stack.push(value);
            }
            other => {
                self.at -= 1;
                return Err(self.error(format!("instruction 0x{other:02x} is not allowed in a data file")));
            }
        }
        Ok(())
    }

    pub(super) fn push_node(&mut self, node: Node) -> Result<(), DataError> {
        let value = self.new_node(node)?;
        self.stack.push(value);
        Ok(())
    }

    pub(super) fn new_node(&mut self, node: Node) -> Result<Value, DataError> {
        let number = u32::try_from(self.document.nodes.len()).map_err(|_| self.error("too many values"))?;
        self.document.add_inner(node.inner_bytes());
        self.document.nodes.push(node);
        Ok(Value::Node(number))
    }

    pub(super) fn push_text(&mut self, text: String) {
        let number = self.document.texts.len() as u32;
        self.document.add_inner(text.len() as u64);
        self.document.texts.push(text);
        self.stack.push(Value::Text(number));
    }

    fn push_global(&mut self, module: &str, name: &str) -> Result<(), DataError> {
        match globals::lookup(module, name) {
            Some(global) => {
                self.stack.push(Value::Global(global));
                Ok(())
            }
            None => {
                let full = crate::escape(&format!("{module}.{name}"));
                Err(self.error(format!(
                    "the file names `{full}`, which is not on the list of harmless data types"
                )))
            }
        }
    }

    fn pop(&mut self) -> Result<Value, DataError> {
        if self.marks.last().is_some_and(|mark| *mark >= self.stack.len()) {
            return Err(self.error("an instruction that needs a value finds a mark"));
        }
        self.stack.pop().ok_or_else(|| self.error("an instruction that needs a value finds none"))
    }

    fn pop_many(&mut self, count: usize) -> Result<Vec<Value>, DataError> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.len().checked_sub(count).filter(|start| *start >= floor) {
            Some(start) => Ok(self.stack.split_off(start)),
            None => Err(self.error(format!("an instruction that needs {count} values finds fewer"))),
        }
    }

    fn pop_mark(&mut self) -> Result<Vec<Value>, DataError> {
        let mark = self.marks.pop().filter(|mark| *mark <= self.stack.len());
        match mark {
            Some(mark) => Ok(self.stack.split_off(mark)),
            None => Err(self.error("an instruction that needs a mark finds none")),
        }
    }

    fn pairs(&self, items: Vec<Value>) -> Result<Vec<(Value, Value)>, DataError> {
        if !items.len().is_multiple_of(2) {
            return Err(self.error("a dictionary with a key but no value"));
        }
        Ok(items.as_chunks::<2>().0.iter().map(|[key, value]| (*key, *value)).collect())
    }

    fn extend_list(&mut self, items: Vec<Value>) -> Result<(), DataError> {
        self.document.add_inner(bytes_of::<Value>(2 * items.len()));
        let target = self.stack.last().copied().unwrap_or(Value::None);
        match self.document.node_mut(target) {
            Some(Node::List(list)) => {
                list.extend(items);
                Ok(())
            }
            _ => Err(self.error("items are added to something that is not a list")),
        }
    }

    fn extend_dict(&mut self, items: Vec<Value>) -> Result<(), DataError> {
        let entries = self.pairs(items)?;
        self.document.add_inner(bytes_of::<(Value, Value)>(2 * entries.len()));
        let target = self.stack.last().copied().unwrap_or(Value::None);
        match self.document.node_mut(target) {
            Some(Node::Dict(dict)) => {
                dict.extend(entries);
                Ok(())
            }
            _ => Err(self.error("entries are added to something that is not a dictionary")),
        }
    }

    fn recall(&mut self, width: usize) -> Result<(), DataError> {
        let key = self.fixed(width)?;
        self.recall_key(key)
    }

    fn recall_key(&mut self, key: u64) -> Result<(), DataError> {
        let value = self.memo.get(&key).copied();
        let value = value.ok_or_else(|| self.error(format!("value {key} is used before it exists")))?;
        self.stack.push(value);
        Ok(())
    }

    fn memoize(&mut self, key: u64) -> Result<(), DataError> {
        let value = self.stack.last().copied().ok_or_else(|| self.error("nothing to remember"))?;
        self.memo.insert(key, value);
        Ok(())
    }

    /// Whether a value is a given name.
    pub(super) fn is_global(value: Value, wanted: Global) -> bool {
        value == Value::Global(wanted)
    }
}
