//! A proxy in front of something, on a free port.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use nevertwice_idempotency::proxy::{Proxy, ProxyConfig, ProxyCounts, ProxyParts, TlsNow};
use nevertwice_idempotency::{MemoryStore, Outcome};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::house::Heard;

pub(crate) struct House {
    pub(crate) address: SocketAddr,
    pub(crate) heard: Arc<Heard>,
    pub(crate) counts: Arc<ProxyCounts>,
    bodies: Box<dyn Fn() -> (u64, u64) + Send + Sync>,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
}

/// Guards every path but those that begin with `/open`.
const SETTINGS: &str = r#"
listen = "127.0.0.1:0"
"#;

const ROUTES: &str = r#"
[[routes]]
methods = ["POST"]
path = "/charges"

[[routes]]
methods = ["POST"]
path = "/{one}"

[[routes]]
methods = ["POST"]
path = "/status/{status}"
"#;

impl House {
    pub(crate) async fn before(upstream: SocketAddr) -> Self {
        Self::with(upstream, "", ROUTES).await
    }

    /// With further settings, and other routes.
    pub(crate) async fn with(upstream: SocketAddr, settings: &str, routes: &str) -> Self {
        let config = format!("{SETTINGS}\nupstream = \"http://{upstream}\"\n{settings}\n{routes}");
        Self::of(&ProxyConfig::from_toml("settings", &config).expect("they are settings"), None).await
    }

    pub(crate) async fn with_settings(upstream: SocketAddr, settings: &str) -> Self {
        Self::with(upstream, settings, ROUTES).await
    }

    pub(crate) async fn of(config: &ProxyConfig, tls: Option<TlsNow>) -> Self {
        let heard = Arc::new(Heard::default());
        let parts = ProxyParts { store: Arc::new(MemoryStore::default()), secrets: None, observer: heard.clone(), tls };
        let proxy = Proxy::bind(config, parts).await.expect("it starts");
        let (stop, stopped) = oneshot::channel::<()>();
        let (address, counts, bodies) = (proxy.address(), proxy.counts(), Box::new(proxy.bodies()));
        let running = tokio::spawn(proxy.run(async {
            let _ = stopped.await;
        }));
        Self { address, heard, counts, bodies, stop: Some(stop), running }
    }

    /// Bytes of bodies in memory, and in files.
    pub(crate) fn bodies(&self) -> (u64, u64) {
        (self.bodies)()
    }

    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        self.heard.0.lock().expect("nobody panics with it").clone()
    }

    /// Waits until so many keys were settled or requests refused.
    pub(crate) async fn settled(&self, count: usize) -> Vec<Outcome> {
        until(|| self.outcomes().len() >= count).await;
        self.outcomes()
    }

    /// Tells it to stop.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until it has stopped.
    pub(crate) async fn stopped(self) {
        tokio::time::timeout(PATIENCE, self.running).await.expect("it stops").expect("it does not panic");
    }
}

/// After so long a test has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until something is so.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("it comes to be so");
}
