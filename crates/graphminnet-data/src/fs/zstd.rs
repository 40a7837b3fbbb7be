//! Zstandard streams. The checksums and declared sizes of frames are checked.
//!
//! The decoder computes the checksum of a frame and reads the stored one, but leaves it to its caller to compare them.
//! A stream may have several frames, one after the other, and frames to be skipped.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::error::Error;
use std::io::{self, BufRead, ErrorKind, Read};

/// Undoes Zstandard. Damage is an [`io::Error`] of kind `InvalidData`.
pub(super) struct ZstdReader<R> {
    source: R,
    decoder: FrameDecoder,
    /// Bytes of the current frame so far; `None` between frames.
    produced: Option<u64>,
    /// Whether there was any frame.
    begun: bool,
}

/// Undoes Zstandard, of bytes in memory.
pub(crate) fn unzstd(bytes: &[u8]) -> impl Read {
    ZstdReader::new(bytes)
}

impl<R: BufRead> ZstdReader<R> {
    /// Nothing is read yet.
    pub(super) fn new(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new(), produced: None, begun: false }
    }

    /// Goes to the next frame; false at the end of the stream.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return if self.begun { Ok(false) } else { Err(damaged("there is no frame in it")) };
            }
            self.begun = true;
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    if io::copy(&mut self.source.by_ref().take(length), &mut io::sink())? < length {
                        return Err(damaged("it ends inside of a frame"));
                    }
                }
                Err(error) => return Err(cause(error)),
            }
        }
    }

    /// Whether a frame that is done holds what it says.
    fn check_frame(&self, produced: u64) -> io::Result<()> {
        let declared = self.decoder.content_size();
        // 0 stands for a size that is not declared.
        if declared != 0 && declared != produced {
            return Err(damaged(&format!("a frame has {produced} bytes and declares {declared}")));
        }
        let stored = self.decoder.get_checksum_from_data();
        if stored.is_some() && stored != self.decoder.get_calculated_checksum() {
            return Err(damaged("the checksum of a frame is wrong"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let Some(produced) = self.produced else {
                if !self.next_frame()? {
                    return Ok(0);
                }
                self.produced = Some(0);
                continue;
            };
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, one).map_err(cause)?;
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 {
                self.produced = Some(produced + count as u64);
                return Ok(count);
            }
            self.check_frame(produced)?;
            self.produced = None;
        }
    }
}

fn damaged(reason: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, reason.to_owned())
}

/// An error of the system stays one; everything else is damage.
fn cause(error: FrameDecoderError) -> io::Error {
    let mut inner: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(error) = inner {
        let code = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        if let Some(code) = code {
            return io::Error::from_raw_os_error(code);
        }
        inner = error.source();
    }
    damaged(&error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn text() -> Vec<u8> {
        (0..200).flat_map(|row| format!("{{\"num_nodes\":{row},\"edges\":[]}}\n").into_bytes()).collect()
    }

    fn decoded(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        ZstdReader::new(bytes).read_to_end(&mut out).map(|_| out)
    }

    #[test]
    fn no_flipped_bit_gives_other_contents() {
        let (text, frame) = (text(), compress_to_vec(&text()[..], CompressionLevel::Fastest));
        assert_eq!(decoded(&frame).unwrap(), text);
        let mut refused = 0;
        for bit in 0..8 * frame.len() {
            let mut flipped = frame.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            match decoded(&flipped) {
                Ok(found) => assert!(found == text, "bit {bit} gives other contents"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::InvalidData, "bit {bit}: {error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 7 * frame.len(), "{refused} of {} bits", 8 * frame.len());
    }

    #[test]
    fn frames_follow_one_another_and_some_are_skipped() {
        let frame = compress_to_vec(&text()[..], CompressionLevel::Fastest);
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let stream = [&frame[..], &skipped, &frame].concat();
        assert_eq!(decoded(&stream).unwrap(), [text(), text()].concat());
        for wrong in [&stream[..stream.len() - 1], &stream[..frame.len() + 9], b"", b"plain text"] {
            assert_eq!(decoded(wrong).unwrap_err().kind(), ErrorKind::InvalidData);
        }
    }
}
