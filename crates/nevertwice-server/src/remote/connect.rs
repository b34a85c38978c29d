//! Opens a connection to a server, over TLS if its address says so.

use std::path::Path;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Duration, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::target::Target;
use super::trust::{self, NoTrust};

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(3);
/// How long agreeing on a key may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// What opens connections to one server.
pub(crate) struct Connect {
    target: Target,
    tls: Option<TlsConnector>,
}

impl Connect {
    /// `ca` is a file with the certificates of the authorities that are believed; the system's without one. It is read now, and only
    /// if the server is reached by TLS.
    pub(crate) fn new(target: Target, ca: Option<&Path>) -> Result<Self, NoTrust> {
        let tls = target.has_tls().then(|| trust::connector(ca)).transpose()?;
        Ok(Self { target, tls })
    }

    pub(crate) const fn target(&self) -> &Target {
        &self.target
    }

    /// A connection; or why there is none.
    pub(crate) async fn open(&self) -> Result<SendRequest<Full<Bytes>>, String> {
        let connected = timeout(CONNECT, TcpStream::connect(self.target.address())).await;
        let stream = connected.map_err(|_| "connecting took too long".to_owned())?.map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let Some(tls) = &self.tls else { return speak(stream).await };
        let name = ServerName::try_from(self.target.host().to_owned()).map_err(|_| "no certificate can have such a name".to_owned())?;
        let agreed = timeout(HANDSHAKE, tls.connect(name, stream)).await;
        let stream = agreed.map_err(|_| "agreeing on a key took too long".to_owned())?.map_err(|error| {
            format!("no TLS connection was made: {error}; if its certificate is of an authority of your own, name that with `--ca`")
        })?;
        speak(stream).await
    }
}

async fn speak(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Result<SendRequest<Full<Bytes>>, String> {
    let (sender, connection) = http1::Builder::new().handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    tokio::spawn(async move {
        // Its end shows in the sender.
        let _ended = connection.await;
    });
    Ok(sender)
}
