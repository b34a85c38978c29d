//! The command itself: what is looked at, and in which order.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nevertwice_local::clock::{Clock as _, SystemClock};

use super::finding::Diagnosis;
use super::{clock, configuration, credentials, disk, filesystem, folder, ledger, limits, memory, proxy, tls, traces};
use crate::output::report;
use crate::serve;

/// Looks at the disk, the clock, the limits, the memory, the settings and the files of a server, and says what each finding
/// means. It may run beside the server. Exit code 0: nothing has to be done; 1: warnings; 2: errors.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    settings: serve::Arguments,
    /// Looks at the settings of `nevertwice proxy` in this file, and at what they name, instead of a server's.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "listen", "config", "settings", "log"])]
    proxy: Option<PathBuf>,
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Looks at nothing, and prints what a Redis server has to let this program do with keys, as `ACL SETUSER` takes it.
    #[arg(long)]
    acl: bool,
}

impl DoctorArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        if self.acl {
            report(|out| Ok(writeln!(out, "ACL SETUSER nevertwice-keys reset on >PASSWORD {}", nevertwice_redis::key_store_rules())?))?;
            return Ok(ExitCode::SUCCESS);
        }
        let diagnosis = self.diagnose();
        report(|out| {
            if self.json {
                serde_json::to_writer(&mut *out, &diagnosis)?;
                Ok(writeln!(out)?)
            } else {
                Ok(diagnosis.write(out)?)
            }
        })?;
        Ok(ExitCode::from(diagnosis.worst.exit_code()))
    }

    fn diagnose(&self) -> Diagnosis {
        if let Some(file) = &self.proxy {
            let mut findings = proxy::look(file, SystemClock.now_ms());
            findings.push(clock::look());
            return Diagnosis::new(findings);
        }
        let sources = self.settings.sources();
        let file = sources.as_ref().ok().and_then(|sources| sources.file.clone());
        let (config, mut findings) = configuration::look(sources, self.settings.data.clone());
        findings.extend(file.and_then(|file| configuration::look_at_file(&file)));
        let now_ms = SystemClock.now_ms();
        findings.extend(credentials::look(&config, now_ms));
        findings.extend(tls::look(&config, now_ms));
        findings.extend(traces::look(&config));
        findings.extend(ledger::look(&config));
        // What is not there yet would be made below the nearest folder that is.
        let data = config.data.clone();
        let place = nearest(&data);
        findings.push(filesystem::look(&place));
        findings.extend(disk::look(&data, &place));
        findings.extend(folder::look(&config));
        findings.push(clock::look());
        findings.push(limits::look(&config));
        findings.push(memory::look(&data));
        Diagnosis::new(findings)
    }
}

/// The folder itself, or the nearest one above it that is there.
pub(super) fn nearest(folder: &std::path::Path) -> PathBuf {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    whole.ancestors().find(|ancestor| ancestor.is_dir()).map_or_else(|| PathBuf::from("/"), PathBuf::from)
}
