//! The pages of a column, decompressed one at a time, within the memory that reading may take.

use super::Source;
use super::thrift::PageHeader;
use crate::budget::{Budget, Share};
use crate::fs::unzstd;
use crate::limits::Exceeded;
use ::parquet::basic::{Compression, Encoding, Type};
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::ColumnChunkMetaData;
use std::io::{Read, SeekFrom};
use std::sync::{Arc, PoisonError};

/// Bytes that most headers are shorter than, and that no sensible one is longer than.
const HEADER: u64 = 1 << 12;
const LONGEST_HEADER: u64 = 1 << 22;

/// The pages of one column of one row group.
pub(super) struct Pages {
    file: Source,
    at: u64,
    end: u64,
    compression: Compression,
    /// Bytes that a value of a dictionary takes at least.
    least: u64,
    dictionary: Share,
    page: Share,
}

fn unsound(reason: impl Into<String>) -> ParquetError {
    ParquetError::General(reason.into())
}

fn exceeded(exceeded: Exceeded) -> ParquetError {
    ParquetError::External(Box::new(exceeded))
}

impl Pages {
    /// The pages of a column, whose place must lie within the file.
    pub(super) fn new(
        file: &Source,
        length: u64,
        chunk: &ColumnChunkMetaData,
        budget: &Budget,
    ) -> Result<Self> {
        let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
        let place = u64::try_from(start).ok().zip(u64::try_from(chunk.compressed_size()).ok());
        let place = place.and_then(|(start, bytes)| Some((start, start.checked_add(bytes)?)));
        let Some((at, end)) = place.filter(|(_, end)| *end <= length) else {
            return Err(unsound("a column that is said to lie outside of the file"));
        };
        let least = match chunk.column_type() {
            Type::INT64 | Type::DOUBLE => 8,
            _ => 4,
        };
        Ok(Self {
            file: Arc::clone(file),
            at,
            end,
            compression: chunk.compression(),
            least,
            dictionary: budget.share(),
            page: budget.share(),
        })
    }

    fn read(&self, at: u64, bytes: u64) -> Result<Vec<u8>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        let mut found = Vec::new();
        Read::take(&mut *file, bytes).read_to_end(&mut found)?;
        Ok(found)
    }

    fn header(&mut self) -> Result<PageHeader> {
        let left = self.end - self.at;
        for most in [HEADER, LONGEST_HEADER] {
            if let Some((header, length)) = PageHeader::read(&self.read(self.at, left.min(most))?) {
                self.at += length as u64;
                return Ok(header);
            }
            if left <= most {
                break;
            }
        }
        Err(unsound("the header of a page cannot be read"))
    }

    /// The content of a page, after as many bytes as are never compressed.
    fn content(&mut self, header: &PageHeader, levels: usize) -> Result<Vec<u8>> {
        let number = |number: i64| u64::try_from(number).map_err(|_| unsound("a negative length"));
        let (compressed, uncompressed) = (number(header.compressed)?, number(header.uncompressed)?);
        if compressed > self.end - self.at {
            return Err(unsound("a page that is longer than its column"));
        }
        let is_plain = self.compression == Compression::UNCOMPRESSED || !header.is_compressed;
        let share = if header.kind == DICTIONARY { &mut self.dictionary } else { &mut self.page };
        // The page before is no longer needed.
        share.shrink(u64::MAX);
        share.grow(compressed + if is_plain { 0 } else { uncompressed }).map_err(exceeded)?;
        let bytes = self.read(self.at, compressed)?;
        self.at += compressed;
        if bytes.len() as u64 != compressed {
            return Err(unsound("it ends within a page"));
        }
        if header.checksum.is_some_and(|stored| stored as u32 != checksum(&bytes)) {
            return Err(unsound("the checksum of a page is wrong"));
        }
        if is_plain {
            return Ok(bytes);
        }
        let Some((plain, packed)) = bytes.split_at_checked(levels) else {
            return Err(unsound("a page that is shorter than its levels"));
        };
        let expected =
            uncompressed.checked_sub(levels as u64).ok_or_else(|| unsound("a page of a wrong length"))?;
        let mut content = plain.to_vec();
        self.unpack(packed, expected, &mut content)?;
        if content.len() as u64 != uncompressed {
            return Err(unsound("a page of another length than it says"));
        }
        Ok(content)
    }

    fn unpack(&self, packed: &[u8], expected: u64, content: &mut Vec<u8>) -> Result<()> {
        // One byte more than expected tells a page that is too long.
        let most = expected.saturating_add(1);
        match self.compression {
            // A page without values is empty even before it is compressed.
            _ if expected == 0 => {}
            Compression::SNAPPY => {
                if snap::raw::decompress_len(packed).map_err(|error| unsound(error.to_string()))? as u64
                    != expected
                {
                    return Err(unsound("a page of another length than it says"));
                }
                let levels = content.len();
                content.resize(levels + expected as usize, 0);
                let values = content.get_mut(levels..).unwrap_or_default();
                snap::raw::Decoder::new()
                    .decompress(packed, values)
                    .map_err(|error| unsound(error.to_string()))?;
            }
            Compression::GZIP(_) => {
                flate2::bufread::MultiGzDecoder::new(packed).take(most).read_to_end(content)?;
            }
            Compression::ZSTD(_) => {
                unzstd(packed).take(most).read_to_end(content)?;
            }
            other => {
                return Err(unsound(format!(
                    "compressed with {other}, which is not read here; write it with snappy, gzip, zstd or none"
                )));
            }
        }
        Ok(())
    }

    fn next_page(&mut self) -> Result<Option<Page>> {
        while self.at < self.end {
            let header = self.header()?;
            let count =
                |number: i64| u32::try_from(number).map_err(|_| unsound("a negative number of values"));
            let levels = |number: i64| usize::try_from(number).map_err(|_| unsound("a negative length"));
            match header.kind {
                INDEX => {
                    let bytes = u64::try_from(header.compressed).unwrap_or(u64::MAX);
                    self.at = self.at.saturating_add(bytes).min(self.end);
                }
                DICTIONARY => {
                    let buf = self.content(&header, 0)?;
                    let num_values = count(header.values)?;
                    if u64::from(num_values) * self.least > buf.len() as u64 {
                        return Err(unsound("a dictionary with fewer values than it says"));
                    }
                    // The decoder keeps the values beside the page.
                    self.dictionary.grow(64 * u64::from(num_values)).map_err(exceeded)?;
                    return Ok(Some(Page::DictionaryPage {
                        buf: buf.into(),
                        num_values,
                        encoding: encoding(header.encoding)?,
                        is_sorted: false,
                    }));
                }
                DATA => {
                    return Ok(Some(Page::DataPage {
                        buf: self.content(&header, 0)?.into(),
                        num_values: count(header.values)?,
                        encoding: encoding(header.encoding)?,
                        def_level_encoding: Encoding::RLE,
                        rep_level_encoding: Encoding::RLE,
                        statistics: None,
                    }));
                }
                DATA_2 => {
                    let (definition, repetition) =
                        (levels(header.definition_bytes)?, levels(header.repetition_bytes)?);
                    let levels = definition.saturating_add(repetition);
                    let buf = self.content(&header, levels)?;
                    if levels > buf.len() || header.nulls > header.values {
                        return Err(unsound("a page that is shorter than its levels"));
                    }
                    return Ok(Some(Page::DataPageV2 {
                        buf: buf.into(),
                        num_values: count(header.values)?,
                        encoding: encoding(header.encoding)?,
                        num_nulls: count(header.nulls)?,
                        num_rows: count(header.rows)?,
                        def_levels_byte_len: definition as u32,
                        rep_levels_byte_len: repetition as u32,
                        is_compressed: false,
                        statistics: None,
                    }));
                }
                _ => return Err(unsound("a page of an unknown kind")),
            }
        }
        Ok(None)
    }
}

const DATA: i64 = 0;
const INDEX: i64 = 1;
const DICTIONARY: i64 = 2;
const DATA_2: i64 = 3;

/// The encodings of what common programs write; the others take memory by numbers that a file makes up.
fn encoding(number: i64) -> Result<Encoding> {
    match number {
        0 => Ok(Encoding::PLAIN),
        2 => Ok(Encoding::PLAIN_DICTIONARY),
        3 => Ok(Encoding::RLE),
        8 => Ok(Encoding::RLE_DICTIONARY),
        9 => Ok(Encoding::BYTE_STREAM_SPLIT),
        other => Err(unsound(format!(
            "a page in encoding {other}, which is not read here; write the file with plain or dictionary encoding"
        ))),
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut checksum = flate2::Crc::new();
    checksum.update(bytes);
    checksum.sum()
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.next_page()
    }

    /// Columns of a table have one value per row, so that every page ends with a record.
    fn at_record_boundary(&mut self) -> Result<bool> {
        Ok(true)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        Err(unsound("pages are read one after the other"))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        Err(unsound("pages are read one after the other"))
    }
}
