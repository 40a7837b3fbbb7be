//! Who may ask: everybody who can reach the server, or whoever has the token.
//!
//! A server for this machine alone answers under the names of this machine alone. Otherwise the page of any site could read
//! from it: the site lets its own name point to this machine, and the browser takes both for the same.

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

/// Names of this machine that no site has.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Which requests have an answer.
pub enum Access {
    /// Those that carry the token.
    WithToken(String),
    /// All that come.
    Public,
    /// Those of this machine, under its own names or that of the address.
    ThisMachine(IpAddr),
}

/// Why a request has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It has no token, or another one.
    Token,
    /// It was sent to a name that need not be this machine's.
    Name,
}

impl Access {
    /// From the command line: other machines are let in with a token, or if it is said that they may come without one.
    ///
    /// # Errors
    ///
    /// A failure of usage if nothing is said, or the file holds no token.
    pub fn new(host: IpAddr, token_file: Option<&Path>, public: bool) -> Result<Self, Failure> {
        match (token_file, public) {
            (Some(path), _) => Ok(Self::WithToken(read_token(path)?)),
            (None, false) if !host.is_loopback() => Err(Failure::usage(format!(
                "--host {host} lets other machines in: require a token with --token-file, or say --public to let everybody ask"
            ))),
            (None, true) => Ok(Self::Public),
            (None, false) => Ok(Self::ThisMachine(host)),
        }
    }

    /// Why a request may not have an answer, if that is so.
    pub fn refusal(&self, path: &str, headers: &HeaderMap) -> Option<Refusal> {
        match self {
            Self::Public => None,
            Self::WithToken(token) => {
                (!OPEN.contains(&path) && !carries(headers, token)).then_some(Refusal::Token)
            }
            Self::ThisMachine(host) => (!is_sent_to(headers, *host)).then_some(Refusal::Name),
        }
    }
}

/// Whether a request has the token.
fn carries(headers: &HeaderMap, token: &str) -> bool {
    let sent = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some((scheme, sent)) = sent.and_then(|value| value.split_once(' ')) else { return false };
    // The time that it takes says nothing about how much of the token is right.
    scheme.eq_ignore_ascii_case("bearer") && bool::from(sent.trim().as_bytes().ct_eq(token.as_bytes()))
}

/// Whether a request was sent to this machine by a name of its own, or by none, which no browser does.
fn is_sent_to(headers: &HeaderMap, host: IpAddr) -> bool {
    let bound = match host {
        IpAddr::V4(host) => host.to_string(),
        IpAddr::V6(host) => format!("[{host}]"),
    };
    let is_own = |sent: &str| OWN_NAMES.into_iter().chain([bound.as_str()]).any(|name| is_named(sent, name));
    headers.get_all(header::HOST).iter().all(|value| value.to_str().is_ok_and(is_own))
}

/// Whether that is the name, with or without a port.
fn is_named(sent: &str, name: &str) -> bool {
    let Some((own, rest)) = sent.split_at_checked(name.len()) else { return false };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    own.eq_ignore_ascii_case(name) && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
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
        let access = Access::WithToken("0123456789abcdef".to_owned());
        let asks = |path: &str, value: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.extend(value.map(|value| (header::AUTHORIZATION, HeaderValue::from_static(value))));
            access.refusal(path, &headers).is_none()
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
        assert_eq!(Access::Public.refusal("/predict", &HeaderMap::new()), None);
    }

    #[test]
    fn a_server_for_this_machine_answers_under_names_of_this_machine_alone() {
        let asks = |access: &Access, hosts: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for &host in hosts {
                headers.append(header::HOST, HeaderValue::from_static(host));
            }
            access.refusal("/predict", &headers)
        };
        let [usual, other, bound] =
            ["127.0.0.1", "::1", "127.0.0.2"].map(|host| Access::ThisMachine(host.parse().unwrap()));
        for own in ["localhost", "LocalHost:8080", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:8080"] {
            assert_eq!((asks(&usual, &[own]), asks(&other, &[own])), (None, None), "{own}");
        }
        assert_eq!(asks(&usual, &[]), None, "as clients of HTTP/1.0 ask");
        for wrong in [
            "site.example:8080",
            "localhost.site.example",
            "localhost:80.site.example",
            "127.0.0.1.site.example",
            "127.0.0.2",
            "[::1",
            "::1",
            "",
        ] {
            assert_eq!(asks(&usual, &[wrong]), Some(Refusal::Name), "{wrong}");
            assert_eq!(asks(&usual, &["localhost", wrong]), Some(Refusal::Name), "{wrong}");
            assert_eq!(asks(&Access::Public, &[wrong]), None, "{wrong}");
        }
        assert_eq!((asks(&bound, &["127.0.0.2:1"]), asks(&bound, &["localhost"])), (None, None));
    }
}
