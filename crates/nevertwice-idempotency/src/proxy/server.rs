//! A running proxy: its socket, its connections, and its end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use nevertwice_api::{ErrorCode, KeyStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::caller::CallerByHeader;
use super::config::ProxyConfig;
use super::counts::ProxyCounts;
use super::error::ProxyError;
use super::forward::Forward;
use super::gathered::Gatherer;
use super::peer::Peer;
use super::prompt::Prompt;
use super::routes_config::routes;
use super::service::{Connected, Shared};
use crate::{KeyObserver, Keys, KeysError, Secrets};

/// How long the proxy waits after a socket error, for instance when it has too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Records of keys that are looked at in one sweep.
const SWEPT_AT_ONCE: usize = 10_000;

/// Gives the settings of TLS that count now, for the next connection.
pub type TlsNow = Arc<dyn Fn() -> Arc<ServerConfig> + Send + Sync>;

/// What a proxy is put together from, beside its settings.
pub struct ProxyParts {
    /// Where keys are kept.
    pub store: Arc<dyn KeyStore>,
    /// The secret under which they are named; a store that outlives the process demands it.
    pub secrets: Option<Secrets>,
    /// Hears what becomes of keys.
    pub observer: Arc<dyn KeyObserver>,
    /// What makes connections of clients safe; none: they are not. Its protocols should be `h2` and `http/1.1`.
    pub tls: Option<TlsNow>,
}

impl std::fmt::Debug for ProxyParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProxyParts").field("store", &self.store.name()).finish_non_exhaustive()
    }
}

/// A proxy whose address is bound and which does not serve yet.
pub struct Proxy {
    listener: TcpListener,
    address: SocketAddr,
    config: ProxyConfig,
    shared: Arc<Shared>,
    tls: Option<TlsNow>,
    store: Arc<dyn KeyStore>,
    lines: Vec<String>,
    worked: mpsc::Receiver<Infallible>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Proxy {
    /// Checks the settings and binds the address. Nothing is answered before [`Proxy::run`].
    ///
    /// # Errors
    /// If the settings have nonsense in them, a policy does, the secret is missing, or the address can't be bound.
    pub async fn bind(config: &ProxyConfig, parts: ProxyParts) -> Result<Self, ProxyError> {
        config.check()?;
        let Some(upstream) = &config.upstream else { return Err(ProxyError::configuration("`upstream` is missing")) };
        let ProxyParts { store, secrets, observer, tls } = parts;
        let (routes, mut lines) = routes(&config.routes)?;
        let caller = CallerByHeader::of(&config.identity)?;
        let identity = caller.headers();
        let keys = Keys::new(store.clone(), secrets, routes).map_err(|error| match error {
            KeysError::SecretMissing => ProxyError::configuration(format!("{error}; name its file by `secret_file`")),
            other => ProxyError::configuration(other),
        })?;
        let keys = keys.with_identity(caller).with_observer(observer).with_store_limits(config.store.limits());
        lines.extend(keys.warnings().into_iter().map(|warning| format!("warning: {warning}")));
        lines.extend(cautions(config, store.as_ref()));
        let counts = Arc::new(ProxyCounts::default());
        let refuse = |error: std::io::Error| ProxyError {
            code: ErrorCode::AddressInUse,
            detail: format!(
                "{} can't be bound: {error}. Nothing was started. Stop what uses it, or choose another with `listen`.",
                config.listen
            ),
        };
        let forward = Forward::new(config, upstream, identity.clone(), counts.clone())?;
        let listener = TcpListener::bind(config.listen).await.map_err(refuse)?;
        let address = listener.local_addr().map_err(refuse)?;
        if upstream.is_at(address) {
            return Err(ProxyError::configuration(format!(
                "`upstream` is {address}, where the proxy itself listens: each request would go round for ever; name the service behind it"
            )));
        }
        let (work, worked) = mpsc::channel(1);
        let shared = Shared {
            keys: Arc::new(keys),
            gatherer: Gatherer::new(&config.bodies),
            forward,
            identity,
            head_bytes_max: config.head_bytes_max,
            headers_max: config.headers_max,
            places: Arc::new(Semaphore::new(config.requests_max)),
            work,
            counts,
        };
        Ok(Self { listener, address, config: config.clone(), shared: Arc::new(shared), tls, store, lines, worked })
    }

    /// The address that is bound.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where clients reach it.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// What a start tells people: which routes are guarded, and what is allowed and yet worth a word.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// What is counted; it goes on counting.
    #[must_use]
    pub fn counts(&self) -> Arc<ProxyCounts> {
        Arc::clone(&self.shared.counts)
    }

    /// Tells how many bytes of requests' bodies lie in memory, and in files.
    pub fn bodies(&self) -> impl Fn() -> (u64, u64) + Send + Sync + 'static {
        let gatherer = self.shared.gatherer.clone();
        move || gatherer.used()
    }

    /// Serves until `stop` is ready; then takes no more connections, finishes what is under way, and returns. The store is left open.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { listener, config, shared, tls, store, mut worked, .. } = self;
        let (stopping, stopped) = watch::channel(false);
        let sweeping =
            tokio::spawn(sweep(store, Duration::from_millis(config.store.sweep_ms), Arc::clone(&shared.counts), stopped.clone()));
        let connections = GracefulShutdown::new();
        let places = Arc::new(Semaphore::new(config.connections_max));
        let builder = Arc::new(builder(&config));
        let mut stop = std::pin::pin!(stop);
        loop {
            let (stream, address, place) = tokio::select! {
                () = &mut stop => break,
                accepted = accept(&listener, &places) => match accepted {
                    Some(accepted) => accepted,
                    None => continue,
                },
            };
            let peer = Peer {
                address: address.ip().to_canonical(),
                is_trusted: config.trusted_proxies.contains(address.ip().to_canonical()),
                is_tls: tls.is_some(),
            };
            let connection = Connection {
                connected: Connected { shared: Arc::clone(&shared), peer },
                builder: Arc::clone(&builder),
                watcher: connections.watcher(),
                handshake: Duration::from_millis(config.tls_handshake_ms),
                head: Duration::from_millis(config.head_ms),
                stopped: stopped.clone(),
            };
            let tls = tls.as_ref().map(|now| TlsAcceptor::from(now()));
            tokio::spawn(async move {
                connection.serve(stream, tls).await;
                drop(place);
            });
        }
        tracing::info!("stopping: nothing new is accepted, what is under way is finished");
        drop(listener);
        stopping.send_replace(true);
        drop(shared);
        let under_way = async {
            connections.shutdown().await;
            // What goes on without its client is waited for as well.
            while worked.recv().await.is_some() {}
        };
        match timeout(Duration::from_millis(config.drain_ms), under_way).await {
            Ok(()) => tracing::info!("everything that was under way is finished"),
            Err(_) => {
                tracing::warn!(config.drain_ms, "some requests were not finished in time; their keys tell what became of them")
            }
        }
        sweeping.abort();
    }
}

/// What is allowed and yet worth a word, in words.
fn cautions(config: &ProxyConfig, store: &dyn KeyStore) -> Vec<String> {
    let mut lines = vec![
        "note: whether the guarded paths exist at the upstream can't be known from here; what matches none of them passes unguarded"
            .to_owned(),
    ];
    if !store.outlives_process() {
        lines.push("note: keys are kept in memory: after a restart, a retry runs again".to_owned());
    }
    if config.identity == super::config::IdentityConfig::Authorization {
        lines.push(
            "note: callers are told apart by their Authorization header: a retry with renewed credentials is another caller's, and runs again"
                .to_owned(),
        );
    }
    lines
}

fn builder(config: &ProxyConfig) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    let mut http1 = builder.http1();
    http1.timer(TokioTimer::new()).header_read_timeout(Duration::from_millis(config.head_ms)).max_buf_size(config.head_bytes_max);
    http1.max_headers(config.headers_max);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(config.streams_max)
        .max_header_list_size(u32::try_from(config.head_bytes_max).unwrap_or(u32::MAX))
        .keep_alive_interval(Duration::from_millis(config.head_ms));
    builder
}

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, address)) => Some((stream, address, place)),
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

/// Frees the records whose retention is over, until told to stop.
async fn sweep(store: Arc<dyn KeyStore>, every: Duration, counts: Arc<ProxyCounts>, mut stopped: watch::Receiver<bool>) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => return,
            _ = ticks.tick() => {}
        }
        match store.sweep(SWEPT_AT_ONCE).await {
            Ok(swept) => counts.swept.add(swept.freed as u64),
            Err(error) => tracing::warn!(%error, "the store of keys could not be swept"),
        }
    }
}

/// One connection of a client, before it is served.
struct Connection {
    connected: Connected,
    builder: Arc<auto::Builder<TokioExecutor>>,
    watcher: Watcher,
    handshake: Duration,
    head: Duration,
    stopped: watch::Receiver<bool>,
}

impl Connection {
    async fn serve(mut self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        let _ = stream.set_nodelay(true);
        let Some(tls) = tls else { return self.answer(stream).await };
        let agreed = tokio::select! {
            agreed = timeout(self.handshake, tls.accept(stream)) => agreed,
            _ = self.stopped.wait_for(|stopped| *stopped) => return,
        };
        match agreed {
            Ok(Ok(stream)) => self.answer(stream).await,
            _ => {
                self.connected.shared.counts.handshake_failures.add(1);
                tracing::debug!(address = %self.connected.peer.address, "a connection ended before it had agreed on a key");
            }
        }
    }

    async fn answer(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let stream = Prompt::new(stream, self.head);
        let connection = self.builder.serve_connection_with_upgrades(TokioIo::new(stream), self.connected).into_owned();
        if let Err(error) = self.watcher.watch(connection).await {
            tracing::debug!(error, "a connection ended early");
        }
    }
}
