//! TLS: what is agreed on, what is refused, and a certificate that changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nevertwice_server::{Config, Parts, Server};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, ProtocolVersion, RootCertStore, SupportedProtocolVersion};

use crate::client::Ask;
use crate::house::House;

/// A folder with a certificate for `localhost` and its key.
pub(crate) struct Pair {
    folder: TempDir,
    certificate: CertificateDer<'static>,
}

impl Pair {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().expect("a folder can be made");
        let mut pair = Self { folder, certificate: CertificateDer::from(Vec::new()) };
        let (certificate, key) = pair.draw();
        fs::write(pair.certificate_file(), certificate).expect("it can be written");
        fs::write(pair.key_file(), key).expect("it can be written");
        pair
    }

    /// Another pair, as texts.
    fn draw(&mut self) -> (String, String) {
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        self.certificate = cert.der().clone();
        (cert.pem(), signing_key.serialize_pem())
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::join(self.folder.path(), name)
    }

    fn certificate_file(&self) -> PathBuf {
        self.file("certificate.pem")
    }

    pub(crate) fn key_file(&self) -> PathBuf {
        self.file("key.pem")
    }

    pub(crate) fn configure(&self, config: &mut Config) {
        config.tls_certificate = Some(self.certificate_file());
        config.tls_key = Some(self.key_file());
    }

    /// Connects and agrees on a key, trusting the pair's certificate alone.
    pub(crate) async fn connect(
        &self,
        house: &House,
        versions: &[&'static SupportedProtocolVersion],
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).expect("a certificate");
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_protocol_versions(versions);
        let mut config = builder.expect("versions").with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let stream = TcpStream::connect(house.addr).await?;
        TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost").expect("a name"), stream).await
    }
}

async fn ask(stream: &mut TlsStream<TcpStream>, ask: &Ask) -> String {
    String::from_utf8(ask_bytes(stream, ask).await).expect("the answer is a text")
}

/// The whole answer, head and body.
pub(crate) async fn ask_bytes(stream: &mut TlsStream<TcpStream>, ask: &Ask) -> Vec<u8> {
    // A server that has seen enough may close before all was sent.
    let _ = stream.write_all(&ask.bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(answer.starts_with(b"HTTP/1.1 "), "{}", answer.escape_ascii());
    answer
}

#[tokio::test]
async fn requests_are_answered_over_tls_and_over_nothing_else() {
    let pair = Pair::new();
    let house = House::configured(|config| pair.configure(config)).await;
    for (version, expected) in [(&TLS13, ProtocolVersion::TLSv1_3), (&TLS12, ProtocolVersion::TLSv1_2)] {
        let mut stream = pair.connect(&house, &[version]).await.expect("they agree");
        let (_, agreed) = stream.get_ref();
        assert_eq!((agreed.protocol_version(), agreed.alpn_protocol()), (Some(expected), Some(&b"http/1.1"[..])));
        assert!(ask(&mut stream, &Ask::get("/healthz")).await.starts_with("HTTP/1.1 200"));
    }
    let mut plain = TcpStream::connect(house.addr).await.expect("the server accepts");
    plain.write_all(&Ask::get("/healthz").bytes()).await.expect("it can be sent");
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"), "{}", answer.escape_ascii());
    house.close().await;
}

#[tokio::test]
async fn a_certificate_that_changes_counts_from_then_on() {
    let mut pair = Pair::new();
    let house = House::configured(|config| pair.configure(config)).await;
    let mut before = pair.connect(&house, &[&TLS13]).await.expect("they agree");
    let (certificate, key) = pair.draw();
    // Half of a pair can't be used, and the old pair still can.
    fs::write(pair.certificate_file(), &certificate).expect("it can be written");
    house.reload().await;
    assert!(pair.connect(&house, &[&TLS13]).await.is_err());
    fs::write(pair.key_file(), key).expect("it can be written");
    house.reload().await;
    let mut after = pair.connect(&house, &[&TLS13]).await.expect("they agree");
    for stream in [&mut before, &mut after] {
        assert!(ask(stream, &Ask::get("/healthz")).await.starts_with("HTTP/1.1 200"));
    }
    let mut again = pair.connect(&house, &[&TLS13]).await.expect("they agree");
    let metrics = ask(&mut again, &Ask::get("/metrics")).await;
    for line in [
        "nevertwice_reload_failures_total{file=\"tls\"} 1",
        "nevertwice_reloads_total{file=\"tls\"} 1",
        "nevertwice_reload_refused{file=\"tls\"} 0",
        "nevertwice_tls_failures_total 1",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
}

#[tokio::test]
async fn who_does_not_agree_in_time_is_cut() {
    let pair = Pair::new();
    let house = House::configured(|config| {
        pair.configure(config);
        config.tls_handshake_ms = 50;
    })
    .await;
    let mut silent = TcpStream::connect(house.addr).await.expect("the server accepts");
    let mut answer = Vec::new();
    let _ = silent.read_to_end(&mut answer).await;
    assert!(answer.is_empty());
}

#[tokio::test]
async fn a_server_that_stops_does_not_wait_for_who_does_not_agree() {
    let pair = Pair::new();
    let house = House::configured(|config| {
        pair.configure(config);
        (config.tls_handshake_ms, config.drain_ms) = (600_000, 600_000);
    })
    .await;
    let mut silent = TcpStream::connect(house.addr).await.expect("the server accepts");
    // Connections are accepted in their order: once this one is answered, the silent one is waited for.
    let mut other = pair.connect(&house, &[&TLS13]).await.expect("they agree");
    assert!(ask(&mut other, &Ask::get("/healthz")).await.starts_with("HTTP/1.1 200"));
    house.close().await;
    let mut answer = Vec::new();
    let _ = silent.read_to_end(&mut answer).await;
    assert!(answer.is_empty());
}

#[tokio::test]
async fn a_pair_that_can_not_be_used_does_not_start() {
    let house = House::open().await;
    let mut pair = Pair::new();
    let (_, other_key) = pair.draw();
    let bind = async |pair: &Pair| {
        let mut config = Config { listen: ([127, 0, 0, 1], 0).into(), ..Config::default() };
        pair.configure(&mut config);
        Server::bind(&config, Parts::new(house.backend.clone(), [0; 32])).await.expect_err("it does not start")
    };
    let secret = other_key.lines().nth(1).expect("a line").to_owned();
    let cut = other_key.lines().take(2).collect::<Vec<_>>().join("\n");
    for (file, content, wanted) in [
        ("key.pem", other_key.as_str(), "can't be used together"),
        ("key.pem", cut.as_str(), "no key in `tls_key`"),
        ("key.pem", "", "no key in `tls_key`"),
        ("certificate.pem", "", "no certificate in `tls_certificate`"),
        ("certificate.pem", other_key.as_str(), "no certificate in `tls_certificate`"),
    ] {
        let pair = Pair::new();
        fs::write(pair.file(file), content).expect("it can be written");
        let error = bind(&pair).await.to_string();
        assert!(error.contains(wanted) && error.contains("Nothing was started") && !error.contains(&secret), "{error}");
    }
    let pair = Pair::new();
    fs::remove_file(pair.key_file()).expect("it can be removed");
    assert!(bind(&pair).await.to_string().contains("key.pem can't be opened"));
}
