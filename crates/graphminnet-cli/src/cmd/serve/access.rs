//! Who may ask: everybody who can reach the server, or whoever has the token.

use crate::failure::Failure;
use axum::http::{HeaderMap, header};
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::Path;
use subtle::ConstantTimeEq;

/// Pages that say nothing about the model: whether the server lives, how to ask it, and the page that asks.
const OPEN: [&str; 3] = ["/", "/health", "/openapi.json"];
/// A token has at least so many characters, so that it cannot be guessed, and at most so many.
const SHORTEST: usize = 16;
const LONGEST: usize = 1024;

/// The token that requests must carry, where there is one.
pub struct Access(Option<String>);

impl Access {
    /// From the command line: other machines are let in with a token, or if it is said that they may come without one.
    ///
    /// # Errors
    ///
    /// A failure of usage if nothing is said, or the file holds no token.
    pub fn new(host: IpAddr, token_file: Option<&Path>, public: bool) -> Result<Self, Failure> {
        match (token_file, public) {
            (Some(path), _) => Ok(Self(Some(read_token(path)?))),
            (None, true) if host.is_loopback() => Err(Failure::usage(format!(
                "--public: {host} can be reached from this machine alone; name the address to listen on with --host"
            ))),
            (None, false) if !host.is_loopback() => Err(Failure::usage(format!(
                "--host {host} lets other machines in: require a token with --token-file, or say --public to let everybody ask"
            ))),
            (None, _) => Ok(Self(None)),
        }
    }

    /// Whether a request may have an answer.
    pub fn allows(&self, path: &str, headers: &HeaderMap) -> bool {
        let Some(token) = &self.0 else { return true };
        if OPEN.contains(&path) {
            return true;
        }
        let sent = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let Some((scheme, sent)) = sent.and_then(|value| value.split_once(' ')) else { return false };
        // The time that it takes says nothing about how much of the token is right.
        scheme.eq_ignore_ascii_case("bearer") && bool::from(sent.trim().as_bytes().ct_eq(token.as_bytes()))
    }
}

fn read_token(path: &Path) -> Result<String, Failure> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST as u64 + 2).read_to_end(&mut text));
    read.map_err(|error| {
        std::io::Error::new(error.kind(), format!("cannot read the token file {}: {error}", path.display()))
    })?;
    let token = String::from_utf8_lossy(&text).trim().to_owned();
    let is_written = token.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_written || !(SHORTEST..=LONGEST).contains(&token.len()) {
        return Err(Failure::usage(format!(
            "{}: expected a token of {SHORTEST} to {LONGEST} letters, digits or signs without blanks, as `openssl rand -hex 32` makes one",
            path.display()
        )));
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn only_the_whole_token_opens_what_is_not_open_to_all() {
        let access = Access(Some("0123456789abcdef".to_owned()));
        let asks = |path: &str, value: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.extend(value.map(|value| (header::AUTHORIZATION, HeaderValue::from_static(value))));
            access.allows(path, &headers)
        };
        assert!(asks("/predict", Some("Bearer 0123456789abcdef")));
        assert!(asks("/predict", Some("bearer  0123456789abcdef ")));
        for wrong in [
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdeg",
            "Bearer ",
            "0123456789abcdef",
            "Basic 0123456789abcdef",
        ] {
            assert!(!asks("/predict", Some(wrong)), "{wrong}");
        }
        assert!(!asks("/predict", None) && !asks("/metrics", None) && !asks("/model", None));
        assert!(asks("/health", None) && asks("/", None) && asks("/openapi.json", None));
        assert!(Access(None).allows("/predict", &HeaderMap::new()));
    }
}
