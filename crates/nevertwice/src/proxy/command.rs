//! The command: settings, files, and what a start says.

use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nevertwice_api::ErrorCode;
use nevertwice_idempotency::proxy::{Proxy, ProxyConfig, ProxyError, ProxyParts, StoreUrl, TlsNow, UpstreamUrl};
use nevertwice_server::{Metrics as ServerMetrics, Reloader, TlsFiles};
use tokio::net::TcpListener;
use tokio::time::{MissedTickBehavior, interval};
use tracing_subscriber::EnvFilter;

use super::admin;
use super::metrics::ProxyMetrics;
use super::store::{self, Opened};
use crate::stop;

/// The protocols that are offered by TLS, the best first.
const PROTOCOLS: &[&[u8]] = &[b"h2", b"http/1.1"];

/// The largest file of settings.
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// Every setting can stand in the file; flags win. docs/proxy.md lists them.
#[derive(Debug, clap::Args)]
pub(crate) struct ProxyArgs {
    /// The service behind the proxy, such as `http://127.0.0.1:9000`.
    #[arg(long, value_name = "URL")]
    upstream: Option<UpstreamUrl>,
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// The address of health and metrics; nobody is asked for credentials there.
    #[arg(long, value_name = "ADDRESS:PORT")]
    admin: Option<SocketAddr>,
    /// The folder of keys that outlive the process; without it they are kept in memory.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// What several proxies share keys in: a database, `sqlite:PATH` or `postgres://USER@HOST/NAME`, or a Redis server, `redis://HOST:PORT`.
    /// A password belongs into the file: as part of `store.url`, or, of a database, in a file of its own that `store.password_file` names.
    #[arg(long, value_name = "URL", value_parser = read_store)]
    store: Option<StoreUrl>,
    /// A TOML file with settings.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A file with the secret under which keys are named: 64 hexadecimal digits.
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// What is logged, for instance `info` or `nevertwice_idempotency=debug`.
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
}

/// An address on the command line. What parses arguments shows those that it refuses, so a password in it is looked for later.
fn read_store(text: &str) -> Result<StoreUrl, std::convert::Infallible> {
    Ok(StoreUrl::new(text))
}

impl ProxyArgs {
    fn config(&self) -> Result<ProxyConfig, ProxyError> {
        let mut config = match &self.config {
            Some(path) => settings_of(path)?,
            None => ProxyConfig::default(),
        };
        config.upstream = self.upstream.clone().or(config.upstream);
        config.listen = self.listen.unwrap_or(config.listen);
        config.admin = self.admin.or(config.admin);
        config.data = self.data.clone().or(config.data);
        if self.store.as_ref().is_some_and(StoreUrl::has_password) {
            return Err(ProxyError::configuration(
                "The command line gives `--store` with a password, which can be seen by everybody on this machine: put the address into the file, as `url` below [store]",
            ));
        }
        config.store.url = self.store.clone().or(config.store.url);
        config.secret_file = self.secret_file.clone().or(config.secret_file);
        config.log = self.log.clone().unwrap_or(config.log);
        config.check()?;
        Ok(config)
    }
}

/// The settings in a file, whether or not they fit each other.
pub(crate) fn settings_of(path: &Path) -> Result<ProxyConfig, ProxyError> {
    ProxyConfig::from_toml(&path.display().to_string(), &text_of(path)?)
}

fn text_of(path: &Path) -> Result<String, ProxyError> {
    let wrong = |what: String| ProxyError::configuration(format!("{} {what}", path.display()));
    let length = std::fs::metadata(path).map_err(|error| wrong(format!("can't be read: {error}")))?.len();
    if length > CONFIG_BYTES_MAX {
        return Err(wrong(format!("is larger than {CONFIG_BYTES_MAX} bytes")));
    }
    std::fs::read_to_string(path).map_err(|error| wrong(format!("can't be read: {error}")))
}

/// Runs the proxy; what stops it before it serves is told on stderr.
pub(crate) fn run(arguments: &ProxyArgs) -> ExitCode {
    match arguments.config().and_then(|config| serve(&config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nevertwice does not start: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(config: &ProxyConfig) -> Result<(), ProxyError> {
    let filter = EnvFilter::try_new(&config.log).map_err(|error| ProxyError::configuration(format!("`log` is no filter: {error}")))?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal()).init();
    let tls = tls(config)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| internal("No runtime could be made", error))?;
    let Opened { store, secrets } = store::open(config, &runtime)?;
    let metrics = Arc::new(ProxyMetrics::new(Arc::clone(&store), &config.patterns()));
    let parts = ProxyParts {
        store,
        secrets,
        observer: Arc::clone(&metrics) as Arc<_>,
        tls: tls.clone().map(|files| Arc::new(move || files.now()) as TlsNow),
    };
    runtime.block_on(async {
        let proxy = Proxy::bind(config, parts).await?;
        metrics.watch(proxy.counts(), Box::new(proxy.bodies()));
        let stop = stop::told().map_err(|error| internal("Signals can't be heard", error))?;
        let is_stopping = Arc::new(AtomicBool::new(false));
        let admin = match config.admin {
            Some(address) => Some(listen_for_admin(address).await?),
            None => None,
        };
        for line in proxy.lines() {
            eprintln!("{line}");
        }
        let mut line = format!("listening on {}", proxy.url());
        if let Some((listener, address)) = admin {
            line.push_str(&format!("\nhealth and metrics on http://{address}"));
            tokio::spawn(admin::serve(listener, Arc::clone(&metrics), Arc::clone(&is_stopping)));
        }
        if let Some(files) = tls {
            stop::on_hangup(files.reloader()).map_err(|error| internal("Signals can't be heard", error))?;
            tokio::spawn(look_again(files.reloader(), Duration::from_millis(config.reload_ms)));
        }
        line.push('\n');
        // Whoever started this process waits for this line; if nobody reads it, that is no reason not to serve.
        let _ = std::io::stdout().write_all(line.as_bytes()).and_then(|()| std::io::stdout().flush());
        let told = async {
            stop.await;
            is_stopping.store(true, Ordering::Relaxed);
        };
        proxy.run(told).await;
        tracing::info!("stopped");
        Ok(())
    })
}

fn tls(config: &ProxyConfig) -> Result<Option<TlsFiles>, ProxyError> {
    let (Some(certificate), Some(key)) = (&config.tls_certificate, &config.tls_key) else { return Ok(None) };
    let files = TlsFiles::open(certificate.clone(), key.clone(), PROTOCOLS, &Arc::new(ServerMetrics::new()));
    files.map(Some).map_err(|error| ProxyError { code: error.code, detail: error.detail })
}

async fn listen_for_admin(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ProxyError> {
    let refuse = |error: std::io::Error| ProxyError {
        code: ErrorCode::AddressInUse,
        detail: format!("{address} can't be bound: {error}. Nothing was started. Stop what uses it, or choose another with `admin`."),
    };
    let listener = TcpListener::bind(address).await.map_err(refuse)?;
    let bound = listener.local_addr().map_err(refuse)?;
    Ok((listener, bound))
}

/// Looks at the files of TLS every so often.
async fn look_again(reloader: Reloader, every: Duration) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let reloader = reloader.clone();
        // The disk may be slow, and requests do not wait for it.
        let _ = tokio::task::spawn_blocking(move || reloader.reload()).await;
    }
}

fn internal(what: &str, error: std::io::Error) -> ProxyError {
    ProxyError { code: ErrorCode::Internal, detail: format!("{what}: {error}. Nothing was started.") }
}
