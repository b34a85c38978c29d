//! TLS: the certificate and its key, read again when they change, and the handshake.
//!
//! A changed pair counts for connections that come afterwards; those that are open go on with what they agreed on.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time::{Duration, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::server::TlsStream;

use crate::certificate::{self, CertificateTimes};
use crate::config::Config;
use crate::error::StartError;
use crate::metrics::{Metrics, WatchedFile};
use crate::watched::{self, Reloader, Reread, Watched};

/// The largest file of certificates, or of a key.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The protocols that are served over it.
const PROTOCOLS: &[&[u8]] = &[b"http/1.1"];

/// Reads the certificate and its key as a start would, and tells when those that lead to its root hold, all together; `None` if the
/// configuration names no pair, or the times can't be read. Nothing is kept.
///
/// # Errors
/// What is wrong, in words, without what stands in the files.
pub fn check_tls_files(config: &Config) -> Result<Option<CertificateTimes>, String> {
    let (Some(certificate), Some(key)) = (&config.tls_certificate, &config.tls_key) else { return Ok(None) };
    let contents = watched::read(&[certificate.clone(), key.clone()], FILE_BYTES_MAX)?;
    let [certificate, key] = contents.as_slice() else { return Ok(None) };
    server_config(certificate, key, PROTOCOLS)?;
    let times: Option<Vec<CertificateTimes>> =
        CertificateDer::pem_slice_iter(certificate).map(|certificate| certificate::times(&certificate.ok()?)).collect();
    let times = times.unwrap_or_default();
    let begins_at = times.iter().map(|times| times.begins_at).max();
    let ends_at = times.iter().map(|times| times.ends_at).min();
    Ok(begins_at.zip(ends_at).map(|(begins_at, ends_at)| CertificateTimes { begins_at, ends_at }))
}

/// A certificate and its key, read again when they change: for whoever listens.
#[derive(Clone, Debug)]
pub struct TlsFiles(Arc<Watched<ServerConfig>>);

impl TlsFiles {
    /// Reads both. `protocols` are those that a handshake may agree on, the best first.
    ///
    /// # Errors
    /// If they can't be read, or are no pair.
    pub fn open(
        certificate: PathBuf,
        key: PathBuf,
        protocols: &'static [&'static [u8]],
        metrics: &Arc<Metrics>,
    ) -> Result<Self, StartError> {
        let parse = |contents: &[Vec<u8>]| match contents {
            [certificate, key] => server_config(certificate, key, protocols),
            _ => Err("a certificate and a key are two files".to_owned()),
        };
        let pair = Watched::open(WatchedFile::Tls, vec![certificate, key], FILE_BYTES_MAX, Arc::clone(metrics), parse)?;
        Ok(Self(Arc::new(pair)))
    }

    /// What counts for the next connection.
    #[must_use]
    pub fn now(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.now())
    }

    /// Reads them again when it is told to.
    #[must_use]
    pub fn reloader(&self) -> Reloader {
        Reloader::of([Arc::clone(&self.0) as Arc<dyn Reread>])
    }
}

/// What makes connections safe.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    pair: TlsFiles,
    handshake: Duration,
}

impl Tls {
    /// Reads the pair, if the configuration names one.
    pub(crate) fn open(config: &Config, metrics: &Arc<Metrics>) -> Result<Option<Self>, StartError> {
        let (Some(certificate), Some(key)) = (&config.tls_certificate, &config.tls_key) else { return Ok(None) };
        let pair = TlsFiles::open(certificate.clone(), key.clone(), PROTOCOLS, metrics)?;
        Ok(Some(Self { pair, handshake: Duration::from_millis(config.tls_handshake_ms) }))
    }

    /// The files that it is made from.
    pub(crate) fn files(&self) -> Arc<dyn Reread> {
        Arc::clone(&self.pair.0) as Arc<dyn Reread>
    }

    /// Agrees with the other end on a key, within a time.
    pub(crate) async fn agree(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let acceptor = TlsAcceptor::from(self.pair.now());
        timeout(self.handshake, acceptor.accept(stream)).await?
    }
}

// The texts of the parsers are not passed on: they may quote what stands in the files.
fn server_config(certificate: &[u8], key: &[u8], protocols: &[&[u8]]) -> Result<ServerConfig, String> {
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(certificate).collect::<Result<_, _>>().map_err(|_| "the certificate is not PEM".to_owned())?;
    if chain.is_empty() {
        return Err(
            "there is no certificate in `tls_certificate`: it has to hold the server's, and then those that lead to its root".to_owned()
        );
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| {
        "there is no key in `tls_key` that can be read: it has to be PEM (PKCS #8, PKCS #1 or SEC 1) and not encrypted".to_owned()
    })?;
    let versions = ServerConfig::builder_with_provider(Arc::new(ring::default_provider())).with_protocol_versions(&[&TLS13, &TLS12]);
    let builder = versions.map_err(|_| "the cipher suites fit no version of TLS".to_owned())?;
    let pair = builder.with_no_client_auth().with_single_cert(chain, key);
    let mut config = pair.map_err(|error| format!("certificate and key can't be used together: {error}"))?;
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(config)
}
