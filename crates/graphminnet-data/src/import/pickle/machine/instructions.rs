//! The instructions of the stack machine, by what they are about. Each group says whether an instruction is one of its own.

use super::super::globals;
use super::super::value::{Node, Value};
use super::Machine;
use crate::DataError;
use crate::limits::within;

impl Machine<'_> {
    /// Follows one instruction.
    pub(super) fn step(&mut self, opcode: u8) -> Result<(), DataError> {
        let is_known = self.step_literal(opcode)?
            || self.step_container(opcode)?
            || self.step_memory(opcode)?
            || self.step_call(opcode)?
            || self.step_mark(opcode)?
            || self.step_frame(opcode)?;
        if is_known {
            return Ok(());
        }
        self.at -= 1;
        Err(self.error(format!("instruction 0x{opcode:02x} is not allowed in a data file")))
    }

    /// None, numbers, texts and bytes.
    fn step_literal(&mut self, opcode: u8) -> Result<bool, DataError> {
        match opcode {
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
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Lists, tuples and dictionaries.
    fn step_container(&mut self, opcode: u8) -> Result<bool, DataError> {
        match opcode {
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
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What is remembered, and recalled.
    fn step_memory(&mut self, opcode: u8) -> Result<bool, DataError> {
        match opcode {
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
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Names, and what they make of values.
    fn step_call(&mut self, opcode: u8) -> Result<bool, DataError> {
        match opcode {
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
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Marks on the stack, and what is dropped from it.
    fn step_mark(&mut self, opcode: u8) -> Result<bool, DataError> {
        match opcode {
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
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The version of the language, and how long its pieces are.
    fn step_frame(&mut self, opcode: u8) -> Result<bool, DataError> {
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
            _ => return Ok(false),
        }
        Ok(true)
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
}
