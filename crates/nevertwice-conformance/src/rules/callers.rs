//! Who calls, how, and where: what names a key beside its text.

use hyper::Method;

use crate::control::Plan;
use crate::probe::{Failed, Probe};

pub(super) async fn callers_do_not_meet(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(201)).await?;
    let caller = &probe.profile.caller;
    let mut answers = Vec::new();
    for caller in [&caller.first, &caller.second] {
        let answer = probe.send(&probe.ask_as(caller)).await?;
        probe.check_ran(&answer, 201).map_err(|failed| failed.of(format!("caller {caller}")))?;
        answers.push(answer);
    }
    // And each keeps its own.
    for (caller, first) in [&caller.first, &caller.second].into_iter().zip(&answers) {
        probe.check_replay(first, &probe.send(&probe.ask_as(caller)).await?)?;
    }
    probe.check_runs(2).await
}

pub(super) async fn other_callers_body_is_no_mismatch(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(201)).await?;
    probe.check_ran(&probe.send(&probe.ask()).await?, 201)?;
    let other = probe.ask_as(&probe.profile.caller.second).body("application/json", r#"{"amount":6}"#);
    probe.check_ran(&probe.send(&other).await?, 201)?;
    probe.check_runs(2).await
}

pub(super) async fn nobody_is_refused(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(201)).await?;
    let answer = probe.send(&probe.ask_as_nobody()).await?;
    probe.check_refusal(&answer, probe.profile.statuses.nobody)?;
    probe.check_runs(0).await
}

pub(super) async fn nobody_shares_a_space(probe: &Probe) -> Result<(), Failed> {
    probe.check_same(&probe.ask_as_nobody(), &probe.ask_as_nobody()).await?;
    // Of which those who are known have no part.
    probe.check_ran(&probe.send(&probe.ask()).await?, 201)
}

pub(super) async fn methods_do_not_share_keys(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(201)).await?;
    for method in probe.guarded() {
        let answer = probe.send(&probe.ask().by(method.clone())).await?;
        probe.check_ran(&answer, 201).map_err(|failed| failed.of(&method))?;
    }
    probe.check_runs(probe.guarded().len() as u64).await
}

pub(super) async fn other_path_is_a_mismatch(probe: &Probe) -> Result<(), Failed> {
    for path in ["/other", "?a=1"] {
        let part = probe.part(if path == "/other" { "path" } else { "query" });
        let elsewhere = part.ask().at(format!("/echo/{}{path}", part.name));
        part.check_mismatch(&part.ask(), &elsewhere).await.map_err(|failed| failed.of(path))?;
    }
    Ok(())
}

pub(super) async fn other_path_is_another_key(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(201)).await?;
    for path in ["", "/other", "?a=1", "?a=2"] {
        let answer = probe.send(&probe.ask().at(format!("/echo/{}{path}", probe.name))).await?;
        probe.check_ran(&answer, 201).map_err(|failed| failed.of(format!("path `{path}`")))?;
    }
    probe.check_runs(4).await
}

pub(super) async fn order_of_the_query_is_the_same(probe: &Probe) -> Result<(), Failed> {
    let at = |query: &str| probe.ask().at(format!("/echo/{}?{query}", probe.name));
    probe.check_same(&at("a=1&b=x%20y"), &at("b=x+y&a=1")).await
}

/// Whether more than one method is guarded.
pub(super) fn has_methods(profile: &crate::profile::Profile) -> bool {
    profile.guarded_methods.iter().filter(|method| Method::from_bytes(method.as_bytes()).is_ok()).count() > 1
}
