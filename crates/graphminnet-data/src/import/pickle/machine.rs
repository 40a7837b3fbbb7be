//! The stack machine: one pass over the instructions, each checked against the bytes that are left.

mod instructions;

use super::globals::Global;
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
