//! `nevertwice demo`: both hard jobs on real input, over HTTP, with lost replies and a killed server, and the verdict.

use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitCode;

use clap::Args;
use nevertwice_bots::demo::{Demo, Options, run};
use nevertwice_bots::report::{Check, html, text};

use crate::child::Server;
use crate::output::report;
use crate::stop;
use crate::verify::verify;

/// Starts a server of its own on a free loopback port, drives it, kills it half way, and judges what became of every tap.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Fixes the plan: who trades in which manner, who books what and when.
    #[arg(long, default_value_t = 2026)]
    seed: u64,
    /// The data folder; a temporary one if absent. It has to be empty.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where the HTML report goes.
    #[arg(long, value_name = "FILE", default_value = "nevertwice-demo.html")]
    report: PathBuf,
    /// A fiftieth of the crowd: for a first look, in a few seconds.
    #[arg(long)]
    small: bool,
    /// Leaves the server up in the end, until this process is stopped.
    #[arg(long)]
    stay: bool,
}

impl DemoArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let temporary = if self.data.is_none() { Some(tempfile::Builder::new().prefix("nevertwice-demo-").tempdir()?) } else { None };
        let folder = match (&self.data, &temporary) {
            (Some(folder), _) => folder.clone(),
            (None, Some(temporary)) => temporary.path().join("data"),
            (None, None) => return Err("there is no folder for the data".into()),
        };
        if folder.read_dir().is_ok_and(|mut files| files.next().is_some()) {
            return Err(format!("{} is not empty; nothing was done: name an empty folder", folder.display()).into());
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut stop = pin!(stop::told()?);
            // Stopped, the demo is dropped where it stands: its server goes with it, and then the temporary folder.
            let passes = tokio::select! {
                biased;
                () = &mut stop => return Err("stopped".into()),
                passes = self.judged(&folder) => passes?,
            };
            if self.stay {
                let mut server = serve(&folder, "127.0.0.1:0")?;
                report(|out| Ok(writeln!(out, "the server stays up at {}; stop it with Ctrl-C", server.url)?))?;
                tokio::select! {
                    () = stop => {}
                    ended = server.ended() => { ended?; }
                }
            }
            Ok(if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        })
    }

    /// The demo from the first request to the report; says whether it passed.
    async fn judged(&self, folder: &Path) -> Result<bool, Box<dyn Error>> {
        let mut demo = self.drive(folder).await?;
        demo.report.checks.push(check_folder(folder));
        std::fs::write(&self.report, html(&demo.report))?;
        report(|out| {
            writeln!(out, "{}", text(&demo.report))?;
            Ok(writeln!(out, "report: {}", self.report.display())?)
        })?;
        Ok(demo.report.passes())
    }

    /// Runs the crowd against the server, and kills it half way. The server is ended in the end.
    async fn drive(&self, folder: &Path) -> Result<Demo, Box<dyn Error>> {
        let mut server = serve(folder, "127.0.0.1:0")?;
        let mut options = if self.small { Options::small(&server.url, self.seed) } else { Options::new(&server.url, self.seed) };
        options.progress = true;
        let restart_killed = async || {
            server.kill();
            let listen = server.url.trim_start_matches("http://").to_owned();
            server = serve(folder, &listen).map_err(|error| error.to_string())?;
            Ok(())
        };
        Ok(run(options, restart_killed).await?)
    }
}

/// Verifies the journal of the server that was ended.
fn check_folder(folder: &Path) -> Check {
    let (found, holds) = match verify(folder, || {}) {
        Ok(verdict) if verdict.faults.is_empty() => (format!("clean, {} entries", verdict.entries), true),
        Ok(verdict) => (verdict.faults.join("; "), false),
        Err(error) => (error.to_string(), false),
    };
    let meaning = "every entry that the journal has was applied again and fits; every shard whose first entry is there was audited entry by entry, any \
                   other by its records; a start makes the same states"
        .to_owned();
    Check { name: "verify".to_owned(), found, holds, meaning }
}

/// Starts the server on the folder.
fn serve(folder: &Path, listen: &str) -> Result<Server, Box<dyn Error>> {
    let arguments = ["serve", "--log", "error", "--listen", listen, "--data"].map(OsStr::new);
    Server::start(arguments.into_iter().chain([folder.as_os_str()]))
}
