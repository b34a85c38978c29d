//! Whose certificates are believed when another server is asked over TLS.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::watched;

/// The largest file of certificates.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Why no certificate would be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoTrust {
    file: Option<PathBuf>,
    wrong: String,
}

impl fmt::Display for NoTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "the certificates in {} can't be used: {}", file.display(), self.wrong),
            None => write!(f, "the system's certificates can't be used: {}", self.wrong),
        }
    }
}

impl std::error::Error for NoTrust {}

/// What makes connections over TLS. It believes the authorities in `file`, a text in PEM, and nobody else; without one, those that
/// the system believes. The name in the certificate has to be that of the host.
pub(crate) fn connector(file: Option<&Path>) -> Result<TlsConnector, NoTrust> {
    let refuse = |wrong: String| NoTrust { file: file.map(Path::to_path_buf), wrong };
    let roots = match file {
        Some(path) => roots_of(path),
        None => roots_of_the_system(),
    };
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_protocol_versions(&[&TLS13, &TLS12]);
    let builder = builder.map_err(|error| refuse(error.to_string()))?;
    let mut config = builder.with_root_certificates(roots.map_err(refuse)?).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

fn roots_of(path: &Path) -> Result<RootCertStore, String> {
    let contents = watched::read(&[path.to_owned()], FILE_BYTES_MAX)?;
    let pem = contents.first().map_or(&[][..], Vec::as_slice);
    let mut roots = RootCertStore::empty();
    for (index, certificate) in CertificateDer::pem_slice_iter(pem).enumerate() {
        let wrong = || format!("certificate number {} in it is none", index + 1);
        roots.add(certificate.map_err(|_| wrong())?).map_err(|_| wrong())?;
    }
    if roots.is_empty() { Err("it has no certificate in PEM".to_owned()) } else { Ok(roots) }
}

fn roots_of_the_system() -> Result<RootCertStore, String> {
    let loaded = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // A system's store may hold some that are of no use; what matters is that there are any.
    let (_, _) = roots.add_parsable_certificates(loaded.certs);
    if !roots.is_empty() {
        return Ok(roots);
    }
    let why = loaded.errors.first().map_or_else(|| "it has none".to_owned(), ToString::to_string);
    Err(format!("{why}; install them (on Debian: ca-certificates), or name a file of certificates"))
}
