//! Connections to the upstream.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use rustls_native_certs::load_native_certs;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tower_service::Service;

use super::config::{ProxyConfig, UpstreamHttp};
use super::error::ProxyError;
use super::upstream_url::UpstreamUrl;

/// Connects to the upstream, whatever address it is asked for: nobody else is ever connected to.
#[derive(Clone)]
pub(super) struct Connector {
    tcp: HttpConnector,
    uri: Uri,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    time: Duration,
}

impl Connector {
    /// `protocols` are those that a handshake of TLS offers.
    pub(super) fn new(config: &ProxyConfig, upstream: &UpstreamUrl, http: UpstreamHttp) -> Result<Self, ProxyError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let uri = upstream.uri(None).map_err(ProxyError::configuration)?;
        let tls = if upstream.is_tls() { Some(tls(config, upstream, http)?) } else { None };
        Ok(Self { tcp, uri, tls, time: Duration::from_millis(config.connect_ms) })
    }
}

fn tls(config: &ProxyConfig, upstream: &UpstreamUrl, http: UpstreamHttp) -> Result<(TlsConnector, ServerName<'static>), ProxyError> {
    let mut roots = RootCertStore::empty();
    match &config.upstream_ca {
        Some(path) => {
            let wrong = || ProxyError::configuration(format!("`upstream_ca`: {} holds no certificates in PEM", path.display()));
            for certificate in CertificateDer::pem_file_iter(path).map_err(|_| wrong())? {
                roots.add(certificate.map_err(|_| wrong())?).map_err(|_| wrong())?;
            }
            if roots.is_empty() {
                return Err(wrong());
            }
        }
        None => {
            roots.add_parsable_certificates(load_native_certs().certs);
            if roots.is_empty() {
                return Err(ProxyError::configuration("This system has no certificates of authorities: name some with `upstream_ca`"));
            }
        }
    }
    let versions = ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_protocol_versions(&[&TLS13, &TLS12]);
    let builder = versions.map_err(|error| ProxyError::configuration(format!("TLS can't be set up: {error}")))?;
    let mut tls = builder.with_root_certificates(roots).with_no_client_auth();
    let protocols: &[&[u8]] = match http {
        UpstreamHttp::One => &[b"http/1.1"],
        UpstreamHttp::Two => &[b"h2"],
        UpstreamHttp::Auto => &[b"h2", b"http/1.1"],
    };
    tls.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let host = upstream.authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(host).map_err(|_| ProxyError::configuration(format!("{upstream} has no name that TLS can check")))?;
    Ok((TlsConnector::from(Arc::new(tls)), name))
}

impl Service<Uri> for Connector {
    type Response = TokioIo<UpstreamStream>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let connecting = self.tcp.call(self.uri.clone());
        let (tls, time) = (self.tls.clone(), self.time);
        Box::pin(async move {
            let connected = timeout(time, async {
                let stream = connecting.await?.into_inner();
                Ok::<_, Self::Error>(match tls {
                    None => UpstreamStream::Plain(stream),
                    Some((connector, name)) => UpstreamStream::Tls(Box::new(connector.connect(name, stream).await?)),
                })
            });
            Ok(TokioIo::new(connected.await.map_err(|_| "the upstream did not take the connection in time")??))
        })
    }
}

/// A connection to the upstream.
pub(super) enum UpstreamStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Connection for UpstreamStream {
    fn connected(&self) -> Connected {
        match self {
            Self::Tls(stream) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => Connected::new().negotiated_h2(),
            _ => Connected::new(),
        }
    }
}

impl AsyncRead for UpstreamStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for UpstreamStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(self: Pin<&mut Self>, cx: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }
}
