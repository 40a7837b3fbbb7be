//! HTTP and HTTPS.

use super::{Response, Transport};
use std::sync::Arc;
use std::time::Duration;
use ureq::tls::{TlsConfig, TlsProvider};

/// Fetches over HTTP and HTTPS; follows redirections, gives up on servers that stay silent.
pub struct Http {
    agent: ureq::Agent,
}

impl Http {
    /// A client with the certificates of the common authorities.
    pub fn new() -> Self {
        let provider = Arc::new(rustls_graviola::default_provider());
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(provider)
            .build();
        let config = ureq::Agent::config_builder()
            .tls_config(tls)
            .timeout_connect(Some(Duration::from_secs(30)))
            .timeout_recv_response(Some(Duration::from_secs(60)))
            .build();
        Self { agent: config.into() }
    }
}

impl Default for Http {
    fn default() -> Self {
        Self::new()
    }
}

impl Transport for Http {
    fn get(&self, url: &str, start: u64) -> Result<Response, String> {
        let mut request = self.agent.get(url);
        if start > 0 {
            request = request.header("Range", format!("bytes={start}-"));
        }
        let response = request.call().map_err(|error| error.to_string())?;
        let header = |name: &str| {
            response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        let length: Option<u64> = header("Content-Length").and_then(|text| text.parse().ok());
        let is_partial = response.status().as_u16() == 206;
        let (start, total) = if is_partial {
            // "bytes FIRST-LAST/TOTAL"
            let range = header("Content-Range").unwrap_or_default();
            let first =
                range.trim_start_matches("bytes ").split('-').next().and_then(|text| text.parse().ok());
            let total = range.rsplit('/').next().and_then(|text| text.parse().ok());
            (first.ok_or("the server sent a part without saying which")?, total)
        } else {
            (0, length)
        };
        Ok(Response { start, total, body: Box::new(response.into_body().into_reader()) })
    }
}
