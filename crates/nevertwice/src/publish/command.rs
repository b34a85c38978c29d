//! The loop, dead letters, and the end.

use std::error::Error;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use nevertwice_ledger::publisher::{DeadLetter, Publisher};
use nevertwice_ledger::{Database, DatabaseOptions};
use nevertwice_local::clock::{Clock as _, SystemClock};
use tracing_subscriber::EnvFilter;

use super::courier::Clock;
use super::settings::PublishSettings;
use crate::stop;

/// The pause after a step that the database did not serve.
const PAUSE_MS: u64 = 1_000;

/// Tells webhooks what services have left in their outboxes, until it is told to stop.
#[derive(Args, Debug)]
pub(crate) struct PublishArgs {
    /// A TOML file with the database and the endpoints. docs/publisher.md lists its settings.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Lists what endpoints did not take, and ends.
    #[arg(long, conflicts_with = "send_again")]
    dead_letters: bool,
    /// Has the dead letters of an endpoint sent again, with the ids that they had, by the publisher that runs; and ends.
    #[arg(long, value_name = "ENDPOINT")]
    send_again: Option<String>,
}

impl PublishArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let refuse = |wrong: String| format!("{wrong}. Nothing was started. See docs/publisher.md for the settings.");
        let settings = PublishSettings::read(&self.config).map_err(refuse)?;
        let filter = EnvFilter::try_new(&settings.log).map_err(|error| refuse(format!("`log` is no filter: {error}")))?;
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal()).init();
        let address = settings.address().map_err(refuse)?;
        let clock: Clock = Arc::new(|| SystemClock.now_ms());
        let courier = settings.courier(Arc::clone(&clock)).map_err(refuse)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            let refuse = |failure| format!("{address}: {failure}. The publisher was not started.");
            let database = Database::open(&address, &DatabaseOptions::default()).await.map_err(refuse)?;
            database.migrate().await.map_err(refuse)?;
            if self.dead_letters {
                list(&DeadLetter::list(&database).await?)?;
            } else if let Some(endpoint) = &self.send_again {
                let wanted = DeadLetter::send_again(&database, endpoint).await?;
                writeln!(std::io::stdout(), "{wanted} dead letters of {endpoint} are sent again by the publisher that runs")?;
            } else {
                let publisher = Publisher::new(database.clone(), Arc::new(courier), clock, settings.options(holder()));
                publish(&publisher, &settings).await?;
            }
            database.close().await;
            Ok(ExitCode::SUCCESS)
        })
    }
}

fn list(letters: &[DeadLetter]) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    for letter in letters {
        let DeadLetter { endpoint, stream, seq, kind, died_at, tries, what } = letter;
        writeln!(output, "{endpoint} {stream} {seq} {kind} died_at={died_at} tries={tries} {what}")?;
    }
    writeln!(output, "{} dead letters", letters.len())
}

async fn publish(publisher: &Publisher, settings: &PublishSettings) -> Result<(), Box<dyn Error>> {
    let stop = stop::told()?;
    let mut stop = std::pin::pin!(stop);
    let names = settings.names();
    // Whoever started this process waits for this line; if nobody reads it, that is no reason not to publish.
    let line = format!("publishing to {} endpoints: {}\n", names.len(), names.join(", "));
    let _ = std::io::stdout().write_all(line.as_bytes()).and_then(|()| std::io::stdout().flush());
    let mut said = String::new();
    loop {
        let pause_ms = match publisher.step().await {
            Ok(stepped) => {
                said.clear();
                if stepped.has_more { 0 } else { settings.look_ms }
            }
            Err(failure) => {
                let now = failure.to_string();
                if now != said {
                    tracing::error!(%failure, "a step failed; it is tried again");
                    said = now;
                }
                PAUSE_MS
            }
        };
        tokio::select! {
            () = &mut stop => break,
            () = tokio::time::sleep(Duration::from_millis(pause_ms)) => {}
        }
    }
    // Another one may begin at once. If this fails it begins when the lease is over.
    if let Err(failure) = publisher.retire().await {
        tracing::warn!(%failure, "the lease could not be given back");
    }
    tracing::info!("stopped");
    Ok(())
}

/// Who holds the lease: each process is another.
fn holder() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}-{}-{}", host.trim(), std::process::id(), SystemClock.now_ms())
}
