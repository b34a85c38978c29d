//! `nevertwice serve`: runs the server until it is told to stop.

use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use nevertwice_api::{ErrorCode, Observer};
use nevertwice_ledger::Address;
use nevertwice_local::clock::SystemClock;
use nevertwice_server::config::{Config, SECRET_SETTINGS, Sources, environment, load};
use nevertwice_server::{
    Bound, LocalLedger, Metrics, Parts, Server, StartError, check_data_folder, check_person_secret, load_or_create_person_secret,
    note_person_secret, open_local,
};
use tokio::runtime::Runtime;
use tracing_subscriber::EnvFilter;

use crate::keys_opened::KeysOpened;
use crate::stop;

/// Every setting can also stand in the file, or in the environment as `NEVERTWICE_` and the setting in capitals; flags win.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The data folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// The database that every entry is written to: `sqlite:PATH` or `postgres://USER@HOST/NAME`. A password goes into the
    /// environment (`NEVERTWICE_LEDGER`) or a file (`ledger_password_file`).
    #[arg(long, value_name = "ADDRESS")]
    ledger: Option<String>,
    /// A TOML file with settings.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A setting, for instance `--set sweep_ms=1000`; may be given several times.
    #[arg(long = "set", value_name = "SETTING=VALUE", value_parser = read_setting)]
    settings: Vec<(String, String)>,
    /// What is logged, for instance `info` or `nevertwice_server=debug`.
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
}

fn read_setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("it is not written SETTING=VALUE")?;
    // An address has a password before its `@`.
    if SECRET_SETTINGS.contains(&key) || (key.eq_ignore_ascii_case("keys_store") && value.contains('@')) {
        return Err(
            "a key on the command line can be seen by everybody on this machine: put it into the file or the environment".to_owned()
        );
    }
    Ok((key.to_owned(), value.to_owned()))
}

impl Arguments {
    pub(crate) fn sources(&self) -> Result<Sources, StartError> {
        let mut flags = self.settings.clone();
        let named = [
            ("data", self.data.as_ref().map(|path| path.display().to_string())),
            ("listen", self.listen.map(|address| address.to_string())),
            ("log", self.log.clone()),
            ("ledger", self.ledger.clone()),
        ];
        flags.extend(named.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
        refuse_doubles(&flags)?;
        refuse_passwords(&flags)?;
        Ok(Sources { file: self.config.clone(), environment: environment(std::env::vars_os())?, flags })
    }
}

/// Refuses a setting that the command line gives twice, by `--set` and by a flag of its own or by two of them: one would not count.
fn refuse_doubles(flags: &[(String, String)]) -> Result<(), StartError> {
    // Capitals make no other setting.
    let is_double = |(at, (key, _)): (usize, &(String, String))| flags[..at].iter().any(|(before, _)| before.eq_ignore_ascii_case(key));
    match flags.iter().enumerate().find(|flag| is_double(*flag)) {
        None => Ok(()),
        Some((_, (key, _))) => {
            let key = key.to_ascii_lowercase();
            let detail = format!(
                "The command line gives `{key}` twice. Nothing was started. Give it once, by `--set {key}=VALUE` or by a flag of its own."
            );
            Err(StartError { code: ErrorCode::ConfigurationInvalid, detail })
        }
    }
}

/// Refuses an address of the ledger with a password in it: everybody on this machine can see it.
fn refuse_passwords(flags: &[(String, String)]) -> Result<(), StartError> {
    let is_seen = |(key, value): &(String, String)| key.eq_ignore_ascii_case("ledger") && Address::has_password(value);
    if !flags.iter().any(is_seen) {
        return Ok(());
    }
    let detail = "The command line gives `ledger` with a password, which everybody on this machine can see. Nothing was started. Put it into the environment as NEVERTWICE_LEDGER, or the password alone into a file that `ledger_password_file` names.";
    Err(StartError { code: ErrorCode::ConfigurationInvalid, detail: detail.to_owned() })
}

/// Runs the server; what stops it before it serves is told on stderr.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match arguments.sources().and_then(|sources| load(&sources)).and_then(|config| serve(&config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nevertwice does not start: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(config: &Config) -> Result<(), StartError> {
    start_log(config)?;
    check_data_folder(&config.data)?;
    let bound = Bound::take(config)?;
    let person_secret = load_or_create_person_secret(&config.person_key_path(), &config.data)?;
    check_person_secret(&config.person_key_path(), &config.data, &person_secret)?;
    let (clock, metrics) = (Arc::new(SystemClock), Arc::new(Metrics::new()));
    let (backend, report) = open_local(config, clock, Arc::clone(&metrics) as Arc<dyn Observer>)?;
    note_person_secret(&config.person_key_path(), &config.data, &person_secret)?;
    tracing::info!(data = %config.data.display(), snapshot = ?report.snapshot, entries = report.entries, took = ?report.took, "recovered");
    for bad in &report.bad_snapshots {
        tracing::warn!(snapshot = bad, "a snapshot does not count; the one before it does");
    }
    if let Some(followed) = report.followed {
        tracing::warn!(%followed, batch = report.journal.last_batch, epoch = backend.epoch(), "the folder was a standby's: it is promoted");
    }
    let runtime = runtime()?;
    let keys = KeysOpened::open(config, &runtime)?;
    let backend = Arc::new(backend);
    let ledger = LocalLedger::open(config, &backend, Arc::new(SystemClock))?;
    let decides = ledger.as_ref().map_or_else(|| Arc::clone(&backend) as Arc<_>, LocalLedger::backend);
    let mut parts = Parts::new(decides, person_secret);
    parts.ledger = ledger.as_ref().map(LocalLedger::watch);
    parts.journal = Some(Arc::clone(&backend) as Arc<_>);
    parts.keys = keys.parts();
    parts.metrics = metrics;
    listen(&runtime, bound, config, parts)?;
    backend.stop();
    // What was decided last is durable here by now: it goes into the ledger as well.
    if let Some(ledger) = ledger {
        ledger.stop();
    }
    keys.stop();
    tracing::info!("stopped");
    Ok(())
}

/// What everything runs on that waits.
pub(crate) fn runtime() -> Result<Runtime, StartError> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| StartError {
        code: ErrorCode::Internal,
        detail: format!("No runtime could be made: {error}. Nothing was started."),
    })
}

/// Serves until told to stop.
pub(crate) fn listen(runtime: &Runtime, bound: Bound, config: &Config, parts: Parts) -> Result<(), StartError> {
    runtime.block_on(async {
        let server = Server::on(bound, config, parts).await?;
        let stop = stop::told().map_err(no_signals)?;
        let line = format!("listening on {}\n", server.url());
        stop::on_hangup(server.reloader()).map_err(no_signals)?;
        // Whoever started this process waits for this line; if nobody reads it, that is no reason not to serve.
        let _ = std::io::stdout().write_all(line.as_bytes()).and_then(|()| std::io::stdout().flush());
        server.run(stop).await;
        Ok(())
    })
}

fn no_signals(error: std::io::Error) -> StartError {
    StartError { code: ErrorCode::Internal, detail: format!("Signals can't be heard: {error}. Nothing was started.") }
}

pub(crate) fn start_log(config: &Config) -> Result<(), StartError> {
    let filter = EnvFilter::try_new(&config.log).map_err(|error| StartError {
        code: ErrorCode::ConfigurationInvalid,
        detail: format!("`log` is no filter: {error}. Nothing was started. Write a level such as `info`, or targets with levels."),
    })?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    if config.log_json {
        log.json().init()
    } else {
        log.init()
    }
    Ok(())
}
