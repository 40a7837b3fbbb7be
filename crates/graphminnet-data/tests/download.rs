//! Downloads without a network: a transport that serves bytes, breaks off, lies about sizes.

mod common;

use common::Scratch;
use graphminnet_data::download::{Progress, Response, Transport, download};
use graphminnet_data::registry::{DatasetInfo, find};
use graphminnet_data::{DataError, Limits};
use std::cell::RefCell;
use std::io::{self, Read};

/// Serves one content under every address; may break off, ignore ranges or fail for some addresses.
struct Server {
    content: Vec<u8>,
    breaks_after: Option<usize>,
    ignores_ranges: bool,
    fails_for: &'static str,
    requests: RefCell<Vec<(String, u64)>>,
}

impl Server {
    fn new(content: &[u8]) -> Self {
        Self {
            content: content.to_vec(),
            breaks_after: None,
            ignores_ranges: false,
            fails_for: "nothing",
            requests: RefCell::default(),
        }
    }
}

struct Breaking(io::Cursor<Vec<u8>>);

impl Read for Breaking {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::new(io::ErrorKind::ConnectionReset, "connection reset")),
            count => Ok(count),
        }
    }
}

impl Transport for Server {
    fn get(&self, url: &str, start: u64) -> Result<Response, String> {
        self.requests.borrow_mut().push((url.to_owned(), start));
        if url.contains(self.fails_for) {
            return Err("no route to host".to_owned());
        }
        let start = if self.ignores_ranges { 0 } else { start };
        let rest = self.content[(start as usize).min(self.content.len())..].to_vec();
        let body: Box<dyn Read> = match self.breaks_after {
            Some(count) => Box::new(Breaking(io::Cursor::new(rest[..count].to_vec()))),
            None => Box::new(io::Cursor::new(rest)),
        };
        Ok(Response { start, total: Some(self.content.len() as u64), body })
    }
}

/// A data set with one file of known hash (that of `abc`) and two addresses.
fn known() -> DatasetInfo {
    let mut info = find("ogbg-molhiv").unwrap().clone();
    info.files.truncate(1);
    info.files[0].name = "file.zip".to_owned();
    info.files[0].urls =
        vec!["https://first.example/file".to_owned(), "https://second.example/file".to_owned()];
    info.files[0].size = Some(3);
    info.files[0].sha256 =
        Some("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned());
    info
}

fn run(info: &DatasetInfo, scratch: &Scratch, server: &Server) -> Result<bool, DataError> {
    let mut seen = 0;
    let receipts =
        download(info, scratch.path(), server, &Limits::default(), &mut |progress: Progress<'_>| {
            seen = progress.bytes;
        })?;
    Ok(receipts[0].was_here)
}

#[test]
fn a_file_is_verified_and_renamed_and_not_fetched_twice() {
    let (scratch, info, server) = (Scratch::new("get"), known(), Server::new(b"abc"));
    assert!(!run(&info, &scratch, &server).unwrap());
    let folder = scratch.path().join("ogbg-molhiv");
    assert_eq!(std::fs::read(folder.join("file.zip")).unwrap(), b"abc");
    assert!(!folder.join("file.zip.part").exists());
    assert!(run(&info, &scratch, &server).unwrap());
    assert_eq!(server.requests.borrow().len(), 1);
}

#[test]
fn a_broken_download_resumes_where_it_stopped() {
    let (scratch, info) = (Scratch::new("resume"), known());
    let broken = Server { breaks_after: Some(2), ..Server::new(b"abc") };
    let mut one_address = info;
    one_address.files[0].urls.truncate(1);
    let error = run(&one_address, &scratch, &broken).unwrap_err();
    assert!(error.to_string().contains("after 2 bytes: connection reset"), "{error}");
    let server = Server::new(b"abc");
    run(&one_address, &scratch, &server).unwrap();
    assert_eq!(server.requests.borrow()[0].1, 2, "asks for the rest");
    // A server that ignores the request for a part sends everything; nothing is doubled.
    let scratch = Scratch::new("restart");
    run(&one_address, &scratch, &broken).unwrap_err();
    run(&one_address, &scratch, &Server { ignores_ranges: true, ..Server::new(b"abc") }).unwrap();
}

#[test]
fn the_second_address_is_tried() {
    let (scratch, info) = (Scratch::new("mirror"), known());
    run(&info, &scratch, &Server { fails_for: "first", ..Server::new(b"abc") }).unwrap();
    let offline = Server { fails_for: "example", ..Server::new(b"abc") };
    let error = run(&info, &Scratch::new("offline"), &offline).unwrap_err().to_string();
    for piece in ["first.example", "second.example", "no route to host", "put it at"] {
        assert!(error.contains(piece), "{error}");
    }
}

#[test]
fn wrong_bytes_are_refused_and_removed() {
    let (scratch, info) = (Scratch::new("wrong"), known());
    let error = run(&info, &scratch, &Server::new(b"abd")).unwrap_err().to_string();
    assert!(error.contains("SHA-256") && error.contains("expected ba7816bf"), "{error}");
    assert!(!scratch.path().join("ogbg-molhiv/file.zip.part").exists());
    let error = run(&info, &scratch, &Server::new(b"abcd")).unwrap_err().to_string();
    assert!(error.contains("announces 4 bytes"), "{error}");
}

#[test]
fn an_unknown_hash_is_recorded_and_then_required() {
    let (scratch, mut info) = (Scratch::new("record"), known());
    (info.files[0].size, info.files[0].sha256) = (None, None);
    run(&info, &scratch, &Server::new(b"abc")).unwrap();
    let folder = scratch.path().join("ogbg-molhiv");
    let sums = std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    assert!(sums.starts_with("ba7816bf") && sums.ends_with("  file.zip\n"), "{sums}");
    std::fs::write(folder.join("file.zip"), b"changed").unwrap();
    let error = run(&info, &scratch, &Server::new(b"abc")).unwrap_err().to_string();
    assert!(error.contains("delete"), "{error}");
}
