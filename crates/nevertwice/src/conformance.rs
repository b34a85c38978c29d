//! `nevertwice conformance`: the black-box suite of the `Idempotency-Key` contract, asked of any HTTP service.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use nevertwice_conformance::{Asked, Base, Line, PRESETS, Profile, rules, run};
use serde_json::json;

use crate::output::report;

/// Who is asked, and what.
#[derive(Args, Debug)]
pub(crate) struct ConformanceArgs {
    /// Where the guarded echo endpoints are: `http://host:port`, perhaps with a path.
    #[arg(long, value_name = "URL")]
    target: Base,
    /// Where their unguarded side is, if it is elsewhere: what stands behind a proxy.
    #[arg(long, value_name = "URL")]
    control: Option<Base>,
    /// Which choices of the contract the target made: ietf, stripe, ucp, choices, server, or a file.
    #[arg(long, value_name = "PROFILE", default_value = "ietf")]
    profile: String,
    /// Asks this rule alone, or those that begin so where it ends with a hyphen (`key-`); may be given several times.
    #[arg(long = "rule", value_name = "RULE")]
    rules: Vec<String>,
    /// Writes one JSON object a line.
    #[arg(long)]
    json: bool,
}

impl ConformanceArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Box<dyn Error>> {
        let profile = profile(&self.profile)?;
        if let Some(unknown) = self.rules.iter().find(|only| !rules().iter().any(|rule| rule.id.starts_with(only.as_str()))) {
            return Err(format!("there is no rule `{unknown}`; nothing was asked").into());
        }
        let control = self.control.unwrap_or_else(|| self.target.clone());
        let asked = Asked { target: self.target, control, profile, only: self.rules };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let mut written = Ok(());
        let tally = runtime.block_on(run(&asked, |line| {
            if written.is_ok() {
                written = report(|out| Ok(writeln!(out, "{}", shown(line, self.json)?)?));
            }
        }));
        written?;
        let name = &asked.profile.name;
        report(|out| {
            if self.json {
                return Ok(writeln!(out, "{}", json!({ "profile": name, "target": asked.target.to_string(), "tally": tally }))?);
            }
            Ok(writeln!(out, "\n{tally}: {} by the profile {name}", asked.target)?)
        })?;
        Ok(if tally.is_conformant() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn shown(line: &Line, json: bool) -> Result<String, serde_json::Error> {
    if json { serde_json::to_string(line) } else { Ok(line.to_string()) }
}

/// A preset, or what a file says.
fn profile(name: &str) -> Result<Profile, Box<dyn Error>> {
    if let Some(profile) = Profile::preset(name) {
        return Ok(profile);
    }
    let presets: Vec<&str> = PRESETS.iter().map(|(preset, _)| *preset).collect();
    let unread = |error| format!("there is no profile {name} ({}), and no such file: {error}; nothing was asked", presets.join(", "));
    let text = fs::read_to_string(Path::new(name)).map_err(unread)?;
    Ok(Profile::read(&text).map_err(|error| format!("{name}: {error}; nothing was asked"))?)
}
