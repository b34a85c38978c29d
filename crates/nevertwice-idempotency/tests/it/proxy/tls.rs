//! TLS and HTTP/2, on both sides.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Version};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use nevertwice_idempotency::proxy::ProxyConfig;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::house::House;
use super::upstream::Upstream;
use super::wire::{answer, post};

/// A certificate of one that signs itself, for `localhost`.
struct Pair {
    certificate: CertificateDer<'static>,
    pem: String,
    server: Arc<ServerConfig>,
}

fn pair() -> Pair {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).expect("a certificate");
    let (certificate, pem) = (made.cert.der().clone(), made.cert.pem());
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions();
    let builder = builder.expect("versions").with_no_client_auth();
    let mut server = builder.with_single_cert(vec![certificate.clone()], key).expect("they fit");
    server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Pair { certificate, pem, server: Arc::new(server) }
}

async fn connect(
    address: SocketAddr,
    certificate: &CertificateDer<'static>,
    protocol: &[u8],
) -> impl AsyncRead + AsyncWrite + Unpin + Send + 'static {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).expect("a certificate");
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions();
    let mut client = builder.expect("versions").with_root_certificates(roots).with_no_client_auth();
    client.alpn_protocols = vec![protocol.to_vec()];
    let stream = TcpStream::connect(address).await.expect("somebody listens");
    let name = ServerName::try_from("localhost").expect("a name");
    TlsConnector::from(Arc::new(client)).connect(name, stream).await.expect("they agree")
}

async fn http2(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> SendRequest<Full<Bytes>> {
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("it speaks HTTP/2");
    tokio::spawn(connection);
    sender
}

fn charge(scheme: &str, path: &str) -> Request<Full<Bytes>> {
    let request = Request::post(format!("{scheme}://shop{path}")).version(Version::HTTP_2);
    let request = request.header("authorization", "Bearer ann").header("idempotency-key", "k");
    request.body(Full::from("{}")).expect("it is a request")
}

async fn told(sender: &mut SendRequest<Full<Bytes>>, request: Request<Full<Bytes>>) -> (u16, bool, String) {
    let (head, body) = sender.send_request(request).await.expect("it is answered").into_parts();
    let body = body.collect().await.expect("it is whole").to_bytes();
    let is_replay = head.headers.contains_key("idempotent-replayed");
    (head.status.as_u16(), is_replay, String::from_utf8(body.to_vec()).expect("it is text"))
}

#[tokio::test]
async fn http_2_is_served_without_tls() {
    let upstream = Upstream::start().await;
    let house = House::before(upstream.address).await;
    let mut sender = http2(TcpStream::connect(house.address).await.expect("somebody listens")).await;
    assert_eq!(told(&mut sender, charge("http", "/charges")).await, (201, false, "charge 1".to_owned()));
    assert_eq!(told(&mut sender, charge("http", "/charges")).await, (201, true, "charge 1".to_owned()));
    let (_, _, seen) = told(&mut sender, charge("http", "/open/headers")).await;
    assert!(seen.contains("host: shop\n") && seen.contains("x-forwarded-host: shop\n"), "{seen}");
    // The same key by HTTP/1.1 is the same key.
    let over_one = super::wire::ask(house.address, post("/charges", "k", "{}").replace("content-type: application/json\r\n", "")).await;
    assert!(over_one.is_replay());
}

#[tokio::test]
async fn clients_come_by_tls_with_either_version() {
    let upstream = Upstream::start().await;
    let pair = pair();
    let server = pair.server.clone();
    let settings = format!("listen = \"127.0.0.1:0\"\nupstream = \"http://{}\"", upstream.address);
    let config = ProxyConfig::from_toml("s", &settings).expect("they are settings");
    let house = House::of(&config, Some(Arc::new(move || server.clone()))).await;
    let mut sender = http2(connect(house.address, &pair.certificate, b"h2").await).await;
    assert_eq!(told(&mut sender, charge("https", "/charges")).await.2, "charge 1");
    let mut stream = connect(house.address, &pair.certificate, b"http/1.1").await;
    stream.write_all(post("/charges", "other", "{}").as_bytes()).await.expect("it is taken");
    assert_eq!(answer(&mut stream).await.text(), "charge 2");
    // Who speaks no TLS costs nobody anything.
    let plain = super::wire::write(house.address, post("/charges", "k", "{}")).await;
    drop(plain);
    super::house::until(|| house.counts.handshake_failures.get() == 1).await;
}

/// The service behind the proxy, by TLS.
async fn secure(upstream: &Upstream, server: Arc<ServerConfig>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let router = upstream.router();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, service) = (TlsAcceptor::from(server.clone()), TowerToHyperService::new(router.clone()));
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn the_upstream_is_reached_by_tls_and_http_2() {
    let pair = pair();
    let upstream = Upstream::start().await;
    let address = secure(&upstream, pair.server.clone()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, &pair.pem).expect("it is written");
    for (number, http) in ["1.1", "2", "auto"].into_iter().enumerate() {
        let settings = format!(
            "listen = \"127.0.0.1:0\"\nupstream = \"https://localhost:{}\"\nupstream_ca = {ca:?}\nupstream_http = \"{http}\"\nhost = \"upstream\"",
            address.port()
        );
        let house = House::of(&ProxyConfig::from_toml("s", &settings).expect("they are settings"), None).await;
        let first = super::wire::ask(house.address, post("/charges", http, "{}")).await;
        assert_eq!(first.text(), format!("charge {}", number + 1), "{http}");
        assert!(super::wire::ask(house.address, post("/charges", http, "{}")).await.is_replay());
    }
}

#[tokio::test]
async fn an_upstream_whose_certificate_is_not_believed_is_sent_nothing() {
    let (pair, other) = (pair(), pair());
    let upstream = Upstream::start().await;
    let address = secure(&upstream, pair.server.clone()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, &other.pem).expect("it is written");
    let settings = format!("listen = \"127.0.0.1:0\"\nupstream = \"https://localhost:{}\"\nupstream_ca = {ca:?}", address.port());
    let house = House::of(&ProxyConfig::from_toml("s", &settings).expect("they are settings"), None).await;
    let refused = super::wire::ask(house.address, post("/charges", "k", "{}")).await;
    assert_eq!((refused.status, refused.code().as_str(), upstream.effects()), (502, "upstream_unreachable", 0));
}
