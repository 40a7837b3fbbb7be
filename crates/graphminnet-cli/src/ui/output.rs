//! A result on its way to standard output or to a file, which appears only when it is whole.

use crate::failure::Failure;
use graphminnet_data::fs::{AtomicFile, IoError};
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

/// Where a result goes.
pub enum Output {
    /// Standard output, a pipe or a device.
    Stream(BufWriter<Box<dyn Write + Send>>),
    /// A file.
    File(AtomicFile),
}

impl Output {
    /// `-` is standard output.
    ///
    /// # Errors
    ///
    /// If the file cannot be created.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let stream = |out: Box<dyn Write + Send>| Self::Stream(BufWriter::new(out));
        if path.as_os_str() == "-" {
            return Ok(stream(Box::new(io::stdout())));
        }
        // A device or a pipe, such as `/dev/null`, is written to; anything else appears when it is whole.
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            let device = File::options().write(true).open(path).map_err(IoError::at("open", path))?;
            return Ok(stream(Box::new(device)));
        }
        Ok(Self::File(AtomicFile::create(path)?))
    }

    /// Makes the result appear.
    ///
    /// # Errors
    ///
    /// If it cannot be written or renamed.
    pub fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Stream(mut out) => Ok(out.flush()?),
            Self::File(file) => Ok(file.commit()?),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stream(out) => out.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stream(out) => out.flush(),
            Self::File(file) => file.flush(),
        }
    }
}

impl Seek for Output {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        match self {
            Self::Stream(_) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "this format needs a file to be written to"))
            }
            Self::File(file) => file.seek(to),
        }
    }
}
