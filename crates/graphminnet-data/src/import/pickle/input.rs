//! Arguments of instructions: numbers, text and bytes, each checked against the bytes that are left.

use super::machine::Machine;
use super::value::Value;
use crate::DataError;
use std::ops::Range;

impl Machine<'_> {
    pub(super) fn byte(&mut self) -> Result<u8, DataError> {
        let byte = self.document.buffers.first().and_then(|buffer| buffer.get(self.at)).copied();
        match byte.filter(|_| self.at < self.end) {
            Some(byte) => {
                self.at += 1;
                Ok(byte)
            }
            None => Err(self.error("the file ends in the middle of a pickle")),
        }
    }

    /// A range of `length` bytes, which is passed over.
    pub(super) fn take(&mut self, length: u64) -> Result<Range<usize>, DataError> {
        if length > (self.end - self.at) as u64 {
            let left = self.end - self.at;
            return Err(self.error(format!("{length} bytes are declared, {left} are left")));
        }
        let start = self.at;
        self.at += length as usize;
        Ok(start..self.at)
    }

    /// A little-endian number of up to 8 bytes.
    pub(super) fn fixed(&mut self, width: usize) -> Result<u64, DataError> {
        let range = self.take(width as u64)?;
        Ok(self.slice(range).iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    pub(super) fn slice(&self, range: Range<usize>) -> &[u8] {
        self.document.buffers.first().and_then(|buffer| buffer.get(range)).unwrap_or_default()
    }

    pub(super) fn long(&mut self, length: u64) -> Result<(), DataError> {
        let range = self.take(length)?;
        let bytes = self.slice(range);
        let value = if bytes.len() > 8 {
            Value::Huge
        } else {
            let is_negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
            let start = if is_negative { -1i64 } else { 0 };
            Value::Integer(bytes.iter().rev().fold(start, |value, byte| value << 8 | i64::from(*byte)))
        };
        self.stack.push(value);
        Ok(())
    }

    pub(super) fn decimal(&mut self) -> Result<(), DataError> {
        let text = self.line()?;
        let value = match text.trim_end_matches('L') {
            "00" => Value::Bool(false),
            "01" => Value::Bool(true),
            digits => match digits.parse() {
                Ok(value) => Value::Integer(value),
                Err(_)
                    if !digits.is_empty()
                        && digits.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit()) =>
                {
                    Value::Huge
                }
                Err(_) => return Err(self.error("an integer that cannot be read")),
            },
        };
        self.stack.push(value);
        Ok(())
    }

    pub(super) fn short_text(&mut self, width: usize) -> Result<(), DataError> {
        let length = self.fixed(width)?;
        let range = self.take(length)?;
        let text = std::str::from_utf8(self.slice(range)).map(str::to_owned);
        let text = text.map_err(|_| self.error("text that is not UTF-8"))?;
        self.push_text(text);
        Ok(())
    }

    pub(super) fn bytes(&mut self, width: usize) -> Result<(), DataError> {
        let length = self.fixed(width)?;
        let range = self.take(length)?;
        let number = self.document.bytes.len() as u32;
        self.document.bytes.push(range);
        self.stack.push(Value::Bytes(number));
        Ok(())
    }

    pub(super) fn line(&mut self) -> Result<String, DataError> {
        const MAX_LINE: usize = 4_096;
        let rest = self.slice(self.at..self.end.min(self.at + MAX_LINE));
        let Some(length) = rest.iter().position(|byte| *byte == b'\n') else {
            return Err(self.error("a text argument without an end"));
        };
        let text =
            rest.get(..length).map(|text| String::from_utf8_lossy(text).trim_end_matches('\r').to_owned());
        self.at += length + 1;
        Ok(text.unwrap_or_default())
    }

    pub(super) fn line_number(&mut self) -> Result<u64, DataError> {
        let text = self.line()?;
        text.parse().map_err(|_| self.error("a number that cannot be read"))
    }
}
