//! Sends bodies to one address that is not a nevertwice server, such as a webhook.

use std::path::Path;

use axum::http::{HeaderMap, Method, StatusCode, Uri};
use bytes::Bytes;
use tokio::time::Duration;

use super::client::{Ask, Client, RemoteError};
use super::connect::Connect;
use super::target::Target;

/// Bytes of an answer that are read; nothing in them counts.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// One connection to an address, kept alive and reopened when it breaks. It follows no redirect. What is sent may come twice.
pub struct Poster {
    client: Client,
    path: String,
}

impl std::fmt::Debug for Poster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poster").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Poster {
    /// For `http://` or `https://`, a host, a port and a path. `ca` is a file with the authorities that its certificate may lead to; the
    /// system's without one.
    ///
    /// # Errors
    /// If the address is none, or the authorities can't be read: what is wrong, in words.
    pub fn new(url: &str, ca: Option<&Path>) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|_| "it is no URL".to_owned())?;
        let target = Target::of(&uri).map_err(|fault| fault.to_string())?;
        let connect = Connect::new(target, ca).map_err(|fault| fault.to_string())?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        Ok(Self { client: Client::new(connect, None, ANSWER_BYTES_MAX), path })
    }

    /// Sends a body, and returns the status and the head of whatever is answered.
    ///
    /// # Errors
    /// If nothing is.
    pub async fn post(&mut self, headers: &[(&str, &str)], body: Bytes) -> Result<(StatusCode, HeaderMap), RemoteError> {
        let ask = Ask { method: Method::POST, path: &self.path, headers, body, wait: Duration::ZERO };
        let (status, headers, _) = self.client.send(ask).await?;
        Ok((status, headers))
    }
}
