//! The ledger of a local backend: its database, the thread that writes it, and the backend whose answers wait for it.

use std::fs;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};

use nevertwice_api::{Backend, ErrorCode, LedgerWatch, Level};
use nevertwice_ledger::{
    Address, Database, DatabaseFailure, DatabaseOptions, LedgerWriter, Ledgered, LedgeredOptions, Now, Watermarks, WriterOptions,
};
use nevertwice_local::LocalBackend;
use nevertwice_local::clock::Clock;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::config::Config;
use crate::error::StartError;

/// How much longer than a statement may run its reply is waited for, in milliseconds.
const REPLY_MS_MORE: u64 = 5_000;

/// A ledger that follows a local backend, until it is told to stop.
pub struct LocalLedger {
    backend: Arc<dyn Backend>,
    watermarks: Arc<Watermarks>,
    stop: watch::Sender<bool>,
    writer: JoinHandle<()>,
}

impl LocalLedger {
    /// Opens the ledger that the configuration names, if it names one, makes its tables, and lets it follow. It blocks.
    ///
    /// # Errors
    /// If the database can't be used.
    pub fn open(config: &Config, local: &Arc<LocalBackend>, clock: Arc<dyn Clock>) -> Result<Option<LocalLedger>, StartError> {
        let Some(address) = address(config)? else { return Ok(None) };
        let now: Now = Arc::new(move || clock.now_ms());
        let is_default = config.level == Level::Ledgered;
        let options = options(config);
        let source = Arc::new(local.entries());
        let (stop, stopped) = watch::channel(false);
        let (sender, opened) = mpsc::channel();
        let runtime = runtime()?;
        let writer_now = Arc::clone(&now);
        let writer_options = WriterOptions {
            is_awaited: is_default,
            reply_ms: config.ledger_statement_ms.saturating_add(REPLY_MS_MORE),
            ..WriterOptions::default()
        };
        let shown = address.to_string();
        // A thread of its own: what the database does to it is nobody else's wait.
        let work = move || {
            runtime.block_on(async move {
                let writer = match open(&address, &options).await {
                    Ok(database) => LedgerWriter::new(database, source, writer_now, writer_options),
                    Err(failure) => return drop(sender.send(Err(failure))),
                };
                drop(sender.send(Ok(writer.watermarks())));
                writer.run(stopped).await;
            });
        };
        let writer = Builder::new().name("ledger".to_owned()).spawn(work).map_err(|error| {
            StartError::new(ErrorCode::Internal, format!("No thread could be started for the ledger: {error}. Nothing was started."))
        })?;
        let watermarks = match opened.recv() {
            Ok(Ok(watermarks)) => watermarks,
            Ok(Err(failure)) => return Err(unusable(&shown, &failure)),
            Err(_) => return Err(StartError::new(ErrorCode::Internal, "The ledger's thread has ended. Nothing was started.")),
        };
        tracing::info!(ledger = shown, is_default, "entries are written to the ledger");
        let ledgered = LedgeredOptions { is_default, wait_ms: config.ledger_wait_ms, lag_ms_max: config.ledger_lag_ms_max };
        let backend = Ledgered::new(Arc::clone(local) as Arc<dyn Backend>, Arc::clone(&watermarks), now, ledgered);
        Ok(Some(LocalLedger { backend: Arc::new(backend), watermarks, stop, writer }))
    }

    /// The backend whose answers can wait for the ledger.
    #[must_use]
    pub fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend)
    }

    /// What tells how the ledger follows.
    #[must_use]
    pub fn watch(&self) -> Arc<dyn LedgerWatch> {
        Arc::clone(&self.watermarks) as Arc<dyn LedgerWatch>
    }

    /// Writes what is durable by now, and ends. A database that does not answer is not waited for beyond its time-outs. It blocks.
    pub fn stop(self) {
        self.stop.send_replace(true);
        // A panic there has been reported by the panic hook.
        drop(self.writer.join());
    }
}

/// Makes the tables of the ledger that the configuration names, or brings them to this version, and tells where. It blocks.
///
/// # Errors
/// If it names none, or the database can't be used.
pub fn migrate_ledger(config: &Config) -> Result<String, StartError> {
    let Some(address) = address(config)? else {
        return Err(StartError::new(
            ErrorCode::ConfigurationInvalid,
            "There is no `ledger` in the settings. Nothing was done. Name a database with `--ledger`, in the file or in the environment.",
        ));
    };
    let opened = runtime()?.block_on(open(&address, &options(config)));
    opened.map(|_| address.to_string()).map_err(|failure| unusable(&address.to_string(), &failure))
}

/// Looks whether a start could use the ledger that the configuration names, and tells what was found; none if it names none. It changes
/// nothing, and blocks.
#[must_use]
pub fn check_ledger(config: &Config) -> Option<Result<String, StartError>> {
    let address = match address(config) {
        Ok(address) => address?,
        Err(error) => return Some(Err(error)),
    };
    if address.missing_file().is_some() {
        return Some(Ok(format!("{address} is not there yet")));
    }
    let look = async {
        let database = Database::open(&address, &options(config)).await?;
        let tables = database.check_tables().await;
        database.close().await;
        tables
    };
    let found = match runtime() {
        Ok(runtime) => runtime.block_on(look),
        Err(error) => return Some(Err(error)),
    };
    Some(match found {
        Ok(()) => Ok(format!("{address} can be used, and its tables are of this version")),
        Err(DatabaseFailure::NotMigrated { .. }) => Ok(format!("{address} can be used, and the next start makes its tables")),
        Err(failure) => Err(unusable(&address.to_string(), &failure)),
    })
}

async fn open(address: &Address, options: &DatabaseOptions) -> Result<Database, DatabaseFailure> {
    let database = Database::open(address, options).await?;
    database.migrate().await?;
    Ok(database)
}

fn options(config: &Config) -> DatabaseOptions {
    DatabaseOptions {
        connections_max: config.ledger_connections_max,
        statement_ms: config.ledger_statement_ms,
        ..DatabaseOptions::default()
    }
}

fn address(config: &Config) -> Result<Option<Address>, StartError> {
    let Some(text) = &config.ledger else { return Ok(None) };
    let address: Address = text.reveal().parse().map_err(|fault| {
        let detail = format!("`ledger` is no address: {fault}. Nothing was started. See docs/ledger.md.");
        StartError::new(ErrorCode::ConfigurationInvalid, detail)
    })?;
    let Some(path) = &config.ledger_password_file else { return Ok(Some(address)) };
    let password = fs::read_to_string(path).map_err(|error| {
        let detail = format!("`ledger_password_file` {} can't be read: {error}. Nothing was started.", path.display());
        StartError::new(ErrorCode::ConfigurationInvalid, detail)
    })?;
    Ok(Some(address.with_password(password.trim_end_matches(['\r', '\n']))))
}

fn runtime() -> Result<Runtime, StartError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        StartError::new(ErrorCode::Internal, format!("No runtime could be made for the ledger: {error}. Nothing was started."))
    })
}

fn unusable(address: &str, failure: &DatabaseFailure) -> StartError {
    StartError::new(ErrorCode::LedgerUnusable, format!("The ledger {address}: {failure}."))
}
