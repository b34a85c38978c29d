//! Asks a target everything.

use std::sync::Arc;

use data_encoding::HEXLOWER;

use crate::http::Base;
use crate::own_endpoint::OwnEndpoint;
use crate::probe::{Failed, Probe};
use crate::profile::Profile;
use crate::report::{Line, Tally};
use crate::rules::{Own, Rule, check_of, rules};

/// Who is asked, and what.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Where the guarded echo endpoints are.
    pub target: Base,
    /// Where their unguarded side is: the same, or what stands behind a proxy.
    pub control: Base,
    /// Which choices the target made.
    pub profile: Profile,
    /// Only these rules: ids, or beginnings of ids that end with a hyphen. All, if there is none.
    pub only: Vec<String>,
}

/// Asks one rule after the other, and tells each as it ends.
pub async fn run(asked: &Asked, mut tell: impl FnMut(&Line)) -> Tally {
    let profile = Arc::new(asked.profile.clone());
    let run = name_of_run();
    let mut tally = Tally::default();
    let is_meant = |only: &String, id: &str| if only.ends_with('-') { id.starts_with(only.as_str()) } else { id == only };
    let wanted = |id: &str| asked.only.is_empty() || asked.only.iter().any(|only| is_meant(only, id));
    let probe = |rule: &Rule| Probe::new(asked.target.clone(), asked.control.clone(), profile.clone(), format!("{run}-{}", rule.id));
    let mut add = |line: Line| {
        tally.add(line.verdict);
        tell(&line);
    };
    for rule in rules().iter().filter(|rule| wanted(rule.id)) {
        if !rule.applies(&profile) {
            add(Line::not_applicable(rule, "by the profile"));
        } else if profile.endpoints.is_empty() {
            let probe = probe(rule);
            add(line(rule, &probe, (rule.check)(&probe).await));
        } else {
            for endpoint in &profile.endpoints {
                add(ask_own(rule, &probe(rule), endpoint).await.of(&endpoint.name));
            }
        }
    }
    tally
}

fn line(rule: &Rule, probe: &Probe, checked: Result<(), Failed>) -> Line {
    match checked {
        Ok(()) => Line::passed(rule),
        Err(failed) => Line::failed(rule, failed, probe.commands()),
    }
}

/// Asks one of the target's own endpoints, if the rule can be asked of it.
async fn ask_own(rule: &Rule, probe: &Probe, endpoint: &OwnEndpoint) -> Line {
    match check_of(rule.id) {
        Ok(check) => line(rule, probe, check(&Own { probe, endpoint }).await),
        Err(reason) => Line::not_applicable(rule, reason),
    }
}

/// Keys are remembered: those of one run are not those of another.
fn name_of_run() -> String {
    let mut bytes = [0; 6];
    // Without random numbers two runs share their keys, and say so by failing.
    let _ = getrandom::fill(&mut bytes);
    HEXLOWER.encode(&bytes)
}
