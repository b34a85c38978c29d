//! A running server: its socket, its connections, its steward, and its end.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nevertwice_api::{Backend, ErrorCode, LedgerWatch};
use nevertwice_local::clock::{Clock, SystemClock};
use nevertwice_local::feed::JournalHost;
use nevertwice_local::standby::Standby;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{Duration, MissedTickBehavior, interval, timeout};

use crate::app::App;
use crate::config::Config;
use crate::connection::{self, Connector};
use crate::error::StartError;
use crate::key_records::KeyParts;
use crate::limits::{Connections, Place, SteadyClock};
use crate::machine::Machine;
use crate::metrics::Metrics;
use crate::payment::PaymentGateway;
use crate::steward::Steward;
use crate::telemetry::Exporter;
use crate::tls::Tls;
use crate::watched::Reloader;

/// How long the server waits after a socket error, for instance when it has too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How many connections the system keeps until they are accepted.
const CONNECTIONS_WAITING_MAX: u32 = 1_024;

/// How long the server waits once more, at the end of the drain, for those who have not sent their whole request and are told so.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What a server is put together from.
pub struct Parts {
    /// Where things are decided.
    pub backend: Arc<dyn Backend>,
    /// Where its journal is, for those who copy it; without it nobody can.
    pub journal: Option<Arc<dyn JournalHost>>,
    /// What the backend is, if it is a standby: then it tells how it is, and can be promoted.
    pub standby: Option<Arc<Standby>>,
    /// What tells how the ledger follows, if there is one.
    pub ledger: Option<Arc<dyn LedgerWatch>>,
    /// Where records of keys are; in this process's memory if absent.
    pub keys: Option<KeyParts>,
    /// What is counted; give the same to the backend as its observer.
    pub metrics: Arc<Metrics>,
    /// Where instants come from.
    pub clock: Arc<dyn Clock>,
    /// Where the times of rate limits come from: milliseconds since whatever instant, never stepping back.
    pub steady: Arc<dyn Clock>,
    /// Where payments are made; the sandbox if absent. With another gateway there are no pages of the sandbox.
    pub gateway: Option<Arc<dyn PaymentGateway>>,
    /// What tells how the machine is; the one that this runs on if absent.
    pub machine: Option<Arc<dyn Machine>>,
    /// From what the keys of sales are made. The same as long as the data lives.
    pub person_secret: [u8; 32],
}

impl Parts {
    /// A backend whose journal nobody copies, the clock of the system, the sandbox for payments, and metrics of its own.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>, person_secret: [u8; 32]) -> Self {
        Self {
            backend,
            journal: None,
            standby: None,
            ledger: None,
            keys: None,
            metrics: Arc::new(Metrics::new()),
            clock: Arc::new(SystemClock),
            steady: Arc::new(SteadyClock::default()),
            gateway: None,
            machine: None,
            person_secret,
        }
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("backend", &self.backend.name()).finish_non_exhaustive()
    }
}

/// A server whose address is bound and which does not serve yet.
pub struct Server {
    listener: TcpListener,
    addr: SocketAddr,
    app: Arc<App>,
    /// What sends traces, if they are sent.
    exporter: Option<Exporter>,
    tls: Option<Tls>,
    scheme: &'static str,
    connections_max: usize,
    of_addresses: Arc<Connections>,
    drain: Duration,
    sweep: Duration,
    reload: Duration,
    finished: mpsc::Receiver<()>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("addr", &self.addr).finish_non_exhaustive()
    }
}

/// An address that is taken, and on which nobody listens yet: whoever connects is refused as before.
#[derive(Debug)]
pub struct Bound(TcpSocket);

impl Bound {
    /// Checks the configuration and takes its address. Whoever opens a backend does it afterwards, so that a start which finds its
    /// address in use has touched no data.
    ///
    /// # Errors
    /// If the configuration has nonsense in it, other addresses than loopback are to be bound without credentials, or the address
    /// can't be bound.
    pub fn take(config: &Config) -> Result<Self, StartError> {
        config.check()?;
        let bound = || {
            let socket = if config.listen.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
            // An address that a server has just left may be taken again; one on which somebody listens may not.
            #[cfg(unix)]
            socket.set_reuseaddr(true)?;
            socket.bind(config.listen)?;
            Ok(socket)
        };
        bound().map(Self).map_err(|error| in_use(config, &error))
    }
}

fn in_use(config: &Config, error: &std::io::Error) -> StartError {
    StartError::new(
        ErrorCode::AddressInUse,
        format!("{} can't be bound: {error}. Nothing was started. Stop what uses it, or choose another with `listen`.", config.listen),
    )
}

impl Server {
    /// Checks the configuration and binds its address. Nothing is answered before [`Server::run`].
    ///
    /// # Errors
    /// Those of [`Bound::take`] and [`Server::on`].
    pub async fn bind(config: &Config, parts: Parts) -> Result<Self, StartError> {
        Self::on(Bound::take(config)?, config, parts).await
    }

    /// Listens on the configuration's address, which was taken before. Nothing is answered before [`Server::run`].
    ///
    /// # Errors
    /// If somebody else listens on the address by now, or a file that the configuration names can't be used.
    pub async fn on(bound: Bound, config: &Config, parts: Parts) -> Result<Self, StartError> {
        let refuse = |error: std::io::Error| in_use(config, &error);
        let listener = bound.0.listen(CONNECTIONS_WAITING_MAX).map_err(refuse)?;
        let addr = listener.local_addr().map_err(refuse)?;
        let scheme = if config.has_tls() { "https" } else { "http" };
        let base_url = config.public_url.clone().unwrap_or_else(|| format!("{scheme}://{addr}"));
        // Nothing is ever sent: the channel is closed once all who hold its other end are done.
        let (work, finished) = mpsc::channel(1);
        let tls = Tls::open(config, &parts.metrics)?;
        let (recorder, exporter) = Exporter::open(config, &parts.metrics)?.unzip();
        let app = Arc::new(App::new(config, parts, &base_url, work, recorder)?);
        if config.has_credentials() {
            tracing::info!(%addr, "bound; requests need credentials");
        } else {
            tracing::warn!(%addr, "bound to loopback only: without credentials everybody who reaches this address is the operator");
        }
        if tls.is_none() && !addr.ip().is_loopback() {
            tracing::warn!(%addr, "without TLS: keys and answers can be read on their way; set `tls_certificate` and `tls_key`, or let a proxy do it");
        }
        if !app.keys.outlive_process() {
            tracing::warn!("records of keys are held in memory alone: after a restart nobody knows which requests were carried out");
        }
        Ok(Self {
            listener,
            addr,
            app,
            exporter,
            tls,
            scheme,
            connections_max: config.connections_max,
            of_addresses: Connections::new(Some(config.connections_per_address_max).filter(|max| *max > 0)),
            drain: Duration::from_millis(config.drain_ms),
            sweep: Duration::from_millis(config.sweep_ms),
            reload: Duration::from_millis(config.reload_ms),
            finished,
        })
    }

    /// The address that was bound.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The address that was bound, as one writes it to ask: `https://127.0.0.1:8443`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.addr)
    }

    /// Reads the files of credentials and certificates again when it is told to; the running server does so every `reload_ms` as well.
    #[must_use]
    pub fn reloader(&self) -> Reloader {
        let tls = self.tls.iter().map(Tls::files);
        Reloader::of(self.app.door.files().chain(tls))
    }

    /// Serves until `stop` is ready; then stops accepting, finishes what is under way, and returns. The backend is left open:
    /// who opened it closes it.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let reloader = self.reloader();
        let Self { listener, app, exporter, tls, connections_max, of_addresses, drain, sweep, reload, mut finished, .. } = self;
        let (stopping, stopped) = watch::channel(false);
        tokio::spawn(look_again(reloader, reload, stopped.clone()));
        let steward = tokio::spawn(Steward::new(Arc::clone(&app)).run(sweep, stopped.clone()));
        let (last_spans, told_last) = watch::channel(false);
        let exporting = exporter.map(|exporter| tokio::spawn(exporter.run(told_last)));
        let connector = Connector { app: Arc::clone(&app), tls, stopped };
        let places = Arc::new(Semaphore::new(connections_max));
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = accept(&listener, &places) => accepted,
            };
            let Some(Accepted { stream, address, place }) = accepted else { continue };
            let is_proxy = app.trusted_proxies.contains(address);
            let Some(of_address) = of_addresses.enter(address, is_proxy) else {
                app.metrics.connections_refused.inc();
                tracing::debug!(%address, "a connection was closed: its address has as many as it may");
                continue;
            };
            connection::serve(stream, address, connector.clone(), Places { _of_all: place, _of_address: of_address });
        }
        tracing::info!("stopping: nothing new is accepted, what is under way is finished");
        app.stopping.store(true, Ordering::Relaxed);
        drop(listener);
        stopping.send_replace(true);
        let last_call = Arc::clone(&app.last_call);
        let mut under_way = std::pin::pin!(async {
            // Each connection has a share in what is waited for in the end, and so has what goes on without its client.
            drop(connector);
            let _ = steward.await;
            drop(app);
            while finished.recv().await.is_some() {}
        });
        let mut drained = timeout(drain, &mut under_way).await;
        if drained.is_err() {
            last_call.store(true, Ordering::Relaxed);
            drained = timeout(LAST_WORDS, under_way).await;
        }
        match drained {
            Ok(()) => tracing::info!("everything that was under way is finished"),
            Err(_) => {
                tracing::warn!(drain_ms = drain.as_millis(), "some requests were not finished in time; their keys tell what became of them")
            }
        }
        last_spans.send_replace(true);
        if let Some(exporting) = exporting {
            let _ = exporting.await;
        }
    }
}

/// Looks at the files every so often until told to stop.
async fn look_again(reloader: Reloader, every: Duration, mut stop: watch::Receiver<bool>) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while reloader.has_files() {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            _ = ticks.tick() => {}
        }
        let reloader = reloader.clone();
        // The disk may be slow, and requests do not wait for it.
        let _ = tokio::task::spawn_blocking(move || reloader.reload()).await;
    }
}

/// A connection's places, until it ends.
pub(crate) struct Places {
    _of_all: OwnedSemaphorePermit,
    _of_address: Place,
}

/// A connection that was accepted, and its place among all of them.
struct Accepted {
    stream: TcpStream,
    address: IpAddr,
    place: OwnedSemaphorePermit,
}

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> Option<Accepted> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, address)) => Some(Accepted { stream, address: address.ip(), place }),
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}
